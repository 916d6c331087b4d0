"""A solved policy drawn over the belief at the start: both bounds, and what is done first where.

Two hidden states make a line, three a triangle whose corners are certainty; more cannot be drawn. The bounds are the
solver's own and hold everywhere; what lies between the beliefs looked at is joined by straight lines.
"""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rhoplan.errors import LimitError, NotAvailable, ProblemError
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning import clock
from rhoplan.present.picture import Picture, drawn
from rhoplan.present.plots import COLOURS, figure, need_matplotlib

if TYPE_CHECKING:
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.planning.policy import Policy

ENDINGS = (".png", ".svg", ".pdf")

LINE, HALVINGS = 400, 30
"""Cells of the line, and how often a cell in which something changes is halved to find where."""

SIDE, COARSE = 120, 20
"""Cells along a side of the triangle for actions and values, and for the gap, which takes a linear program each."""

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
NAMED = (("center", "top", -9), ("center", "top", -9), ("center", "bottom", 9))
"""Where certainty of each state lies, and how its name stands there: sides, and points above it."""

STAR = 10.0
"""Size of the mark of the start, in points."""

LABEL, ROOM, STEP = 7.0, 3.0, 0.004
"""Size of the labels of contours and what is free around them, in points; how far apart places on a contour are."""

TINT = 0.3
"""How strong the colours of actions are: lines must stay readable on them."""

MOST_LOOKED_AT = 100
"""Hidden states at the start up to which some are looked for that are alike."""


def plot_policy(policy: Policy | SolvedPolicy, path: Path | str | None = None) -> Picture | None:
    """Draw `policy` into the file at `path`, whose ending says how; without one, as a picture for a notebook.

    Not covered: problems with one hidden state at the start, or with more than three, or that look first.
    """
    policy = _with_bounds(policy)
    if path is None:
        return drawn(lambda inside: plot_policy(policy, inside))
    need_matplotlib()
    _check_ending(Path(path))
    _check_states(policy.origin, len(policy.start_states))
    draw = _draw_line if len(policy.start_states) == 2 else _draw_triangle
    draw(policy.tightened(), Path(path))
    return None


def _with_bounds(policy: Policy | SolvedPolicy) -> SolvedPolicy:
    """The policy with bounds over beliefs that is drawn; NotAvailable for other policies."""
    from rhoplan.planning.certified.solved import SolvedPolicy
    from rhoplan.solutions import Solution, SolverPolicy

    found: object = policy.policy if isinstance(policy, Solution) else policy
    found = found.solved if isinstance(found, SolverPolicy) else found
    if not isinstance(found, SolvedPolicy):
        raise NotAvailable(
            "a drawing needs a policy with bounds over beliefs; make one with rhoplan.solve(problem, method='points')",
            field=("policy",),
        )
    return found


def check_plot(problem: POMDP, path: Path, *, weight: float, discount: float, deadline: float = math.inf) -> None:
    """Refuse what cannot be drawn, before it is solved, as far as that is found out before `deadline`."""
    with clock.loading():
        from rhoplan.planning.certified.pointbased.given import given
        from rhoplan.planning.certified.pointbased.records import joint_prior

    need_matplotlib()
    _check_ending(path)
    states = int(np.count_nonzero(joint_prior(problem)))
    once = states == 1 and horizon_of(problem) is not None  # nobody comes back to where all actions are left
    if states <= MOST_LOOKED_AT and not once:
        try:
            for ready in given(problem, weight=weight, discount=discount, deadline=deadline):
                _check_states(problem, len(ready.start))
        except (LimitError, TimeoutError):  # which solving will tell
            pass
        return
    _check_states(problem, states)


def _check_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise ProblemError(f"a drawing must end in {', '.join(ENDINGS)}; it is '{path.name}'", field=("plot",))


