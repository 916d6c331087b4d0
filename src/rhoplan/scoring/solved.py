"""What following a solved policy earns: exactly where its situations fit into a small graph, else from episodes.

The bounds of a solution are about its value: discounted reward and, with a weight above 0, information. That value is
worked out here by following the plan, beside what it is paid on average and how many steps it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.agents.policy import GraphPolicy
from rhoplan.errors import LimitError
from rhoplan.following.worlds import World
from rhoplan.graph.graph import Graph
from rhoplan.model.horizon import cut_off_worth
from rhoplan.model.pomdp import Array, Problem
from rhoplan.planning import clock
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.planning.objective import Objective
from rhoplan.scoring.evaluate import score_policy
from rhoplan.scoring.side_by_side import COLUMNS, followed
from rhoplan.scoring.simulate import simulate_episodes

MOST_NODES = 3_000
"""Situations up to which the plan is followed exactly: a few seconds, and little memory."""

MOST_NUMBERS = 3_000_000
"""Chances of states in all these situations: where states are tens of thousands, a few of them take seconds."""

EPISODES, FEWEST = 300, 10
"""Episodes from which it is estimated where there are more; and where there is no time for so many."""

UNSEEN = 3.0
"""What comes up so often in the mean comes up at all in 95 of 100 runs."""

SECONDS = 10.0
"""Time for episodes on the solver's arrays, where long ones of large problems take tenths of a second each."""

MOST_AT_ONCE, GROWN = 3_000_000, 10
"""Chances of states, for all results, that episodes side by side hold at most; and how many times as many as were done
are begun next."""


@dataclass(frozen=True)
class PlanScore:
    """What a plan earns. kind: `exact`, or `estimated` from so many `episodes`, with standard errors (0 where exact).

    reward: mean of what an episode pays; discounted: the same as it is discounted. information: what the plan expects
    its actions to tell, in nats, discounted alike. value: what the bounds are about, discounted reward and the weight
    times information (NaN where it is estimated with weight 0). steps: actions taken. truncated: share of episodes cut
    off after `cap` steps; what they would have brought later is not in these means, and may change the discounted
    reward by `discounted_tail` at most, the value by `value_tail` (NaN where nothing bounds it). rarest: standard
    errors are of what was drawn; what has a smaller chance than this may well never have come up (0 where exact).
    """

    kind: str
    reward: float
    reward_se: float
    discounted: float
    discounted_se: float
    discounted_tail: float
    information: float
    information_se: float
    value: float
    value_se: float
    value_tail: float
    steps: float
    steps_se: float
    truncated: float
    cap: int
    episodes: int
    rarest: float = 0.0


Solved = SolvedPolicy | GridPolicy | ErrandPolicy


def score_solved(
    policy: Solved, *, most_nodes: int = MOST_NODES, episodes: int = EPISODES, seconds: float = SECONDS
) -> PlanScore:
    """What following `policy` from the start earns, in the problem it was solved for and with its discount.

    Estimates are from `episodes`, or from as many as there is time for in `seconds`, but FEWEST at least.
    """
    problem = replace(policy.origin, discount=policy.settings.discount)
    agent = BoundAgent(
        "solved",
        objective=Objective(policy.settings.weight, discount=policy.settings.discount),
        planner=FollowRule(rule=policy),
    )
    try:
        states = max(len(factor.states) for factor in problem.factors)
        graph = Graph(problem, node_limit=min(most_nodes, MOST_NUMBERS // states))
        exact = score_policy(GraphPolicy(graph, agent), World(graph, None), cap=problem.cap)
    except LimitError:
        if isinstance(policy, SolvedPolicy):
            rows = _episodes(problem, policy, episodes, seconds)
        else:
            drawn = simulate_episodes(problem, agent, seeds=(0,), episodes=episodes)
            values = drawn.discounted + policy.settings.weight * drawn.information
            columns = (drawn.reward, values, drawn.information, drawn.steps, drawn.truncated)
            rows = np.stack([column.astype(float) for column in columns], axis=1)
        return _told(problem, policy, rows)
    value = exact.discounted + policy.settings.weight * exact.information
    row = np.array([[exact.reward, value, exact.information, exact.steps, exact.truncated]])
    return replace(_told(problem, policy, row), kind="exact", episodes=0, rarest=0.0)


def _told(problem: Problem, policy: Solved, rows: Array) -> PlanScore:
    """Means of `rows` (n, 5), see COLUMNS. One row has no error."""
    weight, count = policy.settings.weight, len(rows)
    rows = np.concatenate([rows, rows[:, 1:2] - (weight * rows[:, 2:3] if weight > 0 else 0.0)], axis=1)
    reward, value, information, steps, cut, discounted = rows.mean(axis=0).tolist()
    errors = (rows.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.zeros(6)).tolist()
    most = sum(math.log(len(factor.states)) for factor in problem.factors)  # nats that one action can tell
    return PlanScore(
        "estimated",
        reward,
        errors[0],
        discounted,
        errors[5],
        cut_off_worth(problem, cut, problem.cap),
        information,
        errors[2],
        value,
        errors[1],
        cut_off_worth(problem, cut, problem.cap, bonus=weight * most),
        steps,
        errors[3],
        cut,
        problem.cap,
        count,
        min(UNSEEN / count, 1.0),
    )


def _episodes(problem: Problem, policy: SolvedPolicy, episodes: int, seconds: float) -> Array:
    """Episodes on the solver's own arrays, in batches: as many as there is time for, FEWEST at least."""
    begin, rng, rows = clock.now(), np.random.default_rng(0), [np.empty((0, len(COLUMNS)))]
    model, sizes = policy.problem.model, policy.problem.sizes
    wide = np.add.reduceat(sizes[model.branch_target], model.pair_branch[:-1]).max(initial=sizes.max())
    most = max(MOST_AT_ONCE // int(wide), 1)
    done = 0
    while done < episodes:
        spent = clock.now() - begin
        count = min(done * (seconds - spent) / max(spent, 1e-9), GROWN * done)  # at the pace so far
        count = min(max(int(count), FEWEST - done), most, episodes - done)
        if count <= 0:
            break
        rows.append(followed(policy, count, problem.cap, rng))
        done += count
    return np.concatenate(rows)
