"""What following a plan earns where it is estimated: near what it earns exactly, with errors known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring import solved
from rhoplan.scoring.solved import score_solved

pytest.importorskip("numba", reason="solving general problems needs numba")

WAYS = [("rocksample:n=3,k=1", "grids"), ("rocksample:n=3,k=1", "points"), ("rocksample:n=3,k=2", "errands")]


@pytest.mark.parametrize(("spec", "method"), WAYS)
def test_every_method_is_estimated_near_what_it_earns(spec: str, method: str) -> None:
    policy: Any = rhoplan.solve(rhoplan.make(spec), method=method, gap=1.0).policy
    exact, found = score_solved(policy), score_solved(policy, most_nodes=1, episodes=40)
    assert (exact.kind, exact.episodes, exact.reward_se) == ("exact", 0, 0.0)
    assert (found.kind, found.episodes, found.cap) == ("estimated", 40, exact.cap)
    for name in ("reward", "discounted", "information", "value", "steps"):
        error = getattr(found, f"{name}_se")
        assert abs(getattr(found, name) - getattr(exact, name)) <= 6 * error + 1e-9
    assert found.truncated == exact.truncated == 0


def test_the_error_of_two_episodes_is_half_their_difference() -> None:
    policy: Any = rhoplan.solve(rhoplan.make("tiger"), method="points", gap=0.1).policy
    assert isinstance(policy, SolvedPolicy)
    rng = np.random.default_rng(0)
    one, other = (solved._episode(policy, policy.origin.cap, rng) for _ in range(2))
    found = score_solved(policy, most_nodes=1, episodes=2)
    assert found.reward == pytest.approx((one[0] + other[0]) / 2)
    assert found.steps == pytest.approx((one[3] + other[3]) / 2)
    assert found.steps_se == pytest.approx(abs(one[3] - other[3]) / 2)
    assert found.reward_se == pytest.approx(abs(one[0] - other[0]) / 2)
    assert (one[4], other[4]) == (False, False)


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_an_episode_that_never_ends_is_cut_off_after_so_many_steps(cap: int) -> None:
    """Each step pays 3, the first in full."""
    pays = np.full((1, 2), 3.0)
    endless = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), pays, discount=0.5)
    policy: Any = rhoplan.solve(endless, method="points").policy
    reward, discounted, information, steps, cut = solved._episode(policy, cap, np.random.default_rng(0))
    assert (reward, steps, cut) == (3.0 * cap, cap, True)
    assert information == pytest.approx(0.0, abs=1e-12)
    assert discounted == pytest.approx(3.0 * (2 - 2 * 0.5**cap))
