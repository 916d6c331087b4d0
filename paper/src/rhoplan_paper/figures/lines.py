"""Exact scores of several agents over one setting, as lines: what such figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rhoplan.report.plots import LOOKS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (("success", "success (%)", 100.0), ("reward", "expected reward", 1.0), ("tests", "expected tests", 1.0))
"""Column, what its axis says, and what a unit of it is drawn as."""

Score = Mapping[str, float]

OPTIMUM: dict[str, Any] = {
    "color": "#C8C8C8",
    "linewidth": 6,
    "solid_capstyle": "round",
    "zorder": 1,
    "label": "certified optimum",
}
"""A broad pale line below the others: an agent on it is optimal."""


def as_line(agent: str, weight: float | None, unit: str, scores: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    text = LOOKS[agent].label + (f", w = {weight:g} per {unit[:-1]}" if weight else "")
    return {"agent": agent, "unit": unit, "label": text, "scores": [as_score(one) for one in scores]}


def as_score(result: Mapping[str, Any]) -> dict[str, float]:
    return {column: float(result[column]) for column, _, _ in COLUMNS}


def as_texts(score: Score) -> tuple[str, str, str]:
    return f"{100 * score['success']:.2f}%", f"{score['reward']:.4f}", f"{score['tests']:.4f}"


def draw_lines(
    axis: Any,
    lines: Sequence[Mapping[str, Any]],
    places: Sequence[float],
    column: str,
    scale: float,
    marked: Sequence[int] | None = None,
) -> None:
    """One line per agent; weights per nat are dashed with open markers, so that equal lines are both seen."""
    for line in lines:
        look, dashed = LOOKS[line["agent"]], line["unit"] == "nats"
        axis.plot(
            places,
            [scale * score[column] for score in line["scores"]],
            color=look.colour,
            linestyle="--" if dashed else "-",
            linewidth=1.3,
            marker=look.marker,
            markevery=marked,
            markersize=7 if dashed else 4.5,
            markerfacecolor="none" if dashed else look.colour,
            label=line["label"],
            zorder=4 if dashed else 3,
        )


def key_below(drawing: Figure, axis: Any, columns: int) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8.5, columnspacing=1.4)
