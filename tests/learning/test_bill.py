"""Choices with restraint, the interval, and the verdict."""

from __future__ import annotations

import numpy as np
import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.learning.baselines import run_everything
from rhoplan.learning.bill import CARRIES, DOES_NOT, SPREAD, make_bill, sentence
from rhoplan.learning.cases import Cases, match
from rhoplan.learning.choices import Choice
from rhoplan.learning.choose import SURE, Tried, luck, settled, tempered
from rhoplan.learning.folds import POLICY, Fold, Held, Splitting
from rhoplan.learning.table import table_of


def tried(cost: list[float], planned: float, outcomes: int) -> Tried:
    return Tried(Choice(outcomes=outcomes), np.array(cost), lambda: planned)


def test_the_first_stays_where_the_better_one_may_be_luck() -> None:
    first, other = tried([10, 0, 10, 0], 5.0, 3), tried([9, 0, 10, 0.5], 4.9, 5)
    assert settled([first, other]).outcomes == 3


def test_a_sure_gain_is_taken() -> None:
    first, other = tried([10, 8, 10, 8], 9.0, 3), tried([5, 4, 5, 4], 4.5, 5)
    assert settled([first, other]).outcomes == 5


def test_the_best_of_many_must_be_further_ahead_than_one_alone() -> None:
    first, best = tried([0.0] * 100, 0.0, 3), tried([-1.0, 0.55] * 50, 0.0, 5)
    assert settled([first, best]).outcomes == 5, "2.9 standard errors are a sure gain of one"
    others = [tried([0.5] * 100, 0.0, 10 + place) for place in range(20)]
    assert settled([first, *others, best]).outcomes == 3, "but the best of 21 has them by luck"
    assert luck(1) == luck(2) == SURE < luck(9) < luck(20)


def test_of_equals_the_one_that_costs_what_it_planned() -> None:
    dreamer, honest = tried([10, 0, 10, 0], 1.0, 3), tried([9, 0, 10, 1.1], 5.0, 5)
    assert tempered([dreamer, honest]).outcomes == 5
    costly = tried([30, 28, 30, 28], 29.0, 8)
    assert tempered([dreamer, honest, costly]).outcomes == 5, "honesty is not bought"


def held(cost: np.ndarray) -> Held:
    return Held(cost, cost * 0, cost * 0, cost * 0)


def bill_of(cases: Cases, policy: np.ndarray, nothing: np.ndarray):
    splits = Splitting(5, 2).outer(cases, seed=0)
    folds = [
        Fold(test, len(train), Choice(), 1.0, {POLICY: held(policy[test]), "no test": held(nothing[test])})
        for train, test in splits
    ]
    return make_bill(cases, folds), folds


def test_the_interval_is_that_of_cases_and_wider() -> None:
    cases = match(signal_table(100), plan_of())
    cost = np.random.default_rng(0).exponential(10.0, size=100)
    bill, folds = bill_of(cases, cost, cost + 1)
    assert bill.heldout.mean == pytest.approx(cost.mean())
    quantile = 1.9842169515086827  # of Student's t with 99 degrees of freedom, 97.5%
    plain = quantile * cost.std(ddof=1) / 10
    assert bill.heldout.high - bill.heldout.mean == pytest.approx(SPREAD * plain)
    twins = make_bill(cases, folds, group=np.arange(100) // 2)
    assert twins.heldout.mean == pytest.approx(cost.mean())
    pairs = cost.reshape(50, 2).sum(axis=1) - 2 * cost.mean()
    error = np.sqrt(50 / 49 * (pairs**2).sum()) / 100
    assert twins.heldout.high - twins.heldout.mean == pytest.approx(SPREAD * 2.009575237129235 * error)


def test_the_share_of_a_diagnosis_varies_though_folds_are_stratified() -> None:
    cases = match(signal_table(100), plan_of())
    cost = 40.0 * (cases.diagnosis == 1)
    bill, _ = bill_of(cases, cost, cost)
    assert bill.heldout.high - bill.heldout.low > 2 * 1.9 * cost.std() / 10


def test_the_verdict_asks_for_a_sure_gain() -> None:
    cases = match(signal_table(100), plan_of())
    noise = np.random.default_rng(1).normal(size=100)
    assert bill_of(cases, noise, noise + 1)[0].verdict == CARRIES
    assert bill_of(cases, noise, noise)[0].verdict == DOES_NOT
    assert bill_of(cases, noise + 1, noise)[0].verdict == DOES_NOT
    assert sentence(bill_of(cases, noise, noise)[0], "CAD").startswith("The data do not carry the model")


def test_no_group_is_on_both_sides_and_the_future_teaches_nobody() -> None:
    cases = match(signal_table(120), plan_of())
    group = np.arange(120) // 6
    for train, test in Splitting(4, 2, group=group).outer(cases, seed=0):
        assert not set(group[train]) & set(group[test])
    time = np.random.default_rng(0).permutation(120).astype(float)
    for train, test in Splitting(4, 1, time=time).outer(cases, seed=0):
        assert time[train].max() < time[test].min()


def test_running_everything_costs_what_the_menu_says() -> None:
    text = PLAN.replace("fair: {cost: 1}", "fair: {cost: 2, group: g, after: good}").replace(
        "noise: {cost: 1}", "noise: {cost: 4, group: g}"
    )
    table = signal_table(60)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["good"][0] = ""
    columns["noise"][1] = columns["fair"][1] = ""
    cases = match(table_of(list(columns), columns.values()), plan_of(text + "groups: {g: {first: 8}}\n"))
    run, price = run_everything(cases)
    assert price[:3].tolist() == [12.0, 1.0, 15.0]
    assert run[:3].tolist() == [[False, False, True], [True, False, False], [True, True, True]]
    capped = match(table, plan_of(text + "groups: {g: {first: 8}}\ncap: {tests: 2}\n"))
    assert run_everything(capped)[0].sum(axis=1).tolist() == [2] * 60
