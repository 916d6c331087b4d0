"""Claims about discounting and about models that are wrong: all exact, the world another than the model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import gap
from rhoplan_paper.context import UNITS, Context, ask, exact_job, rival_jobs
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, by_unit_more, same
from rhoplan_paper.words import listed, percent, points

DISCOUNTS = (0.9, 0.95, 0.96, 0.97, 0.98, 0.99, 1.0)
"""The paper's, and three between the two where it sees the lead come back."""
PRINTED_DISCOUNTS = (0.9, 0.95, 0.99, 1.0)
HEAVY = (0.9, 0.95)
SEVERAL_TESTS = ("diagnosis", "bandit")

LEAD = 0.01
"""A difference of success from which an agent leads: one percentage point."""

TIGER, DIAGNOSIS = ("tiger", 4, 0.85), ("diagnosis", 3, 0.8)
"""Problem, horizon and true accuracy of the misspecification studies."""
BELIEVED = {"tiger": (0.7, 0.75, 0.8, 0.85, 0.9, 0.95), "diagnosis": (0.65, 0.7, 0.75, 0.8, 0.85, 0.9)}
TRIED = [(name, horizon, p) for name, horizon, _ in (TIGER, DIAGNOSIS) for p in BELIEVED[name]]
ALMOST_CERTAIN = 0.999
"""Tiger's accuracy overestimated by just less than 0.15: with 0.15 the sensor would be certain, and a second, contrary
outcome impossible."""

Scores = dict[tuple[str, float, str], dict[str, Any]]


def discounted(context: Context, problems: Iterable[str], discounts: Iterable[float]) -> Scores:
    """Exact scores by problem, discount, and planning, myopic or the unit of EFE's weight."""
    places = list(product(problems, discounts))
    jobs = {(p, g, name): one for p, g in places for name, one in rival_jobs(p, discount=g).items()}
    return ask(context, jobs | {(p, g, "myopic"): exact_job(p, "myopic", discount=g) for p, g in places})


@claim("discount-needed-for-lead")
def discount_needed_for_lead(context: Context) -> Finding:
    needed = cell("discount-needed", "discount").number
    ours = discounted(context, SEVERAL_TESTS, DISCOUNTS)
    keys = [(problem, unit, discount) for problem in SEVERAL_TESTS for unit in UNITS for discount in DISCOUNTS]
    lead = {(p, u, g): ours[p, g, u]["success"] - ours[p, g, "planning"]["success"] for p, u, g in keys}
    ends = {u: {g: [lead[p, u, g] for p in SEVERAL_TESTS] for g in DISCOUNTS} for u in UNITS}
    heavy = f"no lead at {HEAVY[-1]:g} and below, where the paper looks"
    verdict = by_parts(
        {
            f"a lead from {needed:g} on": {u: all(min(e[g]) > LEAD for g in e if g >= needed) for u, e in ends.items()},
            heavy: {u: all(max(e[g]) <= LEAD for g in HEAVY) for u, e in ends.items()},
            f"none between {HEAVY[-1]:g} and {needed:g}": {
                u: all(max(e[g]) <= LEAD for g in e if HEAVY[-1] < g < needed) for u, e in ends.items()
            },
        },
        core=[heavy],
    )
    gone = all(lead[p, u, g] <= LEAD for p, u, g in keys if g in HEAVY)
    there = all(lead[p, u, g] > LEAD for p, u, g in keys if g >= needed)
    early = [f"{p} at {g:g} {points(lead[p, u, g])} in {u}" for p, u, g in keys if g < needed and lead[p, u, g] > LEAD]
    return found(
        verdict,
        f"EFE's lead in success is {'gone' if gone else 'not gone'} at {HEAVY[-1]:g} and below and "
        f"{'there' if there else 'not there'} from {needed:g} on. The paper tried nothing between these; below "
        f"{needed:g} there is a lead of more than {points(LEAD, 0)}: {listed(early) or 'nowhere'}.",
        exact=listed(
            f"{p} in {u}: " + ", ".join(f"{g:g} {points(lead[p, u, g])}" for g in DISCOUNTS[1:])
            for p in SEVERAL_TESTS
            for u in UNITS
        ),
    )


