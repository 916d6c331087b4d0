"""All studies, in the order of the report."""

from __future__ import annotations

from importlib import import_module

from rhoplan.errors import RhoplanError
from rhoplan.reproduction.study import Study

SOURCES = {
    "tables": "table_studies",
    "special": "special_studies",
    "figures": "figure_studies",
    "claims": "claim_studies",
}
"""Modules that make studies, and the function of each that does."""

ORDER = (
    "agents", "main", "tiger", "diagnosis", "bandit", "tileworld-6", "tileworld-6-full", "tileworld-8", "diagnosis-16",
    "testbed", "environments", "alpha-eta", "rocksample", "rocksample-extended", "inspection", "transfer", "navigation",
    "scaling", "effect-sizes", "discount", "misspecification-tiger", "misspecification-diagnosis", "pomcp",
    "bootstrap", "partition", "pomcp-compute", "mcts-efe", "near-optimality", "pymdp",
    "pareto", "tileworld-comparison", "tileworld-scaling", "asymmetry-sweep", "observation-scaling", "tileworld-belief",
    "trajectory", "belief-heatmap", "efficiency", "extended-decomposition", "stopping-times", "near-optimality-figure",
    "claims",
)  # fmt: skip


def catalogue() -> dict[str, Study]:
    """Every study by id."""
    by_id: dict[str, Study] = {}
    for module, function in SOURCES.items():
        path = f"rhoplan.reproduction.{module}"
        try:
            made: list[Study] = getattr(import_module(path), function)()
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
            continue
        by_id.update({study.id: study for study in made})
    return {name: by_id[name] for name in ORDER if name in by_id}


def choose(ids: tuple[str, ...]) -> list[Study]:
    """The studies that `ids` name, all of them for none; an error names what is unknown."""
    every = catalogue()
    unknown = [name for name in ids if name not in every]
    if unknown:
        raise RhoplanError(f"there is no study '{unknown[0]}'; `rhoplan reproduce --list` shows all {len(every)}")
    return [every[name] for name in dict.fromkeys(ids)] if ids else list(every.values())
