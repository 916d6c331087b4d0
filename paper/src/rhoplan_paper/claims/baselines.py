"""Baselines beside rules that need no thought: leave, answer at once, declare by the prior, walk every cell in turn.

A lead over a baseline says something only if the baseline does better than such a rule; the rules are exact.
"""

from __future__ import annotations

import math

from rhoplan.problems.registry import make
from rhoplan_paper.claims.checking import found
from rhoplan_paper.claims.grids import GRIDS, INSPECTIONS, WALKERS, walkers
from rhoplan_paper.claims.numbers import CLEAR, rows, with_error
from rhoplan_paper.claims.theory import equivalent, recursions
from rhoplan_paper.context import UNITS, Context, ask, at_once, exact_job, score_job
from rhoplan_paper.published import cell, select
from rhoplan_paper.registry import claim
from rhoplan_paper.study import Found
from rhoplan_paper.verdicts import SAME, by_parts
from rhoplan_paper.words import percent, signed


def at_once_reward(spec: str) -> float:
    """What the best answer without any test earns."""
    model = make(spec)
    return max(float(model.prior @ commit.reward) for commit in model.flat.commits)


def leaving_reward(spec: str) -> float:
    """What leaving a RockSample problem in the first step earns."""
    model = make(spec)
    return next(float(action.reward.max()) for action in model.menu(model.start) if action.name == "exit")


def tour_reward(size: int) -> float:
    """What walking the cells of a Navigation grid row by row, to and fro, and then home, earns on average.

    It hears nothing and always finds the goal. The cell one starts from is entered last.
    """
    model = make(f"navigation:n={size}")
    cost = -min(float(action.reward.min()) for action in model.menu(model.start))
    goal = max(float(action.reward.max()) for spot in tour(size) for action in model.menu(spot))
    steps = {spot: place for place, spot in reversed(list(enumerate(tour(size), 1)))}
    return math.fsum(goal - cost * (place - 1) for place in steps.values()) / size**2


def tour(size: int) -> list[tuple[int, int]]:
    """The cells that the tour enters, in order: rows to and fro, then straight back to the start."""
    there = [(row, column if row % 2 == 0 else size - 1 - column) for row in range(size) for column in range(size)]
    row, column = there[-1]
    home = [(up, column) for up in range(row - 1, -1, -1)] + [(0, left) for left in range(column - 1, -1, -1)]
    return [*there[1:], *home]


INFORMED = ("planning", "planning-ig", "efe")


@claim("greedy-worth-beating")
def greedy_worth_beating(context: Context) -> Found:
    rocks = [str(one.row["problem"]) for one in select("rocksample reward agent=greedy")]
    tables = dict.fromkeys(rocks, "rocksample") | dict.fromkeys(INSPECTIONS, "inspection")
    agents = ("greedy", *INFORMED)
    named = {(spec, a): (table, {"problem": spec, "agent": a}) for spec, table in tables.items() for a in agents}
    blind_jobs = {spec: score_job(spec, "blind", unit="nats") for spec in INSPECTIONS}
    ours, blind = at_once(lambda: rows(context, named), lambda: ask(context, blind_jobs))
    reward = {key: one.mean("reward") for key, one in ours.items()}
    trivial = {spec: leaving_reward(spec) for spec in rocks} | {s: float(one["reward"]) for s, one in blind.items()}
    weaker = [spec for spec in tables if reward[spec, "greedy"] < trivial[spec] - SAME]
    ahead = "informed agents leave Greedy far behind"
    beaten = all(reward[spec, "greedy"] < min(reward[spec, a] for a in INFORMED) - SAME for spec in tables)
    return found(
        by_parts({ahead: beaten, "Greedy is no worse than a rule without thought": not weaker}, core=[ahead]),
        weaker=len(weaker),
        instances=len(tables),
        told=[f"{spec} {signed(reward[spec, 'greedy'])} for {signed(trivial[spec])}" for spec in tables],
        printed=[c.text for table in ("rocksample", "inspection") for c in select(f"{table} reward agent=greedy")],
    )


@claim("accuracy-at-moderate-cost")
def accuracy_at_moderate_cost(context: Context) -> Found:
    spec = INSPECTIONS[0]
    named = {agent: ("inspection", {"problem": spec, "agent": agent}) for agent in INFORMED}
    untested = score_job(spec, "blind", unit="nats")
    ours, blind = at_once(lambda: rows(context, named), lambda: context.result(untested))
    level = float(blind["reward"])
    reward = {agent: one.mean("reward") for agent, one in ours.items()}
    gain = ours["efe"].mean("accuracy") - ours["planning"].mean("accuracy")
    verdict = by_parts(
        {
            "EFE is more accurate than Planning": {"nats": gain > 0},
            "and still ahead of no tests at all": {"nats": reward["efe"] > level + SAME},
        }
    )
    return found(verdict, gain=gain, level=level, told=[f"{agent} {signed(value)}" for agent, value in reward.items()])


