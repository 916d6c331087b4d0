"""Episodes of a policy, many in step: beliefs are nodes of a belief graph, hidden states are the environment's.

All episodes of a batch take one action per step. The policy decides once at each belief, however many episodes meet
there. Where the graph becomes too large, the episodes move on to a new one that holds only their current beliefs.

Shapes: n episodes of a batch, k of them that take an action, S hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rhoplan.budget import Budget
from rhoplan.errors import LimitError
from rhoplan.evaluation.criteria import Counted, optimal_states
from rhoplan.evaluation.environment import Environment
from rhoplan.evaluation.episodes import Episodes, EpisodeStep
from rhoplan.evaluation.occupancy import check_possible
from rhoplan.evaluation.streams import Streams
from rhoplan.graph.belief_graph import Arcs, BeliefGraph
from rhoplan.model.horizon import has_commits
from rhoplan.model.pomdp import POMDP, Action, Array, Ids
from rhoplan.planning.policy import Policy

BYTES_PER_PROBABILITY = 64
"""Memory that the belief of one episode takes for each hidden state: a few copies of 8 bytes."""


@dataclass(frozen=True)
class RolloutSettings:
    """Limits of a simulation; they change no result.

    batch: episodes that go in step: enough to share the cost of a step, few enough to keep every core busy. memory:
    bytes that a belief graph may take; beyond half of it, episodes move on to a new one. negligible: probability below
    which a state does not count as possible when the worst that an action can pay is determined.
    """

    batch: int = 5_000
    memory: float = 1e9
    negligible: float = 1e-12

    def batch_for(self, problem: POMDP) -> int:
        """Episodes in a batch: fewer where beliefs are long."""
        states = max(len(factor.states) for factor in problem.factors)
        return max(1, min(self.batch, int(self.memory / 4 / (BYTES_PER_PROBABILITY * states))))


class Batch:
    """The episodes `first` to `last` (not included) of `seed`: random numbers, hidden states, beliefs and results."""

    def __init__(self, world: POMDP, root: int, seed: int, first: int, last: int) -> None:
        self.streams = Streams(world, seed, first, last)
        self.environment = Environment(self.streams.states, self.streams.uniforms)
        self.rows = Episodes.blank(last - first, world.tallies)
        self.nodes: Ids = np.full(last - first, root)


class Step(NamedTuple):
    """What k episodes did: the arcs of the graph that they took, observations, rewards, and which of them ended."""

    arcs: Arcs
    observation: Ids
    reward: Array
    ended: NDArray[np.bool_]


@dataclass(eq=False)
class Rollout:
    """`policy`, which believes in `problem`, followed in `world` for at most `max_steps` actions.

    world: `problem` itself, or the true model with names in the order of the problem's.
    """

    problem: POMDP
    policy: Policy
    world: POMDP
    max_steps: int
    settings: RolloutSettings = field(default_factory=RolloutSettings)

    def __post_init__(self) -> None:
        self._start_graph()

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes make graphs of their own."""
        return Rollout, (self.problem, self.policy, self.world, self.max_steps, self.settings)

    def episodes(self, seed: int, first: int, last: int) -> Episodes:
        """Episodes `first` to `last` (not included) of `seed`."""
        batch = Batch(self.world, self.graph.root, seed, first, last)
        active, most = np.arange(last - first), last - first
        for number in range(self.max_steps):
            going = [active[:0]]
            while active.size:
                part = active[:most]
                try:
                    going.append(part[~self.step(batch, part, number).ended])
                    active = active[most:]
                except LimitError:  # the decisions of so many episodes do not fit into one graph
                    if len(part) == 1:
                        raise
                    most = len(part) // 2
                self._limit_graph(batch, np.concatenate([active, *going]))
            active = np.concatenate(going)
            if not active.size:
                break
        self._end(batch, active)
        batch.rows.truncated[active] = True
        return batch.rows.completed(has_success=len(self.problem.factors) == 1 and has_commits(self.problem))

    def episode(self, seed: int) -> Iterator[EpisodeStep]:
        """The steps of episode 0 of `seed`."""
        batch, only = Batch(self.world, self.graph.root, seed, 0, 1), np.zeros(1, dtype=np.int64)
        for number in range(self.max_steps):
            belief = self.graph.situation(int(batch.nodes[0]))
            step = self.step(batch, only, number)
            action = self.graph.table.actions[int(step.arcs.action[0])]
            observation = action.outcomes[int(step.observation[0])]
            yield EpisodeStep(number + 1, belief, action.name, observation, float(step.reward[0]))
            if step.ended[0]:
                return
            self._limit_graph(batch, only)

    def step(self, batch: Batch, episodes: Ids, number: int) -> Step:
        """Let `episodes` (k,) of `batch` take one action each, their `number`-th from 0 on.

        LimitError if the graph becomes too large; the step can then be repeated with fewer episodes or a new graph.
        """
        graph, nodes = self.graph, batch.nodes[episodes]
        arcs = graph.taken(nodes, self._places(batch, nodes, episodes, number))
        actions = self._world_actions(arcs)
        before, observation = np.zeros((2, len(episodes)), dtype=np.int64)
        reward = np.empty(len(episodes))
        for action, factor, mine in self._truth.kernels(actions):
            taken = batch.environment.take(action, factor, episodes[mine])
            before[mine], observation[mine], reward[mine] = taken
            if arcs.is_terminal[mine].any() or action.same_reward is None or action.pays is not None:
                beliefs = graph.beliefs(nodes[mine], factor)
                batch.rows.add_worst(episodes[mine], *self._worst(action, beliefs))
        time = self.world.time_taken(batch.rows.steps[episodes])
        batch.rows.add_step(episodes, reward, arcs, np.power(float(self.world.discount), time))
        for name, counted in self._counted.items():
            batch.rows.tallies[name][episodes] += counted.realised(actions, before, observation)
        ends = np.flatnonzero(arcs.is_terminal)
        for _, optimal, mine in optimal_states(self._truth.table, actions[ends]):
            batch.rows.success[episodes[ends[mine]]] = optimal[before[ends[mine]]]
        self._end(batch, episodes[ends])
        on = np.flatnonzero(~arcs.is_terminal)
        child = graph.child[arcs.branch[on] + observation[on]]
        check_possible(graph, arcs, on[child < 0], observation[on[child < 0]])
        ended = arcs.is_terminal
        ended[on] = child < 0
        batch.nodes[episodes[~ended]] = child[child >= 0]
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

    def _world_actions(self, arcs: Arcs) -> Ids:
        """The number (k,) in the world's table of the action of each of `arcs` (k,)."""
        if self._truth is self.graph:
            return arcs.action
        distinct, of = np.unique(self.graph.observable[arcs.node], return_inverse=True)
        observables = [self.graph.table.observables[number] for number in distinct.tolist()]
        numbers = np.array([self._truth.table.observable_id(observable) for observable in observables])
        result: Ids = self._truth.table.first[numbers[of]] + arcs.place
        return result

    def _worst(self, action: Action, beliefs: Array) -> tuple[Array, Array]:
        """The least (k,) that `action` can pay by what the agent believes (k, S), and its probability (k,)."""
        payments = action.pays_by_chance
        chances = beliefs if payments is None else beliefs * payments.worst_chance
        least = np.where(chances > self.settings.negligible, action.worst, np.inf).min(axis=1)
        return least, np.where(action.worst <= least[:, None], chances, 0.0).sum(axis=1)

    def _end(self, batch: Batch, episodes: Ids) -> None:
        """Note how probable the final beliefs of `episodes` make the true diagnosis."""
        if episodes.size and self.problem.observes_then_commits:
            factor, true = self.problem.factors[0], batch.environment.states[episodes, 0]
            held = factor.fold(self.graph.beliefs(batch.nodes[episodes]))
            with np.errstate(divide="ignore"):
                batch.rows.log_score[episodes] = np.log(held[np.arange(len(episodes)), factor.groups[true]])

    def _start_graph(self) -> None:
        """Start with an empty graph."""
        self.graph = BeliefGraph(self.problem, budget=Budget(memory=self.settings.memory))
        self._policy = self.policy.on(self.graph)
        self._truth = self.graph if self.world is self.problem else BeliefGraph(self.world)
        self._counted = {name: Counted(tally, self._truth) for name, tally in self.world.tallies.items()}

    def _limit_graph(self, batch: Batch, episodes: Ids) -> None:
        """If the graph is large, replace it by one that holds only the beliefs of `episodes`."""
        old = self.graph
        if old.nbytes <= self.settings.memory / 2:
            return
        distinct, of = np.unique(batch.nodes[episodes], return_inverse=True)
        self._start_graph()
        observables = [old.table.observables[number] for number in old.observable[distinct].tolist()]
        beliefs = tuple(old.beliefs(distinct, factor) for factor in range(len(self.problem.factors)))
        batch.nodes[episodes] = self.graph.nodes(observables, beliefs)[of]
