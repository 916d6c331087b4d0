"""Claims of the abstract, the introduction and the methodology: what EFE is said to do everywhere."""

from __future__ import annotations

import math
from itertools import pairwise

from rhoplan.belief_math.information import NATS_PER_BIT, information
from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLOSE, OBSERVING, Lead, gap, lead_jobs, leads, sweeps
from rhoplan_paper.context import UNITS, Context, ask, efe_jobs, exact_job, unit_jobs
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import published, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.verdicts import SAME, by_parts, by_unit, same
from rhoplan_paper.words import percent, points, signed

RESCALED = {
    "testbed:cost={0:g},right={1:g},wrong={2:g}": (4, (0.1, 1.0, -1.0)),
    "diagnosis:cost={0:g},right={1:g},wrong={2:g}": (3, (1.0, 10.0, -50.0)),
    "bandit:cost={0:g},right={1:g},wrong={2:g}": (2, (0.5, 10.0, 1.0)),
}
"""Problems whose rewards and costs are all multiplied, with their horizon and their own numbers."""

SCALES = (0.1, 1.0, 10.0)

BEYOND_NOISE = 2.0
"""Standard errors of the printed difference from which `as well as` is not true of it."""

GRIDS = (4, 6, 8, 10, 12, 16)
CONDITIONS = (2, 4, 8, 16)

OBSERVE_THEN_COMMIT = (*OBSERVING, *((f"diagnosis:n={n}", 2) for n in CONDITIONS))
"""Every problem and horizon with which the paper's tables set EFE beside Planning."""

ROCKS = (
    ("rocksample:n=5,k=3", None), ("rocksample:n=7,k=4", None), ("rocksample:n=7,k=8", None),
    ("rocksample:n=11,k=11", 2),
)  # fmt: skip
TESTS = tuple((f"diagnosis:n=8,k={k}", 3) for k in (1, 2, 3))

ABLATED = (*OBSERVING[:4], ("diagnosis:n=16", 2), *OBSERVING[4:])


@claim("weight-from-units")
def weight_from_units(context: Context) -> Found:
    jobs: dict[tuple[str, float, str], Job] = {}
    for template, (horizon, numbers) in RESCALED.items():
        for scale in SCALES:
            problem = template.format(*(scale * number for number in numbers))
            jobs |= {(template, scale, unit): one for unit, one in efe_jobs(problem, horizon).items()}
            jobs[template, scale, "rescaled"] = exact_job(problem, "planning-ig", horizon=horizon, weight=scale)
    tests = {key: float(result["tests"]) for key, result in ask(context, jobs).items()}

    def stays(how: str, unit: str) -> bool:
        return all(math.isclose(tests[t, scale, how], tests[t, 1.0, unit]) for t in RESCALED for scale in SCALES)

    holds = {unit: stays(unit, unit) for unit in UNITS}
    return found(
        by_unit(holds),
        holds=all(holds.values()),
        kept=stays("rescaled", "nats"),
        bit=NATS_PER_BIT,
        nat=1 / NATS_PER_BIT,
        tests={t.partition(":")[0]: [tests[t, scale, "nats"] for scale in SCALES] for t in RESCALED},
    )


@claim("matches-or-outperforms")
def matches_or_outperforms(context: Context) -> Found:
    places = _printed_pairs("matches-or-outperforms")
    compared = leads(context, places)
    errors = {one.label: _error(one, places[one.problem, one.horizon]) for one in compared}
    less = {u: [one for one in compared if one.gap(u) < 0] for u in UNITS}
    worse = {u: [one for one in ones if one.gap(u) < -BEYOND_NOISE * errors[one.label]] for u, ones in less.items()}

    def told(unit: str) -> str:
        gaps = [lead.gap(unit) for lead in compared]
        signs = f"more on {sum(g > 0 for g in gaps)}, the same on {sum(g == 0 for g in gaps)}"
        shown = ", ".join(f"{x.label} {signed(x.gap(unit), 3)}" for x in less[unit])
        return f"EFE earns {signs}, less on {len(less[unit])} ({shown})"

    return found(
        by_unit({unit: not ones for unit, ones in worse.items()}),
        places=len(compared),
        told={u: told(u) for u in UNITS},
        noise=BEYOND_NOISE,
        clear=[f"{one.problem} in {u}" for u, ones in worse.items() for one in ones],
        gaps=[
            f"{one.problem} {signed(one.gap('bits'), 3)} bits, {signed(one.gap('nats'), 3)} nats"
            for one in compared
            if one.gap("bits") or one.gap("nats")
        ],
        less=len(less["bits"]),
        beyond=len(worse["bits"]),
    )


