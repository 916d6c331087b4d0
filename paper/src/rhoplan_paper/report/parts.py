"""What the report is built of: marks of verdicts, sections of studies, claims with their parts, tables."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from rhoplan_paper.study import (
    CONFIRMED,
    CONTRADICTED,
    IN_PART,
    NO_DIFFERENCE,
    NOT_JUDGED,
    ONLY_BITS,
    ONLY_NATS,
    REPEATED,
    SETTING,
    UNCHECKED,
    Finding,
    Outcome,
    Sheet,
    Study,
)

MARKS = {
    CONFIRMED: ("✓", "#0072b2"),
    IN_PART: ("½", "#cc79a7"),
    NO_DIFFERENCE: ("=", "#56b4e9"),
    ONLY_BITS: ("b", "#009e73"),
    ONLY_NATS: ("n", "#8c6d1f"),
    CONTRADICTED: ("✗", "#d55e00"),
    UNCHECKED: ("?", "#777777"),
    SETTING: ("s", "#b0b0b0"),
    REPEATED: ("r", "#cccccc"),
}
"""A sign and a colour for each verdict; the sign alone must be enough."""


def mark(verdict: str) -> str:
    """The sign of a verdict on its colour."""
    sign, colour = MARKS[verdict]
    return f"<span class='mark' style='background:{colour}' title='{escape(verdict)}'>{sign}</span>"


def image(picture: Path, words: str) -> str:
    """The picture inside the page; empty where there is none."""
    if not picture.exists():
        return ""
    data = base64.b64encode(picture.read_bytes()).decode()
    return f"<img src='data:image/png;base64,{data}' alt='{escape(words)}'>"


def section(study: Study, outcome: Outcome, figures: Path, unit: str) -> str:
    parts = [
        f"<h3 id='{study.id}'>{escape(study.title)}</h3>",
        f"<p>{escape(study.about)} <span class='soft'>{escape(study.place)} · <code>{study.command}</code></span></p>",
    ]
    if study.draw:
        parts.append(image(figures / f"{study.id}.png", study.title))
    if outcome.sheet:
        table = _sheet(outcome.sheet.in_unit(unit))
        folded = study.kind == "figure"
        parts.append(f"<details><summary>the numbers behind it</summary>{table}</details>" if folded else table)
    parts += [f"<p>{escape(remark)}</p>" for remark in outcome.remarks]
    if outcome.findings:
        parts.append(_tally(outcome.findings))
    return "".join(parts)


def _tally(findings: Sequence[Finding]) -> str:
    """What is not simply confirmed, with the reasons; the rest folded, settings and numbers told again apart."""
    fine = [finding for finding in findings if finding.verdict == CONFIRMED]
    other = [finding for finding in findings if finding.verdict not in (CONFIRMED, *NOT_JUDGED)]
    apart = [finding for finding in findings if finding.verdict in NOT_JUDGED]
    parts = [f"<p>{len(fine)} of {len(fine) + len(other)} printed numbers confirmed.</p>"] if fine or other else []
    if other:
        parts.append(_findings(other))
    if fine:
        parts.append(f"<details><summary>the confirmed ones</summary>{_findings(fine)}</details>")
    if apart:
        counts = Counter(finding.verdict for finding in apart)
        told = " and ".join(
            f"{counts[verdict]} {what}" for verdict, what in ((SETTING, "settings"), (REPEATED, "numbers told again"))
            if counts[verdict]
        )  # fmt: skip
        parts.append(f"<details><summary>{told}</summary>{_findings(apart)}</details>")
    return "".join(parts)


def claim(finding: Finding) -> str:
    """A claim in words: what it says, the verdict and why, its parts, and the numbers behind it, folded."""
    numbers = (("published", finding.published), ("simulated", finding.simulated), ("exact", finding.exact))
    shown = "".join(f"<p><strong>{kind}</strong> {escape(text)}</p>" for kind, text in numbers if text)
    folded = f"<details><summary>the numbers</summary>{shown}</details>" if shown else ""
    return (
        f"<article id='claim-{finding.id}'><h4>{mark(finding.verdict)} {escape(finding.claim)} "
        f"<span class='soft'>{escape(finding.place)}</span></h4>"
        f"<p><strong>{escape(finding.verdict)}</strong>: {escape(finding.reason)}</p>"
        f"{_parts(finding)}{folded}</article>"
    )


def _parts(finding: Finding) -> str:
    """What a claim says, thing by thing, and whether each holds."""
    signs = {"yes": CONFIRMED, "no": CONTRADICTED, "in bits": ONLY_BITS, "in nats": ONLY_NATS}
    items = "".join(
        f"<li>{mark(signs[part.holds])} {escape(part.words)}{' <em>(the core)</em>' if part.core else ''}</li>"
        for part in finding.parts
    )
    return f"<ul class='parts'>{items}</ul>" if items else ""


def _findings(findings: Iterable[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{mark(f.verdict)}</td><td>{escape(f.claim)}<br><span class='soft'>{escape(f.place)}</span></td>"
        f"<td class='p'>{escape(f.published)}</td><td>{escape(f.simulated)}</td><td>{escape(f.exact)}</td>"
        f"<td><strong>{escape(f.verdict)}</strong>: {escape(f.reason)}</td></tr>"
        for f in findings
    )
    head = (
        "<tr><th></th><th>what</th><th>published</th><th>simulated</th><th>exact</th><th>verdict and reason</th></tr>"
    )
    return f"<div class='scroll'><table>{head}{rows}</table></div>"


def _sheet(sheet: Sheet) -> str:
    """The table as HTML: columns named `metric: kind` become one column per metric, one line per kind."""
    groups: dict[str, list[tuple[str, int]]] = {}
    for place, heading in enumerate(sheet.headings):
        metric, _, kind = heading.partition(": ")
        groups.setdefault(metric, []).append((kind, place))
    heads = "".join(f"<th>{escape(metric)}</th>" for metric in groups)
    rows = []
    for row in sheet.rows:
        ours = " class='ours'" if any(cell.startswith("(") for cell in row[:2]) else ""
        cells = [_cell([(kind, row[place]) for kind, place in group]) for group in groups.values()]
        rows.append(f"<tr{ours}>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{escape(note)}</li>" for note in sheet.notes)
    listed = f"<ul class='soft'>{notes}</ul>" if notes else ""
    return f"<div class='scroll'><table class='sheet'><tr>{heads}</tr>{''.join(rows)}</table></div>{listed}"


def _cell(parts: list[tuple[str, str]]) -> str:
    """One cell: published in bold, then simulated, then exact by unit (once where both units agree)."""
    if len(parts) == 1:
        return f"<td>{escape(parts[0][1])}</td>"
    exact = {kind: text for kind, text in parts if kind.startswith("exact") and text}
    lines = [(kind, text) for kind, text in parts if not kind.startswith("exact") and text]
    if len(set(exact.values())) == 1:
        lines.append(("exact", next(iter(exact.values()))))
    else:
        lines += [(kind.replace("exact, w per ", "exact/"), text) for kind, text in exact.items()]
    shown = "".join(
        f"<div class='{kind.partition('/')[0]}'><span class='k'>{escape(kind)}</span> {escape(text)}</div>"
        for kind, text in lines
    )
    return f"<td class='n'>{shown}</td>"
