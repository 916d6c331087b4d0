"""The report's section on the weight: which plan holds from which to which weight, as sentence, figure and table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rhoplan._old.ties import ranked
from rhoplan.advice.compare import Frontier, Point
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import amounts, percent
from rhoplan.belief_math.information import per_nat
from rhoplan.present.page.chart import labels, ticks
from rhoplan.present.page.parts import safe, table

if TYPE_CHECKING:
    from rhoplan.present.content import Report

MOST_ROWS = 16
"""Steps up to which all stand in the table; of more, those that are right more often than any cheaper one."""

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 330.0, 210.0, 62.0, 40.0, 10.0, 14.0
"""Size of the figure and the room around it, in CSS pixels."""

DOT, OPEN, HERE = "#0072b2", "#9aa5b1", "#b34700"


def weight_section(report: Report, found: Frontier) -> str:
    """What the weight does: a sentence, the figure and the table of steps."""
    if not found.points:
        return "<p>No step of the weight was found in the time given.</p>"
    here = _here(report, found)
    words = f"<p class='lead'>{_sentence(report, found, here)}{_cut_off(report, found)}</p>"
    if len(found.points) == 1:
        return words
    return f"{words}<div class='pair'>{_figure(report, found, here)}<div>{_table(report, found, here)}</div></div>"


def _here(report: Report, found: Frontier) -> int | None:
    """Which point the agent's own weight lies in."""
    weight = report.agent.weight_per_nat
    near = [k for k, point in enumerate(found.points) if point.lower <= weight <= point.upper]
    return near[-1] if near else None


def _sentence(report: Report, found: Frontier, here: int | None) -> str:
    unit = _unit(report)
    top = _weight(report, found.points[-1].upper)
    looked = f"Weights from 0 to {top} {unit} were looked at"
    looked += "." if found.complete else "; steps beyond were not found in time."
    if len(found.points) == 1 and here == 0:
        same = "One plan" if found.points[0].steps == 1 else "Plans with the same results"
        beyond = "" if found.complete else f" {looked}"
        return f"{same} for every weight from 0 to {top} {unit}: the weight does not matter here.{beyond}"
    if here is None:
        return f"The weight of {report.agent.weight:g} {unit} lies beyond the steps below. {looked}"
    point = found.points[here]
    same = "one plan" if point.steps == 1 else "plans with the same results"
    losses = counts_losses(report.problem)
    best = found.points[ranked(np.array([one.reward for one in found.points]))[0]]
    word = "Expected loss is least" if losses else "Expected reward is highest"
    there = "there" if best is point else f"from {_range(report, best)}"
    return (
        f"{same.capitalize()} for every weight from {_range(report, point)} {unit}; this report has "
        f"{report.agent.weight:g}. {word} {there}. {looked}"
    )


def _cut_off(report: Report, found: Frontier) -> str:
    """From which weight on cases are cut off, and what that does to the numbers."""
    first = next((point for point in found.points if point.cut_off), None)
    return "" if first is None else f" At weights from {_range(report, first)}, {first.cut_off}."