@claim("avoids-over-exploration")
def avoids_over_exploration(context: Context) -> Found:
    tables = ("main", "testbed", "tileworld-6")
    cells = [one for table in tables for one in select(f"{table} tests agent=planning-ig")]
    tuned = {(str(c.row["problem"]), int(c.row["horizon"])): float(c.row["weight"]) for c in cells}
    jobs = lead_jobs(tuned)
    for (problem, horizon), weight in tuned.items():
        more = unit_jobs(problem, "planning-ig", horizon=horizon, weight=weight)
        jobs |= {(problem, horizon, f"tuned {unit}"): one for unit, one in more.items()}
    results, swept = ask(context, jobs), sweeps(context, tuned)
    holds, told = {}, []
    for unit in UNITS:
        pairs = {place: (results[(*place, unit)], results[(*place, f"tuned {unit}")]) for place in tuned}
        alike = [place for place, pair in pairs.items() if same(*pair)]
        better = [p for p, pair in pairs.items() if gap(*pair, "tests") < 0 < gap(*pair)]
        holds[unit] = all(place in better for place in tuned if place not in alike)
        told.append(f"{unit}: fewer tests and more reward on {len(better)} of {len(tuned)}, "
                    f"one and the same score on {', '.join(p for p, _ in alike) or 'none'}")  # fmt: skip
    return found(
        by_unit(holds),
        told=told,
        better=[
            f"{s.problem} ({signed(s.top('reward'))} against {signed(float(s.at_one['nats']['reward']))})"
            for s in swept
            if min(s.loss(unit) for unit in UNITS) > SAME
        ],
        tests=[
            f"{p} {results[p, h, 'bits']['tests']:.2f} against {results[p, h, 'tuned bits']['tests']:.2f}"
            for p, h in tuned
        ],
    )


@claim("near-knee")
def near_knee(context: Context) -> Found:
    swept = sweeps(context)
    ones = {sweep.problem: sweep.at_one["nats"] for sweep in swept}
    return found(
        by_unit({unit: all(sweep.factor(unit) <= CLOSE for sweep in swept) for unit in UNITS}),
        close=CLOSE,
        beaten=[
            s.problem
            for s in swept
            if any(min(gap(step, ones[s.problem], name) for name in ("reward", "success")) > 0 for step in s.steps)
        ],
        loss=[f"{s.loss('nats'):.3f} on {s.problem}" for s in swept if s.loss("nats") > SAME],
        best=[
            f"{s.problem} most reward at {s.best('reward')[0]:.3g} to {s.best('reward')[1]:.3g} per nat" for s in swept
        ],
    )


@claim("coverage")
def coverage(context: Context) -> Found:
    problems = list(dict.fromkeys(str(cell.row["problem"]) for cell in select("environments states")))
    flat = [problem for problem in problems if make(problem).observes_then_commits]
    other = [problem for problem in problems if problem not in flat]
    rocks = {str(cell.row["problem"]) for cell in select("rocksample reward")}
    kinds = sorted({action.kind for problem in other for action in make(problem).menu(make(problem).start)})
    rest = f"; {', '.join(other)} is not: all its actions are of the kind {', '.join(kinds)}" if other else ""
    verdict = by_parts(
        {"six observe-then-commit problems": len(flat) == 6, "four RockSample instances": len(rocks) == 4}
    )
    return found(verdict, problems=len(problems), flat=len(flat), other=rest, rocks=len(rocks))


@claim("dominates-planning")
def dominates_planning(context: Context) -> Found:
    compared = leads(context, OBSERVE_THEN_COMMIT)
    behind = {u: [x for x in compared if min(x.gap(u), x.gap(u, "success")) < 0] for u in UNITS}
    ahead = {u: [x for x in compared if x not in behind[u] and max(x.gap(u), x.gap(u, "success")) > 0] for u in UNITS}

    def told(some: list[Lead], unit: str) -> list[str]:
        return [f"{x.label} {signed(x.gap(unit), 3)}, {points(x.gap(unit, 'success'))}" for x in some]

    return found(
        by_unit({unit: not ones for unit, ones in behind.items()}),
        places=len(compared),
        ahead={u: len(ones) for u, ones in ahead.items()},
        names={u: [x.problem for x in ones] for u, ones in ahead.items()},
        behind={u: told(ones, u) for u, ones in behind.items()},
        gaps={u: told([*ahead[u], *behind[u]], u) for u in UNITS},
    )


