"""What held-out cases and the table show: numbers that mathematics gives, and nobody to be found in them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.learning.bill import depth_sentence
from rhoplan.learning.build import build
from rhoplan.learning.cases import Cases, match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.findings import FEWEST, calibration, decision_curve, findings
from rhoplan.learning.folds import POLICY, Fold, Held, Splitting, score_split
from rhoplan.learning.looks import blanks, dependence, looks
from rhoplan.learning.replay import replay
from rhoplan.learning.stopped import Stopped, caps_on_spend, caps_on_tests, look_back
from rhoplan.learning.table import table_of


def believing(cases: Cases, chance: np.ndarray) -> list[Fold]:
    """One split in which the policy ran the first test in every case and then believed `chance` of the last state."""
    nothing = np.zeros(cases.size)
    asked = np.zeros((cases.size, len(cases.plan.tests)))
    asked[:, 0] = 1
    stopped = Stopped(np.stack([1 - chance, chance], axis=1), (chance > 0.5).astype(int), asked, {1.0: nothing + 3}, {})
    held = {POLICY: Held(nothing + 2, nothing, nothing + 1, nothing)}
    return [Fold(np.arange(cases.size), 0, Choice(), 2.0, held, stopped)]


@pytest.fixture(scope="module")
def cases() -> Cases:
    return match(signal_table(200), plan_of())


def test_who_says_the_share_is_calibrated_and_who_is_too_sure_is_not(cases: Cases) -> None:
    share = float((cases.diagnosis == 1).mean())
    honest = calibration(cases, believing(cases, np.full(200, share)))
    assert honest["about"] == "ill"
    assert [point["cases"] for point in honest["points"]] == [200], "equal beliefs stay together"
    assert honest["points"][0]["seen"] == pytest.approx(share)
    assert honest["apart"] == pytest.approx(0.0)
    sure = calibration(cases, believing(cases, np.full(200, 0.99)))["points"][0]
    assert sure["high"] < 0.99
    assert sure["low"] < share < sure["high"]


def test_no_point_has_a_handful_of_cases(cases: Cases) -> None:
    chance = np.linspace(0.2, 0.4, 200)
    chance[:2] = 0.001, 0.002
    found = calibration(cases, believing(cases, chance))
    assert min(point["cases"] for point in found["points"]) >= FEWEST
    assert sum(point["cases"] for point in found["points"]) == 200


def test_knowing_all_has_the_net_benefit_of_the_share_and_nothing_known_that_of_all_or_none(cases: Cases) -> None:
    share = float((cases.diagnosis == 1).mean())
    known = decision_curve(cases, believing(cases, (cases.diagnosis == 1).astype(float)))
    assert [point["policy"] for point in known["points"]] == pytest.approx([share] * len(known["points"]))
    blind = decision_curve(cases, believing(cases, np.full(200, share)))
    for point in blind["points"]:
        assert point["policy"] == pytest.approx(point["all"] if point["threshold"] <= share else 0.0)
    assert known["own"] == pytest.approx(0.5), "both errors cost the same"


def test_the_threshold_is_that_of_the_losses() -> None:
    plan = plan_of(PLAN.replace("{well: 40, ill: 0}", "{well: 10, ill: 0}"))
    cases = match(signal_table(60), plan)
    assert decision_curve(cases, believing(cases, np.full(60, 0.5)))["own"] == pytest.approx(0.2)


def test_use_and_caps_are_told(cases: Cases) -> None:
    found = findings(cases, believing(cases, np.full(200, 0.4)))
    assert found["use"] == {"tests": {"good": 1.0, "fair": 0.0, "noise": 0.0}, "numbers": [0.0, 1.0]}
    assert [point["cost"] for point in found["caps"]["tests"]] == [3.0, 2.0]
    assert "most" not in found["caps"]["tests"][-1]
    assert found["caps"]["spend"] == []


def test_no_test_is_a_cap_of_none_and_more_money_buys_no_less(cases: Cases) -> None:
    everybody, choice = np.arange(200), Choice(outcomes=4)
    learned = build(cases.table, cases.plan, cases.diagnosis, everybody, choice)
    replayed = replay(learned.problem, choice.agent, learned.outcomes(cases.table, everybody))
    stopped = look_back(cases, everybody, learned, choice, replayed)
    assert list(stopped.by_tests) == list(caps_on_tests(cases)) == [0, 1, 2]
    assert stopped.by_tests[0] == pytest.approx(40.0 * (cases.diagnosis == 1))
    assert list(stopped.by_spend) == list(caps_on_spend(cases))
    assert stopped.by_spend[1.0] == pytest.approx(stopped.by_tests[1]), "every test costs 1"
    assert stopped.probability.sum(axis=1) == pytest.approx(1.0)


def test_dependence_is_found_where_it_is() -> None:
    table = signal_table(300, seed=3)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["fair"] = [f"{float(cell) + 5:.1f}" for cell in columns["noise"]]
    cases = match(table_of(list(columns), columns.values()), plan_of())
    learned = build(cases.table, cases.plan, cases.diagnosis, np.arange(300), Choice(outcomes=4))
    found = dependence(cases, learned)
    assert found["looked"] == 3
    assert [pair["tests"] for pair in found["pairs"]] == [["fair", "noise"]]
    assert found["pairs"][0]["told"] > 0.5
    assert found["pairs"][0]["model"] == pytest.approx(0.0, abs=1e-9), "without subtypes tests are independent"


def test_subtypes_are_told_by_what_marks_them(cases: Cases) -> None:
    learned = build(cases.table, cases.plan, cases.diagnosis, np.arange(200), Choice(outcomes=4, subtypes=2))
    found = looks(cases, learned)["subtypes"]
    assert [one["diagnosis"] for one in found] == ["well", "well", "ill", "ill"]
    assert found[0]["share"] + found[1]["share"] == pytest.approx(1.0)
    assert all(mark["here"] > mark["within"] for one in found for mark in one["marks"])


def test_blanks_that_go_with_the_diagnosis_are_told_and_a_few_are_not_counted() -> None:
    table = signal_table(200)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["fair"] = [
        "" if who == "ill" else cell for who, cell in zip(columns["outcome"], columns["fair"], strict=True)
    ]
    columns["noise"][3] = columns["noise"][7] = ""
    cases = match(table_of(list(columns), columns.values()), plan_of())
    found = blanks(cases)
    assert found["fair"]["by_diagnosis"] == {"well": 0.0, "ill": 1.0}
    assert found["fair"]["goes_with_diagnosis"]
    assert found["noise"] == {"fewer_than": FEWEST}
    assert "good" not in found


def test_a_column_that_gives_the_answer_away_is_a_suspect(cases: Cases) -> None:
    table = signal_table(100)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["noise"] = ["7" if who == "ill" else "3" for who in columns["outcome"]]
    leaked = match(table_of(list(columns), columns.values()), plan_of())
    learned = build(leaked.table, leaked.plan, leaked.diagnosis, np.arange(100), Choice(outcomes=4))
    assert looks(leaked, learned)["suspects"] == ["noise"]
    assert looks(leaked, learned)["alone"]["noise"] == pytest.approx(1.0)


def test_cases_count_by_their_weight(cases: Cases) -> None:
    weight = np.where(cases.diagnosis == 1, 2.0, 0.5)
    found = calibration(replace(cases, weight=weight), believing(cases, np.full(200, 0.5)))
    ill = 2.0 * (cases.diagnosis == 1).sum()
    assert found["seen"] == pytest.approx(ill / (ill + 0.5 * (cases.diagnosis == 0).sum()))


def test_a_second_opinion_that_knows_all_is_right_wherever_the_two_disagree(cases: Cases) -> None:
    [fold] = believing(cases, np.full(200, 0.4))
    known = np.stack([cases.diagnosis == 0, cases.diagnosis == 1], axis=1).astype(float)
    loss = cases.plan.losses[fold.stopped.commit, cases.diagnosis]
    held = {POLICY: Held(1 + loss, np.ones(200), np.ones(200), loss > 0)}
    found = findings(cases, [replace(fold, held=held, stopped=replace(fold.stopped, second=known))])["second_opinion"]
    ill = float((cases.diagnosis == 1).mean())
    assert found["disagree"] == pytest.approx(ill)
    assert found["cost"]["cost"] == pytest.approx(1.0), "only the test is paid"
    assert found["less"]["mean"] == pytest.approx(40 * ill)
    [row] = found["rows"]
    assert (row["policy"], row["second"], row["policy_loss"], row["second_loss"]) == (
        "call-well",
        "call-ill",
        40.0,
        0.0,
    )


def test_the_second_opinion_sees_only_what_the_policy_acquired(cases: Cases) -> None:
    grid, splitting = Grid((4,), (0.5,), (1,), (0.1,), (1,), (1.0,)), Splitting(2, 1)
    [split, _] = splitting.outer(cases, seed=0)
    fold = score_split(cases, splitting, split, seed=0, grid=grid, second=True)
    assert fold.stopped.second.sum(axis=1) == pytest.approx(1.0)
    columns = {name: column.cells.copy() for name, column in cases.table.columns.items()}
    for place, test in enumerate(cases.plan.tests):
        columns[test.name][fold.test[fold.stopped.asked[:, place] == 0]] = "99"
    assert any((column == "99").any() for column in columns.values())
    other = match(table_of(list(columns), columns.values()), cases.plan)
    again = score_split(other, splitting, split, seed=0, grid=grid, second=True)
    assert np.array_equal(again.stopped.second, fold.stopped.second)


def test_depth_is_what_it_saves_in_the_same_cases(cases: Cases) -> None:
    [fold] = believing(cases, np.full(200, 0.4))
    nothing = np.zeros(200)
    noise = np.random.default_rng(0).normal(size=200)

    def told(saved: np.ndarray) -> str:
        held = {**fold.held, "one step ahead": Held(9 * noise + saved, *[nothing] * 3),
                "cost only": Held(9 * noise, *[nothing] * 3)}  # fmt: skip
        return depth_sentence(findings(cases, [replace(fold, held=held)])["depth"], "CAD")

    assert told(nothing + 2 + noise).startswith("Looking further ahead than one step paid: it saved")
    assert "did not surely pay" in told(noise)
    assert "did harm" in told(noise - 2)
    assert "changed nothing" in told(nothing)
    assert "depth" not in findings(cases, [fold])
