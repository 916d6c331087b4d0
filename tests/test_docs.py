"""What the documentation shows is what the program prints."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPEC = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
assert SPEC
assert SPEC.loader
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page: Path) -> None:
    text = page.read_text()
    assert generate.page_with_output(text) == text, "run: .venv/bin/python docs/generate.py"


def test_command_reference_is_the_help() -> None:
    assert generate.command_reference() == (ROOT / "docs" / "commands.md").read_text(), "run docs/generate.py"


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", generate.PAGES, ids=lambda page: page.name)
def test_python_in_the_page_runs(page: Path, tmp_path: Path) -> None:
    with generate.working_in(tmp_path):
        scope: dict[str, object] = {}
        for name, body in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", page.read_text(), flags=re.DOTALL):
            Path(name).write_text(body)
        for block in re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL):
            exec(compile(block, page.name, "exec"), scope)


def test_readme_shows_exactly_the_two_set_up_commands() -> None:
    found = re.findall(r"^\$ python3 run\.py.*?(?=\s{2,}#|$)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)
    assert found == ["$ python3 run.py", "$ python3 run.py test"]
