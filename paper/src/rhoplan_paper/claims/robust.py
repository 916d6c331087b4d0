"""Claims about discounting and about models that are wrong: all exact, the world another than the model."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import gap
from rhoplan_paper.compare import FAR
from rhoplan_paper.context import UNITS, Context, ask, exact_job, rival_jobs
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, by_unit_more, same
from rhoplan_paper.words import percent, points, printed, signed

DISCOUNTS = (0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0)
"""The paper's, and three between the two where it sees the lead come back."""
PRINTED_DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
HEAVY = (0.9, 0.95)
DISCOUNTED = ("tiger", "diagnosis", "bandit")
SEVERAL_TESTS = DISCOUNTED[1:]
DISCOUNT_EPISODES = 500

LEAD = 0.01
"""A difference of success from which an agent leads: one percentage point."""

TIGER, DIAGNOSIS = ("tiger", 4, 0.85), ("diagnosis", 3, 0.8)
"""Problem, horizon and true accuracy of the misspecification studies."""
BELIEVED = {"tiger": (0.7, 0.75, 0.8, 0.85, 0.9, 0.95), "diagnosis": (0.65, 0.7, 0.75, 0.8, 0.85, 0.9)}
TRIED = [(name, horizon, p) for name, horizon, _ in (TIGER, DIAGNOSIS) for p in BELIEVED[name]]
OVERESTIMATED = [(name, p) for name, _, true in (TIGER, DIAGNOSIS) for p in BELIEVED[name] if p > true]
ALMOST_CERTAIN = 0.999
"""Tiger's accuracy overestimated by just less than 0.15: with 0.15 the sensor would be certain, and a second, contrary
outcome impossible."""

Scores = dict[tuple[str, float, str], dict[str, Any]]


def discounted(context: Context, problems: Iterable[str], discounts: Iterable[float] = PRINTED_DISCOUNTS) -> Scores:
    """Exact scores by problem, discount, and planning, myopic or the unit of EFE's weight."""
    places = list(product(problems, discounts))
    jobs = {(p, g, name): one for p, g in places for name, one in rival_jobs(p, discount=g).items()}
    return ask(context, jobs | {(p, g, "myopic"): exact_job(p, "myopic", discount=g) for p, g in places})


@claim("discount-needed-for-lead")
def discount_needed_for_lead(context: Context) -> Found:
    needed = cell("discount-needed", "discount").number
    ours = discounted(context, SEVERAL_TESTS, DISCOUNTS)
    keys = list(product(SEVERAL_TESTS, UNITS, DISCOUNTS))
    lead = {(p, u, g): ours[p, g, u]["success"] - ours[p, g, "planning"]["success"] for p, u, g in keys}
    ends = {u: {g: [lead[p, u, g] for p in SEVERAL_TESTS] for g in DISCOUNTS} for u in UNITS}
    there = {u: all(min(e[g]) > LEAD for g in e if g >= needed) for u, e in ends.items()}
    gone = {u: all(max(e[g]) <= LEAD for g in HEAVY) for u, e in ends.items()}
    between = {u: all(max(e[g]) <= LEAD for g in e if HEAVY[-1] < g < needed) for u, e in ends.items()}
    heavy = f"no lead at {HEAVY[-1]:g} and below, where the paper looks"
    parts = {f"a lead from {needed:g} on": there, heavy: gone, f"none between {HEAVY[-1]:g} and {needed:g}": between}
    return found(
        by_parts(parts, core=[heavy]),
        gone=all(gone.values()),
        there=all(there.values()),
        heavy=HEAVY[-1],
        needed=needed,
        enough=LEAD,
        early=[
            f"{p} at {g:g} {points(lead[p, u, g])} in {u}" for p, u, g in keys if g < needed and lead[p, u, g] > LEAD
        ],
        leads={
            f"{p} in {u}:": [f"{g:g} {points(lead[p, u, g])}" for g in DISCOUNTS[1:]]
            for p, u in product(SEVERAL_TESTS, UNITS)
        },
    )


