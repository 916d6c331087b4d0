"""Figures, drawn without a screen. Colours are the Okabe-Ito set, told apart by readers with any colour vision, and
each line has a marker of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rhoplan.report.files import replacing

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


@contextmanager
def figure(path: Path, rows: int, columns: int, size: tuple[float, float]) -> Iterator[tuple[Any, Any]]:
    """A matplotlib figure and its axes (rows x columns array), written to `path` when the block ends well."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context(STYLE):
        drawing, axes = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        try:
            yield drawing, axes
            with replacing(path) as temporary:
                drawing.savefig(temporary)
        finally:
            plt.close(drawing)


def draw_sweep(path: Path, rows: Sequence[Mapping[str, Any]], name: str, title: str, command: str) -> None:
    """Reward, success and tests over the setting, one line per agent."""
    numeric = all(isinstance(row["setting"], int | float) for row in rows)
    positive = numeric and min(float(row["setting"]) for row in rows) > 0
    wide = positive and max(float(row["setting"]) for row in rows) / min(float(row["setting"]) for row in rows) >= 100
    agents = list(dict.fromkeys(row["agent"] for row in rows))
    panels = (("reward", "expected reward", 1.0), ("success", "success (%)", 100.0), ("tests", "expected tests", 1.0))
    with figure(path, 1, 3, (10.5, 3.4)) as (drawing, axes):
        for axis, (column, label, scale) in zip(axes[0], panels, strict=True):
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
