"""A solved policy drawn over the belief at the start: both bounds, and what is done first where.

Two hidden states make a line, three a triangle whose corners are certainty; more cannot be drawn. The bounds are the
solver's own and hold everywhere; what lies between the beliefs looked at is joined by straight lines.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.limited import horizon_of
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.report.picture import Picture, drawn
from rhoplan.report.plots import COLOURS, figure, need_matplotlib

if TYPE_CHECKING:
    from rhoplan.planning.certified.solved import SolvedPolicy

ENDINGS = (".png", ".svg", ".pdf")

LINE, HALVINGS = 400, 30
"""Cells of the line, and how often a cell in which something changes is halved to find where."""

SIDE, COARSE = 120, 20
"""Cells along a side of the triangle for actions and values, and for the gap, which takes a linear program each."""

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
NAMED = (("center", "top", -6), ("center", "top", -6), ("center", "bottom", 6))
"""Where certainty of each state lies, and how its name stands there: sides, and points above it."""

LABELLED, APART = 0.25, 0.06
"""Length of a contour that gets a label, and how far labels are apart, as shares of a side."""

TINT = 0.3
"""How strong the colours of actions are: lines must stay readable on them."""

MOST_LOOKED_AT = 100
"""Hidden states at the start up to which some are looked for that are alike."""


def plot_policy(policy: SolvedPolicy, path: Path | str | None = None) -> Picture | None:
    """Draw `policy` into the file at `path`, whose ending says how; without one, as a picture for a notebook.

    Not covered: problems with one hidden state at the start, or with more than three, or that look first.
    """
    if path is None:
        return drawn(lambda inside: plot_policy(policy, inside))
    need_matplotlib()
    _check_ending(Path(path))
    _check_states(policy.origin, len(policy.start_states))
    draw = _draw_line if len(policy.start_states) == 2 else _draw_triangle
    draw(policy.tightened(), Path(path))
    return None


def check_plot(problem: Problem, path: Path, weight: float) -> None:
    """Refuse what cannot be drawn, before it is solved."""
    from rhoplan.planning.certified.pointbased.records import compile_problem, joint_prior

    need_matplotlib()
    _check_ending(path)
    possible = int(np.count_nonzero(joint_prior(problem)))
    few = possible <= MOST_LOOKED_AT
    _check_states(problem, len(compile_problem(problem, weight=weight).start) if few else possible)


def _check_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise ProblemError(f"a drawing must end in {', '.join(ENDINGS)}; it is '{path.name}'", field=("plot",))


def _check_states(problem: Problem, states: int) -> None:
    if problem.looks_first:
        raise ProblemError(
            f"a plan is drawn as it is at the start; '{problem.name}' starts with a look, and nothing to choose: save "
            "it, and ask decide --agent solved:FILE",
            field=("plot",),
        )
    if states not in (2, 3):
        raise ProblemError(
            f"a plan is drawn over two or three hidden states that are not alike; '{problem.name}' starts with "
            f"{states}: save it, and ask decide --agent solved:FILE",
            field=("plot",),
        )


def _draw_line(policy: SolvedPolicy, path: Path) -> None:
    """Value over the probability of the second state, actions as bands; the gap by itself below."""
    kinks = _kinks(policy)
    places = np.union1d(np.linspace(0, 1, LINE + 1), kinks)
    lower, upper = _lower(policy, _on_line(places)), policy.upper_from(_on_line(places))
    inner = [0.0, *kinks, 1.0]
    worth, actions = policy.plans_from(_on_line(np.array([(a + b) / 2 for a, b in pairwise(inner)])))
    taken = [actions[best] for best in worth.argmax(axis=1)]
    looks = _looks(taken)
    with figure(path, 2, 1, (6.4, 5.2), sharex=True, height_ratios=[4, 1]) as (drawing, axes):
        value, gap = axes[:, 0]
        for (left, right), action in zip(pairwise(inner), taken, strict=True):
            value.axvspan(left, right, color=looks[action], linewidth=0)
        value.fill_between(places, lower, upper, color="#000000", alpha=0.25, linewidth=0)
        value.plot(places, upper, color="#000000", linewidth=0.9, linestyle="--", label="upper bound")
        value.plot(places, lower, color="#000000", linewidth=1.2, label="lower bound")
        if kinks:
            heights = _lower(policy, _on_line(np.array(kinks)))
            value.plot(kinks, heights, "o", color="#000000", markersize=2.5, label="kink: another plan takes over")
        _mark_start(value, float(policy.problem.start[1]), float(_lower(policy, policy.problem.start[None])[0]))
        value.set_ylabel(_unit(policy))
        gap.plot(places, upper - lower, color="#000000", linewidth=0.9)
        gap.set_ylim(bottom=0)
        gap.set_ylabel("gap")
        gap.set_xlim(0, 1)
        gap.set_xlabel(f"probability of {policy.start_states[1]} (else {policy.start_states[0]})")
        value.set_title(_caption(policy, upper - lower), loc="left", fontsize=8, color="#333333")
        _finish(drawing, value, policy, looks)


def _draw_triangle(policy: SolvedPolicy, path: Path) -> None:
    """First actions as colours and the lower bound as contours, over the triangle of beliefs."""
    from matplotlib.tri import Triangulation

    beliefs, cells = _triangle(SIDE)
    worth, actions = policy.plans_from(beliefs)
    lower = worth.max(axis=1)
    looks = _looks([actions[best] for best in worth.argmax(axis=1)])
    few = _triangle(COARSE)[0]
    with figure(path, 1, 1, (6.4, 6.4)) as (drawing, axes):
        axis = axes[0, 0]
        across, up = (beliefs @ CORNERS).T
        mesh = Triangulation(across, up, cells)
        _fill(axis, mesh, policy, beliefs[cells].mean(axis=1), looks)
        for action, colour in looks.items():
            mine = np.array([one == action for one in actions])
            ahead = worth[:, mine].max(axis=1) - worth[:, ~mine].max(axis=1, initial=-np.inf)
            ahead = np.clip(ahead, -1e300, 1e300)
            axis.tricontourf(mesh, ahead, levels=[0.0, np.inf], colors=[colour])
        if np.ptp(lower) > 1e-9 * (1 + np.abs(lower).max()):
            lines = axis.tricontour(mesh, lower, levels=8, colors="#000000", linewidths=0.7, linestyles="solid")
            if spots := _label_spots(lines):
                axis.clabel(lines, fontsize=7, inline_spacing=4, manual=spots)
        axis.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#000000", linewidth=1.0)
        for corner, state, (side, edge, above) in zip(CORNERS, policy.start_states, NAMED, strict=True):
            axis.annotate(f"surely {state}", corner, xytext=(0, above), textcoords="offset points", ha=side, va=edge)
        _mark_start(axis, *(policy.problem.start @ CORNERS).tolist())
        axis.plot([], [], color="#000000", linewidth=0.7, label=f"lower bound: {_unit(policy)}")
        axis.set_aspect("equal")
        axis.set_axis_off()
        caption = _caption(policy, policy.upper_from(few) - _lower(policy, few))
        axis.set_title(caption, loc="left", fontsize=8, color="#333333", pad=22)
        _finish(drawing, axis, policy, looks)


def _fill(axis: Any, mesh: Any, policy: SolvedPolicy, middles: Array, looks: dict[str, str]) -> None:
    """Colour every cell by what is done in its middle: contours of regions leave specks where three of them meet."""
    from matplotlib.colors import ListedColormap

    worth, actions = policy.plans_from(middles)
    number = {action: place for place, action in enumerate(looks)}
    known = np.array([number.get(action, 0) for action in actions], dtype=float)
    axis.tripcolor(
        mesh, facecolors=known[worth.argmax(axis=1)], cmap=ListedColormap(list(looks.values())), vmin=0,
        vmax=max(len(looks) - 1, 1), edgecolors="face", linewidth=0.2, rasterized=True,
    )  # fmt: skip


def _label_spots(lines: Any) -> list[tuple[float, float]]:
    """For each contour that is long enough the place farthest from the sides, unless another label is near."""
    spots: list[Array] = []
    to_beliefs = np.linalg.inv(np.column_stack([CORNERS, np.ones(3)]))
    for path in lines.get_paths():
        pieces = path.to_polygons(closed_only=False)
        long = [piece for piece in pieces if np.hypot(*np.diff(piece, axis=0).T).sum() > LABELLED]
        if long:
            places = np.concatenate(long)
            inside = (np.column_stack([places, np.ones(len(places))]) @ to_beliefs).min(axis=1)
            spot = places[int(np.argmax(inside))]
            spots += [] if any(np.hypot(*(spot - other)) < APART for other in spots) else [spot]
    return [(float(across), float(up)) for across, up in spots]


def _finish(drawing: Any, axis: Any, policy: SolvedPolicy, looks: dict[str, str]) -> None:
    """Title, and legend of actions and lines."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, linewidth=0, label=action) for action, colour in looks.items()]
    drawing.legend(
        handles=[*patches, *axis.get_legend_handles_labels()[0]], loc="outside lower left", ncols=3, fontsize=8,
        title="Colours: the first action", title_fontsize=8, alignment="left",
    )  # fmt: skip
    drawing.suptitle(f"{policy.origin.name}: the best plan{_terms(policy)}", x=0.01, ha="left", fontsize=11)


