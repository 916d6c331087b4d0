"""The belief graph of a problem in compressed rows: every belief once, with its actions and their outcomes.

A node is an observable state with one belief id per hidden factor. Its arcs are the actions that it offers: terminal
actions first, then the others, as `ActionTable` numbers them. The branches of an arc are its outcomes, each with a
probability and a child. Arcs and branches of a node are ranges of flat arrays. The graph knows no weights, horizons or
discounts, so one graph serves every agent. It grows on demand; the code that made it owns it.

Terminal actions need no branches, and a problem can have very many of them: their rewards are computed from beliefs
when they are read; only the best one is stored at each node.

Shapes: N nodes, n nodes of a batch, m arcs of a batch, O outcomes, F factors, S hidden states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.information import entropy, gain, information, predict, update
from rhoplan.budget import Budget
from rhoplan.graph.action_table import ENDED, ActionTable
from rhoplan.graph.belief_set import BeliefSet, Canonical
from rhoplan.graph.row_index import Keys, RowIndex, extend, numbered, spans
from rhoplan.graph.ties import first_best
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Action, Array, Ids, Observable

CHUNK = 1 << 20
"""Numbers in one temporary array while the graph grows or is read: 8 MB."""


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs of a batch of nodes, those of one node together.

    start (n,): where the arcs of each node begin. owner (m,): position of the arc's node in the batch. node, action,
    place (m,). reward, absolute (m,): expected reward, and expected absolute reward. information (m,): in nats.
    branch (m,): the first branch in the graph's arrays. width (m,): number of branches; 0 for terminal actions.
    """

    start: Ids
    owner: Ids
    node: Ids
    action: Ids
    place: Ids
    reward: Array
    absolute: Array
    information: Array
    branch: Ids
    width: Ids

    @property
    def is_terminal(self) -> NDArray[np.bool_]:
        result: NDArray[np.bool_] = self.width == 0
        return result


