"""Exact scores of several agents over one setting, as lines: Tiger's penalty, the number of tests in Diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rhoplan.present.plots import LOOKS, QUIET, canvas, styled
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context, exact_job
from rhoplan_paper.jobs import job
from rhoplan_paper.published import Cell, Quote
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Finding, Outcome, Sheet
from rhoplan_paper.told.findings import each_quoted, setting

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


def key_below(drawing: Drawing, axis: Any, columns: int) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=columns, fontsize=8.5, columnspacing=1.4)


PENALTIES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
BETWEEN = 90
FIXED = 20.0
"""The weight of Info Gain in the sweep."""

SWEPT: tuple[tuple[str, float | None, str], ...] = (
    ("planning", None, ""),
    ("info-gain", FIXED, "bits"),
    ("info-gain", FIXED, "nats"),
    ("efe", 1.0, "bits"),
    ("efe", 1.0, "nats"),
)


def build_penalties(context: Context) -> Outcome:
    """Exact scores over a fine range of penalties that holds the published ones."""
    fine = {float(f"{penalty:.3g}") for penalty in np.geomspace(PENALTIES[0], PENALTIES[-1], BETWEEN)}
    penalties = sorted({*map(float, PENALTIES), *fine})
    values = [f"{-penalty:g}" for penalty in penalties]
    common = {"problem": "tiger", "name": "wrong", "values": values}
    jobs = [
        job("over", agent=agent, horizon=None if agent == "info-gain" else 6, unit=unit or "nats", **common,
            weight=weight if agent == "info-gain" else None)
        for agent, weight, unit in SWEPT
    ]  # fmt: skip
    *found, best = context.results([*jobs, job("optimum_over", **common)])
    lines = [as_line(*swept, result["scores"]) for swept, result in zip(SWEPT, found, strict=True)]
    used = {"low": PENALTIES[0], "high": PENALTIES[-1]}
    own = -min(float(commit.reward.min()) for commit in make("tiger").flat.commits)

    def check(quote: Quote, cell: Cell) -> Finding:
        if cell.column == "weight":
            return setting(quote, cell, FIXED, "Info Gain's fixed weight")
        if "tuned" in cell.row:
            return setting(quote, cell, own, "the penalty of Tiger as it is elsewhere")
        return setting(quote, cell, used[str(cell.row["bound"])], "an end of the range of penalties")

    places = [penalties.index(penalty) for penalty in PENALTIES]
    behind = [_behind(best["scores"], line) for line in lines]
    rows = [
        (f"{penalties[place]:g}", line["label"], *as_texts(line["scores"][place]), f"{lost[place]:.4f}")
        for place in places
        for line, lost in zip(lines, behind, strict=True)
    ]
    worst = ", ".join(f"{line['label']} {max(lost):.2f}" for line, lost in zip(lines, behind, strict=True))
    remarks = (f"Reward lost against the certified optimum, at worst over all penalties: {worst}.",)
    data = {"penalties": penalties, "places": places, "lines": lines, "optimum": best["scores"]}
    headings = ("penalty", "agent", "success", "reward", "listens", "reward lost against the optimum")
    return Outcome(Sheet(headings, tuple(rows)), each_quoted("asymmetry-sweep", check), remarks, data)


def _behind(best: Sequence[Score], line: Mapping[str, Any]) -> list[float]:
    """Reward that a line loses against the optimum; what is below zero is the gap of the bounds."""
    return [max(top["reward"] - score["reward"], 0.0) for top, score in zip(best, line["scores"], strict=True)]


@styled
def draw_penalties(outcome: Outcome) -> Drawing:
    """Reward, what is lost against the optimum, success and listens over the penalty."""
    drawing, axes = canvas(2, 2, (10.0, 6.6), sharex=True)
    penalties, best = outcome.data["penalties"], outcome.data["optimum"]
    lost = [{**line, "scores": [{"lost": value} for value in _behind(best, line)]} for line in outcome.data["lines"]]
    panels = (("reward", "expected reward", 1.0), ("lost", "reward lost against the certified optimum", 1.0),
              ("success", "success (%)", 100.0), ("tests", "expected listens", 1.0))  # fmt: skip
    for axis, (column, label, scale) in zip(axes.flat, panels, strict=True):
        if column != "lost":
            axis.plot(penalties, [scale * score[column] for score in best], **OPTIMUM)
        lines = lost if column == "lost" else outcome.data["lines"]
        draw_lines(axis, lines, penalties, column, scale, marked=outcome.data["places"])
        axis.set_xscale("log")
        axis.set_xticks(PENALTIES, [str(penalty) for penalty in PENALTIES])
        axis.minorticks_off()
        axis.set_title(label, loc="left")
    axes[0][0].set_ylim(bottom=-1.0)
    axes[0][1].set_ylim(-0.1, 3.0)
    steep = min(outcome.data["lines"], key=lambda line: line["scores"][-1]["reward"])
    end = f"{steep['scores'][-1]['reward']:.1f} at {PENALTIES[-1]}".replace("-", "−")
    axes[0][0].text(225, -0.85, end, ha="right", fontsize=8, color=LOOKS[steep["agent"]].colour)
    for axis in axes[1]:
        axis.set_xlabel("penalty for the wrong door (reward units)")
    key_below(drawing, axes[0][0], 6)
    return drawing


TESTS = (1, 2, 3)
CONDITIONS = 8

COMPARED: tuple[tuple[str, float | None, str], ...] = (
    ("myopic", None, ""),
    ("planning", None, ""),
    ("efe", 1.0, "bits"),
    ("efe", 1.0, "nats"),
)


def build_tests(context: Context) -> Outcome:
    """Exact scores with one, two and three tests, and EFE's lead over Planning."""
    problems = [f"diagnosis:n={CONDITIONS},k={k}" for k in TESTS]
    jobs = [
        [exact_job(problem, agent, horizon=None if agent == "myopic" else 3, weight=weight, unit=unit or "nats")
         for problem in problems]
        for agent, weight, unit in COMPARED
    ]  # fmt: skip
    best = [job("optimum", problem=problem) for problem in problems]
    context.results([*(one for mine in jobs for one in mine), *best])
    lines = [as_line(*one, context.results(mine)) for one, mine in zip(COMPARED, jobs, strict=True)]
    optimum = [as_score(one) for one in context.results(best)]
    # No test tells the conditions apart that share all reported bits: at best one in so many is named.
    ceilings = [2.0**k / CONDITIONS for k in TESTS]
    used = {"states": CONDITIONS, "low": TESTS[0], "high": TESTS[-1]}

    def check(quote: Quote, cell: Cell) -> Finding:
        what = "hidden conditions" if cell.column == "states" else "an end of the range of tests"
        return setting(quote, cell, used[str(cell.row.get("bound", cell.column))], what)

    lead = {line["unit"]: [a["success"] - b["success"] for a, b in zip(line["scores"], lines[1]["scores"], strict=True)]
            for line in lines if line["agent"] == "efe"}  # fmt: skip
    told = "; ".join(
        f"per {unit[:-1]} " + ", ".join(f"{100 * value:+.1f} (K = {k})" for k, value in zip(TESTS, leads, strict=True))
        for unit, leads in lead.items()
    )
    rows = [
        (str(k), line["label"], *as_texts(line["scores"][place])) for place, k in enumerate(TESTS) for line in lines
    ]
    rows += [(str(k), "(certified optimum)", *as_texts(optimum[place])) for place, k in enumerate(TESTS)]
    data = {"lines": lines, "optimum": optimum, "ceilings": ceilings}
    remarks = (f"EFE's lead over Planning in success, in percentage points: {told}.",)
    headings = ("tests on offer", "agent", "success", "reward", "tests run")
    return Outcome(Sheet(headings, tuple(sorted(rows))), each_quoted("observation-scaling", check), remarks, data)


