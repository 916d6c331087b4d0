"""Where one can go round for ever: when ways out are looked for, where they are walked, and what is rehearsed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="the point-based solver is an extra")

import rhoplan
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased import circles, solve
from rhoplan.planning.certified.pointbased.circles import WayOut, lower_circles
from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    ENTRIES,
    GAP,
    HOME,
    LOWER,
    NODES,
    ROOT,
    SLOT,
    SLOTS,
    START,
    UPPER,
)
from rhoplan.planning.certified.pointbased.points import BY_ALL, children_of
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import FADING, HALTING, LOOKED, REHEARSED, SOON, Search
from small import draw


def shaken(**asked: float) -> Search:
    """Waiting is free, shaking costs a little and mixes, ending pays 5 in one of two states."""
    transition, likelihood = np.zeros((3, 3, 3)), np.zeros((3, 3, 3))
    transition[0], transition[1, :2, :2], transition[1, 2, 2], transition[2, :, 2] = np.eye(3), 0.5, 1.0, 1.0
    likelihood[:, 2, 2], likelihood[[0, 2], :2, :2], likelihood[1, :2, :2] = 1.0, 0.5, [[0.6, 0.4], [0.4, 0.6]]
    reward = np.zeros((3, 3, 3))
    reward[1, :2], reward[2, 1] = -0.01, 5.0
    problem = rhoplan.from_arrays(transition, likelihood, reward, start=[0.5, 0.5, 0.0], discount=1.0)
    given = {"weight": 0.0, "discount": 1.0, "gap": 1e-3, "seconds": 100.0, "memory": 1e9} | asked
    return Search(compile_problem(problem, weight=given["weight"]), **given)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """A clock that stands still, at 0 to begin with, until it is set."""
    time = [0.0]
    monkeypatch.setattr(clock, "now", lambda: time[0])
    return lambda now: time.__setitem__(0, now)


def test_circles_are_looked_for_now_and_then_and_not_where_there_is_too_little_time(
    at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, looked = shaken(), []

    def look(model: Any, graph: Any, settings: Any, least: float) -> list[WayOut]:
        looked.append(least)
        at(clock.now() + 1.0)
        return [way]

    way, walked = WayOut(ROOT, 0, np.ones(1, dtype=bool)), []
    monkeypatch.setattr(solve, "lower_circles", look)
    monkeypatch.setattr(search, "walk_out", walked.append)
    monkeypatch.setattr(search, "next_rehearsal", np.inf)
    both = [-np.inf, 0.0]
    for now, expected in (
        (1.0, both),  # it takes 2 seconds
        (3.0 + 2 * LOOKED - 0.1, []),
        (3.0 + 2 * LOOKED + 0.1, both),
        (100.0 - 2 * LOOKED + 0.1, []),
        (100.0 - 2 * LOOKED - 0.1, both),
    ):
        at(now)
        looked.clear()
        walked.clear()
        search.look_for_ends()
        assert looked == expected
        assert walked == [way] * len(expected)
    fading = shaken(discount=0.5)
    looked.clear()
    at(150.0)
    fading.look_for_ends()
    assert looked == []


def test_the_best_plan_is_rehearsed_whenever_time_has_doubled_and_bounds_stay_apart(
    at: Callable[[float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, rehearsed = shaken(), []
    monkeypatch.setattr(search, "rehearse", lambda: rehearsed.append(clock.now()))
    monkeypatch.setattr(search, "goes_round", False)
    search.begun = 10.0

    def look(now: float, apart: float) -> bool:
        search.graph.bound[ROOT, UPPER] = search.graph.bound[ROOT, LOWER] + apart
        at(now)
        rehearsed.clear()
        search.look_for_ends()
        return rehearsed == [now]

    assert not look(0.9 * SOON, 4.0)
    assert not look(1.0, 4.0)  # how far apart they are is known from now on
    assert not look(1.9, 4.0)
    assert look(2.1, 4.0)
    assert not look(4.1, 4.0)
    assert look(4.3, 4.0 * HALTING + 0.1)
    assert not look(8.7, 1.0 * HALTING)  # they come nearer by themselves
    assert look(17.5, 1.0)
    assert not look(100.0 - 9.9, 1.0)  # not even begun by the end
    search.next_rehearsal = 0.0
    assert look(100.0 - 10.1, 1.0)
    search.fading, search.next_rehearsal, search.settings = 0.0, 0.0, search.settings._replace(discount=0.9)
    assert look(50.0, 1.0)
    assert search.next_rehearsal == np.inf


@pytest.mark.parametrize("ends", [False, True])
def test_the_way_out_is_walked_from_each_belief_outside_and_from_no_other(
    ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Search(draw(3, 2, ends=ends).compiled, weight=0.0, discount=0.9, gap=1e-3, seconds=np.inf, memory=1e9)
    search.back_up(np.array([ROOT]))
    pair = int(search.model.class_pair[search.problem.start_class])
    begun: list[tuple[int, int]] = []

    def begin(model: Any, graph: Any, settings: Any) -> None:
        begun.append((int(graph.used[START]), settings.work))

    monkeypatch.setattr(solve, "run_trials", begin)
    search.work_out(np.array([ROOT]), np.array([pair]))
    children = children_of(search.model, search.graph, np.array([ROOT]), np.array([pair]))[0]
    one, other = children[children >= 0].tolist()
    assert ends == (-1 in children)
    inside = np.ones(int(search.graph.used[NODES]) + 1, dtype=bool)
    inside[-1] = False
    for out in ([], [one], [other], [one, other]):
        begun.clear()
        held = inside.copy()
        held[out] = False
        search.walk_out(WayOut(ROOT, pair, held))
        assert begun == [(node, 1) for node in out]
        assert search.graph.used[START] == ROOT
    begun.clear()
    search.walk_out(WayOut(ROOT, pair, inside[: min(one, other)]))  # both were made after the circle was found
    assert [start for start, _ in begun] == [one, other]
    begun.clear()
    monkeypatch.setattr(search, "make_room", lambda: False)
    search.walk_out(WayOut(ROOT, pair, inside[:1]))
    assert begun == []


def met(search: Search) -> Search:
    """`search`, with all actions worked out at what it comes to in a few steps."""
    for _ in range(3):
        search.back_up(np.arange(int(search.graph.used[NODES])), BY_ALL)
    return search


@pytest.mark.parametrize("least", [-np.inf, 0.0])
def test_no_belief_of_a_circle_is_worth_more_than_its_best_way_out(least: float) -> None:
    search = met(shaken())
    graph, model, before = search.graph, search.model, search.graph.bound[:, UPPER].copy()
    slots = graph.slot[: graph.used[SLOTS], ABOVE].copy()
    ways = lower_circles(model, graph, search.settings, least)
    assert ways
    for way in ways:
        rest = np.zeros(len(before) - len(way.inside), dtype=bool)
        inside = np.flatnonzero(np.append(way.inside, rest))
        worth = graph.slot[graph.node[way.node, SLOT] + way.pair - model.class_pair[graph.node[way.node, HOME]], ABOVE]
        children = children_of(model, graph, np.array([way.node]), np.array([way.pair]))[0]
        assert way.node in inside
        assert not np.isin(children, inside).all()
        most = worth + search.settings.outward
        assert graph.bound[inside, UPPER].tolist() == np.minimum(before[inside], most).tolist()
        for node in inside.tolist():  # each way out of it is worth no more, and no step inside either
            first, home = graph.node[node, SLOT], graph.node[node, HOME]
            assert (graph.slot[first : first + np.diff(model.class_pair)[home], ABOVE] <= most).all()
    assert (graph.slot[: len(slots), ABOVE] <= slots).all()
    outside = np.setdiff1d(np.arange(graph.used[NODES]), np.concatenate([np.flatnonzero(way.inside) for way in ways]))
    assert (graph.bound[outside, UPPER] == before[outside]).all()


def test_ways_out_are_of_the_oldest_circles(monkeypatch: pytest.MonkeyPatch) -> None:
    search = met(shaken())
    every = lower_circles(search.model, search.graph, search.settings, 0.0)
    oldest = [int(np.flatnonzero(way.inside)[0]) for way in every]
    assert oldest == sorted(oldest)
    assert len(every) > 2
    found = circles.circles_of

    def renumbered(*given: Any) -> tuple[np.ndarray, np.ndarray]:
        circle, staying = found(*given)
        return np.where(circle >= 0, circle.max() - circle, -1), staying

    monkeypatch.setattr(circles, "circles_of", renumbered)
    monkeypatch.setattr(circles, "MOST_EXITS", 2)
    some = lower_circles(search.model, search.graph, search.settings, 0.0)
    assert [(way.node, way.pair) for way in some] == [(way.node, way.pair) for way in every[:2]]


def test_a_circle_that_nothing_leads_out_of_for_a_gain_has_no_way_out() -> None:
    search = met(shaken())
    search.graph.slot[: search.graph.used[SLOTS], ABOVE] = -1.0
    assert lower_circles(search.model, search.graph, search.settings, 0.0) == []
    assert search.graph.bound[ROOT, UPPER] == search.settings.outward


@pytest.mark.parametrize(("gap", "room", "told"), [(1e-6, True, True), (1e-6, False, False), (np.inf, True, False)])
def test_what_a_circle_has_fallen_by_counts_for_others_if_it_is_much_and_there_is_room(
    gap: float, room: bool, told: bool
) -> None:
    search = met(shaken())
    graph, settings = search.graph, search.settings if room else search.settings._replace(most_children=10**9)
    graph.bound[ROOT, GAP], graph.bound[ROOT, UPPER], before = gap, 100.0, int(graph.used[ENTRIES])
    lower_circles(search.model, graph, settings, 0.0)
    assert graph.bound[ROOT, UPPER] < 10.0
    assert (graph.used[ENTRIES] > before) == told


@pytest.fixture
def rehearsed(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Search], list[str]]:
    """Searches that were run, and what each is to say that it was stopped by; they do nothing."""
    run: list[Search] = []
    stopped_by: list[str] = []

    def told(search: Search) -> str:
        run.append(search)
        return stopped_by.pop(0)

    monkeypatch.setattr(Search, "run", told)
    return run, stopped_by


def test_what_is_rehearsed_has_a_discount_half_the_gap_and_a_share_of_the_time(
    at: Callable[[float], None], rehearsed: tuple[list[Search], list[str]]
) -> None:
    search, (run, stopped_by) = shaken(weight=0.5, discount=1 - 1e-5), rehearsed
    stopped_by += ["time", "time", "gap", "time"]
    at(10.0)
    search.rehearse()
    first = run[0]
    assert (first.settings.weight, first.settings.discount, first.gap) == (0.5, 1 - FADING, 0.5e-3)
    assert first.deadline == 10.0 + REHEARSED * 10.0
    at(20.0)
    search.rehearse()
    assert first.deadline == 20.0 + REHEARSED * 20.0
    at(90.0)
    search.rehearse()
    assert first.deadline == 100.0  # no later than all must be done
    assert run == [first] * 3
    at(40.0)
    search.rehearse()  # the plan was found: another, nearer to what is asked for
    assert run[3] is not first
    assert run[3].settings.discount == pytest.approx(1 - 0.1 * FADING, abs=1e-12)


def test_a_rehearsal_ends_near_one_and_where_it_is_interrupted_all_is(
    rehearsed: tuple[list[Search], list[str]],
) -> None:
    search, (_, stopped_by) = shaken(), rehearsed
    stopped_by += ["gap"] * 12 + ["interrupted"]
    for _ in range(12):
        search.rehearse()
    assert search.fading == solve.LEAST_FADING
    with pytest.raises(KeyboardInterrupt):
        search.rehearse()
    for discount in (1 - 1e-4, 1.0):
        near = shaken(discount=discount)
        stopped_by += ["memory"]
        near.rehearse()
        assert not near.is_nearer_one  # there is no room for another


def test_the_plan_rehearsed_is_followed_where_there_is_one(
    at: Callable[[float], None], rehearsed: tuple[list[Search], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    search, (run, stopped_by) = shaken(), rehearsed
    stopped_by += ["time", "time"]
    followed: list[tuple[Any, float]] = []
    monkeypatch.setattr(search, "follow", lambda other, until: followed.append((other, until)))
    at(10.0)
    search.rehearse()
    assert followed == []
    run[0].back_up(np.array([ROOT]))
    at(20.0)
    search.rehearse()
    assert followed == [(run[0], 20.0 + REHEARSED * 20.0 + REHEARSED * REHEARSED * 20.0)]


@pytest.fixture
def other() -> Search:
    """A search for the same with a discount, at its end."""
    search = shaken(discount=0.999)
    assert search.run() == "gap"
    return search


@pytest.mark.parametrize("rises", [0, 1, 3])
def test_a_plan_is_followed_from_far_to_near_as_long_as_the_lower_bound_rises(
    other: Search, rises: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    search, asked = shaken(), []

    def raised(nodes: np.ndarray, how: int) -> None:
        asked.append((nodes.tolist(), how))
        lower, upper = search.graph.bound[ROOT, [LOWER, UPPER]]
        share = 0.02 if len(asked) <= rises else 0.005
        search.graph.bound[ROOT, LOWER] = lower + share * (upper - lower)

    monkeypatch.setattr(search, "back_up", raised)
    monkeypatch.setattr(search, "refresh", lambda: None)
    search.follow(other, np.inf)
    assert len(asked) == rises + 1
    (nodes, how), *_ = asked
    assert nodes[-1] == ROOT
    assert len(nodes) > 1
    assert how == BY_ALL
    assert all(one == (nodes, how) for one in asked)


def test_a_plan_is_followed_to_its_own_beliefs_and_raises_the_lower_bound(other: Search) -> None:
    search = shaken()
    before, upper = search.bounds
    search.graph.bound[ROOT, GAP] = upper - before  # as when a trial has begun
    search.follow(other, np.inf)
    assert search.bounds[0] > before + 0.1
    assert search.bounds[0] <= 2.98 + 1e-9  # what it is worth, see test_free_circles


@pytest.mark.parametrize("why", ["until", "deadline", "memory"])
def test_a_plan_is_not_followed_without_time_or_room(other: Search, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    search, asked = shaken(), []
    monkeypatch.setattr(search, "back_up", lambda *given: asked.append(given))
    if why == "deadline":
        search.deadline = -np.inf
    if why == "memory":
        monkeypatch.setattr(search, "make_room", lambda: False)
    search.follow(other, -np.inf if why == "until" else np.inf)
    assert asked == []
