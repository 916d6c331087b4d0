"""Uncertain numbers in model files: what is read, written back, and refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bridge import WIDTH, parse_model, write_model
from rhoplan import ModelFileError

BEGIN = "states: [well, ill]\npositive: ill\n"
LOSSES = "losses: {leave: {well: 0, ill: 1000}, treat: {well: 50, ill: 10}}\n"


def model(tests: str = "", *, more: str = "prevalence: 10%\n", losses: str = LOSSES) -> str:
    return f"{BEGIN}{more}tests:\n  smear: {{cost: 5, {tests or 'sensitivity: 0.8, specificity: 0.9'}}}\n{losses}"


def uncertain(text: str) -> dict[str, Any]:
    problem = parse_model(text)
    again = parse_model(write_model(problem))
    assert again.details == problem.details
    assert write_model(again) == write_model(problem)
    found: dict[str, Any] = problem.details["uncertain"]
    return found


def rows(text: str) -> dict[str, Any]:
    found: dict[str, Any] = uncertain(text)["tests"]["smear"]["likelihood"]
    return found


@pytest.mark.parametrize(
    "written", ['"0.8 [0.7, 0.9]"', "80% (70-90)", "80% (70% to 90%)", "0.7 to 0.9", "70 to 90%", '"0.80 (0.70; 0.90)"']
)
def test_intervals_as_people_write_them(written: str) -> None:
    text = model(f"sensitivity: {written}, specificity: 0.9")
    assert parse_model(text).flat.tests[0].likelihood[1].tolist() == pytest.approx([0.2, 0.8])
    assert rows(text) == {"ill": {"cases": pytest.approx(0.16 * (WIDTH / 0.2) ** 2 - 1)}}


def test_counts_are_cases() -> None:
    assert rows(model("tp: 90, fn: 10, fp: 2, tn: 198")) == {"ill": {"cases": 100.0}, "well": {"cases": 200.0}}
    assert rows(model("tp: 90, fn: 0, fp: 2, tn: 198")) == {"well": {"cases": 200.0}}


def test_inconclusive_share_is_certain() -> None:
    found = rows(model("sensitivity: 0.7 to 0.9, specificity: 0.9, inconclusive: 5%"))
    assert found["ill"]["fixed"] == ["inconclusive"]


def test_least_certain_number_of_a_row_decides() -> None:
    row = "outcomes: [a, b, c], likelihood: {well: [0.2, 0.3, 0.5], ill: [0.2 (0.1-0.3), 0.3, 0.5 (0.48-0.52)]}"
    assert rows(model(row)) == {"ill": {"cases": pytest.approx(0.16 * (WIDTH / 0.2) ** 2 - 1)}}


def test_everything_else_that_may_vary() -> None:
    text = model(
        "sensitivity: 0.8, specificity: 0.9, group: blood",
        more="prevalence: {ill: 10% (8-12)}\ngroups: {blood: {first: 1 to 3}}\n",
        losses="losses:\n  leave: {well: 0, ill: 1000 (800-1200)}\n  treat: [40 to 60, 10]\n",
    )
    found = uncertain(text.replace("cost: 5", "cost: 4 to 6"))
    assert found["prior"]["cases"] == pytest.approx(0.09 * (WIDTH / 0.04) ** 2 - 1)
    assert found["groups"] == {"blood": {"sd": pytest.approx(2 / WIDTH)}}
    assert found["tests"] == {"smear": {"cost": {"sd": pytest.approx(2 / WIDTH)}}}
    assert found["losses"]["leave"] == {"ill": {"sd": pytest.approx(400 / WIDTH)}}
    assert found["losses"]["treat"] == {"well": {"sd": pytest.approx(20 / WIDTH)}}
    assert parse_model(text).flat.payoff[1].tolist() == [-50.0, -10.0]


def test_interval_without_width_is_certain() -> None:
    assert "uncertain" not in parse_model(model("sensitivity: 0.8 (0.8-0.8), specificity: 0.9")).details


def test_field_by_hand_adds_to_intervals() -> None:
    text = model("sensitivity: 0.7 to 0.9, specificity: 0.9") + "uncertain: {prior: {cases: 500}}\n"
    assert set(uncertain(text)) == {"prior", "tests"}


def test_subtypes_have_rows_of_their_own() -> None:
    more = "prevalence: 10%\nsubtypes: {ill: {mild: 60%, grave: 40%}}\n"
    text = model("sensitivity: {mild: 0.5 to 0.7, grave: 0.9}, specificity: 0.8 to 0.9", more=more)
    found = rows(text)
    assert set(found) == {"ill", "well"}
    assert set(found["ill"]) == {"mild"}


def test_numbers_stay_as_they_are_written() -> None:
    plain = parse_model(model("sensitivity: 0.83, specificity: 0.9"))
    unsure = parse_model(model("sensitivity: 0.83 (0.76-0.89), specificity: 0.9"))
    assert np.array_equal(plain.flat.tests[0].likelihood, unsure.flat.tests[0].likelihood)


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("sensitivity: 0.8 (0.9-0.7), specificity: 0.9", "tests.smear.sensitivity must have an interval from low to"),
        ("sensitivity: 0.95 (0.7-0.9), specificity: 0.9", "tests.smear.sensitivity must lie within its interval"),
        ("sensitivity: 0.8 (-0.1 to 0.9), specificity: 0.9", "must have an interval between 0 and 1"),
        ("sensitivity: 80% (70-110), specificity: 0.9", "must have an interval between 0 and 1"),
        ("sensitivity: 1 (0.9-1), specificity: 0.9", "must lie above 0 and below 1 to have an interval"),
        ("sensitivity: 0.999 (0.5-1), specificity: 0.9", "is too wide: give a point nearer to its middle"),
        ("sensitivity: 0.8 (0.7-), specificity: 0.9", "must be a finite number"),
        ("lr_positive: 5 to 9, lr_negative: 0.1", "tests.smear.lr_positive must be one number; intervals may stand at"),
        ("tp: 80 to 90, fn: 10, fp: 2, tn: 198", "tests.smear.tp must be one number"),
        ("sensitivity: 0.8, specificity: 0.9, inconclusive: 4% to 6%", "tests.smear.inconclusive must be one number"),
    ],
)
def test_malformed_intervals_are_refused_by_name_and_line(tests: str, said: str) -> None:
    with pytest.raises(ModelFileError, match="line 5") as caught:
        parse_model(model(tests), file="m.yaml")
    assert said in str(caught.value)
    assert caught.value.field is not None
    assert caught.value.field[:2] == ("tests", "smear")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ("{prior: {cases: 0}}", "uncertain.prior.cases must be above 0"),
        ("{prior: {sd: 3}}", "uncertain.prior has no field 'sd'"),
        ("{tests: {swab: {cost: {sd: 1}}}}", "names the test 'swab', which the model does not have"),
        ("{tests: {smear: {likelihood: {sick: {cases: 9}}}}}", "names the state 'sick'"),
        ("{tests: {smear: {likelihood: {ill: {cases: 9, fixed: [no]}}}}}", "names the outcome 'no'"),
        ("{losses: {leave: {well: {sd: 3}}}}", "an amount of 0 is certain"),
        ("{losses: {leave: {ill: {sd: -3}}}}", "must not be negative"),
        ("{commits: {leave: {ill: {sd: 3}}}}", "has no field 'commits'"),
        ("{tests: {smear: {likelihood: {ill: {cases: 9}}}}}", "is said twice"),
    ],
)
def test_malformed_record_is_refused(record: str, said: str) -> None:
    tests = "sensitivity: 0.7 to 0.9, specificity: 0.9" if "twice" in said else ""
    with pytest.raises(ModelFileError, match="line 7") as caught:
        parse_model(model(tests) + f"uncertain: {record}\n", file="m.yaml")
    assert said in str(caught.value)


def test_rewards_may_not_change_their_sign() -> None:
    text = model(losses="commits: {leave: {well: 5, ill: 3 (-2 to 8)}, treat: {well: -5, ill: 10}}\n")
    with pytest.raises(ModelFileError, match="must have an interval on one side of 0"):
        parse_model(text)


def test_brackets_inside_braces_get_a_hint() -> None:
    with pytest.raises(ModelFileError, match=r"write a number and its interval as 0\.83 \(0\.76 to 0\.89\)"):
        parse_model(model("sensitivity: 0.8 [0.7, 0.9], specificity: 0.9"))


def test_general_files_take_no_intervals() -> None:
    text = "factors: {a: {states: [x, y], prior: [0.4 to 0.6, 0.5]}}\nactions: {}\n"
    with pytest.raises(ModelFileError, match="prior"):
        parse_model(text)


def test_a_state_with_subtypes_may_have_one_row_for_all_of_them() -> None:
    stated = "uncertain: {tests: {smear: {likelihood: {ill: {cases: 40}, well: {cases: 90}}}}}\n"
    more = f"prevalence: 10%\nsubtypes: {{ill: {{mild: 60%, grave: 40%}}}}\n{stated}"
    assert rows(model("sensitivity: {mild: 0.6, grave: 0.9}, specificity: 0.9", more=more)) == {
        "ill": {"cases": 40}, "well": {"cases": 90},
    }  # fmt: skip
