"""The first screen of the report: the findings that matter, how numbers and claims came out, figures to look at.

Nothing here is typed in: a claim whose finding has a headline gives its number and sentence, and the rest is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from rhoplan_paper.report.parts import MARKS, image, mark
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
