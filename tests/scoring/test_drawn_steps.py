"""One step of many episodes at once, by hand; and how many are begun at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("numba", reason="solving general problems needs numba")

import rhoplan
from rhoplan.model.pomdp import Action, Factor, FixedMenu, Problem
from rhoplan.planning import clock
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring import solved
from rhoplan.scoring.side_by_side import Following, drawn_from, followed
from rhoplan.scoring.solved import FEWEST, GROWN, score_solved


class Drawn:
    """Draws these numbers, in turn."""

    def __init__(self, *numbers: float) -> None:
        self.numbers = list(numbers)

    def random(self, count: int) -> np.ndarray:
        now, self.numbers = self.numbers[:count], self.numbers[count:]
        return np.array(now)


def looking(shows: list[list[float]], **asked: float) -> SolvedPolicy:
    """Three states that stay as they are; the one look shows `shows` (3, 2) of them, and one goes where it says."""
    look = Action("look", np.array([1.0, 2.0, 4.0]), np.array(shows), ("left", "right"), ("left", "right"))
    hidden = Factor("state", ("one", "two", "three"), np.full(3, 1 / 3))
    problem = Problem("looking", (hidden,), "start", FixedMenu((look,)), discount=0.5)
    policy: Any = solve(problem, method="points", **asked).policy
    assert isinstance(policy, SolvedPolicy)
    return policy


EITHER = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
"""Each outcome rules out one state: what is possible after one and after the other overlaps."""


def test_what_a_look_tells_is_counted_by_state_wherever_it_leads() -> None:
    """ln 2 of the outcome, of which a third is chance: the state in the middle gives either."""
    rows = followed(looking(EITHER, weight=1.0), 4, 1, np.random.default_rng(0))
    assert rows[:, 2] == pytest.approx(2 / 3 * np.log(2), abs=1e-12)


def test_a_rare_result_that_is_drawn_is_believed() -> None:
    """By Bayes: 1, 2 and 3 in a hundred give it."""
    policy = looking([[0.99, 0.01], [0.98, 0.02], [0.97, 0.03]])
    under_way = Following.begun(policy, 2)
    under_way.step(int(under_way.pair[0]), np.arange(2), Drawn(0.5, 0.99))  # type: ignore[arg-type]
    assert under_way.belief == pytest.approx(np.array([[0.99, 0.98, 0.97], [0.06, 0.12, 0.18]]) / [[2.94], [0.36]])


def test_episodes_side_by_side_go_where_each_would_alone() -> None:
    """Some are sure of what others are not, so that not all can see the same."""
    policy = looking(EITHER, weight=1.0)
    home = policy.problem.start_class
    beliefs = np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5], [0.0, 0.0, 1.0], [0.5, 0.5, 0.0], [0.0, 0.4, 0.6]])
    draws = (0.5, 0.9, 0.1, 0.99, 0.05)

    def begun(some: np.ndarray) -> Following:
        worth, pair = policy.best_of(home, some)
        return Following(policy, np.full(len(some), home), some.copy(), pair, worth)

    together = begun(beliefs)
    told = together.step(int(together.pair[0]), np.arange(5), Drawn(*draws))  # type: ignore[arg-type]
    for one, draw in enumerate(draws):
        alone = begun(beliefs[one : one + 1])
        expected = alone.step(int(alone.pair[0]), np.arange(1), Drawn(draw))  # type: ignore[arg-type]
        assert [float(column[one]) for column in told] == pytest.approx([float(column[0]) for column in expected])
        assert (together.home[one], together.pair[one]) == (alone.home[0], alone.pair[0])
        assert together.worth[one] == pytest.approx(alone.worth[0])
        assert together.belief[one] == pytest.approx(alone.belief[0])
    assert len(set(together.home.tolist())) == 2


def test_what_comes_first_or_last_and_has_no_chance_is_not_drawn() -> None:
    chance = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])
    for number, columns in ((0.0, [2, 1, 1]), (0.75, [2, 1, 2])):
        assert drawn_from(chance, Drawn(*[number] * 3)).tolist() == columns  # type: ignore[arg-type]


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many episodes were begun at once, each time; no time passes."""
    counts: list[int] = []

    def noted(policy: SolvedPolicy, count: int, cap: int, rng: np.random.Generator) -> np.ndarray:
        counts.append(count)
        return followed(policy, count, cap, rng)

    monkeypatch.setattr(solved, "followed", noted)
    monkeypatch.setattr(clock, "now", lambda: 0.0)
    return counts


def test_more_episodes_are_begun_at_once_as_it_is_known_how_long_they_take(batches: list[int]) -> None:
    """The pace of few says little of how long many take: no more than some times as many are begun."""
    score_solved(looking(EITHER), most_nodes=1, episodes=400)
    assert batches == [FEWEST, GROWN * FEWEST, 400 - FEWEST - GROWN * FEWEST]


@pytest.mark.parametrize(("most", "at_once"), [(1, 1), (12, 3), (19, 4), (10_000, 9)])
def test_episodes_at_once_hold_no_more_numbers_than_there_is_room_for(
    batches: list[int], monkeypatch: pytest.MonkeyPatch, most: int, at_once: int
) -> None:
    """A step from three states leads to two and two, in all four numbers for each episode; one is done at the least."""
    monkeypatch.setattr(solved, "MOST_AT_ONCE", most)
    found = score_solved(looking(EITHER), most_nodes=1, episodes=9)
    assert found.episodes == sum(batches) == 9
    assert max(batches) == at_once


def test_no_batch_repeats_the_one_before(batches: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solved, "MOST_AT_ONCE", 1)
    drawn = solve(rhoplan.make("tiger"), method="points", gap=1.0).policy
    found = score_solved(drawn, most_nodes=1, episodes=12)
    assert batches == [1] * 12
    assert found.steps_se > 0


def test_where_situations_are_wide_few_are_followed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    policy = solve(rhoplan.make("tiger"), method="points", gap=1.0).policy
    assert score_solved(policy, episodes=2).kind == "exact"
    monkeypatch.setattr(solved, "MOST_NUMBERS", 3)  # one situation of two states
    assert score_solved(policy, episodes=2).kind == "estimated"


def test_of_two_episodes_nothing_is_too_rare_to_be_missing() -> None:
    found = score_solved(solve(rhoplan.make("tiger"), method="points", gap=1.0).policy, most_nodes=1, episodes=2)
    assert found.rarest == 1.0


def test_where_another_method_is_estimated_discount_information_and_what_is_cut_off_count_too() -> None:
    found = solve(rhoplan.make("inspection:n=2"), method="errands", weight=1.0, discount=0.8, gap=1.0)
    policy: Any = found.policy
    exact, drawn = score_solved(policy), score_solved(policy, most_nodes=1, episodes=40)
    assert (exact.kind, drawn.kind) == ("exact", "estimated")
    for name in ("value", "discounted", "information"):
        assert abs(getattr(drawn, name) - getattr(exact, name)) <= 6 * getattr(drawn, f"{name}_se") + 1e-9, name
    assert abs(exact.reward - exact.discounted) > 6 * drawn.discounted_se + 1e-6
    cut = score_solved(replace(policy, origin=replace(policy.origin, cap=1)), most_nodes=1, episodes=4)
    assert (cut.truncated, cut.steps, cut.cap) == (1.0, 1.0, 1)
