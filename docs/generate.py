"""Writes what the documentation shows of the program: output in Markdown files, and the command reference.

    python docs/generate.py [PAGE.md ...]

In a ```console block, what follows a command that `session` can run is replaced by what it prints now, and lines that
begin with `> ` are what a person types. A ```http block is sent to the server that the page started with
`rhoplan serve`, and the ```http block after it is replaced by the reply. ```python blocks are run one after the other,
and an ```output block right after one is replaced by what it printed. Between `<!-- made: NAME -->` and `<!-- end -->`
stands a table of `tables`. A YAML block whose first line is `# NAME.yaml`, or a text block with `# NAME.pomdp`, is that
file, which the page may use. `commands.md` is made from the help texts. A test compares the result with what is
committed.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from session import Session, output_of
from tables import made

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"```console\n(?P<console>.*?)```\n"
    r"|```python\n(?P<python>.*?)```\n(?:\n```output\n(?P<output>.*?)```\n)?"
    r"|```http\n(?P<request>.*?)```\n(?:\n```http\n(?P<reply>(?:HTTP/.*?)?)```\n)?",
    re.DOTALL,
)


def page_with_output(text: str) -> str:
    """`text` with the output of its commands, requests and Python as they print it now, and its tables made again."""
    scope: dict[str, object] = {"__name__": "page"}
    text = re.sub(
        r"(<!-- made: (.+?) -->\n).*?(<!-- end -->)", lambda m: m[1] + made(m[2]) + m[3], text, flags=re.DOTALL
    )
    with tempfile.TemporaryDirectory() as folder, working_in(Path(folder)), registries_kept(), Session() as session:
        for name, body in re.findall(r"```(?:yaml|text)\n# (\S+\.(?:yaml|pomdp))\n(.*?)```", text, flags=re.DOTALL):
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(f"# {name}\n{body}")
        return BLOCK.sub(lambda block: refreshed(block, session, scope), text)


def refreshed(block: re.Match[str], session: Session, scope: dict[str, object]) -> str:
    """A block of a page, and the one after it that shows its output, as it is now."""
    if block["console"] is not None:
        return f"```console\n{session.transcript(block['console'])}```\n"
    if block["python"] is not None:
        printed = printed_by(session.here(block["python"]), scope)
        shown = "" if block["output"] is None else f"\n```output\n{printed}```\n"
        return f"```python\n{block['python']}```\n{shown}"
    reply = session.reply(block["request"])
    shown = "" if block["reply"] is None else f"\n```http\n{reply}```\n"
    return f"```http\n{block['request']}```\n{shown}"


def printed_by(code: str, scope: dict[str, object]) -> str:
    """What `code` prints when it runs in `scope`, with the names of the blocks before it."""
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(compile(code, "page", "exec", dont_inherit=True), scope)
    return stream.getvalue()


def command_reference() -> str:
    """The page of commands, from their help texts."""
    from rhoplan.app.cli import COMMANDS, ELSEWHERE

    parts = ["# Commands", "", "Made by `docs/generate.py` from the program's own help.", ""]
    for command in ("", *COMMANDS, *ELSEWHERE):
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


@contextlib.contextmanager
def registries_kept() -> Iterator[None]:
    """What a page registers is its own: other pages and the help do not have it."""
    from rhoplan.agents.registry import PLANNERS, UTILITIES

    before = [(rows, dict(rows)) for rows in (PLANNERS, UTILITIES)]
    try:
        yield
    finally:
        for rows, kept in before:
            rows.clear()
            rows.update(kept)


def main(names: list[str]) -> None:
    (ROOT / "docs" / "commands.md").write_text(command_reference())
    for page in PAGES:
        if not names or page.name in names:
            page.write_text(page_with_output(page.read_text()))


if __name__ == "__main__":
    main(sys.argv[1:])
