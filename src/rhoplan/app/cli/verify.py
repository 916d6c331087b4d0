"""`rhoplan verify`: whether a report, a plan to carry or a case log is as it was written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rhoplan.app.cli.common import json_option, load_problem, print_json


@click.command("verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", help="Also tell whether the page is about this model.")
@json_option
def verify_command(file: Path, model: str | None, as_json: bool) -> None:
    """Whether FILE, a report, a plan to carry, a card or a case log, is as rhoplan wrote it.

    A page has its digest, that of its model and the settings in its last line. The lines of a log are chained; advice
    is not computed again, which `rhoplan replay` does. Exit 1 where something was changed.
    """
    try:
        text = file.read_bytes().decode("utf-8")  # as it stands, ends of lines too
    except UnicodeDecodeError:
        raise click.UsageError(f"'{file}' is no page or log: it is not text") from None
    found = _page(file, text, model) if file.suffix.lower() in (".html", ".htm") else _log(file, text, model)
    if as_json:
        print_json(found)
    else:
        click.echo("\n".join(found["words"]))
    if not found["unchanged"]:
        sys.exit(1)


def _page(file: Path, text: str, model: str | None) -> dict[str, Any]:
    from rhoplan.advice.journal import digest
    from rhoplan.present.signed import read_signed

    told, whole = read_signed(text)
    if told is None:
        words = [f"{file}: no digest of rhoplan stands in its last line, so nothing can be told"]
        return {"file": str(file), "kind": "page", "unchanged": False, "told": None, "same_model": None, "words": words}
    words = [f"{file}: {'as it was written' if whole else 'CHANGED since it was written'}"]
    words.append(
        f"model {told.get('problem', '')}, digest {told['model']}; written by rhoplan {told.get('version', '')}"
    )
    said = ", ".join(f"{name} {value}" for name, value in dict(told.get("settings") or {}).items() if value is not None)
    words += [f"settings: {said}"] if said else []
    same = None
    if model is not None:
        same = digest(load_problem(model)) == told["model"]
        words.append(f"{model}: {'the model of this page' if same else 'ANOTHER model than that of this page'}")
    unchanged = whole and same is not False
    return {"file": str(file), "kind": "page", "unchanged": unchanged, "told": told, "same_model": same, "words": words}


def _log(file: Path, text: str, model: str | None) -> dict[str, Any]:
    from rhoplan.advice.chain import HASH, faults, read_lines, read_seal

    if model is not None:
        raise click.UsageError("--model is for pages; a log has the model of each case (rhoplan replay --model)")
    text = text.removeprefix("\ufeff")
    lines, seal = list(read_lines(text)), read_seal(file)
    if not any(line.record for line in lines):
        raise click.UsageError(f"'{file}' is no page (.html) and no case log")
    wrong = faults(text, lines, seal)
    words = [f"{'the log' if one['case'] is None else 'line ' + str(one['line'])}: {one['what']}" for one in wrong] or [
        f"{file}: {len(lines)} lines as they were written"
    ]
    loose = sum(line.record is not None and HASH not in line.record for line in lines)
    if loose:
        words.append(f"{loose} lines have no hash: an earlier version wrote them, and nothing can be told of them")
    if seal is None:
        words.append("its seal is not beside it: whether lines at the end are missing cannot be told")
    told = {"lines": len(lines), "sealed": seal is not None, "faults": wrong}
    return {"file": str(file), "kind": "log", "unchanged": not wrong, "told": told, "same_model": None, "words": words}
