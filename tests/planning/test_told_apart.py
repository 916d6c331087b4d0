"""States that must not be put together: those that a last comparison tells apart, or that would make a class larger."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.pointbased.compiled import Entries
from rhoplan.planning.certified.pointbased.kinds import _Split
from rhoplan.planning.certified.pointbased.records import compile_problem


def split(chances: tuple[float, float], pays: tuple[float, float]) -> list[int]:
    """The kinds of two states that were taken for one, each of which stays and shows outcome 0, so likely, or 1."""
    columns = [0, 0, 1, 1], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 1, 1]
    chance = np.array([chances[0], 1 - chances[0], chances[1], 1 - chances[1]])
    entries = Entries(*(np.array(column)[chance > 0] for column in columns), chance[chance > 0])
    pay = np.array([0, 1]), np.array([0, 0]), np.array(pays)
    return _Split(entries, pay, 2, informs=False, deadline=np.inf)._one_by_one(np.zeros(2, dtype=np.int64)).tolist()


@pytest.mark.parametrize(
    ("chances", "pays", "alike"),
    [
        ((0.25, 0.25), (1.0, 1.0), True),
        ((0.25, 0.25 * (1 + 2.0**-52)), (1.0, 1.0), True),
        ((0.25, 0.25 * (1 + 1e-9)), (1.0, 1.0), False),
        ((0.25, 0.75), (1.0, 1.0), False),
        ((0.25, 1.0), (1.0, 1.0), False),
        ((1.0, 0.25), (1.0, 1.0), False),
        ((0.25, 0.25), (1.0, 2.0), False),
        ((0.25, 0.25), (1.0, 1.0 + 1e-12), False),
    ],
)
def test_every_number_of_two_states_is_compared_at_last(
    chances: tuple[float, float], pays: tuple[float, float], alike: bool
) -> None:
    one, other = split(chances, pays)
    assert (one == other) == alike


def test_states_that_outcomes_show_for_sure_are_apart_where_that_is_worth_something() -> None:
    """What follows is the same from both; and each outcome comes with one of them only."""
    problem = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.eye(2)[None], np.zeros((2, 1)), discount=0.9)
    assert compile_problem(problem, weight=1.0).kinds.tolist() == [0, 1]
    assert compile_problem(problem, weight=0.0).kinds.tolist() == [0, 0]
    found = solve(problem, weight=1.0, gap=1e-4)
    assert found.lower <= np.log(2) / 0.1 <= found.upper


def test_two_dead_ends_that_nothing_tells_apart_stay_apart_where_one_would_join_two_rooms() -> None:
    """In either room a bell may be silent, as it always is at a dead end: one end would be in the classes of both."""
    transition, likelihood = np.zeros((2, 6, 6)), np.zeros((2, 6, 7))
    for room, other, bells in ((0, 3, (0, 1)), (3, 0, (2, 3))):
        transition[0, room : room + 2, room : room + 3] = [[0.6, 0.2, 0.2], [0.3, 0.5, 0.2]]
        transition[1, room : room + 2, other : other + 2] = np.eye(2)
        transition[:, room + 2, room + 2] = 1.0
        likelihood[0, room, bells], likelihood[0, room + 1, bells] = (0.5, 0.2), (0.1, 0.6)
        likelihood[0, room : room + 2, 4] = 0.3
        likelihood[1, room : room + 2, 5 + room // 3] = 1.0
        likelihood[:, room + 2, 4] = 1.0
    reward = np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [2.0, -1.0], [0.0, 3.0], [0.0, 0.0]])
    start = np.array([0.5, 0.5, 0.0, 0.0, 0.0, 0.0])
    problem = rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=0.9)
    found = compile_problem(problem, weight=0.0)
    assert found.kinds.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.sizes.max() == 3
