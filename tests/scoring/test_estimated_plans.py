"""What following a plan earns where it is estimated: near what it earns exactly, with errors known by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.app.records import rarest
from rhoplan.evaluation.plan_score import score_solved
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

WAYS = [("rocksample:n=3,k=1", "grids"), ("rocksample:n=3,k=1", "points"), ("rocksample:n=3,k=2", "errands")]


@pytest.mark.parametrize(("spec", "method"), WAYS)
def test_every_method_is_estimated_near_what_it_earns(spec: str, method: str) -> None:
    policy: Any = solve(rhoplan.make(spec), method=method, gap=1.0).policy
    exact, found = score_solved(policy), score_solved(policy, most_nodes=1, episodes=40)
    assert (exact.kind, exact.episodes, exact.error("reward")) == ("exact", 0, 0.0)
    assert (found.kind, found.episodes) == ("estimated", 40)
    assert (rarest(found), rarest(exact)) == (3 / 40, 0.0)
    for name in ("reward", "discounted", "value", "steps", "information"):
        error = found.error(name)
        assert abs(getattr(found, name) - getattr(exact, name)) <= 6 * error + 1e-9
    assert found.truncated == exact.truncated == 0


@pytest.mark.parametrize("cap", [1, 2, 5])
def test_an_episode_that_never_ends_is_cut_off_after_so_many_steps(cap: int) -> None:
    """Each step pays 3, the first in full."""
    pays = np.full((1, 2), 3.0)
    endless = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.full((1, 2, 2), 0.5), pays, discount=0.5)
    policy: Any = solve(replace(endless, cap=cap), method="points").policy
    found = score_solved(policy, most_nodes=0, episodes=3)
    assert (found.reward, found.steps, found.truncated) == (3.0 * cap, cap, 1.0)
    assert found.value == found.discounted == pytest.approx(3.0 * (2 - 2 * 0.5**cap))
    assert found.error("value") == pytest.approx(0.0)
