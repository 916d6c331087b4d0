"""The paper's figures, in its order. Each is drawn from numbers that its study also gives as a table."""

from __future__ import annotations

from rhoplan_paper.figures.episodes import episode_studies
from rhoplan_paper.figures.grid import grid_studies
from rhoplan_paper.figures.scaling import scaling_study
from rhoplan_paper.figures.shares import share_study
from rhoplan_paper.figures.sweeps import sweep_studies
from rhoplan_paper.figures.times import time_studies
from rhoplan_paper.figures.weights import pareto_study
from rhoplan_paper.study import Study

ORDER = (
    "pareto",
    "tileworld-comparison",
    "tileworld-scaling",
    "asymmetry-sweep",
    "observation-scaling",
    "tileworld-belief",
    "trajectory",
    "belief-heatmap",
    "efficiency",
    "extended-decomposition",
    "stopping-times",
    "near-optimality-figure",
)


def figure_studies() -> list[Study]:
    """One study for each figure."""
    found = [
        pareto_study(),
        scaling_study(),
        share_study(),
        *sweep_studies(),
        *grid_studies(),
        *episode_studies(),
        *time_studies(),
    ]
    by_id = {study.id: study for study in found}
    return [by_id[name] for name in ORDER]
