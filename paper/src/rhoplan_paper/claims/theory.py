"""Propositions 1, 2 and 3, and what is said to follow from them.

They are computed, not quoted: free energy by a recursion of its own, thresholds by bisection of decisions, couplings on
the joint of all hidden factors (`measures.propositions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise, product

from rhoplan.belief_math.information import NATS_PER_BIT
from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import OBSERVING, leads, sweeps
from rhoplan_paper.claims.robust import PRINTED_DISCOUNTS
from rhoplan_paper.context import UNITS, Context, Result, ask, exact_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.tables.asymmetry import formula
from rhoplan_paper.verdicts import SAME, by_parts, by_unit
from rhoplan_paper.words import signed

CLOSE_ENOUGH = 1e-6
"""A bisected threshold and a formula agree to this share of their size: decisions tie at 1e-12 of the rewards."""

ASYMMETRIES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)

ASYMMETRIC = (
    ("tiger", 2), ("tiger", 4), ("tiger", 6), ("diagnosis", 2), ("diagnosis", 3), ("tileworld:n=6", 2),
)  # fmt: skip
"""Problems of the table with an asymmetry of five or more, at horizons beyond one."""

FACTORED = (
    "rocksample:n=5,k=3", "rocksample:n=7,k=4", "rocksample:n=7,k=8", "rocksample:n=11,k=11", "rocksample-standard",
    "inspection:n=8", "inspection:n=16", "navigation:n=3", "navigation:n=5", "navigation:n=7",
)  # fmt: skip


def recursions(context: Context, discount: float | None = None, weight: float | None = None) -> dict[str, Job]:
    """Jobs that set least free energy beside the planner, on random problems and on the paper's own."""
    many = 200 if context.full else 40
    jobs = {
        f"random to H={h}": job("efe_recursion", problems=many, seed=h, horizon=h, discount=discount, weight=weight)
        for h in (1, 2, 3)
    }
    for problem, horizon in OBSERVING:
        jobs[f"{problem} H={horizon}"] = job(
            "efe_recursion", problem=problem, horizon=horizon, discount=discount, weight=weight
        )
    return jobs


def equivalent(results: Iterable[Result]) -> tuple[bool, str]:
    """Whether the two agree in all of `results` of `recursions`, and how far, in words."""
    results = list(results)
    gap = max(result["value_gap"] for result in results)
    wrong, beliefs = (sum(result[name] for result in results) for name in ("choices", "beliefs"))
    problems = sum(result["problems"] for result in results)
    told = f"{wrong} of {beliefs:,} decisions differ on {problems} problems, values by at most {gap:.1e} of the rewards"
    return gap <= SAME and wrong == 0, told


@claim("proposition-1")
def proposition_1(context: Context) -> Found:
    holds, told = equivalent(ask(context, recursions(context)).values())
    return found(by_unit({"nats": holds}), told=told)


@claim("efe-is-weight-one")
def efe_is_weight_one(context: Context) -> Found:
    weights = {"bits": 1 / NATS_PER_BIT, "nats": None}
    jobs = {(u, name): one for u in UNITS for name, one in recursions(context, weight=weights[u]).items()}
    results = ask(context, jobs)
    checked = {u: equivalent(result for (unit, _), result in results.items() if unit == u) for u in UNITS}
    told = {u: words for u, (_, words) in checked.items()}
    return found(
        by_unit({"nats": checked["nats"][0]}),
        told=told,
        printed=[cell(place, "success", agent="efe").text for place in ("tileworld-8", "tileworld-8-collapse")],
        efe=leads(context, [("tileworld:n=8", 2)])[0].efe,
        differ=told["nats"].partition(" decisions")[0],
        one=checked["nats"][0],
    )


@claim("discounting-keeps-equivalence")
def discounting_keeps_equivalence(context: Context) -> Found:
    below = [discount for discount in PRINTED_DISCOUNTS if discount < 1]
    results = ask(context, {(g, name): one for g in below for name, one in recursions(context, discount=g).items()})
    holds, told = equivalent(results.values())
    return found(by_unit({"nats": holds}), below=below, told=told)


