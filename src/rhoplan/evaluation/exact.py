"""The exact score of a policy: no episode is simulated, the distribution over beliefs is propagated forward."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.budget import Budget
from rhoplan.errors import AgentError
from rhoplan.evaluation import criteria
from rhoplan.evaluation.occupancy import Layer, Occupancy
from rhoplan.evaluation.score import Score
from rhoplan.evaluation.variance import ReturnMoments
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.horizon import cut_off_worth, has_commits
from rhoplan.model.pomdp import POMDP
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
    summed: dict[str, criteria.Criterion] = {
        name: criteria.Counted(tally, world) for name, tally in problem.tallies.items()
    }
    summed |= {
        "discounted": criteria.discounted(criteria.reward, world),
        "information": criteria.discounted(criteria.information, world),
        "steps": criteria.steps,
    }
    # With several hidden factors no terminal action is about all of them: the problem says what counts as a success.
    if "success" not in summed and len(problem.factors) == 1 and has_commits(graph.problem):
        summed["success"] = criteria.success
    totals = dict.fromkeys(summed, 0.0)
    moments, ended, log_score, truncated = ReturnMoments(world), [], 0.0, 0.0
    for layer in occupancy:
        moments.observe(layer)
        ended += layer.ended
        if observes_then_commits:
            log_score += _log_score(layer)
        if layer.is_cut:
            truncated = float(layer.mass.sum())
            continue
        for name, criterion in summed.items():
            totals[name] += float(layer.act_mass @ criterion(layer))
    mean, variance = moments.result
    tests, mass = (np.concatenate(parts) for parts in zip(*ended, strict=True))
    distribution = np.bincount(tests, weights=mass).astype(float)
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


def _log_score(layer: Layer) -> float:
    """Expected log probability that the final beliefs of cases that end here give the true diagnosis."""
    case = np.arange(len(layer.node)) if layer.is_cut else layer.case[layer.stops]
    mass = layer.mass if layer.is_cut else layer.act_mass[layer.stops]
    fold = layer.graph.problem.factors[0].fold
    held = fold(layer.graph.beliefs(layer.node[case]))
    if layer.world is layer.graph:
        return -float(mass @ entropy(held))
    true = fold(layer.world.beliefs(layer.world_node[case]))
    counted = (true > 0) & (mass > 0)[:, None]
    with np.errstate(divide="ignore"):
        logs = np.where(counted, np.log(held), 0.0)
    return float((logs * true * mass[:, None]).sum())
