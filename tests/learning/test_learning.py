"""From a table to a model with its bill, in Python and on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.advice.case import advise
from rhoplan.agents.agent import decide
from rhoplan.app.cli import _guarded
from rhoplan.errors import EvidenceError, TableError
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.learning import learning
from rhoplan.learning.bill import CARRIES, DOES_NOT
from rhoplan.learning.build import build
from rhoplan.learning.cases import match
from rhoplan.learning.choices import Choice, Grid
from rhoplan.learning.cube import draw_cube, draw_cube_nm
from rhoplan.learning.learning import learn
from rhoplan.learning.table import Table, table_of

sklearn_base = pytest.importorskip("sklearn.base", reason="learning comes with the extra rhoplan[learn]")


FEW = Grid((5,), (0.5,), (1,), (0.1,), (1,), (1.0,))
"""Little to choose from: seconds, not minutes."""


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Little to choose from on the command line."""
    monkeypatch.setattr(learning.learn, "__kwdefaults__", {**learning.learn.__kwdefaults__, "grid": FEW})


def write(folder: Path, table: Table, plan: str = PLAN) -> tuple[str, str]:
    cells = zip(*(column.cells.tolist() for column in table.columns.values()), strict=True)
    (folder / "cases.csv").write_text("\n".join(",".join(row) for row in [tuple(table.columns), *cells]) + "\n")
    (folder / "plan.yaml").write_text(plan)
    return str(folder / "cases.csv"), str(folder / "plan.yaml")


@pytest.mark.usefixtures("few")
def test_what_tells_carries_and_noise_does_not() -> None:
    plan = plan_of(PLAN.replace("cost: 1", "cost: 4"))
    good, noise = (learn(signal_table(120, strength=s), plan, repeats=1) for s in (4.0, 0.0))
    assert good.bill.verdict == CARRIES
    assert good.bill.heldout.mean < 0.5 * good.bill.baselines["no test"].mean
    assert noise.bill.verdict == DOES_NOT
    assert good.bill.heldout.low < good.bill.heldout.mean < good.bill.heldout.high


@pytest.mark.usefixtures("few")
def test_results_that_are_numbers_are_a_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [(sex, site, round(sex / 2 + n / 60, 2), ("well", "ill")[sex] if n % 5 else "well")
            for n, (sex, site) in enumerate([(0, 3), (1, 4)] * 30)]  # fmt: skip
    table = table_of(["sex", "site", "good", "outcome"], zip(*rows, strict=True))
    files = write(tmp_path, table, PLAN.replace("  fair: {cost: 1}\n  noise:", "  sex: {cost: 1}\n  site:"))
    assert _guarded(["learn", *files, "--folds", "2", "--repeats", "1"]) == 0
    warned = [line for line in capsys.readouterr().err.splitlines() if "numbers as results" in line]
    assert warned == [
        "warning: column 'sex' has numbers as results (0, 1): if they are codes, write names in their place in the "
        "table, such as no for 0 and yes for 1, and learn again; a plan cannot rename results",
        "warning: column 'site' has numbers as results (3, 4): if they are codes, write names in their place in the "
        "table, such as 'site 3' for 3, and learn again; a plan cannot rename results",
    ]


@pytest.mark.usefixtures("few")
def test_the_same_seed_gives_the_same_result() -> None:
    first, second = (learn(signal_table(90), plan_of(), folds=3, repeats=1, seed=4) for _ in range(2))
    assert first.record == second.record
    assert write_model(first.problem) == write_model(second.problem)


@pytest.mark.slow
def test_more_jobs_change_nothing() -> None:
    one, two = (learn(signal_table(60), plan_of(), folds=2, repeats=1, jobs=jobs, grid=FEW) for jobs in (1, 2))
    assert one.record == two.record


@pytest.mark.usefixtures("few")
def test_the_model_file_reads_back_and_holds_no_case() -> None:
    table = signal_table(90)
    result = learn(table, plan_of(), folds=3, repeats=1)
    text = write_model(result.problem)
    read = parse_model(text)
    agent = result.choice.agent
    assert decide(read, agent).choice == decide(result.problem, agent).choice
    assert table.digest in read.details["info"]["note"]


@pytest.mark.parametrize("about", ["state", "diagnosis"])
def test_a_model_with_subtypes_reads_back_as_it_was(about: str) -> None:
    cases = match(signal_table(120), plan_of())
    choice = Choice(subtypes=2, horizon=2, weight=3.0, about=about)
    made = build(cases.table, cases.plan, cases.diagnosis, np.arange(120), choice).problem
    text = write_model(made)
    assert ("about: diagnosis" in text) == (about == "diagnosis")
    read = parse_model(text)
    factor, same = made.factors[0], read.factors[0]
    assert same.states == factor.states == ("well (type 1)", "well (type 2)", "ill (type 1)", "ill (type 2)")
    assert same.diagnoses == ("well", "ill")
    assert same.about_diagnosis == (about == "diagnosis")
    assert np.array_equal(same.prior, factor.prior)
    for one, other in zip(made.flat.tests, read.flat.tests, strict=True):
        assert (one.name, one.cost, one.outcomes) == (other.name, other.cost, other.outcomes)
        assert np.array_equal(one.likelihood, other.likelihood)
    assert decide(read, choice.agent).actions == decide(made, choice.agent).actions
    assert advise(read, choice.agent).do == "good"


def test_a_column_to_split_by_must_serve() -> None:
    with pytest.raises(TableError, match="folds must be from 2"):
        learn(signal_table(60), plan_of(), folds=50)
    with pytest.raises(TableError, match="must have the column 'site'"):
        learn(signal_table(60), plan_of(), group="site")
    with pytest.raises(TableError, match="a column of times"):
        learn(signal_table(60), plan_of(), time="outcome")


