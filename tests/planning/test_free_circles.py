"""Without a discount, where steps cost nothing: one can go round for ever, and both bounds must find the way out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rhoplan
from bridge import score_solved
from bridge import solve_bounds as solve

END = 1e-4
"""Gap that is asked for."""


def sheds(rng: np.random.Generator, states: int, actions: int, *, by_chance: bool):
    """States are moved about unseen until one stops: which pays by where one is, and ends.

    Each action moves each state to another, or by chance, which is seen, in one of two ways. The first costs nothing,
    the others something in some states. Beliefs come again, so there are finitely many of them.
    """
    ways = 2 if by_chance else 1
    moves = rng.integers(0, states, size=(actions, ways, states))
    moves[0, 0] = np.roll(np.arange(states), 1)
    chance = rng.uniform(0.2, 0.8, size=actions) if by_chance else np.ones(actions)
    stop = rng.normal(size=states).round(3)
    start = rng.dirichlet(np.ones(states))
    costs = np.where(rng.random((actions, states)) < 0.2, 0.1, 0.0)
    costs[0] = 0.0
    return moves, chance, stop, start, costs


def arrays(
    moves: np.ndarray, chance: np.ndarray, stop: np.ndarray, start: np.ndarray, costs: np.ndarray
) -> rhoplan.POMDP:
    """The same as a problem: what chance did is remembered as part of the state, and seen."""
    actions, ways, states = moves.shape
    size = states * ways + 1
    transition, likelihood = np.zeros((actions + 1, size, size)), np.zeros((actions + 1, size, ways + 1))
    for action, (state, before) in itertools.product(range(actions), itertools.product(range(states), range(ways))):
        for way in range(ways):
            share = chance[action] if way == 0 else 1 - chance[action]
            transition[action, state * ways + before, moves[action, way, state] * ways + way] += share
    transition[:, -1, -1] = transition[actions, :, -1] = 1.0
    for state, way in itertools.product(range(states), range(ways)):
        likelihood[:, state * ways + way, way] = 1.0
    likelihood[:, -1, ways] = 1.0
    reward = np.zeros((actions + 1, size))
    reward[actions, :-1] = np.repeat(stop, ways)
    reward[:actions, :-1] = -np.repeat(costs, ways, axis=1)
    first = np.zeros(size)
    first[np.arange(states) * ways] = start
    paid = np.broadcast_to(reward[:, :, None], transition.shape)
    return rhoplan.from_arrays(transition, likelihood, paid, start=first, discount=1.0)


def best(moves: np.ndarray, chance: np.ndarray, stop: np.ndarray, start: np.ndarray, costs: np.ndarray) -> float:
    """What it is worth, by sweeps over all beliefs one can come to, from 0, which the first action for ever pays."""
    actions, ways, states = moves.shape

    def after(belief: tuple[float, ...], action: int, way: int) -> tuple[float, ...]:
        moved = np.bincount(moves[action, way], belief, states)
        return tuple(float(share) for share in moved.round(12))

    places: dict[tuple[float, ...], int] = {tuple(float(share) for share in start.round(12)): 0}
    leads, queue = [], list(places)
    for belief in queue:
        leads.append([])
        for action, way in itertools.product(range(actions), range(ways)):
            there = after(belief, action, way)
            if there not in places:
                places[there] = len(places)
                queue.append(there)
            leads[-1].append(places[there])
    target = np.array(leads).reshape(len(places), actions, ways)
    shares = np.stack([chance, 1 - chance], axis=1)[:, :ways]
    ending, paid = np.array(list(places)) @ stop, -np.array(list(places)) @ costs.T
    values = np.maximum(ending, 0.0)
    while True:
        better = np.maximum(values, (paid + (values[target] * shares).sum(axis=2)).max(axis=1))
        if np.abs(better - values).max() < 1e-13:
            return float(better[0])
        values = better


@pytest.mark.parametrize("by_chance", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_bounds_meet_where_one_can_go_round_for_nothing(seed: int, by_chance: bool) -> None:
    rng = np.random.default_rng(seed)
    given = sheds(rng, int(rng.integers(2, 5)), int(rng.integers(1, 4)), by_chance=by_chance)
    found = solve(arrays(*given), method="points", gap=END, seconds=60)
    value = best(*given)
    assert found.stopped_by == "gap"
    assert found.lower - 1e-9 <= value <= found.upper + 1e-9
    assert found.upper - found.lower <= END
    earned = score_solved(found.policy)
    later = earned.truncated * max(float(given[2].max()), 0.0)
    assert earned.truncated < 0.5 or value == 0  # chance may make it last, but it goes round for ever for nothing only
    assert earned.value + later >= found.lower - 5 * earned.error("value") - 1e-9


def corridor(cells: int, cost: float, trap: float) -> rhoplan.POMDP:
    """One of some cells, not known which; the last has what one looks for, opening any other is a trap. Steps slip, and
    a noisy sensor tells walls."""
    end, (left, right, opens) = cells, range(3)
    transition, likelihood = np.zeros((3, cells + 1, cells + 1)), np.zeros((3, cells + 1, 3))
    for action, by in ((left, -1), (right, 1)):
        for cell in range(cells):
            there = min(max(cell + by, 0), cells - 1)
            transition[action, cell, there] += 0.9
            transition[action, cell, cell] += 0.1
    transition[opens, :, end] = transition[:, end, end] = 1.0
    walls = np.isin(np.arange(cells), (0, cells - 1))
    likelihood[:, :cells, 0], likelihood[:, :cells, 1] = np.where(walls, 0.85, 0.15), np.where(walls, 0.15, 0.85)
    likelihood[:, end, 2] = 1.0
    reward = np.zeros((3, cells + 1))
    reward[[left, right], :cells] = -cost
    reward[opens, :cells] = trap
    reward[opens, cells - 1] = 10.0
    start = np.append(np.full(cells, 1 / cells), 0.0)
    return rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=1.0)


@pytest.mark.parametrize("trap", [-10.0, -100.0])
def test_who_pays_nothing_for_steps_comes_to_know_for_sure(trap: float) -> None:
    """Steps are free: one goes right until there is no doubt left."""
    found = solve(corridor(4, 0.0, trap), method="points", gap=1e-3, seconds=60)
    assert found.converged
    assert 10 - 1e-3 <= found.lower <= 10 <= found.upper
    earned = score_solved(found.policy)
    assert earned.value == pytest.approx(10, abs=2e-3)


def test_who_pays_for_steps_does_not() -> None:
    """As the bounds of a discount very near 1 say, too."""
    found = solve(corridor(4, 1.0, -100.0), method="points", gap=1e-3, seconds=60)
    nearly = solve(corridor(4, 1.0, -100.0), method="points", discount=1 - 1e-6, gap=1e-3, seconds=60)
    assert found.converged
    assert found.lower <= nearly.upper + 1e-3
    assert found.upper >= nearly.lower - 1e-3


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_no_plan_of_a_few_steps_beats_the_upper_bound(seed: int, weight: float) -> None:
    """States change places, which a noisy sensor hints at, at no cost: brute force over all plans of five actions."""
    rng = np.random.default_rng(seed)
    states, moving = 3, 2
    orders, shows = [rng.permutation(states) for _ in range(moving)], rng.dirichlet(np.ones(2), size=(moving, states))
    stop = rng.normal(size=states)
    transition, likelihood = np.zeros((moving + 1, states + 1, states + 1)), np.zeros((moving + 1, states + 1, 3))
    for action, order in enumerate(orders):
        transition[action, np.arange(states), order] = 1.0
        likelihood[action, :states, :2] = shows[action]
    transition[moving, :, states] = transition[:, states, states] = likelihood[:, states, 2] = 1.0
    likelihood[moving, :, :], likelihood[moving, :, 2] = 0.0, 1.0
    reward = np.zeros((moving + 1, states + 1))
    reward[moving, :states] = stop
    start = rng.dirichlet(np.ones(states))
    paid = np.broadcast_to(reward[:, :, None], transition.shape)
    problem = rhoplan.from_arrays(transition, likelihood, paid, start=np.append(start, 0.0), discount=1.0)

    def entropy(belief: np.ndarray) -> float:
        return -sum(share * np.log(share) for share in belief.tolist() if share > 0)

    def value(belief: np.ndarray, left: int) -> float:
        most = max(0.0, float(belief @ stop))
        for action in range(moving if left else 0):
            moved = np.zeros(states)
            moved[orders[action]] = belief
            total = weight * entropy(moved)
            for outcome in range(2):
                joint = moved * shows[action, :, outcome]
                chance = float(joint.sum())
                if chance > 0:
                    total += chance * (value(joint / chance, left - 1) - weight * entropy(joint / chance))
            most = max(most, total)
        return most

    found = solve(problem, method="points", weight=weight, gap=1e-3, seconds=0.3)
    assert found.lower <= found.upper
    assert value(start, 5) <= found.upper + 1e-9
    assert found.lower <= max(float(stop.max()), 0.0) + weight * entropy(start) + 1e-6


def test_a_step_that_costs_is_a_way_out_of_a_circle_that_does_not() -> None:
    """Waiting is free, shaking costs a little and mixes, ending pays 5 in one of two states. Where
    both were steps of one circle, the two beliefs counted for the same, the better of them, for ever."""
    transition, likelihood = np.zeros((3, 3, 3)), np.zeros((3, 3, 3))
    transition[0], transition[1, :2, :2], transition[1, 2, 2], transition[2, :, 2] = np.eye(3), 0.5, 1.0, 1.0
    likelihood[:, 2, 2], likelihood[[0, 2], :2, :2], likelihood[1, :2, :2] = 1.0, 0.5, [[0.6, 0.4], [0.4, 0.6]]
    reward = np.zeros((3, 3, 3))
    reward[1, :2], reward[2, 1] = -0.01, 5.0
    problem = rhoplan.from_arrays(transition, likelihood, reward, start=[0.5, 0.5, 0.0], discount=1.0)
    found = solve(problem, method="points", gap=END, seconds=20)
    assert found.stopped_by == "gap"
    # shake until the likelier outcome of the better state is seen, 2 times on average: 3 - 0.02
    assert found.lower <= 2.98 + 1e-9
    assert found.upper >= 2.98 - 1e-9


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("start", [(0.1, 0.2, 0.7), (0.2, 0.3, 0.5), (0.15, 0.25, 0.6)])
def test_what_tells_nothing_pays_nothing_not_even_by_rounding(start: tuple[float, ...], weight: float) -> None:
    """Three states go round unseen, for nothing; entropies before and after differ by rounding alone."""
    transition, likelihood, reward = np.zeros((2, 4, 4)), np.zeros((2, 4, 2)), np.zeros((2, 4, 4))
    transition[0, [0, 1, 2], [1, 2, 0]] = transition[1, :3, 3] = transition[:, 3, 3] = 1.0
    likelihood[:, :3, 0] = likelihood[:, 3, 1] = 1.0
    reward[1, :3] = np.array([1.0, -3.0, -3.0])[:, None]
    problem = rhoplan.from_arrays(transition, likelihood, reward, start=[*start, 0.0], discount=1.0)
    found = solve(problem, method="points", weight=weight, gap=END, seconds=20)
    assert found.stopped_by == "gap"
    assert found.lower <= 1e-9
    assert found.upper >= -1e-9
