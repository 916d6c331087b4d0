"""The extensions of the equivalence: discounting, and Proposition 3 on factored problems.

Couplings are worked out on the joint of all hidden factors (`measures.propositions`).
"""

from __future__ import annotations

import math

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.robust import PRINTED_DISCOUNTS as DISCOUNTS
from rhoplan_paper.claims.robust import discounted
from rhoplan_paper.claims.theory import EQUAL, equivalent, recursions
from rhoplan_paper.compare import FAR
from rhoplan_paper.context import UNITS, Context, ask
from rhoplan_paper.jobs import job
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.verdicts import by_unit
from rhoplan_paper.words import listed, percent, printed, signed

DISCOUNTED = ("tiger", "diagnosis", "bandit")
DISCOUNT_EPISODES = 500

FACTORED = (
    "rocksample:n=5,k=3", "rocksample:n=7,k=4", "rocksample:n=7,k=8", "rocksample:n=11,k=11", "rocksample-standard",
    "inspection:n=8", "inspection:n=16", "navigation:n=3", "navigation:n=5", "navigation:n=7",
)  # fmt: skip


@claim("discounting-keeps-equivalence")
def discounting_keeps_equivalence(context: Context) -> Finding:
    below = [discount for discount in DISCOUNTS if discount < 1]
    results = ask(context, {(g, name): one for g in below for name, one in recursions(context, discount=g).items()})
    holds, told = equivalent(results.values())
    return found(
        by_unit({"nats": holds}),
        f"The recursion of proposition 1 with discounts {', '.join(map(str, below))} on what follows: {told}.",
        exact=told,
    )


@claim("discounting-explores-more")
def discounting_explores_more(context: Context) -> Finding:
    results = discounted(context, DISCOUNTED, DISCOUNTS)

    def still_testing(problem: str, discount: float, unit: str) -> list[float]:
        """Probability of more than 0, 1, 2, 3 tests: whether it tests more at first."""
        shares = results[problem, discount, unit]["tests_distribution"]
        return [1 - sum(shares[: n + 1]) for n in range(4)]

    more, fewer = (dict.fromkeys(UNITS, 0) for _ in range(2))
    for problem in DISCOUNTED:
        for unit in UNITS:
            for discount in DISCOUNTS[:-1]:
                pairs = zip(still_testing(problem, discount, unit), still_testing(problem, 1.0, unit), strict=True)
                differences = [with_discount - without for with_discount, without in pairs]
                more[unit] += max(differences) > EQUAL
                fewer[unit] += min(differences) < -EQUAL
    cases = len(DISCOUNTED) * (len(DISCOUNTS) - 1)
    return found(
        by_unit({u: more[u] > 0 and fewer[u] == 0 for u in UNITS}),
        f"Chance that EFE makes more than 0, 1, 2, 3 tests, with a discount against without, in {cases} cases: "
        + listed(f"in {u} higher in {more[u]}, lower in {fewer[u]}, else the same" for u in UNITS)
        + ".",
        published="tests at 0.9, 0.95, 0.99, 1: " + printed("discount tests agent=efe"),
        exact=listed(
            f"{problem} ({u}) " + ", ".join(f"{results[problem, g, u]['tests']:.2f}" for g in DISCOUNTS)
            for problem in DISCOUNTED
            for u in UNITS
        ),
    )


@claim("discounting-harmless")
def discounting_harmless(context: Context) -> Finding:
    results = discounted(context, DISCOUNTED, DISCOUNTS)
    harmed: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for problem in DISCOUNTED:
        for unit in UNITS:
            full = results[problem, 1.0, unit]
            for discount in DISCOUNTS[:-1]:
                less = results[problem, discount, unit]
                drop = full["success"] - less["success"]
                spread = math.sqrt(sum(s["success"] * (1 - s["success"]) for s in (full, less)) / DISCOUNT_EPISODES)
                if drop > FAR * spread:
                    harmed[unit].append(
                        f"{problem} at {discount:g} ({percent(less['success'])} for {percent(full['success'])}, "
                        f"{signed(less['reward'])} for {signed(full['reward'])})"
                    )
    return found(
        by_unit({u: not ones for u, ones in harmed.items()}),
        f"Success falls by more than {FAR:.1f} SE of {DISCOUNT_EPISODES} episodes "
        + listed(f"in {u} on {', '.join(ones) or 'none'}" for u, ones in harmed.items())
        + ".",
        exact=listed(
            f"{problem} ({u}) " + ", ".join(percent(results[problem, g, u]["success"]) for g in DISCOUNTS)
            for problem in DISCOUNTED
            for u in UNITS
        ),
    )


@claim("proposition-3")
def proposition_3(context: Context) -> Finding:
    situations = 60 if context.full else 20
    results = ask(context, {p: job("joint_epistemic", problem=p, situations=situations) for p in FACTORED})
    coupling, gap, moving = (max(r[name] for r in results.values()) for name in ("coupling", "gap", "moving"))
    tests, moves = (sum(r[name] for r in results.values()) for name in ("tests", "moves"))
    still = [problem for problem, result in results.items() if not result["moves"]]
    return found(
        by_unit({"nats": max(coupling, gap, moving) <= EQUAL}),
        f"On {len(results)} factored problems, at random beliefs, on the joint of all hidden factors: the coupling of "
        f"{tests} tests and {moves} moves is at most {coupling:.1e} nats, a test's epistemic value is its own factor's "
        f"information within {gap:.1e}, a move's is at most {moving:.1e}. "
        f"Every move is a test on {', '.join(still) or 'none'}.",
        exact=f"coupling {coupling:.1e}, information apart {gap:.1e}, of moves {moving:.1e}",
    )


@claim("destructive-tests-excluded")
def destructive_tests_excluded(context: Context) -> Finding:
    results = context.results(job("destructive_test", horizon=horizon) for horizon in (1, 2, 3))
    first, differing = results[0], [result["decisions"] for result in results]
    fails = first["coupling"] > EQUAL and first["term_gap"] > EQUAL
    return found(
        by_unit({"nats": fails and any(differing)}),
        f"Drilling, which may crack what it probes, has a coupling of {first['coupling']:.3f} nats at the prior "
        f"(tapping: {first['harmless']:.1e}). EFE's epistemic value and what the outcome alone tells differ by up to "
        f"{first['term_gap']:.3f} nats, and the decisions at {', '.join(map(str, differing))} of {first['beliefs']} "
        "beliefs at horizons 1, 2, 3.",
        exact=f"coupling {first['coupling']:.3f} nats; {max(differing)} of {first['beliefs']} decisions differ",
    )
