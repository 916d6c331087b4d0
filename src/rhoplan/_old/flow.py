"""A plan followed forward: the one loop behind exact scores, distributions, courses, totals and pathways.

Cases start somewhere and act as a policy says; after each action those that meet in a situation go on together. A
layer is what is where after so many actions: the node of the agent's graph, a label that the reader keeps cases apart
by (what was spent, say), and the share of cases, the mass. Readers add up what they want to know from the layers.

Where the world is another problem than the agent's model, each case also has a node of the *world's* graph: what the
world, told the same results, would believe. Results are drawn from that belief and rewards are paid by it, so nothing
has to be known of single hidden states. In the agent's own world the two nodes are one.

Shapes: n cases of a layer, m acts, O outcomes, F factors, S states (the most any factor has).

Kept for the certified solver, advice and the paper; their rebuild deletes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.graph import Graph
from rhoplan._old.merging import distinct, numbered
from rhoplan._old.worlds import Ending, World
from rhoplan.belief_math.information import information
from rhoplan.model.belief import impossible
from rhoplan.model.pomdp import END, Action, Array, Ids

NEGLIGIBLE = 1e-17
"""Mass at one place at one step below which it is no longer followed, unless so much is at stake there that it
matters; `Flow.dropped` is the sum of what was left."""

Relabel = Callable[[Ids, Ids, Ids], Ids]
"""Label (m,) after taking slots (m,) at nodes (m,) with labels (m,) before."""


class Follows(Protocol):
    """What a policy must offer to be followed: see `agents.policy.GraphPolicy`."""

    graph: Graph
    choice: Ids
    ending: Ids

    @property
    def is_deterministic(self) -> bool: ...

    def settle(self, nodes: Ids) -> None:
        """Decide at the `nodes` of the layer that comes now."""

    def probabilities(self, nodes: Ids) -> tuple[Array, Array]: ...


class Chosen:
    """Choices (N,) on `graph` that are known already: the slot taken at a node, or -1 to end with ending (N,)."""

    is_deterministic = True

    def __init__(self, graph: Graph, choice: Ids, ending: Ids) -> None:
        self.graph, self.choice, self.ending = graph, choice, ending

    def settle(self, nodes: Ids) -> None:
        """Nothing is left to decide."""

    def probabilities(self, nodes: Ids) -> tuple[Array, Array]:
        raise NotImplementedError("nothing is left to chance")


@dataclass(frozen=True, eq=False)
class Acts:
    """What cases of a layer do: row (m,) of the layer, the slot (m,) taken or -1, then the ending action (m,).

    mass (m,): share of all cases. reward (m,): what is paid for it on average.
    """

    row: Ids
    slot: Ids
    ending: Ids
    mass: Array
    reward: Array

    @cached_property
    def going(self) -> Ids:
        """Which of them go on."""
        return (self.slot >= 0).nonzero()[0]

    @cached_property
    def stops(self) -> Ids:
        """Which of them end the episode."""
        return (self.slot < 0).nonzero()[0]

    def at(self, chosen: NDArray[np.bool_] | Ids) -> Acts:
        return Acts(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Layer:
    """Cases after `step` actions, and what they do next; nothing where they are cut off at the cap.

    node, truth, label, mass (n,): nodes of the agent's and of the world's graph, label, share of all cases. endings:
    what the acts bring that end the episode, numbered among those. over: mass (m, O) of each act whose outcome ends it;
    None where there is none.
    """

    step: int
    node: Ids
    truth: Ids
    label: Ids
    mass: Array
    acts: Acts
    endings: list[Ending] = field(default_factory=list)
    over: Array | None = None

    @property
    def is_cut(self) -> bool:
        """Whether these cases are cut off here."""
        return not self.acts.row.size and bool(self.node.size)


class Flow:
    """`policy` followed from `nodes` (the start by default) for at most `cap` actions; iterate over its layers, once.

    mass (n,), labels (n,): of the cases at `nodes` at first. relabel: how an action that goes on changes a label; it
    stays by default. least: see NEGLIGIBLE.
    """

    def __init__(
        self,
        policy: Follows,
        *,
        cap: int,
        world: World | None = None,
        nodes: Sequence[int] | None = None,
        mass: Array | None = None,
        labels: Ids | None = None,
        relabel: Relabel | None = None,
        least: float = NEGLIGIBLE,
    ) -> None:
        self.policy, self.cap, self.relabel, self.least = policy, cap, relabel, least
        self.graph = policy.graph
        self.world = world or World(self.graph)
        node = np.array([self.graph.root] if nodes is None else nodes, dtype=np.int64)
        self.dropped = 0.0
        self._node, self._truth = node, self.world.start(node)
        self._label = np.zeros(len(node), dtype=np.int64) if labels is None else labels
        self._mass = np.full(len(node), 1.0 / len(node)) if mass is None else mass
        # Whether several cases of a layer can be at one node.
        self._shared = relabel is not None or not self.world.is_model or bool(self._label.any())

    def __iter__(self) -> Iterator[Layer]:
        for step in range(self.cap):
            acts, endings = self._acts()
            over, moved = self._moved(acts, endings)
            yield Layer(step, self._node, self._truth, self._label, self._mass, acts, endings, over)
            self._node, self._truth, self._label, self._mass = moved
            if not self._node.size:
                return
        nothing = Acts(*(np.empty(0, dtype=kind) for kind in (np.int64, np.int64, np.int64, float, float)))
        yield Layer(self.cap, self._node, self._truth, self._label, self._mass, nothing)

    def _acts(self) -> tuple[Acts, list[Ending]]:
        policy, node = self.policy, self._node
        if policy.is_deterministic:
            policy.settle(distinct(node, self.graph.size) if self._shared else node)
            row, slot, ending, mass = np.arange(len(node)), policy.choice[node], policy.ending[node], self._mass
        else:
            row, slot, ending, mass = self._drawn()
        acts = Acts(row, slot, ending, mass, np.empty(len(row)))
        going, stops, truth = acts.going, acts.stops, self._truth[row]
        acts.reward[going] = self.world.going_rewards(truth[going], slot[going])
        endings = self.world.endings(truth[stops], ending[stops]) if stops.size else []
        for one in endings:
            acts.reward[stops[one.place]] = one.mean
        return acts, endings

    def _drawn(self) -> tuple[Ids, Ids, Ids, Array]:
        """What is done by a policy that acts at random: every action of positive probability."""
        parts = []
        for _, places in self.graph.by_endings(self._node):
            single, back = np.unique(self._node[places], return_inverse=True)
            ending, going = self.policy.probabilities(single)
            chance = np.concatenate([ending, going], axis=1)[back]
            rows, columns = np.nonzero(chance)
            commits = columns < ending.shape[1]
            slot = np.where(commits, -1, columns - ending.shape[1])
            mass = self._mass[places[rows]] * chance[rows, columns]
            parts.append((places[rows], slot, np.where(commits, columns, -1), mass))
        whole = [np.concatenate([part[column] for part in parts]) for column in range(4)]
        return whole[0], whole[1], whole[2], whole[3].astype(float)

    def _moved(self, acts: Acts, endings: list[Ending]) -> tuple[Array | None, tuple[Ids, Ids, Ids, Array]]:
        """Mass (m, O) of each act that its outcome ends, and the cases of the next layer: nodes, labels, mass."""
        over = None
        goes = acts.at(acts.going)
        if not goes.row.size:
            return over, (self._node[:0], self._truth[:0], self._label[:0], self._mass[:0])
        node, truth, slot = self._node[goes.row], self._truth[goes.row], goes.slot
        chance, after = self.world.outcomes(truth, slot)
        act, outcome = (chance > 0).nonzero()
        mass, after = goes.mass[act] * chance[act, outcome], after[act, outcome]
        reached = after if self.world.is_model else self.graph.next[node[act], slot[act], outcome].astype(np.int64)
        ends = reached < 0
        if ends.any():
            self._check_possible(node[act[ends]], slot[act[ends]], outcome[ends])
            over = np.zeros((len(acts.row), chance.shape[1]))
            over[acts.going[act[ends]], outcome[ends]] = mass[ends]
            act, mass, reached, after = act[~ends], mass[~ends], reached[~ends], after[~ends]
        label = self._label[goes.row]
        label = self.relabel(label, node, slot) if self.relabel else label
        met, place = self._meeting(reached, after, label, act)
        total = np.bincount(place, weights=mass, minlength=len(met[0])).astype(float, copy=False)
        kept = self.graph.matters(met[0], total, self.least)
        if kept.all():
            return over, (*met, total)
        self.dropped += float(total[~kept].sum())
        return over, (met[0][kept], met[1][kept], met[2][kept], total[kept])

    def _meeting(self, node: Ids, truth: Ids, label: Ids, act: Ids) -> tuple[tuple[Ids, Ids, Ids], Ids]:
        """Node, truth and label (n,) of the places where parts (p,) meet that have them in common, and which (p,).

        label: of each of the acts, of which `act` (p,) has led to the part.
        """
        if not self._shared:
            arrived, place = numbered(node, self.graph.size)
            return (arrived, arrived, np.zeros_like(arrived)), place
        code, label = node, label[act]
        for more in (truth, label):
            values, place = np.unique(more, return_inverse=True)
            code = code * len(values) + place
        _, first, place = np.unique(code, return_index=True, return_inverse=True)
        return (node[first], truth[first], label[first]), place

    def _check_possible(self, nodes: Ids, slots: Ids, outcomes: Ids) -> None:
        """Raise ImpossibleEvidence where an outcome is not the end of an episode, but one that the agent excludes."""
        graph = self.graph
        for node, slot, outcome in zip(nodes.tolist(), slots.tolist(), outcomes.tolist(), strict=True):
            action = graph.menus[int(graph.observable[node])].going[slot]
            if action.leads_to[outcome] is not END:
                belief = graph.situation(node).beliefs[action.factor]
                raise impossible(graph.problem, belief, action, action.outcomes[outcome])


def actions(graph: Graph, nodes: Ids, acts_slot: Ids, acts_ending: Ids) -> Iterator[tuple[Action, Ids]]:
    """The actions that are taken at `nodes` (m,), each with the places (k,) where it is."""
    for observable, places in graph.by_visible(nodes):
        menu = graph.menus[observable]
        slots, endings = acts_slot[places], acts_ending[places]
        for slot in np.unique(slots[slots >= 0]):
            yield menu.going[slot], places[slots == slot]
        for ending in np.unique(endings[slots < 0]):
            yield menu.ending[ending], places[(slots < 0) & (endings == ending)]


def information_of(graph: Graph, nodes: Ids, acts_slot: Ids, acts_ending: Ids) -> Array:
    """What (m,) the actions that are taken at `nodes` (m,) are expected to tell, in nats; those that end it too."""
    going, stops = acts_slot >= 0, (acts_slot < 0).nonzero()[0]
    found = np.zeros(len(nodes))
    found[going] = graph.information[nodes[going], acts_slot[going]]
    for observable, places in graph.by_visible(nodes[stops]) if stops.size else ():
        for ending, action in enumerate(graph.menus[observable].ending):
            if len(action.outcomes) > 1:
                taken = stops[places[acts_ending[stops[places]] == ending]]
                beliefs = graph.beliefs(nodes[taken], action.factor)
                found[taken] = information(beliefs, action, graph.problem.factors[action.factor])
    return found
