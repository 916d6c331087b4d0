"""Claims of the results on the core problems: Tiger, Diagnosis and Bandit, effect sizes, and the sweep over weights."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from rhoplan.belief_math.information import per_nat
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLOSE, OBSERVING, Lead, lead_jobs, leads, sweeps
from rhoplan_paper.context import UNITS, Context, Result, ask, simulate_job, unit_jobs
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.tables.asymmetry import exact_d
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, by_unit_more, same
from rhoplan_paper.words import percent, points, signed

CORE = tuple(place for place in OBSERVING[:4] if place[0] != "testbed")
SEVERAL_TESTS = CORE[1:]
DEEP = ("planning", "planning-ig", "efe")

MAIN_PER_SEED, MAIN_EPISODES = 1000, 5000
TWO_SIDED = 1.959963984540054
"""Standard errors on either side of a mean that hold it in 95 of 100 samples."""

NEGLIGIBLE, MEDIUM_UP_TO, HUGE = 0.2, 0.8, 2.0
"""Cohen's d below which an effect is negligible, up to which it is at most medium, and what Tileworld is to exceed."""


@claim("tiger-parity")
def tiger_parity(context: Context) -> Found:
    tuned = ask(context, unit_jobs("tiger", "planning-ig", horizon=6, weight=20))
    sweep, lead = sweeps(context, [("tiger", 6)])[0], leads(context, [("tiger", 6)])[0]
    alike = {u: same(lead.planning, lead.efe[u]) and same(lead.planning, tuned[u]) for u in UNITS}
    first = next((step["lower"] for step in sweep.steps if abs(step["reward"] - lead.planning["reward"]) > SAME), None)
    return found(
        by_unit(alike),
        alike=all(alike.values()),
        planning=lead.planning,
        until=f"any weight from 0 to {first:.1f} per nat" if first else "any weight",
        printed=[cell("tiger", "reward", agent=agent).text for agent in DEEP],
    )


@claim("diagnosis-and-bandit-dominated")
def diagnosis_and_bandit_dominated(context: Context) -> Found:
    compared = leads(context, SEVERAL_TESTS)
    elsewhere = leads(context, [("tileworld:n=6", 2), ("diagnosis:n=4", 2), ("diagnosis:n=16", 2)])

    def both(some: list[Lead]) -> dict[str, list[str]]:
        return {
            u: [f"{x.label} {points(x.gap(u, 'success'))} and {signed(x.gap(u))} reward" for x in some] for u in UNITS
        }

    gaps = {u: [g for x in compared for g in (x.gap(u), x.gap(u, "success"))] for u in UNITS}
    return found(by_unit_more(gaps), leads=both(compared), elsewhere=both(elsewhere))


@claim("bootstrap-apart")
def bootstrap_apart(context: Context) -> Found:
    per_seed = context.episodes(MAIN_PER_SEED)
    agents: dict[str, dict[str, Any]] = {"planning": {"unit": "nats"}, "efe": {"weight": 1.0, "unit": "bits"}}
    drawn = {
        (problem, agent): simulate_job(problem, agent, episodes=per_seed, horizon=horizon, **settings)
        for problem, horizon in SEVERAL_TESTS
        for agent, settings in agents.items()
    }
    results = ask(context, {**drawn, **lead_jobs(SEVERAL_TESTS)})
    compared = leads(context, SEVERAL_TESTS)
    between = {u: {lead.problem: _between(lead, u) for lead in compared} for u in UNITS}
    means = []
    for (problem, _), agent in product(SEVERAL_TESTS, ("efe", "planning")):
        first = cell("main", "reward", problem=problem, agent=agent).value
        again = cell(f"bootstrap-{problem}", "reward", agent=agent).value
        means += [f"{problem} {agent} {first:+.2f} and {again:+.2f}"] if first != again else []
    sampled = {key: results[key]["columns"]["reward"] for key in drawn}
    return found(
        by_unit({u: all(gap > 0 for gap, _ in apart.values()) for u, apart in between.items()}),
        episodes=MAIN_EPISODES,
        between={
            u: [f"{name} {signed(gap, 3)} (overlap in {percent(p)} of runs)" for name, (gap, p) in apart.items()]
            for u, apart in between.items()
        },
        means=means,
        simulated=[
            f"{problem} {agent} {signed(c['mean'])} ± {TWO_SIDED * c['sd'] / math.sqrt(5 * per_seed):.2f}"
            for (problem, agent), c in sampled.items()
        ],
        exact=[f"{x.problem} efe {_interval(x.efe['bits'])} planning {_interval(x.planning)}" for x in compared],
    )


