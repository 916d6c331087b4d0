"""The report's section on uncertain numbers: is the first action right, what is worth knowing, tornado, map, curve."""

from __future__ import annotations

import string
from collections.abc import Sequence

from rhoplan.advice.uncertain.curve import Curve
from rhoplan.advice.uncertain.knowing import Worth
from rhoplan.advice.uncertain.uncertainty import Uncertainty
from rhoplan.advice.uncertain.views import Axis, Map, Swing
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import amounts, counted, money, percent, stated
from rhoplan.model.pomdp import POMDP
from rhoplan.present.page.chart import BLUE, BOTTOM, GREEN, GREY, HEIGHT, INK, LEFT, ORANGE, RIGHT, WIDTH, Chart
from rhoplan.present.page.parts import safe, table

MOST_ROWS = 12
"""Rows of a table; the others are counted."""

NEGLIGIBLE = 1e-4
"""Share of what knowing everything is worth below which a study is not listed."""

COLOURS = ("#56b4e9", "#e69f00", "#44bb99", "#cc79a7", "#f0e442", "#ee8866", "#bbbbbb", "#99aaff")
"""Of first actions on the map; letters stand beside them."""

TOP = 12.0


def uncertain_section(problem: POMDP, found: Uncertainty) -> str:
    """The whole section."""
    notes = "".join(f"<p>{safe(words)}</p>" for words in found.words)
    charts = [_map(found.map)] if found.map and len(found.map.actions) > 1 else []
    charts += [_curve(found.curve)] if found.curve else []
    drawn = f"<div class='charts'>{''.join(charts)}</div>" if charts else ""
    return f"{notes}{_lead(problem, found)}{_ranking(problem, found)}{_tornado(problem, found)}{drawn}"


def _lead(problem: POMDP, found: Uncertainty) -> str:
    sign, word = (-1, "loss") if counts_losses(problem) else (1, "reward")
    right, unit = found.chance_right, problem.unit
    low, high = sorted((sign * found.low, sign * found.high))
    others = [f"{one.action} in {percent(one.share)}" for one in found.right if one.action != found.first][:3]
    words = f"{found.first} is the right first action in {percent(right.share)} of what the numbers allow"
    words += f" ({', '.join(others)}). " if others else ". "
    exactly = "exact" if found.worth_kind == "exact" else f"estimated, SE {money(found.worth_se)}"
    words += (
        f"Expected {word} {money(sign * found.worth + 0.0, unit)} per case ({exactly}), 95% interval {money(low)} to "
        f"{money(high, unit)}. Knowing every number would be worth {money(found.everything.value, unit)} per case "
        f"({_kind(found.everything)})."
    )
    drawn = f"Shares and interval are estimated from {found.samples:,} versions of the numbers, seed {found.seed}; "
    drawn += f"standard error of the first share {percent(right.se)}."
    return f"<p class='lead'>{safe(words)}</p><p class='soft'>{safe(drawn)}</p>"


def _kind(worth: Worth) -> str:
    return "exact" if worth.kind == "exact" else f"estimated, SE {money(worth.se)}, n = {worth.samples:,}"


def _ranking(problem: POMDP, found: Uncertainty) -> str:
    rows = [one for one in found.studies if one.worth.value > NEGLIGIBLE * found.everything.value]
    head = "<h3>Which study is worth making</h3>"
    if not rows:
        return f"{head}<p>No single study would change what to do.</p>"
    most = rows[0].worth.value
    cells = [
        [safe(one.name), f"<span class='bar'><i style='width:{100 * one.worth.value / most:.1f}%'></i></span>", text,
         _kind(one.worth)]
        for one, text in zip(rows[:MOST_ROWS], amounts(one.worth.value for one in rows[:MOST_ROWS]), strict=True)
    ]  # fmt: skip
    heads = ["to know", "", f"worth, {safe(problem.unit)} per case", "which is"]
    more = _more(len(rows) - MOST_ROWS, "study is", "studies are")
    text = "The most that a study could be worth, if it told the numbers exactly; one of a test tells all its chances."
    return f"{head}{table(heads, cells, numbers=2, kind='tight')}<p class='soft note'>{text}{more}</p>"


def _more(count: int, one: str, several: str) -> str:
    return f" {count} more {one if count == 1 else several} worth less." if count > 0 else ""


def _number(one: Swing | Axis, value: float) -> str:
    return stated(value) if one.quantity == "probability" else money(value)


def _tornado(problem: POMDP, found: Uncertainty) -> str:
    sign, word = (-1, "loss") if counts_losses(problem) else (1, "reward")
    rows = found.tornado[:MOST_ROWS]
    ends = [sign * end.kept + 0.0 for one in rows for end in (one.low, one.high)]
    told, now = amounts(ends), sign * found.worth
    least, most = min(*ends, now), max(*ends, now)
    cells = []
    for place, one in enumerate(rows):
        pair = sorted(ends[2 * place : 2 * place + 2])
        turns = [f"{_number(one, end.value)}: {end.first}" for end in (one.low, one.high) if end.first != found.first]
        cells.append(
            [
                safe(one.name),
                f"{_number(one, one.low.value)} to {_number(one, one.high.value)}",
                _swing([*pair, now], least, most),
                told[2 * place],
                told[2 * place + 1],
                safe("; ".join(turns)) or "–",
            ]
        )
    heads = ["number", "95% interval", "", f"{word} at its low end", "at its high end", "other first action"]
    left = len(found.tornado) - len(rows)
    more = f" {counted(left, 'number')} more, which matter less." if left else ""
    text = f"Exact, for the plan as it is and the other numbers as stated. The mark is the {word} as stated.{more}"
    shown = table(heads, cells, numbers=3, kind="tight")
    return f"<h3>One number at a time</h3>{shown}<p class='soft note'>{text}</p>"


