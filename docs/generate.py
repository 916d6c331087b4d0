"""Writes what the documentation shows of the program: output in Markdown files, and the command reference.

    python docs/generate.py

In a ```console block, what follows a line `$ .venv/bin/rhoplan ...` is replaced by what the command prints now. The
```python blocks of a page are run one after the other, and an ```output block right after one is replaced by what it
printed. A YAML block whose first line is `# NAME.yaml` is the file NAME.yaml that the page may use. `commands.md` is
made from the help texts. A test compares the result with what is committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PROMPT = "$ .venv/bin/rhoplan "


def page_with_output(text: str) -> str:
    """`text` with the output of its commands and of its Python as they print it now."""
    scope: dict[str, object] = {"__name__": "page"}
    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)):
        for name, body in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", text, flags=re.DOTALL):
            Path(name).write_text(body)
        text = re.sub(r"(```console\n)(.*?)(```)", lambda m: m[1] + refreshed(m[2]) + m[3], text, flags=re.DOTALL)
        return re.sub(
            r"(```python\n)(.*?)(```\n)(?:(\n```output\n).*?(```\n))?",
            lambda m: m[1] + m[2] + m[3] + with_output(m[4], printed_by(m[2], scope), m[5]),
            text,
            flags=re.DOTALL,
        )


def with_output(begin: str | None, printed: str, end: str) -> str:
    """The output block of a Python block; nothing where the page shows none."""
    return begin + printed + end if begin else ""


def printed_by(code: str, scope: dict[str, object]) -> str:
    """What `code` prints when it runs in `scope`, with the names of the blocks before it."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(code, "page", "exec"), scope)
    return stream.getvalue()


def refreshed(block: str) -> str:
    lines, keep = [], True
    for line in block.splitlines():
        if line.startswith("$ "):
            keep = not line.startswith(PROMPT)
            lines.append(line)
            if not keep:
                lines += output_of(shlex.split(line.removeprefix(PROMPT))).splitlines()
        elif keep:
            lines.append(line)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def output_of(arguments: list[str]) -> str:
    """What `rhoplan ARGUMENTS` prints, errors included; seconds are left out, since they differ each time."""
    from rhoplan.cli import _guarded

    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        _guarded(arguments)
    return re.sub(r", \d+\.\d s\b", "", stream.getvalue())


def command_reference() -> str:
    """The page of commands, from their help texts."""
    from rhoplan.cli import COMMANDS

    parts = ["# Commands", "", "Made by `docs/generate.py` from the program's own help.", ""]
    for command in ("", *COMMANDS):
        words = ["rhoplan", *([command] if command else [])]
        parts += [f"## {' '.join(words)}", "", "```text", output_of([*words[1:], "--help"]).rstrip(), "```", ""]
    return "\n".join(parts)


@contextlib.contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def main() -> None:
    (ROOT / "docs" / "commands.md").write_text(command_reference())
    for page in PAGES:
        page.write_text(page_with_output(page.read_text()))


if __name__ == "__main__":
    main()
