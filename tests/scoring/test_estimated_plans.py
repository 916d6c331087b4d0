"""What following a plan earns where it is estimated: near what it earns exactly, with errors known by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.planning.certified.pointbased.check import backup
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring.side_by_side import drawn_from, followed
from rhoplan.scoring.solved import score_solved

pytest.importorskip("numba", reason="solving general problems needs numba")

WAYS = [("rocksample:n=3,k=1", "grids"), ("rocksample:n=3,k=1", "points"), ("rocksample:n=3,k=2", "errands")]


@pytest.mark.parametrize(("spec", "method"), WAYS)
def test_every_method_is_estimated_near_what_it_earns(spec: str, method: str) -> None:
    policy: Any = solve(rhoplan.make(spec), method=method, gap=1.0).policy
    exact, found = score_solved(policy), score_solved(policy, most_nodes=1, episodes=40)
    assert (exact.kind, exact.episodes, exact.reward_se) == ("exact", 0, 0.0)
    assert (found.kind, found.episodes, found.cap) == ("estimated", 40, exact.cap)
    assert (found.rarest, exact.rarest) == (3 / 40, 0.0)
    assert math.isnan(found.information) == (method == "points")
    for name in ("reward", "discounted", "value", "steps", *(() if method == "points" else ("information",))):
        error = getattr(found, f"{name}_se")
        assert abs(getattr(found, name) - getattr(exact, name)) <= 6 * error + 1e-9
    assert found.truncated == exact.truncated == 0


def test_the_error_of_two_episodes_is_half_their_difference() -> None:
    policy: Any = solve(rhoplan.make("tiger"), method="points", weight=1.0, gap=0.1).policy
    assert isinstance(policy, SolvedPolicy)
    one, other = followed(policy, 2, policy.origin.cap, np.random.default_rng(0))
    found = score_solved(policy, most_nodes=1, episodes=2)
    for place, name in enumerate(("reward", "value", "information", "steps")):
        assert getattr(found, name) == pytest.approx((one[place] + other[place]) / 2)
        assert getattr(found, f"{name}_se") == pytest.approx(abs(one[place] - other[place]) / 2)
    assert (one[4], other[4]) == (0.0, 0.0)


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_an_episode_that_never_ends_is_cut_off_after_so_many_steps(cap: int) -> None:
    """Each step pays 3, the first in full."""
    pays = np.full((1, 2), 3.0)
    endless = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), pays, discount=0.5)
    policy: Any = solve(endless, method="points").policy
    for reward, value, information, steps, cut in followed(policy, 3, cap, np.random.default_rng(0)):
        assert (reward, steps, cut) == (3.0 * cap, cap, 1.0)
        assert math.isnan(information)  # no price, none asked for
        assert value == pytest.approx(3.0 * (2 - 2 * 0.5**cap))


@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_what_a_bound_knows_is_not_left_to_chance(weight: float) -> None:
    """Tiger for ever: what an episode pays varies by dozens, its value by no more than the bounds leave open."""
    anew, heard = np.full((2, 2), 0.5), np.array([[0.85, 0.15], [0.15, 0.85]])
    paid = np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]])
    endless = rhoplan.from_arrays(np.array([np.eye(2), anew, anew]), np.array([heard, anew, anew]), paid, discount=0.9)
    policy: Any = solve(endless, method="points", weight=weight, gap=1e-6).policy
    rows = followed(policy, 50, 200, np.random.default_rng(0))
    assert rows[:, 0].std() > 1.0
    assert rows[:, 1].std() < 1e-4


@pytest.mark.parametrize("tilt", [0.0, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_chance_is_taken_out_without_bias_whatever_the_bound_says(seed: int, tilt: float) -> None:
    """Vectors that claim too much, but all alike, are followed like the others; the mean of all episodes of three
    actions, by brute force, is what many of them come to."""
    rng = np.random.default_rng(seed)
    change, shows = rng.dirichlet(np.ones(2), size=(2, 2)), rng.dirichlet(np.ones(2), size=(2, 2))
    problem = rhoplan.from_arrays(change, shows, rng.normal(size=(2, 2, 2)), discount=0.9, start=[0.3, 0.7])
    solution: Any = solve(problem, method="points", weight=1.0, gap=0.5).policy
    vectors = {home: (alpha + tilt, share, pair) for home, (alpha, share, pair) in solution.vectors.items()}
    policy = replace(solution, vectors=vectors)
    settings = policy.settings

    def value(home: int, belief: np.ndarray, left: int) -> float:
        _, (pair,) = policy.best_of(home, belief[None, :])
        ahead = replace(policy, settings=replace(settings, discount=0.9 if left > 1 else 0.0))
        return backup(
            ahead, int(pair), belief, lambda _, there, after: value(there, after, left - 1) if left > 1 else 0.0
        )

    rows = followed(policy, 4000, 3, np.random.default_rng(seed))
    exact = value(policy.problem.start_class, policy.problem.start, 3)
    assert abs(rows[:, 1].mean() - exact) <= 6 * rows[:, 1].std() / np.sqrt(len(rows)) + 1e-9


def test_what_has_no_chance_is_never_drawn() -> None:
    class Last:
        """Draws the largest number below 1."""

        def random(self, count: int) -> np.ndarray:
            return np.full(count, np.nextafter(1.0, 0.0))

    chance = np.array([[0.1, 0.2, 0.7, 0.0, 0.0], [0.3, 0.3, 0.3, 0.1, 0.0], [1.0, 0.0, 0.0, 0.0, 0.0]])
    assert drawn_from(chance, Last()).tolist() == [2, 3, 0]  # type: ignore[arg-type]
    often = np.bincount(drawn_from(np.tile(chance[0], (20_000, 1)), np.random.default_rng(0)), minlength=5) / 20_000
    assert often == pytest.approx(chance[0], abs=0.02)
    assert often[3:].tolist() == [0.0, 0.0]
