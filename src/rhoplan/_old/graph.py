"""The merged belief graph of a problem: every situation once, every arc once, whatever the agent.

Nodes are situations (visible state and one merged belief per hidden factor). An arc is an action that does not end
the episode: its reward, its information, and for each outcome a probability and the node it leads to. The graph knows
nothing of weights, horizons or discounts, so one graph serves every agent. It grows on demand.

Shapes: N nodes, M slots (actions that go on; how many depends on the visible state), O outcomes. Problems
that observe, then commit have their M and O from the start (`menu.known_width`); those of others can grow with the
graph, so arrays are read after expanding, not before.

Kept for the certified solver, advice, present, app and the paper; their rebuild deletes it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan._old.actions import ActionTable
from rhoplan._old.menu import VisibleMenu, known_width, most_nodes
from rhoplan._old.merging import Keys, RowIndex, distinct, grown, numbered, row_keys
from rhoplan._old.table import BeliefTable
from rhoplan._old.ties import choose
from rhoplan.belief_math.information import entropy, gain, predict
from rhoplan.errors import LimitError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids, Observable

UNKNOWN, ENDED = -2, -1
"""What an arc leads to before it is expanded, and where its outcome ends the episode (or cannot happen)."""

CHUNK_NUMBERS = 4_000_000
"""How many posterior probabilities are held at once while arcs are expanded: 32 MB."""

DEFAULT_NODE_LIMIT = 6_000_000


class Graph:
    """Situations of `problem` and how actions connect them; see the module's text.

    size: nodes so far. visible (N,), belief (N, F): ids of what each node consists of.
    next, probability (N, M, O); reward, information (N, M); known (N, M): whether the arc is expanded.
    stop_reward, stop_action (N,): the best ending action by expected reward; minus infinity and -1 where none ends.
    gains (N,): the most that rewards above zero can come to from a node on, for the tie rule; `ending_gains` and
    `stop_gains` are those that are there.
    """

    def __init__(
        self, problem: POMDP, *, permutations: Ids | None = None, node_limit: int = DEFAULT_NODE_LIMIT
    ) -> None:
        self.problem = problem
        self.node_limit = int(min(node_limit, most_nodes(problem)))
        self._limits = math.inf, math.inf  # when growing ends, and after how many seconds that is
        # Factors with equally many states share a table: beliefs are numbers, whatever they are about.
        # (Information is about diagnoses only where there is one factor.)
        shared = {len(factor.states): BeliefTable(permutations, factor) for factor in problem.factors}
        self.tables = tuple(shared[len(factor.states)] for factor in problem.factors)
        self.size = 0
        self.observables: list[Observable] = []
        self.menus: list[VisibleMenu] = []
        self.going: Ids = np.empty(0, dtype=np.int64)
        self._alike: Ids = np.empty(0, dtype=np.int64)
        self._first_alike: dict[tuple[tuple[int, bytes], ...], int] = {}
        self._offered = ActionTable()
        self._menu_actions: Ids = np.empty((0, 0), dtype=np.int64)
        self._action_target: Ids = np.empty((0, 0), dtype=np.int64)
        self._visible_ids: dict[Observable, int] = {}
        self._index = RowIndex()
        # What nodes are recognised by: the ids of the visible state and of the belief about each factor.
        self._held: Ids = np.empty((0, 1 + len(problem.factors)), dtype=np.int64)
        self.observable, self.belief = self._held[:, 0], self._held[:, 1:]
        self.stop_reward: Array = np.empty(0)
        self.stop_action: Ids = np.empty(0, dtype=np.int64)
        self.gains: Array = np.empty(0)
        self._allocate(0, 0)
        # Where all that can ever be offered is known, the width stays: what is read before growing fits after.
        self._widen(*known_width(problem))
        self.root = int(self.node(problem.belief()))

    # -- situations -----------------------------------------------------------------------------------------------

    def node(self, situation: Situation) -> int:
        """The node of `situation`, made if it is new."""
        beliefs = tuple(belief[None, :] for belief in situation.beliefs)
        return int(self.nodes([situation.observable], beliefs)[0])

    def nodes(
        self,
        observables: Sequence[Observable],
        beliefs: tuple[Array, ...],
    ) -> Ids:
        """The nodes (n,) of situations given as n visible states and one belief array (n, S) per factor."""
        observable = np.array([self._visible_id(observable) for observable in observables], dtype=np.int64)
        ids = [table.intern(held) for table, held in zip(self.tables, beliefs, strict=True)]
        return self._intern(np.stack([observable, *ids], axis=1))

    def situation(self, node: int) -> Situation:
        """The situation that `node` stands for."""
        beliefs = tuple(table.beliefs[i] for table, i in zip(self.tables, self.belief[node], strict=True))
        return Situation(self.problem, self.observables[self.observable[node]], beliefs)

    def beliefs(self, nodes: Ids, factor: int = 0) -> Array:
        """Beliefs (n, S) about one factor at `nodes`."""
        result: Array = self.tables[factor].beliefs[self.belief[nodes, factor]]
        return result

    @property
    def node_bytes(self) -> int:
        """Memory that a node takes: its arcs, and its beliefs where no other node has them."""
        _, slots, outcomes = self.next.shape
        arcs = slots * outcomes * (self.next.itemsize + self.probability.itemsize)
        return int(arcs + 17 * slots + 16 * sum(len(factor.states) for factor in self.problem.factors))

    def by_visible(self, nodes: Ids) -> list[tuple[int, Ids]]:
        """Positions within `nodes` that share a visible state, one pair per visible state."""
        if len(self.observables) == 1:
            return [(0, np.arange(len(nodes)))]
        observable = self.observable[nodes]
        return [(v, (observable == v).nonzero()[0]) for v in distinct(observable, len(self.observables)).tolist()]

    def by_endings(self, nodes: Ids) -> list[tuple[int, Ids]]:
        """Positions within `nodes` whose ending actions are alike, each with one visible state that offers them."""
        if len(self.observables) == 1:
            return [(0, np.arange(len(nodes)))]
        alike = self._alike[self.observable[nodes]]
        return [(v, (alike == v).nonzero()[0]) for v in distinct(alike, len(self.observables)).tolist()]

    def ending_rewards(self, nodes: Ids, observable: int) -> Array:
        """Expected reward (n, E) of each ending action at `nodes`, which share one visible state."""
        return self._endings(nodes, observable, gains_only=False)

    def ending_gains(self, nodes: Ids, observable: int) -> Array:
        """What (n, E) `ending_rewards` are without losses: the states that each ending action gains in."""
        return self._endings(nodes, observable, gains_only=True)

    def stop_gains(self, nodes: Ids) -> Array:
        """The gains (n,) in `stop_reward` at `nodes`; 0 where none ends."""
        result = np.zeros(len(nodes))
        for observable, positions in self.by_endings(nodes):
            if self.menus[observable].ending:
                chosen = nodes[positions]
                gains = self.ending_gains(chosen, observable)
                result[positions] = gains[np.arange(len(chosen)), self.stop_action[chosen]]
        return result

    def going_gains(self, nodes: Ids) -> Array:
        """What (n, M) `reward` is at `nodes` without losses."""
        result = np.maximum(self.reward[nodes], 0.0)
        rows, slots = np.nonzero(self.known[nodes])
        depends = self.depends(nodes[rows], slots)
        rows, slots = rows[depends], slots[depends]
        for action, factor, places in self.kernels(nodes[rows], slots):
            held = self.beliefs(nodes[rows[places]], factor)
            result[rows[places], slots[places]] = held @ np.maximum(action.reward, 0.0)
        return result

    def _endings(self, nodes: Ids, observable: int, *, gains_only: bool) -> Array:
        menu = self.menus[observable]
        result = np.empty((len(nodes), len(menu.ending)))
        for factor, columns, rewards in menu.ending_rewards:
            result[:, columns] = self.beliefs(nodes, factor) @ (np.maximum(rewards, 0.0) if gains_only else rewards)
        return result

    def matters(self, nodes: Ids, mass: Array, least: float) -> NDArray[np.bool_]:
        """Whether (n,) the share `mass` (n,) of cases at `nodes` matters: to counts, or to values as at the root.

        A share below `least` can still matter where what is at stake is so much larger than at the root.
        """
        if mass.min(initial=1.0) > least:
            return np.ones(len(mass), dtype=bool)
        ends = np.append(nodes, self.root)
        stop = self.stop_reward[ends]
        held = np.where(np.isfinite(stop), np.abs(stop), 0.0)
        stake = held[:-1] + 2 * self.gains[nodes]
        # What is at stake at the root is what ending there is made of: prizes that nobody would play for do not count.
        whole = held[-1] + 2 * self.stop_gains(ends[-1:])[0] or 2 * self.gains[self.root]
        result: NDArray[np.bool_] = (mass > least) | (mass * stake > least * whole)
        return result

    def is_test(self, nodes: Ids, slots: Ids) -> NDArray[np.bool_]:
        """Whether (m,) the actions taken at `nodes` (m,) are tests."""
        result: NDArray[np.bool_] = self._offered.tests[self._menu_actions[self.observable[nodes], slots]]
        return result

    def depends(self, nodes: Ids, slots: Ids) -> NDArray[np.bool_]:
        """Whether (m,) what actions taken at `nodes` (m,) pay depends on the hidden state, or on chance."""
        result: NDArray[np.bool_] = self._offered.depends[self._menu_actions[self.observable[nodes], slots]]
        return result

    def kernels(self, nodes: Ids, slots: Ids) -> Iterator[tuple[Action, int, Ids]]:
        """Actions taken at `nodes` (m,) that have the same numbers and concern one factor, with the places (k,).

        An action that stands for them: its name and where it leads mean nothing.
        """
        actions = self._menu_actions[self.observable[nodes], slots]
        codes = self._offered.kernel[actions] * len(self.tables) + self._offered.factor[actions]
        for code in np.unique(codes).tolist():
            kernel, factor = divmod(code, len(self.tables))
            yield self._offered.kernels[kernel], factor, np.flatnonzero(codes == code)

    @contextmanager
    def limited(self, nodes: float, seconds: float = math.inf, *, share: float = 1.0) -> Iterator[None]:
        """Within this block the graph may not grow beyond `nodes` or what it is already, or `share` of seconds."""
        before = self.node_limit, self._limits
        self.node_limit = int(min(self.node_limit, max(self.size, nodes)))
        self._limits = min(self._limits, (time.monotonic() + share * seconds, seconds))
        try:
            yield
        finally:
            self.node_limit, self._limits = before

    def continued(self, nodes: Ids) -> tuple[Graph, Ids]:
        """A new graph that holds only `nodes` (and the root), and their numbers there."""
        fresh = Graph(self.problem, node_limit=self.node_limit)
        beliefs = tuple(self.beliefs(nodes, factor) for factor in range(len(self.tables)))
        return fresh, fresh.nodes([self.observables[observable] for observable in self.observable[nodes]], beliefs)

    # -- growing --------------------------------------------------------------------------------------------------

    def expand(self, nodes: Ids, slots: NDArray[np.bool_] | None = None) -> None:
        """Make every arc of `nodes` known; with `slots` (n, M), only those marked."""
        wanted = ~self.known[nodes] if slots is None else slots & ~self.known[nodes]
        wanted &= np.arange(wanted.shape[1]) < self.going[self.observable[nodes]][:, None]
        rows, columns = np.nonzero(wanted)
        if not rows.size:
            return
        sources = nodes[rows]
        actions = self._menu_actions[self.observable[sources], columns]
        kernels = self._offered.kernel[actions]
        order = np.argsort(kernels, kind="stable")
        ends = (np.flatnonzero(np.diff(kernels[order])) + 1).tolist()
        for first, last in pairwise([0, *ends, len(order)]):
            part = order[first:last]
            kernel = self._offered.kernels[kernels[part[0]]]
            step = max(1, CHUNK_NUMBERS // kernel.likelihood.size)
            for start in range(0, len(part), step):
                chunk = part[start : start + step]
                self._expand_chunk(kernel, sources[chunk], columns[chunk], actions[chunk])

    def _expand_chunk(self, kernel: Action, nodes: Ids, slots: Ids, actions: Ids) -> None:
        """Fill arcs whose actions have the numbers of `kernel`, whatever factor they concern and wherever they lead."""
        table, outcomes = self.tables[kernel.factor], len(kernel.outcomes)
        factors = self._offered.factor[actions]
        ids = self.belief[nodes, factors]
        single, place = (ids, slice(None)) if len(self.tables) == 1 else numbered(ids, table.size)
        probability, after = table.follow(single, kernel)
        possible = after >= 0
        beliefs = table.beliefs[single]
        if kernel.transition is None:
            before = table.entropy[single]
        else:
            before = entropy(self.problem.factors[kernel.factor].about(predict(beliefs, kernel)))
        targets = self._targets(actions, outcomes)
        self.information[nodes, slots] = gain(before, probability, table.entropy[after] * possible)[place]
        # Beliefs sum to 1 up to their last digit; a price is exact.
        fixed = kernel.same_reward
        self.reward[nodes, slots] = (beliefs @ kernel.reward)[place] if fixed is None else fixed
        self.probability[nodes, slots, :outcomes] = probability[place]
        goes_on = possible[place] & (targets >= 0)
        rows = np.empty((len(nodes), outcomes, 1 + len(self.tables)), dtype=np.int64)
        rows[..., 0] = targets
        rows[..., 1:] = self.belief[nodes][:, None, :]
        rows[np.arange(len(nodes))[:, None], np.arange(outcomes), 1 + factors[:, None]] = after[place]
        leads_to = np.full((len(nodes), outcomes), ENDED, dtype=np.int32)
        leads_to[goes_on] = self._intern(rows[goes_on])
        self.next[nodes, slots, :outcomes] = leads_to
        self.known[nodes, slots] = True

    def _targets(self, actions: Ids, outcomes: int) -> Ids:
        """Visible id (n, O) that each outcome of `actions` leads to, -1 where the episode ends."""
        unknown = self._action_target[actions, 0] == UNKNOWN
        for action in distinct(actions[unknown], len(self._offered.actions)).tolist() if unknown.any() else ():
            leads_to = self._offered.actions[action].leads_to
            self._action_target[action, : len(leads_to)] = [-1 if v is END else self._visible_id(v) for v in leads_to]
        return self._action_target[actions, :outcomes]

    def _intern(self, rows: Ids) -> Ids:
        self._index.limit = self.node_limit
        if time.monotonic() > self._limits[0]:
            raise LimitError(
                f"this takes longer than {self._limits[1]:g} seconds, the limit; shorten the horizon", code="time-limit"
            )
        try:
            ids, fresh = self._index.identify(row_keys(rows.view(np.uint64)), rows.view(np.uint64), self._rows)
        except OverflowError:
            raise LimitError(
                f"'{self.problem.name}' needs more than {self.node_limit:,} situations for this: "
                "shorten the horizon, or score it by `rhoplan simulate`",
                code="node-limit",
            ) from None
        if fresh.size:
            start, self.size = self.size, self.size + len(fresh)
            self._held = grown(self._held, self.size, 0)
            self._held[start : self.size] = rows[fresh]
            self.observable, self.belief = self._held[:, 0], self._held[:, 1:]
            self._allocate(self.size, self.known.shape[1])
            self._set_stops(np.arange(start, self.size))
        return ids

    def _rows(self, nodes: Ids) -> Keys:
        return self._held[nodes].view(np.uint64)

    @cached_property
    def gains_by_state(self) -> Array | None:
        """The largest reward (S,) of a terminal action in each state, at least 0; None if not known everywhere."""
        if not self.problem.observes_then_commits:
            return None
        best: Array = np.maximum(np.max([commit.reward for commit in self.problem.commits], axis=0), 0.0)
        return best

    def _set_stops(self, nodes: Ids) -> None:
        self.stop_reward = grown(self.stop_reward, self.size, -np.inf)
        self.stop_action = grown(self.stop_action, self.size, -1)
        # Where the hidden state may change, or what can be had depends on the place, no belief bounds what is to come.
        per_state = self.gains_by_state
        self.gains = grown(self.gains, self.size, self.problem.reward_scale if per_state is None else 0.0)
        step = max(1, CHUNK_NUMBERS // max(len(factor.states) for factor in self.problem.factors))
        for start in range(0, len(nodes), step):
            part = nodes[start : start + step]
            for observable, positions in self.by_endings(part):
                if self.menus[observable].ending:
                    chosen = part[positions]
                    rewards = self.ending_rewards(chosen, observable)
                    if per_state is not None:
                        self.gains[chosen] = self.beliefs(chosen) @ per_state

                    def exactly(rows: Ids, chosen: Ids = chosen, observable: int = observable) -> Array:
                        return self.ending_gains(chosen[rows], observable)

                    self.stop_action[chosen] = choose(rewards, self.gains[chosen], exactly)
                    self.stop_reward[chosen] = rewards.max(axis=1)

    def _visible_id(self, observable: Observable) -> int:
        number = self._visible_ids.get(observable)
        return self._add_visible(observable) if number is None else number

    def _add_visible(self, observable: Observable) -> int:
        menu = VisibleMenu(self.problem.menu(observable))
        number = self._visible_ids[observable] = len(self.observables)
        self.observables.append(observable)
        self.menus.append(menu)
        going = len(menu.going)
        outcomes = max([len(action.outcomes) for action in menu.going], default=0)
        if going > self.known.shape[1] or outcomes > self.next.shape[2]:
            self._widen(max(going, self.known.shape[1]), max(outcomes, self.next.shape[2]))
        self.going = grown(self.going, number + 1, 0)
        self._menu_actions = grown(self._menu_actions, number + 1, -1)
        self._alike = grown(self._alike, number + 1, -1)
        self.going[number] = going
        self._menu_actions[number, :going] = self._offered.add(menu.going)
        self._action_target = grown(self._action_target, len(self._offered.actions), UNKNOWN)
        endings = tuple((action.factor, action.reward.tobytes()) for action in menu.ending)
        self._alike[number] = self._first_alike.setdefault(endings, number)
        return number

    def _allocate(self, rows: int, slots: int) -> None:
        if not hasattr(self, "known"):
            self.next: NDArray[np.int32] = np.empty((0, slots, 0), dtype=np.int32)
            self.probability: Array = np.empty((0, slots, 0))
            self.reward: Array = np.empty((0, slots))
            self.information: Array = np.empty((0, slots))
            self.known: NDArray[np.bool_] = np.empty((0, slots), dtype=bool)
        self.next = grown(self.next, rows, UNKNOWN)
        self.probability = grown(self.probability, rows, 0.0)
        self.reward = grown(self.reward, rows, -np.inf)
        self.information = grown(self.information, rows, 0.0)
        self.known = grown(self.known, rows, False)

    def _widen(self, slots: int, outcomes: int) -> None:
        old = self.next, self.probability, self.reward, self.information, self.known
        rows, had, wide = old[0].shape
        self.next = np.full((rows, slots, outcomes), UNKNOWN, dtype=np.int32)
        self.probability = np.zeros((rows, slots, outcomes))
        self.reward = np.full((rows, slots), -np.inf)
        self.information = np.zeros((rows, slots))
        self.known = np.zeros((rows, slots), dtype=bool)
        self._menu_actions = _wider(self._menu_actions, slots, -1)
        self._action_target = _wider(self._action_target, outcomes, UNKNOWN)
        self.next[:, :had, :wide] = old[0]
        self.probability[:, :had, :wide] = old[1]
        self.reward[:, :had], self.information[:, :had], self.known[:, :had] = old[2:]


def _wider(array: Ids, columns: int, fill: int) -> Ids:
    larger = np.full((len(array), columns), fill, dtype=array.dtype)
    larger[:, : array.shape[1]] = array
    return larger


def shared_graph(problem: POMDP) -> Graph:
    """The graph of `problem` that every planner and evaluation in this process uses and extends."""
    graph = problem.__dict__.get("_graph")
    if graph is None:
        graph = problem.__dict__["_graph"] = Graph(problem)
    assert isinstance(graph, Graph)
    return graph
