"""The paper's six agents on its four small problems: published figures beside exact ones, in bits and in nats.

A published figure is a mean over episodes, so it scatters around the exact value by its own sampling error. `distance`
is the largest of the three differences (tests, success, reward) in units of that error, which the exact distribution
gives. A difference below half of the last printed digit counts as none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.agent import make_agent
from rhoplan.experiments.published import CORE, PublishedRow
from rhoplan.planning.solve import solve
from rhoplan.problem import Array
from rhoplan.problems.registry import make
from rhoplan.report.figures import COLOURS, figure
from rhoplan.report.files import write_rows
from rhoplan.scoring import Score, evaluate
from rhoplan.version import __version__


def core_rows() -> list[dict[str, Any]]:
    """A row per published line and unit of information, and one per problem for the certified optimum."""
    rows = []
    for name in dict.fromkeys(row.problem for row in CORE):
        problem = make(name)
        for published in (row for row in CORE if row.problem == name):
            for unit in ("bits", "nats"):
                agent = make_agent(published.agent, problem, weight=published.weight, unit=unit)
                rows.append(_row(published, agent.weight, agent.horizon, unit, evaluate(problem, agent)))
        best = solve(problem, gap=1e-4)
        values = {"tests": best.tests, "success": best.success, "reward": best.reward}
        bounds = {"lower": best.lower, "upper": best.upper}
        rows.append(
            {**dict.fromkeys(rows[0]), "problem": name, "agent": "optimum", "kind": "bounded", **values, **bounds}
        )
    return rows


def _row(published: PublishedRow, weight: float, horizon: int, unit: str, score: Score) -> dict[str, Any]:
    return {
        "problem": published.problem,
        "agent": published.agent,
        "horizon": horizon,
        "weight": weight,
        "unit": unit,
        "kind": "exact",
        "published_tests": published.tests,
        "published_success": published.success,
        "published_reward": published.reward,
        "tests": score.tests,
        "success": score.success,
        "reward": score.reward,
        "reward_se": score.reward_sd / math.sqrt(published.episodes),
        "distance": distance(published, score),
        "lower": None,
        "upper": None,
        "place": published.place,
    }


def distance(published: PublishedRow, score: Score) -> float:
    """How far the published line lies from the exact one, in standard errors of its own protocol."""
    shares: Array = np.array(score.tests_distribution)
    counts = np.arange(len(shares))
    spread = math.sqrt(max(float(shares @ counts**2) - score.tests**2, 0.0))
    parts = (
        (published.tests, score.tests, spread, 0.005),
        (published.success, score.success, math.sqrt(max(score.success * (1 - score.success), 0.0)), 0.0005),
        (published.reward, score.reward, score.reward_sd, 0.005),
    )
    far = 0.0
    for printed, exact, sd, rounding in parts:
        beyond = max(abs(printed - exact) - rounding, 0.0)
        far = max(
            far, beyond / (sd / math.sqrt(published.episodes)) if sd > 1e-9 else (math.inf if beyond > 1e-9 else 0.0)
        )
    return far


def write_core(rows: Sequence[dict[str, Any]], folder: Path) -> list[Path]:
    """core.csv and core.png in `folder`; their paths."""
    table, plot = folder / "core.csv", folder / "core.png"
    write_rows(table, [{**row, "version": __version__, "command": "rhoplan reproduce core"} for row in rows])
    draw_core(plot, rows)
    return [table, plot]


def draw_core(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Per problem, each agent's reward: exact in both units, published with two standard errors, and the optimum."""
    problems = list(dict.fromkeys(row["problem"] for row in rows))
    with figure(path, 2, 2, (10, 6.4)) as (drawing, axes):
        for axis, name in zip(axes.ravel(), problems, strict=True):
            mine = [row for row in rows if row["problem"] == name]
            agents = list(dict.fromkeys(row["agent"] for row in mine if row["kind"] == "exact"))[::-1]
            optimum = next(row for row in mine if row["agent"] == "optimum")
            line = axis.axvline(optimum["reward"], color="#555555", linestyle="--", linewidth=1, zorder=1)
            line.set_label("certified optimum")
            for unit, marker, colour, shift in (("bits", "o", COLOURS[0], 0.0), ("nats", "D", COLOURS[2], -0.22)):
                points = [row for row in mine if row["unit"] == unit]
                places = [agents.index(row["agent"]) + shift for row in points]
                axis.plot(
                    [row["reward"] for row in points],
                    places,
                    marker,
                    color=colour,
                    label=f"exact, weight per {unit[:-1]}",
                )
            points = [row for row in mine if row["unit"] == "bits"]
            axis.errorbar(
                [row["published_reward"] for row in points],
                [agents.index(row["agent"]) + 0.22 for row in points],
                xerr=[2 * row["reward_se"] for row in points],
                fmt="s", color=COLOURS[1], markersize=4, capsize=2, label="published, ±2 SE",
            )  # fmt: skip
            axis.set_yticks(range(len(agents)), agents)
            horizon = max(row["horizon"] for row in mine if row["horizon"])
            axis.set_title(f"{name}, H = {horizon}: expected reward", loc="left")
            axis.set_ylim(-0.6, len(agents) - 0.4)
        drawing.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
