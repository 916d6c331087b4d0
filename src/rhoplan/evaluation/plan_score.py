"""The score of a solved policy in the problem it was solved for, with the value that its bounds are about.

The bounds of a solution are about discounted reward and weighted information. The score is exact if a small belief
graph holds the policy, else estimated from as many episodes as there is time for.
"""

from __future__ import annotations

import math
from dataclasses import replace

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.evaluation import exact
from rhoplan.evaluation.episodes import Episodes
from rhoplan.evaluation.rollout import Rollout
from rhoplan.evaluation.score import Score
from rhoplan.evaluation.simulate import summarise
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import cut_off_worth
from rhoplan.planning.asked import BoundedPolicy
from rhoplan.planning.policy import FunctionPolicy

FEWEST = 10
"""Episodes of an estimate at least."""


def score_solved(
    policy: BoundedPolicy,
    *,
    most_nodes: int = 3_000,
    most_numbers: int = 3_000_000,
    episodes: int = 300,
    seconds: float = 10.0,
) -> Score:
    """The Score of following `policy` from the initial belief, with its `value` and `value_tail`.

    It is exact if the belief graph has at most `most_nodes` nodes and `most_numbers` probabilities. Otherwise it is
    estimated from `episodes` episodes, or from as many as there is time for in `seconds`, but FEWEST at least.
    """
    weight = policy.settings.weight
    problem = replace(policy.origin, discount=policy.settings.discount)
    followed = FunctionPolicy(problem, lambda belief: policy.action(belief))
    states = max(len(factor.states) for factor in problem.factors)
    try:
        graph = BeliefGraph(problem, budget=Budget(nodes=min(most_nodes, most_numbers // states)))
        found = exact.score(followed.on(graph), steps=problem.cap)
    except LimitError:
        rows = _episodes(Rollout(problem, followed, problem, problem.cap), episodes, seconds)
        found = summarise(rows, (0,), world=problem, max_steps=problem.cap)
        values = rows.discounted + weight * rows.information
        found.se["value"] = float(values.std(ddof=1)) / math.sqrt(len(rows)) if len(rows) > 1 else math.nan
    most = sum(math.log(len(factor.states)) for factor in problem.factors)  # nats that one action can bring
    tail = cut_off_worth(problem, found.truncated, problem.cap, bonus=weight * most)
    return replace(found, value=found.discounted + weight * found.information, value_tail=tail)


def _episodes(rollout: Rollout, episodes: int, seconds: float) -> Episodes:
    """The first episodes of seed 0. Their number is doubled as long as there is time for that."""
    parts: list[Episodes] = []
    timer, done = Budget(), 0
    while done < episodes and (not parts or 2 * timer.elapsed <= seconds):
        count = min(max(done, FEWEST), episodes - done)
        parts.append(rollout.episodes(0, done, done + count))
        done += count
    return Episodes.joined(parts)
