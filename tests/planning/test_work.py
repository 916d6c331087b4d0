"""How much a search does until its bounds meet, counted: no clock, the same on every machine but for rounding.

A fault in how bounds are tightened, or in where a search looks next, leaves both bounds true and the answer as it is;
it shows in the work alone. Who makes a search better writes its smaller numbers here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rhoplan.planning.certified.pointbased.graph import BACKUPS, NODES, TRIALS, VECTORS
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.many import search
from rhoplan.problems.registry import make
from test_pointbased import draw
from weak import weak_tests

ABOUT = {"rel": 0.25, "abs": 2}
"""What sums in another order may change."""

POINTS: dict[tuple[Any, ...], tuple[int, int, int, int, int]] = {
    (950, 2, 0.0, 0.95, False, 1e-3, 0.0): (37, 61, 152, 111, 2),
    (951, 2, 1.0, 0.95, False, 1e-3, 0.0): (28, 91, 161, 183, 2),
    (952, 3, 0.0, 0.9, False, 1e-3, 0.0): (41, 322, 230, 165, 3),
    (953, 3, 1.0, 0.9, True, 1e-3, 0.0): (22, 17, 44, 47, 0),
    (954, 4, 0.3, 0.95, False, 1e-2, 0.0): (52, 295, 320, 446, 4),
    (956, 5, 0.0, 0.95, False, 1e-2, 0.0): (51, 368, 261, 341, 5),
    (957, 6, 0.3, 0.95, False, 3e-2, 0.0): (50, 549, 272, 385, 6),
    (959, 3, 0.0, 0.95, False, 1e-1, 100.0): (56, 944, 426, 600, 3),
    (960, 4, 0.0, 0.98, False, 1e-2, 0.0): (24, 307, 205, 2, 4),
}
"""Seed, states, weight, discount, whether it ends, gap, what every reward has on top: trials, nodes, backups, vectors,
and known states of which what follows was opened."""


@pytest.mark.parametrize("case", POINTS, ids=str)
def test_points_need_no_more_work_than_they_did(case: tuple[Any, ...]) -> None:
    seed, states, weight, discount, ends, gap, more = case
    drawn = draw(seed, states, ends=ends)
    problem = replace(drawn, reward=drawn.reward + more).compiled
    found = Search(problem, weight=weight, discount=discount, gap=gap, seconds=600, memory=1e9)
    assert found.run() == "gap"
    used = found.graph.used
    work = (used[TRIALS], used[NODES], used[BACKUPS], used[VECTORS], found.spread)
    assert [int(one) for one in work] == pytest.approx(POINTS[case], **ABOUT)


RULES: dict[str, tuple[dict[str, Any], int, int]] = {
    "free": ({}, 17, 19),
    "budget": ({"budget": 9.0}, 11, 13),
    "most tests": ({"max_tests": 3}, 11, 13),
    "in order": ({"after": {1: ("t0",), 2: ("t0",)}}, 17, 17),
    "more states": ({"number": 6, "states": 3, "seed": 3}, 359, 684),
}
"""Rules of weak tests, ten where it does not say: trials, nodes."""


@pytest.mark.parametrize("name", RULES)
def test_many_tests_need_no_more_work_than_they_did(name: str) -> None:
    rules, *told = RULES[name]
    found = search(weak_tests(**{"number": 10, **rules}), weight=1.0, gap=1e-6)
    assert (found.stopped_by, [found.trials, found.nodes]) == ("gap", pytest.approx(told, **ABOUT))


OTHERS: dict[tuple[str, str, float], tuple[int, int]] = {
    ("tiger", "reveal", 1e-6): (5, 4),
    ("testbed", "reveal", 1e-6): (5, 3),
    ("inspection:n=2", "errands", 0.1): (16, 1),
    ("chest-pain", "many", 0.1): (24, 6),
    ("drilling", "points", 0.5): (15, 16),
}
"""Problem, method and gap: nodes, rounds. Not grids: which of two to refine next depends on how long each has taken."""


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_other_methods_need_no_more_work_than_they_did(case: tuple[str, str, float]) -> None:
    spec, method, gap = case
    found = solve(make(spec), method=method, gap=gap)
    assert (found.stopped_by, [found.nodes, found.rounds]) == ("gap", pytest.approx(OTHERS[case], **ABOUT))
