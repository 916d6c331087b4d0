"""Points settled at once: with a discount close to 1 the bounds meet, around what the plan earns in closed form."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

from halfway import halfway
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased import settling, standing
from rhoplan.planning.certified.pointbased.check import check_plan
from rhoplan.planning.certified.pointbased.compiled import Compiled, dense_joint, flat
from rhoplan.planning.certified.pointbased.decisions import Rows, best_values, plan_values
from rhoplan.planning.certified.pointbased.graph import COUNT, HULL_READ, NODES, UPPER, VECTORS
from rhoplan.planning.certified.pointbased.hull import lower_by_hull
from rhoplan.planning.certified.pointbased.points import mix_anew
from rhoplan.planning.certified.pointbased.solve import Search, solve_general

DISCOUNT, WEAR, PRICE = 0.99999, 0.2, 2.0

SEED = 5
"""Of a dense problem whose bounds are still apart when points are settled first."""


def machine(extra: float = 0.0, *, wear: float = WEAR, price: float = PRICE) -> Compiled:
    """A machine wears out unseen: work some times, then replace it. `extra` is paid at every step, whatever is done."""
    transition = np.array([[[1 - wear, wear], [0, 1]], [[1, 0], [1, 0]]])
    pays = np.array([[1.0, 0.0], [-price, -price]]) + extra
    return flat(dense_joint(transition, np.ones((2, 2, 1))), pays, np.array([1.0, 0.0]))


def earned(extra: float = 0.0, *, wear: float = WEAR, price: float = PRICE, longest: int = 20) -> Fraction:
    """What the best number of times between two replacements, less than `longest`, earns for ever, without rounding."""
    g, works = Fraction(DISCOUNT), Fraction(1 - wear)
    more = Fraction(extra) / (1 - g)
    return more + max(
        (sum((g * works) ** i for i in range(times)) - Fraction(price) * g**times) / (1 - g ** (times + 1))
        for times in range(1, longest)
    )


@pytest.mark.parametrize("extra", [0.0, 240.0])
def test_bounds_meet_although_the_discount_is_close_to_one(extra: float) -> None:
    found = solve_general(machine(extra), discount=DISCOUNT, gap=1e-4, seconds=600)
    assert found.stopped_by == "gap"
    assert found.upper - found.lower <= 1e-4
    assert Fraction(found.lower) <= earned(extra) <= Fraction(found.upper)
    assert check_plan(found.plan, np.random.default_rng(0)).holds


def test_rounding_is_of_values_as_they_are_known_by_now() -> None:
    """The first bounds are far apart: what rounding may take of numbers that large, at each of 100,000 steps, is more
    than the gap asked for."""
    slow = {"wear": 0.02, "price": 20.0}
    search = Search(machine(**slow), weight=0.0, discount=DISCOUNT, gap=1e-4, seconds=600, memory=1e9)
    before = search.settings
    assert search.run() == "gap"
    assert search.settings.outward < 1e-3 * before.outward
    lower, upper = search.bounds
    assert Fraction(lower) <= earned(**slow, longest=120) <= Fraction(upper)
    assert check_plan(search.solution("gap").plan, np.random.default_rng(0)).holds


def test_settling_ends_when_time_is_up_and_its_bounds_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are looked at some at a time: no more of them after the deadline, whatever is left to do."""
    looked: list[int] = []
    hours = 0.0

    def mix(*given: object) -> None:
        nonlocal hours
        looked.append(len(given[3]))  # type: ignore[arg-type]
        hours += 1.0
        mix_anew(*given)

    monkeypatch.setattr(standing, "SOME", 5)
    monkeypatch.setattr(settling, "mix_anew", mix)
    monkeypatch.setattr(clock, "now", lambda: hours)
    _, _, problem = dense(SEED)
    search = Search(problem, weight=0.0, discount=0.95, gap=1e-9, seconds=3.5, memory=1e9)
    assert search.run() == "time"
    assert looked == [5, 5, 5, 5]
    lower, upper = search.bounds
    found = solve_general(problem, discount=0.95, gap=1e-3, seconds=np.inf)
    assert lower <= found.upper
    assert upper >= found.lower
    assert check_plan(search.solution("time").plan, np.random.default_rng(0)).holds


def test_what_was_taken_off_the_values_is_put_back_everywhere() -> None:
    plan = solve_general(machine(240.0), discount=DISCOUNT, gap=1e-4, seconds=600).plan
    start = np.array([1.0, 0.0])
    lower, vector = plan.lower(0, start)
    assert lower == pytest.approx(float(earned(240.0)), abs=1e-4)
    assert plan.upper(0, start) == pytest.approx(float(earned(240.0)), abs=1e-4)
    assert vector >= 0
    assert plan.first_action == "action-0"


