"""When agents stop: how entropy, observing and reward go on average over an episode, and how stopping times spread.

Both are exact: the distribution over beliefs is pushed forward test by test (`course`), and the number of tests has an
exact distribution (`tests_distribution` of a score). The published figures average 300 episodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rhoplan.belief_math.information import NATS_PER_BIT
from rhoplan.present.plots import LOOKS, QUIET, canvas, styled
from rhoplan.problems.registry import make
from rhoplan_paper.context import Context, ask, exact_job
from rhoplan_paper.figures.episodes import FORAGING
from rhoplan_paper.figures.grid import SEED
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Quote
from rhoplan_paper.registry import study
from rhoplan_paper.study import Drawing, Finding, Outcome, Sheet
from rhoplan_paper.told.findings import each_quoted, setting, told
from rhoplan_paper.verdicts import by_unit

AGENTS: tuple[tuple[str, float | None], ...] = (
    ("planning", None),
    ("efe", 1.0),
    ("info-gain", 100.0),
    ("planning-ig", 100.0),
)
"""Agents of both figures with their weights; the tuned ones are those of Diagnosis and Bandit."""

SHARPER = "diagnosis:n=8,k=3"
"""The same with the usual accuracy of .80."""

STEPS = 60
"""Tests over which the course of an episode is followed."""

EPISODES = 300
"""Episodes that the published figures average."""


def _settings(agent: str, weight: float | None, horizon: int, unit: str) -> dict[str, Any]:
    found: dict[str, Any] = {"unit": unit if weight else "nats", "weight": weight}
    return found if agent == "info-gain" else {**found, "horizon": horizon}


def _name(agent: str, weight: float | None, unit: str = "bits") -> str:
    return LOOKS[agent].label + (f", w = {weight:g} per {unit[:-1]}" if weight else "")


def _share(shares: Sequence[float], low: int, high: float = math.inf) -> float:
    """Probability that the number of tests is from `low` to `high`."""
    return sum(share for tests, share in enumerate(shares) if low <= tests <= high)


def _quantile(shares: Sequence[float], level: float) -> int:
    total = 0.0
    for tests, share in enumerate(shares):
        total += share
        if total >= level:
            return tests
    return len(shares) - 1


def build_efficiency(context: Context) -> Outcome:
    """Expected entropy, share still observing and expected reward after each test."""
    settings = {agent: _settings(agent, weight, 3, "bits") for agent, weight in AGENTS}
    courses = [job("course", problem=FORAGING, agent=agent, steps=STEPS, **mine) for agent, mine in settings.items()]
    drawn = [
        job("episode_rows", problem=FORAGING, agent=agent, seed=SEED, episodes=EPISODES, **mine)
        for agent, mine in settings.items()
    ]
    scores = {
        (problem, unit): exact_job(problem, "efe", horizon=3, unit=unit)
        for problem in (FORAGING, SHARPER)
        for unit in ("bits", "nats")
    }
    scores[FORAGING, "planning"] = exact_job(FORAGING, "planning", horizon=3)
    context.results([*courses, *drawn, *scores.values()])
    lines = [
        {"agent": agent, "weight": weight, **context.result(course), "tests": context.result(rows)["tests"]}
        for (agent, weight), course, rows in zip(AGENTS, courses, drawn, strict=True)
    ]
    shares = {key: context.result(one)["tests_distribution"] for key, one in scores.items()}
    rows = [
        (_name(line["agent"], line["weight"]), str(count), f"{line['entropy'][count] / NATS_PER_BIT:.4f}",
         f"{100 * line['observing'][count]:.2f}%", f"{line['reward'][count]:.4f}")
        for line in lines
        for count in range(0, STEPS + 1, 2)
    ]  # fmt: skip
    half = [next(count for count, share in enumerate(line["observing"]) if share <= 0.5) for line in lines]
    halves = ", ".join(f"{_name(x['agent'], x['weight'])} {count}" for x, count in zip(lines, half, strict=True))
    ends = ", ".join(f"{LOOKS[line['agent']].label} {line['reward'][-1]:.2f}" for line in lines)
    remarks = (
        f"Lines are exact, with accuracy .75 and H = 3; an episode that has committed keeps its last entropy. Half of "
        f"the episodes have committed after so many tests: {halves}. Expected reward after {STEPS} tests: {ends}. "
        "Tuned weights are those of Diagnosis with four conditions, as the paper states none here.",
    )
    tests = next(line["tests"] for line in lines if line["agent"] == "efe")
    findings = [
        finding
        for part in ("foraging", "efficiency")
        for finding in each_quoted(part, lambda quote, cell: _check(quote, cell, shares, tests))
    ]
    headings = ("agent", "tests so far", "expected entropy (bits)", "still observing", "expected reward so far")
    return Outcome(Sheet(headings, tuple(rows)), tuple(findings), remarks, {"lines": lines})


def _check(
    quote: Quote, cell: Cell, shares: Mapping[tuple[str, str], Sequence[float]], tests: Sequence[int]
) -> Finding:
    """On the setting and on the length of EFE's episodes. tests: their simulated lengths."""
    if cell.column == "test_accuracy":
        return setting(quote, cell, float(make(FORAGING).flat.tests[0].likelihood.max()), "accuracy of the tests")
    if cell.column == "episodes":
        return setting(quote, cell, EPISODES, "simulated episodes; the lines are exact")
    ends = {str(one.row["bound"]): int(one.number) for one in quote.cells if one.column == "tests"}
    low, high = ends["low"], ends["high"]
    inside = {key: _share(mine, low, high) for key, mine in shares.items()}
    efe = {unit: shares[FORAGING, unit] for unit in ("bits", "nats")}
    texts = [
        f"per {unit[:-1]}, EFE stops within {low} to {high} tests in {100 * inside[FORAGING, unit]:.1f}% of episodes, "
        f"later in {100 * _share(mine, high + 1):.1f}%"
        for unit, mine in efe.items()
    ]
    if quote.part == "efficiency":
        rule = "a drop around there would have most episodes stop within"
        holds = {unit: inside[FORAGING, unit] > 0.5 for unit in efe}
        texts.append(f"Planning stops within them in {100 * inside[FORAGING, 'planning']:.1f}%")
        sharper = " and ".join(f"{100 * inside[SHARPER, unit]:.1f}% per {unit[:-1]}" for unit in efe)
        texts.append(f"with accuracy .80 EFE does in {sharper}")
    else:
        rule = "it holds if most episodes have at least the lower number"
        holds = {unit: _share(mine, low) > 0.5 for unit, mine in efe.items()}
    verdict = by_unit(holds)
    level = 0.1 if cell.row["bound"] == "low" else 0.9
    exact = "; ".join(f"{_quantile(mine, level)} ({name})" for name, mine in efe.items())
    ordered = sorted(tests)
    reason = f"{'; '.join(texts)}; {rule}. Ours are {100 * level:.0f}% quantiles"
    return told(quote, cell, verdict, reason, simulated=str(ordered[int(level * len(ordered))]), exact=exact)


