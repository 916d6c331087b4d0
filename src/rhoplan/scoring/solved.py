"""What following a solved policy earns: exactly where its situations fit into a small graph, else from episodes.

The bounds of a solution are about its value: discounted reward and, with a weight above 0, information. That value is
worked out here by following the plan, beside what it is paid on average and how many steps it takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from rhoplan.agents.agent import Agent
from rhoplan.agents.objective import Objective
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.agents.policy import Policy
from rhoplan.belief.information import entropy
from rhoplan.errors import LimitError
from rhoplan.following.worlds import World
from rhoplan.graph.graph import Graph
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.model.reach import cut_off_worth
from rhoplan.planning import clock
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.pointbased.check import joint_chances, spans
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.solved import SolvedPolicy
from rhoplan.scoring.evaluate import score_policy
from rhoplan.scoring.simulate import simulate_episodes

MOST_NODES = 3_000
"""Situations up to which the plan is followed exactly: a few seconds, and little memory."""

MOST_NUMBERS = 3_000_000
"""Chances of states in all these situations: where states are tens of thousands, a few of them take seconds."""

EPISODES, FEWEST = 300, 10
"""Episodes from which it is estimated where there are more; and where there is no time for so many."""

SECONDS = 10.0
"""Time for episodes on the solver's arrays, where long ones of large problems take tenths of a second each."""


@dataclass(frozen=True)
class PlanScore:
    """What a plan earns. kind: `exact`, or `estimated` from so many `episodes`, with standard errors (0 where exact).

    reward: mean of what an episode pays; discounted: the same as it is discounted. information: what the plan expects
    its actions to tell, in nats, discounted alike. value: what the bounds are about, discounted reward and the weight
    times information. steps: actions taken. truncated: share of episodes cut off after `cap` steps; what they would
    have brought later is not in these means, and may change the discounted reward by `discounted_tail` at most, the
    value by `value_tail` (NaN where nothing bounds it).
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


Solved = SolvedPolicy | GridPolicy | ErrandPolicy


def score_solved(
    policy: Solved, *, most_nodes: int = MOST_NODES, episodes: int = EPISODES, seconds: float = SECONDS
) -> PlanScore:
    """What following `policy` from the start earns, in the problem it was solved for and with its discount.

    Estimates are from `episodes`, or from as many as there is time for in `seconds`, but FEWEST at least.
    """
    problem = replace(policy.origin, discount=policy.settings.discount)
    agent = Agent(
        "solved",
        objective=Objective(policy.settings.weight, "nats", policy.settings.discount),
        planner=FollowRule(rule=policy),
    )
    try:
        states = max(len(factor.states) for factor in problem.factors)
        graph = Graph(problem, node_limit=min(most_nodes, MOST_NUMBERS // states))
        exact = score_policy(Policy(graph, agent), World(graph, None), cap=problem.cap)
    except LimitError:
        if isinstance(policy, SolvedPolicy):
            rows = _episodes(problem, policy, episodes, seconds)
        else:
            drawn = simulate_episodes(problem, agent, seeds=(0,), episodes=episodes)
            columns = (drawn.reward, drawn.discounted, drawn.information, drawn.steps, drawn.truncated)
            rows = np.stack([column.astype(float) for column in columns], axis=1)
        return _told(problem, policy, rows)
    row = np.array([[exact.reward, exact.discounted, exact.information, exact.steps, exact.truncated]])
    return replace(_told(problem, policy, row), kind="exact", episodes=0)


def _told(problem: Problem, policy: Solved, rows: Array) -> PlanScore:
    """Means of `rows` (n, 5): reward, discounted, information, steps, cut off. One row has no error."""
    weight, count = policy.settings.weight, len(rows)
    rows = np.concatenate([rows, rows[:, 1:2] + weight * rows[:, 2:3]], axis=1)
    reward, discounted, information, steps, cut, value = rows.mean(axis=0).tolist()
    errors = (rows.std(axis=0, ddof=1) / math.sqrt(count) if count > 1 else np.zeros(6)).tolist()
    most = sum(math.log(len(factor.states)) for factor in problem.factors)  # nats that one action can tell
    return PlanScore(
        "estimated",
        reward,
        errors[0],
        discounted,
        errors[1],
        cut_off_worth(problem, cut, problem.cap),
        information,
        errors[2],
        value,
        errors[5],
        cut_off_worth(problem, cut, problem.cap, bonus=weight * most),
        steps,
        errors[3],
        cut,
        problem.cap,
        count,
    )


def _episodes(problem: Problem, policy: SolvedPolicy, episodes: int, seconds: float) -> Array:
    """Episodes on the solver's own arrays, which hold one belief at a time and no graph."""
    deadline, rng, rows = clock.now() + seconds, np.random.default_rng(0), []
    for number in range(episodes):
        if number >= FEWEST and clock.now() > deadline:
            break
        rows.append(_episode(policy, problem.cap, rng))
    return np.array(rows, dtype=float)


def _episode(policy: SolvedPolicy, cap: int, rng: Generator) -> tuple[float, float, float, int, bool]:
    """Reward, discounted reward and information, steps, and whether it was cut off, of one episode."""
    compiled, model = policy.problem, policy.problem.model
    home, belief = compiled.start_class, compiled.start
    state = int(rng.choice(len(belief), p=belief))
    reward = discounted = information = 0.0
    for step in range(cap):
        if compiled.ended[home]:
            return reward, discounted, information, step, False
        pair = policy.pair(home, belief)
        paid = float(model.reward[model.pair_reward[pair] + state])
        fade = float(policy.settings.discount ** policy.origin.time_taken(step))
        reward, discounted = reward + paid, discounted + fade * paid
        first = int(model.pair_branch[pair])
        joint, begins = joint_chances(compiled, pair, belief)
        information += fade * _information(compiled, pair, joint, begins)
        branch, state = _drawn(compiled, pair, state, rng)
        after = joint[begins[branch - first] : begins[branch - first + 1]]
        home, belief = int(model.branch_target[branch]), after / after.sum()
    return reward, discounted, information, cap, not compiled.ended[home]


def _drawn(problem: Compiled, pair: int, state: int, rng: Generator) -> tuple[int, int]:
    """The branch that `pair` takes from `state`, and the state there."""
    model = problem.model
    branches = np.arange(model.pair_branch[pair], model.pair_branch[pair + 1])
    rows = model.branch_row[branches] + state
    places, owner = spans(model.row[rows], model.row[rows + 1])
    drawn = int(rng.choice(len(places), p=model.chance[places] / model.chance[places].sum()))
    return int(branches[owner[drawn]]), int(model.column[places[drawn]])


def _information(problem: Compiled, pair: int, joint: Array, begins: Ids) -> float:
    """Expected information of `pair`, in nats, from what `joint_chances` says: H(s') + H(o) - H(s', o)."""
    model, places = problem.model, np.flatnonzero(joint)
    branch, chances = np.searchsorted(begins, places, side="right") - 1, joint[places]
    target = model.branch_target[model.pair_branch[pair] + branch]
    symbols = model.symbol[model.class_state[target] + places - begins[branch]]
    states, outcomes = (np.bincount(kind, chances).astype(float) for kind in (symbols, branch))
    return float(entropy(states) + entropy(outcomes) - entropy(chances))