def _figure(report: Report, found: Frontier, here: int | None) -> str:
    """Right actions against expected loss or reward, one dot for each step."""
    losses = counts_losses(report.problem)
    xs = [-point.reward if losses else point.reward for point in found.points]
    ys = [100 * point.success for point in found.points]
    x_ticks, y_ticks = ticks(min(xs), max(xs)), ticks(min(ys), max(ys))
    x0, x1 = min(min(xs), x_ticks[0]), max(max(xs), x_ticks[-1])
    y0, y1 = min(min(ys), y_ticks[0]), max(max(ys), y_ticks[-1])

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + 8 + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT - 16)
        return across, HEIGHT - BOTTOM - 8 - (y - y0) / (y1 - y0) * (HEIGHT - BOTTOM - TOP - 16)

    parts = []
    for tick, label in zip(x_ticks, labels(x_ticks), strict=True):
        x = at(tick, y0)[0]
        parts.append(f"<path d='M{x:.1f},{TOP} V{HEIGHT - BOTTOM}' stroke='#e4e8ec'/>")
        parts.append(f"<text x='{x:.1f}' y='{HEIGHT - BOTTOM + 13}' text-anchor='middle'>{label}</text>")
    for tick, label in zip(y_ticks, labels(y_ticks), strict=True):
        y = at(x0, tick)[1]
        parts.append(f"<path d='M{LEFT},{y:.1f} H{WIDTH - RIGHT}' stroke='#e4e8ec'/>")
        parts.append(f"<text x='{LEFT - 5}' y='{y + 3.5:.1f}' text-anchor='end'>{label}%</text>")
    dots = [at(x, y) for x, y in zip(xs, ys, strict=True)]
    trail = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    parts.append(f"<polyline points='{trail}' fill='none' stroke='#c5ced6' stroke-width='1'/>")
    efficient = _efficient(found)
    for place, (x, y) in enumerate(dots):
        look = f"fill='{DOT}'" if place in efficient else f"fill='white' stroke='{OPEN}'"
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{3 if place in efficient else 2.4}' {look}/>")
    if here is not None:
        x, y = dots[here]
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='6.5' fill='none' stroke='{HERE}' stroke-width='1.8'/>")
        end = x > WIDTH - 80
        parts.append(
            f"<text x='{x + (-10 if end else 10):.1f}' y='{y + (13 if y < TOP + 20 else -4):.1f}' "
            f"text-anchor='{'end' if end else 'start'}' fill='{HERE}' font-weight='700' stroke='white' "
            "stroke-width='3' paint-order='stroke'>this plan</text>"
        )
    word = f"expected {'loss' if losses else 'reward'}, {report.problem.unit} per case"
    parts.append(f"<text x='{(LEFT + WIDTH - RIGHT) / 2}' y='{HEIGHT - 8}' text-anchor='middle'>{safe(word)}</text>")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"transform='rotate(-90 10 {middle})'"
    parts.append(f"<text x='10' y='{middle}' text-anchor='middle' {turned}>right final action</text>")
    title = "Share of right final actions against expected loss or reward, one dot for each step of the weight"
    return (
        f"<figure><svg viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' width='{WIDTH:.0f}' role='img' font-size='9.5' "
        f"fill='#1b1f24' font-family='Helvetica, Arial, sans-serif'><title>{title}</title>{''.join(parts)}</svg>"
        f"<figcaption>One dot for each step, joined in the order of the weight. Filled: right more often than any plan "
        f"that is {'as cheap or cheaper' if losses else 'worth as much or more'}.</figcaption></figure>"
    )


def _table(report: Report, found: Frontier, here: int | None) -> str:
    losses, unit = counts_losses(report.problem), safe(report.problem.unit)
    places = list(range(len(found.points)))
    left_out = ""
    if len(places) > MOST_ROWS:
        efficient = _efficient(found)
        places = [k for k in places if k in efficient or k == here]
        left_out = (
            f"<p class='soft note'>{len(places)} of {len(found.points)} steps: the others cost more without being "
            "right more often.</p>"
        )
    shown = [found.points[k] for k in places]
    worth = amounts(-point.reward if losses else point.reward for point in shown)
    rows = [
        [_range(report, point), one, percent(point.success), f"{point.tests:.2f}"]
        for point, one in zip(shown, worth, strict=True)
    ]
    heads = [f"weight, {_unit(report)}", f"expected {'loss' if losses else 'reward'}, {unit}", "right", "tests"]
    marked = places.index(here) if here is not None else -1
    return table(heads, rows, marked=marked, kind="tight") + left_out


def _efficient(found: Frontier) -> set[int]:
    """Points that are right more often than any whose reward is as high or higher."""
    kept, best = set(), -1.0
    by_success = sorted(range(len(found.points)), key=lambda k: -found.points[k].success)
    for place in (by_success[k] for k in ranked(np.array([found.points[k].reward for k in by_success]))):
        if found.points[place].success > best + 1e-9:
            kept.add(place)
            best = found.points[place].success
    return kept


def _range(report: Report, point: Point) -> str:
    return f"{_weight(report, point.lower)} to {_weight(report, point.upper)}"


def _weight(report: Report, weight: float) -> str:
    """A weight per nat in the unit of the report, to three digits."""
    own = weight / per_nat(1.0, report.agent.unit)
    if own == 0:
        return "0"
    digits = max(0, 2 - math.floor(math.log10(own)))
    text = f"{round(own, digits):,.{digits}f}" if digits < 7 else f"{own:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def _unit(report: Report) -> str:
    return f"{safe(report.problem.unit)} per {report.agent.unit.removesuffix('s')}"
