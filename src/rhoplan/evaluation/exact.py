"""The exact score of an agent: no episode is simulated, the distribution over beliefs is propagated forward."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners.anytime import AnytimePlanner
from rhoplan.agents.planners.rule import FollowRule
from rhoplan.belief.information import entropy
from rhoplan.budget import Budget
from rhoplan.errors import AgentError, expect
from rhoplan.evaluation import criteria
from rhoplan.evaluation.occupancy import Layer, Occupancy
from rhoplan.evaluation.variance import ReturnMoments
from rhoplan.following.worlds import in_names_of
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.graph.row_index import grown
from rhoplan.model.horizon import cut_off_worth, has_commits
from rhoplan.model.pomdp import Array, Ids, Problem, Rule
from rhoplan.planning.errands.anytime import derived_leaf
from rhoplan.planning.lookahead import UNDECIDED, LookaheadOnGraph
from rhoplan.planning.policy import PolicyOnGraph, Seed
from rhoplan.scoring.evaluate import ExactScore

NEGLIGIBLE = 1e-17
"""Mass at a node below which cases are no longer followed, if a problem observes, then commits."""

NEGLIGIBLE_ELSEWHERE = 1e-13
"""The same for other problems: their graphs are far larger."""


MEMORY = 2e9
"""Bytes that a belief graph may take if the caller sets no budget; values and temporary arrays come on top."""


class RuleOnGraph:
    """A rule of the problem's own, which names an action, on a belief graph."""

    def __init__(self, graph: BeliefGraph, rule: Rule, weight: float) -> None:
        self.graph, self._rule, self._weight = graph, rule, weight
        self._places: Ids = np.empty(0, dtype=np.int64)

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        graph, used = self.graph, len(self._places)
        if used < graph.size:
            self._places = grown(self._places, used, graph.size)
            self._places[used:] = UNDECIDED
        for node in nodes[self._places[nodes] == UNDECIDED].tolist():
            name, observable = self._rule(graph.problem, graph.situation(node), self._weight), graph.observable[node]
            self._places[node] = graph.table.names(int(observable)).index(name)
        return np.arange(len(nodes)), self._places[nodes], np.ones(len(nodes))


def evaluate(
    problem: Problem,
    agent: BoundAgent,
    *,
    world: Problem | None = None,
    cap: int | None = None,
    budget: Budget | None = None,
) -> ExactScore:
    """Exact score of `agent`, whose model is `problem`, in `world` (its own model by default), for `cap` steps.

    LimitError if the belief graph is larger than the budget allows: MEMORY bytes by default.
    """
    expect(problem, Problem, "make")
    expect(agent, BoundAgent, "agent")
    steps = problem.cap if cap is None else cap
    if steps < 1:
        raise AgentError(f"cap must be at least 1; it is {steps}", field=("cap",))
    if not agent.planner.is_fixed:
        reason = "samples" if agent.planner.samples else "is limited by time"
        raise AgentError(
            f"planner {agent.planner.name} {reason}: its score cannot be computed: estimate it with simulate",
            field=("planner",) if agent.planner.samples else ("time",),
        )
    budget = budget or Budget(memory=MEMORY)
    graph = BeliefGraph(problem, budget=budget)
    truth = None
    if world is not None and world is not problem:
        truth = BeliefGraph(in_names_of(problem, world), budget=budget)
    return score(policy_of(agent, graph), steps=steps, world=truth)


def policy_of(agent: BoundAgent, graph: BeliefGraph) -> PolicyOnGraph:
    """What `agent` does on `graph`: look-ahead, or a rule."""
    if isinstance(agent.planner, FollowRule):
        return RuleOnGraph(graph, agent.planner.rule, agent.objective.weight_per_nat)
    leaf = None
    if isinstance(agent.planner, AnytimePlanner):
        leaf = derived_leaf(
            graph.problem, weight=agent.objective.weight_per_nat, discount=agent.objective.discount_factor
        )
        if leaf is not None and not agent.objective.is_information:
            raise AgentError(
                f"the utility of planner anytime must be information on '{graph.problem.name}'; it is "
                f"{agent.objective.belief_utility.name}: use planner exact",
                field=("utility",),
            )
    elif not agent.planner.is_exact:
        raise AgentError(
            f"the planner of an exact score must be exact; it is {agent.planner.name}: use exact, or simulate",
            field=("planner",),
        )
    return LookaheadOnGraph(graph, agent.objective, agent.planner.horizon, leaf=leaf)


def score(policy: PolicyOnGraph, *, steps: int, world: BeliefGraph | None = None) -> ExactScore:
    """The score of following `policy` for at most `steps` actions, in `world` (the agent's own model by default)."""
    graph, world = policy.graph, world or policy.graph
    observes_then_commits, problem = graph.problem.observes_then_commits, world.problem
    negligible = NEGLIGIBLE if observes_then_commits else NEGLIGIBLE_ELSEWHERE
    occupancy = Occupancy(policy, steps=steps, world=world, negligible=negligible)
    summed: dict[str, criteria.Criterion] = {
        name: criteria.Counted(tally, world) for name, tally in problem.tallies.items()
    }
    summed |= {
        "discounted": criteria.discounted(criteria.reward, world),
        "information": criteria.discounted(criteria.information, world),
    }
    # With several hidden factors no terminal action is about all of them: the problem says what counts as a success.
    if "success" not in summed and len(problem.factors) == 1 and has_commits(problem):
        summed["success"] = criteria.success
    totals = dict.fromkeys(summed, 0.0)
    moments, ends, log_score = ReturnMoments(world), _Ends(), 0.0
    truncated = 0.0
    for layer in occupancy:
        moments.observe(layer)
        ends.observe(layer)
        if observes_then_commits:
            log_score += _log_score(layer)
        if layer.is_cut:
            truncated = float(layer.mass.sum())
            continue
        for name, criterion in summed.items():
            totals[name] += float(layer.act_mass @ criterion(layer))
    mean, variance = moments.result
    return ExactScore(
        reward=mean,
        reward_sd=math.sqrt(variance),
        tests=float(np.dot(ends.distribution, np.arange(len(ends.distribution)))),
        success=totals.get("success", math.nan),
        truncated=truncated,
        log_score=log_score if observes_then_commits else math.nan,
        tests_distribution=tuple(ends.distribution.tolist()),
        dropped=occupancy.dropped,
        nodes=graph.size,
        tallies={name: totals[name] for name in problem.tallies if name != "success"},
        discounted=totals["discounted"],
        discounted_tail=cut_off_worth(problem, truncated, steps),
        steps=ends.steps,
        information=totals["information"],
    )


class _Ends:
    """The distribution of the number of tests, and the expected number of steps, of cases that have ended."""

    def __init__(self) -> None:
        self.distribution: Array = np.zeros(1)
        self.steps = 0.0

    def observe(self, layer: Layer) -> None:
        if layer.is_cut:
            self._add(layer.tests, layer.mass, layer.step)
            return
        self._add(layer.tests_after[layer.stops], layer.act_mass[layer.stops], layer.step + 1)
        self._add(layer.tests_after[layer.act[layer.ends]], layer.part_mass[layer.ends], layer.step + 1)

    def _add(self, tests: Ids, mass: Array, steps: int) -> None:
        found = np.bincount(tests, weights=mass, minlength=len(self.distribution)).astype(float)
        found[: len(self.distribution)] += self.distribution
        self.distribution = found
        self.steps += steps * float(mass.sum())


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