def _swing(values: Sequence[float], least: float, most: float) -> str:
    """A bar from the first to the second of `values`, and a mark at the third."""
    start, end, mark = (1 + 98 * (value - least) / ((most - least) or 1.0) for value in values)
    return (
        "<svg class='line' style='min-width:7rem' viewBox='0 0 100 12' preserveAspectRatio='none' aria-hidden='true'>"
        f"<rect x='{start:.2f}' y='2' width='{max(end - start, 0.5):.2f}' height='8' fill='{BLUE}'/>"
        f"<path d='M{mark:.2f},0 V12' stroke='{INK}' stroke-width='1' vector-effect='non-scaling-stroke'/></svg>"
    )


def _map(found: Map) -> str:
    """First actions over two numbers as a grid of cells with a letter for each action."""
    steps, marks = len(found.first), string.ascii_uppercase
    wide, tall = (WIDTH - LEFT - RIGHT) / steps, (HEIGHT - BOTTOM - TOP) / steps
    floor = HEIGHT - BOTTOM
    cells_drawn = [
        f"<rect x='{LEFT + column * wide:.1f}' y='{floor - (row + 1) * tall:.1f}' width='{wide + 0.4:.1f}' "
        f"height='{tall + 0.4:.1f}' fill='{COLOURS[place % len(COLOURS)]}'/>"
        for row, line in enumerate(found.first)
        for column, place in enumerate(line)
    ]
    parts = [f"<g shape-rendering='crispEdges'>{''.join(cells_drawn)}</g>"]
    for place in range(len(found.actions)):
        cells = [(r, c) for r, line in enumerate(found.first) for c, one in enumerate(line) if one == place]
        row, column = cells[len(cells) // 2]
        parts.append(
            f"<text x='{LEFT + (column + 0.5) * wide:.1f}' y='{floor - (row + 0.5) * tall + 4:.1f}' "
            f"text-anchor='middle' font-weight='700'>{marks[place % 26]}</text>"
        )
    at = [
        (axis.value - axis.values[0]) / (axis.values[-1] - axis.values[0]) * (steps - 1) + 0.5
        for axis in (found.across, found.down)
    ]
    parts.append(
        f"<path d='M{LEFT + at[0] * wide - 6:.1f},{floor - at[1] * tall:.1f} h12 m-6,-6 v12' stroke='{INK}' "
        "stroke-width='2'/>"
    )
    for end, anchor in ((0, "start"), (-1, "end")):
        x = LEFT if end == 0 else WIDTH - RIGHT
        y = floor if end == 0 else TOP + 9
        parts.append(f"<text x='{x}' y='{floor + 14}' text-anchor='{anchor}'>{_end(found.across, end)}</text>")
        parts.append(f"<text x='{LEFT - 5}' y='{y}' text-anchor='end'>{_end(found.down, end)}</text>")
    middle = (TOP + floor) / 2
    parts.append(
        f"<text x='{(LEFT + WIDTH - RIGHT) / 2}' y='{HEIGHT - 10}' text-anchor='middle'>"
        f"{safe(found.across.name)}</text>"
        f"<text x='11' y='{middle}' text-anchor='middle' transform='rotate(-90 11 {middle})'>"
        f"{safe(found.down.name)}</text>"
    )
    key = ", ".join(f"{marks[place % 26]} {safe(action)}" for place, action in enumerate(found.actions))
    title = "What to begin with over two numbers"
    return (
        f"<figure><svg viewBox='0 0 {WIDTH:.0f} {HEIGHT:.0f}' width='{WIDTH:.0f}' role='img' font-size='10.5' "
        f"fill='{INK}' font-family='Helvetica, Arial, sans-serif'><title>{title}</title>{''.join(parts)}</svg>"
        f"<figcaption><b>{title}.</b> {key}. Exact, within their 95% intervals, the other numbers as stated; the cross "
        "is the model.</figcaption></figure>"
    )


def _end(axis: Axis, end: int) -> str:
    value = axis.values[end]
    return stated(value) if axis.quantity == "probability" else money(float(f"{value:.3g}"))


def _curve(found: Curve) -> str:
    top = max(max(point.plan, point.everybody) for point in found.points)
    label = f"threshold: {found.action} from this chance of {found.diagnosis} on"
    chart = Chart("Decision curve", label, "net benefit per case", (0, 1), (-0.15 * top, top), x_percent=True)
    floor = chart.y[0]
    chart.line([(0, 0), (1, 0)], GREY, f"{found.action}: nobody", dash="2 3")
    every = [(point.threshold, point.everybody) for point in found.points if point.everybody > floor]
    chart.line(every, ORANGE, f"{found.action}: everybody", dash="6 3")
    tested = [(p.threshold, p.tested) for p in found.points if p.tested is not None and p.tested > floor]
    if tested:
        chart.line(tested, GREEN, "every test first", dash="3 3")
    chart.line([(point.threshold, point.plan) for point in found.points], BLUE, "this way of planning")
    chart.upright(found.own, f"the model's own: {percent(found.own)}")
    return chart.svg("Exact; prices of tests are counted in, and the plan is made anew for every threshold.")
