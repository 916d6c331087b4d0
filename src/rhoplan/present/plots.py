"""Figures, drawn without a screen. Colours are the Okabe-Ito set, told apart by readers with any colour vision, and
each line has a marker of its own. An agent looks the same in every figure (`LOOKS`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rhoplan.errors import MissingExtra
from rhoplan.files import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "figure.dpi": 150,
    "savefig.dpi": 150,
}


@dataclass(frozen=True)
class Look:
    """How an agent is drawn: what a legend calls it, its colour, the marker of its points."""

    label: str
    colour: str
    marker: str


LOOKS: dict[str, Look] = {
    "myopic": Look("Myopic", "#E69F00", "v"),
    "planning": Look("Planning", "#0072B2", "s"),
    "info-gain": Look("Info Gain", "#CC79A7", "^"),
    "planning-ig": Look("Planning+IG", "#009E73", "P"),
    "efe": Look("EFE", "#D55E00", "o"),
    "optimum": Look("certified optimum", "#000000", "*"),
}

COMMIT, OBSERVE, UNCERTAIN = "#D55E00", "#0072B2", "#009E73"
"""Colours of quantities within an episode: worth of committing, worth of observing, entropy."""

TARGET, CHOSEN, SCANNED = "#009E73", "#D55E00", "#0072B2"
"""Colours of marks on a belief: the true state, what the agent commits to, what a test reported."""

QUIET = "#666666"
"""Colour of notes and of guides."""

Given = TypeVar("Given")


def styled(draw: Callable[[Given], Figure]) -> Callable[[Given], Figure]:
    """`draw` in the style of this module, whatever style is set elsewhere; nothing stays set."""

    @wraps(draw)
    def in_style(given: Given) -> Figure:
        import matplotlib as mpl

        with mpl.rc_context(STYLE):
            drawing = draw(given)
            # Ticks take their style when they are first laid out: that must happen here. Then the layout stays as it
            # is, whatever the format and however often the figure is saved.
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")
            return drawing

    return in_style


def canvas(rows: int, columns: int, size: tuple[float, float], **settings: Any) -> tuple[Figure, Any]:
    """A figure that belongs to nobody else, and its axes (rows x columns array)."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=size, layout="constrained")
    return drawing, drawing.subplots(rows, columns, squeeze=False, **settings)


def need_matplotlib() -> None:
    """Say so where figures cannot be drawn; else make sure that no screen is asked for."""
    try:
        import matplotlib
    except ModuleNotFoundError:
        raise MissingExtra("a figure", "matplotlib") from None
    matplotlib.use("Agg")


@contextmanager
def figure(
    path: Path, rows: int, columns: int, size: tuple[float, float], **settings: Any
) -> Iterator[tuple[Any, Any]]:
    """A matplotlib figure and its axes (rows x columns array), written to `path` when the block ends well."""
    need_matplotlib()
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        drawing, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained", **settings)
        try:
            yield drawing, axes
            with replacing(path) as temporary:
                drawing.savefig(temporary)
        finally:
            plt.close(drawing)


PLACES = (
    (0, 6, "center", "bottom"),
    (0, -6, "center", "top"),
    (8, -3, "left", "top"),
    (-8, -3, "right", "top"),
    (8, 3, "left", "bottom"),
    (-8, 3, "right", "bottom"),
    (-13, 0, "right", "center"),
    (13, 0, "left", "center"),
)
"""Where a label may stand: offset from its point in typographic points, and which side of it is there."""


def place_labels(
    axis: Any, labels: Sequence[tuple[float, float, str]], taken: Sequence[tuple[float, float]], size: float = 7.5
) -> int:
    """Write `labels` (x, y, text; the first matter most) beside their points where they cover neither each other nor
    the points `taken`; those without room are left out. How many were written. The axes must have their limits."""
    box = axis.get_position()
    width, height = (72 * inches for inches in axis.figure.get_size_inches())
    width, height = width * box.width, height * box.height

    to_points = axis.transData + axis.transAxes.inverted()
    spots = to_points.transform([*taken, *((x, y) for x, y, _ in labels)]) * (width, height)
    obstacles = [(x - 2, y - 2, x + 2, y + 2) for x, y in spots[: len(taken)].tolist()]
    written = 0
    for (x, y, text), (across, up) in zip(labels, spots[len(taken) :].tolist(), strict=True):
        long, high = 0.6 * size * len(text), 1.15 * size
        for right, above, side, edge in PLACES:
            left = across + right - {"left": 0.0, "right": long, "center": long / 2}[side]
            bottom = up + above - {"bottom": 0.0, "top": high, "center": high / 2}[edge]
            mine = (left, bottom, left + long, bottom + high)
            if left < 0 or bottom < 0 or mine[2] > width + 2 * size or mine[3] > height:
                continue
            if any(mine[0] < b[2] and b[0] < mine[2] and mine[1] < b[3] and b[1] < mine[3] for b in obstacles):
                continue
            axis.annotate(text, (x, y), xytext=(right, above), textcoords="offset points", ha=side, va=edge,
                          fontsize=size, color="#333333", zorder=9)  # fmt: skip
            obstacles.append(mine)
            written += 1
            break
    return written


SCORES = {
    "reward": ("expected reward", 1.0),
    "discounted": ("expected reward, discounted", 1.0),
    "tests": ("expected tests", 1.0),
    "success": ("success (%)", 100.0),
}
"""Scores that a sweep tells, each with the title of its panel and what it is multiplied by there."""


def swept(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which of SCORES `rows` have: `discounted` where that is another number, `success` where some case has it."""
    fades = not all(math.isclose(row["discounted"], row["reward"], rel_tol=1e-9, abs_tol=1e-9) for row in rows)
    rated = any(not math.isnan(row["success"]) for row in rows)
    return [name for name in SCORES if {"discounted": fades, "success": rated}.get(name, True)]


def draw_sweep(path: Path, rows: Sequence[Mapping[str, Any]], name: str, title: str, command: str) -> None:
    """The scores over the setting, one line per agent."""
    numeric = all(isinstance(row["setting"], int | float) for row in rows)
    positive = numeric and min(float(row["setting"]) for row in rows) > 0
    wide = positive and max(float(row["setting"]) for row in rows) / min(float(row["setting"]) for row in rows) >= 100
    agents = list(dict.fromkeys(row["agent"] for row in rows))
    panels = swept(rows)
    with figure(path, 1, len(panels), (3.5 * len(panels), 3.4)) as (drawing, axes):
        for axis, column in zip(axes[0], panels, strict=True):
            label, scale = SCORES[column]
            for place, agent in enumerate(agents):
                mine = [row for row in rows if row["agent"] == agent]
                axis.plot(
                    [row["setting"] for row in mine],
                    [scale * row[column] for row in mine],
                    color=COLOURS[place % len(COLOURS)],
                    marker=MARKERS[place % len(MARKERS)],
                    markersize=4 if len(mine) < 40 else 0,
                    label=agent,
                )
            axis.set_xlabel(name)
            axis.set_title(label, loc="left")
            if wide:
                axis.set_xscale("log")
        axes[0][0].legend(loc="best")
        drawing.suptitle(f"{title}: exact scores over {name}", x=0.01, ha="left", fontsize=11)
        drawing.supxlabel(command, x=0.01, ha="left", fontsize=6.5, color="#555555")
