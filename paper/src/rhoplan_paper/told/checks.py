"""Numbers of the running text that can be computed, by column: sizes, ratios, tuned weights, bounds on scores.

Each check returns a finding, or None where its column has the number but means something else by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan.problems.registry import make
from rhoplan_paper.claims.numbers import rows
from rhoplan_paper.compare import CHANCE, Number
from rhoplan_paper.context import UNITS, Context, ask, exact_job, simulate_job
from rhoplan_paper.published import Cell, Quote, published, select
from rhoplan_paper.statistics import binomial, student_p
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, NO_DIFFERENCE, Finding
from rhoplan_paper.tables.asymmetry import TUNING, asymmetry, exact_d, formulas, scores_by_agent
from rhoplan_paper.told.findings import counted, mean, setting, told
from rhoplan_paper.verdicts import SAME, by_unit

Check = Callable[[Quote, Cell, Context], Finding | None]


def computed(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """The finding on a number that can be computed; None where it cannot."""
    check = CHECKS.get(cell.column)
    return check(quote, cell, context) if check else None


def hidden_states(spec: str) -> int:
    """How many hidden states are possible at the start: the product over factors."""
    return math.prod(int((factor.prior > 0).sum()) for factor in make(spec).factors)


def _states(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    if "problem" not in cell.row or cell.value is None:
        return None
    size = hidden_states(str(cell.row["problem"]))
    text = cell.text.replace(",", "")
    unit = 10 ** (len(text) - len(text.rstrip("0")))
    return counted(quote, cell, size // unit * unit, f"the problem has {size:,} hidden states")


def _alpha(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    if cell.row.get("problem") != "inspection":
        return None
    model = make("inspection")
    place = (*model.details["places"][0], 0)
    declared = {a.name: a.reward for a in model.menu(place) if a.name.startswith("declare")}
    ratios = {name: asymmetry(float(reward.max()), float(reward.min())) for name, reward in declared.items()}
    fits = [name for name, ratio in ratios.items() if math.isclose(ratio, cell.number)]
    shown = ", ".join(f"{ratio:g} for {name}" for name, ratio in ratios.items())
    return told(quote, cell, CONFIRMED if fits else CONTRADICTED, f"penalty by reward: {shown}", exact=shown)


def _threshold(quote: Quote, cell: Cell, context: Context) -> Finding:
    values = formulas(str(cell.row["problem"]))["threshold"]
    verdict = by_unit({u: _holds(cell, values[u]) for u in UNITS})
    shown = "; ".join(f"{values[u]:+.2f} ({u})" for u in UNITS)
    return told(quote, cell, verdict, f"Proposition 2's own formula gives {shown}", exact=shown)


def _mismatch(quote: Quote, cell: Cell, context: Context) -> Finding:
    """±x: the printed rows must go so far both ways."""
    tried = [one.number for one in select("misspecification-tiger mismatch")]
    tried += [one.number for one in select("misspecification-diagnosis mismatch")]
    low, high = min(tried), max(tried)
    reached = math.isclose(-low, cell.number) and math.isclose(high, cell.number)
    reason = f"the two tables go from {low:+.2f} to {high:+.2f}"
    return told(quote, cell, CONFIRMED if reached else CONTRADICTED, reason, exact=f"{low:+.2f} to {high:+.2f}")


TUNING_EPISODES = 200


def _weight(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """A tuned weight: whether tuning episodes can pick it, and whether its exact success is the highest at all."""
    if "problem" not in cell.row or cell.value not in TUNING:
        return None
    spec, agent = str(cell.row["problem"]), str(cell.row.get("agent", "planning-ig"))
    success = tuned_success(spec, agent, context)
    picked = {u: chance_of_choice(success[u], TUNING.index(cell.value)) for u in UNITS}
    best = {u: first_best(success[u]) for u in UNITS}
    verdict = by_unit({u: picked[u] >= CHANCE for u in UNITS})
    if verdict.word != CONTRADICTED and cell.value not in best.values():
        verdict = replace(verdict, word=NO_DIFFERENCE)
    shown = "; ".join(f"{best[u]:g} ({u})" for u in UNITS)
    reason = (
        f"of the grid, exact success is highest from a weight of {shown} on; {TUNING_EPISODES} episodes per weight, "
        "first maximum, pick the printed one with chance " + ", ".join(f"{picked[u]:.2g} in {u}" for u in UNITS)
    )
    return told(quote, cell, verdict, reason, exact=shown)


def _spread(quote: Quote, cell: Cell, context: Context) -> Finding:
    """The ratio of the tuned weights that the same sentence names."""
    specs = [str(one.row["problem"]) for one in quote.cells if one.column == "weight"]
    success = {spec: tuned_success(spec, "planning-ig", context) for spec in specs}
    best = {u: [first_best(success[spec][u]) for spec in specs] for u in UNITS}
    verdict = by_unit({u: math.isclose(max(ends) / min(ends), cell.number) for u, ends in best.items()})
    shown = "; ".join(f"{max(ends) / min(ends):g} ({u})" for u, ends in best.items())
    weights = "; ".join(f"{' and '.join(f'{w:g}' for w in ends)} in {u}" for u, ends in best.items())
    reason = f"exact success on {' and '.join(specs)} is highest from weights of {weights} on"
    return told(quote, cell, verdict, reason, exact=shown)


def tuned_success(spec: str, agent: str, context: Context) -> dict[str, list[float]]:
    """Exact success by unit at each weight of the tuning grid."""
    horizon = None if agent == "info-gain" else make(spec).horizon
    keys = [(unit, weight) for unit in UNITS for weight in TUNING]
    jobs = {(u, w): exact_job(spec, agent, horizon=horizon, weight=w, unit=u) for u, w in keys}
    found = ask(context, jobs)
    return {unit: [float(found[unit, weight]["success"]) for weight in TUNING] for unit in UNITS}


def first_best(success: list[float]) -> float:
    """The first weight of the grid with the highest success."""
    return next(w for w, value in zip(TUNING, success, strict=True) if value >= max(success) - SAME)


def chance_of_choice(success: list[float], place: int) -> float:
    """Chance that the weight in `place` has the first maximum when each is tried on episodes of its own."""
    counts = [binomial(TUNING_EPISODES, share) for share in success]
    below = [np.concatenate([[0.0], np.cumsum(one)]) for one in counts]
    chance = counts[place].copy()
    for other in range(len(success)):
        if other != place:
            chance *= below[other][:-1] if other < place else below[other][1:]
    return float(chance.sum())


def _holds(cell: Cell, value: float) -> bool:
    """Whether `value` is what the printed relation says of it."""
    outcomes = {">": value > cell.number, "<": value < cell.number, "≥": value >= cell.number - SAME}
    return outcomes.get(cell.relation, abs(value - cell.number) <= cell.rounding * (1 + 1e-9))


def _p_value(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """p of two means that differ by what the exact ones do, at the protocol of the problem's table."""
    if cell.row.get("problem") != "testbed":
        return None
    episodes = int(float(published().tables["testbed"].protocol[0]["episodes"]))
    scores, p = scores_by_agent("testbed", context), {}
    for u in UNITS:
        one, other = scores["efe"][u], scores[str(cell.row["versus"])][u]
        error = math.hypot(float(one["reward_sd"]), float(other["reward_sd"])) / math.sqrt(episodes)
        p[u] = student_p((float(one["reward"]) - float(other["reward"])) / error, 2 * episodes - 2)
    verdict = by_unit({u: _holds(cell, value) for u, value in p.items()})
    shown = "; ".join(f"{value:.1g} ({u})" for u, value in p.items())
    reason = f"p at the exact difference, {episodes:,} episodes each: {shown}"
    return told(quote, cell, verdict, reason, exact=shown)


