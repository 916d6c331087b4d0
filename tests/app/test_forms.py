"""The addresses behind gallery and form: cards, a form as text and back, conversions, saving to files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
httpx = pytest.importorskip("httpx")

from rhoplan.advice.variations import counts_losses  # noqa: E402
from rhoplan.app.cli.serve import open_models  # noqa: E402
from rhoplan.app.serve.form_tasks import meaning  # noqa: E402
from rhoplan.io.comments import with_comments  # noqa: E402
from rhoplan.io.form import Form, FormDecision, FormTest, first_doubt, first_gap  # noqa: E402
from rhoplan.io.form_text import form_text, read_form  # noqa: E402
from rhoplan.io.model_file import parse_model, write_model  # noqa: E402
from rhoplan.problems.registry import WORKED_MODELS  # noqa: E402
from serving import PATIENCE, server  # noqa: E402

STRIP = FormTest("strip", "4", "rates", {"sensitivity": "92%", "specificity": "47 of 50"})
SCREEN = Form(
    name="Two tests",
    unit="EUR",
    states=["well", "ill"],
    positive="ill",
    prevalence="1 in 100",
    tests=[
        STRIP,
        FormTest("assay", "60", "ratios", {"lr_positive": "95", "lr_negative": "0.05"}, more="after: strip\n"),
    ],
    decisions=[FormDecision("leave", ["0", "12000"]), FormDecision("treat", ["900", "400"])],
    more="horizon: 3\n",
)
TEXT = """states: [well, ill]
positive: ill
prevalence: 1%
tests: {strip: {cost: 4, sensitivity: 92%, specificity: 94%}}
losses: {leave: [0, 12000], treat: [900, 400]}
"""


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_a_worked_model_as_a_form_and_back_is_the_same_model(name: str) -> None:
    text = WORKED_MODELS[name].read_text(encoding="utf-8")
    form = read_form(text)
    written = form_text(form)
    assert write_model(parse_model(written, file=name)) == write_model(parse_model(text, file=name))
    assert read_form(written) == form
    assert first_gap(form) is None


def test_numbers_of_a_file_keep_their_reading_in_the_form() -> None:
    text = TEXT.replace("cost: 4", "cost: 20.000").replace("[900, 400]", "[1.125, 400]")
    form = read_form(text)
    assert first_doubt(form) is None
    assert write_model(parse_model(form_text(form), file="m")) == write_model(parse_model(text, file="m"))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"prevalence": "0,4%"}, ("prevalence",)),
        ({"tests": [replace(STRIP, cost="20.000")]}, ("tests", "strip", "cost")),
        ({"tests": [replace(STRIP, numbers={"sensitivity": "92", "specificity": "94%"})]},
         ("tests", "strip", "sensitivity")),
        ({"tests": [replace(STRIP, way="counts", numbers={"tp": "1,000"})]}, ("tests", "strip", "tp")),
        ({"tests": [replace(STRIP, way="table", outcomes=["no", "yes"], rows=[["0,9", "0,1"], ["0.1", "0.9"]])]},
         ("tests", "strip", "likelihood", "well", 0)),
        ({"decisions": [FormDecision("leave", ["0", "12.000"])]}, ("losses", "leave", "ill")),
        ({"stakes": "threshold", "threshold": {"at": "5", "miss": "12.000"}}, ("threshold", "at")),
        ({"worth": "1,5"}, ("worth",)),
    ],
)  # fmt: skip
def test_a_typed_number_with_two_readings_names_its_place(change: dict[str, Any], place: tuple[str | int, ...]) -> None:
    assert first_doubt(SCREEN) is None
    found = first_doubt(replace(SCREEN, **change))
    assert found is not None
    assert found.field == place


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_a_number_changed_in_the_form_changes_its_line_and_keeps_comments(name: str) -> None:
    text = WORKED_MODELS[name].read_text(encoding="utf-8")
    form = read_form(text)
    dear = replace(form, tests=[replace(form.tests[0], cost="77"), *form.tests[1:]])
    found = with_comments(text, form_text(dear))
    assert read_form(found) == dear
    fresh = [line for line in found.splitlines() if line not in text.splitlines()]
    assert "77" in " ".join(fresh)
    assert len(fresh) <= 2  # a list that was folded may stand on one line now
    assert all(line in found for line in text.splitlines() if "#" in line)


def test_what_cannot_be_laid_out_as_before_is_written_anew() -> None:
    text = form_text(SCREEN)
    assert with_comments("[1, 2]", text) == text
    assert with_comments("a: &x 1\nb: *x\n\tc: 3", text) == text
    turned = replace(SCREEN, tests=SCREEN.tests[::-1])
    assert [one.name for one in read_form(with_comments(text, form_text(turned))).tests] == ["assay", "strip"]
    grown = replace(SCREEN, prevalence="2%", tests=[*SCREEN.tests, replace(STRIP, name="third")])
    commented = text.replace("tests:", "tests:  # of 2026")
    found = with_comments(commented, form_text(grown))
    assert read_form(found) == grown
    assert "# of 2026" in found


def quoted_in_every_way() -> Form:
    score = FormTest(
        "score", "1", "groups", outcomes=["low", "high"], shares=["60%", "40%"], rows=[["", ""], ["5%", "3 of 10"]]
    )
    tests = [
        STRIP,
        FormTest("study", "2", "counts", {"tp": "45", "fn": "5", "fp": "2", "tn": "198"}, sources={"tp": "Smith 2019"}),
        FormTest("kit", "3", "predictive", {"ppv": "30%", "npv": "99%", "share_positive": "12%"}, note="twice"),
        score,
        FormTest(
            "scan", "9", "table", outcomes=["no", "yes"], rows=[["0.8", "0.2"], ["10%", "90%"]], sources={"all": "x"}
        ),
    ]
    threshold = {"act": "treat", "otherwise": "leave", "at": "5%", "false_alarm": "50"}
    return Form("all", "every way", "EUR", "medicine", ["well", "ill"], "ill", "as in score", [], tests, "threshold",
                threshold=threshold, sources={"prevalence": "registry"}, more="cap: {tests: 3}\n")  # fmt: skip


def test_every_way_of_quoting_survives_form_text_form() -> None:
    form = quoted_in_every_way()
    text = form_text(form)
    assert read_form(text) == form
    problem = parse_model(text)
    assert len(problem.flat.tests) == 5
    assert problem.prior[1] == pytest.approx(0.6 * 0.05 + 0.4 * 0.3)
    assert problem.details["info"]["source"] == "prevalence: registry"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"states": ["well"]}, ("states",)),
        ({"positive": ""}, ("positive",)),
        ({"prevalence": " "}, ("prevalence",)),
        ({"tests": [FormTest("strip", "", "rates")]}, ("tests", "strip", "cost")),
        ({"tests": [FormTest("strip", "4", "rates", {"sensitivity": "90%"})]}, ("tests", "strip", "specificity")),
        ({"tests": [FormTest("t", "4", "groups", outcomes=["a", "b"])]}, ("tests", "t", "shares", "a")),
        (
            {"tests": [FormTest("t", "4", "groups", outcomes=["a", "b"], shares=["1", "0"])]},
            ("tests", "t", "chances", "a"),
        ),
        ({"tests": [FormTest("t", "4", "table", outcomes=["a", "b"])]}, ("tests", "t", "likelihood", "well", 0)),
        ({"decisions": [FormDecision("leave", ["0"]), FormDecision("treat")]}, ("losses", "leave", "ill")),
        ({"stakes": "threshold", "threshold": {"act": "treat", "otherwise": "leave"}}, ("threshold", "at")),
    ],
)
def test_what_is_not_filled_in_is_named(change: dict[str, Any], field: tuple[str | int, ...]) -> None:
    gap = first_gap(replace(SCREEN, **change))
    assert gap is not None
    assert gap.field == field


# -- a server with files -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("served")
    (path / "screen.yaml").write_text("# kept by hand\n" + TEXT)
    (path / "other.json").write_text(json.dumps({"states": ["a", "b"], "commits": {"x": [0, 1], "y": [1, 0]}}))
    (path / "notes.yaml").write_text("shopping: [milk]\n")
    return path


@pytest.fixture(scope="module")
def api(folder: Path) -> Iterator[Any]:
    with (
        server("--workers", "1", str(folder)) as address,
        httpx.Client(base_url=f"{address}/api/v1/", timeout=PATIENCE) as client,
    ):
        yield client


def post(api: Any, path: str, body: Any, status: int = 200) -> Any:
    reply = api.post(path, json=body)
    assert reply.status_code == status, reply.text
    return reply.json()


def test_the_gallery_has_own_worked_and_paper_apart(api: Any, folder: Path) -> None:
    found = api.get("gallery").json()
    assert [(one["name"], one["tests"], one["file"]) for one in found["own"]] == [
        ("other", 0, None),  # saved as YAML only
        ("screen", 1, "screen.yaml"),
    ]
    assert {one["name"] for one in found["worked"]} == set(WORKED_MODELS)
    cascade = next(one for one in found["worked"] if one["name"] == "screening-cascade")
    assert cascade["tests"] == 2
    assert "one person in a hundred" in cascade["about"]
    assert {"tiger", "rocksample"} <= {one["name"] for one in found["paper"]}
    assert found["folder"] == folder.name


def test_a_form_is_checked_read_and_written(api: Any) -> None:
    found = post(api, "form/check", {"form": asdict(SCREEN)})
    assert found["sound"]
    assert found["text"] == form_text(SCREEN)
    assert found["read"]["prior"] == pytest.approx([0.99, 0.01])
    strip, assay = found["read"]["tests"]
    assert (strip["sensitivity"], strip["specificity"]) == pytest.approx((0.92, 0.94))
    assert (assay["lr_positive"], assay["lr_negative"]) == pytest.approx((95, 0.05))
    assert (
        strip["words"]
        == "of 1,000 cases 10 are ill, 9.2 of them positive, and 59 of the others; ill after positive: 13.4%"
    )
    decided = {one["name"]: one["amounts"] for one in found["read"]["decisions"]}
    assert decided == {"leave": [0, 12000], "treat": [900, 400]}
    assert found["read"]["states"] == ["well", "ill"]
    assert found["read"]["threshold"]["act"] == "treat"
    assert found["read"]["threshold"]["at"] == pytest.approx(900 / 12500)
    assert post(api, "form/read", {"text": found["text"]})["form"] == asdict(SCREEN)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"prevalence": "120%"}, "prevalence"),
        ({"tests": [{**asdict(STRIP), "name": ""}]}, "form.tests.0"),
        ({"tests": [asdict(STRIP)] * 2}, "form.tests.1"),
        ({"tests": [{**asdict(STRIP), "numbers": {**STRIP.numbers, "sensitivity": "x"}}]}, "tests.strip.sensitivity"),
        ({"tests": [{**asdict(STRIP), "more": "after: [nothing"}]}, "tests.strip.more"),
        ({"decisions": [{"name": "a", "amounts": ["0", "-1"]}, {"name": "b", "amounts": ["0", "1"]}]}, "losses.a.ill"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_a_form_is_told_with_its_field(api: Any, change: dict[str, Any], field: str) -> None:
    found = post(api, "form/check", {"form": {**asdict(SCREEN), **change}})
    assert not found["sound"]
    assert found["error"]["field"] == field


def test_models_that_no_form_can_show_say_so(api: Any) -> None:
    text = TEXT + "subtypes: {ill: [mild, hard]}\n"
    assert "cannot be shown as a form" in post(api, "form/read", {"text": text}, 422)["error"]["message"]
    assert post(api, "form/read", {"text": "discount: 1", "language": "pomdp"}, 422)["error"]["field"] == "language"


def test_conversions_answer_alone(api: Any) -> None:
    quoted = {"ppv": "90 of 135", "npv": "855 of 865", "share_positive": "135 in 1,000"}
    found = post(api, "convert", {"test": quoted})
    assert found["likelihood"] == {"other": pytest.approx([0.95, 0.05]), "positive": pytest.approx([0.1, 0.9])}
    assert found["prior"]["positive"] == pytest.approx(0.1)
    threshold = {"act": "treat", "otherwise": "leave", "at": "5%", "false_alarm": 50}
    found = post(api, "convert", {"threshold": threshold})
    assert found["losses"]["leave"]["positive"] == pytest.approx(950)
    utilities = {"treat": {"other": 0.95, "positive": 0.9}, "leave": {"other": 1, "positive": 0.2}}
    assert post(api, "convert", {"utilities": utilities, "worth": 1000})["losses"]["leave"][
        "positive"
    ] == pytest.approx(700)
    assert post(api, "convert", {"test": {**quoted, "ppv": "140 of 135"}}, 422)["error"]["field"] == "test.ppv"
    assert post(api, "convert", {"test": {}}, 422)["error"]["field"] == "test"


def test_a_model_is_saved_to_its_file_and_the_old_text_kept(api: Any, folder: Path) -> None:
    old = (folder / "screen.yaml").read_text()
    (folder / "screen.yaml").chmod(0o600)
    dear = TEXT.replace("cost: 4", "cost: 5")
    found = post(api, "save", {"name": "screen", "text": dear})
    assert found == {"name": "screen", "file": "screen.yaml", "backup": "screen.yaml.bak"}
    assert (folder / "screen.yaml").read_text() == dear
    assert (folder / "screen.yaml.bak").read_text() == old
    assert {(folder / name).stat().st_mode & 0o777 for name in ("screen.yaml", "screen.yaml.bak")} == {0o600}
    assert api.get("models/screen").json()["text"] == dear
    assert post(api, "save", {"name": "screen", "text": dear})["backup"] is None
    again = post(api, "save", {"name": "screen", "text": TEXT})
    assert again["backup"] == "screen.yaml.2.bak"
    assert (folder / "screen.yaml.2.bak").read_text() == dear
    assert not list(folder.glob(".screen*"))


def test_a_new_model_goes_into_the_folder_and_never_over_a_file(api: Any, folder: Path) -> None:
    assert post(api, "save", {"name": "fresh", "text": TEXT})["file"] == "fresh.yaml"
    assert (folder / "fresh.yaml").read_text() == TEXT
    assert next(one for one in api.get("gallery").json()["own"] if one["name"] == "fresh")["file"] == "fresh.yaml"
    refused = post(api, "save", {"name": "notes", "text": TEXT}, 422)["error"]
    assert "already" in refused["message"]
    assert (folder / "notes.yaml").read_text() == "shopping: [milk]\n"


@pytest.mark.parametrize("name", ["../out", "a/b", "chest-pain", "x.yaml", "..", "/etc/x", "other"])
def test_no_other_path_can_be_written(api: Any, folder: Path, name: str) -> None:
    before = sorted(folder.parent.rglob("*"))
    post(api, "save", {"name": name, "text": TEXT}, 422)
    assert sorted(folder.parent.rglob("*")) == before


def test_a_faulty_model_is_not_saved(api: Any, folder: Path) -> None:
    before = (folder / "screen.yaml").read_text()
    found = post(api, "save", {"name": "screen", "text": TEXT.replace("92%", "192%")}, 422)
    assert found["error"]["line"] == 4
    assert (folder / "screen.yaml").read_text() == before


def test_who_is_reached_by_others_saves_nothing(folder: Path) -> None:
    _, files, _ = open_models([str(folder)], saving=False)
    assert (files.paths, files.folder) == ({}, None)


def test_a_start_removes_what_a_killed_server_had_begun_to_save(folder: Path) -> None:
    begun = [
        folder / f".screen{middle}-being-written-0_a1b2c3{end}" for middle, end in (("", ".yaml"), (".yaml", ".bak"))
    ]
    for path in begun:
        path.write_text("half")
    open_models([str(folder)], saving=False)
    assert all(path.exists() for path in begun), "who saves nothing removes nothing"
    open_models([str(folder)], saving=True)
    assert not any(path.exists() for path in begun)


def test_a_folder_leaves_out_what_is_no_model(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    opened, files, _ = open_models([str(folder), "tiger"], saving=True)
    names = {one.name for one in opened}
    assert {"screen", "other", "tiger"} <= names
    assert "notes" not in names
    assert "left out: " in capsys.readouterr().err
    assert files.folder == folder


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_what_a_form_is_read_as_are_the_numbers_of_its_model(name: str) -> None:
    problem = parse_model(WORKED_MODELS[name].read_text(encoding="utf-8"), file=name)
    found = meaning(problem)
    assert found["states"] == list(problem.diagnoses)
    assert found["prior"] == pytest.approx(problem.prior)
    sign = -1 if counts_losses(problem) else 1
    for said, meant in zip(found["decisions"], problem.flat.commits, strict=True):
        assert said["name"] == meant.name
        assert said["amounts"] == pytest.approx(sign * meant.reward)
    if sign < 0:
        assert min(min(one["amounts"]) for one in found["decisions"]) >= 0