def _drawn_jobs(context: Context) -> list[Job]:
    """Thresholds of random problems with the stakes of the near-optimality study, and with a tenth of them."""
    many = 100 if context.full else 40
    return [job("one_test_thresholds", problems=many, right=right) for right in (10.0, 1.0)]


def _cases(results: Sequence[Result], *names: str) -> list[tuple[list[float], list[float]]]:
    """(accuracy, cost, right, wrong) and the columns `names` of every case."""
    return [
        (list(case), [float(value) for value in values])
        for result in results
        for case, *values in zip(result["cases"], *(result[name] for name in names), strict=True)
    ]


@claim("proposition-2")
def proposition_2(context: Context) -> Found:
    cases = _cases(context.results(_drawn_jobs(context)), "threshold")
    apart = max(_relative(bisected, formula(*case)["threshold"]["nats"]) for case, (bisected,) in cases)
    return found(by_unit({"nats": apart <= CLOSE_ENOUGH}), cases=len(cases), apart=apart)


@claim("above-threshold")
def above_threshold(context: Context) -> Found:
    single = [exact_job("testbed", "myopic"), exact_job("testbed", "info-gain", weight=50.0)]
    myopic, keen, *drawn = context.results([*single, *_drawn_jobs(context)])
    cases = _cases(drawn, "threshold", "commit", "above", "far_above")
    positive = [columns for _, columns in cases if columns[0] > 0]
    less = [commit - above for threshold, commit, above, _ in positive if above < commit - SAME]
    differ = [above - far for _, (_, _, above, far) in cases if abs(above - far) > SAME]
    return found(
        by_unit({"nats": not (less or differ)}),
        cases=len(cases),
        positive=len(positive),
        less=len(less),
        most=max(less, default=0.0),
        differ=len(differ),
        myopic=myopic,
        keen=keen,
    )


@claim("negative-threshold")
def negative_threshold(context: Context) -> Found:
    rows = _cases(context.results(_drawn_jobs(context)), "threshold", "tests_at_one")
    over = [
        columns
        for (accuracy, cost, right, wrong), columns in rows
        if abs(wrong) / right > cost / ((accuracy - 0.5) * right) - 1
    ]
    wrong = sum(threshold >= 0 for threshold, _ in over)
    idle = sum(not tests for _, tests in over)
    verdict = by_unit({"nats": bool(over) and not wrong and not idle})
    return found(verdict, cases=len(rows), over=len(over), wrong=wrong, idle=idle, negative=len(over) - wrong)


@claim("threshold-limit")
def threshold_limit(context: Context) -> Found:
    settings = [(accuracy, cost) for accuracy in (0.55, 0.75, 0.95) for cost in (0.1, 5.0)]
    cases = [[p, c, 10.0, -10.0 * alpha] for p, c in settings for alpha in ASYMMETRIES]
    thresholds = context.result(job("one_test_thresholds", cases=cases))["threshold"]
    width = len(ASYMMETRIES)
    series = [thresholds[start : start + width] for start in range(0, len(thresholds), width)]
    # Without bound: ten times the asymmetry brings, in the end, ten times the threshold.
    falls = all(b < a for row in series for a, b in pairwise(row))
    steep = [row[-1] / row[-2] for row in series]
    return found(
        by_unit({"nats": falls and all(9.9 < ratio < 10.1 for ratio in steep)}),
        settings=len(settings),
        ends=(ASYMMETRIES[0], ASYMMETRIES[-1]),
        falls=falls,
        least=min(steep),
        most=max(steep),
        first=settings[0],
        series=series[0],
    )


