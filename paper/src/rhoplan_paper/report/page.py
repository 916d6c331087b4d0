"""The report: one HTML page that needs nothing else, no network and no script.

It opens with one screen (`front`), beside a table of contents that stays in view; then the claims in words, and every
study in the order of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from rhoplan.version import __version__
from rhoplan_paper.report.front import front
from rhoplan_paper.report.parts import claim, mark, section
from rhoplan_paper.study import VERDICTS, Outcome, Study


def page(
    studies: Sequence[Study],
    outcomes: Mapping[str, Outcome],
    figures: Path,
    settings: Mapping[str, Any],
    timing: Mapping[str, Any],
) -> str:
    """The whole page. figures: the folder of the PNG files that are put into it."""
    claims = outcomes["claims"].findings if "claims" in outcomes else ()
    shown = [study for study in studies if study.id != "claims"]
    body = [
        "<h1>Expected Free Energy as Belief-Dependent Utility: every number and claim, checked</h1>",
        f"<p class='soft'>rhoplan {escape(__version__)}, {'full' if settings['full'] else 'quick'} run. "
        f"Exact numbers are computed without simulation; simulated ones use "
        f"{'the published protocol' if settings['full'] else 'a tenth of the published protocol'} and its seeds. "
        f"<span id='timing'>{_timing(timing)}</span></p>",
        front(studies, outcomes, figures),
    ]
    if claims:
        legend = " &nbsp; ".join(f"{mark(verdict)} {escape(verdict)}" for verdict in VERDICTS)
        body += ["<h2 id='claims'>What the paper says in words</h2>", f"<p>{legend}</p>", *map(claim, claims)]
    for title, chosen in groupby(shown, key=lambda study: study.section):
        body.append(f"<h2 id='{_anchor(title)}'>{escape(_heading(title))}</h2>")
        body += [section(study, outcomes[study.id], figures, settings["unit"]) for study in chosen]
    style = files("rhoplan_paper.report").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>rhoplan: the paper, checked</title><style>{style}</style>"
    contents = _contents(shown, bool(claims))
    return (
        f"<!doctype html><html lang='en'><head>{head}</head>"
        f"<body id='top'>{contents}<main>{''.join(body)}</main></body></html>\n"
    )


def _timing(timing: Mapping[str, Any]) -> str:
    parts = [f"{name} run: {seconds:,.0f} s" for name, seconds in timing.items()]
    if not parts:
        return "This run went on from results that were there; a run into an empty folder measures its time."
    return "Measured on the machine that made this page: " + "; ".join(parts) + "."


def _contents(studies: Sequence[Study], claims: bool) -> str:
    """The table of contents: the first screen, the claims, and the studies under the paper's sections."""
    items = ["<li><a href='#top'>What matters</a></li>"]
    items += ["<li><a href='#claims'>What the paper says in words</a></li>"] if claims else []
    for title, chosen in groupby(studies, key=lambda study: study.section):
        inner = "".join(f"<li><a href='#{study.id}'>{escape(study.title)}</a></li>" for study in chosen)
        items.append(f"<li><a class='soft' href='#{_anchor(title)}'>{escape(_heading(title))}</a><ul>{inner}</ul></li>")
    return f"<nav><ul>{''.join(items)}</ul></nav>"


def _heading(title: str) -> str:
    return "Throughout the text" if title == "throughout" else title


def _anchor(title: str) -> str:
    return f"section-{title.split()[0].replace('.', '-')}"