class BeliefGraph:
    """Beliefs of `problem` and how actions connect them; see the module.

    table: the actions. size: number of nodes. observable (N,), belief (N, F): ids of what nodes consist of.
    stop_reward, stop_absolute, stop_place (N,): the best terminal action by expected reward; 0, 0 and -1 if none.
    probability, child: of all branches; a child of -1 ends the episode or cannot happen.
    canonical: representatives of symmetric beliefs (see `BeliefSet`). budget: limits on growth.
    Arrays have spare room at their ends and are replaced when the graph grows: read them after `expand`.
    """

    def __init__(self, problem: POMDP, *, canonical: Canonical | None = None, budget: Budget | None = None) -> None:
        self.problem, self.budget = problem, budget or Budget()
        self.table = ActionTable(problem)
        # Factors with equally many states share a set: information is about diagnoses only if there is one factor.
        sets = {len(f.states): BeliefSet(len(f.states), measured=f.about, canonical=canonical) for f in problem.factors}
        self.sets = tuple(sets[len(factor.states)] for factor in problem.factors)
        self._different_sets = tuple(sets.values())
        self._states = max(sets)
        # Two 32-bit ids make one 64-bit integer of a row.
        self._held: NDArray[np.int32] = np.empty((0, (2 + len(problem.factors)) // 2 * 2), dtype=np.int32)
        self._index = RowIndex(self._rows)
        self.stop_reward, self.stop_absolute, self._reward, self._absolute, self._information = (np.empty(0),) * 5
        self.stop_place: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._first_arc, self._first_branch = (np.empty(0, dtype=np.int64),) * 2
        self._complete = np.empty(0, dtype=bool)
        self._arc_count = self._branch_count = 0
        self.probability: Array = np.empty(0)
        self.child: NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self.root = int(self.nodes([problem.start], tuple(factor.prior[None] for factor in problem.factors))[0])

    def _rows(self, nodes: Ids) -> Keys:
        return self._held[nodes].view(np.uint64)

    @property
    def size(self) -> int:
        return self._index.size

    @property
    def observable(self) -> NDArray[np.int32]:
        return self._held[: self.size, 0]

    @property
    def belief(self) -> NDArray[np.int32]:
        return self._held[: self.size, 1 : 1 + len(self.sets)]

    @property
    def nbytes(self) -> int:
        """Memory that the graph takes, in bytes."""
        arrays = (self._held, self.stop_reward, self.stop_absolute, self.stop_place, self._first_arc,
                  self._first_branch, self._complete, self._reward, self._absolute, self._information,
                  self.probability, self.child)  # fmt: skip
        sets = sum(beliefs.nbytes for beliefs in self._different_sets)
        return self._index.nbytes + sets + sum(array.nbytes for array in arrays)

    # -- nodes ----------------------------------------------------------------------------------------------------

    def nodes(self, observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Ids:
        """The nodes (n,) of n observable states with one array of beliefs (n, S) per factor, added if they are new."""
        rows = np.zeros((len(observables), self._held.shape[1]), dtype=np.int32)
        rows[:, 0] = [self.table.observable_id(observable) for observable in observables]
        for factor, held in enumerate(beliefs):
            rows[:, 1 + factor] = self.sets[factor].intern(held)
        return self._intern(rows)

    def beliefs(self, nodes: Ids, factor: int = 0) -> Array:
        """Beliefs (n, S) about one factor at `nodes`."""
        result: Array = self.sets[factor].beliefs[self._held[nodes, 1 + factor]]
        return result

    def situation(self, node: int) -> Belief:
        """Observable state and beliefs at `node`."""
        beliefs = tuple(self.beliefs(np.array([node]), factor)[0] for factor in range(len(self.sets)))
        return Belief(self.problem, self.table.observables[self._held[node, 0]], beliefs)

    def entropy(self, nodes: Ids) -> Array:
        """The sum (n,) of the entropies of the beliefs about all factors, in nats."""
        total = np.zeros(len(nodes))
        for factor, beliefs in enumerate(self.sets):
            total += beliefs.entropy[self._held[nodes, 1 + factor]]
        return total

    def action(self, node: int, place: int) -> Action:
        """The action of `node` at `place`."""
        return self.table.actions[int(self.table.first[self._held[node, 0]]) + place]

    # -- arcs -----------------------------------------------------------------------------------------------------

    def arcs(self, nodes: Ids, *, every_terminal: bool = False) -> Arcs:
        """The arcs of `nodes`, which must be expanded; of terminal actions the best one only, or every one."""
        table, observable = self.table, self._held[nodes, 0]
        terminal_count = table.terminal_count[observable]
        ended = terminal_count if every_terminal else np.minimum(terminal_count, 1)
        count = table.count[observable] - terminal_count + ended
        start = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(nodes)), count)
        place = np.arange(len(owner)) - start[owner]
        if not every_terminal:
            place += (terminal_count - ended)[owner]
            first = start[ended > 0]
            place[first] = self.stop_place[nodes[owner[first]]]
        return self._arcs(start, owner, nodes[owner], place, only_best=not every_terminal)

    def taken(self, nodes: Ids, places: Ids) -> Arcs:
        """One arc of each of `nodes` (n,), at `places` (n,); those that are not known yet are added to the graph."""
        self.expand(nodes, places)
        every = np.arange(len(nodes))
        return self._arcs(every, every, nodes, places, only_best=False)

    def terminal_arcs(self, nodes: Ids) -> Arcs:
        """All terminal arcs of `nodes`, which need not be expanded; each must have one."""
        count = self.table.terminal_count[self._held[nodes, 0]]
        start = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(nodes)), count)
        return self._arcs(start, owner, nodes[owner], np.arange(len(owner)) - start[owner], only_best=False)

    def kernels(self, actions: Ids) -> Iterator[tuple[Action, int, Ids]]:
        """Groups of actions (m,) that have equal numbers and concern one factor: an action, the factor, positions.

        The name and the targets of the action mean nothing.
        """
        for code, positions in groups(self.table.kernel[actions] * len(self.sets) + self.table.factor[actions]):
            kernel, factor = divmod(code, len(self.sets))
            yield self.table.kernels[kernel], factor, positions

    def _arcs(self, start: Ids, owner: Ids, node: Ids, place: Ids, *, only_best: bool) -> Arcs:
        table, observable = self.table, self._held[node, 0]
        action = table.first[observable] + place
        at = place - table.terminal_count[observable]
        ends, goes = np.flatnonzero(at < 0), np.flatnonzero(at >= 0)
        reward, absolute, gained = np.empty(len(node)), np.empty(len(node)), np.zeros(len(node))
        arc = self._first_arc[node[goes]] + at[goes]
        reward[goes], absolute[goes], gained[goes] = self._reward[arc], self._absolute[arc], self._information[arc]
        if only_best:
            reward[ends], absolute[ends] = self.stop_reward[node[ends]], self.stop_absolute[node[ends]]
        if not only_best or table.has_informative_terminals:
            for kernel, factor, positions in self.kernels(action[ends]):
                mine = ends[positions]
                beliefs = self.beliefs(node[mine], factor)
                reward[mine], absolute[mine] = beliefs @ kernel.reward, beliefs @ np.abs(kernel.reward)
                if len(kernel.outcomes) > 1:
                    gained[mine] = information(beliefs, kernel, self.problem.factors[factor])
        branch = self._first_branch[node] + table.branch_offset[action]
        return Arcs(start, owner, node, action, place, reward, absolute, gained, branch, table.outcomes[action])

    def branches(self, arcs: Arcs) -> Ids:
        """The branches of `arcs`, one arc after the other."""
        return spans(arcs.branch, arcs.width)

    def children(self, nodes: Ids) -> Ids:
        """The distinct nodes that follow `nodes`, which must be expanded."""
        count = self.table.branches[self._held[nodes, 0]]
        there = np.zeros(self.size + 1, dtype=bool)
        for part in chunks(count):
            there[self.child[spans(self._first_branch[nodes[part]], count[part])]] = True
        found: Ids = np.flatnonzero(there[:-1])  # a child of -1 has marked the last place
        return found

    # -- growth ---------------------------------------------------------------------------------------------------

    def expand(self, nodes: Ids, places: Ids | None = None) -> None:
        """Add all arcs of `nodes`; with `places` (n,), only one of each node."""
        table, incomplete = self.table, np.flatnonzero(~self._complete[nodes])
        if not incomplete.size:
            return
        nodes, places = nodes[incomplete], None if places is None else places[incomplete]
        self._allocate(numbered(nodes[self._first_arc[nodes] < 0], self.size)[0])
        observable = self._held[nodes, 0]
        first, terminal = table.first[observable], table.terminal_count[observable]
        if places is None:
            count = table.count[observable] - terminal
            self._fill(np.repeat(nodes, count), spans(first + terminal, count))
            self._complete[nodes] = True
            return
        at = places - terminal
        going = np.flatnonzero(at >= 0)
        unknown = going[np.isnan(self._reward[self._first_arc[nodes[going]] + at[going]])]
        self._fill(nodes[unknown], first[unknown] + places[unknown])

    def _allocate(self, nodes: Ids) -> None:
        """Make room for the arcs and branches of new nodes."""
        observable = self._held[nodes, 0]
        arcs = self.table.count[observable] - self.table.terminal_count[observable]
        branches = self.table.branches[observable]
        self._first_arc[nodes] = self._arc_count + np.cumsum(arcs) - arcs
        self._first_branch[nodes] = self._branch_count + np.cumsum(branches) - branches
        before, self._arc_count = self._arc_count, self._arc_count + int(arcs.sum())
        extend(self, before, self._arc_count, _reward=np.nan, _absolute=0.0, _information=0.0)
        before, self._branch_count = self._branch_count, self._branch_count + int(branches.sum())
        extend(self, before, self._branch_count, probability=0.0, child=ENDED)

    def _fill(self, nodes: Ids, actions: Ids) -> None:
        """Compute the arcs of `nodes` (m,) by non-terminal actions (m,)."""
        for part in chunks(self.table.outcomes[actions] * self._states):
            self.budget.check(self.size, self.nbytes)
            self._fill_chunk(nodes[part], actions[part])

    def _fill_chunk(self, nodes: Ids, actions: Ids) -> None:
        table, held = self.table, self._held[nodes]
        place = actions - table.first[held[:, 0]] - table.terminal_count[held[:, 0]]
        arcs, width = self._first_arc[nodes] + place, table.outcomes[actions]
        branches = self._first_branch[nodes] + table.branch_offset[actions]
        begin = np.cumsum(width) - width
        probability, after = np.empty(int(width.sum())), np.empty(int(width.sum()), dtype=np.int64)
        factors = table.factor[actions]
        for number, mine in groups(table.kernel[actions]):
            kernel = table.kernels[number]
            ids, of = numbered(held[mine, 1 + factors[mine]].astype(np.int64), self.sets[kernel.factor].size)
            chance, later, values = self._follow(kernel, ids)
            flat = begin[mine][:, None] + np.arange(len(kernel.outcomes))
            probability[flat], after[flat] = chance[of], later[of]
            self._reward[arcs[mine]], self._absolute[arcs[mine]], self._information[arcs[mine]] = values[:, of]
        branch, owner = spans(branches, width), np.repeat(np.arange(len(nodes)), width)
        self.probability[branch] = probability
        target = table.targets(actions)
        goes = np.flatnonzero((after >= 0) & (target >= 0))
        rows = held[owner[goes]]
        rows[:, 0] = target[goes]
        rows[np.arange(len(goes)), 1 + factors[owner[goes]]] = after[goes]
        self.child[branch[goes]] = self._intern(rows)

    def _follow(self, kernel: Action, ids: Ids) -> tuple[Array, Ids, Array]:
        """Probabilities (n, O) of the outcomes at beliefs `ids`, the beliefs (n, O) after them or -1, and expected
        reward, expected absolute reward and information (3, n)."""
        known, values = self.sets[kernel.factor], np.zeros((3, len(ids)))
        beliefs, price = known.beliefs[ids], kernel.same_reward
        # Beliefs sum to 1 up to their last digit; a price is exact.
        values[0] = beliefs @ kernel.reward if price is None else price
        values[1] = beliefs @ np.abs(kernel.reward) if price is None else abs(price)
        if len(kernel.outcomes) == 1 and kernel.transition is None:
            return np.ones((len(ids), 1)), ids[:, None], values
        probability, posterior = update(beliefs, kernel)
        possible = probability > 0
        if possible.all():
            after = known.intern(posterior.reshape(-1, posterior.shape[-1])).reshape(probability.shape)
        else:
            after = np.full(probability.shape, -1)
            after[possible] = known.intern(posterior[possible])
        if len(kernel.outcomes) > 1:
            asked = self.problem.factors[kernel.factor].about
            before = known.entropy[ids] if kernel.transition is None else entropy(asked(predict(beliefs, kernel)))
            values[2] = gain(before, probability, known.entropy[after] * possible)
        return probability, after, values

    def _intern(self, rows: NDArray[np.int32]) -> Ids:
        """The nodes (n,) of rows (n, W) of ids."""
        before = self.size
        nodes, fresh = self._index.identify(rows.view(np.uint64))
        if fresh.size:
            extend(self, before, self.size, _held=rows[fresh], stop_reward=0.0, stop_absolute=0.0, stop_place=-1,
                   _first_arc=-1, _first_branch=-1, _complete=False)  # fmt: skip
            self._set_stops(np.arange(before, self.size))
        return nodes

    def _set_stops(self, nodes: Ids) -> None:
        """Store the best terminal action of new nodes."""
        numbers = self.table.terminals[self._held[nodes, 0]]
        for number in np.unique(numbers).tolist():
            terminals, mine = self.table.terminal_sets[number], nodes[numbers == number]
            count = len(terminals.actions)
            for part in chunks(np.full(len(mine), max(count, self._states))) if count else ():
                value, size = np.empty((2, len(mine[part]), count))
                for factor, places, rewards in terminals.by_factor:
                    both = self.beliefs(mine[part], factor) @ rewards
                    value[:, places], size[:, places] = both[:, : len(places)], both[:, len(places) :]
                start = np.arange(0, value.size, count)
                best = first_best(value.ravel(), size.ravel(), start)
                self.stop_reward[mine[part]], self.stop_absolute[mine[part]] = value.ravel()[best], size.ravel()[best]
                self.stop_place[mine[part]] = best - start


def groups(codes: Ids) -> Iterator[tuple[int, Ids]]:
    """The distinct ones of `codes` (n,) in order, each with its positions."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    cuts = (np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist()
    for first, last in pairwise([0, *cuts, len(codes)] if len(codes) else ()):
        yield int(ordered[first]), order[first:last]


def chunks(sizes: Ids) -> list[slice]:
    """Consecutive slices of items with these sizes (n,), each of about CHUNK in all."""
    if not len(sizes):
        return []
    if sizes.sum() <= CHUNK:
        return [slice(0, len(sizes))]
    total = np.cumsum(sizes)
    cuts = np.searchsorted(total, np.arange(CHUNK, int(total[-1]), CHUNK)).tolist()
    return [slice(a, b) for a, b in pairwise(sorted({0, *cuts, len(sizes)}))]
