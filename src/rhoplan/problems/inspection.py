"""Structural inspection: walk between components, test them, declare each one nominal or faulty.

Hidden: one factor per component, faulty or nominal, and `declared` once a verdict is given. Visible: the cell and which
components have been declared (bit i for component i); the episode ends with the last declaration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Observable
from rhoplan.model.tally import Tally
from rhoplan.model.validate import checked
from rhoplan.problems.classics import at_least, check_probabilities
from rhoplan.problems.grid import MOVES, Cell, check_places, move, moved, parse_places

# fmt: off
PUBLISHED_ORDER: dict[int, tuple[Cell, ...]] = {
    8: ((0, 1), (2, 4), (1, 2), (4, 0), (3, 1), (0, 3), (3, 3), (1, 0)),
    16: ((0, 1), (2, 4), (1, 2), (4, 0), (3, 1), (6, 1), (5, 4), (0, 3), (4, 2), (3, 3), (2, 6), (5, 6), (0, 5), (1, 0),
         (6, 3), (3, 5)),
}
# fmt: on
"""Cells of the components in the published order, which the published leaf walks."""

PUBLISHED_DEPTH = {8: 3, 16: 2}
PUBLISHED_CAP = {8: 200, 16: 400}


def inspection(
    *,
    n: int = 8,
    places: str = "",
    prior: float = 0.3,
    move_cost: float = 0.5,
    visual: float = 0.7,
    visual_cost: float = 0.5,
    detailed: float = 0.9,
    detailed_cost: float = 2.0,
    nominal: float = 2.0,
    fault: float = 5.0,
    missed: float = -50.0,
    false_alarm: float = -5.0,
    techniques: str = "",
) -> POMDP:
    """n components on a grid, each faulty with probability 0.3: walk, test (visual or detailed), declare each one."""
    at_least("n", n, 1)
    size = max(4, math.ceil(math.sqrt(3 * n)))
    cells = parse_places("component", places, field="places") if places else component_places(n, size)
    if len(cells) != n:
        raise ProblemError(f"places must name n = {n} components; it names {len(cells)}", field=("places",))
    check_places("component", cells, size, field="places")
    check_probabilities(prior=prior, visual=visual, detailed=detailed)
    usual = (("visual", visual, visual_cost), ("detailed", detailed, detailed_cost))
    tests = parse_techniques(techniques) if techniques else usual
    verdicts = (
        ("declare-nominal", np.array([missed, nominal, 0.0])),
        ("declare-faulty", np.array([fault, false_alarm, 0.0])),
    )
    structure = Structure(size, cells, move_cost, tests, verdicts)
    belief = np.array([prior, 1 - prior, 0.0])
    return checked(
        POMDP(
            name="inspection",
            factors=tuple(Factor(f"component-{i}", ("faulty", "nominal", "declared"), belief) for i in range(n)),
            start=(0, 0, 0),
            menu=structure,
            leaf=structure.walk_in_order,
            horizon=PUBLISHED_DEPTH.get(n, 2),
            planner="exact" if cells == PUBLISHED_ORDER.get(n) else "anytime",
            cap=PUBLISHED_CAP.get(n, 25 * n),
            tallies={
                "right_nominal": Tally(("declare-nominal",), ("nominal",)),
                "right_faulty": Tally(("declare-faulty",), ("faulty",)),
                "missed": Tally(("declare-nominal",), ("faulty",)),
                "false_alarms": Tally(("declare-faulty",), ("nominal",)),
            },
            details={"grid": size, "places": cells},
        )
    )


def parse_techniques(text: str) -> tuple[tuple[str, float, float], ...]:
    """Tests of one's own from text such as `tap:0.6:0.2/x-ray:0.99:8`: name, accuracy and cost each."""
    tests = []
    for item in text.split("/"):
        try:
            name, accuracy, cost = item.split(":")
            tests.append((name.strip(), float(accuracy), float(cost)))
        except ValueError:
            raise ProblemError(
                f"techniques must read name:accuracy:cost/name:...; one reads '{item}'", field=("techniques",)
            ) from None
        try:
            check_probabilities(**{f"accuracy of {name}": float(accuracy)})
        except ProblemError as error:
            raise ProblemError(error.message, field=("techniques",), code=error.code) from None
        if not 0 <= float(cost) < math.inf:
            raise ProblemError(f"cost of {name} must be a number of at least 0; it is {cost}", field=("techniques",))
    if len({name for name, _, _ in tests}) < len(tests):
        raise ProblemError(f"techniques must have different names; they read '{text}'", field=("techniques",))
    return tuple(tests)


def component_places(n: int, size: int) -> tuple[Cell, ...]:
    """Where the components are: in the published order where there is one, else by the paper's formula."""
    formula = tuple((i * size // n, (2 * i + 1) % size) for i in range(n))
    return PUBLISHED_ORDER.get(n, formula)


@dataclass(frozen=True, eq=False)
class Structure(CachedMenu):
    """The menu and the leaf. tests: name, accuracy, cost. verdicts: name and reward for faulty, nominal, declared."""

    factors_apart: ClassVar[bool] = True
    """What a cell offers depends on its own component alone, and all must be declared (see `planning.certified`)."""

    size: int
    places: tuple[Cell, ...]
    move_cost: float
    tests: tuple[tuple[str, float, float], ...]
    verdicts: tuple[tuple[str, Array], ...]

    def build(self, observable: Any) -> tuple[Action, ...]:
        row, column, declared = observable
        cell = (row, column)
        actions = [
            move(name, (*moved(cell, step, self.size), declared), self.move_cost, 3) for name, step in MOVES.items()
        ]
        if cell in self.places and not declared >> self.places.index(cell) & 1:
            component = self.places.index(cell)
            here = (row, column, declared)
            for name, accuracy, cost in self.tests:
                likelihood = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy], [0.5, 0.5]])
                actions.append(
                    Action(name, np.full(3, -cost), likelihood, ("faulty", "nominal"), (here, here), component)
                )
            after = declared | 1 << component
            target: Observable = END if after == (1 << len(self.places)) - 1 else (row, column, after)
            settle = np.tile([0.0, 0.0, 1.0], (3, 1))
            for name, reward in self.verdicts:
                actions.append(Action(name, reward, np.ones((3, 1)), ("done",), (target,), component, settle))
        return tuple(actions)

    def walk_in_order(self, observables: Sequence[Observable], beliefs: tuple[Array, ...]) -> Array:
        """The published leaf: walk the undeclared components in order of index, declare each by expectation."""
        state = np.array(observables)
        here, declared = state[:, :2], state[:, 2]
        total = np.zeros(len(state))
        for component, place in enumerate(np.array(self.places)):
            left = (declared >> component & 1) == 0
            worth = np.stack([beliefs[component] @ reward for _, reward in self.verdicts]).max(axis=0)
            walk = self.move_cost * np.abs(here - place).sum(axis=1)
            total += np.where(left, worth - walk, 0.0)
            here = np.where(left[:, None], place, here)
        return total
