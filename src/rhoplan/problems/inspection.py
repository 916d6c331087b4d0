"""Structural inspection: walk between components, test them, declare each one nominal or faulty.

Hidden: one factor per component, faulty or nominal, and `declared` once a verdict is given. Observable: the cell and
which components have been declared (bit i for component i); the episode ends with the last declaration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Observable
from rhoplan.model.records import EventCount
from rhoplan.model.validate import checked
from rhoplan.problems.building import check_probabilities, plain, require, sensor
from rhoplan.problems.grid import MOVES, Cell, check_places, moved, parse_places

# fmt: off
PUBLISHED_ORDER: dict[int, tuple[Cell, ...]] = {
    8: ((0, 1), (2, 4), (1, 2), (4, 0), (3, 1), (0, 3), (3, 3), (1, 0)),
    16: ((0, 1), (2, 4), (1, 2), (4, 0), (3, 1), (6, 1), (5, 4), (0, 3), (4, 2), (3, 3), (2, 6), (5, 6), (0, 5), (1, 0),
         (6, 3), (3, 5)),
}
# fmt: on
"""Cells of the components in the published order, which the published leaf walks; for other n there is a formula."""


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
    require(n >= 1, "n", "be at least 1", n)
    size = max(4, math.ceil(math.sqrt(3 * n)))
    formula = tuple((i * size // n, (2 * i + 1) % size) for i in range(n))
    cells = parse_places(places, field="places") if places else PUBLISHED_ORDER.get(n, formula)
    check_places(cells, n, size, field="places")
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
            horizon=3 if n == 8 else 2,
            planner="exact" if cells == PUBLISHED_ORDER.get(n) else "anytime",
            cap=25 * n,
            tallies={
                "right_nominal": EventCount(("declare-nominal",), ("nominal",)),
                "right_faulty": EventCount(("declare-faulty",), ("faulty",)),
                "missed": EventCount(("declare-nominal",), ("faulty",)),
                "false_alarms": EventCount(("declare-faulty",), ("nominal",)),
            },
            details={"grid": size, "places": cells},
        )
    )


def parse_techniques(text: str) -> tuple[tuple[str, float, float], ...]:
    """Name, accuracy and cost of each test from text such as `tap:0.6:0.2/x-ray:0.99:8`."""
    field, tests = "techniques", []
    for item in text.split("/"):
        name, *numbers = item.split(":")
        try:
            accuracy, cost = map(float, numbers)
        except ValueError:
            accuracy = cost = math.nan
        require(not math.isnan(accuracy + cost), field, "read name:accuracy:cost/name:...", f"'{text}'")
        rule = "have accuracies between 0 and 1"
        require(0 <= accuracy <= 1, field, rule, f"'{text}'", code="probability-range")
        require(0 <= cost < math.inf, field, "have finite costs of at least 0", f"'{text}'")
        tests.append((name.strip(), accuracy, cost))
    require(len({name for name, _, _ in tests}) == len(tests), field, "have different names", f"'{text}'")
    return tuple(tests)


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
        step_cost = np.full(3, -self.move_cost)
        steps = {name: moved((row, column), step, self.size) for name, step in MOVES.items()}
        actions = [plain(name, step_cost, (*cell, declared)) for name, cell in steps.items()]
        component = self.places.index((row, column)) if (row, column) in self.places else None
        if component is None or declared >> component & 1:
            return tuple(actions)
        for name, accuracy, cost in self.tests:
            outcomes = ("faulty", "nominal")
            actions.append(sensor(name, accuracy, cost, outcomes, observable, factor=component, states=3))
        after = declared | 1 << component
        target: Observable = END if after == (1 << len(self.places)) - 1 else (row, column, after)
        actions += [plain(name, reward, target, factor=component, into=2) for name, reward in self.verdicts]
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
