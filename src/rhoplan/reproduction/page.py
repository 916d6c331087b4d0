"""The report: one HTML page that needs nothing else, no network and no script."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from rhoplan.reproduction.study import (
    CONFIRMED,
    CONTRADICTED,
    NO_DIFFERENCE,
    NOT_JUDGED,
    ONLY_BITS,
    ONLY_NATS,
    REPEATED,
    SETTING,
    UNCHECKED,
    VERDICTS,
    Finding,
    Outcome,
    Sheet,
    Study,
)
from rhoplan.version import __version__

MARKS = {
    CONFIRMED: ("✓", "#0072b2"),
    NO_DIFFERENCE: ("=", "#56b4e9"),
    ONLY_BITS: ("b", "#009e73"),
    ONLY_NATS: ("n", "#8c6d1f"),
    CONTRADICTED: ("✗", "#d55e00"),
    UNCHECKED: ("?", "#777777"),
    SETTING: ("s", "#b0b0b0"),
    REPEATED: ("r", "#cccccc"),
}
"""A sign and a colour for each verdict; the sign alone must be enough."""


def page(
    studies: Sequence[Study],
    outcomes: Mapping[str, Outcome],
    figures: Path,
    settings: Mapping[str, Any],
    timing: Mapping[str, Any],
) -> str:
    """The whole page. figures: the folder of the PNG files that are put into it."""
    findings = [finding for study in studies for finding in outcomes[study.id].findings]
    claims = outcomes["claims"].findings if "claims" in outcomes else ()
    body = [
        "<h1>Expected Free Energy as Belief-Dependent Utility: every number and claim, checked</h1>",
        f"<p class='soft'>rhoplan {escape(__version__)}, {'full' if settings['full'] else 'quick'} run. "
        f"Exact numbers are computed without simulation; simulated ones use "
        f"{'the published protocol' if settings['full'] else 'a tenth of the published protocol'} and its seeds.</p>",
        f"<p class='soft' id='timing'>{_timing(timing)}</p>",
        "<h2 id='summary'>Summary</h2>",
        _summary(findings, claims),
        _legend(),
        _contents(studies),
    ]
    if claims:
        body += ["<h2 id='claims'>What the paper says in words</h2>", *map(_claim, claims)]
    titles = {"table": "Tables", "text": "Results told in the text", "figure": "Figures"}
    for kind, title in titles.items():
        chosen = [study for study in studies if study.kind == kind]
        body += [f"<h2>{title}</h2>"] if chosen else []
        body += [_section(study, outcomes[study.id], figures, settings["unit"]) for study in chosen]
    style = files("rhoplan.reproduction").joinpath("report.css").read_text(encoding="utf-8")
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += f"<title>rhoplan: the paper, checked</title><style>{style}</style>"
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{''.join(body)}</body></html>\n"


def _timing(timing: Mapping[str, Any]) -> str:
    parts = [f"{name} run: {seconds:,.0f} s" for name, seconds in timing.items()]
    if not parts:
        return "This run went on from results that were there; a run into an empty folder measures its time."
    return "Measured on the machine that made this page: " + "; ".join(parts)


def _summary(findings: Sequence[Finding], claims: Sequence[Finding]) -> str:
    numbers = [finding for finding in findings if finding not in claims]
    judged = [finding for finding in numbers if finding.verdict not in NOT_JUDGED]
    parts = []
    for what, chosen in (("claims in words", claims), ("printed numbers judged", judged)):
        if chosen:
            counts = Counter(finding.verdict for finding in chosen)
            pieces = "".join(
                f"<div title='{verdict}: {count}' style='flex:{count};background:{MARKS[verdict][1]}'></div>"
                for verdict in VERDICTS
                if (count := counts[verdict])
            )
            told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict])
            parts.append(
                f"<p><strong>{len(chosen)} {what}</strong>: {escape(told)}.</p><div class='bar'>{pieces}</div>"
            )
    counts = Counter(finding.verdict for finding in numbers)
    if counts[SETTING] or counts[REPEATED]:
        parts.append(
            f"<p><strong>{counts[SETTING]} settings</strong>, the same here, and <strong>{counts[REPEATED]} numbers "
            "told again</strong>, judged where they stand first, are not counted as confirmed.</p>"
        )
    return "".join(parts)


def _legend() -> str:
    return f"<p>{' &nbsp; '.join(f'{_mark(verdict)} {escape(verdict)}' for verdict in VERDICTS)}</p>"


def _mark(verdict: str) -> str:
    sign, colour = MARKS[verdict]
    return f"<span class='mark' style='background:{colour}' title='{escape(verdict)}'>{sign}</span>"


def _contents(studies: Iterable[Study]) -> str:
    items = "".join(f"<li><a href='#{study.id}'>{study.id}</a></li>" for study in studies)
    return f"<nav><ul>{items}</ul></nav>"


def _section(study: Study, outcome: Outcome, figures: Path, unit: str) -> str:
    parts = [
        f"<h3 id='{study.id}'>{escape(study.id)}</h3>",
        f"<p>{escape(study.title)} <span class='soft'>{escape(study.place)} · <code>{study.command}</code></span></p>",
    ]
    picture = figures / f"{study.id}.png"
    if study.draw and picture.exists():
        data = base64.b64encode(picture.read_bytes()).decode()
        parts.append(f"<img src='data:image/png;base64,{data}' alt='{escape(study.title)}'>")
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


def _claim(finding: Finding) -> str:
    """A claim in words: what it says, the verdict and why, and the numbers behind it, folded."""
    numbers = (("published", finding.published), ("simulated", finding.simulated), ("exact", finding.exact))
    shown = "".join(f"<p><strong>{kind}</strong> {escape(text)}</p>" for kind, text in numbers if text)
    folded = f"<details><summary>the numbers</summary>{shown}</details>" if shown else ""
    return (
        f"<article id='claim-{finding.id}'><h4>{_mark(finding.verdict)} {escape(finding.claim)} "
        f"<span class='soft'>{escape(finding.place)}</span></h4>"
        f"<p><strong>{escape(finding.verdict)}</strong>: {escape(finding.reason)}</p>{folded}</article>"
    )


def _findings(findings: Iterable[Finding]) -> str:
    rows = "".join(
        f"<tr><td>{_mark(f.verdict)}</td><td>{escape(f.claim)}<br><span class='soft'>{escape(f.place)}</span></td>"
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
