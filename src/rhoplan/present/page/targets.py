"""The report's section on targets: the frontier of cost against errors, and what keeps the model's own targets."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rhoplan.advice.edges import CALLED, Edge, Point
from rhoplan.advice.target_words import answer_words, labelled, number_cells, number_heads
from rhoplan.advice.targets import Answer
from rhoplan.advice.words import amounts, chance, counted, money, percent
from rhoplan.present.page.chart import BLUE, GRID, INK, ORANGE
from rhoplan.present.page.parts import safe, table

if TYPE_CHECKING:
    from rhoplan.present.content import Report

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 330.0, 215.0, 56.0, 40.0, 10.0, 16.0
"""Size of a figure and the room around it, in CSS pixels."""

STEPS = (0.0, 0.05, 0.2, 0.5, 1.0)
"""Where scales have marks, as shares of their length squared."""

MOST_ROWS = 12
"""Corners up to which all stand in the table; of more, those nearest to the plan of the model's own prices."""


def targets_section(report: Report) -> str:
    """The answer to the model's targets, then the frontiers."""
    parts = []
    if isinstance(report.met, Answer):
        answer = report.met
        parts += [f"<p>{safe(words)}</p>" for words in answer_words(answer)]
        rows = [[safe(cell) for cell in (label, *number_cells(answer, one))] for label, one in labelled(answer)]
        parts.append(table(["", *map(safe, number_heads(answer))], rows, numbers=2))
    elif report.met:
        parts.append(f"<p class='warn'>The model's targets cannot be kept: {safe(report.met)}.</p>")
    for edge in report.edges:
        parts.append(f"<div class='pair'>{_figure(edge, report)}<div>{_table(edge, report)}</div></div>")
    return "".join(parts)


def _limit(edge: Edge, met: Answer | str | None) -> float | None:
    """The target that stands in the figure of `edge`, as a share of all cases."""
    kinds = {"miss": ("miss", "sensitive"), "false-alarm": ("false-alarm", "specific"), "wrong": ("wrong",)}[edge.kind]
    if not isinstance(met, Answer):
        return None
    pairs = zip(met.targets, met.limits, strict=True)
    found = [limit for target, limit in pairs if target.kind in kinds and target.state == edge.state]
    return min(found) if found else None


def _error(edge: Edge) -> str:
    return CALLED[edge.kind] + (f" ({edge.state})" if edge.state else "")