@styled
def draw_efficiency(outcome: Outcome) -> Drawing:
    """(a) entropy, (b) share still observing, (c) reward so far, over the tests."""
    drawing, axes = canvas(1, 3, (10.0, 4.0))
    last = 46
    panels = (
        ("entropy", 1 / NATS_PER_BIT, "(a) expected entropy (bits)"),
        ("observing", 100.0, "(b) episodes still observing (%)"),
        ("reward", 1.0, "(c) expected reward so far"),
    )
    for axis, (column, scale, title) in zip(axes[0], panels, strict=True):
        for line in outcome.data["lines"]:
            look = LOOKS[line["agent"]]
            axis.plot(range(last + 1), [scale * value for value in line[column][: last + 1]], color=look.colour,
                      linewidth=1.5, drawstyle="steps-post" if column == "observing" else "default",
                      label=_name(line["agent"], line["weight"]))  # fmt: skip
        axis.set_title(title, loc="left")
        axis.set_xlabel("tests so far")
        axis.set_xlim(0, last)
    axes[0][0].set_ylim(bottom=0)
    band = axes[0][1]
    for line in outcome.data["lines"]:
        still = [100 * sum(tests > count for tests in line["tests"]) / len(line["tests"]) for count in range(last)]
        band.scatter(range(last), still, s=7, color=LOOKS[line["agent"]].colour, alpha=0.6, linewidth=0, zorder=3)
    band.scatter([], [], s=12, color=QUIET, label=f"{EPISODES} episodes of seed {SEED}")
    band.axvspan(8, 12, color="#DDDDDD", zorder=0, linewidth=0, label="8 to 12 tests: EFE's drop, says the text")
    band.set_ylim(0, 103)
    handles, labels = band.get_legend_handles_labels()
    drawing.legend(handles, labels, loc="outside lower center", ncols=3)
    return drawing


PLACES: tuple[tuple[str, int, str], ...] = (
    ("diagnosis", 3, "Diagnosis, N = 4, K = 2"),
    ("diagnosis:n=8,k=3", 3, "Diagnosis, N = 8, K = 3"),
    ("bandit", 2, "Bandit, K = 4"),
)

