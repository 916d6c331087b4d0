"""Codes of errors: every code of the source is documented, and the documented codes are those that users meet."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import _guarded

SOURCE = Path(rhoplan.__file__).parent
PAGE = Path(__file__).resolve().parents[1] / "docs" / "error-codes.md"
CODE = re.compile(r"[a-z]+(-[a-z0-9]+)*")


def literals(node: ast.expr | None) -> Iterator[str]:
    """The texts that an expression may give; none where it passes on the code of another error."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=first, orelse=second):
            yield from literals(first)
            yield from literals(second)
        case None | ast.Constant(value=None) | ast.Name() | ast.Attribute(attr="code"):
            return
        case _:
            raise AssertionError(f"a code must be written out, so that it can be found: {ast.unparse(node)}")


def codes_of(path: Path) -> Iterator[str]:
    """Codes given to calls by keyword, defaults of parameters called so, and class attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(keywords=keywords):
                for keyword in keywords:
                    if keyword.arg in ("code", "sum_code"):
                        yield from literals(keyword.value)
            case ast.arguments(kwonlyargs=names, kw_defaults=defaults):
                for name, default in zip(names, defaults, strict=True):
                    if name.arg in ("code", "sum_code"):
                        yield from literals(default)
            case ast.ClassDef(body=body):
                for one in body:
                    match one:
                        case (
                            ast.Assign(targets=[ast.Name(id="code")], value=ast.Constant() as value)
                            | ast.AnnAssign(target=ast.Name(id="code"), value=ast.Constant() as value)
                        ):
                            yield from literals(value)


def used() -> set[str]:
    return {code for path in SOURCE.rglob("*.py") for code in codes_of(path)}


def documented() -> list[str]:
    return re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_code_is_documented_once_and_every_documented_code_is_used() -> None:
    assert sorted(documented()) == sorted(used())


def test_codes_are_lower_case_words_with_hyphens() -> None:
    assert [code for code in used() if not CODE.fullmatch(code)] == []


MODEL = """
states: [ill, well]
prior: [0.5, 0.5]
tests:
  look: {cost: 1, outcomes: [yes, no], likelihood: {ill: [0.9, 0.1], well: [0.2, 0.8]}}
