"""Exact look-ahead on the merged belief graph: the paper's one recursion, whole layers of beliefs at a time.

    V_0(b) = leaf(b)
    V_d(b) = max( best commit, max_k [ r_k(b) + rho_k(b) + discount * sum_o P(o | b, k) V_{d-1}(b_o) ] )

(Equations 4 and 5, with rho = w * I.) Myopic, Planning, Info Gain, Planning+IG and EFE are this with other data.
Values are kept per depth and node, so a second question costs only what the first did not reach.

Kept for advice and the paper; their rebuild deletes it.
"""

from __future__ import annotations

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan._old.merging import distinct, grown
from rhoplan._old.ties import choose
from rhoplan._old.utilities import GraphUtility
from rhoplan.model.pomdp import Array, Ids, Leaf
from rhoplan.planning.utility import Information, Utility


class Plan:
    """Values of a utility and a discount on a graph, for every horizon.

    commits_count=False is the paper's Epistemic-only ablation: ending is worth nothing at every depth, the leaf
    included; when it does end it takes the best ending action by expected reward. leaf: what to take for the problem's
    own value of stopping the look-ahead.
    Not covered: horizons without limit (see `solve`), and graphs too large to hold (LimitError says so).
    """

    def __init__(
        self,
        graph: Graph,
        utility: Utility | None = None,
        *,
        discount: float = 1.0,
        commits_count: bool = True,
        leaf: Leaf | None = None,
    ) -> None:
        self.graph = graph
        self.utility = GraphUtility(Information(0.0) if utility is None else utility)
        self.discount = discount
        self.commits_count = commits_count
        self.leaf = leaf or graph.problem.leaf
        self._values: list[Array] = []

    def gains(self, nodes: Ids) -> Array:
        """The most (n,) that gains can add to a value at `nodes`, for the tie rule; `gains_within` is what they do."""
        commits = self.graph.gains[nodes] if self.commits_count else 0.0
        result: Array = commits + self.utility.scale(self.graph, nodes)
        return result

    def gains_within(self, nodes: Ids, horizon: int) -> Array:
        """The gains (n, 1 + M) that are in the values of ending and of each action at `nodes`, for the tie rule.

        Rewards along the plan that the values are those of. What is learned counts with all that there is to learn: it
        is a difference of entropies, and rounded like them.
        """
        ending = self._ending_gains(nodes)
        self.graph.expand(nodes)
        going = self.graph.going_gains(nodes) + self._later_gains(nodes, horizon)
        result: Array = np.concatenate([ending[:, None], going], axis=1)
        return result + self.utility.scale(self.graph, nodes)[:, None]

    def values(self, nodes: Ids, depth: int) -> Array:
        """V_depth (n,) at `nodes`."""
        layers = self._missing_layers(nodes, depth)
        for level, missing in sorted(layers.items()):
            if level == 0:
                self._values[0][missing] = self._leaf(missing)
            else:
                ending, going, _ = self._action_values(missing, level)
                self._values[level][missing] = np.maximum(ending, going.max(axis=1, initial=-np.inf))
        result: Array = self._values[depth][nodes]
        return result

    @property
    def valued(self) -> list[Ids]:
        """The nodes whose V_depth is known, for every depth from 0 on."""
        return [np.flatnonzero(~np.isnan(values[: self.graph.size])) for values in self._values]

    def action_values(self, nodes: Ids, horizon: int) -> tuple[Array, Array, Array]:
        """Value (n,) of ending at once, and value and expected continuation (n, M) of each action that goes on."""
        self.graph.expand(nodes)
        self.values(self._children(nodes), horizon - 1)
        return self._action_values(nodes, horizon)

    def choices(self, nodes: Ids, horizon: int) -> Ids:
        """What to do (n,) at `nodes`: -1 to end with `best_ending`, otherwise the slot of the action to take."""
        ending, going, _ = self.action_values(nodes, horizon)
        return self.chosen(nodes, horizon, ending, going)

    def chosen(self, nodes: Ids, horizon: int, ending: Array, going: Array) -> Ids:
        """What `choices` are where `action_values` at `nodes` are `ending` (n,) and `going` (n, M)."""
        values = np.concatenate([ending[:, None], going], axis=1)
        return choose(values, self.gains(nodes), lambda rows: self.gains_within(nodes[rows], horizon)) - 1

    def fades(self, nodes: Ids) -> Array:
        """What a value after an action at `nodes` counts for (n or 1, 1): the discount; a first look takes no time."""
        graph = self.graph
        if not graph.problem.looks_first:
            return np.full((1, 1), self.discount)
        return np.where(graph.observable[nodes] == graph.observable[graph.root], 1.0, self.discount)[:, None]

    def best_ending(self, nodes: Ids) -> tuple[Array, Ids]:
        """Value (n,) of ending at once, and the ending action (n,) to take."""
        action, value = self.graph.stop_action[nodes].copy(), self.graph.stop_reward[nodes].copy()
        for observable, positions in self.graph.by_visible(nodes) if self.utility.rates_endings else ():
            if self.graph.menus[observable].ending:
                bonus = self.utility.ending(self.graph, nodes[positions], observable)
                worth = self.graph.ending_rewards(nodes[positions], observable) + bonus
                action[positions] = self._best_rated(nodes[positions], observable, worth)
                value[positions] = worth.max(axis=1)
        if not self.commits_count:
            value = np.where(np.isfinite(value), 0.0, value)
        return value, action

    def _action_values(self, nodes: Ids, depth: int) -> tuple[Array, Array, Array]:
        graph = self.graph
        arcs = graph.next[nodes]
        following = np.where(arcs >= 0, self._values[depth - 1][arcs], 0.0)
        continuation = self.fades(nodes) * np.einsum("nmo,nmo->nm", graph.probability[nodes], following)
        going = graph.reward[nodes] + self.utility.going(graph, nodes) + continuation
        return self.best_ending(nodes)[0], going, continuation

    def _best_rated(self, nodes: Ids, observable: int, worth: Array) -> Ids:
        """The ending action (n,) to take at `nodes`, which share a visible state and are worth `worth` (n, E)."""

        def exactly(rows: Ids) -> Array:
            rated = self.utility.scale(self.graph, nodes[rows])[:, None]
            return self.graph.ending_gains(nodes[rows], observable) + rated

        return choose(worth, self.gains(nodes), exactly)

    def _ending_gains(self, nodes: Ids) -> Array:
        return self.graph.stop_gains(nodes) if self.commits_count else np.zeros(len(nodes))

    def _later_gains(self, nodes: Ids, depth: int) -> Array:
        """The gains (n, M) that follow each action at `nodes`, as in `_action_values`; information is not counted."""
        arcs = self.graph.next[nodes]
        after = self._children(nodes)
        held = np.append(self._gains_at(after, depth - 1), 0.0)
        following = held[np.where(arcs >= 0, np.searchsorted(after, arcs), len(after))]
        result: Array = self.fades(nodes) * np.einsum("nmo,nmo->nm", self.graph.probability[nodes], following)
        return result

    def _gains_at(self, nodes: Ids, depth: int) -> Array:
        """The gains (n,) in V_depth at `nodes`, along the plan that it is the value of."""
        if depth == 0 and self.leaf is not None:
            return self.graph.gains[nodes]
        result = self._ending_gains(nodes)
        if depth == 0 or not nodes.size:
            return result
        ending, going, _ = self.action_values(nodes, depth)
        slot = np.argmax(np.concatenate([ending[:, None], going], axis=1), axis=1) - 1
        goes = np.flatnonzero(slot >= 0)
        if goes.size:
            gains = self.graph.going_gains(nodes[goes]) + self._later_gains(nodes[goes], depth)
            result[goes] = gains[np.arange(len(goes)), slot[goes]]
        return result

    def _leaf(self, nodes: Ids) -> Array:
        if self.leaf is None:
            value = self.best_ending(nodes)[0]
            return np.where(np.isfinite(value), value, 0.0)
        observables = [self.graph.observables[observable] for observable in self.graph.observable[nodes]]
        return self.leaf(
            observables, tuple(self.graph.beliefs(nodes, factor) for factor in range(len(self.graph.tables)))
        )

    def _missing_layers(self, nodes: Ids, depth: int) -> dict[int, Ids]:
        """For each level from `depth` down, the nodes whose value is needed and not there yet; their arcs are known."""
        layers: dict[int, Ids] = {}
        layer = nodes
        for level in range(depth, -1, -1):
            self._make_room(level)
            missing = distinct(layer[np.isnan(self._values[level][layer])], self.graph.size)
            if not missing.size:
                break
            layers[level] = missing
            if level:
                self.graph.expand(missing)
                layer = self._children(missing)
        for level in range(depth + 1):
            self._make_room(level)
        return layers

    def _children(self, nodes: Ids) -> Ids:
        arcs = self.graph.next[nodes]
        return distinct(arcs[arcs >= 0], self.graph.size)

    def _make_room(self, level: int) -> None:
        while len(self._values) <= level:
            self._values.append(np.empty(0))
        self._values[level] = grown(self._values[level], self.graph.size, np.nan)
