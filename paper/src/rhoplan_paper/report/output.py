"""What a reproduction leaves in its folder: tables as CSV, Markdown and LaTeX, figures as PNG and SVG, all verdicts.

Every file is written whole (see `rhoplan.files`) as soon as its study is complete; the report comes last.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rhoplan.files import replacing, write_rows, write_text
from rhoplan.version import __version__
from rhoplan_paper.jobs import code
from rhoplan_paper.study import Finding, Outcome, Sheet, Study

COLUMNS = tuple(name for name in Finding.__dataclass_fields__ if name != "headline")


def write_study(folder: Path, study: Study, outcome: Outcome, unit: str = "both") -> None:
    """The table and the figure of one study."""
    if outcome.sheet:
        write_sheet(folder / "tables" / study.id, outcome.sheet.in_unit(unit))
    if study.draw:
        drawing = study.draw(outcome)
        for ending in ("png", "svg"):
            with replacing(folder / "figures" / f"{study.id}.{ending}") as temporary:
                _save(drawing, temporary, ending)


def _save(drawing: Any, path: Path, ending: str) -> None:
    import matplotlib as mpl

    # No date and a fixed salt for ids: the same numbers give the same file.
    metadata = {"Date": None, "Creator": f"rhoplan {__version__}"} if ending == "svg" else {"Software": "rhoplan"}
    with mpl.rc_context({"svg.hashsalt": "rhoplan", "svg.fonttype": "path"}):
        drawing.savefig(path, format=ending, dpi=110, metadata=metadata)


def write_sheet(stem: Path, sheet: Sheet) -> None:
    """`sheet` as STEM.csv, STEM.md and STEM.tex."""
    rows = [dict(zip(sheet.headings, row, strict=True)) for row in sheet.rows]
    write_rows(stem.with_suffix(".csv"), rows or [dict.fromkeys(sheet.headings, "")])
    write_text(stem.with_suffix(".md"), markdown(sheet))
    write_text(stem.with_suffix(".tex"), latex(sheet))


def markdown(sheet: Sheet) -> str:
    lines = [sheet.headings, ("---",) * len(sheet.headings), *sheet.rows]
    escaped = [[cell.replace("|", "/") for cell in line] for line in lines]
    table = "\n".join(f"| {' | '.join(line)} |" for line in escaped)
    notes = "".join(f"\n- {note}" for note in sheet.notes)
    return f"{table}\n{notes}\n" if notes else f"{table}\n"


MATHS = {"±": "pm", "∞": "infty", "≥": "geq", "≤": "leq", "α": "alpha", "η": "eta", "ρ": "rho", "·": "cdot", "≫": "gg",
         "×": "times", "≈": "approx", "→": "to"}  # fmt: skip

TEX = {
    **{character: f"$\\{name}$" for character, name in MATHS.items()},
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "-",
    "–": "--",
}
"""What characters of a table become in LaTeX."""


def latex(sheet: Sheet) -> str:
    """A tabular environment that compiles on its own in any document."""

    def line(cells: tuple[str, ...]) -> str:
        return " & ".join("".join(TEX.get(character, character) for character in cell) for cell in cells) + r" \\"

    body = "\n".join(line(row) for row in sheet.rows)
    width = "l" * min(2, len(sheet.headings)) + "r" * (len(sheet.headings) - 2)
    head = f"\\begin{{tabular}}{{{width}}}\n\\hline\n{line(sheet.headings)}\n\\hline\n"
    return f"{head}{body}\n\\hline\n\\end{{tabular}}\n"


def write_verdicts(folder: Path, outcomes: Mapping[str, Outcome]) -> list[Finding]:
    """verdicts.csv with the findings of every study; the findings."""
    findings = [finding for outcome in outcomes.values() for finding in outcome.findings]
    rows = [
        {name: getattr(one, name) for name in COLUMNS} | {"parts": "; ".join(map(str, one.parts))} for one in findings
    ]
    write_rows(folder / "verdicts.csv", rows or [dict.fromkeys(COLUMNS, "")])
    return findings


def write_manifest(folder: Path, studies: list[Study], settings: Mapping[str, Any], timing: Mapping[str, Any]) -> None:
    """manifest.json: what was run, with what, and how long it took."""
    record = {
        "version": __version__,
        "code": code(),
        **settings,
        "studies": [{"id": study.id, "kind": study.kind, "command": study.command} for study in studies],
        "timing": timing,
    }
    write_text(folder / "manifest.json", json.dumps(record, indent=2, ensure_ascii=False) + "\n")
