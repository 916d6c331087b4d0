"""What to do first in changed models: many of them planned at once where only numbers change, within an allowance.

Where versions of a model fit one tree (`planning.batch`), what is asked in one round is planned as one batch; otherwise
each has a graph of its own. An answer that was given once is kept.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy
from rhoplan.advice.brackets import Answer
from rhoplan.advice.case import Evidence, without
from rhoplan.advice.variations import Parameter
from rhoplan.agents.agent import BoundAgent
from rhoplan.errors import LimitError, RhoplanError
from rhoplan.model.pomdp import POMDP, Array, Ids
from rhoplan.planning.batch import BatchLookahead, DecisionTree, ParameterBatch

USUAL_WORK = 1e9
"""Numbers worked out where nobody sets a time: ten to twenty seconds, enough for every number of the worked models."""

WORK_EACH = 5e3
"""What a version takes beside its numbers: it has to be made and told."""


STATES_AS_ONE = 16
"""States whose beliefs take as long as one number."""


class Allowance:
    """How much may be asked: so many seconds, or else a fixed amount of work, the same on every machine."""

    def __init__(self, seconds: float | None = None) -> None:
        self.seconds, self._begin, self._done = seconds, time.monotonic(), 0.0

    @property
    def used(self) -> float:
        """The share that has been used."""
        if self.seconds is None:
            return self._done / USUAL_WORK
        return (time.monotonic() - self._begin) / self.seconds

    def use(self, versions: int, numbers: int, states: int) -> bool:
        """Whether there is enough left to begin with so many versions of so many numbers each."""
        if self.used >= 1:
            return False
        self._done += versions * (WORK_EACH + numbers * (1 + states / STATES_AS_ONE))
        return True


@dataclass(frozen=True, eq=False)
class First:
    """What to do first in each of K versions of a model: place (K,) among `names`; and what actions are worth (K, A),
    in units of mass.

    Ending actions come first among the names; there are `endings` of them.
    """

    copies: BatchLookahead
    names: list[str]
    endings: int
    choice: Ids
    worth: Array


def first_actions(layout: DecisionTree, problems: Sequence[POMDP], agent: BoundAgent) -> First:
    """What `agent` does first in each of `problems`, versions of the layout, planned at once."""
    return told_first(
        BatchLookahead(
            layout,
            ParameterBatch.stacked(problems),
            weight=agent.weight_per_nat,
            discount=agent.discount,
            terminal_rewards=agent.commits_count,
        )
    )


def told_first(copies: BatchLookahead) -> First:
    """What is done first in each version."""
    worth, choice = copies.first_actions()
    return First(copies, copies.tree.names, copies.tree.endings, choice, worth)


def plans_versions(problem: POMDP, agent: BoundAgent) -> bool:
    """Whether versions of `problem` that differ in numbers only can be planned at once for `agent`."""
    same = agent.planner.is_exact and agent.objective.is_information
    return same and problem.listed is not None and problem.leaf is None


class Asker:
    """Finds first actions of `agent` after `given` for changed models; `now` is today's."""

    def __init__(
        self, problem: POMDP, agent: BoundAgent, given: Evidence, unavailable: Collection[str], now: str | None
    ) -> None:
        self.problem, self.agent, self.given, self.unavailable = problem, agent, given, unavailable
        self.now = now or ""
        self.now = now or self._alone(problem, agent, 0.0)[0].action
        self.layouts: dict[bool, DecisionTree | None] = {}
        self._known: dict[tuple[str, float], Answer | None] = {}
        self._today: dict[DecisionTree, Answer | None] = {}

    def layout(self, parameter: Parameter) -> DecisionTree | None:
        """What copies are made of where the parameter changes; None where each change needs a graph of its own."""
        agent, problem = self.agent, self.problem
        if not plans_versions(problem, agent):
            return None
        prices = parameter.kind in ("cost", "first-price") and problem.flat.budget is not None
        if prices not in self.layouts:
            try:
                self.layouts[prices] = DecisionTree(
                    problem, self.given, agent.horizon, left_out=self.unavailable, prices_vary=prices
                )
            except LimitError:
                self.layouts[prices] = None
        return self.layouts[prices]

    def answers(
        self, questions: Sequence[tuple[Parameter, float]], allowance: Allowance
    ) -> Mapping[tuple[str, float], Answer | None] | None:
        """The answer to each question by the parameter's id and value; None where the question makes no sense, and as a
        whole where the allowance was used up."""
        together: dict[tuple[DecisionTree, float], list[tuple[Parameter, float, POMDP]]] = {}
        for parameter, value in questions:
            if (parameter.id, value) in self._known:
                continue
            problem, agent = parameter.change(value)
            layout = self.layout(parameter)
            if layout in self._today and value == parameter.value:  # the model itself, whichever number is asked about
                today = self._today[layout]
                self._known[parameter.id, value] = None if today is None else replace(today, value=value)
                continue
            if layout is not None:
                together.setdefault((layout, agent.weight), []).append((parameter, value, problem))
                continue
            if allowance.used >= 1:
                return None
            try:
                answer, size = self._alone(problem, agent, value)
                self._known[parameter.id, value] = answer
                allowance.use(1, size, len(problem.states))
            except RhoplanError:  # so far from the model what has been seen could not have happened
                self._known[parameter.id, value] = None
        for (layout, weight), versions in together.items():
            for start in range(0, len(versions), layout.at_once):
                part = versions[start : start + layout.at_once]
                if not allowance.use(len(part), layout.branches, len(self.problem.states)):
                    return None
                answers = self._together(layout, part, self.agent.changed(weight=weight))
                self._known |= {(p.id, value): answer for (p, value, _), answer in zip(part, answers, strict=True)}
                for (parameter, value, _), one in zip(part, answers, strict=True):
                    if value == parameter.value:
                        self._today[layout] = one
        return {(parameter.id, value): self._known[parameter.id, value] for parameter, value in questions}

    def _together(
        self, layout: DecisionTree, versions: Sequence[tuple[Parameter, float, POMDP]], agent: BoundAgent
    ) -> list[Answer | None]:
        first = first_actions(layout, [problem for _, _, problem in versions], agent)
        copies, names = first.copies, first.names
        unsure = copies.entropy[:, 0]
        worth = first.worth - agent.weight_per_nat * unsure[:, None]  # see Parameter.is_convex
        allowed = np.isfinite(copies.reward).sum(axis=1)
        today = names.index(self.now)  # its worth comes first
        worth = np.concatenate([worth[:, today : today + 1], np.delete(worth, today, axis=1)], axis=1)
        taken = [names[place] for place in first.choice.tolist()]
        return [
            Answer(value, taken[k], taken[k] == self.now, worth[k], int(allowed[k])) if copies.mass[k] else None
            for k, (_, value, _) in enumerate(versions)
        ]

    def _alone(self, problem: POMDP, agent: BoundAgent, value: float) -> tuple[Answer, int]:
        """The answer on a graph of its own, and how many numbers that took; RhoplanError where the evidence would be
        impossible, or beyond a cap."""
        graph = Graph(without(problem, self.unavailable))
        node = graph.node(problem.belief(given=self.given))
        name = GraphPolicy(graph, agent).action(node).name
        return Answer(value, name, name == self.now, np.empty(0)), graph.probability[: graph.size].size
