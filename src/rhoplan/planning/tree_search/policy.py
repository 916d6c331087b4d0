"""The policy of tree search: at each belief a search with random numbers of its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.policy import ActionValues, BeliefLike, Policy, Seed, ValueTerms, immediate_terms
from rhoplan.planning.tree_search.search import TreeSearch, TreeSearchSettings


class TreeSearchPolicy(Policy):
    """Takes the action that a tree search finds best; values of actions are estimates.

    objective: reward and weighted information, maximised (`MCTS` and `POMCP` refuse others). seed: of `action` and
    `action_values`; the same belief and seed give the same result, unless time is limited.
    """

    samples = True

    def __init__(
        self, problem: POMDP, objective: Objective | None, settings: TreeSearchSettings, *, seed: int = 0
    ) -> None:
        self.problem, self.objective = problem, objective_for(problem, objective)
        self.settings, self.seed = settings, seed

    @cached_property
    def search(self) -> TreeSearch:
        """The search, which keeps what it has explored of the problem."""
        aim = self.objective
        return TreeSearch(self.problem, self.settings, weight=aim.weight_per_nat, discount=aim.discount_factor)

    def action(self, belief: BeliefLike) -> str:
        held = self.belief(belief)
        return self.search.actions(held.observable)[self.search.run(held, seed=self.seed).place].name

    def action_values(self, belief: BeliefLike) -> ActionValues:
        """The estimated value of each action; minus infinity for one that was not tried."""
        held, rows = self.belief(belief), []
        found, actions = self.search.run(held, seed=self.seed), self.search.actions(held.observable)
        for action, value in zip(actions, found.values.tolist(), strict=True):
            reward, gained = immediate_terms(held, action)
            weighted = self.objective.weight_per_nat * gained
            later = 0.0 if action.ends_episode else value - reward - weighted
            if self.problem.looks_first and held.observable == self.problem.start:
                later /= self.objective.discount_factor  # an initial observation takes no time
            rows.append((action.ends_episode, ValueTerms(action.name, reward, gained, weighted, later)))
        return ActionValues(tuple(row for _, row in sorted(rows, key=lambda one: one[0])), "estimated")

    def on(self, graph: BeliefGraph) -> TreeSearchOnGraph:
        return TreeSearchOnGraph(self, graph)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "search"}

    def __repr__(self) -> str:
        return f"TreeSearchPolicy({self.problem.spec or self.problem.name}, {self.settings.method})"


class TreeSearchOnGraph:
    """`policy` at the nodes of `graph`: one search for each node of each batch."""

    def __init__(self, policy: TreeSearchPolicy, graph: BeliefGraph) -> None:
        self.graph, self._policy = graph, policy

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        run, drawn = self._policy.search.run, seeds or [(self._policy.seed,)] * len(nodes)
        found = [run(self.graph.situation(node), seed=seed) for node, seed in zip(nodes.tolist(), drawn, strict=True)]
        return np.arange(len(nodes)), np.array([one.place for one in found], dtype=np.int64), np.ones(len(nodes))
