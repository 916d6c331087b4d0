"""Problems drawn at random are the same after they were written and read: every way to change, pay and lead on."""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan.belief_math.transitions import payments
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, Observable
from test_general_file import written_and_read

NONE, SAME, BY_OUTCOME, NOTHING, NOTHING_BY_OUTCOME = range(5)
"""How an action changes the state: not at all, the same whatever it shows, by what it shows; tables that change nothing
are the last two."""


def drawn(seed: int) -> POMDP:
    """Three states, two places, and an action for every way in which it may change the state and pay."""
    rng = np.random.default_rng(seed)
    states, names = 3, ("red", "green", "blue")

    def rows(*shape: int) -> Array:
        return np.round(rng.dirichlet(np.ones(shape[-1]), shape[:-1]), 3)

    def whole(table: Array) -> Array:
        table[..., -1] = 1 - table[..., :-1].sum(axis=-1)
        return table

    def action(name: str, change: int, pay: int, here: Observable, there: Observable) -> Action:
        count = int(rng.integers(1, 4))
        likelihood = whole(rows(states, count))
        transition = None if change == NONE else whole(rows(*((states,), (count, states))[change % 2 == 0], states))
        if change in (NOTHING, NOTHING_BY_OUTCOME):
            transition = np.broadcast_to(np.eye(states), np.shape(transition)).copy()
        if pay == 0:
            reward, pays = np.round(rng.normal(size=states), 2), None
        else:
            shape = (states, count) if pay == 1 or transition is None else (count, states, states)
            pays = np.round(rng.normal(size=shape), 2)
            reward = payments(likelihood, transition, pays).mean
        leads = (
            here,
            *([here, there, END][int(rng.integers(3))] for _ in range(count - 1)),
        )  # it does not end for sure
        return Action(name, reward, likelihood, tuple("abc"[:count]), leads, transition=transition, pays=pays)

    def menu(here: Observable, there: Observable) -> tuple[Action, ...]:
        acts = [action(f"{here}-{change}{pay}", change, pay, here, there) for change in range(5) for pay in range(3)]
        stop = Action(f"{here}-stop", np.round(rng.normal(size=states), 2), np.ones((states, 1)), ("done",), (END,))
        return (*acts, Action(f"{here}-go", np.full(states, -0.5), np.ones((states, 1)), ("gone",), (there,)), stop)

    menus: dict[Observable, tuple[Action, ...]] = {"home": menu("home", "away"), "away": menu("away", "home")}
    factors = (Factor("colour", names, whole(rows(states))),)
    return POMDP(f"drawn-{seed}", factors, "home", menus.__getitem__, horizon=2, cap=7, discount=0.9)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_read_is_what_was_written(seed: int) -> None:
    problem = drawn(seed)
    again = written_and_read(problem)
    assert (again.horizon, again.cap, again.discount) == (2, 7, 0.9)
    assert again.factors[0].prior == pytest.approx(problem.factors[0].prior)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_paid_by_the_state_after_a_change_of_nothing_is_read_as_that(seed: int) -> None:
    here = {action.name: action for action in written_and_read(drawn(seed)).menu("home")}
    paid = {action.name: action.pays_by_chance for action in drawn(seed).menu("home")}
    for change in (NOTHING, NOTHING_BY_OUTCOME):
        mine, other = paid[f"home-{change}2"], here[f"home-{change}2"].pays_by_chance
        assert mine is not None
        assert other is not None
        assert here[f"home-{change}2"].preserves_hidden_state
        assert other.worst == pytest.approx(mine.worst)
        assert other.variance == pytest.approx(mine.variance, abs=1e-9)


def test_no_probability_above_1_is_written() -> None:
    """Sums of what all outcomes are worth may be: in some of these by a unit in the last place."""
    above = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        transition, likelihood = np.stack([np.eye(3)] * 2), rng.dirichlet(np.ones(4), size=(2, 3))
        problem = rhoplan.from_arrays(transition, likelihood, rng.normal(size=(2, 3)), discount=0.9)
        above += sum(bool((action.likelihood.sum(axis=1) > 1).any()) for action in problem.menu(problem.start))
        lines = write_pomdp(problem).splitlines()
        assert max(float(line.split()[-1]) for line in lines if line.startswith(("T:", "O:"))) <= 1
    assert above > 0