@pytest.mark.usefixtures("few")
def test_the_command_prints_the_verdict_first_and_writes_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, plan = write(tmp_path, signal_table(120, strength=4.0), PLAN.replace("cost: 1", "cost: 4"))
    model = tmp_path / "model.yaml"
    assert _guarded(["learn", table, plan, "-o", str(model), "--repeats", "1"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("The data carry the model: its policy costs ")
    assert "all tests + boosting" in printed
    assert _guarded(["decide", str(model)]) == 0


@pytest.mark.usefixtures("few")
def test_json_has_the_bill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plan = write(tmp_path, signal_table(90))
    assert _guarded(["learn", table, plan, "--folds", "3", "--repeats", "1", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["heldout"]) == {"cost", "low", "high", "tests", "spend", "errors"}
    assert set(record["baselines"]) == {
        "no test", "all tests + logistic", "all tests + boosting", "one step ahead", "cost only", "efe",
        "efe, weight chosen",
    }  # fmt: skip
    assert {"planned", "gain", "verdict"} <= record.keys()
    assert record["table"]["cases"] == 90


def test_a_draft_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, _ = write(tmp_path, signal_table(60))
    draft = str(tmp_path / "draft.yaml")
    assert _guarded(["learn", table, "--target", "outcome", "--draft", draft]) == 0
    assert _guarded(["learn", table, "--target", "outcome", "--draft", draft]) == 2
    assert "is there already" in capsys.readouterr().err


def test_a_model_does_not_take_the_place_of_its_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, plan = write(tmp_path, signal_table(60))
    before = Path(plan).read_text()
    assert _guarded(["learn", table, plan, "-o", plan]) == 2
    assert "must not take the place of what is read" in capsys.readouterr().err
    assert Path(plan).read_text() == before


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ("1,2,3,ill\n4,5,6,well\n", "at least 10 cases"),
        ("1,2,3,ill\n4,5,well\n", "row 3)"),
        ("1,2,3,ill\n" * 30, "two diagnoses at least"),
        ("1,2,2024-05-31,ill\n2,3,2024-06-01,well\n" * 20, "column 'noise', row 2)"),
    ],
)
def test_bad_tables_are_one_line_and_exit_2(
    cells: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, plan = write(tmp_path, signal_table(60))
    Path(table).write_text("good,fair,noise,outcome\n" + cells)
    assert _guarded(["learn", table, plan]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert told in error


def test_without_scikit_learn_one_line_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, plan = write(tmp_path, signal_table(60))
    monkeypatch.setitem(sys.modules, "sklearn", None)
    assert _guarded(["learn", table, plan]) == 2
    assert capsys.readouterr().err == (
        "rhoplan: learning from cases needs scikit-learn: pip install 'rhoplan[learn]'\n"
    )


def test_the_estimator_is_one_that_scikit_learn_knows() -> None:
    from rhoplan.learning.estimator import CaseAdvisor

    table = signal_table(160, strength=4.0)
    columns = {name: column.cells.tolist() for name, column in table.columns.items()}
    y = columns.pop("outcome")
    train = {name: cells[:100] for name, cells in columns.items()}
    test = {name: cells[100:] for name, cells in columns.items()}
    advisor = CaseAdvisor(plan_of(), choice=Choice(outcomes=4))
    assert sklearn_base.clone(advisor).get_params()["choice"] == Choice(outcomes=4)
    advisor.fit(train, y[:100])
    assert advisor.classes_.tolist() == ["well", "ill"]
    assert -20 < advisor.score(test, y[100:]) < 0
    assert advisor.predict_proba(test).sum(axis=1) == pytest.approx(1.0)
    assert set(advisor.predict(test)) == {"call-well", "call-ill"}
    assert advisor.advise({}).choice == "good"
    assert advisor.advise({"good": 9.5}).choice == "call-ill"
    assert advisor.advise({}, unavailable=["good"]).choice == "fair"
    with pytest.raises(EvidenceError, match="gives a number"):
        advisor.advise({"good": "much"})


def test_frames_are_cases_too() -> None:
    pandas = pytest.importorskip("pandas")
    from rhoplan.learning.estimator import CaseAdvisor

    table = signal_table(120)
    frame = pandas.DataFrame({name: column.cells for name, column in table.columns.items()}).replace("", None)
    y = frame.pop("outcome")
    advisor = CaseAdvisor(plan_of(), choice=Choice()).fit(frame, y)
    assert advisor.n_features_in_ == 3
    assert advisor.score(frame, y) <= 0


def test_cube_is_what_its_definition_says() -> None:
    features, classes = draw_cube(40_000, np.random.default_rng(0))
    of = features[classes == 5]  # 5 is 1, 0, 1, the lowest bit first, on features 5 to 7
    assert of.mean(axis=0)[5:8] == pytest.approx([1.0, 0.0, 1.0], abs=0.03)
    assert np.delete(of, [5, 6, 7], axis=1).mean(axis=0) == pytest.approx(0.5, abs=0.03)
    assert of.std(axis=0) == pytest.approx(0.3, abs=0.02)


def test_cube_nm_tells_the_class_in_the_block_of_its_context_only() -> None:
    features, classes = draw_cube_nm(40_000, np.random.default_rng(0))
    context = features[:, :5].argmax(axis=1)
    of = features[(classes == 7) & (context == 2)][:, 5:].reshape(-1, 5, 10).mean(axis=0)
    assert of[2, [7, 8, 9]] == pytest.approx([1.0, 1.0, 1.0], abs=0.05)
    assert np.delete(of, 2, axis=0) == pytest.approx(0.5, abs=0.05)
