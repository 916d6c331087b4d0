"""All studies, in the order of the report."""

from __future__ import annotations

from rhoplan.errors import RhoplanError
from rhoplan.reproduction.claims import claim_studies
from rhoplan.reproduction.figures import figure_studies
from rhoplan.reproduction.special import special_studies
from rhoplan.reproduction.study import Study
from rhoplan.reproduction.tables import table_studies

ORDER = (
    "agents", "main", "tiger", "diagnosis", "bandit", "tileworld-6", "tileworld-6-full", "tileworld-8", "diagnosis-16",
    "testbed", "environments", "alpha-eta", "rocksample", "rocksample-extended", "inspection", "transfer", "navigation",
    "scaling", "effect-sizes", "discount", "misspecification-tiger", "misspecification-diagnosis", "pomcp",
    "bootstrap", "partition", "pomcp-compute", "mcts-efe", "near-optimality", "pymdp", "quoted",
    "pareto", "tileworld-comparison", "tileworld-scaling", "asymmetry-sweep", "observation-scaling", "tileworld-belief",
    "trajectory", "belief-heatmap", "efficiency", "extended-decomposition", "stopping-times", "near-optimality-figure",
    "claims",
)  # fmt: skip


def catalogue() -> dict[str, Study]:
    """Every study by id."""
    found = [*table_studies(), *special_studies(), *figure_studies(), *claim_studies()]
    by_id = {study.id: study for study in found}
    return {name: by_id[name] for name in ORDER}


def choose(ids: tuple[str, ...]) -> list[Study]:
    """The studies that `ids` name, all of them for none; an error names what is unknown."""
    every = catalogue()
    unknown = [name for name in ids if name not in every]
    if unknown:
        raise RhoplanError(f"there is no study '{unknown[0]}'; `rhoplan reproduce --list` shows all {len(every)}")
    return [every[name] for name in dict.fromkeys(ids)] if ids else list(every.values())
