"""Claims of the results on the core problems: Tiger, Diagnosis and Bandit, effect sizes, and the sweep over weights."""

from __future__ import annotations

import math

from rhoplan.belief.information import per_nat
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLOSE, Lead, lead_jobs, leads, sweeps
from rhoplan_paper.context import UNITS, Context, Result, ask, exact_job, simulate_job
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.tables.asymmetry import exact_d
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, by_unit_more, same
from rhoplan_paper.words import listed, percent, points, signed

CORE = (("tiger", 6), ("diagnosis", 3), ("bandit", 2))
SEVERAL_TESTS = CORE[1:]
DEEP = ("planning", "planning-ig", "efe")

MAIN_PER_SEED, MAIN_EPISODES = 1000, 5000
TWO_SIDED = 1.959963984540054
"""Standard errors on either side of a mean that hold it in 95 of 100 samples."""

NEGLIGIBLE, MEDIUM_UP_TO, HUGE = 0.2, 0.8, 2.0
"""Cohen's d below which an effect is negligible, up to which it is at most medium, and what Tileworld is to exceed."""


@claim("tiger-parity")
def tiger_parity(context: Context) -> Finding:
    jobs = {f"planning-ig {unit}": exact_job("tiger", "planning-ig", horizon=6, weight=20, unit=unit) for unit in UNITS}
    results = ask(context, jobs)
    sweep, lead = sweeps(context, [("tiger", 6)])[0], leads(context, [("tiger", 6)])[0]
    alike = {u: same(lead.planning, lead.efe[u]) and same(lead.planning, results[f"planning-ig {u}"]) for u in UNITS}
    first = next((step["lower"] for step in sweep.steps if abs(step["reward"] - lead.planning["reward"]) > SAME), None)
    deep = [cell("tiger", "reward", agent=agent).text for agent in DEEP]
    until = f"any weight from 0 to {first:.1f} per nat" if first else "any weight"
    return found(
        by_unit(alike),
        f"Planning, Planning+IG at 20 and EFE {'are one' if all(alike.values()) else 'are not one'} policy "
        f"({percent(lead.planning['success'], 2)}, {signed(lead.planning['reward'])} for Planning). The policy is "
        f"the same at {until}: no weight is needed, 0 does. Printed are {', '.join(deep)}.",
        exact=f"{percent(lead.planning['success'], 2)}, {signed(lead.planning['reward'], 3)} for each",
        headline=(
            signed(lead.planning["reward"]),
            f"on Tiger, exactly, for Planning; tuned Planning+IG and EFE "
            f"{'are the same policy' if all(alike.values()) else 'are other policies'}. Printed are {', '.join(deep)}.",
        ),
    )


@claim("diagnosis-and-bandit-dominated")
def diagnosis_and_bandit_dominated(context: Context) -> Finding:
    compared = leads(context, SEVERAL_TESTS)
    elsewhere = leads(context, [("tileworld:n=6", 2), ("diagnosis:n=4", 2), ("diagnosis:n=16", 2)])
    return found(
        by_unit_more({u: [g for x in compared for g in (x.gap(u), x.gap(u, "success"))] for u in UNITS}),
        f"{_both(compared, 'bits')} in bits; {_both(compared, 'nats')} in nats. Elsewhere with several tests: "
        f"{_both(elsewhere, 'bits')} in bits; {_both(elsewhere, 'nats')} in nats.",
        exact=_both(compared, "bits"),
    )


@claim("bootstrap-apart")
def bootstrap_apart(context: Context) -> Finding:
    per_seed = context.episodes(MAIN_PER_SEED)
    drawn = {}
    for problem, horizon in SEVERAL_TESTS:
        drawn[problem, "planning"] = simulate_job(problem, "planning", episodes=per_seed, horizon=horizon, unit="nats")
        drawn[problem, "efe"] = simulate_job(
            problem, "efe", episodes=per_seed, horizon=horizon, weight=1.0, unit="bits"
        )
    results = ask(context, {**drawn, **lead_jobs(SEVERAL_TESTS)})
    compared = leads(context, SEVERAL_TESTS)
    holds, told = {}, []
    for unit in UNITS:
        apart = {lead.problem: _between(lead, unit) for lead in compared}
        holds[unit] = all(between > 0 for between, _ in apart.values())
        gaps = [f"{name} {signed(gap, 3)} (overlap in {percent(p)} of runs)" for name, (gap, p) in apart.items()]
        told.append(f"{unit}: {', '.join(gaps)}")
    means = [
        f"{problem} {agent} {cell('main', 'reward', problem=problem, agent=agent).value:+.2f} and "
        f"{cell(f'bootstrap-{problem}', 'reward', agent=agent).value:+.2f}"
        for problem, _ in SEVERAL_TESTS
        for agent in ("efe", "planning")
        if cell("main", "reward", problem=problem, agent=agent).value
        != cell(f"bootstrap-{problem}", "reward", agent=agent).value
    ]
    sampled = {key: results[key]["columns"]["reward"] for key in drawn}
    return found(
        by_unit(holds),
        f"Between the 95% intervals that {MAIN_EPISODES:,} episodes have around the exact means lies {listed(told)}. "
        f"Printed of as many episodes, in the main table and here: {', '.join(means) or 'the same means'}.",
        simulated=listed(
            f"{problem} {agent} {signed(c['mean'])} ± {TWO_SIDED * c['sd'] / math.sqrt(5 * per_seed):.2f}"
            for (problem, agent), c in sampled.items()
        ),
        exact=listed(f"{x.problem} efe {_interval(x.efe['bits'])} planning {_interval(x.planning)}" for x in compared),
    )