def _effects(compared: list[Lead], metric: str) -> dict[str, dict[str, float]]:
    """Exact d of EFE against Planning, by unit and problem."""
    return {u: {x.problem: exact_d(x.efe[u], x.planning, metric=metric) for x in compared} for u in UNITS}


@claim("reward-effects-negligible")
def reward_effects_negligible(context: Context) -> Found:
    compared = leads(context, CORE)
    effects = _effects(compared, "reward")
    verdict = by_unit({u: all(abs(d) < NEGLIGIBLE for d in ds.values()) for u, ds in effects.items()})
    alike = [x.problem for x in compared if all(same(x.planning, x.efe[u]) for u in UNITS)]
    return found(verdict, effects=effects, alike=alike)


@claim("success-effects-small")
def success_effects_small(context: Context) -> Found:
    effects = _effects(leads(context, SEVERAL_TESTS), "success")
    # The standard error of a small d is about that of a difference of two means whose spread is 1.
    error = math.sqrt(2 / MAIN_EPISODES)
    off = {p: d - cell("effect-sizes", "d", metric="success", problem=p).number for p, d in effects["bits"].items()}
    return found(
        by_unit({u: all(NEGLIGIBLE <= d < MEDIUM_UP_TO for d in ds.values()) for u, ds in effects.items()}),
        effects=effects,
        small=NEGLIGIBLE,
        medium=MEDIUM_UP_TO,
        apart=[f"{name} {abs(far) / error:.1f} SE" for name, far in off.items()],
    )


@claim("tileworld-effect")
def tileworld_effect(context: Context) -> Found:
    effects = _effects(leads(context, [("tileworld:n=6", 2), ("tileworld:n=8", 2)]), "reward")
    largest = {u: max(ds.values()) for u, ds in effects.items()}
    verdict = by_unit({u: d > HUGE for u, d in largest.items()})
    return found(verdict, effects=effects, largest=max(largest.values()))


@claim("reward-weight-near-one")
def reward_weight_near_one(context: Context) -> Found:
    swept = sweeps(context)
    low, high = (one.number for one in select("success-weights"))
    near = {u: sum(s.factor(u) <= CLOSE for s in swept) for u in UNITS}
    inside = {u: sum(s.best("success", per_nat(high, u))[1] >= per_nat(low, u) for s in swept) for u in UNITS}
    earns = "on every problem a weight near one earns most"
    succeeds = f"on every problem a weight between {low:g} and {high:g} succeeds most"
    earning = {s.problem: _span(*s.best("reward")) for s in swept}
    return found(
        by_parts(
            {
                earns: {u: near[u] == len(swept) for u in UNITS},
                succeeds: {u: inside[u] == len(swept) for u in UNITS},
            },
            core=[earns],
        ),
        earning=earning,
        close=CLOSE,
        problems=len(swept),
        near=near,
        inside=inside,
        low=low,
        high=high,
        rising=[s.problem for s in swept if s.top("success") > s.top("success", high) + SAME],
        spans=[f"{s.problem} reward {earning[s.problem]}, success {_span(*s.best('success', high))}" for s in swept],
    )


def _between(lead: Lead, unit: str) -> tuple[float, float]:
    """Reward between the 95% intervals of EFE (above) and Planning, and the chance that a run's intervals overlap."""
    errors = [float(score["reward_sd"]) / math.sqrt(MAIN_EPISODES) for score in (lead.efe[unit], lead.planning)]
    between = lead.gap(unit) - TWO_SIDED * sum(errors)
    return between, 0.5 * math.erfc(between / math.hypot(*errors) / math.sqrt(2))


def _interval(score: Result) -> str:
    half = TWO_SIDED * float(score["reward_sd"]) / math.sqrt(MAIN_EPISODES)
    return f"{signed(float(score['reward']))} [{signed(score['reward'] - half)}, {signed(score['reward'] + half)}]"


def _span(lower: float, upper: float) -> str:
    return f"{lower:.3g} to {upper:.3g}"
