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
from rhoplan_paper.study import Finding
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import listed, percent, points, signed

GRIDS = tuple(f"tileworld:n={n}" for n in (4, 6, 8))
TUNED = 100.0

PARTITIONS = {
    "bitwise": "tileworld:n=6",
    "random": "tileworld:n=6,partition=random,seed=42",
    "overlapping": "tileworld:n=6,partition=overlapping,seed=42",
}
REACHED = ("bitwise", "overlapping")
"""Partitions whose beliefs merge; scans at random leave millions apart, so that their scores are sampled."""

PARTITION_PER_SEED = 200

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


@claim("tileworld-6-best")
def tileworld_6_best(context: Context) -> Finding:
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
    lead = cell("tileworld-6", "reward", agent="efe").number - cell("tileworld-6", "reward", agent="planning").number
    error = math.hypot(*(scores[key]["reward_sd"] for key in (("planning", ""), ("efe", "bits")))) / math.sqrt(episodes)
    return found(
        verdict,
        f"EFE minus Planning: {signed(gaps['bits']['planning'], 3)} in bits, {signed(gaps['nats']['planning'], 3)} in "
        f"nats; {episodes:,} episodes give the printed lead, {lead:+.2f}, a SE of {error:.2f}. EFE makes "
        f"{percent(share['bits'])} of Planning+IG's scans in bits, {percent(share['nats'])} in nats. The most, "
        f"{signed(sweep.top('reward'))}, is earned at weights {sweep.best('reward')[0]:.1f} to "
        f"{sweep.best('reward')[1]:.1f} per nat.",
        exact=listed(f"{agent} {unit} {signed(s['reward'])}".replace("  ", " ") for (agent, unit), s in scores.items()),
    )


@claim("tileworld-8-split")
def tileworld_8_split(context: Context) -> Finding:
    lead = leads(context, [("tileworld:n=8", 2)])[0]
    success = {u: float(lead.efe[u]["success"]) for u in UNITS}
    printed_rate = cell("tileworld-8-collapse", "success", agent="efe")
    chance = {u: share_chance(printed_rate, Number(s, None, counted=0), LONG) for u, s in success.items()}
    rare = float(lead.planning["success"]) < 0.05
    return found(
        by_unit({u: rare and chance[u] >= CHANCE for u in UNITS}),
        f"Planning succeeds in {percent(lead.planning['success'])}, EFE in {percent(success['bits'])} with weight 1 "
        f"per bit and in {percent(success['nats'])} with 1 per nat. The chance of a rate as far off as the printed "
        f"one, or farther, is {chance_text(chance['bits'])} and {chance_text(chance['nats'])}.",
        exact=f"planning {percent(lead.planning['success'])}; efe {percent(success['bits'])} (bits), "
        f"{percent(success['nats'])} (nats)",
        headline=(
            f"{percent(success['bits'])} or {percent(success['nats'])}",
            "is how often EFE finds the target on the 8×8 grid: with a weight of 1 per bit, or 1 per nat, which is "
            f"what the paper says. Planning: {percent(lead.planning['success'])}.",
        ),
    )


@claim("tileworld-8-twice")
def tileworld_8_twice(context: Context) -> Finding:
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
    return found(
        by_unit(possible),
        "The caption speaks of an earlier run, so the two are judged as runs of their own, with weights per bit: "
        f"{listed(told)}.",
        exact=listed(
            f"{agent} {percent(s['success'])}{f' ({unit})' if unit else ''}" for (agent, unit), s in scores.items()
        ),
    )


@claim("best-at-every-scale")
def best_at_every_scale(context: Context) -> Finding:
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
    verdict = by_parts(
        {
            most: {u: not behind[u] for u in UNITS},
            "EFE succeeds at least as often as Planning": {u: not rarer[u] for u in UNITS},
        },
        core=[most],
    )
    return found(
        verdict,
        listed(f"in {u} EFE is behind on {', '.join(behind[u] + rarer[u]) or 'none'}" for u in UNITS)
        + ". Weights of "
        + listed(f"{s.best('reward')[0]:.1f} to {s.best('reward')[1]:.1f} on {s.problem}" for s in swept)
        + " per nat earn "
        + listed(f"{s.loss('bits'):.2f}" for s in swept)
        + " more than EFE does in bits.",
        exact=listed(
            f"{grid} " + ", ".join(f"{a}{f' {u}' if u else ''} {signed(s['reward'])}" for (a, u), s in agents.items())
            for grid, agents in scores.items()
        ),
    )


