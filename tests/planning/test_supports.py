"""Without a discount: staying costs nothing in some states, and one must know that one is there."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.evaluation.plan_score import score_solved
from rhoplan.planning.certified.pointbased import supports
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import solve_general
from rhoplan.planning.certified.pointbased.supports import by_supports, is_free_in_some, split
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.certified.solve import solve

END = 1e-5
"""Gap that is asked for."""


def moved(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Where each action (A, S) leads to and what it shows there, what it costs, and the start. Nothing is by chance but
    where one begins; in some states one action costs nothing and stays."""
    states, actions = int(rng.integers(2, 6)), int(rng.integers(2, 4))
    moves = rng.integers(states, size=(actions, states))
    shows = rng.integers(int(rng.integers(1, 4)), size=(actions, states))
    costs = rng.integers(0, 4, size=(actions, states)) * (rng.random((actions, states)) < 0.7)
    home = np.flatnonzero(rng.random(states) < 0.5)
    stays = rng.integers(actions, size=len(home))
    moves[stays, home], costs[stays, home] = home, 0
    start = rng.integers(0, 4, size=states).astype(float)
    start[int(rng.integers(states))] += 1
    return moves, shows, costs, start / start.sum()


def problem_of(moves: np.ndarray, shows: np.ndarray, costs: np.ndarray, start: np.ndarray) -> rhoplan.POMDP:
    transition = np.eye(moves.shape[1])[moves]
    likelihood = np.eye(int(shows.max()) + 1)[shows]
    reward = np.repeat(-costs[:, :, None].astype(float), moves.shape[1], axis=2)
    return rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=1.0)


def best(moves: np.ndarray, shows: np.ndarray, costs: np.ndarray, start: np.ndarray) -> float:
    """What the start is worth, by sweeps over all beliefs one can come to, from 0 down."""
    places, paid = {tuple(start.round(12).tolist()): 0}, list[np.ndarray]()
    leads = list[list[list[tuple[float, int]]]]()
    for belief in (queue := list(places)):
        here = np.array(belief)
        paid.append(-costs @ here)
        leads.append([])
        for action in range(len(moves)):
            following = []
            for shown in np.unique(shows[action][moves[action][here > 0]]).tolist():
                after = np.bincount(moves[action], here * (shows[action][moves[action]] == shown), len(here))
                chance = float(after.sum())
                key = tuple((after / chance).round(12).tolist())
                if key not in places:
                    places[key] = len(places)
                    queue.append(key)
                following.append((chance, places[key]))
            leads[-1].append(following)
    values = np.zeros(len(places))
    while True:
        after = np.array([
            max(
                float(pays[action]) + sum(chance * values[place] for chance, place in following)
                for action, following in enumerate(ways)
            )
            for ways, pays in zip(leads, paid, strict=True)
        ])  # fmt: skip
        if np.abs(after - values).max() < 1e-13:
            return float(after[0])
        if after[0] < -1000:
            return -math.inf
        values = after


def finite(seeds: range) -> list[int]:
    """The seeds of problems with a finite value in which one must know where one is to stay for nothing."""
    found = []
    for seed in seeds:
        given = moved(np.random.default_rng(seed))
        compiled = compile_problem(problem_of(*given), weight=0.0)
        if is_free_in_some(compiled, 0.0) and best(*given) > -math.inf:
            found.append(seed)
    return found


SEEDS = finite(range(120))


def test_there_are_such_problems() -> None:
    assert len(SEEDS) > 20


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_meet_where_one_must_know_where_staying_is_free(seed: int) -> None:
    given = moved(np.random.default_rng(seed))
    problem = problem_of(*given)
    found = solve(problem, method="points", gap=END, seconds=60, check=True)
    value = best(*given)
    assert found.lower - 1e-9 <= value <= found.upper + 1e-9
    assert found.converged
    assert found.certificate is not None
    assert found.certificate.holds


@pytest.mark.parametrize("largest", [math.inf, 2])
@pytest.mark.parametrize("seed", SEEDS[::6])
def test_policies_are_followed_saved_and_loaded(
    seed: int, largest: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supports, "LARGEST", (largest,))
    problem = problem_of(*moved(np.random.default_rng(seed)))
    found = solve(problem, method="points", gap=END, seconds=1)
    found.policy.save(tmp_path / "plan.policy")
    loaded = load_policy(tmp_path / "plan.policy", problem)
    earned = score_solved(loaded)
    assert earned.kind == "exact"
    assert earned.value >= found.lower - 1e-9  # nothing pays: what was cut off can only cost
    ahead = [problem.belief()]
    for situation in ahead[:30]:
        low, high = found.policy.value(situation)
        assert low <= high + 1e-9
        assert loaded.value(situation) == (low, high)
        action = next(one for one in problem.menu(situation.observable) if one.name == loaded.action(situation))
        ahead += [each.belief for each in situation.branches(action)]


