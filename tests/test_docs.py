"""What the documentation shows is what the program prints."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

import rhoplan

ROOT = Path(__file__).resolve().parent.parent


def load(name: str) -> ModuleType:
    """The module docs/NAME.py."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate, offline, docstrings = load("generate"), load("offline"), load("docstrings")


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_commands_and_code_print_what_the_page_shows(page: Path) -> None:
    text = page.read_text()
    assert generate.page_with_output(text) == text, "run: .venv/bin/python docs/generate.py"


def test_output_of_code_is_replaced_by_what_it_prints() -> None:
    page = "```python\nx = 2\n```\n\n```python\nprint(x)\n```\n\n```output\n3\n```\n"
    assert generate.page_with_output(page) == page.replace("3", "2")


def test_code_that_fails_is_not_passed_over() -> None:
    with pytest.raises(ZeroDivisionError):
        generate.page_with_output("```python\n1 / 0\n```\n")


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
    long = "(a: TypeAliasForwardRef('Array') | None, b: tuple[~rhoplan.problem.Factor, ...] = <factory>)"
    assert docstrings.short_types(long) == "(a: Array | None, b: tuple[Factor, ...] = ...)"


def test_readme_shows_exactly_the_two_set_up_commands() -> None:
    found = re.findall(r"^\$ python3 run\.py.*?(?=\s{2,}#|$)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert found == ["$ python3 run.py", "$ python3 run.py test"]
