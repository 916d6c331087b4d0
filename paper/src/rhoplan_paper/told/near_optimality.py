"""Near-optimality on random two-state problems: how often a weight of 1 earns nearly as much as the best one tried.

`near_optimality_job` and `near_optimal_shares` also serve the figure and the claims about these problems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

from rhoplan.problems.registry import make
from rhoplan_paper.claims.numbers import near_margin
from rhoplan_paper.compare import Number
from rhoplan_paper.context import UNITS, Context, exact_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.measures.told import ACCURACY, ALPHA, COST
from rhoplan_paper.published import Cell, Quote, select
from rhoplan_paper.registry import study
from rhoplan_paper.study import Finding, Outcome, Sheet
from rhoplan_paper.tables.asymmetry import asymmetry
from rhoplan_paper.tables.rows import number
from rhoplan_paper.told.findings import mean, setting
from rhoplan_paper.told.results import EPISODES, every_quote

ENVIRONMENTS = 100
TRIED_HORIZONS = (1, 2, 3)
TRIED = (0.01, 0.5, 1.0, 2.0, 5.0, 50.0)
ASYMMETRIC = 10.0
PUBLISHED_EPISODES = 50
"""How many episodes the published rewards are means of."""


def near_optimality_job(unit: str, *, episodes: int | None = None, paired: bool | None = None) -> Job:
    """Rewards by weight and horizon on the hundred random problems: exact, or means of `episodes` episodes."""
    return job(
        "near_optimality", environments=ENVIRONMENTS, seed=42, horizons=list(TRIED_HORIZONS), weights=list(TRIED),
        unit=unit, episodes=episodes, paired=paired,
    )  # fmt: skip


def near_optimal(result: Mapping[str, Any], weight: float = 1.0) -> list[list[bool]]:
    """By problem and horizon, whether `weight` earns at most the paper's margin less than the best weight tried."""
    place = result["weights"].index(weight)
    return [[max(row) - row[place] <= near_margin(max(row)) for row in rows] for rows in result["rewards"]]


def near_optimal_shares(result: Mapping[str, Any], alpha: float = 0.0, below: float = inf) -> tuple[list[float], int]:
    """By horizon, the share of problems of asymmetry from `alpha` on where weight 1 is near-optimal; how many."""
    chosen = [row for row, a in zip(near_optimal(result), result["alpha"], strict=True) if alpha <= a < below]
    return [sum(column) / len(chosen) for column in zip(*chosen, strict=True)], len(chosen)


def build_near_optimality(context: Context) -> Outcome:
    """Shares of near-optimal problems: exact, from 50 shared episodes, and from 50 episodes of its own per weight."""
    jobs = {unit: near_optimality_job(unit) for unit in UNITS}
    jobs |= {
        "paired": near_optimality_job("nats", episodes=PUBLISHED_EPISODES, paired=True),
        "fresh": near_optimality_job("nats", episodes=PUBLISHED_EPISODES, paired=False),
    }
    bandit = {unit: exact_job("bandit", "efe", horizon=2, unit=unit) for unit in UNITS}
    context.results([*jobs.values(), *bandit.values()])
    results = {kind: context.result(one) for kind, one in jobs.items()}
    shares = {alpha: {kind: near_optimal_shares(found, alpha=alpha) for kind, found in results.items()}
              for alpha in (0.0, ASYMMETRIC)}  # fmt: skip

    def check(quote: Quote, cell: Cell) -> Finding:
        if cell.column == "near_optimal":
            alpha = float(cell.row.get("alpha", 0.0))
            return _share_finding(quote, cell, {kind: found[0] for kind, found in shares[alpha].items()})
        if cell.row.get("problem") == "bandit":
            if cell.column == "alpha":
                reward = make("bandit").flat.commits[0].reward
                ratio = asymmetry(float(reward.max()), float(reward.min()))
                found = mean(quote, cell, {"": Number(ratio, None)}, 1)
                return replace(found, reason=f"a wrong pull pays {reward.min():+g}, a right one {reward.max():+g}")
            scores = {unit: number(context.result(one), "success", "bandit") for unit, one in bandit.items()}
            return mean(quote, cell, {unit: one for unit, one in scores.items() if one}, EPISODES, "", 0.01)
        return setting(quote, cell, *_drawn(cell))

    rows = []
    for alpha, found in shares.items():
        for place, horizon in enumerate(TRIED_HORIZONS):
            row = f"near_optimal horizon={horizon}" + (f" alpha={alpha:g}" if alpha else "")
            quote = "near-optimality-rates-asymmetric" if alpha else "near-optimality-rates"
            texts = [f"{100 * found[kind][0][place]:.0f}%" for kind in ("fresh", "paired", *UNITS)]
            label = f"alpha at least {alpha:g} ({found['nats'][1]})" if alpha else f"all ({found['nats'][1]})"
            rows.append((label, str(horizon), select(f"{quote} {row}")[0].text, *texts))
    headings = ("problems", "horizon", "published", f"simulated: {PUBLISHED_EPISODES} episodes per weight",
                f"simulated: the same {PUBLISHED_EPISODES} for all weights", "exact, w per bit",
                "exact, w per nat")  # fmt: skip
    notes = (
        f"weights tried: {', '.join(f'{weight:g}' for weight in TRIED)}; simulated weights are per nat",
        "with episodes of its own each weight has its own luck, and the best of six lucky means seems far ahead of 1",
    )
    return Outcome(Sheet(headings, tuple(rows), notes), every_quote("near-optimality", check))


def _share_finding(quote: Quote, cell: Cell, shares: Mapping[str, Sequence[float]]) -> Finding:
    """The problems are drawn from a known seed, so an exact share does not scatter."""
    place = TRIED_HORIZONS.index(int(float(cell.row["horizon"])))
    found = mean(quote, cell, {unit: Number(shares[unit][place], None) for unit in UNITS}, 1, scale=0.01)
    fresh, paired = (100 * shares[kind][place] for kind in ("fresh", "paired"))
    exact = " and ".join(f"{100 * shares[unit][place]:.0f}% in {unit}" for unit in UNITS)
    reason = (
        f"exactly it is {exact}; {PUBLISHED_EPISODES} episodes of its own per weight give {fresh:.0f}%, the same "
        f"{PUBLISHED_EPISODES} for all weights {paired:.0f}%"
    )
    if cell.value is not None and abs(fresh - cell.value) < abs(paired - cell.value):
        reason += ": the printed share measures the noise of its protocol"
    return replace(found, simulated=f"{fresh:.0f}%", reason=reason)


def _drawn(cell: Cell) -> tuple[float, str]:
    """What is drawn or counted here, for a printed setting."""
    end = 0 if cell.row.get("bound") == "low" else 1
    if cell.column == "tolerance":
        return (5.0, "percent of the best reward") if "of" in cell.row else (0.5, "least margin of reward")
    if cell.column == "alpha" and "bound" not in cell.row:
        return ASYMMETRIC, "least asymmetry of the second group"
    ranges = {"alpha": ALPHA, "test_accuracy": ACCURACY, "cost": COST}
    if cell.column in ranges:
        return ranges[cell.column][end], f"an end of the range of {cell.column.replace('_', ' ')}"
    return float(ENVIRONMENTS), "how many problems are drawn"


study("near-optimality", build_near_optimality)