def test_values_are_known_to_lie_as_far_apart_as_they_may() -> None:
    """A machine that is worn out is worth what a new one is, less its price and a step."""
    search = Search(machine(240.0), weight=0.0, discount=DISCOUNT, gap=1.0, seconds=600, memory=1e9)
    search.run(None)
    search.recentre()
    new = float(earned(240.0))
    assert search.taken_off != 0
    assert search.settings.span >= new - (240.0 - PRICE + DISCOUNT * new)


def test_settling_points_lowers_the_upper_bound_to_its_fixed_point_and_no_further() -> None:
    """Sweeps alone would need hundreds of thousands."""
    search = Search(machine(), weight=0.0, discount=DISCOUNT, gap=1e-4, seconds=600, memory=1e9)
    search.next_prune = np.inf
    halfway(search, 1)
    before = search.bounds[1]
    for _ in range(8):
        search.settle()
    assert Fraction(search.bounds[1]) >= earned()
    assert search.bounds[1] - float(earned()) < 0.01 * (before - float(earned()))


def test_other_beliefs_are_looked_for_where_trials_find_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    search = Search(machine(), weight=0.0, discount=DISCOUNT, gap=1e-2, seconds=600, memory=1e9)
    search.run()
    asked: list[int] = []
    monkeypatch.setattr(search, "grow", lambda points: asked.append(points) or 0)
    search.value_points(1e-3, stuck=False)
    assert asked == []
    search.value_points(1e-3, stuck=True)
    assert asked


def test_values_of_rows_hold_under_one_more_sweep_and_are_those_of_sweeps() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        points, actions, discount = int(rng.integers(2, 12)), 3, float(rng.choice([0.5, 0.95]))
        share = discount * rng.dirichlet(np.full(points, 0.3), points * actions)
        known, first = rng.normal(size=points * actions), np.arange(points) * actions
        most = np.where(rng.uniform(size=len(known)) < 0.2, rng.normal(size=len(known)), np.inf)
        rows, columns = np.nonzero(share)
        begin = np.searchsorted(rows, np.arange(len(known) + 1))
        table = Rows(np.append(first, len(known)), begin, columns, share[rows, columns], known, most)
        values, best = best_values(np.zeros(points), table, np.ones(points), rounding=1e-15, exact=1e-14)
        swept = np.zeros(points)
        for _ in range(1000):
            swept = np.maximum.reduceat(np.minimum(known + share @ swept, most), first)
        again = np.minimum(known + share @ values, most)
        assert (np.maximum.reduceat(again, first) <= values).all()
        assert values == pytest.approx(swept, abs=1e-9)
        assert again[best] == pytest.approx(values, abs=1e-9)


def test_a_sparse_system_is_solved_although_the_discount_is_close_to_one() -> None:
    rng, members, discount = np.random.default_rng(5), 300, 0.9999
    to, share = rng.integers(0, members, (members, 3)), discount * rng.dirichlet(np.ones(3), members)
    begin, known = 3 * np.arange(members + 1), rng.normal(size=members)
    limits = np.full(members, np.inf)
    rows = Rows(np.arange(members + 1), begin, to.ravel(), share.ravel(), known, limits)
    values = plan_values(np.zeros(members), rows, 1e-9)
    assert np.abs(known + (share * values[to]).sum(axis=1) - values).max() <= 1e-9
    assert np.abs(values).max() > 10  # far from the guess


