"""Success against reward over the weight of information: the Pareto figure, with every policy between 0 and 200.

The policy is constant between single weights, so the curve is a chain of points, one per policy (`steps`). On
Tileworld, where mirror images change within a hair of one another, changes closer than BROAD count as one.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from rhoplan.belief_math.information import NATS_PER_BIT, per_nat
from rhoplan.present.plots import LOOKS, QUIET, canvas, place_labels, styled
from rhoplan_paper.context import Context
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Quote, published
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Finding, Outcome, Sheet
from rhoplan_paper.told.findings import each_quoted, setting, told
from rhoplan_paper.verdicts import by_unit

WEIGHTS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
"""The published weights."""

PANELS: dict[str, tuple[str, int, str]] = {
    "tiger": ("Tiger", 6, "tiger"),
    "diagnosis": ("Diagnosis, N = 4", 3, "diagnosis"),
    "bandit": ("Bandit", 2, "bandit"),
    "testbed": ("Testbed", 4, "testbed"),
    "tileworld:n=6": ("Tileworld 6×6", 2, "tileworld-6"),
}
"""Title, horizon, and the table with the published points, by problem."""

HIGH = WEIGHTS[-1] / NATS_PER_BIT
"""200 per bit, as a weight per nat: up to there both units are covered."""

BROAD = {"tileworld:n=6": 0.01}
"""Problems on which telling every change apart takes minutes, and the distance in weight within which they are one."""

UNITS = {unit: per_nat(1.0, unit) for unit in ("nats", "bits")}
"""What a weight of 1 per unit is per nat."""

Points = list[dict[str, float]]


def build_pareto(context: Context) -> Outcome:
    """Points by problem, from weight 0 to 200 per bit (289 per nat), so that both units are covered to 200."""
    jobs = {
        problem: (curve_job(problem, horizon), job("optimum", problem=problem))
        for problem, (_, horizon, _) in PANELS.items()
    }
    context.results([one for wanted in jobs.values() for one in wanted])
    data: dict[str, Any] = {}
    for problem, (curve, best) in jobs.items():
        points: Points = []
        for step in context.result(curve)["steps"]:
            _add(points, step)
        data[problem] = {"points": points, "optimum": context.result(best), "published": _printed(PANELS[problem][2])}
    rows = [row for problem in PANELS for row in _rows(problem, data[problem])]
    notes = (
        "weights are per nat; 1 per bit is 1.44 per nat",
        *(f"{problem}: changes within {width:g} of one another count as one" for problem, width in BROAD.items()),
    )
    headings = ("problem", "policy", "w from", "w to", "reward", "success", "tests", "published weights inside")
    findings = each_quoted("pareto", lambda quote, cell: _check(quote, cell, data))
    remarks = (
        "Each point is one policy; the numbers beside it are the weights, per nat, between which the planner follows "
        "it. The dotted line is the certified optimum: no agent, of whatever weight or horizon, gets right of it.",
        *(_best(problem, data[problem]) for problem in PANELS),
    )
    return Outcome(Sheet(headings, tuple(rows), notes), findings, remarks, data)


def curve_job(problem: str, horizon: int) -> Job:
    """Every policy by weight per nat, with its exact score."""
    return job("steps", problem=problem, horizon=horizon, high=HIGH, unit="nats", resolution=BROAD.get(problem))


def _add(points: Points, step: dict[str, float]) -> None:
    """One more step; neighbours of equal score (mirror images, or beliefs that hardly ever come up) are one point."""
    if points and all(abs(points[-1][name] - step[name]) < 1e-9 for name in ("reward", "success", "tests")):
        points[-1]["upper"] = step["upper"]
    else:
        points.append(dict(step))


def _printed(table: str) -> list[dict[str, Any]]:
    """Reward, success and error of reward of the printed agents that lie on the curve."""
    rows: dict[str, dict[str, Any]] = {}
    episodes = float(published().tables[table].protocol[0]["episodes"])
    for cell in published().tables[table].cells:
        agent = str(cell.row["agent"])
        if agent in ("planning", "efe", "planning-ig") and cell.column in ("reward", "success"):
            start = {"agent": agent, "episodes": int(episodes)}
            rows.setdefault(agent, start)[cell.column] = cell.value
            if cell.column == "reward":
                rows[agent]["error"] = cell.error
    return list(rows.values())


def at(points: Points, weight: float) -> dict[str, float]:
    """The point whose weights hold `weight`, per nat."""
    return next(point for point in points if weight <= point["upper"] * (1 + 1e-12))


def _inside(point: dict[str, float], nat: float) -> str:
    inside = [w for w in WEIGHTS if point["lower"] * (1 - 1e-12) <= w * nat <= point["upper"] * (1 + 1e-12)]
    return ", ".join(f"{w:g}" for w in inside)


def _rows(problem: str, found: dict[str, Any]) -> list[tuple[str, ...]]:
    rows = []
    for number, point in enumerate(found["points"], start=1):
        inside = f"per nat: {_inside(point, 1.0) or '-'}; per bit: {_inside(point, 1 / NATS_PER_BIT) or '-'}"
        texts = [f"{point[name]:.6g}" for name in ("lower", "upper")]
        texts += [f"{point['reward']:.4f}", f"{100 * point['success']:.2f}%", f"{point['tests']:.4f}", inside]
        rows.append((problem, str(number), *texts))
    best = found["optimum"]
    texts = [f"{best['reward']:.4f}", f"{100 * best['success']:.2f}%", f"{best['tests']:.4f}", ""]
    return [*rows, (problem, "(certified optimum)", "", "", *texts)]


def _best(problem: str, found: dict[str, Any]) -> str:
    points, optimum = found["points"], found["optimum"]["reward"]
    reward = max(points, key=lambda point: point["reward"])
    lost = {unit: optimum - at(points, weight)["reward"] for unit, weight in UNITS.items()}
    told_lost = ", ".join(f"{max(value, 0.0):.3f} per {unit[:-1]}" for unit, value in lost.items())
    return (
        f"{PANELS[problem][0]}: the most reward, {reward['reward']:.3f} (optimum {optimum:.3f}), for w from "
        f"{_short(reward['lower'])} to {_short(reward['upper'])} per nat; w = 1 falls short of the optimum by "
        f"{told_lost}."
    )


def _check(quote: Quote, cell: Cell, data: dict[str, Any]) -> Finding:
    low = cell.row["bound"] == "low"
    if cell.column == "weight":
        return setting(quote, cell, WEIGHTS[0] if low else WEIGHTS[-1], "an end of the range of weights")
    begins = {unit: {name: _safest(found["points"], unit) for name, found in data.items()} for unit in UNITS}
    ends = {unit: (min if low else max)(found.values()) for unit, found in begins.items()}
    holds = {unit: end >= cell.number if low else end <= cell.number for unit, end in ends.items()}
    verdict = by_unit(holds)
    # Where success still grows at the end of the sweep, the sweep, not the problem, says which weight is greatest.
    growing = {
        unit: sum(at(data[name]["points"], WEIGHTS[-1] * nat)["lower"] / nat <= w for name, w in begins[unit].items())
        for unit, nat in UNITS.items()
    }
    lists = {unit: ", ".join(f"{name} {_short(w)}" for name, w in b.items()) for unit, b in begins.items()}
    reason = "; ".join(
        f"per {unit[:-1]}, success is greatest from {lists[unit]} on, on {growing[unit]} of {len(data)} problems with "
        f"the last policy before the end of the sweep"
        for unit in UNITS
    )
    exact = "; ".join(f"{_short(end)} ({unit})" for unit, end in ends.items())
    return told(quote, cell, verdict, reason, exact=exact)


def _safest(points: Points, unit: str) -> float:
    """The weight, per `unit`, from which on success is greatest among weights up to the end of the published sweep."""
    reached = [point for point in points if point["lower"] < WEIGHTS[-1] * UNITS[unit]]
    return max(reached, key=lambda point: point["success"])["lower"] / UNITS[unit]


@styled
def draw_pareto(outcome: Outcome) -> Drawing:
    """One panel per problem: a chain of policies with their weights, w = 1, the printed agents, the optimum."""
    drawing, axes = canvas(2, 3, (10.0, 7.0))
    for axis, (problem, (title, horizon, _)) in zip(axes.flat, PANELS.items(), strict=False):
        _panel(axis, outcome.data[problem])
        axis.set_title(f"{title} (H = {horizon})", loc="left")
        axis.set_xlabel("expected reward")
    for row in axes:
        row[0].set_ylabel("success (%)")
    key = axes[1][2]
    key.axis("off")
    handles, labels = axes[0][0].get_legend_handles_labels()
    key.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.0, 1.0), fontsize=9, labelspacing=0.8)
    key.text(0.03, 0.02, "numbers beside points: the weights,\nin reward per nat, of that policy\n"
             "(1 per bit is 1.44 per nat);\nbars: two standard errors", transform=key.transAxes, fontsize=8.5,
             color=QUIET, va="bottom")  # fmt: skip
    drawing.draw_without_rendering()  # labels need the panels' final size
    for axis, problem in zip(axes.flat, PANELS, strict=False):
        _label(axis, outcome.data[problem])
    return drawing


def _panel(axis: Any, found: dict[str, Any]) -> None:
    points, best = found["points"], found["optimum"]
    rewards = [point["reward"] for point in points]
    shares = [100 * point["success"] for point in points]
    axis.axvline(best["reward"], color="black", linewidth=0.9, linestyle=":", zorder=1)
    axis.plot(rewards, shares, color="#999999", linewidth=1.1, zorder=2)
    axis.scatter(rewards, shares, s=14, color="#555555", zorder=3, label="a policy of Planning+IG, exact")
    look, star = LOOKS["efe"], LOOKS["optimum"]
    axis.scatter([best["reward"]], [100 * best["success"]], s=190, marker=star.marker, facecolor="white",
                 edgecolor=star.colour, linewidth=1.0, zorder=4, label=star.label)  # fmt: skip
    for unit, size, filled in (("bits", 95, False), ("nats", 34, True)):
        point = at(points, UNITS[unit])
        axis.scatter([point["reward"]], [100 * point["success"]], s=size, marker="D", zorder=6 if filled else 5,
                     facecolor=look.colour if filled else "none", edgecolor=look.colour, linewidth=1.4,
                     label=f"EFE: w = 1 per {unit[:-1]}")  # fmt: skip
    for row in found["published"]:
        agent, share = LOOKS[row["agent"]], row["success"] / 100
        above = 200 * math.sqrt(share * (1 - share) / row["episodes"])
        aside = None if row["error"] is None else 2 * row["error"]
        axis.errorbar([row["reward"]], [row["success"]], xerr=aside, yerr=above, fmt="x", color=agent.colour,
                      markersize=5, elinewidth=0.9, zorder=7, label=f"published: {agent.label}")  # fmt: skip
    axis.margins(0.15, 0.1)


def _label(axis: Any, found: dict[str, Any]) -> None:
    """Weights beside the points: first those of w = 1, then the best, the ends, and the widest."""
    points = _seen(axis, found["points"])
    taken = [(row["reward"], row["success"]) for row in found["published"]]
    taken += [(point["reward"], 100 * point["success"]) for point in points]
    low, high = axis.get_ylim()
    taken += [(found["optimum"]["reward"], low + part / 60 * (high - low)) for part in range(61)]
    for one, other in pairwise(points):
        taken += [
            (one["reward"] + part * (other["reward"] - one["reward"]),
             100 * (one["success"] + part * (other["success"] - one["success"])))
            for part in (i / 30 for i in range(1, 30))
        ]  # fmt: skip
    marked = [at(points, weight) for weight in UNITS.values()]
    best = max(points, key=lambda point: point["reward"])
    first = [*marked, best, points[0], points[-1]]
    order = [*first, *sorted(points, key=lambda point: -point["upper"] / max(point["lower"], 0.01))]
    chosen = [point for place, point in enumerate(order) if point not in order[:place]]
    place_labels(axis, [(p["reward"], 100 * p["success"], _range(p)) for p in chosen], taken)


def _seen(axis: Any, points: Points) -> Points:
    """Points that the eye tells apart: neighbours in the chain within a hundredth of the panel become one."""
    width, height = (abs(high - low) for low, high in (axis.get_xlim(), axis.get_ylim()))
    kept: Points = []
    for point in points:
        last = kept[-1] if kept else None
        if (
            last
            and math.hypot(
                (last["reward"] - point["reward"]) / width, 100 * (last["success"] - point["success"]) / height
            )
            < 0.01
        ):
            last["upper"] = point["upper"]
        else:
            kept.append(dict(point))
    return kept


def _range(point: dict[str, float]) -> str:
    ends = [_short(point[end]) for end in ("lower", "upper")]
    return "–".join(ends if ends[0] != ends[1] else [f"{point[end]:.3g}" for end in ("lower", "upper")])


def _short(weight: float) -> str:
    """A weight in two digits, from 100 on in three."""
    return f"{weight:.0f}" if weight >= 10 or weight == 0 else f"{weight:.2g}"


study("pareto", build_pareto, draw_pareto)