def _caption(policy: SolvedPolicy, gaps: Array) -> str:
    start = policy.problem.start[None]
    low, high = float(_lower(policy, start)[0]), float(policy.upper_from(start)[0])
    wide = f"The bounds are {gaps.max():.2g} apart at most, over {len(gaps)} beliefs."
    return f"At the start the value is between {low:.4f} and {high:.4f}.\n{wide}"


def _terms(policy: SolvedPolicy) -> str:
    """What was solved for, where it is not the plain thing."""
    settings, horizon = policy.settings, horizon_of(policy.origin)
    parts = [f"weight {settings.weight:g} per nat"] if settings.weight else []
    parts += [f"discount {settings.discount:g}"] if settings.discount != 1 else []
    parts += [f"at most {horizon} actions"] if horizon else []
    return f" ({', '.join(parts)})" if parts else ""


def _unit(policy: SolvedPolicy) -> str:
    priced = f" + {policy.settings.weight:g} per nat" if policy.settings.weight else ""
    return f"value ({policy.origin.unit}{priced})"


def _mark_start(axis: Any, across: float, up: float) -> None:
    axis.plot(
        [across], [up], "*", color="#E69F00", markersize=10, markeredgecolor="#000000", markeredgewidth=0.6,
        linestyle="none", zorder=5, label="start",
    )  # fmt: skip