SPREAD: tuple[tuple[str, float | None, str], ...] = (
    ("planning", None, "bits"),
    ("efe", 1.0, "nats"),
    ("efe", 1.0, "bits"),
    ("planning-ig", 100.0, "bits"),
)
"""Agent, weight, unit, from left to right in each panel."""


def build_stopping(context: Context) -> Outcome:
    """Exact distribution of the number of tests of each agent in each setting."""
    jobs: dict[tuple[str, str, str], Job] = {
        (problem, agent, unit): exact_job(problem, agent, **_settings(agent, weight, horizon, unit))
        for problem, horizon, _ in PLACES
        for agent, weight, unit in SPREAD
    }
    found = ask(context, jobs)
    data: dict[str, Any] = {problem: [] for problem, _, _ in PLACES}
    rows = []
    for problem, _, title in PLACES:
        for agent, weight, unit in SPREAD:
            result = found[problem, agent, unit]
            shares = result["tests_distribution"]
            data[problem].append({"agent": agent, "unit": unit, "weight": weight, "shares": shares,
                                  "mean": result["tests"], "sd": result["tests_sd"]})  # fmt: skip
            quantiles = [str(_quantile(shares, level)) for level in (0.05, 0.5, 0.95)]
            spread = [f"{value:.4f}" for value in (result["tests"], result["tests_sd"])]
            spread.append(f"{result['tests_sd'] / result['tests']:.3f}")
            rows.append((title, _name(agent, weight, unit), *spread, *quantiles, f"{100 * result['success']:.2f}%"))
    spreads = {
        title: ", ".join(
            f"{_name(c['agent'], c['weight'], c['unit'])} {c['mean']:.1f} ± {c['sd']:.1f}" for c in data[p]
        )
        for p, _, title in PLACES
    }
    remarks = (
        f"Exact distributions in place of violins over {EPISODES} episodes. Mean and standard deviation of the number "
        "of tests: " + "; ".join(f"{title}: {told}" for title, told in spreads.items()) + ".",
    )
    headings = ("setting", "agent", "mean", "standard deviation", "relative spread", "5%", "median", "95%", "success")
    return Outcome(Sheet(headings, tuple(rows)), (), remarks, data)


@styled
def draw_stopping(outcome: Outcome) -> Drawing:
    """One panel per setting, one exact distribution per agent: the width of a bar is the probability."""
    drawing, axes = canvas(1, len(PLACES), (10.0, 4.8))
    for axis, (problem, _, title) in zip(axes[0], PLACES, strict=True):
        columns = outcome.data[problem]
        top = max(_quantile(column["shares"], 0.99) for column in columns)
        for place, column in enumerate(columns):
            _violin(axis, place, column, top)
        axis.set_xticks(range(len(columns)), [_tick(column) for column in columns], fontsize=8)
        axis.set_xlim(-0.55, len(columns) - 0.45)
        axis.set_ylim(-0.8, 1.12 * top)
        axis.grid(False, axis="x")
        axis.set_title(title, loc="left")
    axes[0][0].set_ylabel("tests before the commit")
    axes[0][0].text(0.02, 0.98, "width: probability\n◆ mean", transform=axes[0][0].transAxes, fontsize=8, color=QUIET,
                    va="top")  # fmt: skip
    return drawing


def _tick(column: Mapping[str, Any]) -> str:
    parts = [LOOKS[column["agent"]].label.replace("+", "\n+")]
    return "\n".join([*parts, f"w = {column['weight']:g}", f"per {column['unit'][:-1]}"] if column["weight"] else parts)


def _violin(axis: Any, place: int, column: Mapping[str, Any], top: int) -> None:
    """The distribution as bars around `place`, its mean, and mean and standard deviation above it."""
    shares, look = column["shares"], LOOKS[column["agent"]]
    widest = max(shares)
    kept = [
        (tests, max(share / widest, 0.03)) for tests, share in enumerate(shares[: top + 1]) if share > 0.01 * widest
    ]
    axis.barh([tests for tests, _ in kept], [0.86 * width for _, width in kept],
              left=[place - 0.43 * width for _, width in kept], height=0.86, color=look.colour, linewidth=0,
              alpha=0.45 if column["unit"] == "nats" else 0.85)  # fmt: skip
    axis.plot([place], [column["mean"]], marker="D", color="white", markeredgecolor="black", markersize=5)
    label = f"{column['mean']:.1f}\n± {column['sd']:.1f}"
    axis.text(place, kept[-1][0] + 0.9, label, fontsize=8, ha="center", va="bottom", linespacing=1.1)


study("efficiency", build_efficiency, draw_efficiency)
study("stopping-times", build_stopping, draw_stopping)
