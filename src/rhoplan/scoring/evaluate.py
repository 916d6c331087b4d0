"""The exact score of an agent: no episode is simulated, the whole distribution is followed forward (`flow`)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.policy import GraphPolicy
from rhoplan.belief.information import entropy
from rhoplan.errors import AgentError, LimitError, expect
from rhoplan.following.flow import NEGLIGIBLE, Flow, Layer, Relabel, actions, information_of
from rhoplan.following.spread import Paid
from rhoplan.following.worlds import World
from rhoplan.graph.graph import Graph, shared_graph
from rhoplan.model.horizon import cut_off_worth, has_commits
from rhoplan.model.pomdp import Action, Array, Ids, Problem

MOST_NODES = 3_000_000
"""Size of a graph with places beyond which simulation is the better tool."""

NEGLIGIBLE_PLACES = 1e-13
"""Mass at one place that is no longer followed where there are places to walk to: their graphs hold far more nodes."""


@dataclass(frozen=True)
class ExactScore:
    """How good an agent is.

    reward, reward_sd: mean and spread of what an episode pays. discounted: its mean as the world discounts it;
    discounted_tail: how far that can be from what it is without the cap, NaN where nothing bounds it. information:
    expected information of all actions taken, in nats, by the beliefs of the agent and discounted alike. tests, steps:
    expected number of tests, and of actions, the one that ends included. success: share of episodes that the problem
    tallies as one, or else, with one hidden factor, that end with a best ending action for the true state. truncated:
    share cut off at the cap; they are not successful and pay what they spent. log_score: expected log, in nats, of the
    probability that the final belief gives the true diagnosis. tests_distribution: probability of each number of tests
    from 0 on. dropped: mass too small to follow. nodes: size of the graph. tallies: expected counts of what the problem
    tallies. A column that a problem does not have is NaN.
    """

    reward: float
    reward_sd: float
    tests: float
    success: float
    truncated: float
    log_score: float
    tests_distribution: tuple[float, ...]
    dropped: float
    nodes: int
    tallies: dict[str, float] = field(default_factory=dict)
    discounted: float = math.nan
    discounted_tail: float = 0.0
    steps: float = math.nan
    information: float = math.nan


def evaluate(
    problem: Problem,
    agent: BoundAgent,
    *,
    world: Problem | None = None,
    cap: int | None = None,
    graph: Graph | None = None,
) -> ExactScore:
    """Exact score of `agent`, whose model is `problem`, in `world` (its own model by default).

    graph: of the problem, to use again.

    Not covered: problems with so many places and factors that the reachable graph does not fit (LimitError says so).
    """
    expect(problem, Problem, "make")
    expect(agent, BoundAgent, "agent")
    steps = problem.cap if cap is None else cap
    if steps < 1:
        raise AgentError(f"cap must be at least 1; it is {steps}", field=("cap",), code="setting-range")
    if not agent.planner.is_fixed:
        budget = "samples" if agent.planner.samples else "is limited by time"
        raise AgentError(
            f"planner {agent.planner.name} {budget}: its score can be estimated by `rhoplan simulate`, not computed",
            field=("planner",) if agent.planner.samples else ("time",),
            code="not-computable",
        )
    other = world if world is not problem else None
    graph = graph_for(problem) if graph is None else graph
    truth = World(graph, other)
    try:
        return score_policy(GraphPolicy(graph, agent), truth, cap=steps)
    except LimitError:
        if problem.observes_then_commits:
            raise
        raise LimitError(
            f"'{problem.name}' has more than {graph.node_limit:,} situations within reach: score it by "
            "`rhoplan simulate`",
            code="node-limit",
        ) from None


def graph_for(problem: Problem) -> Graph:
    """The graph on which agents of `problem` are evaluated."""
    return shared_graph(problem) if problem.observes_then_commits else Graph(problem, node_limit=MOST_NODES)


def score_policy(policy: GraphPolicy, world: World, *, cap: int) -> ExactScore:
    """The score of following `policy` in `world` for at most `cap` steps."""
    graph, paid = policy.graph, Paid(world)
    tests_only = graph.problem.observes_then_commits  # then the step tells how many
    relabel, least = (None, NEGLIGIBLE) if tests_only else (_count_tests(graph), NEGLIGIBLE_PLACES)
    flow = Flow(policy, cap=cap, world=world, paid=paid, relabel=relabel, least=least)
    counts, totals = _Counts(), _Totals(graph, world)
    truncated = 0.0
    for layer in flow:
        if layer.is_cut:
            truncated = float(layer.mass.sum())
            counts.add(layer.label + layer.step * tests_only, layer.mass, layer.step)
            totals.believe(layer.node, layer.truth, layer.mass)
            continue
        totals.act(layer)
        acts = layer.acts
        tests, stops = layer.label[acts.row] + layer.step * tests_only, acts.stops
        if stops.size:
            counts.add(tests[stops], acts.mass[stops], layer.step + 1)
        if layer.over is not None:
            if flow.relabel is not None:
                tests = flow.relabel(tests, layer.node[acts.row], acts.slot)
            counts.add(tests, layer.over.sum(axis=1), layer.step + 1)
    reward, variance = paid.result
    distribution = counts.distribution
    return ExactScore(
        reward=reward,
        reward_sd=math.sqrt(variance),
        tests=float(np.dot(distribution, np.arange(len(distribution)))),
        success=totals.success,
        truncated=truncated,
        log_score=totals.log_score,
        tests_distribution=tuple(distribution.tolist()),
        dropped=flow.dropped,
        nodes=graph.size,
        tallies=totals.tallies,
        discounted=totals.discounted,
        discounted_tail=cut_off_worth(world.problem, truncated, cap),
        steps=counts.steps,
        information=totals.information,
    )


class _Counts:
    """How many tests and steps the cases took that have ended."""

    def __init__(self) -> None:
        self.distribution: Array = np.zeros(1)
        self.steps = 0.0

    def add(self, tests: Ids, mass: Array, steps: int) -> None:
        found = np.bincount(np.maximum(tests, 0), weights=mass, minlength=len(self.distribution)).astype(float)
        found[: len(self.distribution)] += self.distribution
        self.distribution = found
        self.steps += steps * float(mass.sum())


class _Totals:
    """What else is added up over acts: discounted reward, information, success, tallies; and the log score where cases
    end."""

    def __init__(self, graph: Graph, world: World) -> None:
        self.graph, self.world = graph, world
        problem = world.problem
        self._tallied = dict.fromkeys(problem.tallies, 0.0)
        self.discounted = self.information = 0.0
        # With several hidden factors no ending action is about all of them: a problem tallies what it calls success.
        self._right = 0.0 if len(problem.factors) == 1 and has_commits(problem) else math.nan
        self._scored = 0.0 if graph.problem.observes_then_commits else math.nan

    @property
    def success(self) -> float:
        return self._tallied.get("success", self._right)

    @property
    def tallies(self) -> dict[str, float]:
        return {name: count for name, count in self._tallied.items() if name != "success"}

    @property
    def log_score(self) -> float:
        return self._scored

    def act(self, layer: Layer) -> None:
        acts, world = layer.acts, self.world
        fade = float(world.problem.discount ** world.problem.time_taken(layer.step))
        self.discounted += fade * float(acts.mass @ acts.reward)
        told = information_of(self.graph, layer.node[acts.row], acts.slot, acts.ending)
        self.information += fade * float(acts.mass @ told)
        stops = acts.stops
        if stops.size:
            ended = acts.row[stops]
            self.believe(layer.node[ended], layer.truth[ended], acts.mass[stops])
        if "success" not in self._tallied and not math.isnan(self._right):
            for one in layer.endings:
                self._right += float(acts.mass[stops[one.place]] @ (one.belief * one.right).sum(axis=1))
        if self._tallied:
            truth = layer.truth[acts.row]
            for action, places in actions(world.graph, truth, acts.slot, acts.ending):
                self._tally(action, truth[places], acts.mass[places])

    def believe(self, node: Ids, truth: Ids, mass: Array) -> None:
        """Cases (n,) that end with the beliefs they have."""
        if math.isnan(self._scored):
            return
        fold = self.graph.problem.factors[0].fold
        if self.world.is_model:
            self._scored -= float(mass @ entropy(fold(self.graph.beliefs(node))))
        else:
            held = fold(self.world.graph.beliefs(truth))
            with np.errstate(divide="ignore"):
                logs = np.log(fold(self.graph.beliefs(node)))
            counted = (held > 0) & (mass > 0)[:, None]
            self._scored += float((np.where(counted, logs, 0.0) * held * mass[:, None]).sum())

    def _tally(self, action: Action, truth: Ids, mass: Array) -> None:
        """`action` is taken at `truth` (k,) by shares (k,) of cases."""
        problem, beliefs = self.world.problem, self.world.graph.beliefs(truth, action.factor)
        for name, tally in problem.tallies.items():
            counts = tally.counts(action, problem.factors[action.factor].states)
            self._tallied[name] += float(mass @ (beliefs @ (counts * action.likelihood).sum(axis=1)))


def _count_tests(graph: Graph) -> Relabel:
    def relabel(label: Ids, node: Ids, slot: Ids) -> Ids:
        counted = label.copy()
        going = np.flatnonzero(slot >= 0)
        counted[going] += graph.is_test(node[going], slot[going])
        return counted

    return relabel