def _looks(actions: list[str]) -> dict[str, str]:
    """A pale colour for each action that is taken somewhere, in the order in which they come up."""
    from matplotlib.colors import to_hex, to_rgb

    looks = {}
    for place, name in enumerate(dict.fromkeys(actions)):
        red, green, blue = to_rgb(COLOURS[place % (len(COLOURS) - 1)])
        looks[name] = to_hex((1 - TINT * (1 - red), 1 - TINT * (1 - green), 1 - TINT * (1 - blue)))
    return looks


def _lower(policy: SolvedPolicy, beliefs: Array) -> Array:
    worth: Array = policy.plans_from(beliefs)[0].max(axis=1)
    return worth


def _on_line(places: Array) -> Array:
    result: Array = np.stack([1 - places, places], axis=1)
    return result


def _kinks(policy: SolvedPolicy) -> list[float]:
    """Where one vector of the lower bound gives way to another, found by halving the cells in which it does."""

    def best(places: Array) -> Ids:
        numbers: Ids = policy.plans_from(_on_line(places))[0].argmax(axis=1)
        return numbers

    places = np.linspace(0, 1, LINE + 1)
    found = best(places)
    change = np.flatnonzero(np.diff(found))
    left, right = places[change], places[change + 1]
    for _ in range(HALVINGS if len(change) else 0):
        middle = (left + right) / 2
        same = best(middle) == found[change]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    kinks: list[float] = right.tolist()
    return kinks


def _triangle(side: int) -> tuple[Array, Ids]:
    """Beliefs (n, 3) on a grid with `side` cells along each side, and the corners (m, 3) of its small triangles."""
    number = {(i, j): None for i in range(side + 1) for j in range(side + 1 - i)}
    place = {spot: at for at, spot in enumerate(number)}
    beliefs = np.array([[side - i - j, i, j] for i, j in number], dtype=float) / side
    up = [(place[i, j], place[i + 1, j], place[i, j + 1]) for i, j in number if i + j < side]
    down = [(place[i + 1, j], place[i + 1, j + 1], place[i, j + 1]) for i, j in number if i + j < side - 1]
    return beliefs, np.array([*up, *down])