commits: {treat: [1, 0], leave: [0, 1]}
"""

FAULTS = {
    "likelihood-row-sum": ("[0.9, 0.1]", "[0.9, 0.2]"),
    "prior-sum": ("[0.5, 0.5]", "[0.5, 0.6]"),
    "negative-number": ("cost: 1", "cost: -1"),
    "unknown-field": ("cost: 1", "costs: 1"),
    "missing-field": ("cost: 1, ", ""),
    "unknown-name": ("{ill: [0.9", "{sick: [0.9"),
    "wrong-length": ("[1, 0]", "[1, 0, 0]"),
    "duplicate-name": ("leave:", "look:"),
    "not-yaml": ("states: [", "states: [["),
    "empty-file": (MODEL, ""),
}


@pytest.mark.parametrize("code", FAULTS)
def test_a_fault_in_a_file_has_its_code(code: str) -> None:
    with pytest.raises(rhoplan.ModelFileError) as caught:
        rhoplan.loads(MODEL.replace(*FAULTS[code]))
    assert caught.value.code == code


POMDP = """
discount: 0.9
values: reward
states: a b
actions: stay
observations: x y
T: stay
{t}
O: stay
{o}
R: * : * : * : * 1
"""


@pytest.mark.parametrize(
    ("t", "o", "code"),
    [
        ("0.5 0.6\n0 1", "uniform", "transition-row-sum"),
        ("identity", "0.5 0.6\n0 1", "likelihood-row-sum"),
        ("identical", "uniform", "pomdp-syntax"),
    ],
)
def test_a_fault_in_a_pomdp_file_has_its_code(tmp_path: Path, t: str, o: str, code: str) -> None:
    path = tmp_path / "m.pomdp"
    path.write_text(POMDP.format(t=t, o=o))
    with pytest.raises(rhoplan.ModelFileError) as caught:
        rhoplan.make(str(path))
    assert caught.value.code == code


def likelihood(rows: Any) -> Any:
    test = rhoplan.Test("look", 1.0, ("yes", "no"), np.array(rows))
    commit = rhoplan.Decision("treat", np.ones(2))
    return rhoplan.DiagnosticProblem(name="m", states=("ill", "well"), tests=(test,), decisions=(commit,))


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda: likelihood([[0.9, 0.2], [0, 1]]), "likelihood-row-sum"),
        (lambda: likelihood([[1.5, -0.5], [0, 1]]), "probability-range"),
        (lambda: rhoplan.make("no-such-problem"), "unknown-problem"),
        (lambda: rhoplan.make("tiger:speed=3"), "unknown-parameter"),
        (lambda: rhoplan.evaluate("tiger", "no-such-agent"), "unknown-agent"),
        (lambda: rhoplan.evaluate("tiger", rhoplan.agent("efe", horizon=-1)), "setting-range"),
        (lambda: rhoplan.make("tiger").belief(given=[("look", "yes")]), "unknown-test"),
        (lambda: rhoplan.make("tiger").belief(given=[("listen", "yes")]), "unknown-outcome"),
        (lambda: rhoplan.make("tiger").belief(given=[("open-left", "done")]), "decision-as-evidence"),
        (lambda: likelihood([[1, 0], [1, 0]]).belief(given=[("look", "no")]), "impossible-evidence"),
    ],
    ids=lambda value: value if isinstance(value, str) else "call",
)
def test_a_fault_in_python_has_its_code(call: Callable[[], Any], code: str) -> None:
    with pytest.raises(rhoplan.RhoplanError) as caught:
        call()
    assert caught.value.code == code


def test_a_code_of_its_own_takes_the_place_of_the_one_of_the_class() -> None:
    own = rhoplan.ProblemError("m", code="prior-sum", field=("prior",), file="m.yaml", line=3)
    assert (own.code, rhoplan.ProblemError("m").code) == ("prior-sum", "invalid-problem")
    assert (own.field, own.file, own.line) == (("prior",), "m.yaml", 3)


@pytest.mark.parametrize(
    ("arguments", "status", "code", "field"),
    [
        (["evaluate", "m.yaml", "--json"], 2, "likelihood-row-sum", "tests.look.likelihood.ill"),
        (["decide", "no-such-problem", "--json"], 2, "unknown-problem", None),
        (["decide", "tiger", "--no-such-option", "--json"], 2, "usage", None),
    ],
)
def test_a_command_with_json_prints_its_error_as_an_object(
    arguments: list[str],
    status: int,
    code: str,
    field: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.yaml").write_text(MODEL.replace(*FAULTS["likelihood-row-sum"]))
    assert _guarded(arguments) == status
    told = capsys.readouterr()
    error = json.loads(told.err)["error"]
    assert (error["code"], error["field"], told.out) == (code, field, "")
    assert told.err.count("\n") == 1


def test_a_refused_request_has_a_code() -> None:
    testclient = pytest.importorskip("fastapi.testclient", reason="the server comes with the extra rhoplan[serve]")
    from rhoplan.app.serve.app import create_app

    text = MODEL.replace(*FAULTS["prior-sum"])
    with testclient.TestClient(create_app(), base_url="http://localhost") as client:
        for path, body, code in (
            ("models", {"name": "m", "text": text}, "prior-sum"),
            ("decide", {"problem": "no-such-problem"}, "unknown-model"),
            ("decide", {"problem": "tiger", "given": [["listen", "?!"]]}, "unknown-outcome"),
            ("decide", {"problem": "tiger", "no-such-field": 1}, "invalid-request"),
        ):
            reply = client.post(f"/api/v1/{path}", json=body)
            assert (reply.json()["error"]["code"], reply.status_code >= 400) == (code, True), reply.text
