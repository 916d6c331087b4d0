"""What stands beside a first action: the next best, how far behind it is, and whether that tells the two apart.

Two actions are about as good where the margin is within a share (`near`, a setting of the agent) of the turnover: of
the expected loss, tests included; in a model with gains, of gains and losses together. Where there are bounds instead
of values, the margin is what they prove. Terminal, page, report, API and logs all say it in these words.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rhoplan._old.policy import GraphPolicy, action_values, in_order, preferred
from rhoplan._old.ties import tolerance
from rhoplan._old.turnover import turnover
from rhoplan.advice.words import counted, money, percent
from rhoplan.agents.agent import BoundAgent
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.recommendation import ActionValue, Recommendation


@dataclass(frozen=True)
class Lead:
    """The runner-up, how far it is behind, whether the two are about as good, and all that in words (`beside`)."""

    runner_up: str | None
    margin: float
    about_as_good: bool
    beside: str


def lead(problem: POMDP, agent: BoundAgent, ranking: Sequence[ActionValue], size: float) -> Lead:
    """What stands beside the first of `ranking`; the other actions follow it from the best to the worst.

    size: the turnover, which margins are measured by. A rule may take an action that is not the best by these values:
    the margin is 0 then, and the words say so.
    """
    chosen, *others = ranking
    if not others:
        return ALONE
    second, hair = others[0].name, float(tolerance(chosen.value, size))
    within = max(agent.near * size, hair)
    behind = [chosen.value - other.value for other in others]
    margin, apart = max(behind[0], 0.0), abs(behind[0])
    if not math.isfinite(margin):
        return Lead(second, math.inf, False, f"next best: {second}, not tried")
    amount, share = money(apart, problem.unit), _share(apart, size, _measure(problem))
    if apart <= within:
        told = f"{amount} apart{share}" if apart > hair else "nothing between them"
        return Lead(second, margin, True, _alike(chosen.name, second, told, sum(abs(one) <= within for one in behind)))
    if behind[0] < 0:
        return Lead(second, margin, False, f"by this count {second} is worth {amount} more{share}")
    return Lead(second, margin, False, f"next best: {second}, {amount} behind{share}")


def first_lead(agent: BoundAgent, policy: GraphPolicy, node: int) -> Lead:
    """What stands beside what `agent` does at `node`; `policy` is its own, or that of an agent that decides alike."""
    values = action_values(policy, node)
    chosen = preferred(policy, node, values)
    found, bounds = policy.chooser.bounded(node), certified(agent, policy.graph.situation(node))
    if bounds or found is not None:
        known = bounds["bounds"] if found is None else found.actions
        offered = {value.name: known[value.name] for value in values if value.name in known}
        return proven_lead(policy.graph.problem, agent, chosen.name, offered)
    ranking = [chosen, *(value for value in in_order(policy, node, values) if value is not chosen)]
    return lead(policy.graph.problem, agent, ranking, turnover(policy, node, chosen))


def lead_of(
    problem: POMDP, agent: BoundAgent, decision: Recommendation, bounds: Mapping[str, Sequence[float]] | None = None
) -> Lead:
    """What stands beside the choice of `decision`. bounds: of every action, where others than its own are known."""
    if known := bounds or decision.bounds:
        return proven_lead(problem, agent, decision.choice, known)
    ranking = sorted(decision.ranking, key=lambda one: (one.name != decision.choice, one.name != decision.runner_up))
    return lead(problem, agent, ranking, decision.turnover)


def proven_lead(problem: POMDP, agent: BoundAgent, choice: str, bounds: Mapping[str, Sequence[float]]) -> Lead:
    """What stands beside `choice` where only bounds on what actions are worth are known, lower and upper.

    The margin is the least that they prove, 0 where another may be better. It is measured by the size of the value. A
    plan solved with a wide gap may do what its bounds prove to be worse; then the words say so. So they do where some
    have no upper bound (infinite).
    """
    others = [name for name in bounds if name != choice]
    if not others:
        return ALONE
    second, unit = max(others, key=lambda name: (bounds[name][1], bounds[name][0])), problem.unit
    (low, high), (least, most) = bounds[choice], bounds[second]
    size, margin = max(abs(low), abs(high) if math.isfinite(high) else 0.0), low - most
    within = max(agent.near * size, float(tolerance(size)))
    if margin > within:
        share = _share(margin, size, "the value")
        return Lead(second, margin, False, f"next best: {second}, at least {money(margin, unit)} behind{share}")
    better = max(others, key=lambda name: bounds[name][0])
    if bounds[better][0] - high > within:
        worth = money(bounds[better][0] - high, unit)
        return Lead(better, 0.0, False, f"by these bounds {better} is worth at least {worth} more")
    endless = " and ".join(name for name in (choice, second) if math.isinf(bounds[name][1]))
    if endless:
        return Lead(second, 0.0, False, f"no upper bound is known for {endless}: {second} may be better")
    told = f"at least {money(margin, unit)} between them is proven" if margin > 0 else "no difference is proven"
    if margin < 0:
        told = f"the bounds leave open which is better, by at most {money(max(high - least, most - low), unit)}"
    close = sum(low - bounds[name][1] <= within for name in others)
    return Lead(second, max(margin, 0.0), True, _alike(choice, second, told, close))


def certified(agent: BoundAgent, situation: Belief) -> dict[str, Any]:
    """Bounds of every action and what is proven best, where `agent` follows a solved policy; else empty."""
    policy: Any = getattr(agent.planner, "rule", None)
    if not hasattr(policy, "proven"):
        return {}
    return {"bounds": {k: list(v) for k, v in policy.actions(situation).items()}, "proven": policy.proven(situation)}


ALONE = Lead(None, math.inf, False, "there is nothing else to do")


def _alike(choice: str, second: str, told: str, close: int) -> str:
    """That two actions are about as good; close: how many are as close as the second, itself included."""
    more = f"; {counted(close - 1, 'more action')} as close" if close > 1 else ""
    return f"about as good: {choice} and {second}, {told}{more}"


def _share(margin: float, size: float, what: str) -> str:
    """How large `margin` is beside `size`, in brackets; nothing where it is larger."""
    return f" ({percent(margin / size)} of {what})" if 0 < margin <= size else ""


def _measure(problem: POMDP) -> str:
    """What the turnover is called in `problem`."""
    loses = problem.observes_then_commits and all((commit.reward <= 0).all() for commit in problem.commits)
    return "the expected loss" if loses else "what is won and lost"
