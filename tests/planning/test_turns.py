"""Searches that take turns: no bound of either is lost, and the second is begun only where the first does not do."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import ProblemError
from rhoplan.evaluation.plan_score import score_solved
from rhoplan.planning import clock
from rhoplan.planning.certified.pointbased import check, supports, turns
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.given import given
from rhoplan.planning.certified.pointbased.supports import LARGEST
from rhoplan.planning.certified.pointbased.turns import solve_in_turns
from rhoplan.planning.certified.solve import solve
from test_supports import SEEDS, moved, problem_of


def two_homes(noise: float) -> rhoplan.POMDP:
    """Three states in a row; resting costs nothing in the first, walking on costs nothing in the last; a look that may
    be wrong and tells the last from the others costs 0.1."""
    transition = np.zeros((3, 3, 3))
    transition[0] = transition[2] = np.eye(3)
    transition[1] = [[0.2, 0.8, 0], [0, 0.2, 0.8], [0, 0, 1]]
    shows = np.full((3, 3, 2), 0.5)
    shows[2] = [[1 - noise, noise], [1 - noise, noise], [noise, 1 - noise]]
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.1, 0.1, 0.1]])
    return rhoplan.from_arrays(transition, shows, np.repeat(-costs[:, :, None], 3, 2), discount=1.0)


class Ways:
    """The ways to begin with a problem, and how many have been asked for."""

    def __init__(self, problem: rhoplan.POMDP) -> None:
        self.asked, self.ways = 0, given(problem, weight=0.0, discount=1.0)

    def __iter__(self) -> Iterator[Compiled]:
        return self

    def __next__(self) -> Compiled:
        found = next(self.ways)
        self.asked += 1
        return found


def solved(ways: Iterator[Compiled], gap: float = 1e-4, **asked) -> list[turns.GeneralSolution]:
    asked = {"deadline": clock.now() + 60, "memory": 1e9, "progress": None} | asked
    return solve_in_turns(ways, weight=0.0, discount=1.0, gap=gap, **asked)


@pytest.mark.parametrize("first", [0.0, 1e-4, math.inf])
def test_two_searches_find_what_either_finds(first: float, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [solved(iter([way])) for way in given(two_homes(0.0), weight=0.0, discount=1.0)]
    lower, upper = max(one.lower for (one,) in alone), min(one.upper for (one,) in alone)
    assert upper - lower <= 1e-4

    monkeypatch.setattr(turns, "TURN", first)
    ways = Ways(two_homes(0.0))
    found = solved(ways)
    assert len(found) == ways.asked
    assert max(one.lower for one in found) <= upper
    assert min(one.upper for one in found) >= lower
    assert min(one.upper for one in found) - max(one.lower for one in found) <= 1e-4


def test_another_way_is_not_looked_for_where_the_first_will_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN", math.inf)
    ways = Ways(two_homes(0.0))
    solved(ways, gap=1e9)
    assert ways.asked == 1


def test_what_is_refused_in_one_way_is_solved_in_the_other() -> None:
    refused = 0
    for seed in SEEDS[:30]:
        problem = problem_of(*moved(np.random.default_rng(seed)))
        first, second = given(problem, weight=0.0, discount=1.0)
        try:
            solved(iter([first]))
        except ProblemError:
            refused += 1
            (found,) = solved(given(problem, weight=0.0, discount=1.0))
            (alone,) = solved(iter([second]))
            assert (found.lower, found.upper) == pytest.approx((alone.lower, alone.upper), abs=2e-4)
    assert refused > 0


def test_what_is_refused_in_every_way_is_refused() -> None:
    transition, shows = np.eye(2)[np.array([[1, 0]])], np.ones((1, 2, 1))
    problem = rhoplan.from_arrays(transition, shows, np.full((1, 2, 2), -1.0), discount=1.0)
    with pytest.raises(ProblemError, match="end for sure"):
        solved(given(problem, weight=0.0, discount=1.0))


@pytest.mark.parametrize("told", [1, 3])
def test_who_interrupts_gets_the_bounds_of_both(told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "TURN", 1e-4)
    heard: list[tuple[float, float]] = []

    def interrupt(lower: float, upper: float, nodes: int) -> None:
        heard.append((lower, upper))
        if len(heard) == told:
            raise KeyboardInterrupt

    found = solved(given(two_homes(0.2), weight=0.0, discount=1.0), gap=1e-12, progress=interrupt)
    assert "interrupted" in {one.stopped_by for one in found}
    assert max(one.lower for one in found) >= max(lower for lower, _ in heard)
    assert min(one.upper for one in found) <= min(upper for _, upper in heard)


def test_the_policy_of_the_better_search_is_followed_and_both_bounds_are_checked() -> None:
    problem = two_homes(0.2)
    found = solve(problem, gap=1e-2, seconds=20, check=True)
    assert found.certificate is not None
    assert found.certificate.holds
    scored = score_solved(found.policy, seconds=20)
    assert scored.kind == "exact"
    assert scored.discounted >= found.lower - 1e-9


def test_time_is_shared_to_its_end() -> None:
    late = solved(given(two_homes(0.0), weight=0.0, discount=1.0), gap=1e-14, deadline=clock.now() + 1.0)
    assert len(late) == 2
    assert {one.stopped_by for one in late} <= {"time", "precision"}
    assert all(one.lower <= two.upper for one in late for two in late)


@pytest.mark.parametrize(("largest", "ways"), [((0,), 1), (LARGEST, 2)])
def test_no_second_search_where_nothing_comes_apart(
    largest: tuple[float, ...], ways: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supports, "LARGEST", largest)
    for seed in SEEDS[:20]:
        problem = problem_of(*moved(np.random.default_rng(seed)))
        assert len(list(given(problem, weight=0.0, discount=1.0))) == ways


def test_who_interrupts_before_there_is_a_bound_is_not_taken_for_one_whose_time_is_over() -> None:
    def ways() -> Iterator[Compiled]:
        os.kill(os.getpid(), signal.SIGINT)
        clock.check(late)
        yield from ()

    late = clock.now() + 1000.0
    with pytest.raises(KeyboardInterrupt):
        solved(ways(), deadline=late)


def test_who_does_not_wait_for_the_check_keeps_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check_plan", interrupted)
    found = solve(two_homes(0.0), gap=1e-4, seconds=20, check=True)
    assert found.converged
    assert found.certificate is None