def _check_states(problem: POMDP, states: int) -> None:
    if problem.looks_first:
        raise ProblemError(
            f"a plan is drawn as it is at the start; '{problem.name}' starts with a look, and nothing to choose: save "
            "it, and ask decide --agent solved:FILE",
            field=("plot",),
        )
    if states == 1 and horizon_of(problem) is not None:
        raise ProblemError(
            f"a plan with a horizon is drawn as it is at the start, over two or three hidden states; '{problem.name}' "
            "starts in one that is known: leave the horizon out, or save the plan, and ask decide --agent solved:FILE",
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
        lines = None
        if np.ptp(lower) > 1e-9 * (1 + np.abs(lower).max()):
            lines = axis.tricontour(mesh, lower, levels=8, colors="#000000", linewidths=0.7, linestyles="solid")
        axis.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color="#000000", linewidth=1.0, clip_on=False)
        for corner, state, (side, edge, above) in zip(CORNERS, policy.start_states, NAMED, strict=True):
            axis.annotate(f"surely {state}", corner, xytext=(0, above), textcoords="offset points", ha=side, va=edge)
        _mark_start(axis, *(policy.problem.start @ CORNERS).tolist())
        axis.plot([], [], color="#000000", linewidth=0.7, label=f"lower bound: {_unit(policy)}")
        axis.set_aspect("equal")
        axis.set_axis_off()
        caption = _caption(policy, policy.upper_from(few) - _lower(policy, few))
        axis.set_title(caption, loc="left", fontsize=8, color="#333333", pad=25)
        _finish(drawing, axis, policy, looks)
        if lines is not None:
            drawing.draw_without_rendering()  # sizes are known once all else has its place
            _label(axis, lines, policy.problem.start @ CORNERS)


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


def _label(axis: Any, lines: Any, start: Array) -> None:
    """Write its level on each piece of a contour, as near to its middle as the label covers nothing else.

    Where no place is wide enough there is none: labels never cross the sides, nor other contours, labels or `start`.
    """
    points = 72 / axis.figure.dpi * np.linalg.norm(np.diff(axis.transData.transform(CORNERS[:2]), axis=0))
    to_beliefs = np.linalg.inv(np.column_stack([CORNERS, np.ones(3)]))
    told = zip(lines.allsegs, level_words(lines.levels), strict=True)
    pieces = [(_course(piece), words) for level, words in told for piece in level if len(piece) > 1]
    taken = [start + STAR / 2 / points * np.array([[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]])]
    for number, (course, words) in enumerate(pieces):
        half = np.array([0.3 * LABEL * len(words) + ROOM, 0.6 * LABEL + ROOM]) / points
        corners = half * [[-1, -1], [-1, 1], [1, -1], [1, 1]]
        others = np.concatenate([*(other for place, (other, _) in enumerate(pieces) if place != number), *taken])
        for spot in course:
            inside = np.column_stack([spot + corners, np.ones(4)]) @ to_beliefs
            if inside.min() > 0 and not np.any(np.all(np.abs(others - spot) < half, axis=1)):
                axis.text(
                    *spot, words, fontsize=LABEL, ha="center", va="center", zorder=4,
                    bbox={"facecolor": "#ffffff", "alpha": 0.75, "linewidth": 0, "pad": 1},
                )  # fmt: skip
                taken.append(spot + half * np.mgrid[-1:1:9j, -1:1:9j].reshape(2, -1).T)
                break


def _course(piece: Array) -> Array:
    """Places (n, 2) on a piece of a contour, a short way apart, from its middle outwards."""
    along = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(piece, axis=0).T))])
    at = np.linspace(0, along[-1], 2 * int(along[-1] / STEP / 2) + 3)
    at = at[np.argsort(np.abs(at - along[-1] / 2), kind="stable")]
    return np.column_stack([np.interp(at, along, piece[:, axis]) for axis in (0, 1)])


def level_words(levels: Array) -> list[str]:
    """Evenly spaced `levels` in words, all with as many decimals as it takes to tell each of them."""
    step = float(np.diff(levels).min()) if len(levels) > 1 else 1.0
    levels = np.where(np.abs(levels) < 1e-6 * step, 0.0, levels)
    found = []
    for form in [f".{digits}{kind}" for kind in "fe" for digits in range(17)]:
        words = [format(level, form) for level in levels.tolist()]
        if all(abs(float(word) - level) < 0.01 * step for word, level in zip(words, levels.tolist(), strict=True)):
            found.append(words)
    return min(found, key=lambda words: max(map(len, words)) + 3 * ("e" in words[0]))


def _finish(drawing: Any, axis: Any, policy: SolvedPolicy, looks: dict[str, str]) -> None:
    """Title, and legend of actions and lines."""
    from matplotlib.patches import Patch

    patches = [Patch(color=colour, linewidth=0, label=action) for action, colour in looks.items()]
    drawing.legend(
        handles=[*patches, *axis.get_legend_handles_labels()[0]], loc="outside lower left", ncols=3, fontsize=8,
        title="Colours: the first action", title_fontsize=8, alignment="left",
    )  # fmt: skip
    drawing.get_layout_engine().set(h_pad=0.08)  # between the title and the caption
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
        [across], [up], "*", color="#E69F00", markersize=STAR, markeredgecolor="#000000", markeredgewidth=0.6,
        linestyle="none", zorder=5, label="start", clip_on=False,
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