@claim("tiger-ignores-discount")
def tiger_ignores_discount(context: Context) -> Found:
    ours = discounted(context, ("tiger",))
    alike = {(g, u): same(ours["tiger", g, u], ours["tiger", 1.0, u]) for g in PRINTED_DISCOUNTS for u in UNITS}
    holds = {u: all(alike[g, u] for g in PRINTED_DISCOUNTS) for u in UNITS}
    shown = {u: [g for g in PRINTED_DISCOUNTS if g in (HEAVY[0], 1.0) or not alike[g, u]] for u in UNITS}
    texts = {
        u: [
            f"{ours['tiger', g, u]['tests']:.2f} tests and {percent(ours['tiger', g, u]['success'])} at {g:g}"
            for g in gs
        ]
        for u, gs in shown.items()
    }
    return found(by_unit(holds), same=holds, texts=texts)


@claim("discounting-erases-lead")
def discounting_erases_lead(context: Context) -> Found:
    ours = discounted(context, SEVERAL_TESTS, HEAVY)
    pairs = list(product(SEVERAL_TESTS, HEAVY))
    alike = {u: all(same(ours[p, g, u], ours[p, g, "planning"]) for p, g in pairs) for u in UNITS}
    unlike = {u: [p for p, g in pairs if not same(ours[p, g, u], ours[p, g, "myopic"])] for u in UNITS}
    verdict = by_parts(
        {
            "EFE and Planning act alike, and the lead is gone": alike,
            "both act as if myopic": {u: not unlike[u] for u in UNITS},
        }
    )
    texts = [
        f"{p} at {g:g}: EFE {ours[p, g, 'bits']['tests']:.2f} tests, Planning {ours[p, g, 'planning']['tests']:.2f}, "
        f"Myopic {ours[p, g, 'myopic']['tests']:.2f}"
        for p, g in pairs
    ]
    names = list(dict.fromkeys(name for u in UNITS for name in unlike[u]))
    return found(verdict, heavy=HEAVY, alike=all(alike.values()), unlike=names, texts=texts)


@claim("discounting-explores-more")
def discounting_explores_more(context: Context) -> Found:
    results = discounted(context, DISCOUNTED)

    def still_testing(problem: str, discount: float, unit: str) -> list[float]:
        """Probability of more than 0, 1, 2, 3 tests: whether it tests more at first."""
        shares = results[problem, discount, unit]["tests_distribution"]
        return [1 - sum(shares[: n + 1]) for n in range(4)]

    more, fewer = (dict.fromkeys(UNITS, 0) for _ in range(2))
    for problem, unit, discount in product(DISCOUNTED, UNITS, PRINTED_DISCOUNTS[:-1]):
        pairs = zip(still_testing(problem, discount, unit), still_testing(problem, 1.0, unit), strict=True)
        differences = [with_discount - without for with_discount, without in pairs]
        more[unit] += max(differences) > SAME
        fewer[unit] += min(differences) < -SAME
    return found(
        by_unit({u: more[u] > 0 and fewer[u] == 0 for u in UNITS}),
        cases=len(DISCOUNTED) * (len(PRINTED_DISCOUNTS) - 1),
        more=more,
        fewer=fewer,
        printed=printed("discount tests agent=efe"),
        tests=_by_discount(results, "tests"),
    )


@claim("discounting-harmless")
def discounting_harmless(context: Context) -> Found:
    results = discounted(context, DISCOUNTED)
    harmed: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for problem, unit, discount in product(DISCOUNTED, UNITS, PRINTED_DISCOUNTS[:-1]):
        full, less = (results[problem, one, unit] for one in (1.0, discount))
        spread = math.sqrt(sum(s["success"] * (1 - s["success"]) for s in (full, less)) / DISCOUNT_EPISODES)
        if full["success"] - less["success"] > FAR * spread:
            harmed[unit].append(
                f"{problem} at {discount:g} ({percent(less['success'])} for {percent(full['success'])}, "
                f"{signed(less['reward'])} for {signed(full['reward'])})"
            )
    return found(
        by_unit({u: not ones for u, ones in harmed.items()}),
        far=FAR,
        episodes=DISCOUNT_EPISODES,
        harmed=harmed,
        success=_by_discount(results, "success"),
    )


