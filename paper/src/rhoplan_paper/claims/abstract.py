"""Claims of the abstract, the introduction and the methodology: what EFE is said to do everywhere."""

from __future__ import annotations

import math
from itertools import pairwise

from rhoplan.belief.information import NATS_PER_BIT, information
from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLOSE, Lead, lead_jobs, leads, sweeps
from rhoplan_paper.context import UNITS, Context, ask, efe_jobs, exact_job
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import published, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Finding
from rhoplan_paper.verdicts import by_parts, by_unit, same
from rhoplan_paper.words import listed, percent, points, signed

RESCALED = {
    "testbed:cost={0:g},right={1:g},wrong={2:g}": (4, (0.1, 1.0, -1.0)),
    "diagnosis:cost={0:g},right={1:g},wrong={2:g}": (3, (1.0, 10.0, -50.0)),
    "bandit:cost={0:g},right={1:g},wrong={2:g}": (2, (0.5, 10.0, 1.0)),
}
"""Problems whose rewards and costs are all multiplied, with their horizon and their own numbers."""

SCALES = (0.1, 10.0)

BEYOND_NOISE = 2.0
"""Standard errors of the printed difference from which `as well as` is not true of it."""

OBSERVE_THEN_COMMIT = (
    ("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2), ("tileworld:n=6", 2), ("tileworld:n=8", 2),
    ("diagnosis:n=2", 2), ("diagnosis:n=4", 2), ("diagnosis:n=8", 2), ("diagnosis:n=16", 2),
)  # fmt: skip
"""Every problem and horizon with which the paper's tables set EFE beside Planning."""

GRIDS = (4, 6, 8, 10, 12, 16)
CONDITIONS = (2, 4, 8, 16)
ROCKS = (("rocksample:n=5,k=3", None), ("rocksample:n=7,k=4", None), ("rocksample:n=7,k=8", None))
MOST_ROCKS = ("rocksample:n=11,k=11", 2)
TESTS = tuple((f"diagnosis:n=8,k={k}", 3) for k in (1, 2, 3))

ABLATED = (
    ("tiger", 6), ("testbed", 4), ("diagnosis", 3), ("bandit", 2),
    ("diagnosis:n=16", 2), ("tileworld:n=6", 2), ("tileworld:n=8", 2),
)  # fmt: skip


@claim("weight-from-units")
def weight_from_units(context: Context) -> Finding:
    scales = (1.0, *SCALES)
    jobs: dict[tuple[str, float, str], Job] = {}
    for template, (horizon, numbers) in RESCALED.items():
        for scale in scales:
            problem = template.format(*(scale * number for number in numbers))
            jobs |= {(template, scale, unit): one for unit, one in efe_jobs(problem, horizon).items()}
            jobs[template, scale, "rescaled"] = exact_job(problem, "planning-ig", horizon=horizon, weight=scale)
    tests = {key: float(result["tests"]) for key, result in ask(context, jobs).items()}
    holds = {
        unit: all(math.isclose(tests[t, scale, unit], tests[t, 1.0, unit]) for t in RESCALED for scale in scales)
        for unit in UNITS
    }
    kept = all(math.isclose(tests[t, scale, "rescaled"], tests[t, 1.0, "nats"]) for t in RESCALED for scale in scales)
    changes = listed(
        f"{t.partition(':')[0]} {tests[t, 0.1, 'nats']:.2f}, {tests[t, 1.0, 'nats']:.2f}, {tests[t, 10.0, 'nats']:.2f}"
        for t in RESCALED
    )
    moves = "stays" if all(holds.values()) else "changes"
    return found(
        by_unit(holds),
        f"The bound does not fix the unit of reward: with all rewards and costs times 0.1 and times 10, the policy at "
        f"weight 1 {moves}; with the weight multiplied alike it {'stays' if kept else 'changes'}. "
        f"One per nat is {NATS_PER_BIT:.3f} per bit, one per bit is {1 / NATS_PER_BIT:.3f} per nat.",
        exact=f"tests of EFE with rewards times 0.1, 1, 10: {changes}",
    )


@claim("matches-or-outperforms")
def matches_or_outperforms(context: Context) -> Finding:
    places = _printed_pairs("matches-or-outperforms")
    compared = {lead.label: lead for lead in leads(context, places)}
    errors = {lead.label: _error(lead, places[lead.problem, lead.horizon]) for lead in compared.values()}
    worse = {
        unit: [one for one in compared.values() if one.gap(unit) < -BEYOND_NOISE * errors[one.label]] for unit in UNITS
    }

    def told(unit: str) -> str:
        gaps = [lead.gap(unit) for lead in compared.values()]
        signs = f"more on {sum(g > 0 for g in gaps)}, the same on {sum(g == 0 for g in gaps)}"
        less = [f"{x.label} {signed(x.gap(unit), 3)}" for x in compared.values() if x.gap(unit) < 0]
        return f"in {unit} EFE earns {signs}, less on {len(less)} ({', '.join(less)})"

    clear = [f"{one.problem} in {u}" for u, ones in worse.items() for one in ones]
    return found(
        by_unit({unit: not ones for unit, ones in worse.items()}),
        f"Of {len(compared)} problems and horizons, {told('bits')}; {told('nats')}. "
        f"Below by more than {BEYOND_NOISE:g} SE of the printed protocol: {', '.join(clear) or 'none'}.",
        exact=listed(
            f"{one.problem} {signed(one.gap('bits'), 3)} bits, {signed(one.gap('nats'), 3)} nats"
            for one in compared.values()
            if one.gap("bits") or one.gap("nats")
        ),
        headline=(
            f"{sum(one.gap('bits') < 0 for one in compared.values())} of {len(compared)}",
            "problems and horizons have EFE earn less than Planning, exactly, with a weight of 1 per bit; on "
            f"{len(worse['bits'])} by more than the noise of the paper's runs. The abstract has none.",
        ),
    )


@claim("avoids-over-exploration")
def avoids_over_exploration(context: Context) -> Finding:
    cells = [*select("main tests agent=planning-ig"), *select("testbed tests agent=planning-ig")]
    cells += select("tileworld-6 tests agent=planning-ig")
    tuned = {(str(c.row["problem"]), int(c.row["horizon"])): float(c.row["weight"]) for c in cells}
    jobs = lead_jobs(tuned)
    for (problem, horizon), weight in tuned.items():
        for unit in UNITS:
            tests_more = exact_job(problem, "planning-ig", horizon=horizon, weight=weight, unit=unit)
            jobs[problem, horizon, f"tuned {unit}"] = tests_more
    results, swept = ask(context, jobs), sweeps(context, tuned)
    holds, told = {}, []
    for unit in UNITS:
        pairs = {place: (results[(*place, unit)], results[(*place, f"tuned {unit}")]) for place in tuned}
        alike = [place[0] for place, (efe, bonus) in pairs.items() if same(efe, bonus)]
        less = [p for p, (efe, bonus) in pairs.items() if efe["tests"] < bonus["tests"] - 1e-9]
        more = [p for p, (efe, bonus) in pairs.items() if efe["reward"] > bonus["reward"] + 1e-9]
        holds[unit] = all(p in less and p in more for p in tuned if p[0] not in alike)
        told.append(f"{unit}: fewer tests and more reward on {len(set(less) & set(more))} of {len(tuned)}, "
                    f"one and the same score on {', '.join(alike) or 'none'}")  # fmt: skip
    better = [
        f"{s.problem} ({signed(s.top('reward'))} against {signed(float(s.at_one['nats']['reward']))})"
        for s in swept
        if min(s.loss(unit) for unit in UNITS) > 1e-9
    ]
    return found(
        by_unit(holds),
        f"{listed(told)}. The bonuses were tuned for success: tuned for reward, one earns more than EFE on "
        f"{listed(better) or 'no problem'}.",
        exact="tests, bits: "
        + listed(
            f"{p} {results[p, h, 'bits']['tests']:.2f} against {results[p, h, 'tuned bits']['tests']:.2f}"
            for p, h in tuned
        ),
    )


@claim("near-knee")
def near_knee(context: Context) -> Finding:
    swept = sweeps(context)
    holds = {unit: all(sweep.factor(unit) <= CLOSE for sweep in swept) for unit in UNITS}
    beaten = [
        sweep.problem
        for sweep in swept
        if any(
            step["reward"] > float(sweep.at_one["nats"]["reward"]) + 1e-9
            and step["success"] > float(sweep.at_one["nats"]["success"]) + 1e-9
            for step in sweep.steps
        )
    ]
    return found(
        by_unit(holds),
        f"Near means within a factor of {CLOSE:g} of a weight that earns the most. Some other weight has more reward "
        f"and more success at once on {', '.join(beaten) or 'none'}; weight 1 lacks "
        + listed(f"{sweep.loss('nats'):.3f} on {sweep.problem}" for sweep in swept if sweep.loss("nats") > 1e-9)
        + " of the best reward (nats).",
        exact=listed(
            f"{s.problem} most reward at {s.best('reward')[0]:.3g} to {s.best('reward')[1]:.3g} per nat" for s in swept
        ),
    )


@claim("coverage")
def coverage(context: Context) -> Finding:
    problems = list(dict.fromkeys(str(cell.row["problem"]) for cell in select("environments states")))
    flat = [problem for problem in problems if make(problem).observes_then_commits]
    other = [problem for problem in problems if problem not in flat]
    rocks = {str(cell.row["problem"]) for cell in select("rocksample reward")}
    kinds = {kind for problem in other for kind in (action.kind for action in make(problem).menu(make(problem).start))}
    verdict = by_parts(
        {"six observe-then-commit problems": len(flat) == 6, "four RockSample instances": len(rocks) == 4}
    )
    return found(
        verdict,
        f"Of the {len(problems)} problems listed, {len(flat)} are observe-then-commit"
        + (f"; {', '.join(other)} is not: all its actions are of the kind {', '.join(sorted(kinds))}" if other else "")
        + f". There are {len(rocks)} RockSample instances.",
        published="6 observe-then-commit problems, 4 RockSample instances",
        exact=f"{len(flat)} and {len(rocks)}",
    )


@claim("dominates-planning")
def dominates_planning(context: Context) -> Finding:
    compared = leads(context, OBSERVE_THEN_COMMIT)
    behind = {u: [x for x in compared if min(x.gap(u), x.gap(u, "success")) < 0] for u in UNITS}
    ahead = {u: [x for x in compared if x not in behind[u] and max(x.gap(u), x.gap(u, "success")) > 0] for u in UNITS}

    def told(lead: Lead, unit: str) -> str:
        return f"{lead.label} {signed(lead.gap(unit), 3)}, {points(lead.gap(unit, 'success'))}"

    reasons = [
        f"{unit}: ahead on {len(ahead[unit])} of {len(compared)} ({', '.join(x.problem for x in ahead[unit])}), "
        f"behind in one of the two on {', '.join(told(x, unit) for x in behind[unit]) or 'none'}, the same on the rest"
        for unit in UNITS
    ]
    return found(
        by_unit({unit: not ones for unit, ones in behind.items()}),
        listed(reasons),
        exact=listed(f"{unit}: " + listed(told(x, unit) for x in (*ahead[unit], *behind[unit])) for unit in UNITS),
    )


@claim("grows-with-states")
def grows_with_states(context: Context) -> Finding:
    grids = [(f"tileworld:n={n}", 2) for n in GRIDS]
    conditions = [(f"diagnosis:n={n}", 2) for n in CONDITIONS]
    compared = leads(context, [*grids, *conditions])
    series = {u: [lead.gap(u, "success") for lead in compared] for u in UNITS}
    split = len(grids)
    holds = {u: _grows(gaps[:split]) and _grows(gaps[split:]) for u, gaps in series.items()}
    last = compared[split - 1]
    return found(
        by_unit(holds),
        f"EFE minus Planning in success, horizon 2. The 8x8 grid, where the lead is printed, has "
        f"{points(series['bits'][2])} in bits and {points(series['nats'][2])} in nats; on the largest grid "
        f"tried, {GRIDS[-1]}x{GRIDS[-1]}, Planning makes {last.planning['tests']:.1f} scans and EFE "
        f"{last.efe['bits']['tests']:.1f} in bits, {last.efe['nats']['tests']:.1f} in nats.",
        exact=listed(
            f"{u}: grids of side {', '.join(map(str, GRIDS))}: {_series(gaps[:split])} pp; "
            f"diagnosis with {', '.join(map(str, CONDITIONS))} conditions: {_series(gaps[split:])} pp"
            for u, gaps in series.items()
        ),
    )


@claim("grows-with-tests")
def grows_with_tests(context: Context) -> Finding:
    compared = leads(context, [*ROCKS, MOST_ROCKS, *TESTS])
    split = len(ROCKS) + 1
    rocks = {u: [lead.gap(u) for lead in compared[:split]] for u in UNITS}
    tests = {u: [lead.gap(u, "success") for lead in compared[split:]] for u in UNITS}
    verdict = by_parts(
        {
            "on RockSample with 3 to 11 rocks": {u: _grows(rocks[u]) for u in UNITS},
            "on Diagnosis with 1 to 3 tests": {u: _grows(tests[u]) for u in UNITS},
        }
    )
    return found(
        verdict,
        "EFE minus Planning. RockSample with 3, 4, 8 and 11 rocks (reward): "
        + listed(f"{', '.join(signed(g) for g in gaps)} in {u}" for u, gaps in rocks.items())
        + f" (depths {', '.join(str(make(lead.problem).horizon) for lead in compared[:split])}). Diagnosis with 8 "
        "conditions and 1, 2, 3 tests (success): " + listed(f"{_series(g)} pp in {u}" for u, g in tests.items()) + ".",
        exact=listed(f"{lead.problem} {signed(lead.gap('nats'))}" for lead in compared[:split]),
    )


@claim("epistemic-only-at-chance")
def epistemic_only_at_chance(context: Context) -> Finding:
    jobs = {(p, u): exact_job(p, "epistemic-only", horizon=h, unit=u) for p, h in ABLATED for u in UNITS}
    results = ask(context, jobs)
    chance = {problem: 1 / len(make(problem).states) for problem, _ in ABLATED}
    off = {u: [p for p in chance if abs(results[p, u]["success"] - chance[p]) > 1e-9] for u in UNITS}
    printed = [c for reference in published().claims["epistemic-only-at-chance"].rests_on for c in select(reference)]
    shown = {str(one.row["problem"]) for one in printed}
    verdict = by_parts(
        {
            "at chance on the problems where the paper prints it": {u: shown.isdisjoint(off[u]) for u in UNITS},
            "at chance on its other problems too": {u: shown.issuperset(off[u]) for u in UNITS},
        }
    )
    spent = select("tileworld-6-full tests success agent=epistemic-only")
    grid = make("tileworld:n=6")
    scan = grid.flat.tests[0]
    told = float(information(grid.prior[None, :], grid.menu(grid.start)[0])[0])
    return found(
        verdict,
        f"The paper prints it for {', '.join(p for p in chance if p in shown)}. Not at chance: "
        + (
            listed(
                f"{p} in {u} ({percent(results[p, u]['success'])} after {results[p, u]['tests']:.2f} tests, chance "
                f"{percent(chance[p])})"
                for u in UNITS
                for p in off[u]
            )
            or "nowhere"
        )
        + f". The {spent[1].text} printed for the 6x6 grid is not chance either ({percent(chance['tileworld:n=6'])}): "
        f"it belongs to {spent[0].text} scans without a commit. Ours commits after "
        f"{results['tileworld:n=6', 'bits']['tests']:.0f}: a first scan costs {scan.cost:g} and tells {told:.3f} nats, "
        f"{told / NATS_PER_BIT:.3f} bits.",
        exact=listed(f"{p} {percent(results[p, 'bits']['success'])}" for p in chance),
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
