"""Claims about what happens within episodes, and how it depends on stakes, tests and size: exact throughout."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import leads
from rhoplan_paper.context import UNITS, Context, ask, at_once, efe_jobs, exact_job, unit_jobs
from rhoplan_paper.figures.episodes import FORAGING
from rhoplan_paper.figures.sweeps import FIXED, PENALTIES
from rhoplan_paper.figures.times import PLACES
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import UNCHECKED, Found, Verdict
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import percent, points

LOW_PENALTY = 10
"""Up to here penalties are low: no more than what a right answer pays."""

SIZES = (2, 4, 8, 16)
FORAGING_STEPS = 40
TUNED = 100.0
"""Weight of Planning+IG on Diagnosis and Bandit; the figures do not say which they use."""

STOPPING = {problem: horizon for problem, horizon, _ in PLACES}
AGENTS = ("planning", "efe", "planning-ig")

AS_FAST = 0.02
"""Part of the first entropy by which two curves may differ and still fall as fast."""


@claim("sweep-adapts")
def sweep_adapts(context: Context) -> Found:
    jobs: dict[tuple[str, int], Job] = {}
    for penalty in PENALTIES:
        problem = f"tiger:wrong=-{penalty}"
        jobs["planning", penalty] = exact_job(problem, "planning", horizon=6)
        jobs |= {(f"efe {unit}", penalty): one for unit, one in efe_jobs(problem, 6).items()}
        fixed = unit_jobs(problem, "info-gain", weight=FIXED)
        jobs |= {(f"fixed {unit}", penalty): one for unit, one in fixed.items()}
    ours = ask(context, jobs)
    tests = {who: [float(ours[who, penalty]["tests"]) for penalty in PENALTIES] for who, _ in jobs}

    def rises(who: str) -> bool:
        return tests[who][-1] > tests[who][0] + SAME and all(b >= a - SAME for a, b in pairwise(tests[who]))

    def over_listens(who: str) -> bool:
        pairs = zip(PENALTIES, tests[who], tests["planning"], strict=True)
        extra = [mine - planned for penalty, mine, planned in pairs if penalty < LOW_PENALTY]
        return max(extra) > SAME and min(extra) >= -SAME

    holds = {
        unit: rises("planning")
        and rises(f"efe {unit}")
        and not rises(f"fixed {unit}")
        and over_listens(f"fixed {unit}")
        for unit in UNITS
    }
    first, last = PENALTIES[0], PENALTIES[-1]

    def loss(penalty: int, unit: str) -> float:
        return float(ours[f"fixed {unit}", penalty]["reward"]) - float(ours["planning", penalty]["reward"])

    return found(
        by_unit(holds),
        penalties=PENALTIES,
        tests=tests,
        loss={u: [loss(penalty, u) for penalty in (first, last)] for u in UNITS},
        first=first,
        last=last,
        ends=[
            f"{u}: EFE {tests[f'efe {u}'][0]:.2f} to {tests[f'efe {u}'][-1]:.2f} tests, fixed weight "
            f"{tests[f'fixed {u}'][0]:.2f} to {tests[f'fixed {u}'][-1]:.2f}"
            for u in UNITS
        ],
    )


@claim("tests-help")
def tests_help(context: Context) -> Found:
    compared = leads(context, [(f"diagnosis:n=8,k={k}", 3) for k in (1, 2, 3)])
    gaps = {unit: [lead.gap(unit, "success") for lead in compared] for unit in UNITS}
    holds = {u: g[-1] > g[0] and all(b >= a for a, b in pairwise(g)) for u, g in gaps.items()}
    texts = [f"{u}: " + ", ".join(f"K={k} {points(gap)}" for k, gap in enumerate(gaps[u], 1)) for u in UNITS]
    return found(by_unit(holds), texts=texts)


@claim("scaling-needs-depth")
def scaling_needs_depth(context: Context) -> Found:
    deeper_places = [("diagnosis", 3), ("diagnosis:n=2", 3), ("diagnosis:n=8", 3), ("diagnosis:n=16", 3)]
    shallow, deeper = at_once(
        lambda: leads(context, [(f"diagnosis:n={n}", 2) for n in SIZES]), lambda: leads(context, deeper_places)
    )
    alike = {u: all(same(one.planning, one.efe[u]) for one in shallow) for u in UNITS}
    lead = {u: deeper[0].gap(u, "success") for u in UNITS}
    return found(
        by_unit({u: alike[u] and lead[u] > 0 for u in UNITS}),
        alike=all(alike.values()),
        both=[f"N={n} {percent(one.efe['bits']['success'], 2)}" for n, one in zip(SIZES, shallow, strict=True)],
        lead=lead,
        without={u: [one.problem for one in deeper[1:] if one.gap(u, "success") <= 0] for u in UNITS},
    )


@claim("scaling-over-myopic")
def scaling_over_myopic(context: Context) -> Found:
    myopic_jobs = [exact_job(f"diagnosis:n={n}", "myopic") for n in SIZES]
    compared, myopic = at_once(
        lambda: leads(context, [(f"diagnosis:n={n}", 2) for n in SIZES]), lambda: context.results(myopic_jobs)
    )
    pairs = list(zip(compared, myopic, strict=True))
    gaps = {u: [float(one.efe[u]["success"]) - float(other["success"]) for one, other in pairs] for u in UNITS}
    return found(
        by_unit({u: all(b > a for a, b in pairwise(g)) for u, g in gaps.items()}),
        texts=[f"{u}: " + ", ".join(f"N={n} {points(g)}" for n, g in zip(SIZES, gaps[u], strict=True)) for u in UNITS],
        equal=all(same(one.planning, one.efe[u]) for one in compared for u in UNITS),
    )


@claim("commits-at-crossover")
def commits_at_crossover(context: Context) -> Found:
    settings = {"problem": "tiger", "agent": "efe", "horizon": 6, "weight": 1.0}
    ours = ask(context, {unit: job("from_within", unit=unit, **settings) for unit in UNITS})
    wrong = {unit: one["early"] + one["late"] for unit, one in ours.items()}
    split = {unit: one["highest_committing"] < one["lowest_testing"] for unit, one in ours.items()}
    texts = [
        f"{u}: tests down to {one['lowest_testing']:.3f} nats of entropy, commits from {one['highest_committing']:.3f}"
        for u, one in ours.items()
    ]
    verdict = by_unit({u: not wrong[u] and split[u] for u in UNITS})
    return found(verdict, beliefs=ours["bits"]["beliefs"], wrong=max(wrong.values()), texts=texts)


@claim("commits-earlier")
def commits_earlier(context: Context) -> Found:
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
    tests, stopped = ours["planning", "nats", "score"]["tests"], within("planning", "nats")
    return found(verdict, tuned=TUNED, texts=texts, planning=stopped, tests=tests, first=first, last=last)


@claim("picks-most-informative")
def picks_most_informative(context: Context) -> Found:
    settings = {"problem": FORAGING, "horizon": 3}
    jobs = {u: job("from_within", agent="efe", weight=1.0, unit=u, **settings) for u in UNITS}
    ours = ask(context, {**jobs, "planning": job("from_within", agent="planning", **settings)})
    spread = {u: (ours[u]["spread"][0], max(ours[u]["spread"])) for u in UNITS}
    differ = {u: low <= SAME < high for u, (low, high) in spread.items()}
    always = {u: differ[u] and ours[u]["most_informative"] > 1 - SAME for u in UNITS}
    could = {u: differ[u] and ours[u]["indifferent"] > 1 - SAME for u in UNITS}
    by_ties = not any(always.values()) and all(could.values())
    names = {"bits": "EFE in bits", "nats": "EFE in nats", "planning": "Planning"}
    return found(
        Verdict(UNCHECKED, "either") if by_ties else by_unit(always),
        spread=spread,
        shares=[f"{percent(ours[u]['most_informative'])} in {u}" for u in UNITS],
        least=min(ours[u]["least_share"] for u in UNITS),
        could=[f"{percent(ours[name]['indifferent'], 0)} for {who}" for name, who in names.items()],
        ties=": so it is a matter of how ties are settled, which the paper does not say" if by_ties else "",
    )


@claim("stops-consistently")
def stops_consistently(context: Context) -> Found:
    jobs: dict[tuple[str, str, str], Job] = {}
    for problem, horizon in STOPPING.items():
        jobs[problem, "planning", "nats"] = exact_job(problem, "planning", horizon=horizon)
        jobs |= {(problem, "efe", unit): one for unit, one in efe_jobs(problem, horizon).items()}
        tuned = unit_jobs(problem, "planning-ig", horizon=horizon, weight=TUNED)
        jobs |= {(problem, "planning-ig", unit): one for unit, one in tuned.items()}
    ours = ask(context, jobs)
    claimed = {
        "EFE's stopping times spread less than those of Planning+IG": ("efe", "planning-ig", "tests_sd"),
        "and less than those of Planning": ("efe", "planning", "tests_sd"),
        "Planning's are shorter": ("planning", "efe", "tests"),
        "Planning+IG's are longer": ("efe", "planning-ig", "tests"),
    }
    holds: dict[str, dict[str, bool]] = {words: {} for words in claimed}
    told = []
    for unit in UNITS:
        scores = {p: {a: ours[p, a, "nats" if a == "planning" else unit] for a in AGENTS} for p in STOPPING}
        for words, (less, more, column) in claimed.items():
            holds[words][unit] = all(one[less][column] < one[more][column] - SAME for one in scores.values())
        for p, mine in scores.items():
            lengths = [f"{one['tests']:.1f} ± {one['tests_sd']:.1f}" for one in mine.values()]
            told.append(f"{p} in {unit} {', '.join(lengths)}")
    return found(by_parts(holds), tuned=TUNED, told=told, first=told[: len(STOPPING)])
