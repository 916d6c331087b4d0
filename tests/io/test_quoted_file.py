"""Model files that quote numbers as people do: predictive values, groups, frequencies, thresholds, utilities."""

from __future__ import annotations

import numpy as np
import pytest

from bridge import is_link, parse_model, write_model
from rhoplan import ModelFileError

HEAD = "states: [no, PE]\npositive: PE\n"
LOSSES = "losses: {leave: [0, 100], treat: [10, 0]}\n"


def one(test: str) -> str:
    """A model with the test t."""
    return f"{HEAD}tests: {{t: {{cost: 1, {test}}}}}\n{LOSSES}"


WELLS = """tests:
  wells:
    cost: 1
    shares: {low: 40%, moderate: 40%, high: 20%}
    chances: {low: 5%, moderate: 20%, high: 60%}
"""
GROUPED = [[38 / 78, 32 / 78, 8 / 78], [2 / 22, 8 / 22, 12 / 22]]


@pytest.mark.parametrize(
    "prior", ["prevalence: as in wells\n", "prevalence: {PE: as in wells}\n", "prior: as in wells\n"]
)
def test_wells_groups_give_likelihood_and_prior(prior: str) -> None:
    problem = parse_model(f"{HEAD}{prior}\n{WELLS}{LOSSES}")
    (test,) = problem.flat.tests
    assert test.outcomes == ("low", "moderate", "high")
    assert test.likelihood == pytest.approx(np.array(GROUPED))
    assert problem.prior == pytest.approx([0.78, 0.22])
    assert parse_model(write_model(problem)).prior == pytest.approx(problem.prior)


def test_the_positive_state_may_stand_first() -> None:
    turned = HEAD.replace("[no, PE]", "[PE, no]") + "prevalence: as in wells\n" + WELLS + LOSSES
    problem = parse_model(turned)
    assert problem.prior == pytest.approx([0.22, 0.78])
    assert problem.flat.tests[0].likelihood == pytest.approx(np.array(GROUPED[::-1]))


def test_groups_of_several_states() -> None:
    text = """states: [a, b, c]
prior: as in score
tests:
  score:
    cost: 1
    shares: {low: 3 of 4, high: 1 of 4}
    chances: {low: {a: 60%, b: 30%, c: 10%}, high: [20%, 0, 80%]}
losses: {x: [0, 1, 1], y: [1, 0, 0]}
"""
    problem = parse_model(text)
    assert problem.prior == pytest.approx([0.5, 0.225, 0.275])
    assert problem.flat.tests[0].likelihood == pytest.approx(np.array([[0.9, 0.1], [1, 0], [3 / 11, 8 / 11]]))


def test_predictive_values_are_the_rates_they_came_from() -> None:
    """Of 1,000 people 100 have it; 90 of them and 45 of the others are positive."""
    test = "tests: {strip: {cost: 1, ppv: 90 of 135, npv: 855 of 865, share_positive: 135 in 1000}}\n"
    problem = parse_model(HEAD + "prevalence: as in strip\n" + test + LOSSES)
    assert problem.flat.tests[0].likelihood == pytest.approx(np.array([[0.95, 0.05], [0.1, 0.9]]))
    assert problem.prior == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize("written", ["9 of 10", "9 in 10", "9/10", "90 out of 100", "900 of 1,000", "90%", "0.9"])
def test_a_chance_may_be_a_natural_frequency(written: str) -> None:
    text = HEAD + f"prevalence: {written}\ntests: {{}}\n" + LOSSES
    assert parse_model(text).prior == pytest.approx([0.1, 0.9])


def test_a_threshold_is_where_the_best_decision_changes() -> None:
    text = HEAD + "threshold: {act: treat, otherwise: leave, at: 5%, false_alarm: 50}\n"
    problem = parse_model(text)
    leave, treat = problem.flat.commits
    assert (leave.name, treat.name) == ("leave", "treat")
    assert treat.reward == pytest.approx([-50, 0])
    assert leave.reward == pytest.approx([0, -950])
    assert problem.details["losses"]


