"""Plans: model files without what the table gives."""

from __future__ import annotations

import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.errors import ModelFileError, TableError
from rhoplan.learning.cases import match
from rhoplan.learning.plan import TO_FILL_IN, draft_plan, parse_plan
from rhoplan.learning.table import parse_table, table_of


def test_a_plan_has_diagnoses_prices_and_losses() -> None:
    plan = plan_of()
    assert plan.states == ("well", "ill")
    assert [test.cost for test in plan.tests] == [1.0, 1.0, 1.0]
    assert plan.losses.tolist() == [[0.0, 40.0], [40.0, 0.0]]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("good: {cost: 1}", "good: {}"), "must have the field 'cost'"),
        (("good: {cost: 1}", "good: {cost: 1, likelihood: [1]}"), "must be left out: the table gives it"),
        (("good: {cost: 1}", "good: {cost: 1, group: g}"), "needs the field groups"),
        (("target: outcome", "target: good"), "cannot be a test too"),
        (("target: outcome", "color: red"), "has no field 'color'"),
        (("{well: 40, ill: 0}", "{well: 40}"), "'ill' is missing"),
    ],
)
def test_faults_name_file_and_line(change: tuple[str, str], told: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        plan_of(PLAN.replace(*change))
    assert told in str(caught.value)
    assert "plan.yaml, line" in str(caught.value)


def test_a_draft_is_a_plan_that_is_marked() -> None:
    table = signal_table(60)
    text = draft_plan(table, "outcome")
    plan = parse_plan(text)
    assert [test.name for test in plan.tests] == ["good", "fair", "noise"]
    assert plan.losses.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert text.count(TO_FILL_IN) == 3


def test_a_draft_quotes_odd_names_and_leaves_out_what_is_no_test() -> None:
    rows = "\n".join(f"P{n:03},{n % 7},{'yes' if n % 2 else 'no'}" for n in range(30))
    text = draft_plan(parse_table(f"patient,a: b,yes\n{rows}\n".encode()), "yes")
    assert [test.name for test in parse_plan(text).tests] == ["a: b"]
    assert "# patient: no test, id" in text


def test_what_the_plan_names_must_be_in_the_table() -> None:
    with pytest.raises(ModelFileError, match=r"tests\.better must be a column of the table"):
        match(signal_table(60), plan_of(PLAN.replace("good:", "better:")))
    with pytest.raises(TableError, match="must have the column 'result'"):
        match(signal_table(60), plan_of(PLAN.replace("target: outcome", "target: result")))


def test_a_diagnosis_without_losses_is_told_with_its_row() -> None:
    table = table_of(["good", "fair", "noise", "outcome"], [[1, 2, 3]] * 3 + [["well", "ill", "odd"]])
    with pytest.raises(TableError, match=r"'odd' has none.*row 4\)"):
        match(table, plan_of())


def test_too_few_cases_and_one_diagnosis_are_refused() -> None:
    with pytest.raises(TableError, match="at least 10 cases of each diagnosis"):
        match(signal_table(8), plan_of())
    same = table_of(["good", "fair", "noise", "outcome"], [list(range(30))] * 3 + [["well"] * 30])
    with pytest.raises(TableError, match="two diagnoses at least"):
        match(same, plan_of())


def test_a_target_of_many_values_is_refused() -> None:
    with pytest.raises(TableError, match="one of a few diagnoses"):
        match(
            signal_table(60),
            plan_of(PLAN.replace("target: outcome", "target: fair").replace("  fair: {cost: 1}\n", "")),
        )


def test_blanks_in_the_target_and_constants_are_warned_of() -> None:
    table = signal_table(80)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["outcome"][3] = ""
    columns["noise"] = ["5"] * 80
    cases = match(table_of(list(columns), columns.values()), plan_of())
    assert cases.size == 79
    assert [test.name for test in cases.plan.tests] == ["good", "fair"]
    assert any("the first is row 5" in warning for warning in cases.warnings)
    assert any("'noise' is the same" in warning for warning in cases.warnings)


def test_a_column_that_gives_the_answer_away_is_suspected() -> None:
    table = signal_table(80)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["noise"] = ["1" if what == "ill" else "0" for what in columns["outcome"]]
    warnings = match(table_of(list(columns), columns.values()), plan_of()).warnings
    assert any("'noise' alone settles 100%" in warning for warning in warnings)
    assert not any("'good'" in warning for warning in warnings)


def test_blanks_that_go_with_the_diagnosis_are_told() -> None:
    table = signal_table(120)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    columns["noise"] = [
        "" if what == "ill" else cell for cell, what in zip(columns["noise"], columns["outcome"], strict=True)
    ]
    warnings = match(table_of(list(columns), columns.values()), plan_of()).warnings
    assert any("blanks of 'noise'" in warning for warning in warnings)


def test_cases_count_by_the_share_in_life() -> None:
    cases = match(signal_table(100), plan_of(PLAN + "prevalence: {ill: 10%}\n"))
    ill = cases.diagnosis == 1
    assert cases.weight[ill].sum() / cases.size == pytest.approx(0.1)
    assert cases.weight.mean() == pytest.approx(1.0)
