"""Where an action can lead: every outcome that can be, however rare, and no other."""

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import EvidenceError, ImpossibleEvidence
from rhoplan.model.belief import MOST_NAMED
from test_underflow import sharp


@pytest.mark.parametrize("rare", [1e-3, 1e-9, 1e-12, 1e-100])
def test_an_outcome_however_rare_is_a_branch(rare: float) -> None:
    """A test without error, of a state that rare: both outcomes, and after each all is known."""
    problem = sharp(0.0, prior=rare)
    found = problem.belief().branches(problem.belief().menu[0])

    assert [one.observation for one in found] == ["like-a", "like-b"]
    assert [one.probability for one in found] == pytest.approx([1 - rare, rare], rel=1e-12)
    assert [one.belief.beliefs[0].tolist() for one in found] == [[1.0, 0.0], [0.0, 1.0]]


def test_an_outcome_that_cannot_be_is_no_branch_and_no_evidence() -> None:
    problem = sharp(0.0)
    known = problem.belief(given=[("look", "like-a")])

    [only] = known.branches(known.menu[0])
    assert (only.observation, only.probability) == ("like-a", 1.0)
    with pytest.raises(ImpossibleEvidence, match=r"when the belief is \(a 1\)"):
        known.update("look", "like-b")


@pytest.mark.parametrize(("count", "more"), [(MOST_NAMED, ""), (MOST_NAMED + 1, " and 1 more")])
def test_an_error_names_so_many_outcomes_and_counts_the_others(count: int, more: str) -> None:
    names = tuple(f"o{place}" for place in range(count))
    problem = rhoplan.DiagnosticProblem(
        name="wide", states=("a", "b"), tests=(rhoplan.Test("look", 1.0, names, np.full((2, count), 1 / count)),),
        decisions=(rhoplan.Decision("A", np.array([1.0, 0.0])),),
    )  # fmt: skip
    with pytest.raises(EvidenceError) as told:
        problem.belief().update("look", "other")
    assert str(told.value).endswith(f"it has {', '.join(names[:MOST_NAMED])}{more}")