@claim("tiger-ignores-discount")
def tiger_ignores_discount(context: Context) -> Finding:
    ours = discounted(context, ("tiger",), PRINTED_DISCOUNTS)
    holds = {u: all(same(ours["tiger", g, u], ours["tiger", 1.0, u]) for g in PRINTED_DISCOUNTS) for u in UNITS}
    texts = {
        u: ", ".join(
            f"{ours['tiger', g, u]['tests']:.2f} tests and {percent(ours['tiger', g, u]['success'])} at {g:g}"
            for g in PRINTED_DISCOUNTS
            if g in (HEAVY[0], 1.0) or not same(ours["tiger", g, u], ours["tiger", 1.0, u])
        )
        for u in UNITS
    }
    return found(
        by_unit(holds),
        "EFE's exact scores for all the paper's discount factors are "
        + listed(f"{'one and the same' if holds[u] else 'not the same'} in {u} ({texts[u]})" for u in UNITS)
        + ".",
        exact=listed(f"{u}: {text}" for u, text in texts.items()),
    )


@claim("discounting-erases-lead")
def discounting_erases_lead(context: Context) -> Finding:
    ours = discounted(context, SEVERAL_TESTS, HEAVY)
    pairs = [(p, g) for p in SEVERAL_TESTS for g in HEAVY]
    alike = {u: all(same(ours[p, g, u], ours[p, g, "planning"]) for p, g in pairs) for u in UNITS}
    unlike = {u: [p for p, g in pairs if not same(ours[p, g, u], ours[p, g, "myopic"])] for u in UNITS}
    verdict = by_parts(
        {
            "EFE and Planning act alike, and the lead is gone": alike,
            "both act as if myopic": {u: not unlike[u] for u in UNITS},
        }
    )
    names = list(dict.fromkeys(name for u in UNITS for name in unlike[u]))
    texts = [
        f"{p} at {g:g}: EFE {ours[p, g, 'bits']['tests']:.2f} tests, Planning {ours[p, g, 'planning']['tests']:.2f}, "
        f"Myopic {ours[p, g, 'myopic']['tests']:.2f}"
        for p, g in pairs
    ]
    return found(
        verdict,
        f"At {HEAVY[0]:g} and {HEAVY[1]:g} EFE and Planning have {'the same' if all(alike.values()) else 'different'} "
        f"exact scores, so the lead is {'gone' if all(alike.values()) else 'not gone'}. They act like Myopic except on "
        f"{', '.join(names) or 'nothing'}: {listed(texts)}.",
        exact=listed(texts),
    )


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
def misspecification_tiger_robust(context: Context) -> Finding:
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
    return found(
        verdict,
        f"Where the paper looks, from {low:+.2f} to {high:+.2f}, success is at least "
        f"{percent(min(tried.values()), 2)}. It did not try larger overestimates: at {most:+.3f} EFE listens "
        f"{ours['tiger', ALMOST_CERTAIN, 'bits']['tests']:.2f} times and succeeds in {percent(min(beyond.values()))}; "
        "at +0.15 the sensor would be believed certain, and a contrary outcome impossible.",
        exact=f"tried {percent(min(tried.values()), 2)}, at {most:+.3f} {percent(min(beyond.values()), 2)}",
    )


@claim("misspecification-asymmetric")
def misspecification_asymmetric(context: Context) -> Finding:
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
    return found(
        verdict,
        f"Overestimating {'always' if all(harms.values()) else 'does not always'} cost tests and success; "
        "underestimating "
        + ("never cost either" if all(safe.values()) else "can cost both as well")
        + f". By believed accuracy, in bits: {listed(texts)}.",
        exact=listed(texts),
    )


@claim("information-buffers")
def information_buffers(context: Context) -> Finding:
    ours = misbelieved(context)
    over = [(problem, p) for problem, _, true in (TIGER, DIAGNOSIS) for p in BELIEVED[problem] if p > true]
    scores = {unit: [(ours[name, p, unit], ours[name, p, "planning"]) for name, p in over] for unit in UNITS}
    gaps = {unit: [gap(*pair, "success") for pair in pairs] for unit, pairs in scores.items()}
    equal = sum(same(ours[name, p, u], ours[name, p, "planning"]) for name, p in over for u in UNITS)
    texts = [
        f"{name} believed {p:g}: EFE {percent(ours[name, p, 'bits']['success'], 2)}, Planning "
        f"{percent(ours[name, p, 'planning']['success'], 2)}"
        for name, p in over
    ]
    return found(
        by_unit_more(gaps),
        f"At the paper's overestimates, in bits: {listed(texts)}. Of {len(over) * len(UNITS)} scores in bits "
        f"and nats, {equal} are the same with the information term and without it.",
        exact=listed(texts),
    )
