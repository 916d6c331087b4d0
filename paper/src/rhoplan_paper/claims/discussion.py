"""Claims of the summary and the discussion: where EFE helps and where not, and what other weights do."""

from __future__ import annotations

import math

from rhoplan.belief.information import NATS_PER_BIT, per_nat
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.grids import GRIDS, walkers
from rhoplan_paper.claims.numbers import CLEAR, Lead, apart, leads, near_margin
from rhoplan_paper.claims.robust import misbelieved
from rhoplan_paper.context import UNITS, Context, ask, at_once, efe_jobs, exact_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.tables.rows import measured
from rhoplan_paper.verdicts import SAME, by_parts, by_unit
from rhoplan_paper.words import listed, percent, points, signed

ALIKE = 0.05
"""What part of the best reward others may lack and still be nearly the same: the paper's own 5%."""

SUMMED_UP: dict[tuple[str, int | None], str] = {
    ("tileworld:n=6", 2): "tileworld-6",
    ("tileworld:n=8", 2): "tileworld-8",
    ("rocksample:n=5,k=3", None): "rocksample",
    ("rocksample:n=7,k=4", None): "rocksample",
    ("rocksample:n=7,k=8", None): "rocksample",
    ("rocksample:n=11,k=11", 2): "rocksample",
    ("inspection:n=8", None): "inspection",
    ("inspection:n=16", None): "inspection",
}
"""Problems and horizons that the summary speaks of, and their tables."""

RIGHT = {"tileworld": "success", "inspection": "accuracy"}
"""The share that is right, by family."""

COMPARABLE = 2 * math.sqrt(2 * 0.25 / 2500)
"""Shares that differ by less are comparable: two standard errors, at most, over the 2,500 episodes of the tables."""

ONE_TEST = (("tiger", 6), ("testbed", 4), ("diagnosis:n=8,k=1", 3))
SEVERAL_TESTS = {"diagnosis": 3, "bandit": 2}
"""Problems with several tests where EFE is said to lead, and the horizon of the paper."""
DEEPEST = 6

RECOMMENDED: dict[tuple[str, int | None], float] = {
    ("tileworld:n=6", 2): 100.0,
    ("tileworld:n=8", 2): 100.0,
    ("diagnosis:n=16", 2): 100.0,
    ("inspection:n=8", None): 5.0,
    ("inspection:n=16", None): 5.0,
}
"""Problems and horizons that meet every condition for EFE, and the weight of Planning+IG beside it."""

FAR_OFF = (("tiger", 4, 0.65), ("tiger", 4, 0.6), ("diagnosis", 3, 0.6), ("diagnosis", 3, 0.99))
"""Problem, horizon and believed accuracy of models that are off by more than 0.15."""

AT_DEPTH = {"bandit": 2, "tiger": 6, "testbed": 4, "diagnosis": 3}
KNEE = (0.5, 1.0, 2.0)


@claim("summary-matches-or-improves")
def summary_matches_or_improves(context: Context) -> Finding:
    compared = leads(context, SUMMED_UP)
    worse = {
        unit: [one for one in compared if one.gap(unit) < -near_margin(float(one.planning["reward"]))] for unit in UNITS
    }
    rarer = {unit: [one for one in compared if _less_right(one, unit) > COMPARABLE] for unit in UNITS}
    families = {place: _family(place[0]) for place in SUMMED_UP}
    verdict = by_parts(
        {
            f"in reward on {family}": {
                u: not any(families[one.problem, one.horizon] == family for one in worse[u]) for u in UNITS
            }
            for family in dict.fromkeys(families.values())
        }
        | {"at comparable or better accuracy": {u: not rarer[u] for u in UNITS}}
    )
    below = dict.fromkeys(one.label for ones in worse.values() for one in ones)
    texts = [f"{one.problem} {signed(one.gap('bits'))} bits, {signed(one.gap('nats'))} nats" for one in compared]
    printed = {
        p: [cell(table, "reward", problem=p, agent=agent).number for agent in ("efe", "planning")]
        for (p, _), table in SUMMED_UP.items()
    }
    return found(
        verdict,
        f"EFE's reward minus Planning's: {listed(texts)}. What the paper calls near elsewhere (5%, at least 0.5) "
        f"counts as a match; less than that on {', '.join(below) or 'nothing'}. EFE is right less often by "
        f"{points(max(_less_right(one, u) for one in compared for u in UNITS))} at most.",
        published=listed(f"{problem} {signed(efe - planning)}" for problem, (efe, planning) in printed.items()),
        exact=listed(texts),
    )