def _figure(edge: Edge, report: Report) -> str:
    """Cost against errors on scales of square roots, so that small shares can be told apart."""
    limit = _limit(edge, report.met)
    shown = (*edge.points, edge.plain)
    wide = _round(max([one.share for one in shown] + [limit or 0.0]))
    tall = _round(max(one.cost for one in shown))

    def at(share: float, cost: float) -> tuple[float, float]:
        across, up = (math.sqrt(min(max(part, 0.0), 1.0)) for part in (share / wide, cost / tall))
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - BOTTOM - TOP)

    parts = []
    for step in STEPS:
        x, y = at(step * wide, step * tall)
        parts.append(f"<path d='M{x:.1f},{TOP} V{HEIGHT - BOTTOM} M{LEFT},{y:.1f} H{WIDTH - RIGHT}' stroke='{GRID}'/>")
        parts.append(f"<text x='{x:.1f}' y='{HEIGHT - BOTTOM + 14}' text-anchor='middle'>{percent(step * wide)}</text>")
        parts.append(f"<text x='{LEFT - 5}' y='{y + 3.5:.1f}' text-anchor='end'>{money(step * tall)}</text>")
    trail = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in _between(edge.points)))
    parts.append(f"<polyline points='{trail}' fill='none' stroke='{BLUE}' stroke-width='1.5'/>")
    for one in edge.points:
        x, y = at(one.share, one.cost)
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{BLUE}'/>")
    halo = "stroke='white' stroke-width='3' paint-order='stroke'"
    if limit is not None:
        x = at(limit, 0.0)[0]
        parts.append(f"<path d='M{x:.1f},{TOP} V{HEIGHT - BOTTOM}' stroke='{ORANGE}' stroke-dasharray='5 4'/>")
        end = x > WIDTH / 2
        parts.append(
            f"<text x='{x + (-5 if end else 5):.1f}' y='{TOP + 10}' text-anchor='{'end' if end else 'start'}' "
            f"fill='{ORANGE}' {halo}>target</text>"
        )
    x, y = at(edge.plain.share, edge.plain.cost)
    side, x_by = ("end", -10) if x > WIDTH - 130 else ("start", 10)
    parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='6.5' fill='none' stroke='{ORANGE}' stroke-width='1.8'/>")
    parts.append(
        f"<text x='{x + x_by:.1f}' y='{y + (16 if y < TOP + 22 else -7):.1f}' text-anchor='{side}' "
        f"fill='{ORANGE}' font-weight='700' {halo}>the model's prices</text>"
    )
    middle, floor = (LEFT + WIDTH - RIGHT) / 2, (TOP + HEIGHT - BOTTOM) / 2
    parts.append(f"<text x='{middle}' y='{HEIGHT - 8}' text-anchor='middle'>{safe(_error(edge))}, of all cases</text>")
    parts.append(
        f"<text x='11' y='{floor}' text-anchor='middle' transform='rotate(-90 11 {floor})'>counted, "
        f"{safe(report.problem.unit)} per case</text>"
    )
    more = "" if edge.complete else " There are more corners."
    more += "" if edge.whole else f" Pathways have at most {counted(edge.depth, 'test')} here."
    return (
        f"<figure><svg viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' width='{WIDTH:.0f}' role='img' font-size='9.5' "
        f"fill='{INK}' font-family='Helvetica, Arial, sans-serif'><title>Cost against {safe(_error(edge))}</title>"
        f"{''.join(parts)}</svg><figcaption>Every pathway and every mix of pathways lies on the line or above it; dots "
        f"are its corners.{more} Counted: {safe(edge.counts)}. Scales of square roots.</figcaption></figure>"
    )


def _between(points: tuple[Point, ...]) -> list[tuple[float, float]]:
    """Points along the lines between corners, which are curves on these scales."""
    found = []
    for place, one in enumerate(points):
        after = points[min(place + 1, len(points) - 1)]
        ways = [step / 16 for step in range(16)] if after is not one else [0.0]
        found += [(one.share + w * (after.share - one.share), one.cost + w * (after.cost - one.cost)) for w in ways]
    return found


def _table(edge: Edge, report: Report) -> str:
    """The corners: errors, cost, tests, and where each is the cheapest."""
    points = edge.points
    if len(points) > MOST_ROWS:
        near = min(range(len(points)), key=lambda place: abs(points[place].share - edge.plain.share))
        first = min(max(near - MOST_ROWS // 2, 0), len(points) - MOST_ROWS)
        points = points[first : first + MOST_ROWS]
    unit = safe(report.problem.unit)
    costs, spent = amounts(one.cost for one in points), amounts(one.numbers.spend for one in points)
    rows = [
        [chance(one.share), cost, paid, safe(one.numbers.first), _prices(one)]
        for one, cost, paid in zip(points, costs, spent, strict=True)
    ]
    heads = [safe(_error(edge)), f"counted, {unit}", f"tests, {unit}", "first", f"cheapest where one costs, {unit}"]
    left = len(edge.points) - len(points)
    note = f"<p class='soft note'>{len(points)} of {len(edge.points)} corners.</p>" if left else ""
    return table(heads, rows, kind="tight") + note


def _prices(one: Point) -> str:
    return f"from {money(one.low)}" if one.high is None else f"{money(one.low)} to {money(one.high)}"


def _round(value: float) -> float:
    """The next number of the kind 1, 2, 5."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(part * size for part in (1, 2, 5, 10) if part * size >= value * (1 - 1e-12))
