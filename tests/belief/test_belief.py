"""The public belief: Bayes' rule, access by name, equality, and the forms in which users write beliefs."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rhoplan
from rhoplan import END, Belief, EvidenceError, Factor, ImpossibleEvidence, RhoplanError, WrongKind
from rhoplan.model.belief import MOST_NAMED, as_belief
from strategies import Case, cases
from test_underflow import sharp

TIGER = rhoplan.make("tiger")
ROCKS = rhoplan.make("rocksample:n=3,k=2")
SUBTYPES = rhoplan.loads(
    {
        "states": ["well", "ill"],
        "subtypes": {"ill": {"typical": 0.75, "silent": 0.25}},
        "prior": [0.6, 0.4],
        "tests": {
            "scan": {
                "cost": 1,
                "outcomes": ["clear", "dark"],
                "likelihood": {"well": [0.9, 0.1], "ill": {"typical": [0.1, 0.9], "silent": [0.5, 0.5]}},
            }
        },
        "losses": {"leave": {"well": 0, "ill": 10}, "treat": {"well": 5, "ill": 0}},
    }
)


def tied() -> rhoplan.POMDP:
    """Two factors with a joint distribution, one block, and one that stands alone."""
    factors = [Factor(name, ("no", "yes"), np.array([0.5, 0.5])) for name in ("pump", "valve", "seal")]
    joint = [rhoplan.JointPrior(("pump", "valve"), np.array([0.4, 0.1, 0.2, 0.3]))]
    ends = [
        rhoplan.FactoredAction(f"fix-{one.name}", (END,), (rhoplan.LocalModel((one.name,), np.array([0.0, 1.0])),))
        for one in factors
    ]
    return rhoplan.FactoredProblem("tied", factors, start="here", menus={"here": ends}, joint=joint)


def test_bayes_rule() -> None:
    """0.85 x 0.5 / 0.5, and once more 0.85^2 / (0.85^2 + 0.15^2)."""
    belief = TIGER.belief().update("listen", "hear-left")
    assert belief["tiger-left"] == pytest.approx(0.85)
    assert belief.max() == pytest.approx(0.85)
    assert belief.update("listen", "hear-left")["tiger-right"] == pytest.approx(0.0225 / 0.745)
    assert str(belief) == "tiger-left 85.0%, tiger-right 15.0%"
    assert dict(belief) == pytest.approx({"tiger-left": 0.85, "tiger-right": 0.15})


def test_the_name_of_the_only_factor_gives_its_distribution() -> None:
    belief = rhoplan.make("rocksample:n=3,k=1").belief()
    assert belief["rock-0"]["good"] == belief["good"] == 0.5
    with pytest.raises(rhoplan.EvidenceError):
        belief["rock-1"]


def test_evidence_is_pairs_or_a_mapping_and_a_lost_result_changes_nothing() -> None:
    heard = TIGER.belief().update("listen", "hear-left")
    assert TIGER.belief(given=[("listen", "hear-left")]) == heard
    assert TIGER.belief(given={"listen": "hear-left"}) == heard
    assert TIGER.belief(given=[("listen", "hear-left"), ("listen", "?")]) == heard
    assert TIGER.belief({"tiger-left": 0.85, "tiger-right": 0.15}) == TIGER.belief([0.85, 0.15])
    assert TIGER.belief([0.15, 0.85], [("listen", "hear-left")]).max() == pytest.approx(0.5)


@given(cases())
def test_branches_are_a_distribution_whose_mean_is_the_belief(case: Case) -> None:
    """The law of total probability, for actions that preserve the hidden state."""
    problem = case.problem
    belief = problem.belief()
    for action in problem.menu(problem.start):
        branches = belief.branches(action.name)
        assert sum(one.probability for one in branches) == pytest.approx(1.0)
        if action.preserves_hidden_state:
            mean = sum(probability * after.to_array() for probability, _, after in branches)
            np.testing.assert_allclose(mean, belief.to_array(), atol=1e-12)
        for one in branches:
            if not action.ends_episode:
                assert belief.update(action.name, one.observation) == one.belief


def test_several_factors_are_read_by_factor() -> None:
    belief = ROCKS.belief({"rock-1": {"good": 0.9, "bad": 0.1}})
    assert belief["rock-1"]["good"] == 0.9
    assert belief["rock-0"] == dict(ROCKS.belief()["rock-0"])
    assert belief.keys() == ("rock-0", "rock-1")
    assert belief.observable == ROCKS.start
    assert str(belief).count("good 90.0%") == 1
    for wrong in (
        lambda: belief["good"],
        belief.max,
        belief.to_array,
        lambda: np.asarray(belief),
        lambda: ROCKS.states,
    ):
        with pytest.raises(RhoplanError, match="factor"):
            wrong()


def test_factors_with_a_joint_distribution_are_read_one_by_one() -> None:
    problem = tied()
    belief = problem.belief()
    assert belief["pump"]["yes"] == pytest.approx(0.5)
    assert belief["valve"]["yes"] == pytest.approx(0.4)
    assert problem.belief({"pump, valve": [0, 0, 0, 1]})["valve"]["yes"] == 1
    with pytest.raises(EvidenceError, match="'pump, valve'"):
        problem.belief({"pump": [0.5, 0.5]})


def test_a_diagnosis_is_the_sum_of_its_subtypes() -> None:
    belief = SUBTYPES.belief()
    assert belief["ill"] == pytest.approx(0.4)
    assert belief["ill (silent)"] == pytest.approx(0.1)
    assert SUBTYPES.belief({"well": 0.2, "ill": 0.8})["ill (typical)"] == pytest.approx(0.6)


@pytest.mark.parametrize(
    "value",
    [[0.85, 0.15], (0.85, 0.15), np.array([0.85, 0.15]), {"tiger-right": 0.15, "tiger-left": 0.85},
     np.array([0.85, 0.15], np.float32), TIGER.belief([0.85, 0.15]), rhoplan.make("tiger").belief([0.85, 0.15])],
    ids=["list", "tuple", "array", "mapping", "float32", "belief", "belief-of-an-equal-problem"],
)  # fmt: skip
def test_a_belief_may_be_written_in_several_forms(value: Any) -> None:
    found = as_belief(TIGER, value)
    assert found.problem is TIGER
    assert found.to_array() == pytest.approx([0.85, 0.15])
    assert found.to_array().sum() == pytest.approx(1.0, abs=1e-12)
    assert as_belief(TIGER, {"tiger-left": 1}).to_array().tolist() == [1, 0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([0.5], "2 probabilities"),
        ([[0.5, 0.5]], "2 probabilities"),
        (None, "2 probabilities"),
        ([0.5, 0.6], "sum to 1; they sum to 1.1"),
        ({"tiger-left": 0.5}, "tiger-left, tiger-right"),
        ([-0.5, 1.5], "-0.5"),
        ([np.nan, 1], "nan"),
        ({"tiger-up": 1.0}, "'tiger-up'"),
        ("tiger-left", "mapping"),
        (["a", "b"], "mapping"),
        (ROCKS.belief(), "rocksample"),
        (rhoplan.with_horizon("tiger", 2).belief(), "horizon"),
    ],
    ids=["short", "nested", "none", "sum", "missing", "negative", "nan", "name", "text", "words", "other", "horizon"],
)
def test_what_is_no_belief_is_refused_in_one_line(value: Any, words: str) -> None:
    with pytest.raises((EvidenceError, WrongKind)) as caught:
        as_belief(TIGER, value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.field is not None
    assert caught.value.field[0] == "belief"


@pytest.mark.parametrize(
    ("prior", "evidence", "field"),
    [
        ([1, 1], (), ("prior",)),
        (None, "hear-left", ("given",)),
        (None, [("listen",)], ("given",)),
        (None, ["ab"], ("given",)),
        (None, 3, ("given",)),
        (None, [("listen", "hear-left"), ("listen", "x")], ("given", 1, "outcome")),
        (None, {"look": "hear-left"}, ("given", 0, "test")),
        (None, {"open-left": "done"}, ("given", 0, "test")),
    ],
    ids=["prior", "text", "single", "word", "number", "observation", "action", "terminal"],
)
def test_a_refused_belief_names_the_place_of_the_fault(prior: Any, evidence: Any, field: tuple[str, ...]) -> None:
    with pytest.raises(RhoplanError) as caught:
        TIGER.belief(prior, evidence)
    assert caught.value.field == field


def test_equal_beliefs_are_equal_and_others_are_not() -> None:
    one, other = TIGER.belief([0.85, 0.15]), rhoplan.make("tiger").belief([0.85, 0.15])
    assert one == other
    assert len({one, other, TIGER.belief()}) == 2
    assert one != [0.85, 0.15]
    assert pickle.loads(pickle.dumps(one)) == one
    assert rhoplan.with_horizon("tiger", 2).belief([0.85, 0.15]) != one


def test_a_belief_is_an_array_that_does_not_change_it() -> None:
    belief = TIGER.belief()
    array = np.asarray(belief)
    array[0] = 9.0
    assert belief.max() == 0.5
    assert np.asarray(belief, dtype=np.float32).dtype == np.float32


def test_a_belief_shows_itself_briefly() -> None:
    many = rhoplan.make("tileworld:n=6").belief()
    assert len(repr(many)) < 300
    assert "28 more" in str(many)
    last = many.problem.states[-1]
    assert str(many.problem.belief({last: 0.9, many.problem.states[0]: 0.1})).startswith(f"{last} 90.0%")
    assert repr(TIGER.belief()) == "Belief(tiger-left 50.0%, tiger-right 50.0%)"
    assert len(repr(rhoplan.make("chest-pain"))) < 80
    html = (
        rhoplan.DiagnosticProblem(
            name="signs", states=("<a>", "b"), tests=(), decisions=(rhoplan.Decision("A", np.array([1.0, 0.0])),)
        )
        .belief()
        ._repr_html_()
    )
    assert "<table>" in html
    assert "&lt;a&gt;" in html
    assert "<a>" not in html


def test_a_belief_as_a_frame() -> None:
    pytest.importorskip("pandas")
    frame = ROCKS.belief().to_frame()
    assert list(frame.columns) == ["factor", "state", "probability"]
    assert set(frame["factor"]) == {"rock-0", "rock-1"}
    assert frame["probability"].sum() == pytest.approx(2.0)


def test_after_the_end_nothing_can_be_done() -> None:
    (after,) = TIGER.belief().branches("open-left")
    assert after.belief.observable is END
    assert after.belief.actions == ()
    for wrong in (after.belief.branches, lambda action: after.belief.update(action, "hear-left")):
        with pytest.raises(EvidenceError, match="ended"):
            wrong("listen")


def test_names_of_a_problem() -> None:
    assert TIGER.states == ("tiger-left", "tiger-right")
    assert TIGER.actions == ("listen", "open-left", "open-right")
    assert TIGER.observations == ("hear-left", "hear-right")
    assert TIGER.belief().actions == TIGER.actions
    assert {"north", "sample", "check-1", "exit"} <= set(ROCKS.actions)
    once = rhoplan.make("chest-pain")
    assert "age" not in once.belief(given=[("age", once.flat.tests[0].outcomes[0])]).actions
    assert "age" in once.actions
    assert rhoplan.with_horizon("tiger", 1).actions == TIGER.actions


@given(st.lists(st.sampled_from(["hear-left", "hear-right"]), max_size=60))
def test_only_the_difference_of_the_counts_matters(heard: list[str]) -> None:
    """Independent results: the posterior odds are (0.85 / 0.15) to the power of the difference."""
    belief = TIGER.belief(given=[("listen", one) for one in heard])
    odds = (0.85 / 0.15) ** (heard.count("hear-left") - heard.count("hear-right"))
    assert belief["tiger-left"] == pytest.approx(odds / (1 + odds))
    assert isinstance(belief, Belief)


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
