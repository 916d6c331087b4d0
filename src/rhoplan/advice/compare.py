"""Ways of deciding, side by side: commit now, all tests, cost-only planned, EFE, the plan asked for, the optimum.

Every number is exact in the model's own world. `frontier` shows the same over the weight of information: where a plan
changes as the weight grows, and what that does to reward and success.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from rhoplan._old.followed import Plans
from rhoplan._old.graph import Graph
from rhoplan.advice.case import check_fixed
from rhoplan.advice.everything import all_tests
from rhoplan.advice.outlay import Ahead, outlook
from rhoplan.advice.variations import counts_losses
from rhoplan.advice.words import HARDLY_EVER, cut_off, money
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.fitting import size_of
from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.evaluation.steps import policy_steps
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.certified.solve import SolveResult, solve

MOST_NODES = 400_000
"""Situations that a deeper plan may take: some seconds, and less than a gigabyte."""

SAME = 1e-9
"""Rewards closer than this, as a share of their own size, count as the same score."""

MARGIN = 1e-4
"""How close the bounds of the optimum must come, as a share of the expected loss or reward."""


@dataclass(frozen=True)
class Row:
    """What one way of deciding brings, in the model's own world.

    key: `commit-now`, `all-tests`, `cost-only`, `efe`, `asked` or `optimum`. cost_90: what nine cases in ten do not
    exceed. errors = 1 - right. truncated: share of cases cut off at the cap, which pay no commit; the note says so.
    A number that is not known is None. lower, upper: certified bounds, of the optimum only.
    """

    key: str
    label: str
    first: str
    reward: float | None
    loss: float | None
    tests: float | None
    cost: float | None
    cost_90: float | None
    right: float | None
    errors: float | None
    horizon: int | None = None
    weight: float | None = None
    lower: float | None = None
    upper: float | None = None
    reached: bool = True
    note: str = ""
    truncated: float | None = None

    @property
    def is_cut(self) -> bool:
        """Whether so many cases are cut off that the reward cannot be held against that of plans that end."""
        return self.truncated is not None and self.truncated > HARDLY_EVER


def compare(problem: POMDP, agent: BoundAgent, *, seconds: float = 5.0, plans: Plans | None = None) -> tuple[Row, ...]:
    """Commit now, all tests, cost-only planned, EFE (unless `agent` is that), `agent`, the certified optimum.

    seconds: for deepening the cost-only plan and for the optimum, each. What does not come to an end in that time says
    so in its note. plans: followed already. Not covered: agents whose choices are not fixed (see `pathway`).
    """
    check_fixed(agent)
    plans = plans or Plans(problem, node_limit=MOST_NODES)
    asked = _planned("asked", plans, agent)
    plain, deep = cost_only(problem, agent, seconds=seconds, plans=plans)
    how = agent.planner if agent.planner.is_bounded else "exact"
    efe = make_agent("efe", problem, horizon=agent.horizon, unit=agent.unit, planner=how)
    others = [_planned("efe", plans, efe)] if agent.name != "efe" else []
    rows = [_commit_now(plans.graph), _all_tests(problem), plain, *others, asked]
    rows.append(_optimum(problem, plain, deep, seconds))
    notes = [filter(None, [row.note, cut_off(problem, row.truncated or 0.0)]) for row in rows]
    return tuple(replace(row, note="; ".join(note)) for row, note in zip(rows, notes, strict=True))


def deepest(problem: POMDP) -> int | None:
    """How many tests a case can have at most: no plan needs to look further ahead. None where tests can be repeated."""
    menu = problem.flat
    limits = [] if menu.most_tests is None else [menu.most_tests]
    limits += [] if any(test.repeatable for test in menu.tests) else [len(menu.tests)]
    return max(1, min(limits)) if limits else None


def cost_only(
    problem: POMDP, agent: BoundAgent, *, seconds: float = 5.0, plans: Plans | None = None
) -> tuple[Row, bool]:
    """The plan that counts nothing but cost, as deep as can be afforded, and whether no deeper one can differ.

    Where every test runs once, or their number has a cap, that many steps are as deep as a plan can be. Otherwise the
    horizon grows until the score stays the same for two more steps, or until time is out.
    """
    most = deepest(problem)
    plans = plans or Plans(problem, node_limit=MOST_NODES)
    if agent.planner.is_bounded:
        return _searched(plans, agent), False
    end, same, took = time.monotonic() + seconds, 0, 0.0
    horizon, best, note = min(agent.horizon, most or agent.horizon), None, ""
    while True:
        begin = time.monotonic()
        plan = make_agent("planning", problem, horizon=horizon, discount=1.0, planner="exact")
        try:
            ahead, first = _follow(plans, plan)
        except LimitError:
            note = f"horizon {horizon} would need more than {MOST_NODES:,} situations"
            break
        before, took = took, time.monotonic() - begin
        same = same + 1 if best and alike(best[1].reward, ahead.reward) else 0
        best = plan, ahead, first
        if most is not None and horizon >= most:
            note = "as deep as a plan can be"
            break
        if most is None and same >= 2:
            note = f"no change from horizon {horizon - 2} to {horizon}"
            break
        # A deeper plan usually takes as many times longer as this one took than the one before.
        if time.monotonic() + took * max(1.0, took / before if before > 0.01 else 1.0) > end:
            note = f"a deeper plan than horizon {horizon} was not tried for lack of time"
            break
        if _would_hold(plans.graph, horizon + 1) > MOST_NODES:
            note = f"horizon {horizon + 1} would need more than {MOST_NODES:,} situations"
            break
        horizon += 1
    if best is None:
        return _unknown("cost-only", "cost-only planned", note), False
    plan, ahead, first = best
    label = f"cost-only planned, horizon {plan.horizon}"
    row = _row("cost-only", label, first, **_brought(ahead), horizon=plan.horizon, weight=0.0, note=note)
    return row, most is not None and plan.horizon >= most


def _searched(plans: Plans, agent: BoundAgent) -> Row:
    """The cost-only plan that branch and bound finds."""
    plan = make_agent("planning", plans.problem, discount=1.0, planner=agent.planner)
    ahead, first = _follow(plans, plan)
    return _row("cost-only", "cost-only planned", first, **_brought(ahead), weight=0.0, note="by branch and bound")


def _would_hold(graph: Graph, horizon: int) -> float:
    """How many situations `graph`, which holds plans one test less deep, would hold with such plans, at a guess.

    As many times more as look-ahead from the start has, and never more than there are.
    """
    problem = graph.problem
    before, after, whole = (size_of(problem, depth).nodes for depth in (horizon - 1, horizon, len(problem.flat.tests)))
    return min(whole, graph.size * after / before)


def _follow(plans: Plans, agent: BoundAgent) -> tuple[Ahead, str]:
    """What following `agent` from the start brings, and its first action; LimitError where that takes too much.

    A plan beside the one asked for may take MOST_NODES situations, or as many as there are already.
    """
    with plans.graph.limited(MOST_NODES):
        return outlook(plans, agent), plans.policy(agent).action(plans.graph.root).name


def _row(key: str, label: str, first: str, *, reward: float, right: float, **more: Any) -> Row:
    return Row(key, label, first, reward=reward, loss=-reward + 0.0, right=right, errors=1.0 - right, **more)


def _brought(ahead: Ahead) -> dict[str, float]:
    """What a row says of a plan that was followed."""
    names = ("reward", "tests", "cost", "right")
    return {name: getattr(ahead, name) for name in names} | {"cost_90": ahead.bad_case()[1], "truncated": ahead.cut}


def _unknown(key: str, label: str, note: str) -> Row:
    """A row without numbers, and why."""
    return Row(key, label, "", None, None, None, None, None, None, None, reached=False, note=note)


def _commit_now(graph: Graph) -> Row:
    problem = graph.problem
    commit = int(graph.stop_action[graph.root])
    chosen = problem.flat.commits[commit]
    reward, right = float(problem.prior @ chosen.reward), float(problem.prior @ problem.flat.right[commit])
    spent = {"tests": 0.0, "cost": 0.0, "cost_90": 0.0, "truncated": 0.0}
    label = f"commit now: {chosen.name}"
    return _row("commit-now", label, chosen.name, reward=reward, right=right, note="no test", **spent)


def _all_tests(problem: POMDP) -> Row:
    found = all_tests(problem)
    label = "all tests, then commit"
    if found is None:
        return _unknown("all-tests", label, "too many combinations of results")
    note = f"in the model's order: {', '.join(found.run) or 'none'}"
    if found.left_out:
        note += f"; not allowed any more: {', '.join(found.left_out)}"
    first = found.run[0] if found.run else found.commit
    spent = {"tests": float(len(found.run)), "cost": found.cost, "cost_90": found.cost, "truncated": 0.0}
    return _row("all-tests", label, first, reward=found.reward, right=found.right, note=note, **spent)


def _planned(key: str, plans: Plans, agent: BoundAgent) -> Row:
    unit = f"{plans.problem.unit} per {agent.unit.removesuffix('s')}"
    far = "branch and bound" if agent.planner.is_bounded else f"horizon {agent.horizon}"
    label = f"{agent.name}, {far}, weight {agent.weight:g} {unit}"
    try:
        ahead, first = _follow(plans, agent)
    except LimitError:
        if key == "asked":
            raise
        return _unknown(key, label, f"it would need more than {MOST_NODES:,} situations")
    return _row(key, label, first, **_brought(ahead), horizon=agent.horizon, weight=agent.weight)


def _optimum(problem: POMDP, plain: Row, deep: bool, seconds: float) -> Row:
    """The optimum between its bounds; where the cost-only plan lies within them, that plan's outlay too."""
    label = "certified optimum"
    word, sign, beyond = ("loss", -1, "below") if counts_losses(problem) else ("reward", 1, "above")
    if plain.is_cut:
        plain = replace(plain, reward=None)  # what its cases would still lose is not in it: it proves nothing
    if plain.reward is not None and deep:
        # No plan can look further than this one does: it is the optimum.
        proved = f"certified: no plan has an expected {word} {beyond} {sign * plain.reward + 0.0:,.6g}"
        taken = replace(plain, key="optimum", label=label, lower=plain.reward, upper=plain.reward, reached=True)
        return replace(taken, note=f"{proved}; the cost-only plan reaches it")
    size = max(abs(plain.reward or 0.0), 1e-6 * (plain.cost or 0.0))
    gap = MARGIN * (size or 1e-6 * problem.reward_scale)
    found: SolveResult = solve(problem, gap=gap, seconds=seconds, memory=1e9)
    proved = f"certified: no plan has an expected {word} {beyond} {sign * found.upper + 0.0:,.6g}"
    bounds: dict[str, Any] = {"weight": 0.0, "lower": found.lower, "upper": found.upper}
    row = _row(
        "optimum", label, found.first, reward=found.reward, right=found.success, tests=found.tests, cost=None,
        cost_90=None, **bounds, reached=found.converged, note=proved, truncated=found.truncated,
    )  # fmt: skip
    if plain.reward is not None and plain.reward >= found.upper - gap:
        # This plan is as good as any: where its outlay is known, that of the other plan need not be.
        taken = replace(plain, key=row.key, label=row.label, lower=found.lower, upper=found.upper, reached=True)
        near = f"comes within {money(max(found.upper - plain.reward, 0.0), problem.unit)} of it"
        return replace(taken, note=f"{proved}; the cost-only plan {near}")
    if not found.converged:
        low, high = sorted((sign * found.lower + 0.0, sign * found.upper + 0.0))
        note = f"not reached in {seconds:g} s: the best plan has a {word} between {low:,.6g} and {high:,.6g}"
        return replace(_unknown(row.key, row.label, note), **bounds)
    return row


