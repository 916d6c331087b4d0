"""Single Tileworld episodes: the belief over the cells after each scan, for one agent and for three on the same draws.

An episode is the first of the first published seed in which EFE collects the right cell; agents that share it share its
hidden target and its stream of random numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rhoplan.belief_math.information import NATS_PER_BIT
from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan.present.plots import CHOSEN, LOOKS, QUIET, SCANNED, TARGET, canvas, styled
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context, exact_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Outcome, Sheet

PROBLEM = "tileworld:n=6"
SEED = PUBLISHED_SEEDS[0]
TRIED = 50
"""Episodes among which the one to show is looked for."""

AGENTS: dict[str, dict[str, Any]] = {
    "efe": {"horizon": 2, "weight": 1.0, "unit": "bits"},
    "planning": {"horizon": 2, "unit": "nats"},
    "info-gain": {"weight": 100.0, "unit": "bits"},
}
"""The agents of the comparison, from top to bottom, with their settings."""

PER_NAT: dict[str, Any] = {"horizon": 2, "weight": 1.0, "unit": "nats"}

SHOWN = 7
"""Beliefs per agent in the comparison, besides that at the commit, at most."""


def rows_job(problem: str, agent: str, **settings: Any) -> Job:
    return job("episode_rows", problem=problem, agent=agent, seed=SEED, episodes=TRIED, **settings)


def episode_job(problem: str, agent: str, number: int, **settings: Any) -> Job:
    return job("episode", problem=problem, agent=agent, seed=SEED, number=number, **settings)


def build_comparison(context: Context) -> Outcome:
    """The episode as each agent lives through it, and how the agents do on average."""
    tried = rows_job(PROBLEM, "efe", **AGENTS["efe"])
    exact = {agent: exact_job(PROBLEM, agent, **settings) for agent, settings in AGENTS.items()}
    exact["per nat"] = exact_job(PROBLEM, "efe", **PER_NAT)
    context.results([tried, *exact.values()])
    number = first_right(context.result(tried))
    lived = context.results([episode_job(PROBLEM, agent, number, **settings) for agent, settings in AGENTS.items()])
    episodes = dict(zip(AGENTS, lived, strict=True))
    rows = tuple((LOOKS[agent].label, *texts) for agent, one in episodes.items() for texts in _scan_rows(one))
    names = ("EFE with w = 1 per bit", "Planning", "Info Gain with w = 100 per bit", "EFE with w = 1 per nat")
    told = "; ".join(
        f"{name} {one['tests']:.2f} scans, {100 * one['success']:.1f}% right, reward {one['reward']:.2f}"
        for name, one in zip(names, (context.result(one) for one in exact.values()), strict=True)
    )
    remarks = (
        f"Episode {number} of seed {SEED}, the first in which EFE (w = 1 per bit) collects the right cell. All agents "
        "face the same target and the same random numbers.",
        f"One episode shows no more than that; exact means over all: {told}.",
    )
    headings = ("agent", "scans so far", "next action", "report", "entropy (bits)", "belief in the target")
    return Outcome(Sheet(headings, rows), (), remarks, {"number": number, "episodes": episodes})


def build_belief(context: Context) -> Outcome:
    """The same episode, EFE only, every scan."""
    number = first_right(context.result(rows_job(PROBLEM, "efe", **AGENTS["efe"])))
    lived = context.result(episode_job(PROBLEM, "efe", number, **AGENTS["efe"]))
    data = {"number": number, "episode": lived, "regions": [_region(step) for step in lived["steps"]]}
    first, last = lived["steps"][0], lived["steps"][-1]
    remarks = (
        f"Episode {number} of seed {SEED}, EFE with w = 1 per bit and H = 2. {len(lived['steps']) - 1} scans bring "
        f"the entropy from {first['entropy'] / NATS_PER_BIT:.2f} to {last['entropy'] / NATS_PER_BIT:.2f} bits; the "
        f"belief in the target is {last['belief'][lived['state']]:.2f} at the commit.",
    )
    headings = ("scans so far", "next action", "report", "entropy (bits)", "belief in the target")
    return Outcome(Sheet(headings, tuple(_scan_rows(lived))), (), remarks, data)


def first_right(rows: Mapping[str, Any]) -> int:
    """The number of the first episode that ended with the right commit."""
    return int(next(number for number, right in enumerate(rows["success"]) if right))


def _scan_rows(lived: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (str(number), step["action"], step["outcome"] or "", f"{step['entropy'] / NATS_PER_BIT:.4f}",
         f"{step['belief'][lived['state']]:.4f}")
        for number, step in enumerate(lived["steps"])
    ]  # fmt: skip


def _region(step: Mapping[str, Any]) -> list[bool]:
    """Cells that the scan taken at `step` reported; none where it is a commit."""
    if step["outcome"] is None:
        return []
    test = next(test for test in make(PROBLEM).flat.tests if test.name == step["action"])
    likely = test.likelihood[:, test.outcomes.index(step["outcome"])]
    return [bool(value) for value in likely > 0.5]


@styled
def draw_comparison(outcome: Outcome) -> Drawing:
    """A row of beliefs per agent, after equal numbers of scans, each row ending with the commit."""
    episodes = outcome.data["episodes"]
    lengths = {agent: len(one["steps"]) - 1 for agent, one in episodes.items()}
    every = -(-max(lengths.values()) // SHOWN)
    counts = {agent: [*range(0, length, every), length] for agent, length in lengths.items()}
    columns = max(map(len, counts.values()))
    drawing, axes = canvas(len(episodes), columns, (10.0, 4.6))
    for row, (agent, one) in zip(axes, episodes.items(), strict=True):
        for axis, count in zip(row, counts[agent], strict=False):
            ends = count == lengths[agent]
            image = _cells(axis, one["steps"][count]["belief"])
            _target(axis, one)
            if ends:
                _chosen(axis, one["steps"][count]["action"])
            axis.set_title(f"commits after {count}" if ends else f"{count} scans", fontsize=8.5,
                           color=CHOSEN if ends else "black")  # fmt: skip
        for axis in row[len(counts[agent]) :]:
            axis.axis("off")
        reward = f"{one['steps'][-1]['reward']:+.0f}".replace("-", "−")
        row[0].set_ylabel(f"{LOOKS[agent].label}\nreward {reward}", color=LOOKS[agent].colour, fontsize=10)
    free = max(len(counts[agent]) for agent in list(episodes)[:2])
    if columns - free >= 3:
        _courses(drawing.add_subplot(axes[0][0].get_gridspec()[:2, free:]), episodes)
    _scale(drawing, image, axes)
    return drawing


def _courses(axis: Any, episodes: Mapping[str, Any]) -> None:
    """Belief in the target over the number of scans, where rows of beliefs leave room."""
    for place, (agent, one) in enumerate(episodes.items()):
        course = [step["belief"][one["state"]] for step in one["steps"]]
        # The upper agents' lines, which end first, lie above the lower ones'.
        axis.plot(course, color=LOOKS[agent].colour, linewidth=1.5, label=LOOKS[agent].label, zorder=5 - place)
        axis.plot([len(course) - 1], course[-1:], color=CHOSEN, marker="o", markersize=8, markerfacecolor="none",
                  markeredgewidth=1.6, zorder=6)  # fmt: skip
    axis.set_ylim(0, 1.03)
    axis.set_xlim(left=0)
    axis.set_title("belief in the target, by number of scans", loc="left", fontsize=8.5)
    axis.legend(loc="lower right", fontsize=8)
    axis.tick_params(labelsize=8)


@styled
def draw_belief(outcome: Outcome) -> Drawing:
    """One panel per scan: the belief after it, with the cells that it reported outlined."""
    steps, regions = outcome.data["episode"]["steps"], outcome.data["regions"]
    columns = 8
    rows = -(-len(steps) // columns)
    drawing, axes = canvas(rows, columns, (10.0, 0.55 + 1.5 * rows))
    for axis in axes.flat[len(steps) :]:
        axis.axis("off")
    for count, (axis, step) in enumerate(zip(axes.flat, steps, strict=False)):
        image = _cells(axis, step["belief"])
        if count:
            _outline(axis, regions[count - 1])
        _target(axis, outcome.data["episode"])
        last = steps[count - 1]  # column-bit-2 that says 1 is `col bit 2 = 1` in short
        scan = f"{last['action'].replace('column', 'col').replace('-', ' ')} = {last['outcome']}"
        title = f"{count}: {scan}" if count else "before any scan"
        if step["outcome"] is None:
            _chosen(axis, step["action"])
            title += "\nand commits"
        axis.set_title(title, fontsize=8)
    _scale(drawing, image, axes)
    return drawing


def _cells(axis: Any, belief: Sequence[float]) -> Any:
    side = _side(belief)
    rows = [belief[row * side : (row + 1) * side] for row in range(side)]
    axis.grid(False)
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set(visible=True, color="#AAAAAA", linewidth=0.8)
    from matplotlib.colors import PowerNorm

    # Square roots, so that one cell in 36 is told from none as well as certainty from one half.
    return axis.imshow(rows, cmap="Greys", norm=PowerNorm(0.5, 0.0, 1.0))


def _side(cells: Sequence[Any]) -> int:
    return math.isqrt(len(cells))


def _target(axis: Any, one: Mapping[str, Any]) -> None:
    """A star on the cell where the target is."""
    row, column = divmod(one["state"], _side(one["steps"][0]["belief"]))
    axis.plot([column], [row], marker="*", markersize=9, color=TARGET, markeredgecolor="white", markeredgewidth=0.6)


def _chosen(axis: Any, action: str) -> None:
    row, column = (int(part) for part in action.removeprefix("collect-r").split("c"))
    axis.plot([column], [row], marker="o", markersize=15, markerfacecolor="none", color=CHOSEN, markeredgewidth=2.0)


def _outline(axis: Any, region: Sequence[bool]) -> None:
    """A line around the cells of `region`."""
    side = _side(region)
    inside = {divmod(cell, side) for cell, marked in enumerate(region) if marked}
    edges = []
    for row, column in inside:
        sides = (((row - 1, column), (column - 0.5, row - 0.5), (column + 0.5, row - 0.5)),
                 ((row + 1, column), (column - 0.5, row + 0.5), (column + 0.5, row + 0.5)),
                 ((row, column - 1), (column - 0.5, row - 0.5), (column - 0.5, row + 0.5)),
                 ((row, column + 1), (column + 0.5, row - 0.5), (column + 0.5, row + 0.5)))  # fmt: skip
        edges += [(start, end) for beside, start, end in sides if beside not in inside]
    from matplotlib.collections import LineCollection

    axis.add_collection(LineCollection(sorted(edges), colors=SCANNED, linewidths=1.6, capstyle="round", clip_on=False))


def _scale(drawing: Drawing, image: Any, axes: Any) -> None:
    """What dark means, and what the marks are."""
    bar = drawing.colorbar(image, ax=list(axes.flat), location="right", shrink=0.6, aspect=28, pad=0.01)
    bar.set_ticks([0, 0.05, 0.2, 0.5, 1.0])
    bar.set_label("belief in a cell")
    bar.outline.set_visible(False)
    from matplotlib.lines import Line2D

    marks = [
        Line2D([], [], linestyle="", marker="*", markersize=10, color=TARGET, label="target"),
        Line2D([], [], linestyle="", marker="o", markersize=10, markerfacecolor="none", color=CHOSEN,
               markeredgewidth=2.0, label="cell the agent commits to"),
    ]  # fmt: skip
    if len(axes) < 3:
        marks.append(Line2D([], [], color=SCANNED, linewidth=1.6, label="cells that the last scan reported"))
    drawing.legend(handles=marks, loc="outside lower left", ncols=3, fontsize=8.5, labelcolor=QUIET)


study("tileworld-comparison", build_comparison, draw_comparison)
study("tileworld-belief", build_belief, draw_belief)
