"""The paper's rule agents: they look at the situation and act, without planning.

A rule is a function of problem, situation and weight that names an action. Problems carry the rules that fit them.
"""

from __future__ import annotations

import numpy as np

from rhoplan.belief_math.information import information
from rhoplan.graph.ties import above, at_least, first_in_rows
from rhoplan.model.pomdp import POMDP, Rule
from rhoplan.model.situation import Situation
from rhoplan.problems.grid import MOVES, Cell, manhattan, moved

CONFIDENT = 0.75
"""How sure the heuristic agent wants to be of a rock, either way."""

WORTH_CHECKING = 0.6
"""Accuracy from which the heuristic agent checks a rock instead of walking up to it."""


def towards(here: Cell, there: Cell) -> str:
    """The move that brings `there` nearer: along the longer way, rows first where both are equal."""
    down, right = there[0] - here[0], there[1] - here[1]
    if abs(down) >= abs(right):
        return "south" if down > 0 else "north"
    return "east" if right > 0 else "west"


def greedy_rover(problem: POMDP, situation: Situation, weight: float) -> str:
    """RockSample: sample what is more likely good than not, walk to what is promising and near, never check."""
    here = _cell(situation)
    places, good, spent = _rocks(problem, situation)
    scores = {}
    for rock, place in enumerate(places):
        if spent[rock]:
            continue
        if place == here and at_least(good[rock], 0.5):
            return "sample"
        if at_least(good[rock], 0.3) and place != here:
            scores[rock] = good[rock] / max(1, manhattan(here, place))
    return towards(here, places[_first_best(scores)]) if scores else "exit"


def heuristic_rover(problem: POMDP, situation: Situation, weight: float) -> str:
    """RockSample: resolve rocks one by one by weight * information + chance, sample the good ones, exit."""
    here = _cell(situation)
    places, good, spent = _rocks(problem, situation)
    left = [rock for rock in range(len(places)) if not spent[rock]]
    if any(places[rock] == here and above(good[rock], CONFIDENT) for rock in left):
        return "sample"
    doubtful = [rock for rock in left if at_least(good[rock], 1 - CONFIDENT) and not above(good[rock], CONFIDENT)]
    if not doubtful:
        wanted = [rock for rock in left if above(good[rock], CONFIDENT)]
        nearest = min(wanted, key=lambda rock: manhattan(here, places[rock]), default=None)
        return "exit" if nearest is None else towards(here, places[nearest])
    checks = {action.name: action for action in problem.menu(situation.observable)}

    def appeal(rock: int) -> float:
        gain = float(information(situation.beliefs[rock][None, :], checks[f"check-{rock}"])[0])
        return weight * gain + float(good[rock])

    rock = _first_best({rock: appeal(rock) for rock in doubtful})
    accuracy = float(checks[f"check-{rock}"].likelihood[1, 1])
    near = at_least(accuracy, WORTH_CHECKING) or places[rock] == here
    return f"check-{rock}" if near else towards(here, places[rock])


def greedy_inspector(problem: POMDP, situation: Situation, weight: float) -> str:
    """Inspection: walk to the nearest undeclared component, declare it faulty only if that is more likely than not."""
    verdict = {True: "declare-faulty", False: "declare-nominal"}
    return _inspect(problem, situation, lambda faulty: verdict[above(faulty, 0.5)])


def blind_inspector(problem: POMDP, situation: Situation, weight: float) -> str:
    """Inspection without tests, done right: declare each component as expectation under the prior says."""
    return _inspect(problem, situation, None)


def myopic_walker(problem: POMDP, situation: Situation, weight: float) -> str:
    """Navigation: head for the most probable cell; step aside first where that is the cell one stands on."""
    here, size = _cell(situation), int(problem.details["grid"])
    there = divmod(int(first_in_rows(situation.belief[None, :])[0]), size)
    if there == here:
        return next(name for name, step in MOVES.items() if moved(here, step, size) != here)
    return towards(here, there)


ROVER_RULES: dict[str, Rule] = {"greedy": greedy_rover, "heuristic": heuristic_rover}
INSPECTOR_RULES: dict[str, Rule] = {"greedy": greedy_inspector, "blind": blind_inspector}
WALKER_RULES: dict[str, Rule] = {"nav-myopic": myopic_walker}


def _inspect(problem: POMDP, situation: Situation, judge: object) -> str:
    assert isinstance(situation.observable, tuple)
    row, column, declared = situation.observable
    here, places = (row, column), problem.details["places"]
    left = [i for i in range(len(places)) if not declared >> i & 1]
    nearest = min(left, key=lambda i: manhattan(here, places[i]))
    if places[nearest] != here:
        return towards(here, places[nearest])
    belief = situation.beliefs[nearest]
    if callable(judge):
        return str(judge(float(belief[0])))
    verdicts = [action for action in problem.menu(situation.observable) if action.name.startswith("declare")]
    worth = np.array([float(belief @ action.reward) for action in verdicts])
    return verdicts[int(first_in_rows(worth[None, :], 2 * problem.reward_scale)[0])].name


def _first_best(scores: dict[int, float]) -> int:
    """The key of the best score, the first one listed among those that tie."""
    return list(scores)[int(first_in_rows(np.array([list(scores.values())]))[0])]


def _cell(situation: Situation) -> Cell:
    assert isinstance(situation.observable, tuple)
    return situation.observable[0], situation.observable[1]


def _rocks(problem: POMDP, situation: Situation) -> tuple[tuple[Cell, ...], np.ndarray, np.ndarray]:
    """Places of the rocks, the chance that each is good, and whether it is spent."""
    beliefs = np.stack(situation.beliefs)
    return problem.details["places"], beliefs[:, 1], beliefs[:, 2] > 0.5
