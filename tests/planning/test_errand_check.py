"""Other code looks at the bounds of errands, and notices where they do not hold."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest

import rhoplan
from bridge import ErrandPlan, ErrandPolicy, path_of
from bridge import solve_bounds as solve
from seeming import BESIDE, FORCED, SHUFFLED, TRAP, made

pytest.importorskip("numba", reason="solving general problems needs numba")

from bridge import check_errands
from rhoplan import Belief


@pytest.mark.parametrize(
    ("spec", "weight"),
    [
        ("inspection:n=2", 0.0),
        ("inspection:n=2", 1.0),
        ("rocksample:n=4,k=2", 1.0),
        ("rocksample-standard:n=4,k=3", 0.0),
    ],
)
def test_the_bounds_of_errands_hold(spec: str, weight: float) -> None:
    found = solve(rhoplan.make(spec), weight=weight, method="errands", check=True).certificate
    assert found is not None
    assert found.holds
    assert found.vectors > 10
    assert (found.points > 0) == spec.startswith("inspection")


@pytest.mark.parametrize(("text", "weight"), [(TRAP, 0.0), (BESIDE, 1.0), (SHUFFLED, 1.0), (FORCED, 0.0)])
def test_bounds_that_are_wrong_are_noticed(text: str, weight: float) -> None:
    """Errands made of problems that do not come apart, as if these did."""
    problem = made(text)
    with (
        patch(path_of("decomposes"), return_value=True),
        patch(path_of("going_on_costs"), return_value=True),
    ):
        found = solve(problem, weight=weight, method="errands", check=True)
    assert found.certificate is not None
    assert not found.certificate.holds


@pytest.mark.parametrize("change", [1e-3, -1e-3])
def test_a_claim_that_is_off_somewhere_is_noticed(change: float) -> None:
    """A lower bound too high, or an upper one too low, in all situations in which one belief has been moved."""
    policy = solve(rhoplan.make("inspection:n=2"), method="errands").policy
    assert isinstance(policy, ErrandPolicy)
    assert check_errands(policy, np.random.default_rng(1), most=30).holds
    lower, upper = ErrandPlan.lower, ErrandPlan.upper

    def moved(situation: Belief) -> float:
        return change if any(belief.max() > 0.8 for belief in situation.beliefs) else 0.0

    with (
        patch.object(ErrandPlan, "lower", lambda self, at, **o: lower(self, at, **o) + max(moved(at), 0.0)),
        patch.object(ErrandPlan, "upper", lambda self, at, best, **o: upper(self, at, best, **o) + min(moved(at), 0.0)),
    ):
        other = check_errands(policy, np.random.default_rng(1), most=30)
    assert not other.holds
    assert (other.lower_excess > 1e-4) == (change > 0)
    assert (other.upper_excess > 1e-4) == (change < 0)