@claim("grows-with-states")
def grows_with_states(context: Context) -> Found:
    grids = leads(context, [(f"tileworld:n={n}", 2) for n in GRIDS])
    conditions = leads(context, [(f"diagnosis:n={n}", 2) for n in CONDITIONS])
    series = {u: [[lead.gap(u, "success") for lead in some] for some in (grids, conditions)] for u in UNITS}
    return found(
        by_unit({u: all(_grows(gaps) for gaps in both) for u, both in series.items()}),
        grid={u: both[0][GRIDS.index(8)] for u, both in series.items()},
        largest=GRIDS[-1],
        last=grids[-1],
        series=[
            f"{u}: grids of side {', '.join(map(str, GRIDS))}: {_series(of_grids)} pp; "
            f"diagnosis with {', '.join(map(str, CONDITIONS))} conditions: {_series(of_conditions)} pp"
            for u, (of_grids, of_conditions) in series.items()
        ],
    )


@claim("grows-with-tests")
def grows_with_tests(context: Context) -> Found:
    of_rocks, of_tests = leads(context, ROCKS), leads(context, TESTS)
    rocks = {u: [lead.gap(u) for lead in of_rocks] for u in UNITS}
    tests = {u: [lead.gap(u, "success") for lead in of_tests] for u in UNITS}
    return found(
        by_parts(
            {
                "on RockSample with 3 to 11 rocks": {u: _grows(rocks[u]) for u in UNITS},
                "on Diagnosis with 1 to 3 tests": {u: _grows(tests[u]) for u in UNITS},
            }
        ),
        rocks=rocks,
        depths=[make(lead.problem).horizon for lead in of_rocks],
        tests={u: _series(gaps) for u, gaps in tests.items()},
        exact={lead.problem: lead.gap("nats") for lead in of_rocks},
    )


@claim("epistemic-only-at-chance")
def epistemic_only_at_chance(context: Context) -> Found:
    jobs = {(p, u): exact_job(p, "epistemic-only", horizon=h, unit=u) for p, h in ABLATED for u in UNITS}
    results = ask(context, jobs)
    chance = {problem: 1 / len(make(problem).states) for problem, _ in ABLATED}
    off = {u: [p for p in chance if abs(results[p, u]["success"] - chance[p]) > SAME] for u in UNITS}
    printed = [c for reference in published().claims["epistemic-only-at-chance"].rests_on for c in select(reference)]
    shown = {str(one.row["problem"]) for one in printed}
    spent, success = select("tileworld-6-full tests success agent=epistemic-only")
    grid = make("tileworld:n=6")
    told = float(information(grid.prior[None, :], grid.menu(grid.start)[0])[0])
    return found(
        by_parts(
            {
                "at chance on the problems where the paper prints it": {u: shown.isdisjoint(off[u]) for u in UNITS},
                "at chance on its other problems too": {u: shown.issuperset(off[u]) for u in UNITS},
            }
        ),
        shown=[p for p in chance if p in shown],
        off=[
            f"{p} in {u} ({percent(results[p, u]['success'])} after {results[p, u]['tests']:.2f} tests, chance "
            f"{percent(chance[p])})"
            for u in UNITS
            for p in off[u]
        ],
        printed=success.text,
        chance=chance["tileworld:n=6"],
        spent=spent.text,
        tests=results["tileworld:n=6", "bits"]["tests"],
        cost=grid.flat.tests[0].cost,
        nats=told,
        bits=told / NATS_PER_BIT,
        success={p: results[p, "bits"]["success"] for p in chance},
    )


def _printed_pairs(id: str) -> dict[tuple[str, int | None], str]:
    """The problems and horizons where the claim's references print EFE beside Planning, and the table that does."""
    pairs: dict[tuple[str, int | None], str] = {}
    for reference in published().claims[id].rests_on:
        for cell in select(reference):
            problem, horizon = str(cell.row["problem"]), cell.row.get("horizon")
            if horizon is not None or not make(problem).observes_then_commits:
                pairs.setdefault((problem, None if horizon is None else int(horizon)), reference.split()[0])
    return pairs


def _error(lead: Lead, table: str) -> float:
    """Standard error of EFE's printed mean reward minus Planning's, by the table's own protocol; 0 where unknown."""
    scores = (lead.planning, lead.efe["bits"])
    if all(score.get("reward_sd") is not None for score in scores):
        protocol = [entry for entry in published().tables[table].protocol if "episodes" in entry]
        fitting = [entry for entry in protocol if entry.get("problem", lead.problem) == lead.problem]
        return math.hypot(*(float(score["reward_sd"]) for score in scores)) / math.sqrt(float(fitting[0]["episodes"]))
    cells = [select(f"{table} reward problem={lead.problem} agent={agent}")[0] for agent in ("efe", "planning")]
    return math.hypot(*(cell.error or 0.0 for cell in cells))


def _grows(gaps: list[float]) -> bool:
    return gaps[-1] > gaps[0] and all(later >= earlier for earlier, later in pairwise(gaps))


def _series(gaps: list[float]) -> str:
    return ", ".join(signed(100 * gap, 1) for gap in gaps)
