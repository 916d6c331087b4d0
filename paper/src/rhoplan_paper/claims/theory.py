"""Propositions 1 and 2, and what is said to follow from them.

They are computed, not quoted: free energy by a recursion of its own, thresholds by bisection of decisions
(`measures.propositions`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rhoplan.belief.information import NATS_PER_BIT
from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import leads, sweeps
from rhoplan_paper.context import UNITS, Context, Result, ask, exact_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.tables.asymmetry import formula
from rhoplan_paper.verdicts import by_parts, by_unit
from rhoplan_paper.words import listed, percent, signed

EQUAL = 1e-9
"""Values of the two recursions that differ by less, relative to the rewards, are equal."""

CLOSE_ENOUGH = 1e-6
"""A bisected threshold and a formula agree to this share of their size: decisions tie at 1e-12 of the rewards."""

RECURSIONS = (
    ("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2), ("tileworld:n=6", 2), ("tileworld:n=8", 2),
)  # fmt: skip

ASYMMETRIES = (1e1, 1e2, 1e3, 1e4, 1e5, 1e6)

ASYMMETRIC = (
    ("tiger", 2), ("tiger", 4), ("tiger", 6), ("diagnosis", 2), ("diagnosis", 3), ("tileworld:n=6", 2),
)  # fmt: skip
"""Problems of the table with an asymmetry of five or more, at horizons beyond one."""


def recursions(context: Context, discount: float | None = None, weight: float | None = None) -> dict[str, Job]:
    """Jobs that set least free energy beside the planner, on random problems and on the paper's own."""
    many = 200 if context.full else 40
    jobs = {
        f"random to H={h}": job("efe_recursion", problems=many, seed=h, horizon=h, discount=discount, weight=weight)
        for h in (1, 2, 3)
    }
    for problem, horizon in RECURSIONS:
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
    return gap <= EQUAL and wrong == 0, told


@claim("proposition-1")
def proposition_1(context: Context) -> Finding:
    holds, told = equivalent(ask(context, recursions(context)).values())
    return found(
        by_unit({"nats": holds}),
        "Least expected free energy, by its own recursion with an expected divergence as epistemic value, against the "
        f"planner with utility I at every belief of the look-ahead: {told}.",
        exact=told,
    )


@claim("efe-is-weight-one")
def efe_is_weight_one(context: Context) -> Finding:
    jobs: dict[tuple[str, str], Job] = {}
    for unit, weight in (("nats", None), ("bits", 1 / NATS_PER_BIT)):
        jobs |= {(unit, name): one for name, one in recursions(context, weight=weight).items()}
    results = ask(context, jobs)
    checked = {u: equivalent(result for (unit, _), result in results.items() if unit == u) for u in UNITS}
    efe = leads(context, [("tileworld:n=8", 2)])[0].efe
    twice = cell("tileworld-8", "success", agent="efe")
    differ = checked["nats"][1].partition(" decisions")[0]
    return found(
        by_unit({"nats": checked["nats"][0]}),
        f"Against weight 1 per nat: {checked['nats'][1]}; against 1 per bit: {checked['bits'][1]}. The printed 8x8 "
        f"rates ({twice.text}, {cell('tileworld-8-collapse', 'success', agent='efe').text}) belong to 1 per bit "
        f"({percent(efe['bits']['success'])}), not to 1 per nat ({percent(efe['nats']['success'])}).",
        exact=listed(f"{u}: {told}" for u, (_, told) in checked.items()),
        headline=(
            differ,
            "decisions differ between least expected free energy and planning with one unit of reward per nat: "
            f"the two are {'one' if checked['nats'][0] else 'not one'}.",
        ),
    )


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
def proposition_2(context: Context) -> Finding:
    cases = _cases(context.results(_drawn_jobs(context)), "threshold")
    apart = [_relative(bisected, formula(*case)["threshold"]["nats"]) for case, (bisected,) in cases]
    return found(
        by_unit({"nats": max(apart) <= CLOSE_ENOUGH}),
        f"The formula against bisection of the exact decision at horizon 1 on {len(cases)} random problems: "
        f"at most {max(apart):.1e} apart, relative to its size. What grows with the weight is the agent's own value; "
        "the reward of testing has no weight in it.",
        exact=f"largest relative difference {max(apart):.1e}",
    )


@claim("above-threshold")
def above_threshold(context: Context) -> Finding:
    single = [exact_job("testbed", "myopic"), exact_job("testbed", "info-gain", weight=50.0)]
    myopic, keen, *drawn = context.results([*single, *_drawn_jobs(context)])
    cases = _cases(drawn, "threshold", "commit", "above", "far_above")
    positive = [columns for _, columns in cases if columns[0] > 0]
    less = [commit - above for threshold, commit, above, _ in positive if above < commit - EQUAL]
    differ = [above - far for _, (_, _, above, far) in cases if abs(above - far) > EQUAL]
    return found(
        by_unit({"nats": not (less or differ)}),
        f"Of {len(cases)} random problems {len(positive)} have a positive threshold, and just above it testing earns "
        f"less than committing at once on {len(less)} of these (by up to {max(less, default=0.0):.2f}). Agents that "
        f"replan do not all test once: 20 above the threshold they earn otherwise than just above it on {len(differ)}. "
        f"Testbed at horizon 1, both weights above its threshold: {signed(myopic['reward'])} at weight 0, "
        f"{signed(keen['reward'])} at 50.",
        exact=f"less reward than committing on {len(less)} of {len(positive)}; not the same reward on {len(differ)} of "
        f"{len(cases)}",
    )


