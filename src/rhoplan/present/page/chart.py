"""Plots of the printable report as SVG: axes with round numbers, lines, points with intervals. No script, no font from
elsewhere; series differ in marker and dash as well as in colour (Okabe-Ito)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from rhoplan.present.page.parts import safe

WIDTH, HEIGHT = 430.0, 290.0
"""Size of a plot in CSS pixels: two stand side by side on a page, one fills a telephone."""

LEFT, RIGHT, BOTTOM = 56.0, 14.0, 44.0

FLAT = 2e-3
"""Share of its size by which a quantity must change to fill the figure; a smaller change is drawn small."""

INK, SOFT, GRID = "#1b1f24", "#59636e", "#e4e8ec"
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#b34700", "#00785a", "#7d8790"

Point = tuple[float, float]


@dataclass
class Chart:
    """A plot. x, y: ranges to show at least. categories: names of places 0, 1, ... where x is no number."""

    title: str
    x_label: str
    y_label: str
    x: tuple[float, float]
    y: tuple[float, float]
    x_percent: bool = False
    y_percent: bool = False
    categories: Sequence[str] = ()
    _parts: list[str] = field(default_factory=list)
    _legend: list[tuple[str, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.x_ticks = [float(k) for k in range(len(self.categories))] or ticks(*self.x, most=5)
        self.y_ticks = ticks(*self.y, most=5)
        pad = 0.5 if self.categories else 0.0
        self.x = min(self.x[0], self.x_ticks[0] - pad), max(self.x[1], self.x_ticks[-1] + pad)
        self.y = min(self.y[0], self.y_ticks[0]), max(self.y[1], self.y_ticks[-1])
        self.top = 12.0

    def at(self, x: float, y: float) -> Point:
        """Where a value stands in the drawing; what is beyond the range stands at its edge."""
        x, y = (min(max(value, low), high) for value, (low, high) in ((x, self.x), (y, self.y)))
        across = LEFT + (x - self.x[0]) / (self.x[1] - self.x[0]) * (WIDTH - LEFT - RIGHT)
        return across, HEIGHT - BOTTOM - (y - self.y[0]) / (self.y[1] - self.y[0]) * (HEIGHT - BOTTOM - self.top)

    def line(self, points: Sequence[Point], colour: str, label: str = "", *, dash: str = "", marker: str = "") -> None:
        """A line through `points`, with markers (`round` or `square`) where there is a word for them."""
        trail = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.at(*point) for point in points))
        dashed = f" stroke-dasharray='{dash}'" if dash else ""
        self._parts.append(f"<polyline points='{trail}' fill='none' stroke='{colour}' stroke-width='1.8'{dashed}/>")
        if marker:
            self.dots(points, colour, marker=marker)
        if label:
            self._legend.append((label, colour, dash, marker))

    def dots(self, points: Sequence[Point], colour: str, label: str = "", *, marker: str = "round") -> None:
        """A mark at each of `points`."""
        self._parts += [_mark(*self.at(*point), colour, marker) for point in points]
        if label:
            self._legend.append((label, colour, "none", marker))

    def whiskers(self, intervals: Sequence[tuple[float, float, float]], colour: str) -> None:
        """Intervals (x, low, high) as upright lines with ends."""
        for x, low, high in intervals:
            (across, bottom), (_, top) = self.at(x, low), self.at(x, high)
            ends = f"M{across - 3:.1f},{bottom:.1f} h6 M{across - 3:.1f},{top:.1f} h6"
            path = f"M{across:.1f},{bottom:.1f} V{top:.1f} {ends}"
            self._parts.append(f"<path d='{path}' stroke='{colour}' stroke-width='1.2' fill='none'/>")

    def upright(self, x: float, label: str) -> None:
        """A dashed line at x that says what it is."""
        across = self.at(x, self.y[0])[0]
        end = across > WIDTH - 120
        self._parts.append(
            f"<path d='M{across:.1f},{self.top} V{HEIGHT - BOTTOM}' stroke='{SOFT}' stroke-dasharray='2 3'/>"
            f"<text x='{across + (-4 if end else 4):.1f}' y='{HEIGHT - BOTTOM - 6}' fill='{SOFT}' "
            f"text-anchor='{'end' if end else 'start'}'{_HALO}>{safe(label)}</text>"
        )

    def svg(self, caption: str) -> str:
        """The plot as a figure with its caption."""
        above = 18.0 * len(self._legend)
        frame = [*self._axes(), *self._parts]
        legend = []
        for place, (label, colour, dash, marker) in enumerate(self._legend):
            y = -above + 18.0 * place + 10
            if dash != "none":
                dashed = f" stroke-dasharray='{dash}'" if dash else ""
                legend.append(f"<path d='M{LEFT},{y} h22' stroke='{colour}' stroke-width='1.8'{dashed}/>")
            legend.append(_mark(LEFT + 11, y, colour, marker) if marker else "")
            legend.append(f"<text x='{LEFT + 28}' y='{y + 3.5}'>{safe(label)}</text>")
        box = f"0 {-above:.0f} {WIDTH:.0f} {HEIGHT + above:.0f}"
        return (
            f"<figure><svg viewBox='{box}' width='{WIDTH:.0f}' role='img' font-size='10.5' fill='{INK}' "
            f"font-family='Helvetica, Arial, sans-serif'><title>{safe(self.title)}</title>{''.join(legend)}"
            f"{''.join(frame)}</svg><figcaption><b>{safe(self.title)}.</b> {caption}</figcaption></figure>"
        )

    def _axes(self) -> list[str]:
        parts, floor = [], HEIGHT - BOTTOM
        names = list(self.categories) or labels(self.x_ticks, percent=self.x_percent)
        for tick, name in zip(self.x_ticks, names, strict=True):
            x = self.at(tick, self.y[0])[0]
            parts.append(f"<path d='M{x:.1f},{self.top} V{floor}' stroke='{GRID}'/>")
            parts.append(f"<text x='{x:.1f}' y='{floor + 14}' text-anchor='middle'>{safe(name)}</text>")
        for tick, name in zip(self.y_ticks, labels(self.y_ticks, percent=self.y_percent), strict=True):
            y = self.at(self.x[0], tick)[1]
            parts.append(f"<path d='M{LEFT},{y:.1f} H{WIDTH - RIGHT}' stroke='{GRID}'/>")
            parts.append(f"<text x='{LEFT - 5}' y='{y + 3.5:.1f}' text-anchor='end'>{name}</text>")
        parts.append(f"<path d='M{LEFT},{self.top} V{floor} H{WIDTH - RIGHT}' stroke='{SOFT}' fill='none'/>")
        middle, across = (self.top + floor) / 2, (LEFT + WIDTH - RIGHT) / 2
        parts.append(
            f"<text x='{across}' y='{HEIGHT - 10}' text-anchor='middle' fill='{SOFT}'>{safe(self.x_label)}</text>"
        )
        turned = f"transform='rotate(-90 11 {middle})'"
        parts.append(
            f"<text x='11' y='{middle}' text-anchor='middle' fill='{SOFT}' {turned}>{safe(self.y_label)}</text>"
        )
        return parts


_HALO = " stroke='white' stroke-width='3' paint-order='stroke'"


def _mark(x: float, y: float, colour: str, marker: str) -> str:
    if marker == "square":
        place = f"x='{x - 3.2:.1f}' y='{y - 3.2:.1f}' width='6.4' height='6.4'"
        return f"<rect {place} fill='white' stroke='{colour}' stroke-width='1.5'/>"
    return f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.4' fill='{colour}'/>"


def ticks(low: float, high: float, *, most: int = 4) -> list[float]:
    """Round numbers that span `low` to `high` in `most` steps or one or two more; and more than these where they are
    nearly the same."""
    least = FLAT * max(abs(low), abs(high)) or 1.0
    if high - low < least:
        low, high = (low + high - least) / 2, (low + high + least) / 2
    size = 10.0 ** math.floor(math.log10((high - low) / 3))
    step = next(size * k for k in (1, 2, 5, 10) if (high - low) / (size * k) <= most + 1e-9)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * k for k in range(first, max(last, first + 1) + 1)]


def labels(found: Sequence[float], *, percent: bool = False) -> list[str]:
    """Round numbers as they stand at an axis."""
    scale = 100.0 if percent else 1.0
    digits = max(0, -math.floor(math.log10(scale * (found[1] - found[0])) + 1e-9))
    return [f"{scale * tick + 0.0:,.{digits}f}{'%' if percent else ''}" for tick in found]
