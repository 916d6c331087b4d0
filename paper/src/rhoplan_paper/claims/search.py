"""Claims about search: what exact look-ahead costs, sampled search, POMCP, and the comparison with pymdp."""

from __future__ import annotations

import math
from itertools import product

from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.numbers import CLEAR, apart, rows, with_error
from rhoplan_paper.compare import Number
from rhoplan_paper.context import UNITS, Context, ask, at_once, efe_jobs, search_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.registry import claim
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, UNCHECKED, Found, Verdict
from rhoplan_paper.tables.rows import measured
from rhoplan_paper.told.results import TWO_STATES
from rhoplan_paper.verdicts import by_parts, by_unit
from rhoplan_paper.words import percent, points, signed

COUNTED = ("diagnosis", "tileworld:n=6")
COUNTED_DEPTH = 5

GRID = "tileworld:n=6"
SEARCHES = {"tiger": (10, 500), "diagnosis": (5, 200), GRID: (2, 50)}
"""Horizon and simulations by problem. The grid's horizon is not told; 2 is that of the exact agent beside it."""
EPISODES = 200
"""Per seed; the paper names 200 in all, too few to tell its differences."""
ENOUGH = 200
"""Simulations with which the search on the grid comes to what the exact planner does."""

POMCP_PROBLEMS = ("tiger", "diagnosis", "bandit", GRID)
ABOVE = ("bandit", "success")
"""Where POMCP is said to be ahead."""
TRIED_LONGER = {"tiger": 6, "diagnosis": 3}
"""Problems with a larger budget, and their horizon."""
POMCP_EPISODES = 1000
BUDGETS = (1000, 5000)
SMALL_RISE = 0.02
"""A rise of success that is no help: two percentage points."""


@claim("search-cost")
def search_cost(context: Context) -> Found:
    ours = ask(context, {problem: job("look_ahead", problem=problem, horizon=COUNTED_DEPTH) for problem in COUNTED})
    short, texts = [], []
    for problem in COUNTED:
        tests = make(problem).flat.tests
        said = len(tests) * len(tests[0].outcomes) ** COUNTED_DEPTH
        counted, different = ours[problem]["paths"][-1], ours[problem]["situations"][-1]
        if counted > said:
            short.append(problem)
        texts.append(f"{problem} {said:,} by the formula, {counted:,} counted, {different:,} different beliefs")
    return found(by_unit({"": not short}), depth=COUNTED_DEPTH, texts=texts, short=short)


@claim("mcts-beats-pomcp")
def mcts_beats_pomcp(context: Context) -> Found:
    per_seed = context.episodes(EPISODES)
    searches = {"pomcp": ("pomcp", "nats"), **{unit: ("mcts", unit) for unit in UNITS}}
    jobs = {
        (problem, who): search_job(problem, planner, simulations, horizon, unit, per_seed)
        for problem, (horizon, simulations) in SEARCHES.items()
        for who, (planner, unit) in searches.items()
    }
    success = {(p, who): measured(result, "success", p) for (p, who), result in ask(context, jobs).items()}
    errors = {(p, u): apart(success[p, u], success[p, "pomcp"]) for p in SEARCHES for u in UNITS}
    texts = [
        f"{p} ({simulations} simulations, H={horizon}): {percent(success[p, 'bits'].mean)} in bits, "
        f"{percent(success[p, 'nats'].mean)} in nats, POMCP {percent(success[p, 'pomcp'].mean)}"
        for p, (horizon, simulations) in SEARCHES.items()
    ]
    verdict = by_unit({u: all(errors[p, u] > CLEAR for p in SEARCHES) for u in UNITS})
    return found(verdict, ahead=[f"{p} {min(errors[p, u] for u in UNITS):.1f} SE" for p in SEARCHES], texts=texts)


@claim("mcts-beats-exact")
def mcts_beats_exact(context: Context) -> Found:
    (horizon, simulations), per_seed = SEARCHES[GRID], context.episodes(EPISODES)
    deep, _ = SEARCHES["diagnosis"]
    jobs: dict[str, Job] = {u: search_job(GRID, "mcts", simulations, horizon, u, per_seed) for u in UNITS}
    jobs["enough"] = search_job(GRID, "mcts", ENOUGH, horizon, "bits", per_seed)
    exact_jobs = {(h, u): one for h in (horizon, deep) for u, one in efe_jobs(GRID, h).items()}
    sampled, exact = at_once(lambda: ask(context, jobs), lambda: ask(context, exact_jobs))
    success = {name: measured(result, "success", GRID) for name, result in sampled.items()}
    errors = {u: apart(success[u], Number(exact[horizon, u]["success"], None)) for u in UNITS}
    columns = ("success", "reward")
    deeper = {u: all(exact[deep, u][name] > exact[horizon, u][name] for name in columns) for u in UNITS}
    verdict = by_parts(
        {
            f"a search that looks deeper than H={horizon} beats the exact one of H={horizon}": deeper,
            "sampling beats the exact search of its own horizon": {u: far > CLEAR for u, far in errors.items()},
        }
    )
    texts = [f"{u}: {_share(success[u])}, reward {with_error(measured(sampled[u], 'reward', GRID))}" for u in UNITS]
    told = {key: f"{percent(one['success'])} and {signed(one['reward'])}" for key, one in exact.items()}
    return found(
        verdict,
        deep=deep,
        horizon=horizon,
        deeper=told[deep, "bits"],
        shallow=told[horizon, "bits"],
        simulations=simulations,
        errors=errors,
        many=ENOUGH,
        enough=_share(success["enough"]),
        texts=texts,
        exact=[f"H={h} {u}: {one}" for (h, u), one in told.items()],
    )