@claim("negative-threshold")
def negative_threshold(context: Context) -> Finding:
    rows = _cases(context.results(_drawn_jobs(context)), "threshold", "tests_at_one")
    over = [
        columns
        for (accuracy, cost, right, wrong), columns in rows
        if abs(wrong) / right > cost / ((accuracy - 0.5) * right) - 1
    ]
    wrong_sign = sum(threshold >= 0 for threshold, _ in over)
    idle = sum(not tests for _, tests in over)
    return found(
        by_unit({"nats": bool(over) and not wrong_sign and not idle}),
        f"{len(over)} of {len(rows)} random problems exceed the bound: the bisected threshold is not negative on "
        f"{wrong_sign} of them, and weight 1 does not test on {idle}.",
        exact=f"{len(over) - wrong_sign} of {len(over)} negative",
    )


@claim("threshold-limit")
def threshold_limit(context: Context) -> Finding:
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
        f"Bisected at {len(settings)} accuracies and costs, asymmetry {ASYMMETRIES[0]:g} to {ASYMMETRIES[-1]:g}: it "
        f"{'falls' if falls else 'does not fall'} throughout, at the end {min(steep):.2f} to {max(steep):.2f} times as "
        "far for ten times the asymmetry.",
        exact=f"accuracy {settings[0][0]:g}, cost {settings[0][1]:g}: " + ", ".join(f"{t:.3g}" for t in series[0]),
    )


@claim("table-follows-formula")
def table_follows_formula(context: Context) -> Finding:
    problems = [str(one.row["problem"]) for one in select("alpha-eta alpha")]
    names = ("alpha", "eta", "threshold")
    ours = {problem: formula(*_numbers(problem)) for problem in problems}
    off: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for problem in problems:
        for name in names:
            printed_cell = cell("alpha-eta", name, problem=problem)
            for unit in UNITS:
                value = ours[problem][name].get(unit, ours[problem][name].get("", 0.0))
                if abs(printed_cell.number - value) > printed_cell.rounding * (1 + EQUAL):
                    off[unit].append(f"{problem} {name} {printed_cell.text} for {value:.2f}")
    rewards = {p: cell("environments", "incorrect", problem=p).number for p in problems}
    outside = [p for p, wrong in rewards.items() if wrong >= 0]
    return found(
        by_unit({unit: not ones for unit, ones in off.items()}),
        f"Of {len(problems) * len(names)} numbers {len(off['nats'])} differ in nats, {len(off['bits'])} in bits. "
        f"In nats: {', '.join(off['nats']) or 'none'}."
        + (f" The formula asks for a penalty below zero; {', '.join(outside)} has none." if outside else ""),
        exact=listed(f"{p} {ours[p]['threshold']['nats']:+.2f}" for p in problems),
        headline=(
            f"{len(off['nats'])} of {len(problems) * len(names)}",
            "printed asymmetries, informativenesses and thresholds are not what the formula of Proposition 2 gives.",
        ),
    )


@claim("asymmetry-suffices")
def asymmetry_suffices(context: Context) -> Finding:
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
    return found(
        verdict,
        "The paper names Tiger, Diagnosis and Tileworld, each at its own horizon. "
        "By the paper's own margin (5% of the best reward, at least 0.5), weight 1 is not near-optimal "
        + listed(
            f"in {u} on " + (", ".join(f"{s.label} (lacks {s.loss(u):.2f})" for s in ones) or "none")
            for u, ones in lacking.items()
        )
        + ".",
        exact=listed(
            f"{s.label}: {signed(float(s.at_one['nats']['reward']))} at weight 1, {signed(s.top('reward'))} at "
            f"{s.best('reward')[0]:.3g}"
            for s in swept
        ),
    )


@claim("testbed-over-explores")
def testbed_over_explores(context: Context) -> Finding:
    case = _numbers("testbed")
    threshold = float(context.result(job("one_test_thresholds", cases=[case]))["threshold"][0])
    lead = leads(context, [("testbed", 4)])[0]
    between = 0 < threshold < 1
    too_much = {u: lead.gap(u, "tests") > 0 > lead.gap(u) for u in UNITS}
    middle = "the threshold lies between zero and one"
    verdict = by_parts({middle: between, "EFE tests more than Planning and earns less": too_much}, core=[middle])
    return found(
        verdict,
        f"The bisected threshold is {threshold:+.2f} per nat, {'' if between else 'not '}between 0 and 1. EFE makes "
        f"{lead.efe['nats']['tests']:.2f} tests for {signed(lead.efe['nats']['reward'])}, Planning "
        f"{lead.planning['tests']:.2f} for {signed(lead.planning['reward'])}: over-testing "
        f"{'is there' if all(too_much.values()) else 'is not there in both units'}, the threshold "
        f"{'explains' if between else 'does not explain'} it.",
        exact=f"threshold {threshold:+.2f}; {lead.efe['nats']['tests']:.2f} against {lead.planning['tests']:.2f} tests",
    )


def _numbers(problem: str) -> list[float]:
    """Accuracy, cost, reward if right and if wrong, as the paper's table of problems has them."""
    columns = ("test_accuracy", "test_cost", "correct", "incorrect")
    accuracy, cost, right, wrong = (cell("environments", column, problem=problem).number for column in columns)
    return [accuracy, abs(cost), right, wrong]


def _relative(one: float, other: float) -> float:
    return abs(one - other) / max(abs(other), 1.0)
