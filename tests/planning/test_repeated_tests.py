"""Tests that may be taken again and again: beliefs come ever nearer to one without some states, and never there."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import rhoplan
from rhoplan.planning.certified.pointbased.above import taken_again
from rhoplan.planning.certified.pointbased.graph import (
    AT,
    BEGUN,
    COUNT,
    ENTRY,
    INDEX,
    LOWER,
    NODES,
    ROOT,
    UPPER,
    find_node,
)
from rhoplan.planning.certified.pointbased.lean import LEFT_OUT, LONG, choose_start
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.solve import solve

STAGES, GRADES = 3, 2
"""Steps of work on a casting, and how good it is: the first grade has no fault."""


def castings(seed: int) -> rhoplan.POMDP:
    """A casting of unknown stage and grade is tested, worked on, sold or scrapped. No test tells stages without fault
    apart, and tests are cheap beside what is at stake."""
    rng = np.random.default_rng(seed)
    size = STAGES * GRADES + 1
    tests, work, sell, scrap = 3, 3, 4, 5
    transition, likelihood = np.zeros((6, size, size)), np.zeros((6, size, 3))
    reward = np.zeros((6, size))
    transition[:tests] = np.eye(size)
    transition[sell:, :, -1] = transition[work, -1, -1] = 1.0
    likelihood[:, -1, 2] = likelihood[sell:, :, 2] = 1.0
    found = rng.uniform(0.01, 0.3, size=(tests, STAGES))
    found[0] = rng.uniform(0.5, 0.9, size=STAGES)
    for stage, grade in itertools.product(range(STAGES), range(GRADES)):
        s = stage * GRADES + grade
        share = found[:, stage] * (grade > 0)
        likelihood[:tests, s, 0], likelihood[:tests, s, 1] = 1 - share, share
        likelihood[work, s, :2] = (0.98, 0.02) if grade == 0 else (0.95, 0.05)
        later = min(stage + 1, STAGES - 1) * GRADES
        transition[work, s, later + grade] += 0.96 if grade == 0 else 1.0
        transition[work, s, later + 1] += 0.04 if grade == 0 else 0.0
        reward[:tests, s] = -np.array([200.0, 30.0, 8.0]) * rng.uniform(0.8, 1.2)
        reward[work, s] = -5000.0 if stage == 0 else -15000.0
        reward[sell, s] = -15000.0 if stage < STAGES - 1 else (45000.0 if grade == 0 else -60000.0)
        reward[scrap, s] = -10000.0
    start = np.append(np.full(size - 1, 1 / (size - 1)), 0.0)
    return rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=0.99999)


@pytest.mark.parametrize("seed", [3, 5])
def test_bounds_meet_where_tests_never_make_quite_sure(seed: int) -> None:
    found = solve(castings(seed), method="points", gap=1.0, seconds=100, check=True)
    assert found.stopped_by == "gap"
    assert found.certificate is not None
    assert found.certificate.holds


@pytest.mark.parametrize("seed", range(20))
def test_an_action_that_leads_back_is_taken_again(seed: int) -> None:
    """One belief, actions that pay and stay there with some probability or end: worth what sweeps come to."""
    rng = np.random.default_rng(seed)
    paid, stays = rng.normal(size=4), rng.uniform(0.0, 0.99, size=4)
    stays[0] = 0.0
    worth = 0.0
    for _ in range(3000):
        worth = float((paid + stays * worth).max())
    highest = worth + rng.exponential() + 100.0 * (seed % 2)
    claims = [taken_again(one, part, highest, 1e-14) for one, part in zip(paid, stays, strict=True)]
    assert max(claims) == pytest.approx(worth, abs=1e-9)
    assert (np.array(claims) <= paid + stays * highest).all()  # no more than if it is taken once


def test_what_stays_for_ever_is_worth_no_more_than_it_costs() -> None:
    assert taken_again(-1.0, 1.0, 5.0, 1e-14) < -1e6
    assert taken_again(0.0, 1.0, 5.0, 1e-14) == 0.0
    assert taken_again(1e-9, 1.0, 5.0, 1e-14) == 5.0 + 1e-9  # rounding, or a gain for ever: nothing is known


@pytest.mark.parametrize("paid", [1.0, -1.0])
@pytest.mark.parametrize("left", [1e-3, 1e-6, 3e-9, 1.00001e-9, 1.000005e-9, 1e-9, 1e-10])
@pytest.mark.parametrize("rounding", [2e-14, 1e-11])
def test_what_rounding_hides_of_a_way_out_is_paid_for(paid: float, left: float, rounding: float) -> None:
    """The probability to stay may be off by rounding, either way: no claim is too low whichever it is."""
    stays = 1.0 - left
    for off in (-0.5 * rounding, 0.0, 0.5 * rounding):
        exact = Fraction(paid) / (1 - (Fraction(stays) + Fraction(off)))
        assert taken_again(paid, stays, 1e300, rounding) >= exact


@pytest.fixture
def search() -> Search:
    """A search for the first casting that has not begun."""
    compiled = compile_problem(castings(0), weight=0.0)
    return Search(compiled, weight=0.0, discount=0.99999, gap=1.0, seconds=100.0, memory=1e9)


def node_of(search: Search, belief: list[float]) -> int:
    dense = np.zeros(int(search.problem.sizes.max()))
    dense[: len(belief)] = belief
    return find_node(search.model, search.graph, search.problem.start_class, dense, 0.0)


def belief_of(search: Search, node: int) -> np.ndarray:
    row, dense = search.graph.node[node], np.zeros(int(search.problem.sizes.max()))
    states = slice(None) if row[INDEX] < 0 else search.graph.where[row[INDEX] : row[INDEX] + row[COUNT]]
    dense[states] = search.graph.value[row[AT] : row[AT] + row[COUNT]]
    return dense


def apart(search: Search, node: int) -> float:
    return float(search.graph.bound[node, UPPER] - search.graph.bound[node, LOWER])


def after(search: Search, start: int, before: float, depth: int = LONG + 1) -> int:
    """Where the next walk begins, after one of `depth` steps from `start`, where bounds were so far apart `before`."""
    return choose_start(search.model, search.graph, search.settings, start, before, depth)


def test_a_leaner_belief_leaves_out_no_more_than_hardly_counts(search: Search) -> None:
    span, share = search.settings.span, LEFT_OUT
    node = search.graph.path[LONG] = node_of(search, [0.5, 0.3, 0.2 - 1.1e-4, 1e-4, 1e-5])
    lean = belief_of(search, after(search, ROOT, 1.0))
    assert 1.1e-4 < share * apart(search, node) / span < 0.2  # so that both small ones go, and no other
    assert (lean[3:] == 0.0).all()
    assert lean.sum() == pytest.approx(1.0, abs=1e-15)
    assert lean[:3] / lean[0] == pytest.approx([1.0, 0.6, (0.2 - 1.1e-4) / 0.5], rel=1e-14)
    search.graph.bound[node, UPPER] = search.graph.bound[node, LOWER] + 5e-5 * span / share
    lean = belief_of(search, after(search, ROOT, 1.0))
    assert (lean[3] > 0.0, lean[4]) == (True, 0.0)  # bounds are nearer: less is left out
    search.graph.bound[node, UPPER] = search.graph.bound[node, LOWER]
    assert after(search, ROOT, 1.0) == ROOT


def test_a_leaner_belief_that_gains_little_is_left_for_some_trials(search: Search) -> None:
    search.graph.path[LONG] = node_of(search, [0.5, 0.3, 0.2 - 1e-5, 1e-5])
    assert after(search, ROOT, 1.0, LONG) == ROOT  # not long
    lean = after(search, ROOT, 1.0)
    assert lean != ROOT
    assert after(search, lean, np.inf) == lean  # it has gained: on from the end of the walk
    before = apart(search, lean)
    for pause in (1, 3, 3):
        assert after(search, lean, before) == ROOT
        assert [after(search, ROOT, 1.0) for _ in range(pause)] == [ROOT] * pause
        assert after(search, ROOT, 1.0) == lean
    assert after(search, lean, 2.0 * before) == lean
    assert [after(search, lean, before), after(search, ROOT, 1.0), after(search, ROOT, 1.0)] == [ROOT, ROOT, lean]


def test_what_was_found_at_leaner_beliefs_is_not_forgotten(search: Search) -> None:
    """The root leads near them, not there: their points were dropped, and bounds stayed where they were."""
    search.settings = search.settings._replace(gap=500.0)
    search.next_prune = np.inf
    search.run()
    begun = np.flatnonzero(search.graph.node[: search.graph.used[NODES], BEGUN])
    firm = begun[search.graph.node[begun, ENTRY] >= 0]
    assert len(firm) > 0
    search.forget()
    assert (search.graph.node[firm, ENTRY] >= 0).any()
