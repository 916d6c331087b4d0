"""Claims of the summary and the discussion: where EFE helps and where not, and what other weights do."""

from __future__ import annotations

import math

from rhoplan.belief_math.information import NATS_PER_BIT, per_nat
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.grids import GRIDS, walkers
from rhoplan_paper.claims.numbers import CLEAR, Lead, apart, gap, leads, near_margin
from rhoplan_paper.claims.robust import misbelieved
from rhoplan_paper.context import UNITS, Context, ask, at_once, efe_jobs, exact_job, unit_jobs
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import cell
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.tables.rows import measured
from rhoplan_paper.verdicts import SAME, by_parts, by_unit
from rhoplan_paper.words import percent, signed

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


def _gaps(compared: list[Lead]) -> list[str]:
    """EFE's reward minus Planning's on each problem, in both units."""
    return [f"{one.problem} {signed(one.gap('bits'))} bits, {signed(one.gap('nats'))} nats" for one in compared]


@claim("summary-matches-or-improves")
def summary_matches_or_improves(context: Context) -> Found:
    compared = leads(context, SUMMED_UP)
    worse = {u: [x for x in compared if x.gap(u) < -near_margin(float(x.planning["reward"]))] for u in UNITS}
    rarer = {u: max(_less_right(one, u) for one in compared) for u in UNITS}
    families = {place: _family(place[0]) for place in SUMMED_UP}
    verdict = by_parts(
        {
            f"in reward on {family}": {
                u: not any(families[one.problem, one.horizon] == family for one in worse[u]) for u in UNITS
            }
            for family in dict.fromkeys(families.values())
        }
        | {"at comparable or better accuracy": {u: rarer[u] <= COMPARABLE for u in UNITS}}
    )
    printed = {}
    for (problem, _), table in SUMMED_UP.items():
        efe, planning = (cell(table, "reward", problem=problem, agent=agent).number for agent in ("efe", "planning"))
        printed[problem] = efe - planning
    below = list(dict.fromkeys(one.label for ones in worse.values() for one in ones))
    return found(verdict, texts=_gaps(compared), below=below, rarer=max(rarer.values()), printed=printed)


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
def two_conditions(context: Context) -> Found:
    deep = [(problem, horizon) for problem in SEVERAL_TESTS for horizon in range(1, DEEPEST + 1)]
    alone, several = at_once(lambda: leads(context, ONE_TEST), lambda: leads(context, deep))
    gaps = {(p, u): [one.gap(u) for one in several if one.problem == p] for p in SEVERAL_TESTS for u in UNITS}
    helps = {u: all(gaps[p, u][horizon - 1] > 0 for p, horizon in SEVERAL_TESTS.items()) for u in UNITS}
    needed = {
        u: all(one.gap(u) <= 0 for one in alone) and all(gaps[p, u][0] <= 0 for p in SEVERAL_TESTS) for u in UNITS
    }
    stays = {u: all(gaps[p, u][-1] > 0 for p in SEVERAL_TESTS) for u in UNITS}
    told = [f"{p} in {u} " + ", ".join(f"{gap:+.3f}" if gap else "0" for gap in gaps[p, u]) for p, u in gaps]
    first, horizon = next(iter(SEVERAL_TESTS.items()))
    return found(
        by_parts(
            {
                "with several tests EFE leads at the paper's horizons": helps,
                "with a single test, or one step ahead, it does not": needed,
                f"it leads at a longer horizon too (H={DEEPEST})": stays,
            }
        ),
        deepest=DEEPEST,
        told=told,
        helps=all(helps.values()),
        single={one.label: max(one.gap(u) for u in UNITS) for one in alone},
        needed=all(needed.values()),
        stays=all(stays.values()),
        first=told[:: len(UNITS)],
        lead=gaps[first, "bits"][horizon - 1],
        last=abs(gaps[first, "bits"][-1]),
        horizon=horizon,
    )


@claim("when-to-use")
def when_to_use(context: Context) -> Found:
    tuned_jobs = {
        (*place, unit): one
        for place, weight in RECOMMENDED.items()
        for unit, one in unit_jobs(place[0], "planning-ig", horizon=place[1], weight=weight).items()
    }
    compared, tuned = at_once(lambda: leads(context, RECOMMENDED), lambda: ask(context, tuned_jobs))
    richer = {u: [one.problem for one in compared if one.gap(u) > 0] for u in UNITS}
    behind = {u: [x.problem for x in compared if gap(x.efe[u], tuned[x.problem, x.horizon, u]) < 0] for u in UNITS}
    return found(
        by_parts(
            {
                "there EFE is not behind the tuned alternative": {u: not behind[u] for u in UNITS},
                "and earns more than Planning": {u: len(richer[u]) == len(compared) for u in UNITS},
            }
        ),
        settings=len(compared),
        more={u: len(ones) for u, ones in richer.items()},
        richer=richer,
        less={u: len(ones) for u, ones in behind.items()},
        behind=behind,
        texts=_gaps(compared),
    )