@claim("strongest-on-navigation")
def strongest_on_navigation(context: Context) -> Found:
    ours = walkers(context)
    fixed = {size: tour_reward(size) for size in GRIDS}
    theirs = {(size, a): cell("navigation", "reward", problem=f"navigation:n={size}", agent=a)
               for size in GRIDS for a in WALKERS}  # fmt: skip
    below = [size for size in GRIDS if all(theirs[size, a].number < fixed[size] for a in WALKERS)]
    printed_best = all(theirs[size, "nav-myopic"].number >= theirs[size, a].number for size in GRIDS for a in WALKERS)
    mine = {size: ours[size, "nav-myopic"].number("reward") for size in GRIDS}
    behind = [size for size in GRIDS if fixed[size] - mine[size].mean > max(CLEAR * mine[size].se, SAME)]
    return found(
        by_parts(
            {
                "of the agents printed it is the strongest": printed_best,
                "a walk that hears nothing is no stronger": not (below or behind),
            }
        ),
        told=[f"{n}x{n} {signed(fixed[n])}, printed {theirs[n, 'nav-myopic'].text}" for n in GRIDS],
        below=len(below),
        grids=len(GRIDS),
        behind=[f"{n}x{n} ({with_error(mine[n])})" for n in behind],
        printed=[one.text for one in select("navigation reward agent=nav-myopic")],
        fixed={f"{n}x{n}": reward for n, reward in fixed.items()},
    )


TUNED_ROWS = ("tiger", "testbed", "diagnosis", "bandit", "tileworld-6-full")
"""Tables with a row of Planning+IG at the weight tuned for their problem."""


@claim("tuned-worth-beating")
def tuned_worth_beating(context: Context) -> Found:
    cells = [select(f"{table} reward agent=planning-ig")[0] for table in TUNED_ROWS]
    places = {str(one.row["problem"]): float(one.row["weight"]) for one in cells}
    tuned = {
        (p, u): exact_job(p, "planning-ig", horizon=make(p).horizon, weight=w, unit=u)
        for p, w in places.items()
        for u in UNITS
    }
    ours, alike = at_once(lambda: ask(context, tuned), lambda: ask(context, recursions(context)))
    one_weight, told_alike = equivalent(alike.values())
    reward = {key: float(score["reward"]) for key, score in ours.items()}
    once = {p: at_once_reward(p) for p in places}
    weaker = {u: [p for p in places if reward[p, u] < once[p] - SAME] for u in UNITS}
    control = "EFE is Planning+IG but for the weight"
    return found(
        by_parts(
            {control: one_weight, "tuned, it earns no less than an untested answer": {u: not weaker[u] for u in UNITS}},
            core=[control],
        ),
        alike=told_alike,
        told=[f"{p} {signed(reward[p, u])} for {signed(once[p])} in {u}" for u, ones in weaker.items() for p in ones],
        problems=len(places),
        printed=cell("testbed", "reward", agent="planning-ig").text,
        rewards={f"{p} ({u})": earned for (p, u), earned in reward.items()},
    )


@claim("pomcp-worth-beating")
def pomcp_worth_beating(context: Context) -> Found:
    cells = {str(one.row["problem"]): one for one in select("pomcp reward agent=pomcp")}
    ours = rows(context, {p: ("pomcp", {"problem": p, "agent": "pomcp"}) for p in cells})
    once = {p: at_once_reward(p) for p in cells}
    below = [p for p, one in cells.items() if one.number + one.rounding < once[p]]
    errors = {p: (ours[p].number("reward").sd or 0.0) / math.sqrt(ours[p].line.episodes) for p in cells}
    return found(
        by_parts({f"on {p} it is above an untested answer": p not in below for p in cells}),
        told=[f"{p} {one.text} for {signed(once[p])}" for p, one in cells.items()],
        below=below,
        clear=[p for p in below if once[p] - cells[p].number > CLEAR * errors[p]],
        correct=[
            f"{p} {with_error(one.number('reward'))} at {percent(one.mean('success'))}" for p, one in ours.items()
        ],
        printed=[one.text for one in cells.values()],
        once=once,
    )