@styled
def draw_tests(outcome: Outcome) -> Drawing:
    """Success, reward and tests run over the number of tests on offer."""
    drawing, axes = canvas(1, 3, (10.0, 3.9))
    for axis, (column, label, scale) in zip(axes[0], COLUMNS, strict=True):
        axis.plot(TESTS, [scale * score[column] for score in outcome.data["optimum"]], **OPTIMUM)
        draw_lines(axis, outcome.data["lines"], TESTS, column, scale)
        axis.set_xticks(TESTS)
        axis.set_xlim(0.8, 3.2)
        axis.set_xlabel("tests on offer, K")
        axis.set_title("expected tests run" if column == "tests" else label, loc="left")
    for k, ceiling in zip(TESTS, outcome.data["ceilings"], strict=True):
        axes[0][0].plot([k - 0.16, k + 0.16], [100 * ceiling] * 2, color=QUIET, linewidth=1.2)
    ceiling = 100 * outcome.data["ceilings"][1]
    axes[0][0].text(TESTS[1], ceiling + 1.5, "most that K tests can tell", color=QUIET, fontsize=8, ha="right")
    key_below(drawing, axes[0][1], 6)
    return drawing


study("asymmetry-sweep", build_penalties, draw_penalties)
study("observation-scaling", build_tests, draw_tests)
