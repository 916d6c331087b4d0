"""A report as files: the page, and the pathway as a drawing, a flowchart and text."""

from __future__ import annotations

from pathlib import Path

from rhoplan.files import write_text
from rhoplan.report.content import Report
from rhoplan.report.drawing import as_svg
from rhoplan.report.page.page import page
from rhoplan.report.telling import as_mermaid, as_text


def write_report(report: Report, out: Path) -> tuple[Path, ...]:
    """Write the page to `out` and the pathway beside it as .svg, .mmd and .txt; the paths written."""
    texts = {
        out: page(report),
        out.with_suffix(".svg"): as_svg(report.pathway),
        out.with_suffix(".mmd"): as_mermaid(report.pathway),
        out.with_suffix(".txt"): as_text(report.pathway),
    }
    for path, text in texts.items():
        write_text(path, text)
    return tuple(texts)