def test_states_ruled_out_cost_the_lower_bound_nothing_although_the_discount_is_close_to_one() -> None:
    """The state is drawn anew at each step, and each outcome rules one of three states out."""
    likelihood = np.array([[[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]])
    problem = flat(dense_joint(np.full((1, 3, 3), 1 / 3), likelihood), np.zeros((1, 3)), np.full(3, 1 / 3))
    weight, discount = 1000.0, 0.9999
    found = solve_general(problem, weight=weight, discount=discount, gap=1e-4, seconds=20)
    left = np.log(3) - 2 / 3 * np.log(2)  # the entropy of (2/3, 1/3)
    assert found.stopped_by == "gap"
    assert found.lower <= weight * (np.log(3) - left) / (1 - discount) <= found.upper


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_certificates_hold_where_hulls_have_many_states(weight: float) -> None:
    rng = np.random.default_rng(21)
    transition, likelihood = rng.dirichlet(np.ones(12), (2, 12)), rng.dirichlet(np.ones(3), (2, 12))
    problem = flat(dense_joint(transition, likelihood), rng.normal(size=(2, 12)), np.full(12, 1 / 12))
    search = Search(problem, weight=weight, discount=0.9, gap=1e-4, seconds=600, memory=1e9)
    assert search.small
    told: list[float] = []

    def enough(lower: float, upper: float, nodes: int) -> None:
        told.append(upper - lower)
        if search.nodes and len(told) > 8:  # settled at least once
            raise KeyboardInterrupt

    search.run(enough)
    assert check_plan(search.solution("interrupted").plan, rng, most=40, beliefs=3).holds


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_certificates_hold_where_values_are_centred(weight: float) -> None:
    rng = np.random.default_rng(8)
    transition, likelihood = rng.dirichlet(np.ones(3), (2, 3)), rng.dirichlet(np.ones(2), (2, 3))
    problem = flat(dense_joint(transition, likelihood), 1000.0 + rng.normal(size=(2, 3)), np.full(3, 1 / 3))
    search = Search(problem, weight=weight, discount=0.9999, gap=1e-4, seconds=600, memory=1e9)
    halfway(search, 8)
    assert search.taken_off != 0
    lower, upper = search.bounds
    assert lower <= upper < 1.01e7
    certificate = check_plan(search.solution("interrupted").plan, rng)
    assert certificate.holds


def test_bounds_do_not_cross_where_all_values_are_far_from_0() -> None:
    """A mixture that rounding leaves without some of the belief lacks a part of what all values have in common."""
    rng = np.random.default_rng(0)
    actions, states, outcomes = 3, 8, 3
    transition = np.zeros((actions, states, states))
    for row in transition.reshape(-1, states):
        count = int(rng.integers(1, 4))
        row[rng.choice(states, count, replace=False)] = rng.dirichlet(np.ones(count))
    shows = rng.dirichlet(np.full(outcomes, 0.2), size=(actions, states))
    shows[shows < 0.05] = 0.0
    shows /= shows.sum(axis=2, keepdims=True)
    pays = rng.normal(size=(actions, states)) * 10 + 1000
    problem = flat(dense_joint(transition, shows), pays, np.full(states, 1 / states))
    search = Search(problem, weight=0.0, discount=0.99, gap=1e-4, seconds=600, memory=1e9)
    worst = np.inf

    def compare(lower: float, upper: float, nodes: int) -> None:
        nonlocal worst
        worst = min(worst, upper - lower)
        if upper - lower < 1:
            raise KeyboardInterrupt

    search.run(compare)
    assert worst >= 0


def dense(seed: int, states: int = 5) -> tuple[np.ndarray, np.ndarray, Compiled]:
    """A problem in which all can follow from all: T (A, S, S), Z (A, S, O), and both with rewards ready to search."""
    rng = np.random.default_rng(seed)
    transition, shows = rng.dirichlet(np.full(states, 0.5), (4, states)), rng.dirichlet(np.full(3, 0.5), (4, states))
    pays = rng.normal(size=(4, states)) * 10
    return transition, shows, flat(dense_joint(transition, shows), pays, np.full(states, 1 / states))


def searched_until(problem: Compiled, gap: float, weight: float = 0.0) -> Search:
    """A search that was stopped at some gap."""
    search = Search(problem, weight=weight, discount=0.95, gap=gap, seconds=600, memory=1e9)
    search.run()
    return search


def test_what_follows_from_known_states_has_points_of_its_own() -> None:
    transition, shows, problem = dense(SEED)
    search = searched_until(problem, 1e-3)
    plan = search.solution("gap").plan
    beliefs, _ = plan.points(0)
    for change, seen in zip(transition, shows, strict=True):
        after = change[:, :, None] * seen
        for belief in np.moveaxis(after / after.sum(axis=1, keepdims=True), 1, 2).reshape(-1, len(change)):
            assert np.abs(beliefs - belief).max(axis=1).min() < 1e-12


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_hull_is_as_low_whoever_lends_points_to_begin_with(weight: float) -> None:
    """But for the few whose simplex stops before its end, where numbers leave it no way on: they are above."""
    _, _, problem = dense(SEED)
    search = searched_until(problem, 1e-2, weight)
    graph, heights = search.graph, []
    nodes = np.flatnonzero(graph.node[: graph.used[NODES], COUNT] > 1)
    for lending in (True, False):
        graph.recent[:, 0] = graph.recent[:, 0] if lending else 0
        for node in nodes:
            graph.node[node, HULL_READ], graph.bound[node, UPPER] = -2, np.inf
            lower_by_hull(search.model, graph, node, search.settings, 0.0)
            graph.recent[:, 0] = graph.recent[:, 0] if lending else 0
        heights.append(graph.bound[nodes, UPPER].copy())
    assert len(nodes) > 100
    assert np.isclose(heights[0], heights[1], rtol=0, atol=1e-9).mean() > 0.98


def test_vectors_of_no_use_are_dropped_before_a_plan_is_settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each backup of thousands of beliefs would leave a vector that the plan then is made of."""
    dropped, forget = [], Search.forget

    def noted(search: Search) -> None:
        dropped.append(1)
        forget(search)

    search = searched_until(dense(SEED)[2], 1e-2)
    monkeypatch.setattr(Search, "forget", noted)
    search.vectors = int(search.graph.used[VECTORS])  # so many are no more than the last time
    search.settle_plan(1e-9, 0.0)
    assert not dropped
    monkeypatch.setattr(settling, "LEAST_GROWN", 0)
    search.vectors = 0
    search.settle_plan(1e-9, 0.0)
    assert dropped