@claim("when-not-to-use")
def when_not_to_use(context: Context) -> Found:
    ours, walked, testbed = at_once(
        lambda: misbelieved(context, FAR_OFF), lambda: walkers(context), lambda: leads(context, [("testbed", 4)])[0]
    )
    symmetric = {u: testbed.gap(u) for u in UNITS}
    pairs = {f"{n}x{n}": [walked[n, agent].number("reward") for agent in ("efe", "nav-myopic")] for n in GRIDS}
    ahead = {grid: apart(*pair) for grid, pair in pairs.items()}
    better = [f"{grid} ({far:.1f} SE)" for grid, far in ahead.items() if far > CLEAR]
    harm = {
        unit: max(float(ours[p, b, "planning"]["reward"]) - float(ours[p, b, unit]["reward"]) for p, _, b in FAR_OFF)
        for unit in UNITS
    }
    return found(
        by_parts(
            {
                "not for symmetric stakes": {u: symmetric[u] < 0 for u in UNITS},
                "not for navigation": not better,
                "not for models off by more than 0.15": {u: harm[u] > SAME for u in UNITS},
            }
        ),
        symmetric=symmetric,
        better=better,
        models=[f"{p} believed {b:g}" for p, _, b in FAR_OFF],
        harm=max(*harm.values(), 0.0),
        gaps={grid: efe.mean - other.mean for grid, (efe, other) in pairs.items()},
    )


@claim("depth-amplifies-weight")
def depth_amplifies_weight(context: Context) -> Found:
    jobs: dict[tuple[str, str, str], Job] = {}
    for unit in UNITS:
        for problem, horizon in AT_DEPTH.items():
            jobs[problem, unit, "deep"] = exact_job(problem, "planning-ig", horizon=horizon, weight=100, unit=unit)
            jobs[problem, unit, "w=100"] = exact_job(problem, "info-gain", weight=100, unit=unit)
        jobs["bandit", unit, "w=50"] = exact_job("bandit", "info-gain", weight=50, unit=unit)
    tests = {key: float(result["tests"]) for key, result in ask(context, jobs).items()}
    more = {p: {u: tests[p, u, "deep"] - tests[p, u, "w=100"] for u in UNITS} for p in AT_DEPTH}
    shown = cell("depth-amplifies", "tests", agent="info-gain")
    nearest = min(("w=100", "w=50"), key=lambda name: abs(tests["bandit", "bits", name] - shown.number))
    others = [p for p in AT_DEPTH if p != "bandit"]
    return found(
        by_parts(
            {
                "on Bandit, where it is printed": {u: more["bandit"][u] > SAME for u in UNITS},
                f"on {', '.join(others)} too": {u: min(more[p][u] for p in others) > SAME for u in UNITS},
            }
        ),
        more=more["bandit"],
        printed=shown.text,
        nearest=nearest,
        tests=tests["bandit", "bits", nearest],
        elsewhere=[f"{p} {signed(more[p]['bits'])} bits, {signed(more[p]['nats'])} nats" for p in others],
        exact=[f"{u}: {tests['bandit', u, 'deep']:.2f} and {tests['bandit', u, 'w=100']:.2f}" for u in UNITS],
    )


@claim("bits-weight")
def bits_weight(context: Context) -> Found:
    problem, horizon = "diagnosis:n=8", 3
    said = cell("weight-in-bits", "weight").number
    per_bit = [exact_job(problem, "planning-ig", horizon=horizon, weight=w, unit="bits") for w in (NATS_PER_BIT, said)]
    tests = [float(result["tests"]) for result in context.results([efe_jobs(problem, horizon)["nats"], *per_bit])]
    nats = per_nat(said, "bits")
    verdict = by_unit({"": math.isclose(nats, 1.0, rel_tol=0.005)})
    return found(verdict, bit=NATS_PER_BIT, said=said, nats=nats, horizon=horizon, tests=tests)


@claim("knee-is-broad")
def knee_is_broad(context: Context) -> Found:
    places = {"tiger": 6, "testbed": 4, "diagnosis": 3, "bandit": 2, "tileworld:n=8": 2}
    if context.full:
        places["tileworld:n=6"] = 2
    jobs: dict[tuple[str, str, float], Job] = {}
    for problem, horizon in places.items():
        for unit, one in efe_jobs(problem, horizon).items():
            jobs[problem, unit, 1.0] = one
            for w in (KNEE[0], KNEE[-1]):
                jobs[problem, unit, w] = exact_job(problem, "planning-ig", horizon=horizon, weight=w, unit=unit)
    ours = ask(context, jobs)
    reward = {(p, u): [float(ours[p, u, w]["reward"]) for w in KNEE] for p in places for u in UNITS}
    lost = {key: (max(earned) - min(earned)) / abs(max(earned)) for key, earned in reward.items()}
    wide = {u: [f"{p} ({percent(lost[p, u], 0)})" for p in places if lost[p, u] > ALIKE] for u in UNITS}
    at_one = {p: [reward[p, u][1] for u in UNITS] for p in places}
    units = [
        f"{p} {signed(bits)} per bit, {signed(nats)} per nat"
        for p, (bits, nats) in at_one.items()
        if abs(bits - nats) > SAME
    ]
    return found(
        by_unit({u: not wide[u] and not units for u in UNITS}),
        alike=ALIKE,
        wide=wide,
        units=units,
        rewards={f"{p} {u}:": earned for (p, u), earned in reward.items() if lost[p, u] > ALIKE},
    )
