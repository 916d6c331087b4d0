"""Episodes of a policy, many in step: beliefs are nodes of a belief graph, hidden states are the environment's.

All episodes of a batch take one action per step. The policy decides once at each belief, however many episodes meet
there. Where the graph becomes too large, the episodes move on to a new one that holds only their current beliefs.

Shapes: n episodes of a batch, k of them that take an action, m distinct nodes where they are, S hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.budget import Budget
from rhoplan.evaluation.environment import Environment, WorldAction, WorldActions
from rhoplan.evaluation.episodes import EpisodeLog, Episodes, EpisodeStep
from rhoplan.evaluation.streams import Streams
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.model.situation import impossible
from rhoplan.planning.policy import Policy

BYTES_PER_PROBABILITY = 64
"""Memory that the belief of one episode takes for each hidden state: a few copies of 8 bytes."""


@dataclass(frozen=True)
class RolloutSettings:
    """Limits of a simulation; they change no result.

    batch: episodes that go in step: enough to share the cost of a step, few enough to keep every core busy.
    most_nodes, most_bytes: size of a belief graph at which episodes move on to a new one, if their beliefs rarely meet.
    most_bytes_meeting: the same if evidence counts in any order, so that beliefs meet and the graph is worth keeping.
    memory: bytes beyond which the graph cannot grow (LimitError).
    """

    batch: int = 5_000
    most_nodes: float = 400_000
    most_bytes: float = 3e8
    most_bytes_meeting: float = 1e9
    memory: float = 2e9

    def batch_for(self, problem: POMDP) -> int:
        """Episodes in a batch: fewer where beliefs are long."""
        states = max(len(factor.states) for factor in problem.factors)
        return max(1, min(self.batch, int(self.most_bytes / (BYTES_PER_PROBABILITY * states))))


class Batch:
    """The episodes `first` to `last` (not included) of `seed`: random numbers, hidden states, beliefs and results."""

    def __init__(self, world: POMDP, seed: int, first: int, last: int) -> None:
        self.streams = Streams(world, seed, first, last)
        self.environment = Environment(world, self.streams.states, self.streams.uniforms)
        self.log = EpisodeLog(world, last - first)
        self.nodes: Ids = np.zeros(last - first, dtype=np.int64)


class Step(NamedTuple):
    """What k episodes did: the arcs of the graph that they took, and what came of it."""

    arcs: Arcs
    observation: Ids
    reward: Array
    ended: NDArray[np.bool_]


@dataclass(eq=False)
class Rollout:
    """`policy`, which believes in `problem`, followed in `world` for at most `max_steps` actions."""

    problem: POMDP
    policy: Policy
    world: POMDP
    max_steps: int
    settings: RolloutSettings = field(default_factory=RolloutSettings)

    def __post_init__(self) -> None:
        self._added = 1.0  # the most nodes that deciding at one has added
        self._begin()

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes make graphs of their own."""
        return Rollout, (self.problem, self.policy, self.world, self.max_steps, self.settings)

    def episodes(self, seed: int, first: int, last: int) -> Episodes:
        """Episodes `first` to `last` (not included) of `seed`."""
        batch = Batch(self.world, seed, first, last)
        batch.nodes[:] = self.graph.root
        active = np.arange(last - first)
        for number in range(self.max_steps):
            waiting, going = active, [active[:0]]
            while waiting.size:
                part, waiting = self._fitting(waiting, batch.nodes)
                going.append(part[~self.step(batch, part, number).ended])
                if self.graph.size > self._largest / 2:
                    self._move(batch, np.concatenate([waiting, *going]))
            active = np.concatenate(going)
            if not active.size:
                break
        self._end(batch, active)
        batch.log.truncated[active] = True
        return batch.log.episodes()

    def episode(self, seed: int) -> Iterator[EpisodeStep]:
        """The steps of episode 0 of `seed`."""
        batch, only = Batch(self.world, seed, 0, 1), np.zeros(1, dtype=np.int64)
        batch.nodes[:] = self.graph.root
        for number in range(self.max_steps):
            belief = Belief(self.problem, self.graph.situation(int(batch.nodes[0])))
            step = self.step(batch, only, number)
            action = self.graph.table.actions[int(step.arcs.action[0])]
            observation = action.outcomes[int(step.observation[0])]
            yield EpisodeStep(number + 1, belief, action.name, observation, float(step.reward[0]))
            if step.ended[0]:
                return
            if self.graph.size > self._largest / 2:
                self._move(batch, only)

    def step(self, batch: Batch, episodes: Ids, number: int) -> Step:
        """Let `episodes` (k,) of `batch` take one action each, their `number`-th from 0 on."""
        before = self.graph.size
        nodes, log = batch.nodes[episodes], batch.log
        arcs = self.graph.taken(nodes, self._places(batch, nodes, episodes, number))
        self._added = max(self._added, (self.graph.size - before) / len(np.unique(nodes)))
        log.inform(episodes, arcs.information)
        observation, reward = np.zeros(len(episodes), dtype=np.int64), np.empty(len(episodes))
        for one, mine in self._actions.groups(arcs.action):
            self._fear(log, one, episodes[mine], nodes[mine])
            taken = batch.environment.take(one.action, episodes[mine])
            observation[mine], reward[mine] = one.places[taken.observation], taken.reward
            log.count(episodes[mine], one, taken)
        log.pay(episodes, reward, arcs.width > 1)
        ended = arcs.is_terminal
        self._end(batch, episodes[ended])
        on = np.flatnonzero(~ended)
        branch = arcs.branch[on] + observation[on]
        child = self.graph.child[branch]
        self._check_possible(arcs, on[(child < 0) & (self.graph.probability[branch] <= 0)], observation)
        ended = ended.copy()
        ended[on[child < 0]] = True
        batch.nodes[episodes[on[child >= 0]]] = child[child >= 0]
        return Step(arcs, observation, reward, ended)

    def _places(self, batch: Batch, nodes: Ids, episodes: Ids, number: int) -> Ids:
        """The place (k,) of the action taken at `nodes` (k,)."""
        if self.policy.samples:  # each episode with random numbers of its own
            seeds = [(batch.streams.entropy[episode], 1, number) for episode in episodes.tolist()]
            return self._policy.choose(nodes, seeds)[1]
        distinct, of = np.unique(nodes, return_inverse=True)
        row, place, chance = self._policy.choose(distinct)
        if len(row) == len(distinct):
            return place[of]
        order = np.lexsort((place, row))
        row, place, chance = row[order], place[order], chance[order]
        column = np.arange(len(row)) - np.searchsorted(row, row)
        shape = len(distinct), int(column.max()) + 1
        chances, places = np.zeros(shape), np.zeros(shape, dtype=np.int64)
        chances[row, column], places[row, column] = chance, place
        reached = np.cumsum(chances, axis=1)[of]
        drawn = (batch.streams.own(episodes, number)[:, None] >= reached / reached[:, -1:]).sum(axis=1)
        result: Ids = places[of, drawn]
        return result

    def _fear(self, log: EpisodeLog, one: WorldAction, episodes: Ids, nodes: Ids) -> None:
        """Note the least that an action could have paid, by what the agent believed."""
        if one.worst is None:
            return
        reward, chance = one.worst
        factor = one.action.factor
        log.fear(episodes, reward, self.graph.beliefs(nodes, factor)[:, self._state_places[factor]] * chance)

    def _end(self, batch: Batch, episodes: Ids) -> None:
        """Note how probable the final beliefs of `episodes` make the true diagnosis."""
        if episodes.size and self.problem.observes_then_commits:
            factor, true = self.problem.factors[0], self._state_places[0][batch.environment.states[episodes, 0]]
            held = factor.fold(self.graph.beliefs(batch.nodes[episodes]))
            with np.errstate(divide="ignore"):
                batch.log.log_score[episodes] = np.log(held[np.arange(len(episodes)), factor.groups[true]])

    def _check_possible(self, arcs: Arcs, places: Ids, observation: Ids) -> None:
        """Raise ImpossibleEvidence for an observation that the agent's model rules out."""
        for place in places.tolist():
            node, action = arcs.node[place : place + 1], self.graph.table.actions[int(arcs.action[place])]
            belief = self.graph.beliefs(node, action.factor)[0]
            raise impossible(self.problem, belief, action, action.outcomes[int(observation[place])])

    # -- size of the graph --------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        """Start with an empty graph."""
        self.graph = BeliefGraph(self.problem, budget=Budget(memory=self.settings.memory))
        self._policy = self.policy.on(self.graph)
        self._actions = WorldActions(self.problem, self.graph.table, self.world)
        pairs = zip(self.world.factors, self.problem.factors, strict=True)
        self._state_places = [np.array([mine.states.index(s) for s in theirs.states]) for theirs, mine in pairs]

    @property
    def _largest(self) -> float:
        """The most nodes that the graph may come to."""
        graph, settings = self.graph, self.settings
        meet = self.problem.observes_then_commits
        most_bytes = settings.most_bytes_meeting if meet else settings.most_bytes
        return min(np.inf if meet else settings.most_nodes, most_bytes * graph.size / graph.nbytes)

    def _fitting(self, episodes: Ids, nodes: Ids) -> tuple[Ids, Ids]:
        """Those of `episodes` for whose next step the graph has room, by what steps added so far; and the others."""
        distinct, place = np.unique(nodes[episodes], return_inverse=True)
        room = max(int(self._largest / (2 * self._added)), 1)
        if len(distinct) <= room:
            return episodes, episodes[:0]
        return episodes[place < room], episodes[place >= room]

    def _move(self, batch: Batch, episodes: Ids) -> None:
        """Replace the graph by one that holds only the beliefs of `episodes`."""
        old = self.graph
        distinct, of = np.unique(batch.nodes[episodes], return_inverse=True)
        self._begin()
        observables = [old.table.observables[number] for number in old.observable[distinct].tolist()]
        beliefs = tuple(old.beliefs(distinct, factor) for factor in range(len(self.problem.factors)))
        batch.nodes[episodes] = self.graph.nodes(observables, beliefs)[of]
