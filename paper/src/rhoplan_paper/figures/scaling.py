"""Tileworld on growing grids: exact scores of all agents from 4×4 to 8×8 beside the printed ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rhoplan.present.plots import LOOKS, QUIET, canvas, styled
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context, exact_job, simulate_job
from rhoplan_paper.figures.sweeps import COLUMNS, OPTIMUM, as_line, as_score, as_texts, draw_lines, key_below
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Quote, published, quotes_of
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Finding, Outcome, Sheet
from rhoplan_paper.tables.rows import number
from rhoplan_paper.told.findings import counted, mean
from rhoplan_paper.told.results import every_quote, text_of
from rhoplan_paper.verdicts import same

GRIDS = (4, 5, 6, 7, 8)
SOLVED = (4, 6, 8)
"""Grids whose certified optimum is drawn; the tables need those of 6×6 and 8×8 too."""

LINES: tuple[tuple[str, float | None, str], ...] = (
    ("myopic", None, ""),
    ("planning", None, ""),
    ("info-gain", 100.0, "bits"),
    ("planning-ig", 100.0, "bits"),
    ("efe", 1.0, "bits"),
    ("efe", 1.0, "nats"),
)
"""Agent, weight, unit of the weight where it has one."""

LARGEST = "tileworld:n=8"
SEEDS, PER_SEED = 5, 200
"""The run behind the numbers that the text gives for the largest grid."""

Result = Mapping[str, Any]


def build_grids(context: Context) -> Outcome:
    """Exact scores of every agent on every grid, and the printed ones."""
    jobs = {(agent, unit, n): _exact(n, agent, weight, unit) for agent, weight, unit in LINES for n in GRIDS}
    jobs["planning-ig", "nats", 8] = _exact(8, "planning-ig", 100.0, "nats")
    best = {n: job("optimum", problem=f"tileworld:n={n}") for n in SOLVED}
    drawn = _simulated(context)
    context.results([*jobs.values(), *best.values(), *drawn.values()])
    found = {key: context.result(one) for key, one in jobs.items()}
    optimum = {n: as_score(context.result(one)) for n, one in best.items()}
    lines = [as_line(agent, weight, unit, [found[agent, unit, n] for n in GRIDS]) for agent, weight, unit in LINES]
    simulated = {agent: text_of(number(context.result(one), "success", LARGEST), True) for agent, one in drawn.items()}

    def check(quote: Quote, cell: Cell) -> Finding:
        if cell.column == "states":
            return counted(quote, cell, len(make(str(cell.row["problem"])).states), "cells of the 8×8 grid")
        agent = str(cell.row["agent"])
        ours = {
            unit: number(one, "success", LARGEST) for (who, unit, n), one in found.items() if (who, n) == (agent, 8)
        }
        known = {unit: one for unit, one in ours.items() if one}
        return mean(quote, cell, known, SEEDS * PER_SEED, simulated[agent], 0.01)

    rows = []
    for place, n in enumerate(GRIDS):
        rows += [(f"{n}×{n}", one["label"], *as_texts(one["scores"][place])) for one in lines]
        rows += [(f"{n}×{n}", "(certified optimum)", *as_texts(optimum[n]))] if n in optimum else []
    headings = ("grid", "agent", "success", "reward", "scans")
    notes = ("tuned weights are 100 per bit; horizon 2 but for Myopic and Info Gain",)
    findings = every_quote("tileworld-scaling", check)
    data = {"lines": lines, "optimum": optimum, "published": _printed()}
    return Outcome(Sheet(headings, tuple(rows), notes), findings, (_remark(found, optimum),), data)


def _exact(n: int, agent: str, weight: float | None, unit: str) -> Job:
    horizon = None if agent in ("myopic", "info-gain") else 2
    return exact_job(f"tileworld:n={n}", agent, horizon=horizon, weight=weight, unit=unit or "nats")


def _simulated(context: Context) -> dict[str, Job]:
    """Episodes of the agents whose success the text gives, as it says they were run."""
    rows = [one.row for one in quotes_of("tileworld-scaling")[0].cells if "agent" in one.row]
    episodes = context.episodes(PER_SEED)
    return {
        str(row["agent"]): simulate_job(LARGEST, str(row["agent"]), episodes=episodes, seeds=SEEDS, horizon=2,
                                        weight=float(row["weight"]) or None, unit="bits" if row["weight"] else "nats")
        for row in rows
    }  # fmt: skip


def _remark(found: Mapping[tuple[str, str, int], Result], optimum: Mapping[int, Result]) -> str:
    bit, nat, plan = found["efe", "bits", 8], found["efe", "nats", 8], found["planning", "", 8]
    alike = [n for n in GRIDS if same(found["efe", "nats", n], found["planning", "", n])]
    grids = ", ".join(f"{n}×{n}" for n in alike) or "no grid"
    return (
        f"On the 8×8 grid EFE runs {bit['tests']:.1f} scans with w = 1 per bit and {nat['tests']:.1f} with w = 1 per "
        f"nat, Planning {plan['tests']:.1f}. Per nat, EFE's exact score is Planning's on {grids}. The certified "
        f"optimum of the 8×8 grid succeeds in {100 * optimum[8]['success']:.1f}% and earns {optimum[8]['reward']:.2f}; "
        f"EFE with w = 1 per bit earns {bit['reward']:.2f}."
    )


def _printed() -> list[dict[str, Any]]:
    """Printed numbers by grid, agent and column; those of the text come from a run with five seeds."""
    weights = {(agent, weight or 0.0) for agent, weight, _ in LINES}
    cells = [(one, "x") for name in ("tileworld-6-full", "tileworld-8") for one in published().tables[name].cells]
    cells += [(one, "+") for one in quotes_of("tileworld-scaling")[0].cells if one.column == "success"]
    return [
        {"n": int(str(one.row["problem"])[-1]), "agent": one.row["agent"], "column": one.column, "value": one.value,
         "marker": marker}
        for one, marker in cells
        if (one.row["agent"], one.row.get("weight", 0.0)) in weights
    ]  # fmt: skip


@styled
def draw_grids(outcome: Outcome) -> Drawing:
    """Success, reward and scans over the size of the grid, one line per agent."""
    drawing, axes = canvas(1, 3, (10.0, 4.3))
    for axis, (column, label, scale) in zip(axes[0], COLUMNS, strict=True):
        best = outcome.data["optimum"]
        axis.plot(list(best), [scale * one[column] for one in best.values()], **OPTIMUM)
        draw_lines(axis, outcome.data["lines"], GRIDS, column, scale)
        for marker, text in (("x", "published, tables"), ("+", "published, text (five seeds)")):
            mine = [row for row in outcome.data["published"] if row["column"] == column and row["marker"] == marker]
            axis.scatter([row["n"] for row in mine], [row["value"] for row in mine], marker=marker, s=60, zorder=9,
                         color=[LOOKS[row["agent"]].colour for row in mine], linewidth=1.5)  # fmt: skip
            axis.scatter([], [], marker=marker, s=60, color=QUIET, linewidth=1.5, label=text)
        axis.set_xticks(GRIDS, [f"{n}×{n}" for n in GRIDS])
        axis.set_xlabel("grid")
        axis.set_title("expected scans" if column == "tests" else label, loc="left")
    key_below(drawing, axes[0][0], 5)
    return drawing


study("tileworld-scaling", build_grids, draw_grids)
