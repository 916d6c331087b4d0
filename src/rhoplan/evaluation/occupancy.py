"""Occupancy propagation: the distribution over beliefs, forward under a policy, one layer per step.

Cases that reach the same node after the same number of steps and tests go on together; their share of all cases is the
mass. If the true model (the *world*) differs from the agent's, we track two beliefs: the agent's selects actions, the
true posterior determines rewards and observations. Expected sums of what happens are sums over layers.

Shapes: n cases of a layer, m acts (a case and an action that it takes), p parts (an act and an outcome of it).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.graph.row_index import numbered, spans
from rhoplan.model.belief import impossible
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.policy import PolicyOnGraph


@dataclass(frozen=True, eq=False)
class Layer:
    """The cases after `step` actions and what they do. Cases that are cut off have no acts.

    node, world_node, tests, mass (n,): nodes in the agent's and in the world's graph, number of tests so far, share of
    all cases. case, act_mass, tests_after (m,): of each act. arcs, world_arcs: the act for the agent and in the world.
    act, outcome, part_mass, ends (p,): parts with positive probability; whether the episode ends.
    place (q,): where each part that goes on arrives; total, kept (k,): mass there, and whether it is propagated.
    """

    graph: BeliefGraph
    world: BeliefGraph
    step: int
    node: Ids
    world_node: Ids
    tests: Ids
    mass: Array
    case: Ids
    act_mass: Array
    tests_after: Ids
    arcs: Arcs
    world_arcs: Arcs
    act: Ids
    outcome: Ids
    part_mass: Array
    ends: NDArray[np.bool_]
    place: Ids
    total: Array
    kept: NDArray[np.bool_]

    @cached_property
    def stops(self) -> Ids:
        """The acts that are terminal actions."""
        return np.flatnonzero(self.arcs.is_terminal)

    @property
    def ended(self) -> list[tuple[Ids, Array, Ids, Ids, Ids]]:
        """Groups of cases whose episodes end here or are cut off: number of tests, mass, node, world node, and terminal
        action in the world (-1 if it is not one that ends them)."""
        if self.is_cut:
            return [(self.tests, self.mass, self.node, self.world_node, np.full(len(self.node), -1))]
        groups = []
        for act, mass, action in (
            (self.stops, self.act_mass[self.stops], self.world_arcs.action[self.stops]),
            (self.act[self.ends], self.part_mass[self.ends], np.full(np.count_nonzero(self.ends), -1)),
        ):
            case = self.case[act]
            groups.append((self.tests_after[act], mass, self.node[case], self.world_node[case], action))
        return groups

    @property
    def is_cut(self) -> bool:
        """Whether these cases are cut off here."""
        return not self.case.size and bool(self.node.size)


class Occupancy:
    """`policy` followed from the root for at most `steps` actions; iterate over its layers, once.

    world: graph of the true model with names in the order of the agent's; the agent's graph by default. negligible:
    mass at a node below which cases are no longer followed, unless so much is at stake there that it matters;
    `dropped` is the sum of that mass.
    """

    def __init__(
        self, policy: PolicyOnGraph, *, steps: int, world: BeliefGraph | None = None, negligible: float = 1e-17
    ) -> None:
        self.policy, self.steps, self.negligible = policy, steps, negligible
        self.graph, self.world = policy.graph, world or policy.graph
        self.dropped = 0.0

    def __iter__(self) -> Iterator[Layer]:
        cases = (np.array([self.graph.root]), np.array([self.world.root]), np.zeros(1, dtype=np.int64), np.ones(1))
        for step in range(self.steps):
            layer, cases = self._layer(step, *cases)
            yield layer
            if not cases[0].size:
                return
        yield self._layer(self.steps, *cases, is_cut=True)[0]

    def _layer(
        self, step: int, node: Ids, world_node: Ids, tests: Ids, mass: Array, *, is_cut: bool = False
    ) -> tuple[Layer, tuple[Ids, Ids, Ids, Array]]:
        graph, world = self.graph, self.world
        case, place, chance = (np.empty(0, dtype=np.int64),) * 2 + (np.empty(0),) if is_cut else self._acts(node)
        arcs = graph.taken(node[case], place)
        world_arcs = arcs if world is graph else world.taken(world_node[case], place)
        act_mass = mass[case] * chance
        # Branches are read after both graphs have grown.
        branch = world.branches(world_arcs)
        probability, act = world.probability[branch], np.repeat(np.arange(len(case)), world_arcs.width)
        outcome = branch - world_arcs.branch[act]
        possible = np.flatnonzero(probability > 0)
        act, outcome, part_mass = act[possible], outcome[possible], act_mass[act[possible]] * probability[possible]
        after = graph.child[arcs.branch[act] + outcome].astype(np.int64)
        world_after = after if world is graph else world.child[branch[possible]].astype(np.int64)
        ends = after < 0
        check_possible(graph, arcs, act[ends], outcome[ends])
        on = np.flatnonzero(~ends)
        tests_after = tests[case] + (arcs.width > (0 if graph.problem.observes_then_commits else 1))
        cases, met = self._meet(after[on], world_after[on], tests_after[act[on]])
        total = np.bincount(met, weights=part_mass[on], minlength=len(cases[0])).astype(float, copy=False)
        kept = total > self.negligible
        if not kept.all():  # some that have as much at stake as enough mass has at the root are followed on, too
            stake, whole = graph.stop_absolute[cases[0]], graph.stop_absolute[graph.root]
            kept |= (total * stake > self.negligible * whole) & (whole > 0)
            self.dropped += float(total[~kept].sum())
        layer = Layer(graph, world, step, node, world_node, tests, mass, case, act_mass, tests_after, arcs,
                      world_arcs, act, outcome, part_mass, ends, met, total, kept)  # fmt: skip
        return layer, (cases[0][kept], cases[1][kept], cases[2][kept], total[kept])

    def _acts(self, node: Ids) -> tuple[Ids, Ids, Array]:
        """Case, place and probability (m,) of everything that is done at `node` (n,)."""
        if (node[1:] > node[:-1]).all():
            return self.policy.choose(node)
        single, of = numbered(node, self.graph.size)
        row, place, chance = self.policy.choose(single)
        count = np.bincount(row, minlength=len(single))
        act = spans((np.cumsum(count) - count)[of], count[of])
        return np.repeat(np.arange(len(node)), count[of]), place[act], chance[act]

    def _meet(self, node: Ids, world_node: Ids, tests: Ids) -> tuple[tuple[Ids, Ids, Ids], Ids]:
        """Node, world node and tests (k,) of the places where parts (q,) arrive, and which of them (q,)."""
        if self.world is self.graph and (not len(tests) or tests.min() == tests.max()):
            arrived, place = numbered(node, self.graph.size)
            return (arrived, arrived, np.full(len(arrived), tests[0] if len(tests) else 0)), place
        code = node
        for more in (world_node, tests):
            values, place = np.unique(more, return_inverse=True)
            code = code * len(values) + place
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        return (node[first], world_node[first], tests[first]), place


def check_possible(graph: BeliefGraph, arcs: Arcs, act: Ids, outcome: Ids) -> None:
    """Raise ImpossibleEvidence if an outcome (p,) of arcs (p,) that leads nowhere does not end the episode.

    The agent then gives probability zero to an observation that occurs in the world. act: positions in `arcs`.
    """
    targets = graph.table.target(arcs.action[act], outcome)
    for place in np.flatnonzero(targets >= 0).tolist():
        arc, action = act[place], graph.table.actions[arcs.action[act[place]]]
        belief = graph.beliefs(arcs.node[arc : arc + 1], action.factor)[0]
        raise impossible(graph.problem, belief, action, action.outcomes[outcome[place]])
