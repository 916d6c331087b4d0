"""Claims about what happens within episodes, and how it depends on stakes, tests and size: exact throughout."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import leads
from rhoplan_paper.context import UNITS, Context, Result, ask, at_once, efe_jobs, exact_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import UNCHECKED, Finding, Verdict
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import listed, percent, points, signed

PENALTIES = (1, 2, 5, 10, 20, 50, 100, 200, 500)
LOW_PENALTY = 10
"""Up to here penalties are low: no more than what a right answer pays."""

SIZES = (2, 4, 8, 16)
FORAGING = "diagnosis:n=8,k=3,accuracy=0.75"
FORAGING_STEPS = 40
TUNED = 100.0
"""Weight of Planning+IG on Diagnosis and Bandit; the figures do not say which they use."""

STOPPING = {"diagnosis": 3, "diagnosis:n=8,k=3": 3, "bandit": 2}

AS_FAST = 0.02
"""Part of the first entropy by which two curves may differ and still fall as fast."""


@claim("sweep-adapts")
def sweep_adapts(context: Context) -> Finding:
    jobs: dict[tuple[int, str], Job] = {}
    for penalty in PENALTIES:
        problem = f"tiger:wrong=-{penalty}"
        jobs[penalty, "planning"] = exact_job(problem, "planning", horizon=6)
        for unit, one in efe_jobs(problem, 6).items():
            jobs[penalty, f"efe {unit}"] = one
            jobs[penalty, f"fixed {unit}"] = exact_job(problem, "info-gain", weight=20.0, unit=unit)
    ours = ask(context, jobs)

    def tests(penalty: int, who: str) -> float:
        return float(ours[penalty, who]["tests"])

    def rises(who: str) -> bool:
        counts = [tests(penalty, who) for penalty in PENALTIES]
        return counts[-1] > counts[0] + SAME and all(b >= a - SAME for a, b in pairwise(counts))

    low = [penalty for penalty in PENALTIES if penalty < LOW_PENALTY]

    def over_listens(who: str) -> bool:
        extra = [tests(penalty, who) - tests(penalty, "planning") for penalty in low]
        return max(extra) > SAME and min(extra) >= -SAME

    holds = {
        unit: rises("planning")
        and rises(f"efe {unit}")
        and not rises(f"fixed {unit}")
        and over_listens(f"fixed {unit}")
        for unit in UNITS
    }

    def course(who: str) -> str:
        return ", ".join(f"{tests(penalty, who):.2f}" for penalty in PENALTIES)

    def loss(penalty: int, unit: str) -> str:
        return signed(float(ours[penalty, f"fixed {unit}"]["reward"]) - float(ours[penalty, "planning"]["reward"]))

    first, last = PENALTIES[0], PENALTIES[-1]
    return found(
        by_unit(holds),
        f"Tests at penalties {', '.join(map(str, PENALTIES))}: Planning {course('planning')}; "
        + listed(f"in {u} EFE {course(f'efe {u}')}, Info Gain w=20 {course(f'fixed {u}')}" for u in UNITS)
        + ". The fixed weight's reward compared with Planning's: "
        + listed(f"{loss(first, u)} at {first} and {loss(last, u)} at {last} in {u}" for u in UNITS)
        + ".",
        published=f"penalties {first} to {last}, Info Gain at w=20",
        exact=listed(
            f"{u}: EFE {tests(first, f'efe {u}'):.2f} to {tests(last, f'efe {u}'):.2f} tests, fixed weight "
            f"{tests(first, f'fixed {u}'):.2f} to {tests(last, f'fixed {u}'):.2f}"
            for u in UNITS
        ),
    )


@claim("tests-help")
def tests_help(context: Context) -> Finding:
    compared = leads(context, [(f"diagnosis:n=8,k={k}", 3) for k in (1, 2, 3)])
    gaps = {unit: [lead.gap(unit, "success") for lead in compared] for unit in UNITS}
    holds = {u: g[-1] > g[0] and all(b >= a for a, b in pairwise(g)) for u, g in gaps.items()}
    texts = [f"{u}: " + ", ".join(f"K={k} {points(gap)}" for k, gap in enumerate(gaps[u], 1)) for u in UNITS]
    return found(
        by_unit(holds),
        f"EFE's exact success minus Planning's, {listed(texts)}. Fewer than three tests cannot tell eight conditions "
        "apart, whoever plans.",
        published="from K=1 to K=3, no numbers",
        exact=listed(texts),
    )


@claim("scaling-needs-depth")
def scaling_needs_depth(context: Context) -> Finding:
    deeper_places = [("diagnosis", 3), ("diagnosis:n=2", 3), ("diagnosis:n=8", 3), ("diagnosis:n=16", 3)]
    shallow, deeper = at_once(
        lambda: leads(context, [(f"diagnosis:n={n}", 2) for n in SIZES]), lambda: leads(context, deeper_places)
    )
    alike = {u: all(same(one.planning, one.efe[u]) for one in shallow) for u in UNITS}
    lead = deeper[0]
    without = {u: [one.problem for one in deeper[1:] if one.gap(u, "success") <= 0] for u in UNITS}
    both = [f"N={n} {percent(one.efe['bits']['success'], 2)}" for n, one in zip(SIZES, shallow, strict=True)]
    return found(
        by_unit({u: alike[u] and lead.gap(u, "success") > 0 for u in UNITS}),
        f"At H=2 EFE's and Planning's exact scores are {'the same' if all(alike.values()) else 'not all the same'} "
        f"({listed(both)}), so what the table prints between them is chance. At H=3 with N=4 EFE is ahead by "
        f"{points(lead.gap('bits', 'success'))} in bits, {points(lead.gap('nats', 'success'))} in nats; at H=3 it has "
        "no lead on " + listed(f"{', '.join(without[u]) or 'none'} in {u}" for u in UNITS) + ".",
        exact=listed([*both, f"N=4, H=3 {points(lead.gap('bits', 'success'))}"]),
    )


@claim("scaling-over-myopic")
def scaling_over_myopic(context: Context) -> Finding:
    myopic_jobs = {n: exact_job(f"diagnosis:n={n}", "myopic") for n in SIZES}
    compared, myopic = at_once(
        lambda: leads(context, [(f"diagnosis:n={n}", 2) for n in SIZES]), lambda: ask(context, myopic_jobs)
    )
    success = {u: [float(one.efe[u]["success"]) for one in compared] for u in UNITS}
    gaps = {u: [mine - float(myopic[n]["success"]) for n, mine in zip(SIZES, success[u], strict=True)] for u in UNITS}
    equal = all(same(one.planning, one.efe[u]) for one in compared for u in UNITS)
    texts = [f"{u}: " + ", ".join(f"N={n} {points(gap)}" for n, gap in zip(SIZES, gaps[u], strict=True)) for u in UNITS]
    return found(
        by_unit({u: all(b > a for a, b in pairwise(g)) for u, g in gaps.items()}),
        f"EFE's exact lead over Myopic in success, {listed(texts)}. Planning at H=2 has "
        f"{'the very same' if equal else 'another'} lead.",
        exact=listed(texts),
    )


@claim("commits-at-crossover")
def commits_at_crossover(context: Context) -> Finding:
    settings = {"problem": "tiger", "agent": "efe", "horizon": 6, "weight": 1.0}
    ours = ask(context, {unit: job("from_within", unit=unit, **settings) for unit in UNITS})
    wrong = {unit: one["early"] + one["late"] for unit, one in ours.items()}
    split = {unit: one["highest_committing"] < one["lowest_testing"] for unit, one in ours.items()}
    texts = [
        f"{u}: tests down to {one['lowest_testing']:.3f} nats of entropy, commits from {one['highest_committing']:.3f}"
        for u, one in ours.items()
    ]
    return found(
        by_unit({u: not wrong[u] and split[u] for u in UNITS}),
        f"At the {ours['bits']['beliefs']} beliefs that an episode can come to, {max(wrong.values())} decisions lie on "
        f"the wrong side of the crossing of the two values. {listed(texts)}. To take the larger value is what the "
        "agent is; that entropy tells the sides apart is a fact about Tiger.",
        exact=listed(texts),
    )


@claim("commits-earlier")
def commits_earlier(context: Context) -> Finding:
    first, last = (int(cell("efficiency-drop", "tests", bound=bound).number) for bound in ("low", "high"))
    jobs: dict[tuple[str, str, str], Job] = {("planning", "nats", "score"): exact_job(FORAGING, "planning", horizon=3)}
    for unit in UNITS:
        for agent, weight in (("efe", 1.0), ("planning-ig", TUNED)):
            settings: dict[str, Any] = {"agent": agent, "horizon": 3, "weight": weight, "unit": unit}
            jobs[agent, unit, "score"] = exact_job(FORAGING, **settings)
            jobs[agent, unit, "course"] = job("course", problem=FORAGING, steps=FORAGING_STEPS, **settings)
    ours = ask(context, jobs)

    def within(agent: str, unit: str) -> float:
        return math.fsum(ours[agent, unit, "score"]["tests_distribution"][first : last + 1])

    fast: dict[str, bool] = {}
    soon: dict[str, bool] = {}
    mostly: dict[str, bool] = {}
    texts = []
    for unit in UNITS:
        efe, bonus = (ours[agent, unit, "course"]["entropy"][: first + 1] for agent in ("efe", "planning-ig"))
        between = max(abs(a - b) for a, b in zip(efe, bonus, strict=True))
        sooner, later = (ours[agent, unit, "score"]["tests"] for agent in ("efe", "planning-ig"))
        fast[unit], soon[unit] = between <= AS_FAST * efe[0], sooner < later
        mostly[unit] = within("efe", unit) > 0.5
        texts.append(
            f"{unit}: {sooner:.1f} tests against {later:.1f}, entropies at most {between:.3f} nats apart up to test "
            f"{first}, {percent(within('efe', unit))} of EFE's episodes stop after {first} to {last}"
        )
    verdict = by_parts(
        {
            "EFE sheds entropy as fast as Planning+IG": fast,
            "EFE commits sooner": soon,
            f"EFE commits mostly at steps {first} to {last}": mostly,
        }
    )
    return found(
        verdict,
        f"Against Planning+IG at w={TUNED:g} (the paper does not say which weight), {listed(texts)}. Of Planning's "
        f"episodes {percent(within('planning', 'nats'))} stop then, after "
        f"{ours['planning', 'nats', 'score']['tests']:.1f} tests on average.",
        published=f"EFE stops mostly after {first} to {last}",
        exact=listed(texts),
    )


@claim("picks-most-informative")
def picks_most_informative(context: Context) -> Finding:
    settings = {"problem": FORAGING, "horizon": 3}
    jobs = {u: job("from_within", agent="efe", weight=1.0, unit=u, **settings) for u in UNITS}
    ours = ask(context, {**jobs, "planning": job("from_within", agent="planning", **settings)})
    spread = {u: (ours[u]["spread"][0], max(ours[u]["spread"])) for u in UNITS}
    differ = {u: low <= SAME < high for u, (low, high) in spread.items()}
    always = {u: differ[u] and ours[u]["most_informative"] > 1 - SAME for u in UNITS}
    could = {u: differ[u] and ours[u]["indifferent"] > 1 - SAME for u in UNITS}
    by_ties = not any(always.values()) and all(could.values())
    verdict = Verdict(UNCHECKED, "either") if by_ties else by_unit(always)
    shares = listed(f"{percent(ours[u]['most_informative'])} in {u}" for u in UNITS)
    could_be = listed(f"{percent(ours[name]['indifferent'], 0)} for {who}" for name, who in
                      (("bits", "EFE in bits"), ("nats", "EFE in nats"), ("planning", "Planning")))  # fmt: skip
    return found(
        verdict,
        f"Tests differ by {spread['bits'][0]:.3f} nats at first and by up to {spread['bits'][1]:.3f} later. Where ties "
        f"go to the first test, EFE's tests are the most informative ones in {shares}, at worst they tell "
        f"{percent(min(ours[u]['least_share'] for u in UNITS), 0)} of the best. A most informative test is worth as "
        f"much as the one taken in {could_be}, which does not count information"
        + (": so it is a matter of how ties are settled, which the paper does not say." if by_ties else "."),
        exact=shares,
    )


@claim("stops-consistently")
def stops_consistently(context: Context) -> Finding:
    jobs: dict[tuple[str, str, str], Job] = {}
    for problem, horizon in STOPPING.items():
        jobs[problem, "planning", "nats"] = exact_job(problem, "planning", horizon=horizon)
        for unit in UNITS:
            jobs[problem, "efe", unit] = exact_job(problem, "efe", horizon=horizon, unit=unit)
            tuned = exact_job(problem, "planning-ig", horizon=horizon, weight=TUNED, unit=unit)
            jobs[problem, "planning-ig", unit] = tuned
    ours = ask(context, jobs)
    holds: dict[str, dict[str, bool]] = {}
    told = []
    for unit in UNITS:
        trios = {p: (ours[p, "planning", "nats"], ours[p, "efe", unit], ours[p, "planning-ig", unit]) for p in STOPPING}
        for words, true in (
            (
                "EFE's stopping times spread less than those of Planning+IG",
                lambda _, efe, bonus: _less(efe, bonus, "_sd"),
            ),
            ("and less than those of Planning", lambda plan, efe, _: _less(efe, plan, "_sd")),
            ("Planning's are shorter", lambda plan, efe, _: _less(plan, efe)),
            ("Planning+IG's are longer", lambda _, efe, bonus: _less(efe, bonus)),
        ):
            holds.setdefault(words, {})[unit] = all(true(*trio) for trio in trios.values())
        lengths = {p: [f"{one['tests']:.1f} ± {one['tests_sd']:.1f}" for one in trio] for p, trio in trios.items()}
        told += [f"{p} in {unit} {', '.join(texts)}" for p, texts in lengths.items()]
    return found(
        by_parts(holds),
        f"The paper does not say beside what EFE's are concentrated. Tests of Planning, EFE and Planning+IG at "
        f"w={TUNED:g}, mean ± standard deviation: {listed(told)}.",
        exact=listed(told[: len(STOPPING)]),
    )


def _less(one: Result, other: Result, what: str = "") -> bool:
    """Whether one agent's tests, or their standard deviation (`_sd`), are below the other's."""
    return float(one[f"tests{what}"]) < float(other[f"tests{what}"]) - SAME