def test_utilities_are_losses_in_the_unit_of_the_model() -> None:
    text = HEAD + "utilities: {treat: [0.95, 0.9], leave: {no: 1, PE: 0.2}}\nworth: 1000\n"
    treat, leave = parse_model(text).flat.commits
    assert treat.reward == pytest.approx([-50, 0])
    assert leave.reward == pytest.approx([0, -700])


def test_the_field_of_work_comes_back() -> None:
    problem = parse_model(HEAD + LOSSES + "field: service\n")
    assert parse_model(write_model(problem)).details["field"] == "service"


def test_each_number_may_have_its_source() -> None:
    info = "info: {source: {sensitivity: Smith 2019, cost: price list}}"
    test = f"tests: {{strip: {{cost: 1, sensitivity: 90%, specificity: 90%, {info}}}}}\n"
    problem = parse_model(HEAD + test + LOSSES)
    assert problem.details["test_info"]["strip"]["source"] == "sensitivity: Smith 2019; cost: price list"


@pytest.mark.parametrize(
    ("text", "field", "told"),
    [
        (HEAD + WELLS.replace("high: 20%", "high: 30%") + LOSSES, ("tests", "wells", "shares"), "they sum to 1.1"),
        (HEAD + WELLS.replace("high: 60%", "top: 60%") + LOSSES, ("tests", "wells", "chances", "top"), "group 'top'"),
        (HEAD + WELLS + "    outcomes: [a, b, c]\n" + LOSSES, ("tests", "wells", "outcomes"), "not go with shares"),
        (HEAD + "prevalence: as in strip\n" + WELLS + LOSSES, ("prevalence",), "given by shares"),
        (HEAD + "prevalence: 11 of 10\n" + LOSSES, ("prevalence",), "a part of a whole"),
        (one("ppv: 0, npv: 1, share_positive: 0.1"), ("tests", "t", "ppv"), "t.ppv must"),
        (one("ppv: 1, npv: 1"), ("tests", "t"), "must have the field 'share_positive'"),
        (HEAD + "threshold: {act: a, otherwise: b, at: 0, miss: 1}\n", ("threshold", "at"), "threshold.at must"),
        (HEAD + "threshold: {act: a, otherwise: b, at: 5%}\n", ("threshold",), "neither is given"),
        (HEAD + "threshold: {act: a, otherwise: a, at: 5%, miss: 1}\n", ("threshold", "act"), "two decisions"),
        (HEAD + LOSSES + "worth: 5\n", ("worth",), "worth goes with utilities"),
        (HEAD + LOSSES + "utilities: {a: [1, 2]}\n", ("utilities",), "not both losses and utilities"),
        (HEAD + "utilities: {a: [1, 2]}\nworth: -1\n", ("worth",), "worth must be above 0"),
        (HEAD + LOSSES + "field: cooking\n", ("field",), "medicine, service, inspection"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_its_field(text: str, field: tuple[str, ...], told: str) -> None:
    with pytest.raises(ModelFileError, match=told) as caught:
        parse_model(text)
    assert caught.value.field == field
    assert caught.value.line


def test_utilities_without_a_worth_are_in_their_own_unit() -> None:
    rows = "utilities: {treat: [0.95, 0.9], leave: {no: 1, PE: 0.2}}\n"
    plain, one = parse_model(HEAD + rows), parse_model(HEAD + rows + "worth: 1\n")
    for commit, same in zip(plain.flat.commits, one.flat.commits, strict=True):
        assert commit.reward.tolist() == same.reward.tolist()
    assert np.ptp([commit.reward for commit in plain.flat.commits]) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://example.org/a?b=c", True), ("notes.html", True), ("folder/notes.html#part", True), ("a?b:c", True),
        ("http://example.org", False), ("//example.org", False), ("/etc/passwd", False), ("javascript:alert(1)", False),
        ("", False), ("two words", False), ("https://a.b/<c>", False),
    ],
)  # fmt: skip
def test_links_are_https_or_lead_to_files_beside_the_model(text: str, shown: bool) -> None:
    assert is_link(text) == shown


def test_a_character_that_yaml_has_not_is_told_with_its_line() -> None:
    with pytest.raises(ModelFileError, match="unacceptable character #x0001") as told:
        parse_model("states: [a, b]\n\nname: x\x01y\n")
    assert told.value.line == 3
