"""What jobs measure for claims about decisions: how large a look-ahead is, and what an agent does at each belief."""

from __future__ import annotations

from typing import Any

import numpy as np

from rhoplan._old.flow import Flow
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.agents.agent import make_agent
from rhoplan.errors import LimitError
from rhoplan.model.pomdp import Ids
from rhoplan.problems.grid import Cell, manhattan
from rhoplan.problems.registry import make
from rhoplan_paper.registry import measure

ALIKE = 1e-9
"""Nats or rewards closer than this are equal: two ways of adding up floats differ by less."""


@measure
def look_ahead(problem: str, *, horizon: int) -> dict[str, Any]:
    """How large the tree of plans from the start is, counted by walking it, for depths 0, 1, ... `horizon`.

    paths: nodes of the tree at each depth, one for every sequence of actions and outcomes that can happen. situations:
    how many different ones there are up to that depth, so many as need to be worked out. `limit` says why where the
    situations do not fit.
    """
    model = make(problem)
    graph = Graph(model)
    nodes, times = np.array([graph.root]), [1]
    paths, seen, situations = [1], {graph.root}, [1]
    for _ in range(horizon):
        try:
            nodes, times = _further(graph, nodes, times)
        except LimitError as error:
            return {"limit": str(error)}
        seen.update(nodes.tolist())
        paths.append(sum(times))
        situations.append(len(seen))
    return {"paths": paths, "situations": situations}


def _further(graph: Graph, nodes: Ids, times: list[int]) -> tuple[Ids, list[int]]:
    """Nodes one action later, and how many paths lead to each. Counts are whole numbers of any size."""
    graph.expand(nodes)
    counted: dict[int, int] = {}
    for node, number in zip(nodes.tolist(), times, strict=True):
        arcs = graph.next[node]
        for target in arcs[arcs >= 0].tolist():
            counted[target] = counted.get(target, 0) + number
    return np.array(list(counted), dtype=np.int64), list(counted.values())


@measure
def shortest_walk(problem: str) -> dict[str, Any]:
    """The fewest moves that visit every rock of a RockSample problem, from the start: no order of visits has fewer."""
    model = make(problem)
    places: tuple[Cell, ...] = model.details["places"]
    assert isinstance(model.start, tuple)
    row, column = model.start[:2]
    best = {(1 << rock, rock): manhattan((row, column), place) for rock, place in enumerate(places)}
    for _ in range(len(places) - 1):
        longer: dict[tuple[int, int], int] = {}
        for (visited, last), moves in best.items():
            for rock, place in enumerate(places):
                if not visited >> rock & 1:
                    key, total = (visited | 1 << rock, rock), moves + manhattan(places[last], place)
                    longer[key] = min(total, longer.get(key, total))
        best = longer
    return {"rocks": len(places), "moves": min(best.values())}


@measure
def from_within(problem: str, agent: str, *, steps: int = 30, **settings: Any) -> dict[str, Any]:
    """An agent's decisions on a flat problem, at every belief it can meet within `steps` tests.

    beliefs: how many. early, late: at how many of them it commits although a test is worth more, or tests although
    committing is worth as much. lowest_testing, highest_committing: the entropy, in nats, at which it still tests and
    at which it already commits. most_informative: share of its tests that tell as much as any other would, by how
    often they are taken; indifferent: share where such a test is worth as much to it as the one taken; least_share:
    the smallest part of the best test's information that a test it takes has. spread: expected difference between
    the most and the least informative test before test 1, 2, ... What there is nothing to say of is None or left out.
    """
    model = make(problem)
    graph = Graph(model)
    policy = GraphPolicy(graph, make_agent(agent, model, **settings))
    met: set[int] = set()
    taken = informed = indifferent = 0.0
    close = ALIKE * model.reward_scale
    spread: list[float] = []
    for layer in Flow(policy, cap=steps + 1):
        met.update(layer.node.tolist())
        going = layer.acts.slot >= 0
        goes, weight = layer.node[layer.acts.row[going]], layer.acts.mass[going]
        if not goes.size:
            break
        gains = graph.information[goes, : len(model.flat.tests)]
        chosen = gains[np.arange(len(goes)), policy.choice[goes]]
        taken += float(weight.sum())
        top = gains >= gains.max(axis=1, keepdims=True) - ALIKE
        values = policy.plan.action_values(goes, policy.agent.horizon)[1][:, : gains.shape[1]]
        as_good = (top & (values >= values.max(axis=1, keepdims=True) - close)).any(axis=1)
        informed += float(weight[chosen >= gains.max(axis=1) - ALIKE].sum())
        indifferent += float(weight[as_good].sum())
        spread.append(float(weight @ np.ptp(gains, axis=1) / weight.sum()))
    every = np.array(sorted(met))
    shares = {"most_informative": informed / taken, "indifferent": indifferent / taken} if taken else {}
    return {"beliefs": len(every), "spread": spread, **shares, **_crossing(policy, every)}


def _crossing(policy: GraphPolicy, nodes: Ids) -> dict[str, Any]:
    """Whether `nodes` are split into testing and committing where the value of the one exceeds that of the other."""
    graph = policy.graph
    commit, tests, _ = policy.plan.action_values(nodes, policy.agent.horizon)
    best = tests.max(axis=1)
    going = policy.choice[nodes] >= 0
    close = ALIKE * graph.problem.reward_scale
    entropy = graph.tables[0].entropy[graph.belief[nodes, 0]]
    gains = graph.information[nodes[going], : len(graph.problem.flat.tests)]
    chosen = gains[np.arange(len(gains)), policy.choice[nodes[going]]]
    return {
        "early": int((~going & (best > commit + close)).sum()),
        "late": int((going & (best <= commit + close)).sum()),
        "lowest_testing": float(entropy[going].min()) if going.any() else None,
        "highest_committing": float(entropy[~going].max()) if not going.all() else None,
        "least_share": float((chosen / gains.max(axis=1)).min()) if going.any() else None,
    }
