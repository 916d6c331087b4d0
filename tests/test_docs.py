"""What the documentation shows is what the program prints."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rhoplan
from bridge import VERDICTS, WORKED_MODELS, published

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "docs"))  # its modules use one another


def load(name: str) -> ModuleType:
    """The module docs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate, offline, docstrings = load("generate"), load("offline"), load("docstrings")
session, tables, found_page = load("session"), load("tables"), load("found")


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_commands_and_code_print_what_the_page_shows(page: Path) -> None:
    text = page.read_text()
    if "rhoplan serve" in text:
        pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    assert generate.page_with_output(text) == text, "run: .venv/bin/python docs/generate.py"


def test_output_of_code_is_replaced_by_what_it_prints() -> None:
    page = "```python\nx = 2\n```\n\n```python\nprint(x)\n```\n\n```output\n3\n```\n"
    assert generate.page_with_output(page) == page.replace("3", "2")


def test_code_that_fails_is_not_passed_over() -> None:
    with pytest.raises(ZeroDivisionError):
        generate.page_with_output("```python\n1 / 0\n```\n")


def test_a_conversation_is_held_again() -> None:
    page = "```console\n$ .venv/bin/rhoplan advise tiger\nstale\n> hear-left\nstale\n> quit\n```\n"
    made = generate.page_with_output(page)
    assert "stale" not in made
    assert re.findall(r"^(> .*|DO NEXT.*|  tiger-left .*)$", made, flags=re.MULTILINE) == [
        "  tiger-left               ###############                50.0%",
        "DO NEXT: listen",
        "> hear-left",
        "  tiger-left               ##########################     85.0%",
        "DO NEXT: listen",
        "> quit",
    ]
    assert generate.page_with_output(made) == made


def test_requests_go_to_the_server_that_the_page_started() -> None:
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    request = "```http\nPOST /api/v1/solve HTTP/1.1\nContent-Type: application/json\n\n{}\n```\n"
    page = f"```console\n$ .venv/bin/rhoplan serve\n```\n\n{request}\n```http\n```\n\n{request}"
    made = generate.page_with_output(page)
    assert "rhoplan is at http://127.0.0.1:8765/#key=KEY" in made
    assert made.count("HTTP/1.1 422") == 1, "a request without a reply on the page stays without one"
    assert '"field": "problem"' in made
    assert generate.page_with_output(made) == made


def test_commands_of_other_programs_stay_as_they_are() -> None:
    page = (
        "```console\n$ python3 run.py     # set up\nsomething\n$ cat nothing.txt | head -1 \\\n    | wc -l\nold\n```\n"
    )
    made = generate.page_with_output(page)
    assert made.startswith(
        "```console\n$ python3 run.py     # set up\nsomething\n$ cat nothing.txt | head -1 \\\n    | wc -l\n"
    )
    assert "old" not in made


def test_replies_are_laid_out_in_lines_that_fit() -> None:
    data = {
        "a": [{"name": "x" * 20, "value": k / 3} for k in range(9)],
        "b": {"c": {"d": ["y" * 30] * 5}},
        "e": [],
        "f": None,
    }
    text = session.laid_out(session.shortened(data))
    assert max(map(len, text.splitlines())) <= session.WIDTH
    assert json.loads(text) == session.shortened(data)
    assert '"value": 0.333333' in text
    assert session.laid_out({"a": [1, 2]}) == '{"a": [1, 2]}'


def test_every_address_is_shown_with_an_example() -> None:
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    page = re.sub(r"<!-- made: .*?<!-- end -->", "", (ROOT / "docs" / "api.md").read_text(), flags=re.DOTALL)
    for path in tables.openapi()["paths"]:
        name = path.removeprefix("/api/v1/").removesuffix("/{name}")
        shown = re.escape(path.removesuffix("/{name}"))
        assert re.search(rf"{shown}\b|ask\(\"{name}\"", page), f"docs/api.md has no example of {path}"


def test_fields_have_words() -> None:
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    for name in re.findall(r"<!-- made: fields (\w+) -->", (ROOT / "docs" / "api.md").read_text()):
        assert " |  | " not in tables.fields(name), f"docs/tables.py has no words for a field of {name}"


def test_every_limit_is_told_and_is_the_command_s_own() -> None:
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    from bridge import Settings, serve_command

    elsewhere = {"workers", "hosts", "key"}
    assert len(tables.limits().splitlines()) - 2 == len({f.name for f in dataclasses.fields(Settings)} - elsewhere)
    options = {option.name: option.default for option in serve_command.params}
    found = (options["seconds"], options["nodes"], options["memory"] * 1e9, options["size"])
    assert found == (Settings.seconds, Settings.nodes, Settings.memory, Settings.request_bytes)


@pytest.mark.parametrize("page", ["advisor.md", "model-files.md"])
def test_every_worked_model_has_its_line(page: str) -> None:
    rows = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / page).read_text(), flags=re.MULTILINE)
    assert set(WORKED_MODELS) <= set(rows)


