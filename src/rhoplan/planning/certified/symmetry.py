"""Symmetries of a flat problem: permutations of the hidden states that only rename its tests, outcomes and commits.

Beliefs that a symmetry maps onto each other have the same optimal value, so `solve` keeps one node per orbit.
Candidates come from two moves (rename the outcomes of one test, exchange two tests); each one is checked against the
whole problem before it is used, and the group is closed under composition up to a size.
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np

from rhoplan.model.diagnostic import Test
from rhoplan.model.pomdp import POMDP, Array, Ids

LARGEST_GROUP = 64
"""Each belief is compared with its images under the whole group: this many keys per belief."""

MOST_OUTCOMES = 4
"""Outcome renamings are tried exhaustively; beyond this many outcomes only exchanges of tests are."""


def state_symmetries(problem: POMDP) -> Ids:
    """A group of state permutations (G, S) under which `problem` is unchanged; the identity comes first."""
    size = len(problem.states)
    group = {tuple(range(size))}
    for candidate in _candidates(problem):
        if candidate not in group and is_symmetry(problem, np.array(candidate)):
            larger = _closure([*sorted(group), candidate], size)
            if larger is not None:
                group = larger
    return np.array(sorted(group), dtype=np.int64)


def is_symmetry(problem: POMDP, permutation: Ids) -> bool:
    """Whether renaming states by `permutation` leaves prior, tests and commits as they were, up to their names."""
    if not np.array_equal(problem.prior[permutation], problem.prior):
        return False
    menu = problem.flat
    commits = {_key(commit.reward) for commit in menu.commits}
    if {_key(commit.reward[permutation]) for commit in menu.commits} != commits:
        return False
    if problem.factors[0].about_diagnosis:
        together = np.equal.outer(problem.factors[0].groups, problem.factors[0].groups)
        if not np.array_equal(together[np.ix_(permutation, permutation)], together):
            return False
    free = menu.same_everywhere
    known = {_test_key(test, test.likelihood, free) for test in menu.tests}
    return {_test_key(test, test.likelihood[permutation], free) for test in menu.tests} == known


def _test_key(test: Test, likelihood: Array, exchangeable: bool) -> tuple[object, ...]:
    """The test up to the names of its outcomes; where the visible state may name it, a test stays itself."""
    columns = sorted(_key(column) for column in likelihood.T)
    return (test.cost, "" if exchangeable else test.name, *columns)


def _key(row: Array) -> bytes:
    return (np.asarray(row, dtype=float) + 0.0).tobytes()


def _candidates(problem: POMDP) -> list[tuple[int, ...]]:
    """State permutations induced by renaming the outcomes of one test or by exchanging two tests."""
    tests = [test.likelihood for test in problem.flat.tests]
    rows = [tuple(_key(likelihood[state]) for likelihood in tests) for state in range(len(problem.states))]
    images: list[list[tuple[bytes, ...]]] = []
    for k, likelihood in enumerate(tests):
        outcomes = likelihood.shape[1]
        orders = list(permutations(range(outcomes)))[1:] if outcomes <= MOST_OUTCOMES else []
        for order in orders:
            renamed = likelihood[:, list(order)]
            images.append([(*row[:k], _key(renamed[s]), *row[k + 1 :]) for s, row in enumerate(rows)])
    for j, k in combinations(range(len(tests)), 2):
        if tests[j].shape == tests[k].shape:
            images.append([(*r[:j], r[k], *r[j + 1 : k], r[j], *r[k + 1 :]) for r in rows])
    return [found for image in images if (found := _match(rows, image)) is not None]


def _match(rows: list[tuple[bytes, ...]], image: list[tuple[bytes, ...]]) -> tuple[int, ...] | None:
    """The permutation that sends each state to one whose rows are its image; None where there is none."""
    places: dict[tuple[bytes, ...], list[int]] = {}
    for state in reversed(range(len(rows))):
        places.setdefault(rows[state], []).append(state)
    result = []
    for wanted in image:
        if not places.get(wanted):
            return None
        result.append(places[wanted].pop())
    return tuple(result)


def _closure(generators: list[tuple[int, ...]], size: int) -> set[tuple[int, ...]] | None:
    """Everything that `generators` compose to; None where that is more than LARGEST_GROUP."""
    group = {tuple(range(size))}
    frontier = list(group)
    while frontier:
        products = {tuple(left[i] for i in right) for left in frontier for right in generators}
        frontier = [element for element in products if element not in group]
        group.update(frontier)
        if len(group) > LARGEST_GROUP:
            return None
    return group
