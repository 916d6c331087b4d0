"""States that are subtypes of a diagnosis: likelihoods are about the state, everything told about the diagnosis."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rhoplan
from rhoplan import POMDP, Factor, ProblemError

PRIOR = np.array([0.9, 0.07, 0.03])


def heart(**settings: object) -> POMDP:
    ecg = rhoplan.Test("ecg", 5, ("negative", "positive"), np.array([[0.85, 0.15], [0.1, 0.9], [0.6, 0.4]]), False)
    commits = (
        rhoplan.Decision("treat", np.array([-100.0, -20, -20])),
        rhoplan.Decision("wait", np.array([0.0, -1e3, -1e3])),
    )
    given = {"partition": {"disease": ("typical", "silent")}, "decisions": commits, **settings}
    return rhoplan.DiagnosticProblem(name="heart", states=("healthy", "disease"), tests=(ecg,), prior=PRIOR, **given)  # type: ignore[arg-type]


def test_a_subtype_is_a_state_named_after_its_diagnosis() -> None:
    problem = heart()
    assert problem.states == ("healthy", "disease (typical)", "disease (silent)")
    assert problem.diagnoses == ("healthy", "disease")
    assert problem.factors[0].subtypes == {"disease": ("typical", "silent")}


def test_people_are_told_the_chance_of_the_diagnosis() -> None:
    problem = heart()
    assert problem.belief().diagnoses()["state"] == pytest.approx({"healthy": 0.9, "disease": 0.1})
    after = problem.belief(given=[("ecg", "positive")]).diagnoses()["state"]
    ill = 0.07 * 0.9 + 0.03 * 0.4
    assert after["disease"] == pytest.approx(ill / (ill + 0.9 * 0.15))


def test_results_of_a_diagnosis_are_those_of_its_subtypes_by_share() -> None:
    factor, test = heart().factors[0], heart().flat.tests[0]
    assert factor.within == pytest.approx([1, 0.7, 0.3])
    assert factor.results(test.likelihood)[1, 1] == pytest.approx(0.7 * 0.9 + 0.3 * 0.4)


def test_other_chances_of_diagnoses_leave_the_shares_of_subtypes() -> None:
    factor = heart().factors[0]
    assert factor.spread(np.array([0.5, 0.5])) == pytest.approx([0.5, 0.35, 0.15])
    ruled_out = Factor("state", factor.states, np.array([1.0, 0, 0]), diagnosis_of=factor.diagnosis_of)
    assert ruled_out.spread(np.array([0.5, 0.5])) == pytest.approx([0.5, 0.25, 0.25])


def test_states_without_subtypes_are_diagnoses_of_their_own() -> None:
    factor = rhoplan.make("tiger").factors[0]
    assert factor.diagnoses == factor.states
    assert factor.fold(factor.prior) is factor.prior
    assert factor.within.tolist() == [1, 1]


def test_what_is_decided_is_about_the_diagnosis() -> None:
    commits = (rhoplan.Decision("treat", np.array([-100.0, -20, -30])),)
    with pytest.raises(ProblemError, match=r"the same for every subtype of 'disease'.*-20.*typical.*-30.*silent"):
        heart(decisions=commits)


@pytest.mark.parametrize(
    ("subtypes", "message"),
    [
        ({"flu": ("a",)}, "'flu' has a"),
        ({"disease": ()}, "'disease' has none"),
        ({"disease": ("a", "a")}, "'disease (a)' stands there twice"),
    ],
)
def test_wrong_subtypes_are_refused(subtypes: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(ProblemError, match=re.escape(message)):
        heart(partition=subtypes)
