"""The exact score of a policy: no episode is simulated, the distribution over beliefs is propagated forward."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.budget import Budget
from rhoplan.errors import AgentError
from rhoplan.evaluation.criteria import Counted, expected_success
from rhoplan.evaluation.occupancy import Occupancy
from rhoplan.evaluation.score import Score
from rhoplan.evaluation.variance import ReturnMoments
from rhoplan.graph.belief_graph import BeliefGraph, chunks
from rhoplan.model.horizon import cut_off_worth, has_commits
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.model.worlds import in_names_of
from rhoplan.planning.policy import Policy, PolicyOnGraph

MEMORY = 2e9
"""Bytes that a belief graph may take if the caller sets no budget; values and temporary arrays come on top."""


@dataclass(frozen=True)
class ExactSettings:
    """Mass at a node below which cases are no longer followed.

    negligible: if the problem observes, then commits. negligible_elsewhere: in other problems, whose graphs are larger.
    """

    negligible: float = 1e-17
    negligible_elsewhere: float = 1e-13


SETTINGS = ExactSettings()


def evaluate(
    problem: POMDP,
    policy: Policy,
    *,
    world: POMDP | None = None,
    max_steps: int | None = None,
    budget: Budget | None = None,
    graph: BeliefGraph | None = None,
) -> Score:
    """Exact score of `policy`, whose model is `problem`, in `world` (the same model by default).

    max_steps: by default the problem's own limit. budget: limits of the belief graphs, by default MEMORY bytes.
    graph: of the problem, to use again. LimitError if a graph is larger than the budget allows.
    """
    if policy.samples or policy.is_timed:
        reason = "samples" if policy.samples else "is limited by time"
        raise AgentError(
            f"a policy must not depend on chance or time for an exact score; {policy.name} {reason}: estimate its "
            "score with simulate",
            field=("planner",) if policy.samples else ("time",),
            code="not-computable",
        )
    graph = graph or BeliefGraph(problem, budget=budget or Budget(memory=MEMORY))
    truth = None
    if world is not None and world is not problem:
        truth = BeliefGraph(in_names_of(problem, world), budget=graph.budget)
    return score(policy.on(graph), steps=max_steps or problem.cap, world=truth)


def score(policy: PolicyOnGraph, *, steps: int, world: BeliefGraph | None = None) -> Score:
    """The score of following `policy` for at most `steps` actions, in `world` (the agent's own model by default)."""
    graph, world = policy.graph, world or policy.graph
    observes_then_commits, problem = graph.problem.observes_then_commits, world.problem
    negligible = SETTINGS.negligible if observes_then_commits else SETTINGS.negligible_elsewhere
    occupancy = Occupancy(policy, steps=steps, world=world, negligible=negligible)
    tallies = {name: Counted(tally, world) for name, tally in problem.tallies.items()}
    totals = dict.fromkeys(("discounted", "information", "steps", *tallies), 0.0)
    moments, ended, log_score, truncated = ReturnMoments(world), [], 0.0, 0.0
    for layer in occupancy:
        moments.observe(layer)
        ended += layer.ended
        if layer.is_cut:
            truncated = float(layer.mass.sum())
            continue
        mass, fade = layer.act_mass, float(problem.discount ** problem.time_taken(layer.step))
        totals["discounted"] += fade * float(mass @ layer.world_arcs.reward)
        totals["information"] += fade * float(mass @ layer.arcs.information)
        totals["steps"] += float(mass.sum())
        for name, tally in tallies.items():
            totals[name] += float(mass @ tally.expected(layer.world_arcs))
    mean, variance = moments.result
    # With several hidden factors no terminal action is about all of them: the problem says what counts as a success.
    has_success = "success" not in totals and len(problem.factors) == 1 and has_commits(graph.problem)
    totals |= {"success": 0.0} if has_success else {}
    columns = [np.concatenate(column) for column in zip(*ended, strict=True)]
    for part in chunks(np.full(len(columns[0]), len(problem.factors[0].states))):
        _, mass, node, world_node, action = (column[part] for column in columns)
        if has_success:
            ends = np.flatnonzero(action >= 0)
            totals["success"] += float(mass[ends] @ expected_success(world, world_node[ends], action[ends]))
        if observes_then_commits:
            log_score += _log_score(graph, world, node, world_node, mass)
    distribution = np.bincount(columns[0], weights=columns[1]).astype(float)
    return Score(
        kind="exact",
        reward=mean,
        reward_sd=math.sqrt(variance),
        tests=float(distribution @ np.arange(len(distribution))),
        success=totals.get("success", math.nan),
        truncated=truncated,
        log_score=log_score if observes_then_commits else math.nan,
        tests_distribution=tuple(distribution.tolist()),
        dropped=occupancy.dropped,
        nodes=graph.size,
        tallies={name: totals[name] for name in problem.tallies if name != "success"},
        discounted=totals["discounted"],
        discounted_tail=cut_off_worth(problem, truncated, steps),
        steps=totals["steps"],
        information=totals["information"],
    )


def _log_score(graph: BeliefGraph, world: BeliefGraph, node: Ids, world_node: Ids, mass: Array) -> float:
    """Expected log probability that final beliefs give the true diagnosis, for cases that end at nodes (n,)."""
    fold = graph.problem.factors[0].fold
    held = fold(graph.beliefs(node))
    if world is graph:
        return -float(mass @ entropy(held))
    true = fold(world.beliefs(world_node))
    counted = (true > 0) & (mass > 0)[:, None]
    with np.errstate(divide="ignore"):
        logs = np.where(counted, np.log(held), 0.0)
    return float((logs * true * mass[:, None]).sum())