@claim("table-follows-formula")
def table_follows_formula(context: Context) -> Found:
    cells = select("alpha-eta alpha eta threshold")
    problems = list(dict.fromkeys(str(one.row["problem"]) for one in cells))
    ours = {problem: formula(*_numbers(problem)) for problem in problems}
    off: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for one, unit in product(cells, UNITS):
        values = ours[str(one.row["problem"])][one.column]
        value = values.get(unit, values.get("", 0.0))
        if abs(one.number - value) > one.rounding * (1 + SAME):
            off[unit].append(f"{one.row['problem']} {one.column} {one.text} for {value:.2f}")
    outside = [p for p in problems if cell("environments", "incorrect", problem=p).number >= 0]
    uncovered = f" The formula asks for a penalty below zero; {', '.join(outside)} has none." if outside else ""
    return found(
        by_unit({unit: not ones for unit, ones in off.items()}),
        numbers=len(cells),
        wrong={unit: len(ones) for unit, ones in off.items()},
        off=off["nats"],
        uncovered=uncovered,
        thresholds={p: ours[p]["threshold"]["nats"] for p in problems},
    )


@claim("asymmetry-suffices")
def asymmetry_suffices(context: Context) -> Found:
    swept = sweeps(context, ASYMMETRIC)
    lacking = {unit: [sweep for sweep in swept if not sweep.near_optimal(unit)] for unit in UNITS}
    named = {s.label: make(s.problem).horizon == s.horizon for s in swept}
    words = {label: f"on {label}" if mine else "at shorter horizons" for label, mine in named.items()}
    verdict = by_parts(
        {
            each: {u: not any(words[s.label] == each for s in lacking[u]) for u in UNITS}
            for each in sorted(set(words.values()), key=lambda each: (each == "at shorter horizons", each))
        }
    )
    told = [
        f"{s.label}: {signed(float(s.at_one['nats']['reward']))} at weight 1, {signed(s.top('reward'))} at "
        f"{s.best('reward')[0]:.3g}"
        for s in swept
    ]
    lacks = {u: [f"{s.label} (lacks {s.loss(u):.2f})" for s in ones] for u, ones in lacking.items()}
    return found(verdict, lacking=lacks, told=told)


@claim("testbed-over-explores")
def testbed_over_explores(context: Context) -> Found:
    case = _numbers("testbed")
    threshold = float(context.result(job("one_test_thresholds", cases=[case]))["threshold"][0])
    lead = leads(context, [("testbed", 4)])[0]
    between = 0 < threshold < 1
    too_much = {u: lead.gap(u, "tests") > 0 > lead.gap(u) for u in UNITS}
    middle = "the threshold lies between zero and one"
    verdict = by_parts({middle: between, "EFE tests more than Planning and earns less": too_much}, core=[middle])
    return found(verdict, threshold=threshold, between=between, lead=lead, too_much=all(too_much.values()))


def _numbers(problem: str) -> list[float]:
    """Accuracy, cost, reward if right and if wrong, as the paper's table of problems has them."""
    columns = ("test_accuracy", "test_cost", "correct", "incorrect")
    accuracy, cost, right, wrong = (cell("environments", column, problem=problem).number for column in columns)
    return [accuracy, abs(cost), right, wrong]


def _relative(one: float, other: float) -> float:
    return abs(one - other) / max(abs(other), 1.0)


@claim("proposition-3")
def proposition_3(context: Context) -> Found:
    situations = 60 if context.full else 20
    results = ask(context, {p: job("joint_epistemic", problem=p, situations=situations) for p in FACTORED})
    most = {name: max(result[name] for result in results.values()) for name in ("coupling", "gap", "moving")}
    counts = {name: sum(result[name] for result in results.values()) for name in ("tests", "moves")}
    still = [problem for problem, result in results.items() if not result["moves"]]
    return found(by_unit({"nats": max(most.values()) <= SAME}), problems=len(results), still=still, **most, **counts)


@claim("destructive-tests-excluded")
def destructive_tests_excluded(context: Context) -> Found:
    results = context.results(job("destructive_test", horizon=horizon) for horizon in (1, 2, 3))
    first, differing = results[0], [result["decisions"] for result in results]
    fails = first["coupling"] > SAME and first["term_gap"] > SAME
    return found(by_unit({"nats": fails and any(differing)}), first=first, differing=differing, most=max(differing))
