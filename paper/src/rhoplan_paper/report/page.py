"""The report: one HTML page that needs nothing else, no network and no script.

It opens with one screen: the findings that matter, how numbers and claims came out, figures to look at. Nothing there
is typed in: a claim whose finding has a headline gives its number and sentence, and the rest is counted. Beside it is a
table of contents that stays in view; then the claims in words, and every study in the order of the paper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any

from rhoplan.version import __version__
from rhoplan_paper.report.parts import MARKS, claim, image, mark, section
from rhoplan_paper.study import (
    NOT_JUDGED,
    ONLY_BITS,
    ONLY_NATS,
    REPEATED,
    SETTING,
    VERDICTS,
    Finding,
    Headline,
    Outcome,
    Study,
)


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


SHOWN = ("pareto", "tileworld-scaling", "near-optimality-figure", "stopping-times")
"""Figures that people look for, small, each leading to its place."""


def front(studies: Sequence[Study], outcomes: Mapping[str, Outcome], figures: Path) -> str:
    """The first screen: bars, findings, figures."""
    claims = outcomes["claims"].findings if "claims" in outcomes else ()
    numbers = [f for study in studies if study.id != "claims" for f in outcomes[study.id].findings]
    return f"<div class='front'>{bars(numbers, claims)}{_findings(numbers, claims)}{_figures(studies, figures)}</div>"


def bars(numbers: Sequence[Finding], claims: Sequence[Finding]) -> str:
    """How the printed numbers and the claims in words came out: a bar each, with its counts."""
    judged = [finding for finding in numbers if finding.verdict not in NOT_JUDGED]
    parts = [_bar(what, chosen) for what, chosen in (("printed numbers judged", judged), ("claims in words", claims))]
    counts = Counter(finding.verdict for finding in numbers)
    if counts[SETTING] or counts[REPEATED]:
        parts.append(
            f"<p class='soft'>{counts[SETTING]} settings, the same here, and {counts[REPEATED]} numbers told again, "
            "judged where they stand first, are not counted as confirmed.</p>"
        )
    return f"<section id='bars'>{''.join(parts)}</section>"


def _bar(what: str, chosen: Sequence[Finding]) -> str:
    if not chosen:
        return ""
    counts = Counter(finding.verdict for finding in chosen)
    shown = [(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]]
    least = len(chosen) / 25  # pieces too narrow for their number have it in the line below only
    pieces = "".join(
        f"<div title='{escape(v)}: {n}' style='flex:{n};background:{MARKS[v][1]}'>{n if n > least else ''}</div>"
        for v, n in shown
    )
    told = " ".join(f"<span class='tag'>{mark(verdict)} {count} {escape(verdict)}</span>" for verdict, count in shown)
    return f"<h3>{len(chosen)} {what}</h3><div class='bar'>{pieces}</div><p class='tags'>{told}</p>"


def headlines(numbers: Sequence[Finding], claims: Sequence[Finding]) -> list[tuple[str, str, Headline]]:
    """The findings that matter: where each leads, its verdict, its number and sentence."""
    found = [(f"claim-{claim.id}", claim.verdict, claim.headline) for claim in claims if claim.headline]
    counts = Counter(finding.verdict for finding in numbers)
    if found and (counts[ONLY_BITS] or counts[ONLY_NATS]):
        verdict = ONLY_BITS if counts[ONLY_BITS] >= counts[ONLY_NATS] else ONLY_NATS
        said = "the unit that the paper states"
        sentence = (
            f"printed numbers hold only if weights are per bit; per nat, {said}, {counts[ONLY_NATS] or 'none'} "
            "hold that do not hold per bit."
        )
        found.insert(0, ("claim-bits-weight", verdict, Headline(str(counts[ONLY_BITS]), sentence)))
    return found


def _findings(numbers: Sequence[Finding], claims: Sequence[Finding]) -> str:
    found = headlines(numbers, claims)
    if not found:
        return ""
    items = "".join(
        f"<li><a href='#{link}'><strong>{escape(one.number)}</strong> {mark(verdict)} "
        f"<span>{escape(one.sentence)}</span></a></li>"
        for link, verdict, one in found
    )
    return f"<section id='findings'><h2>What matters</h2><ol>{items}</ol></section>"


def _figures(studies: Sequence[Study], figures: Path) -> str:
    chosen = [study for name in SHOWN for study in studies if study.id == name]
    drawn = [
        f"<a href='#{s.id}'>{picture}<span>{escape(s.title)}</span></a>"
        for s in chosen
        if (picture := image(figures / f"{s.id}.png", s.title))
    ]
    return f"<section id='figures'>{''.join(drawn)}</section>" if drawn else ""