OVER_EXPLORING = ("testbed", "diagnosis", "bandit")
"""Problems of the table of effect sizes on which tuned agents test more than EFE."""


def _d_bound(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """Effects on reward against agents that test more than EFE does: each must be as large as printed."""
    if "label" in cell.row or "versus" in cell.row:
        return None
    specs = [str(cell.row["problem"])] if "problem" in cell.row else list(OVER_EXPLORING)
    holds, parts = dict.fromkeys(UNITS, True), []
    for spec in specs:
        scores = scores_by_agent(spec, context)
        for name in ("info-gain", "planning-ig"):
            for unit in UNITS:
                efe, other = scores["efe"][unit], scores[name][unit]
                if other["tests"] > efe["tests"] + SAME:
                    d = exact_d(efe, other, metric="reward")
                    holds[unit] &= _holds(cell, d)
                    parts.append(f"{spec} {name} {d:+.2f} in {unit}")
    verdict = by_unit(holds)
    reason = f"against every tuned agent that tests more than EFE: {', '.join(parts)}"
    return told(quote, cell, verdict, reason, exact="; ".join(parts))


def _discounted(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """A number said of both agents at several discounts: it must hold of each row that the sentence is about."""
    if cell.relation not in ("≥", "~"):
        return None
    spec, heavy = str(cell.row["problem"]), [one.value for one in select("discount-heavy discount")]
    wanted = {
        (agent, one): ("discount", {"problem": spec, "agent": agent, "discount": one})
        for agent in ("efe", "planning")
        for one in dict.fromkeys(c.row["discount"] for c in select(f"discount {cell.column} problem={spec}"))
        if cell.relation == "≥" or one in heavy
    }
    ours = rows(context, wanted)
    scale = 100.0 if cell.column == "success" else 1.0
    values = {u: {key: scale * one.mean(cell.column, u) for key, one in ours.items()} for u in UNITS}
    verdict = by_unit({u: all(_holds(cell, value) for value in found.values()) for u, found in values.items()})
    shown = "; ".join(f"{min(found.values()):.2f} to {max(found.values()):.2f} ({u})" for u, found in values.items())
    worst = {u: min(found, key=found.__getitem__) for u, found in values.items()}
    least = ", ".join(f"{agent} at {discount:g} in {u}" for u, (agent, discount) in worst.items())
    reason = f"exact, over the discounts it is said of: {shown}; least {least}"
    return told(quote, cell, verdict, reason, exact=shown)


def _rule_reward(quote: Quote, cell: Cell, context: Context) -> Finding | None:
    """The rule at the two larger weights: a mean of episodes that must fit at one of them at least."""
    if "weights" not in cell.row:
        return None
    spec = str(cell.row["problem"])
    weights = [float(weight) for weight in str(cell.row["weights"]).split(",")]
    keys = [(unit, weight) for unit in UNITS for weight in weights]
    episodes = next(int(float(p["episodes"])) for p in published().tables["rocksample-extended"].protocol)
    exact = {(u, w): exact_job(spec, "heuristic", weight=w, unit=u) for u, w in keys}
    # The exact score has no spread here; that of episodes stands in.
    per_seed = context.episodes(episodes // len(PUBLISHED_SEEDS))
    drawn = {(u, w): simulate_job(spec, "heuristic", episodes=per_seed, weight=w, unit=u) for u, w in keys}
    context.results([*exact.values(), *drawn.values()])
    found, spread = ask(context, exact), ask(context, drawn)
    fits, texts = dict.fromkeys(UNITS, False), []
    for (unit, weight), score in found.items():
        sd = float(spread[unit, weight]["columns"]["reward"]["sd"])
        judged = mean(quote, cell, {"": Number(float(score["reward"]), sd)}, episodes)
        fits[unit] |= judged.verdict == CONFIRMED
        texts.append(f"{score['reward']:+.2f} at w={weight:g} in {unit} ({judged.reason})")
    verdict = by_unit(fits)
    return told(quote, cell, verdict, f"exact {', '.join(texts)}", exact="; ".join(texts))


CHECKS: dict[str, Check] = {
    "states": _states,
    "rocks": lambda q, cell, _: setting(q, cell, len(make(str(cell.row["problem"])).factors), "rocks of the problem"),
    "pairs": lambda q, cell, _: counted(
        q, cell, len(select("transfer reward")), "numbers of the table of weights and problems"
    ),
    "alpha": _alpha,
    "threshold": _threshold,
    "mismatch": _mismatch,
    "weight": _weight,
    "spread": _spread,
    "p_value": _p_value,
    "d_bound": _d_bound,
    "success": _discounted,
    "tests": _discounted,
    "reward": _rule_reward,
}
"""By column, what computes it."""