def noisy(rng: np.random.Generator) -> rhoplan.POMDP:
    """States that change and tests that are noisy, with zeros in both."""
    states, actions, outcomes = 4, 2, 3

    def rows(count: int, wide: int) -> np.ndarray:
        made = rng.random((count, wide)) * (rng.random((count, wide)) < 0.5)
        made[np.arange(count), rng.integers(wide, size=count)] += 0.2
        return made / made.sum(axis=1, keepdims=True)

    transition = np.stack([rows(states, states) for _ in range(actions)])
    likelihood = np.stack([rows(states, outcomes) for _ in range(actions)])
    paid = np.repeat(rng.normal(size=(actions, states, 1)).round(2), states, axis=2)
    return rhoplan.from_arrays(transition, likelihood, paid, start=rows(1, states)[0], discount=0.8)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("largest", [math.inf, 2, 1])
def test_what_is_split_is_the_same_problem(seed: int, weight: float, largest: float) -> None:
    """Whatever the discount and the weight."""
    compiled = compile_problem(noisy(np.random.default_rng(seed)))
    parts = split(compiled, largest)
    assert parts.classes > compiled.classes or largest == 1
    one, other = (
        solve_general(given, weight=weight, discount=0.8, gap=0.02, seconds=60) for given in (compiled, parts)
    )
    assert one.lower <= other.upper + 1e-9
    assert other.lower <= one.upper + 1e-9
    assert max(one.upper - one.lower, other.upper - other.lower) <= 0.02 + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_all_states_of_a_part_are_possible(seed: int) -> None:
    """From the start on every part has the states that follow, and no others."""
    compiled = compile_problem(noisy(np.random.default_rng(seed)))
    parts = split(compiled)
    model, held = parts.model, [set[int]() for _ in range(parts.classes)]
    assert (parts.start > 0).all()
    for pair in range(parts.pairs):
        size = int(parts.sizes[model.pair_class[pair]])
        for number in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
            begin = model.branch_row[number]
            columns = model.column[model.row[begin] : model.row[begin + size]].tolist()
            held[model.branch_target[number]] |= set(columns)
            assert set(columns) == set(range(int(parts.sizes[model.branch_target[number]])))
    reached = [home for home in range(parts.classes) if held[home]]
    assert set(range(parts.classes)) - set(reached) <= {parts.start_class}


def stays() -> Compiled:
    """One of two states, where one action each costs nothing and stays; a look, which costs, tells them apart."""
    transition = np.stack([np.eye(2)] * 3)
    likelihood = np.stack([np.eye(2), np.ones((2, 2)) / 2, np.ones((2, 2)) / 2])
    reward = np.repeat(np.array([[-1.0, -1.0], [0.0, -1.0], [-1.0, 0.0]])[:, :, None], 2, axis=2)
    return compile_problem(rhoplan.from_arrays(transition, likelihood, reward, discount=1.0), weight=0.0)


def test_parts_are_found_where_they_help() -> None:
    compiled = stays()
    assert is_free_in_some(compiled, 0.0)
    assert by_supports(compiled, weight=0.0, deadline=math.inf).classes == 3
    assert sorted(by_supports(compiled, weight=0.0, deadline=math.inf).sizes.tolist()) == [1, 1, 2]


def test_ends_that_need_no_choice_need_no_parts() -> None:
    """Where nothing is paid any more whatever is done, nobody has to know that."""
    transition = np.stack([np.array([[0.5, 0.5], [0.0, 1.0]])] * 2)
    reward = np.repeat(np.array([[-1.0, 0.0], [-2.0, 0.0]])[:, :, None], 2, axis=2)
    problem = rhoplan.from_arrays(transition, np.ones((2, 2, 1)), reward, discount=1.0, start=[1.0, 0.0])
    assert not is_free_in_some(compile_problem(problem, weight=0.0), 0.0)


def test_too_many_parts_are_left_together(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = stays()
    monkeypatch.setattr(supports, "MOST_NUMBERS", 3)
    with pytest.raises(TimeoutError):
        split(compiled)
    assert by_supports(compiled, weight=0.0, deadline=math.inf) is compiled


def test_where_there_is_room_for_small_sets_only_these_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = compile_problem(noisy(np.random.default_rng(1)))
    counts = [len(split(compiled, largest).model.chance) for largest in (math.inf, 1)]
    assert counts[0] > counts[1] > len(compiled.model.chance)
    monkeypatch.setattr(supports, "MOST_NUMBERS", counts[1])
    assert [len(one.model.chance) for one in supports.splits(compiled)] == [counts[1]]


def test_who_has_no_time_leaves_them_together() -> None:
    compiled = stays()
    assert by_supports(compiled, weight=0.0, deadline=-math.inf) is compiled


def test_where_nothing_costs_nobody_has_to_know() -> None:
    """Who goes on for ever loses nothing, wherever that is: vectors over the whole class hold."""
    transition = np.stack([np.eye(2), np.eye(2)[::-1]])
    shows = np.ones((2, 2, 1))
    for reward in (0.0, -1.0):
        paid = np.zeros((2, 2, 2))
        paid[:, 1] = reward
        problem = rhoplan.from_arrays(transition, shows, paid, discount=1.0)
        assert is_free_in_some(compile_problem(problem), 0.0) == (reward < 0)