def _family(problem: str) -> str:
    """The name under which the summary speaks of a problem; Inspection's two sizes stand for themselves."""
    return problem if problem.startswith("inspection") else problem.partition(":")[0]


def _less_right(lead: Lead, unit: str) -> float:
    """By how much smaller a share EFE has right than Planning, on problems that have such a share."""
    column = RIGHT.get(lead.problem.partition(":")[0])
    if column is None:
        return 0.0
    planning, efe = (measured(one, column, lead.problem).mean for one in (lead.planning, lead.efe[unit]))
    return planning - efe


@claim("two-conditions")
def two_conditions(context: Context) -> Finding:
    deep = [(problem, horizon) for problem in SEVERAL_TESTS for horizon in range(1, DEEPEST + 1)]
    alone, several = at_once(lambda: leads(context, ONE_TEST), lambda: leads(context, deep))
    gaps = {(p, u): [one.gap(u) for one in several if one.problem == p] for p in SEVERAL_TESTS for u in UNITS}
    helps = {u: all(gaps[p, u][horizon - 1] > 0 for p, horizon in SEVERAL_TESTS.items()) for u in UNITS}
    needed = {
        u: all(one.gap(u) <= 0 for one in alone) and all(gaps[p, u][0] <= 0 for p in SEVERAL_TESTS) for u in UNITS
    }
    stays = {u: all(gaps[p, u][-1] > 0 for p in SEVERAL_TESTS) for u in UNITS}
    verdict = by_parts(
        {
            "with several tests EFE leads at the paper's horizons": helps,
            "with a single test, or one step ahead, it does not": needed,
            f"it leads at a longer horizon too (H={DEEPEST})": stays,
        }
    )
    told = [f"{p} in {u} " + ", ".join(f"{gap:+.3f}" if gap else "0" for gap in gaps[p, u]) for p, u in gaps]
    single = listed(f"{one.label} {signed(max(one.gap(u) for u in UNITS), 3)}" for one in alone)
    first = next(iter(SEVERAL_TESTS))
    return found(
        verdict,
        f"EFE's reward minus Planning's at H=1 to {DEEPEST}: {listed(told)}. At the paper's horizons EFE "
        f"{'leads' if all(helps.values()) else 'does not always lead'}; with one test ({single}) or at H=1 there is "
        f"{'no' if all(needed.values()) else 'a'} lead. "
        + (
            "A longer horizon keeps the lead."
            if all(stays.values())
            else "But a longer horizon does not keep the lead, it ends it: what EFE adds is what Planning lacks while "
            "it looks too few tests ahead."
        ),
        exact=listed(told[:: len(UNITS)]),
        headline=(
            f"{gaps[first, 'bits'][SEVERAL_TESTS[first] - 1]:+.2f}, then {abs(gaps[first, 'bits'][-1]):.2f}",
            f"EFE's lead over Planning on Diagnosis at the paper's horizon of {SEVERAL_TESTS[first]}, then at "
            f"{DEEPEST}, both exact.",
        ),
    )