def _share(value: Number) -> str:
    return f"{percent(value.mean)} ± {100 * value.se:.1f}"


@claim("pomcp-underperforms")
def pomcp_underperforms(context: Context) -> Found:
    agents = ("planning", "pomcp", "efe")
    named = {(p, agent): ("pomcp", {"problem": p, "agent": agent}) for p in POMCP_PROBLEMS for agent in agents}
    ours = rows(context, named)
    wrong: dict[str, list[str]] = {unit: [] for unit in UNITS}
    for unit, problem, column in product(UNITS, POMCP_PROBLEMS, ("success", "reward")):
        others = [ours[problem, agent].mean(column, unit) for agent in ("planning", "efe")]
        # Everywhere it should lie below both, in Bandit's success above both.
        above = (problem, column) == ABOVE
        far = apart(ours[problem, "pomcp"].number(column), Number(max(others) if above else min(others), None))
        if (far <= 0) if above else (far >= 0):
            wrong[unit].append(f"{problem} {column} {far:+.1f} SE")
    exception = " ".join(ABOVE)
    verdict = by_parts(
        {
            "POMCP is below both elsewhere": {u: all(w.startswith(exception) for w in wrong[u]) for u in UNITS},
            f"it is above both in {ABOVE[0]}'s {ABOVE[1]}": {
                u: not any(w.startswith(exception) for w in wrong[u]) for u in UNITS
            },
        }
    )
    pomcp, efe = ({p: ours[p, agent] for p in POMCP_PROBLEMS} for agent in ("pomcp", "efe"))
    return found(
        verdict,
        texts=[f"{p} {percent(x.mean('success'))}, {with_error(x.number('reward'))}" for p, x in pomcp.items()],
        wrong=list(dict.fromkeys(name for u in UNITS for name in wrong[u])),
        efe=efe["bandit"].mean("success", "bits"),
        planning=ours["bandit", "planning"].mean("success"),
        exact=[
            f"{p} EFE {percent(x.mean('success', 'bits'))}, {signed(x.mean('reward', 'bits'))}" for p, x in efe.items()
        ],
    )


@claim("pomcp-budget-no-help")
def pomcp_budget_no_help(context: Context) -> Found:
    per_seed = context.episodes(POMCP_EPISODES)
    sampled_jobs = {
        (problem, budget): search_job(problem, "pomcp", budget, horizon, "nats", per_seed)
        for problem, horizon in TRIED_LONGER.items()
        for budget in BUDGETS
    }
    exact_jobs = {problem: efe_jobs(problem, horizon)["bits"] for problem, horizon in TRIED_LONGER.items()}
    sampled, exact = at_once(lambda: ask(context, sampled_jobs), lambda: ask(context, exact_jobs))
    success = {key: measured(result, "success", key[0]) for key, result in sampled.items()}
    rises, texts = {}, []
    for problem in TRIED_LONGER:
        before, after = (success[problem, budget] for budget in BUDGETS)
        rises[problem] = Number(after.mean - before.mean, None, math.hypot(before.se, after.se))
        texts.append(
            f"{problem} {percent(before.mean)} to {percent(after.mean)} "
            f"({points(rises[problem].mean)} ± {100 * rises[problem].se:.1f})"
        )
    helped = [p for p, rise in rises.items() if rise.mean > CLEAR * rise.se]
    ruled_out = all(rise.mean + 2 * rise.se < SMALL_RISE for rise in rises.values())
    word = CONTRADICTED if helped else CONFIRMED if ruled_out else UNCHECKED
    follows = {
        CONTRADICTED: f"They do help on {', '.join(helped)}.",
        CONFIRMED: f"A rise of {points(SMALL_RISE, 0)} is ruled out.",
        UNCHECKED: f"Too few episodes to show a rise or rule out one of {points(SMALL_RISE, 0)}; a full run has more.",
    }
    efe = {p: one["success"] for p, one in exact.items()}
    return found(Verdict(word), budgets=BUDGETS, texts=texts, follows=follows[word], efe=efe)


@claim("pymdp-agrees")
def pymdp_agrees(context: Context) -> Found:
    ours = ask(context, {p: job("with_pymdp", problem=p) for p in TWO_STATES})
    if any(one["missing"] for one in ours.values()):
        return found(Verdict(UNCHECKED), "pymdp-missing")
    agree = all(one["agree"]["faint"] == one["beliefs"] for one in ours.values())
    gap = max(one["information_gap"] for one in ours.values())
    told, shown = (
        [f"{p} {one['agree'][form]} of {one['beliefs']}" for p, one in ours.items()] for form in ("faint", "told")
    )
    return found(by_unit({"": agree and gap < 1e-6}), told=told, gap=gap, shown=shown)
