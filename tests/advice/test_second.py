"""A second opinion differs where it would lose something by what is advised, not where rounding would."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan.advice import second
from rhoplan.io.learned import LEARNED
from rhoplan.model.diagnostic import Decision, DiagnosticProblem


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("more", "disagrees"), [(0.0, False), (1e-10, False), (1e-7, True)])
def test_it_disagrees_where_another_commit_is_worth_more_by_more_than_rounding(
    monkeypatch: pytest.MonkeyPatch, scale: float, more: float, disagrees: bool
) -> None:
    """More: what the other commit is worth more, as a share of the largest reward."""
    commits = (
        Decision("leave", scale * np.array([0.5, 0.5])),
        Decision("treat", scale * np.array([1.0, 2 * more])),
    )
    found = {LEARNED: {"second_opinion": {"model": {"tests": []}, "rows": []}}}
    problem: rhoplan.POMDP = DiagnosticProblem(
        name="p", states=("well", "ill"), tests=(), decisions=commits, details=found
    )
    monkeypatch.setattr(second, "chances", lambda kept, outcomes: np.array([[0.5, 0.5]]))
    told = second.second_opinion(problem, (), "leave")
    assert told is not None
    assert (told.disagrees, told.commit, bool(told.words)) == (disagrees, "treat" if disagrees else "leave", disagrees)