@claim("when-to-use")
def when_to_use(context: Context) -> Finding:
    tuned_jobs = {
        (place, unit): exact_job(place[0], "planning-ig", horizon=place[1], weight=weight, unit=unit)
        for place, weight in RECOMMENDED.items()
        for unit in UNITS
    }
    compared, tuned = at_once(lambda: leads(context, RECOMMENDED), lambda: ask(context, tuned_jobs))
    richer = {u: [one.problem for one in compared if one.gap(u) > 0] for u in UNITS}
    behind = {
        u: [
            one.problem
            for one in compared
            if float(one.efe[u]["reward"]) < float(tuned[(one.problem, one.horizon), u]["reward"]) - SAME
        ]
        for u in UNITS
    }
    texts = [f"{one.problem} {signed(one.gap('bits'))} bits, {signed(one.gap('nats'))} nats" for one in compared]
    verdict = by_parts(
        {
            "there EFE is not behind the tuned alternative": {u: not behind[u] for u in UNITS},
            "and earns more than Planning": {u: len(richer[u]) == len(compared) for u in UNITS},
        }
    )
    return found(
        verdict,
        f"{len(compared)} settings of the paper meet every condition. There EFE earns more than Planning on "
        + listed(f"{len(richer[u])} in {u} ({', '.join(richer[u]) or 'none'})" for u in UNITS)
        + ", and less than Planning+IG with the paper's larger weight on "
        + listed(f"{len(behind[u])} in {u} ({', '.join(behind[u]) or 'none'})" for u in UNITS)
        + f". EFE's reward minus Planning's: {listed(texts)}.",
        exact=listed(texts),
    )


@claim("when-not-to-use")
def when_not_to_use(context: Context) -> Finding:
    ours, walked, symmetric = at_once(
        lambda: misbelieved(context, FAR_OFF), lambda: walkers(context), lambda: leads(context, [("testbed", 4)])[0]
    )
    ahead = {n: apart(walked[n, "efe"].number("reward"), walked[n, "nav-myopic"].number("reward")) for n in GRIDS}
    better = [f"{n}x{n} ({far:.1f} SE)" for n, far in ahead.items() if far > CLEAR]
    harm = {
        unit: max(float(ours[p, b, "planning"]["reward"]) - float(ours[p, b, unit]["reward"]) for p, _, b in FAR_OFF)
        for unit in UNITS
    }
    verdict = by_parts(
        {
            "not for symmetric stakes": {u: symmetric.gap(u) < 0 for u in UNITS},
            "not for navigation": not better,
            "not for models off by more than 0.15": {u: harm[u] > SAME for u in UNITS},
        }
    )
    models = ", ".join(f"{p} believed {b:g}" for p, _, b in FAR_OFF)
    gaps = [
        f"{n}x{n} {signed(walked[n, 'efe'].mean('reward') - walked[n, 'nav-myopic'].mean('reward'))}" for n in GRIDS
    ]
    return found(
        verdict,
        f"Symmetric stakes: on Testbed EFE's reward is {signed(symmetric.gap('bits'), 3)} from Planning's in bits and "
        f"{signed(symmetric.gap('nats'), 3)} in nats. Navigation: with the right sensor EFE earns clearly more than "
        f"the agent that walks to the likeliest cell on {', '.join(better) or 'no grid'}. Models off by more than 0.15 "
        f"({models}): the information term costs at most {max(*harm.values(), 0.0):.3f}.",
        simulated=f"Navigation, EFE minus the other: {listed(gaps)}",
        exact=f"Testbed {signed(symmetric.gap('bits'), 3)}; wrong models {max(*harm.values(), 0.0):.3f}",
    )


@claim("depth-amplifies-weight")
def depth_amplifies_weight(context: Context) -> Finding:
    jobs: dict[tuple[str, str, str], Job] = {}
    for unit in UNITS:
        for problem, horizon in AT_DEPTH.items():
            jobs[problem, unit, "deep"] = exact_job(problem, "planning-ig", horizon=horizon, weight=100, unit=unit)
            jobs[problem, unit, "w=100"] = exact_job(problem, "info-gain", weight=100, unit=unit)
        jobs["bandit", unit, "w=50"] = exact_job("bandit", "info-gain", weight=50, unit=unit)
    tests = {key: float(result["tests"]) for key, result in ask(context, jobs).items()}
    more = {(p, u): tests[p, u, "deep"] - tests[p, u, "w=100"] for p in AT_DEPTH for u in UNITS}
    shown = cell("depth-amplifies", "tests", agent="info-gain")
    nearest = min(("w=100", "w=50"), key=lambda name: abs(tests["bandit", "bits", name] - shown.number))
    others = [p for p in AT_DEPTH if p != "bandit"]
    elsewhere = listed(f"{p} {signed(more[p, 'bits'])} bits, {signed(more[p, 'nats'])} nats" for p in others)
    verdict = by_parts(
        {
            "on Bandit, where it is printed": {u: more["bandit", u] > SAME for u in UNITS},
            f"on {', '.join(others)} too": {u: min(more[p, u] for p in others) > SAME for u in UNITS},
        }
    )
    return found(
        verdict,
        f"At w=100 on Bandit a second test ahead adds {signed(more['bandit', 'bits'])} tests in bits and "
        f"{signed(more['bandit', 'nats'])} in nats. The printed {shown.text} is nearest to Info Gain at {nearest} per "
        f"bit ({tests['bandit', 'bits', nearest]:.2f}). At w=100 elsewhere depth adds {elsewhere}.",
        exact=listed(f"{u}: {tests['bandit', u, 'deep']:.2f} and {tests['bandit', u, 'w=100']:.2f}" for u in UNITS),
    )