@claim("reward-effects-negligible")
def reward_effects_negligible(context: Context) -> Finding:
    compared = leads(context, CORE)
    effects = {u: {x.problem: exact_d(x.efe[u], x.planning, metric="reward") for x in compared} for u in UNITS}
    alike = [x.problem for x in compared if all(same(x.planning, x.efe[u]) for u in UNITS)]
    return found(
        by_unit({u: all(abs(d) < NEGLIGIBLE for d in ds.values()) for u, ds in effects.items()}),
        f"Exact d: {_effects(effects)}. The two are one policy, any d just noise, on {', '.join(alike) or 'none'}.",
        exact=_effects(effects),
    )


@claim("success-effects-small")
def success_effects_small(context: Context) -> Finding:
    compared = leads(context, SEVERAL_TESTS)
    effects = {u: {x.problem: exact_d(x.efe[u], x.planning, metric="success") for x in compared} for u in UNITS}
    # The standard error of a small d is about that of a difference of two means whose spread is 1.
    error = math.sqrt(2 / MAIN_EPISODES)
    off = {x.problem: (cell("effect-sizes", "d", metric="success", problem=x.problem).number) for x in compared}
    apart = ", ".join(f"{name} {abs(d - effects['bits'][name]) / error:.1f} SE" for name, d in off.items())
    return found(
        by_unit({u: all(NEGLIGIBLE <= d < MEDIUM_UP_TO for d in ds.values()) for u, ds in effects.items()}),
        f"Exact d: {_effects(effects)}; small is from {NEGLIGIBLE} and medium up to {MEDIUM_UP_TO}. The printed values "
        f"are off by {apart} (bits).",
        exact=_effects(effects),
    )


@claim("tileworld-effect")
def tileworld_effect(context: Context) -> Finding:
    compared = leads(context, [("tileworld:n=6", 2), ("tileworld:n=8", 2)])
    effects = {u: {x.problem: exact_d(x.efe[u], x.planning, metric="reward") for x in compared} for u in UNITS}
    return found(
        by_unit({u: max(ds.values()) > HUGE for u, ds in effects.items()}),
        f"Exact d of reward, EFE against Planning: {_effects(effects)}. The claim does not say on which grid; the "
        f"largest of all is {max(d for ds in effects.values() for d in ds.values()):.2f}.",
        exact=_effects(effects),
    )


@claim("reward-weight-near-one")
def reward_weight_near_one(context: Context) -> Finding:
    swept = sweeps(context)
    low, high = (one.number for one in select("success-weights"))
    near, inside = {}, {}
    for unit in UNITS:
        near[unit] = [s for s in swept if s.factor(unit) <= CLOSE]
        most = per_nat(high, unit)
        inside[unit] = [s for s in swept if s.best("success", most)[1] >= per_nat(low, unit)]
    earns = "on every problem a weight near one earns most"
    verdict = by_parts(
        {
            earns: {u: len(near[u]) == len(swept) for u in UNITS},
            f"on every problem a weight between {low:g} and {high:g} succeeds most": {
                u: len(inside[u]) == len(swept) for u in UNITS
            },
        },
        core=[earns],
    )
    rising = [s.problem for s in swept if s.top("success") > s.top("success", high) + SAME]
    return found(
        verdict,
        "The weights that earn most, per nat: "
        + listed(f"{s.problem} {_span(*s.best('reward'))}" for s in swept)
        + f". Within a factor of {CLOSE:g} of 1: {len(near['bits'])} of {len(swept)} in bits, {len(near['nats'])} in "
        f"nats. Of the weights up to {high:g}, one between {low:g} and {high:g} has the most success on "
        f"{len(inside['bits'])} of {len(swept)} in bits, {len(inside['nats'])} in nats; but beyond {high:g} per nat "
        f"there is more on {', '.join(rising) or 'none'}.",
        exact=listed(
            f"{s.problem} reward {_span(*s.best('reward'))}, success {_span(*s.best('success', high))}" for s in swept
        ),
    )


def _between(lead: Lead, unit: str) -> tuple[float, float]:
    """Reward between the 95% intervals of EFE (above) and Planning, and the chance that a run's intervals overlap."""
    errors = [float(score["reward_sd"]) / math.sqrt(MAIN_EPISODES) for score in (lead.efe[unit], lead.planning)]
    between = lead.gap(unit) - TWO_SIDED * sum(errors)
    return between, 0.5 * math.erfc(between / math.hypot(*errors) / math.sqrt(2))


def _interval(score: Result) -> str:
    half = TWO_SIDED * float(score["reward_sd"]) / math.sqrt(MAIN_EPISODES)
    return f"{signed(float(score['reward']))} [{signed(score['reward'] - half)}, {signed(score['reward'] + half)}]"


def _both(compared: list[Lead], unit: str) -> str:
    return ", ".join(f"{x.label} {points(x.gap(unit, 'success'))} and {signed(x.gap(unit))} reward" for x in compared)


def _effects(effects: dict[str, dict[str, float]]) -> str:
    return listed(f"{u}: " + ", ".join(f"{name} {signed(d, 3)}" for name, d in ds.items()) for u, ds in effects.items())


def _span(lower: float, upper: float) -> str:
    return f"{lower:.3g} to {upper:.3g}"