@claim("best-weight-stays")
def best_weight_stays(context: Context) -> Finding:
    swept = sweeps(context, [(grid, 2) for grid in GRIDS])
    spans = [s.best("reward") for s in swept]
    common = max(low for low, _ in spans), min(high for _, high in spans)
    stays = common[0] <= common[1]
    apart = [s.best("success", 200.0)[0] / s.best("reward")[1] for s in swept]
    widens = all(later > earlier * (1 + 1e-6) for earlier, later in pairwise(apart))
    at_one = [s.problem for s in swept if min(s.factor(u) for u in UNITS) == 1]
    verdict = by_parts(
        {
            "the weight that earns most stays": {"nats": stays},
            "and is EFE's": len(at_one) == len(swept),
            "the one that succeeds most moves away from it": widens,
        }
    )
    return found(
        verdict,
        f"The weight that earns most {'stays' if stays else 'does not stay'}"
        + (f" ({common[0]:.1f} to {common[1]:.1f} per nat does so on all three grids)" if stays else "")
        + f"; weight 1 is among them on {', '.join(at_one) or 'none'}, and the table has "
        f"{cell('alpha-eta', 'best_weight', problem='tileworld:n=6').text}. From there to the least weight of most "
        f"success (up to 200) is a factor of {', '.join(f'{a:.2f}' for a in apart)} on sides 4, 6, 8: it "
        f"{'widens' if widens else 'does not widen'}.",
        exact=listed(
            f"{s.problem} reward {s.best('reward')[0]:.1f} to {s.best('reward')[1]:.1f}, success from "
            f"{s.best('success', 200.0)[0]:.1f}"
            for s in swept
        ),
    )


@claim("partition-independent")
def partition_independent(context: Context) -> Finding:
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
    alike = [f"{n} in {u}" for n, x in exact.items() for u in UNITS if same(x.planning, x.efe[u])]
    return found(
        by_parts(ahead),
        "EFE minus Planning: "
        + listed(", ".join(f"{n} {signed(g, 3)}" for n, g in values.items()) + f" in {u}" for u, values in gaps.items())
        + f" (exact; random from {5 * per_seed['random']:,} episodes); one and the same score on "
        f"{', '.join(alike) or 'none'}. The printed leads have standard errors of "
        f"{', '.join(f'{one / math.sqrt(5 * PARTITION_PER_SEED):.2f}' for one in spread.values())}.",
        simulated=listed(f"{n} {a} {signed(c['mean'])}" for (n, a), c in columns.items()),
        exact=listed(f"{n} {signed(x.gap('bits'), 3)} bits, {signed(x.gap('nats'), 3)} nats" for n, x in exact.items()),
    )


@claim("rocksample-near-best")
def rocksample_near_best(context: Context) -> Finding:
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
    told, near = [], {}
    for problem in problems:
        best = max((agent for p, agent in rows if p == problem), key=lambda agent: reward[problem, agent])
        lacks = reward[problem, best] - reward[problem, "efe"]
        near[f"on {problem}"] = {"nats": lacks <= near_margin(reward[problem, best])}
        share = f"{lacks:.2f} of {best}'s {signed(reward[problem, best])}" if lacks > SAME else "nothing"
        told.append(f"{problem} {share}")
    return found(
        by_parts(near),
        f"EFE lacks, of the best agent's reward: {listed(told)}. The caption has no margin for nearly; this is by the "
        f"one the paper has elsewhere (5%, at least 0.5). With 1 per bit EFE earns "
        f"{', '.join(signed(reward[problem, 'efe per bit']) for problem in problems)}; planning for reward alone, with "
        f"a leaf that sees all errands left, {', '.join(signed(reward[problem, 'anytime']) for problem in problems)}.",
        exact=listed(f"{p} " + ", ".join(f"{a} {signed(reward[p, a])}" for q, a in rows if q == p) for p in problems),
    )


def _rest(short: Cell, long: Cell) -> tuple[int, int]:
    """Fewest and most successes in the episodes that only the longer run has, as far as printed shares tell."""
    ends = []
    for sign in (-1, 1):
        counts = [(one.number + way * one.rounding) / 100 * n for one, n, way in
                  ((long, LONG, sign), (short, SHORT, -sign))]  # fmt: skip
        ends.append(min(max(round(counts[0] - counts[1]), 0), LONG - SHORT))
    return ends[0], ends[1]
