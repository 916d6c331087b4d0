"""Replaying real cases: a policy asks for a test, the case shows its result, and in the end the true diagnosis pays.

A blank is a test that cannot be had: it costs nothing and tells nothing, it is not offered again, nor is what waits for
it. Cases walk together over the problem's own graph, so that what is decided in a situation is decided once, and
prices, orders and caps are the menu's.

Shapes: n cases, T tests, S states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rhoplan.agents.agent import Agent
from rhoplan.agents.policy import Policy
from rhoplan.graph.graph import Graph
from rhoplan.model.observe_then_commit import Done
from rhoplan.model.problem import Array, Ids, Problem

ROOM = 250_000_000
"""Bytes that a graph may take before cases go on in a fresh one."""

BYTES_PER_ARC = 12
"""What a graph holds of an outcome of an action: a probability and a number."""


@dataclass(frozen=True, eq=False)
class Replayed:
    """For each case: spend (n,), commit (n,), which tests were run (n, T), and the belief (n, S) at the end."""

    spend: Array
    commit: Ids
    asked: Array
    belief: Array

    @property
    def tests(self) -> Array:
        """How many tests (n,) were run."""
        total: Array = self.asked.sum(axis=1)
        return total

    def expected_loss(self, losses: Array) -> Array:
        """What (n,) the beliefs at the end expect the commits to cost. losses (E, S): of commits in states."""
        expected: Array = (losses[self.commit] * self.belief).sum(axis=1)
        return expected


def replay(problem: Problem, agent: Agent, outcomes: Ids, *, graph: Graph | None = None) -> Replayed:
    """What `agent`, whose model is `problem`, does in cases whose tests would come out as `outcomes` (n, T), -1: blank.

    graph: one of `problem` to use and to extend, while there is room. Not covered: agents that sample.
    """
    together = cases_together(problem, agent.horizon)
    parts = [
        _replay(problem, agent, outcomes[first : first + together], graph)
        for first in range(0, max(len(outcomes), 1), together)
    ]
    return Replayed(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in Replayed.__dataclass_fields__)
    )


def cases_together(problem: Problem, horizon: int) -> int:
    """How many cases may walk together so that what one step adds to the graph leaves room."""
    arcs = max(sum(len(test.outcomes) for test in problem.flat.tests), 1)
    return max(1, int(most_nodes(problem) / arcs ** min(horizon, 20) / 2))


def most_nodes(problem: Problem) -> float:
    """Nodes of the graph of `problem` that have room."""
    tests = problem.flat.tests
    arcs = max(len(tests), 1) * max((len(test.outcomes) for test in tests), default=1)
    return ROOM / (BYTES_PER_ARC * arcs)


def _replay(problem: Problem, agent: Agent, outcomes: Ids, known: Graph | None) -> Replayed:
    tests = problem.flat.tests
    place = {test.name: number for number, test in enumerate(tests)}
    most = most_nodes(problem) / 2
    graph = known if known is not None and known.size <= most else Graph(problem)
    policy = Policy(graph, agent)
    node = np.full(len(outcomes), graph.root)
    spend, commit = np.zeros(len(outcomes)), np.zeros(len(outcomes), dtype=np.int64)
    asked, belief = np.zeros(outcomes.shape), np.zeros((len(outcomes), len(problem.states)))
    going = np.arange(len(outcomes))
    while going.size:
        if graph.size > most:
            graph, node[going] = graph.continued(node[going])
            policy = Policy(graph, agent)
        policy.settle(np.unique(node[going]))
        slot = policy.choice[node[going]]
        ended = going[slot < 0]
        commit[ended], belief[ended] = policy.ending[node[ended]], graph.beliefs(node[ended])
        going, slot = going[slot >= 0], slot[slot >= 0]
        graph.expand(np.unique(node[going]))
        offered = [graph.menus[visible].going for visible in graph.visible[node[going]].tolist()]
        test = np.array([place[menu[s].name] for menu, s in zip(offered, slot.tolist(), strict=True)], dtype=np.int64)
        result = outcomes[going, test] if going.size else test
        shown = result >= 0
        told, taken = going[shown], slot[shown]
        spend[told] -= graph.reward[node[told], taken]
        asked[told, test[shown]] = 1.0
        node[told] = graph.next[node[told], taken, result[shown]]
        blank = np.flatnonzero(~shown)
        if blank.size:
            node[going[blank]] = _passed_over(graph, node[going[blank]], [tests[t].name for t in test[blank]])
    return Replayed(spend, commit, asked, belief)


def _passed_over(graph: Graph, nodes: Ids, names: list[str]) -> Ids:
    """The nodes where tests `names` (n,) cannot be had; nor can what waits for them."""
    waits = {test.name: set(test.after) for test in graph.problem.flat.tests}
    visibles = []
    for visible, name in zip(graph.visible[nodes].tolist(), names, strict=True):
        done = graph.visibles[visible]
        assert isinstance(done, Done)
        gone = {name}
        while more := {other for other, before in waits.items() if before & gone} - gone:
            gone |= more
        visibles.append(done._replace(run=done.run | gone))
    situations = [graph.situation(node) for node in nodes.tolist()]
    beliefs = np.stack([situation.belief for situation in situations])
    return graph.nodes(visibles, (beliefs,), [[situation.log_belief(0) for situation in situations]])