@claim("bits-weight")
def bits_weight(context: Context) -> Finding:
    problem, horizon = "diagnosis:n=8", 3
    said = cell("weight-in-bits", "weight").number
    jobs = {w: exact_job(problem, "planning-ig", horizon=horizon, weight=w, unit="bits") for w in (said, NATS_PER_BIT)}
    jobs[1.0] = efe_jobs(problem, horizon)["nats"]
    tests = {weight: float(result["tests"]) for weight, result in ask(context, jobs).items()}
    return found(
        by_unit({"": math.isclose(per_nat(said, "bits"), 1.0, rel_tol=0.005)}),
        f"A bit is {NATS_PER_BIT:.3f} nats, so 1 per nat is {NATS_PER_BIT:.3f} per bit, and {said:g} per bit is "
        f"{per_nat(said, 'bits'):.2f} per nat. On Diagnosis with 8 conditions, H={horizon}, EFE at 1 per nat takes "
        f"{tests[1.0]:.2f} tests, at {NATS_PER_BIT:.3f} per bit {tests[NATS_PER_BIT]:.2f}, at {said:g} per bit "
        f"{tests[said]:.2f}.",
        exact=f"{NATS_PER_BIT:.3f}",
    )


@claim("knee-is-broad")
def knee_is_broad(context: Context) -> Finding:
    places = {"tiger": 6, "testbed": 4, "diagnosis": 3, "bandit": 2, "tileworld:n=8": 2}
    if context.full:
        places["tileworld:n=6"] = 2
    jobs: dict[tuple[str, str, float], Job] = {}
    for problem, horizon in places.items():
        for unit, one in efe_jobs(problem, horizon).items():
            jobs[problem, unit, 1.0] = one
            for w in (KNEE[0], KNEE[-1]):
                jobs[problem, unit, w] = exact_job(problem, "planning-ig", horizon=horizon, weight=w, unit=unit)
    reward = {key: float(result["reward"]) for key, result in ask(context, jobs).items()}

    def lost(problem: str, unit: str) -> float:
        earned = [reward[problem, unit, w] for w in KNEE]
        return (max(earned) - min(earned)) / abs(max(earned))

    wide = {u: [f"{p} ({percent(lost(p, u), 0)})" for p in places if lost(p, u) > ALIKE] for u in UNITS}
    units_differ = [p for p in places if abs(reward[p, "bits", 1.0] - reward[p, "nats", 1.0]) > SAME]
    texts = [
        f"{p} {signed(reward[p, 'bits', 1.0])} per bit, {signed(reward[p, 'nats', 1.0])} per nat" for p in units_differ
    ]
    return found(
        by_unit({u: not wide[u] and not units_differ for u in UNITS}),
        f"Rewards at weights 1/2, 1 and 2 differ by more than {percent(ALIKE, 0)} of the best on "
        + listed(f"{', '.join(wide[u]) or 'nothing'} in {u}" for u in UNITS)
        + f". The unit changes the reward of weight 1 on {listed(texts) or 'no problem'}.",
        exact=listed(
            f"{p} {u}: " + ", ".join(signed(reward[p, u, w]) for w in KNEE)
            for p in places
            for u in UNITS
            if lost(p, u) > ALIKE
        ),
    )
