"""Claims of the results on Tileworld, on how its scans are laid out, and on RockSample."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import gap, lead_jobs, leads, near_margin, sweeps
from rhoplan_paper.compare import CHANCE, FAR, Number, chance_text, share_chance
from rhoplan_paper.context import UNITS, Context, Result, ask, exact_job, score_job, simulate_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Cell, cell, published, select
from rhoplan_paper.registry import claim
from rhoplan_paper.statistics import chance_of_count
from rhoplan_paper.study import Found
from rhoplan_paper.told.results import PARTITION_PER_SEED, PARTITIONS
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import percent, points, signed

GRIDS = tuple(f"tileworld:n={n}" for n in (4, 6, 8))
TUNED = 100.0

REACHED = ("bitwise", "overlapping")
"""Partitions whose beliefs merge; scans at random leave millions apart, so that their scores are sampled."""

SHORT, LONG = 600, 1000
"""Episodes of the two runs whose 8x8 success rates are printed: three seeds and five."""


def _others(problem: str) -> dict[tuple[str, str], Job]:
    """Scores of what EFE is compared with, and its own, by agent and unit."""
    jobs = {("planning", ""): exact_job(problem, "planning", horizon=2), ("myopic", ""): exact_job(problem, "myopic")}
    for unit in UNITS:
        jobs["planning-ig", unit] = exact_job(problem, "planning-ig", horizon=2, weight=TUNED, unit=unit)
        jobs["efe", unit] = exact_job(problem, "efe", horizon=2, unit=unit)
    return jobs


def _ahead(scores: Mapping[tuple[str, str], Result], unit: str) -> dict[str, float]:
    """By how much EFE earns more than each other agent."""
    others = {agent: score for (agent, u), score in scores.items() if agent != "efe" and u in ("", unit)}
    return {agent: gap(scores["efe", unit], score) for agent, score in others.items()}


def _rewards(scores: Mapping[tuple[str, str], Result]) -> dict[str, float]:
    """Rewards under names that say whose they are, and in which unit where that matters."""
    return {f"{agent} {unit}".rstrip(): float(score["reward"]) for (agent, unit), score in scores.items()}


@claim("tileworld-6-best")
def tileworld_6_best(context: Context) -> Found:
    scores = ask(context, _others("tileworld:n=6"))
    sweep = sweeps(context, [("tileworld:n=6", 2)])[0]
    gaps = {u: _ahead(scores, u) for u in UNITS}
    share = {u: scores["efe", u]["tests"] / scores["planning-ig", u]["tests"] for u in UNITS}
    most = "EFE earns the most"
    verdict = by_parts(
        {
            most: {u: min(gaps[u].values()) > 0 for u in UNITS},
            "with fewer than half of Planning+IG's scans": {u: share[u] < 0.5 for u in UNITS},
        },
        core=[most],
    )
    episodes = int(published().tables["tileworld-6"].protocol[0]["episodes"])
    efe, planning = (cell("tileworld-6", "reward", agent=agent).number for agent in ("efe", "planning"))
    spread = math.hypot(*(scores[key]["reward_sd"] for key in (("planning", ""), ("efe", "bits"))))
    return found(
        verdict,
        gaps=gaps,
        episodes=episodes,
        lead=efe - planning,
        error=spread / math.sqrt(episodes),
        share=share,
        top=sweep.top("reward"),
        best=sweep.best("reward"),
        rewards=_rewards(scores),
    )


@claim("tileworld-8-split")
def tileworld_8_split(context: Context) -> Found:
    lead = leads(context, [("tileworld:n=8", 2)])[0]
    planning, success = lead.planning["success"], {u: float(lead.efe[u]["success"]) for u in UNITS}
    printed_rate = cell("tileworld-8-collapse", "success", agent="efe")
    chance = {u: share_chance(printed_rate, Number(s, None, counted=0), LONG) for u, s in success.items()}
    verdict = by_unit({u: planning < 0.05 and chance[u] >= CHANCE for u in UNITS})
    told = {u: chance_text(one) for u, one in chance.items()}
    return found(verdict, planning=planning, success=success, chance=told)


@claim("tileworld-8-twice")
def tileworld_8_twice(context: Context) -> Found:
    scores = ask(context, _others("tileworld:n=8"))
    told, possible = [], dict.fromkeys(UNITS, True)
    for agent in ("planning", "efe", "planning-ig"):
        weight = {"weight": TUNED} if agent == "planning-ig" else {}
        short = cell("tileworld-8", "success", agent=agent, **weight)
        long = cell("tileworld-8-collapse", "success", agent=agent)
        for unit in UNITS:
            exact = float(scores[agent, "" if agent == "planning" else unit]["success"])
            apart = [share_chance(one, Number(exact, None, counted=0), n) for one, n in ((short, SHORT), (long, LONG))]
            possible[unit] &= min(apart) >= CHANCE
            if unit == "bits":
                rest = _rest(short, long)
                nested = chance_of_count(*rest, LONG - SHORT, share=exact)
                told.append(
                    f"{agent} {short.text} and {long.text}, exact {percent(exact)}: chance {chance_text(apart[0])} and "
                    f"{chance_text(apart[1])} (if the five seeds held the three, the other two would have "
                    f"{percent(rest[0] / (LONG - SHORT))} to {percent(rest[1] / (LONG - SHORT))}, chance "
                    f"{chance_text(nested)})"
                )
    success = [f"{agent} {percent(s['success'])}{f' ({unit})' if unit else ''}" for (agent, unit), s in scores.items()]
    return found(by_unit(possible), told=told, success=success)


@claim("best-at-every-scale")
def best_at_every_scale(context: Context) -> Found:
    results = ask(context, {(grid, *key): one for grid in GRIDS for key, one in _others(grid).items()})
    scores = {grid: {key[1:]: r for key, r in results.items() if key[0] == grid} for grid in GRIDS}
    swept = sweeps(context, [(grid, 2) for grid in GRIDS])
    behind: dict[str, list[str]] = {unit: [] for unit in UNITS}
    rarer: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for grid, agents in scores.items():
        for unit in UNITS:
            behind[unit] += [f"{grid} ({signed(g)} to {a})" for a, g in _ahead(agents, unit).items() if g < 0]
            less = agents["efe", unit]["success"] - agents["planning", ""]["success"]
            rarer[unit] += [f"{grid} ({points(less)} to planning)"] if less < -SAME else []
    most = "EFE earns the most on every grid"
    return found(
        by_parts(
            {
                most: {u: not behind[u] for u in UNITS},
                "EFE succeeds at least as often as Planning": {u: not rarer[u] for u in UNITS},
            },
            core=[most],
        ),
        behind={u: behind[u] + rarer[u] for u in UNITS},
        best=[f"{s.best('reward')[0]:.1f} to {s.best('reward')[1]:.1f} on {s.problem}" for s in swept],
        loss=[s.loss("bits") for s in swept],
        rewards={grid: _rewards(agents) for grid, agents in scores.items()},
    )


@claim("best-weight-stays")
def best_weight_stays(context: Context) -> Found:
    swept = sweeps(context, [(grid, 2) for grid in GRIDS])
    spans = [s.best("reward") for s in swept]
    safest = [s.best("success", 200.0)[0] for s in swept]
    low, high = max(low for low, _ in spans), min(high for _, high in spans)
    stays = low <= high
    apart = [success / span[1] for success, span in zip(safest, spans, strict=True)]
    widens = all(later > earlier * (1 + 1e-6) for earlier, later in pairwise(apart))
    at_one = [s.problem for s in swept if min(s.factor(u) for u in UNITS) == 1]
    return found(
        by_parts(
            {
                "the weight that earns most stays": {"nats": stays},
                "and is EFE's": len(at_one) == len(swept),
                "the one that succeeds most moves away from it": widens,
            }
        ),
        stays=stays,
        span=f" ({low:.1f} to {high:.1f} per nat does so on all three grids)" if stays else "",
        at_one=at_one,
        printed=cell("alpha-eta", "best_weight", problem="tileworld:n=6").text,
        apart=apart,
        widens=widens,
        weights=[
            f"{s.problem} reward {span[0]:.1f} to {span[1]:.1f}, success from {success:.1f}"
            for s, span, success in zip(swept, spans, safest, strict=True)
        ],
    )


@claim("partition-independent")
def partition_independent(context: Context) -> Found:
    per_seed = {name: 2000 if context.full and name not in REACHED else PARTITION_PER_SEED for name in PARTITIONS}
    drawn: dict[tuple[str, str], Job] = {}
    for name, problem in PARTITIONS.items():
        drawn[name, "planning"] = simulate_job(problem, "planning", episodes=per_seed[name], horizon=2, unit="nats")
        for unit in UNITS:
            drawn[name, unit] = simulate_job(problem, "efe", episodes=per_seed[name], horizon=2, weight=1.0, unit=unit)
    results = ask(context, {**drawn, **lead_jobs((PARTITIONS[name], 2) for name in REACHED)})
    exact = dict(zip(REACHED, leads(context, [(PARTITIONS[name], 2) for name in REACHED]), strict=True))
    columns = {key: results[key]["columns"]["reward"] for key in drawn}
    spread = {name: math.hypot(columns[name, "planning"]["sd"], columns[name, "bits"]["sd"]) for name in PARTITIONS}
    gaps: dict[str, dict[str, float]] = {unit: {} for unit in UNITS}
    words = {
        n: f"EFE earns more with {n} scans" if n in exact else f"with {n} scans a lead is not ruled out"
        for n in PARTITIONS
    }
    ahead: dict[str, dict[str, bool]] = {each: {} for each in words.values()}
    for unit in UNITS:
        for name in PARTITIONS:
            sampled = columns[name, unit]["mean"] - columns[name, "planning"]["mean"]
            gaps[unit][name] = exact[name].gap(unit) if name in exact else sampled
            # Of episodes one can only say whether they rule a lead out.
            noise = spread[name] / math.sqrt(5 * per_seed[name])
            ahead[words[name]][unit] = gaps[unit][name] > (0.0 if name in exact else -FAR * noise)
    return found(
        by_parts(ahead),
        gaps=gaps,
        episodes=5 * per_seed["random"],
        alike=[f"{n} in {u}" for n, x in exact.items() for u in UNITS if same(x.planning, x.efe[u])],
        errors=[one / math.sqrt(5 * PARTITION_PER_SEED) for one in spread.values()],
        simulated={f"{n} {a}": c["mean"] for (n, a), c in columns.items()},
        exact=[f"{n} {signed(x.gap('bits'), 3)} bits, {signed(x.gap('nats'), 3)} nats" for n, x in exact.items()],
    )


@claim("rocksample-near-best")
def rocksample_near_best(context: Context) -> Found:
    rows = {(str(c.row["problem"]), str(c.row["agent"])): c.row for c in select("rocksample reward")}
    problems = list(dict.fromkeys(problem for problem, _ in rows))
    jobs: dict[tuple[str, str], Job] = {}
    for (problem, agent), row in rows.items():
        horizon = int(row["horizon"]) if "horizon" in row and agent != "greedy" else None
        weight = float(row["weight"]) if agent == "planning-ig" else None
        jobs[problem, agent] = exact_job(problem, agent, horizon=horizon, weight=weight)
        if agent == "efe":
            jobs[problem, "efe per bit"] = exact_job(problem, agent, horizon=horizon, unit="bits")
            jobs[problem, "anytime"] = score_job(problem, "planning", planner="anytime", horizon=1, unit="nats")
    reward = {key: float(result["reward"]) for key, result in ask(context, jobs).items()}
    mine = {problem: {a: reward[p, a] for p, a in rows if p == problem} for problem in problems}
    told, near = [], {}
    for problem, earned in mine.items():
        best = max(earned, key=lambda agent: earned[agent])
        lacks = earned[best] - earned["efe"]
        near[f"on {problem}"] = {"nats": lacks <= near_margin(earned[best])}
        told.append(f"{problem} " + (f"{lacks:.2f} of {best}'s {signed(earned[best])}" if lacks > SAME else "nothing"))
    per_bit, anytime = ([reward[problem, name] for problem in problems] for name in ("efe per bit", "anytime"))
    return found(by_parts(near), told=told, per_bit=per_bit, anytime=anytime, rewards=mine)


def _rest(short: Cell, long: Cell) -> tuple[int, int]:
    """Fewest and most successes in the episodes that only the longer run has, as far as printed shares tell."""
    ends = []
    for sign in (-1, 1):
        counts = [(one.number + way * one.rounding) / 100 * n for one, n, way in
                  ((long, LONG, sign), (short, SHORT, -sign))]  # fmt: skip
        ends.append(min(max(round(counts[0] - counts[1]), 0), LONG - SHORT))
    return ends[0], ends[1]