def test_the_page_on_validity_names_fields_of_model_files() -> None:
    page, fields = ((ROOT / "docs" / name).read_text() for name in ("validity.md", "model-files.md"))
    rows = re.findall(r"^\| (`[^|]+`) \|", fields, re.MULTILINE)
    named = set(re.findall(r"`([a-z_]+):?`", page))
    assert named
    assert named <= {name for row in rows for name in re.findall("[a-z_]+", row)}


def test_example_files_are_what_pages_show() -> None:
    pages = "".join(page.read_text() for page in generate.PAGES)
    shown = re.findall(r"```yaml\n(# (examples/\S+)\n.*?)```", pages, flags=re.DOTALL)
    assert {name: text for text, name in shown} == {
        f"examples/{path.name}": path.read_text() for path in (ROOT / "examples").iterdir() if path.is_file()
    }


def test_command_reference_is_the_help() -> None:
    assert generate.command_reference() == (ROOT / "docs" / "commands.md").read_text(), "run docs/generate.py"


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_reference_has_every_public_name_once() -> None:
    page = (ROOT / "docs" / "reference.md").read_text()
    found = re.findall(r"^\.\. (?:auto\w+|py:data):: (\w+)$", page, flags=re.MULTILINE)
    assert sorted(found) == sorted(rhoplan.__all__)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<script src="https://cdn.example.org/x.js"></script>'),
        ("a.html", '<link rel="stylesheet" href="//fonts.example.org/a.css">'),
        ("a.html", '<img srcset="a.png 1x, http://example.org/b.png 2x">'),
        ("a.html", '<p style="background: url(https://example.org/b.png)">'),
        ("a.html", "<style>@import 'https://example.org/b.css';</style>"),
        ("a.css", "@font-face { src: url( 'https://example.org/f.woff2') }"),
    ],
)
def test_site_may_not_fetch_from_elsewhere(name: str, text: str) -> None:
    assert offline.remote_requests(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.html", '<a href="https://example.org">a link</a> <link rel="canonical" href="https://example.org/">'),
        ("a.html", '<script src="_static/x.js"></script><svg xmlns="http://www.w3.org/2000/svg"></svg>'),
        ("a.html", "<pre>url(https://example.org/b.png)</pre>"),
        ("a.css", "a { background: url('data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"/>') }"),
    ],
)
def test_site_may_link_elsewhere(name: str, text: str) -> None:
    assert not offline.remote_requests(name, text)


def test_docstrings_are_plain_text() -> None:
    lines = ["Value of *x*.", "", "lower, upper: bounds on a * b_", "    and |c|. `d * e_` stays."]
    assert docstrings.as_markup(lines) == [
        r"Value of \*x\*.",
        "",
        "",
        r"`lower, upper`: bounds on a \* b\_",
        r"and \|c\|. `d * e_` stays.",
    ]


def test_signatures_have_short_types() -> None:
    long = "(a: TypeAliasForwardRef('Array') | None, b: tuple[~rhoplan.model.pomdp.Factor, ...] = <factory>)"
    assert docstrings.short_types(long) == "(a: Array | None, b: tuple[Factor, ...] = ...)"


def test_readme_shows_exactly_the_two_set_up_commands() -> None:
    found = re.findall(r"^\$ python3 run\.py.*?(?=\s{2,}#|$)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert found == ["$ python3 run.py", "$ python3 run.py test"]


# -- what we found ----------------------------------------------------------------------------------------------------


def test_a_long_reason_is_told_in_whole_clauses() -> None:
    cases = ", ".join(f"case {n} at 0.95 (88.6% for 96.9%, -2.73 for -1.52; twice)" for n in range(9))
    told = found_page.first(f"Success falls in bits on {cases}; in nats on {cases}. So it is.")
    assert told == f"Success falls in bits on {cases} (the report has the rest)"
    assert found_page.first("One. Two; three.") == "One. Two; three."
    long = "X" * found_page.LONG
    assert found_page.first(f"It is -2.73. {long}.") == "It is -2.73."


@pytest.mark.parametrize("length", range(40, 400, 7))
def test_no_reason_is_cut_within_a_number_or_a_clause(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_page, "LONG", length)
    reason = (
        "Exact d: bits: tiger +0.000, diagnosis +0.077 (printed: -0.01; 3.5 SE); nats: tiger +0.000. At H=3 EFE earns "
        "-20.60, in RS[7,8] 8.8 more; the rest is 1e-05 of it. None is left."
    )
    told = found_page.first(reason).removesuffix(found_page.REST)
    assert reason.startswith(told)
    after = reason[len(told) :]
    assert after[:2] in ("", "; ") or (told.endswith(".") and after[:1] == " " and after[1].isupper())


def test_the_page_of_findings_has_whole_sentences_and_every_verdict() -> None:
    text = (ROOT / "docs" / "what-we-found.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("- **")]
    assert len(lines) == len(published().claims)
    assert not [line for line in lines if re.search(r"( \.|\.\.\.|[,(:;]\.?)$", line)]
    assert {*(verdict for verdict, _ in found_page.ORDER), *found_page.APART} == set(VERDICTS)
