"""Machine code made before the tests begin, in two halves: `python -m machine_code 0` and `python -m machine_code 1`.

Every worker of the tests needs most kernels within its first minutes, and would make them for itself as long as no
other has; made beforehand, side by side, each is made once. So are the modules of the tests, whose assertions pytest
writes anew: 30 s of each worker's time. What is forgotten here is made by the tests, as before.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from rhoplan.agents.agent import make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.many.search import search as plan_of_many
from rhoplan.problems.registry import make
from test_pointbased import draw, solved
from weak import weak_tests


def points() -> None:
    solve(make("drilling"), method="points", gap=0.1, check=True)
    for weight in (0.0, 1.0):
        for seed in range(950, 956):  # those of the tests, without an end: settling and pruning come up
            solved(draw(seed, 2), weight, 0.95)
    solved(draw(950, 2), 0.0, 0.999)  # goes in circles: other beliefs are looked for


def grids() -> None:
    solve(make("rocksample:n=3,k=2"), method="grids", gap=1.0)


def errands() -> None:
    solve(make("inspection:n=2"), method="errands", gap=1.0)


def many() -> None:
    solve(make("chest-pain"), method="many", gap=1.0)
    plan_of_many(weak_tests(40, states=3), gap=1e-9, work=1.0)  # goes on to look for a plan of many tests


def search() -> None:
    for spec in ("tiger", "rocksample:n=3,k=2"):
        problem = make(spec)
        for planner in ("mcts", "pomcp"):
            agent = make_agent("planning", problem, planner=planner, simulations=20, horizon=3)
            simulate_episodes(problem, agent, seeds=[1], episodes=1)


def modules() -> None:
    subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-qq"], stdout=subprocess.DEVNULL, check=False)


HALVES: tuple[tuple[Callable[[], None], ...], ...] = ((points,), (many, search, grids, errands, modules))
"""What makes about half of the machine code each, by the time it takes."""

if __name__ == "__main__":
    for make_kernels in HALVES[int(sys.argv[1])]:
        make_kernels()