def _by_discount(results: Scores, column: str) -> dict[str, list[float]]:
    """EFE's scores with each of the paper's discounts, by problem and unit."""
    return {
        f"{problem} ({u})": [results[problem, g, u][column] for g in PRINTED_DISCOUNTS]
        for problem, u in product(DISCOUNTED, UNITS)
    }


def misbelieved(context: Context, beliefs: Iterable[tuple[str, int, float]] = TRIED) -> Scores:
    """Exact scores in the true world by problem, believed accuracy, and planning or the unit of EFE's weight.

    beliefs: problem, horizon and believed accuracy.
    """
    jobs = {
        (problem, believed, name): one
        for problem, horizon, believed in beliefs
        for name, one in rival_jobs(f"{problem}:accuracy={believed:g}", horizon, world=problem).items()
    }
    return ask(context, jobs)


@claim("misspecification-tiger-robust")
def misspecification_tiger_robust(context: Context) -> Found:
    floor = cell("misspecification-tiger-floor", "success")
    ours = misbelieved(context, [*TRIED, (*TIGER[:2], ALMOST_CERTAIN)])
    least = (floor.number - floor.rounding) / 100
    tried = {u: min(ours["tiger", p, u]["success"] for p in BELIEVED["tiger"]) for u in UNITS}
    beyond = {u: ours["tiger", ALMOST_CERTAIN, u]["success"] for u in UNITS}
    low, high, most = (p - TIGER[2] for p in (BELIEVED["tiger"][0], BELIEVED["tiger"][-1], ALMOST_CERTAIN))
    verdict = by_parts(
        {
            f"above {floor.text} at mismatches from {low:+.2f} to {high:+.2f}": {u: tried[u] >= least for u in UNITS},
            f"and on to {most:+.3f}": {u: beyond[u] >= least for u in UNITS},
        }
    )
    listens = ours["tiger", ALMOST_CERTAIN, "bits"]["tests"]
    worst = {"tried": min(tried.values()), "beyond": min(beyond.values())}
    return found(verdict, low=low, high=high, most=most, listens=listens, **worst)


@claim("misspecification-asymmetric")
def misspecification_asymmetric(context: Context) -> Found:
    ours = misbelieved(context)
    harms, safe = {}, {}
    for unit in UNITS:
        over, under = [], []
        for problem, _, true in (TIGER, DIAGNOSIS):
            right = ours[problem, true, unit]
            for believed in BELIEVED[problem]:
                score = ours[problem, believed, unit]
                fewer, lower = (score[name] < right[name] - SAME for name in ("tests", "success"))
                if believed > true:
                    over.append(fewer and lower)
                elif believed < true:
                    under.append(not fewer and not lower)
        harms[unit], safe[unit] = all(over), all(under)
    verdict = by_parts(
        {
            "who believes a test too good commits too soon": harms,
            "who believes it too poor only tests more": safe,
        }
    )
    shown = {name: (BELIEVED[name][0], true, BELIEVED[name][-1]) for name, _, true in (TIGER, DIAGNOSIS)}
    scores = {name: [(p, ours[name, p, "bits"]) for p in beliefs] for name, beliefs in shown.items()}
    texts = [
        f"{name} " + ", ".join(f"{p:g}: {one['tests']:.2f} tests, {percent(one['success'])}" for p, one in mine)
        for name, mine in scores.items()
    ]
    return found(verdict, harms=all(harms.values()), safe=all(safe.values()), texts=texts)


@claim("information-buffers")
def information_buffers(context: Context) -> Found:
    ours = misbelieved(context)
    pairs = {u: [(ours[name, p, u], ours[name, p, "planning"]) for name, p in OVERESTIMATED] for u in UNITS}
    texts = [
        f"{name} believed {p:g}: EFE {percent(efe['success'], 2)}, Planning {percent(planning['success'], 2)}"
        for (name, p), (efe, planning) in zip(OVERESTIMATED, pairs["bits"], strict=True)
    ]
    return found(
        by_unit_more({u: [gap(*pair, "success") for pair in mine] for u, mine in pairs.items()}),
        texts=texts,
        scores=len(OVERESTIMATED) * len(UNITS),
        equal=sum(same(*pair) for mine in pairs.values() for pair in mine),
    )
