"""The paper's agents that do not plan: `greedy`, `heuristic`, `blind` and `nav-myopic`.

A rule names the action at a belief. It gets the problem's menu, the reward for a nat of information and the belief.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from rhoplan.graph.ties import above, at_least, first_in_rows
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.objective import Objective, objective_for
from rhoplan.planning.planner import Planner
from rhoplan.planning.policy import FunctionPolicy, action_named, immediate_terms
from rhoplan.problems.grid import MOVES, Cell, euclidean, manhattan, moved
from rhoplan.problems.inspection import Structure
from rhoplan.problems.navigation import Field
from rhoplan.problems.rocksample import Site, check_accuracy

CONFIDENT = 0.75
"""How sure the heuristic agent wants to be of a rock, either way."""

WORTH_CHECKING = 0.6
"""Accuracy from which the heuristic agent checks a rock instead of walking up to it."""


@dataclass(frozen=True)
class RuleAgent(Planner):
    """Follows a rule in each problem whose menu is of the type that the rule is for."""

    name: ClassVar[str] = "rule"
    label: ClassVar[str] = ""
    horizon: ClassVar[int] = 1

    rules: tuple[tuple[type, Callable[[Any, float, Belief], str]], ...]

    def supports(self, problem: POMDP) -> bool:
        return type(problem.menu) in dict(self.rules)

    def solve(self, problem: POMDP, objective: Objective | None = None) -> FunctionPolicy:
        rule, weight = dict(self.rules)[type(problem.menu)], objective_for(problem, objective).weight_per_nat
        return FunctionPolicy(problem, partial(rule, problem.menu, weight))


def greedy_rover(site: Site, weight: float, belief: Belief) -> str:
    """RockSample: sample what is more likely good than not, walk to what is promising and near, never check."""
    here, rocks = _cell(belief), _rocks_left(site, belief)
    if any(place == here and at_least(good, 0.5) for place, good in rocks.values()):
        return "sample"
    promising = [(place, good) for place, good in rocks.values() if place != here and at_least(good, 0.3)]
    scores = {place: good / manhattan(here, place) for place, good in promising}
    return towards(here, _first_best(scores)) if scores else "exit"


def heuristic_rover(site: Site, weight: float, belief: Belief) -> str:
    """RockSample: resolve rocks one by one by weight * information + chance, sample the good ones, exit."""
    here, rocks = _cell(belief), _rocks_left(site, belief)
    wanted = [place for place, good in rocks.values() if above(good, CONFIDENT)]
    if here in wanted:
        return "sample"
    doubtful = [rock for rock, (place, good) in rocks.items() if place not in wanted and at_least(good, 1 - CONFIDENT)]
    if not doubtful:
        return towards(here, min(wanted, key=partial(manhattan, here))) if wanted else "exit"
    checks = {rock: action_named(belief, f"check-{rock}") for rock in doubtful}
    rock = _first_best({rock: weight * immediate_terms(belief, checks[rock])[1] + rocks[rock][1] for rock in doubtful})
    place = rocks[rock][0]
    near = at_least(check_accuracy(euclidean(here, place)), WORTH_CHECKING) or place == here
    return f"check-{rock}" if near else towards(here, place)


def greedy_inspector(structure: Structure, weight: float, belief: Belief) -> str:
    """Inspection: walk to the nearest undeclared component, declare it faulty only if that is more likely than not."""
    return _inspect(structure, belief, {"declare-nominal": np.array([0, 1, 0]), "declare-faulty": np.array([1, 0, 0])})


def blind_inspector(structure: Structure, weight: float, belief: Belief) -> str:
    """Inspection without tests, done right: declare each component as expectation under the prior says."""
    return _inspect(structure, belief, dict(structure.verdicts))


def myopic_walker(field: Field, weight: float, belief: Belief) -> str:
    """Navigation: head for the most probable cell; step aside first where that is the cell one stands on."""
    here, there = _cell(belief), divmod(int(first_in_rows(belief.to_array()[None, :])[0]), field.size)
    if there == here:
        return next(name for name, step in MOVES.items() if moved(here, step, field.size) != here)
    return towards(here, there)


GREEDY = RuleAgent(((Site, greedy_rover), (Structure, greedy_inspector)))
HEURISTIC = RuleAgent(((Site, heuristic_rover),))
BLIND = RuleAgent(((Structure, blind_inspector),))
NAV_MYOPIC = RuleAgent(((Field, myopic_walker),))


def towards(here: Cell, there: Cell) -> str:
    """The move that brings `there` nearer: along the longer way, rows first where both are equal."""
    down, right = there[0] - here[0], there[1] - here[1]
    if abs(down) >= abs(right):
        return "south" if down > 0 else "north"
    return "east" if right > 0 else "west"


def _inspect(structure: Structure, belief: Belief, rewards: dict[str, np.ndarray]) -> str:
    """Walks to the nearest undeclared component and takes the verdict of the highest expected reward."""
    here, places, chances = _cell(belief), structure.places, _by_factor(belief)
    left = [i for i, one in enumerate(chances) if one["declared"] < 0.5]
    nearest = min(left, key=lambda i: manhattan(here, places[i]))
    if places[nearest] != here:
        return towards(here, places[nearest])
    held = np.array([*chances[nearest].values()])
    return str(_first_best({name: float(reward @ held) for name, reward in rewards.items()}))


def _rocks_left(site: Site, belief: Belief) -> dict[int, tuple[Cell, float]]:
    """The rocks that are not spent: the cell of each, and the probability that it is good."""
    chances = enumerate(_by_factor(belief))
    return {rock: (site.rocks[rock], one["good"]) for rock, one in chances if one["spent"] <= 0.5}


def _by_factor(belief: Belief) -> list[dict[str, float]]:
    """The probabilities of the states of each hidden factor."""
    held = dict(belief)
    return list(held.values()) if len(belief.problem.factors) > 1 else [held]


def _cell(belief: Belief) -> Cell:
    """The cell of the agent."""
    observable: Any = belief.observable
    return observable[0], observable[1]


def _first_best(scores: dict[Any, float]) -> Any:
    """The key of the best score, the first one listed among those that tie."""
    values = np.array([*scores.values()])
    return list(scores)[int(first_in_rows(values[None, :], float(np.abs(values).max()))[0])]