@dataclass(frozen=True)
class Point:
    """Weights per nat from `lower` to `upper` between which the score is the same; steps: policies with that score.

    truncated: share of cases cut off at the cap; cut_off says in words what that does to the reward.
    """

    lower: float
    upper: float
    reward: float
    success: float
    tests: float
    steps: int
    truncated: float
    cut_off: str


@dataclass(frozen=True)
class Frontier:
    """Reward and success over the weight. complete: whether the steps up to `high` were all found in time."""

    horizon: int
    high: float
    points: tuple[Point, ...]
    complete: bool


def has_frontier(agent: BoundAgent) -> bool:
    """Whether plans like the agent's can be had at every weight: it looks ahead exactly, for information."""
    return agent.planner.is_exact and agent.plans_for_information


def frontier(
    problem: POMDP,
    horizon: int,
    *,
    high: float | None = None,
    seconds: float = 5.0,
    limit: int = 200,
    budget: Budget | None = None,
) -> Frontier:
    """Reward and success of planning `horizon` ahead, for weights per nat from 0 to `high` (the largest reward).

    Steps are exact (see `evaluation.steps`); neighbours with the same score are one point. Ends early after `limit`
    steps, or once `seconds` have passed; then `complete` is False. budget: of the belief graph.
    """
    most = problem.reward_scale if high is None else high
    resolution = 1e-9 * max(most, 1e-300)
    points: list[Point] = []
    steps = policy_steps(
        problem, horizon=horizon, high=most, resolution=resolution, limit=limit, seconds=seconds, budget=budget
    )
    for step in steps:
        score = step.score
        held = score.reward, score.success, score.tests, 1, score.truncated
        fresh = Point(step.lower, step.upper, *held, cut_off(problem, score.truncated))
        last = points[-1] if points else None
        if last and _alike(last, fresh):
            points[-1] = replace(last, upper=fresh.upper, steps=last.steps + 1)
        else:
            points.append(fresh)
    return Frontier(horizon, most, tuple(points), steps[-1].upper >= most - 2 * resolution)


def alike(one: float, other: float) -> bool:
    """Whether two expected rewards count as the same score."""
    return abs(one - other) <= SAME * max(abs(one), abs(other))


def _alike(one: Point, other: Point) -> bool:
    same = abs(one.success - other.success) <= SAME and abs(one.tests - other.tests) <= SAME * 100
    return same and alike(one.reward, other.reward)
