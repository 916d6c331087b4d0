"""Plots for a notebook: beliefs as bars, reward against success over the weight; each a picture that can be saved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from rhoplan.advice.compare import Frontier
from rhoplan.advice.words import percents
from rhoplan.files import replacing
from rhoplan.present.plots import COLOURS, figure


@dataclass(frozen=True, repr=False)
class Picture:
    """A plot as PNG, which a notebook shows."""

    png: bytes

    def save(self, path: Path | str) -> Path:
        """Write it to a file, whose name ends in .png."""
        with replacing(Path(path)) as temporary:
            temporary.write_bytes(self.png)
        return Path(path)

    def __repr__(self) -> str:
        return f"a picture of {len(self.png):,} bytes; .save('plot.png') keeps it"

    def _repr_png_(self) -> bytes:
        return self.png


def drawn(draw: Callable[[Path], object]) -> Picture:
    """The picture that `draw` writes to a path."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "plot.png"
        draw(path)
        return Picture(path.read_bytes())


def plot_belief(belief: Mapping[str, float], title: str = "") -> Picture:
    """Chances of states as bars."""

    def draw(path: Path) -> None:
        with figure(path, 1, 1, (6.0, 0.8 + 0.32 * len(belief))) as (_, axes):
            axis, names, shares = axes[0][0], list(belief), list(belief.values())
            axis.barh(names, [100 * share for share in shares], color=COLOURS[0])
            for place, words in enumerate(percents(shares)):
                axis.annotate(
                    words, (100 * shares[place], place), xytext=(4, 0), textcoords="offset points", va="center"
                )
            axis.invert_yaxis()
            axis.set_xlim(0, 115)
            axis.set_xlabel("chance (%)")
            axis.set_title(title, loc="left")

    return drawn(draw)


def plot_frontier(found: Frontier, unit: str, title: str = "") -> Picture:
    """Expected reward against the share of right decisions, a point for each stretch of weights."""

    def draw(path: Path) -> None:
        with figure(path, 1, 1, (6.0, 3.8)) as (_, axes):
            axis = axes[0][0]
            axis.plot([100 * p.success for p in found.points], [p.reward for p in found.points], "o-", color=COLOURS[0])
            for point in found.points:
                axis.annotate(
                    f"{point.lower:.3g} to {point.upper:.3g}", (100 * point.success, point.reward), fontsize=7,
                    xytext=(4, 4), textcoords="offset points",
                )  # fmt: skip
            axis.margins(x=0.18, y=0.12)
            axis.set_xlabel("right decisions (%)")
            axis.set_ylabel(f"expected reward ({unit})")
            axis.set_title(title or f"weights in {unit} per nat, horizon {found.horizon}", loc="left")

    return drawn(draw)
