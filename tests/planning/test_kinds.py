"""States that nothing tells apart are put together: what is solved is smaller and worth the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.io.policy_writer import write_policy
from rhoplan.io.pomdp import parse_pomdp
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import POMDP, Ids
from rhoplan.planning.certified.saved import load_policy
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.pointbased.compiled import Compiled, Entries
from rhoplan.planning.certified.pointbased.kinds import WORK, _Split, put_together
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import solve_general
from small import Small, draw, recursion

ENDS = """
discount: 1.0
values: reward
states: live e1 e2
actions: go
observations: a b
start: live
T: go : live 0.5 0.25 0.25
T: go : e1 {first}
T: go : e2 {second}
O: go : live 0.5 0.5
O: go : e1 0.25 0.75
O: go : e2 {shown}
R: go : live : * : * -1
"""


def doubled(problem: Small, seed: int, *, told: bool = False) -> tuple[Small, Ids]:
    """`problem` with each state but the last once more, under which number each stands, and all in another order.

    Which of two one comes to is drawn for each state before. told: outcomes say which it is.
    """
    rng = np.random.default_rng(seed)
    states = problem.reward.shape[1]
    origin = rng.permutation(np.concatenate([np.arange(states), np.arange(states - 1)]))
    shares = rng.uniform(0.2, 0.8, (len(problem.reward), len(origin), states))
    seen = set[int]()
    transition = problem.transition[:, origin][:, :, origin]
    likelihood = problem.likelihood[:, origin]
    for place, state in enumerate(origin.tolist()):
        if np.count_nonzero(origin == state) == 2:
            share = shares[:, :, state]
            transition[:, :, place] *= 1 - share if state in seen else share
            if told and state in seen:
                likelihood[:, place] = likelihood[:, place, ::-1]
        seen.add(state)
    start = problem.start[origin] / np.bincount(origin)[origin]
    return Small(transition, likelihood, problem.reward[:, origin], start, problem.ends), origin


def made(problem: Small) -> POMDP:
    return rhoplan.from_arrays(
        problem.transition, problem.likelihood, problem.reward.T, start=problem.start, discount=0.9
    )


def same_problem(one: Compiled, other: Compiled) -> None:
    for mine, theirs in zip(one.model, other.model, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-14)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_states_there_twice_are_found_and_the_problem_is_what_it_was(seed: int, weight: float) -> None:
    small = draw(seed, 4)
    twice, origin = doubled(small, seed)
    found = compile_problem(made(twice), weight=weight)

    assert [set(np.flatnonzero(found.kinds == kind)) for kind in range(4)] == [
        set(np.flatnonzero(origin == state)) for state in dict.fromkeys(origin.tolist())
    ]
    order = np.array(list(dict.fromkeys(origin.tolist())))
    turned = Small(
        small.transition[:, order][:, :, order],
        small.likelihood[:, order],
        small.reward[:, order],
        small.start[order],
        small.ends,
    )
    same_problem(found, compile_problem(made(turned)))


@pytest.mark.parametrize("seed", range(4))
def test_states_that_outcomes_tell_apart_are_alike_only_where_that_is_worth_nothing(seed: int) -> None:
    twice, _ = doubled(draw(seed, 3), seed, told=True)
    twice = replace(twice, transition=np.repeat(twice.transition.mean(axis=1, keepdims=True), 5, axis=1))

    assert recursion(twice, twice.start[None], 3, 1.0, 0.9) > recursion(twice, twice.start[None], 3, 0.0, 0.9) + 0.01
    assert compile_problem(made(twice), weight=1.0).slots == 5
    assert compile_problem(made(twice), weight=0.0).slots < 5


@pytest.mark.parametrize("weight", [0.0, 0.3, 5.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_few_steps_are_worth_the_same_by_an_oracle_and_bounds_hold(seed: int, weight: float) -> None:
    small = draw(seed + 50, 3)
    twice, _ = doubled(small, seed)
    value = recursion(twice, twice.start[None], 4, weight, 0.9)[0]
    assert recursion(small, small.start[None], 4, weight, 0.9)[0] == pytest.approx(value, abs=1e-12)

    found = solve(made(twice), weight=weight, horizon=4, gap=1e-3)
    assert found.lower - 1e-9 <= value <= found.upper + 1e-9
    assert found.converged


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_bounds_are_those_of_the_problem_as_it_is_written(weight: float) -> None:
    problem = made(doubled(draw(3, 3), 3)[0])
    apart = solve_general(compile_problem(problem), weight=weight, discount=0.9, gap=1e-2)
    together = solve(problem, weight=weight, gap=1e-3, check=True)

    assert together.converged
    assert together.certificate is not None
    assert together.certificate.holds
    assert apart.lower <= together.upper
    assert together.lower <= apart.upper


@pytest.mark.parametrize(
    ("first", "second", "shown"),
    [("0 1 0", "0 0 1", "0.25 0.75"), ("0 0.5 0.5", "0 0.3 0.7", "0.25 0.75"), ("0 0 1", "0 1 0", "0.25 0.75")],
)
def test_ends_that_look_alike_make_no_information_without_discount(first: str, second: str, shown: str) -> None:
    """They are one end: 2 steps in expectation, and what the outcomes tell of being still there."""
    found = solve(parse_pomdp(ENDS.format(first=first, second=second, shown=shown)), weight=1.0, gap=1e-4)
    one = ENDS.replace(" e1 e2", " e1").replace("0.25 0.25\n", "0.5\n")
    one = "\n".join(line for line in one.splitlines() if ": e2" not in line)
    other = solve(parse_pomdp(one.format(first="0 1")), weight=1.0, gap=1e-4)

    assert found.converged
    assert found.lower <= other.upper
    assert other.lower <= found.upper


def test_ends_that_an_outcome_tells_apart_stay_apart() -> None:
    problem = parse_pomdp(ENDS.format(first="0 1 0", second="0 0 1", shown="0.75 0.25"))
    assert compile_problem(problem, weight=1.0).slots == 3


def test_sums_of_decimals_are_the_same_but_for_rounding() -> None:
    """0.1 + 0.2 is not 0.3 in floats."""
    text = """
discount: 0.9
values: reward
states: s t u v w
actions: go
observations: 1
T: go : s 0.1 0.2 0.1 0.3 0.3
T: go : t 0.3 0.0 0.1 0.6 0.0
T: go : u 0 0 0.5 0.25 0.25
T: go : v 1 0 0 0 0
T: go : w 0 1 0 0 0
O: go uniform
R: go : s : * : * 1
R: go : t : * : * 1
R: go : u : * : * 2
"""
    kinds = compile_problem(parse_pomdp(text), weight=1.0).kinds
    assert kinds.tolist() == [0, 0, 1, 2, 2]
    assert compile_problem(parse_pomdp(text.replace("0.1 0.6 0.0", "0.1000001 0.5999999 0")), weight=1.0).slots == 5


def two_rooms() -> POMDP:
    """Two rooms, always told apart, with a bit in each that a bell shows; either can end up in its own dead end."""
    states = ["a0", "a1", "dead-a", "b0", "b1", "dead-b"]
    transition, likelihood, reward = np.zeros((2, 6, 6)), np.zeros((2, 6, 4)), np.zeros((6, 2))
    for room in (0, 3):
        transition[:, room : room + 2, room : room + 2] = [[0.6, 0.2], [0.3, 0.5]]
        transition[:, room : room + 2, room + 2] = 0.2
        likelihood[:, room : room + 3, room // 3 * 2 : room // 3 * 2 + 2] = [[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]]
    transition[:, [2, 5], [2, 5]] = 1.0
    reward[[0, 1]], reward[[3, 4]] = [[1, 0], [0, 2]], [[2, -1], [0, 3]]
    start = np.array([0.3, 0.2, 0.0, 0.3, 0.2, 0.0])
    return rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=0.9, states=states)


def test_what_is_seen_is_not_forgotten_for_two_ends_that_are_alike() -> None:
    """Put together, the dead ends would make one class of both rooms."""
    problem = two_rooms()
    found = compile_problem(problem, weight=0.0)

    assert found.kinds.tolist() == [0, 1, 2, 3, 4, 5]
    assert sorted(found.sizes.tolist()) == [3, 3, 4]
    assert solve(problem, gap=1e-4).converged


def test_a_policy_speaks_of_every_state(tmp_path: Path) -> None:
    twice, origin = doubled(draw(1, 3), 1)
    problem = made(twice)
    policy = solve(problem, gap=1e-3).policy
    assert policy is not None
    place = problem.belief()
    moved = place.beliefs[0].copy()
    one, other = np.flatnonzero(origin == origin[0])
    moved[one], moved[other] = moved[other] + moved[one], 0.0
    there = Belief(place.problem, place.observable, (moved,))

    assert policy.value(there) == policy.value(place)
    assert policy.action(there) == policy.action(place)
    policy.save(tmp_path / "plan")
    assert load_policy(tmp_path / "plan", problem).value(there) == policy.value(there)
    rows = [np.array(line.split(">")[1].split("<")[0].split(), float) for line in write_policy(policy).splitlines()
            if line.startswith("<Vector")]  # fmt: skip
    assert max(row @ problem.prior for row in rows) == pytest.approx(policy.value(place)[0], abs=1e-9)
    for row in rows:
        for state in range(3):
            assert len(set(row[origin == state].tolist())) == 1
    names = " or ".join(problem.states[state] for state in (one, other))
    assert names in policy.start_states


def corridor(states: int) -> Compiled:
    """The last state pays; each is told from the next only by how far it is from there."""
    text = f"discount: 0.99\nvalues: reward\nstates: {states}\nactions: 1\nobservations: 1\nstart: 0\n"
    text += "".join(f"T: 0 : {state} : {min(state + 1, states - 1)} 1\n" for state in range(states))
    return compile_problem(parse_pomdp(f"{text}O: * : * : * 1\nR: 0 : {states - 1} : * : * 1\n"), weight=0.0)


def test_where_it_takes_long_states_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[int]()
    usual = _Split._by_sums
    monkeypatch.setattr(_Split, "_by_sums", lambda self, kinds: asked.append(1) or usual(self, kinds))
    assert corridor(200).slots == 200
    assert len(asked) < 250
    assert corridor(6000).slots == 6000
    assert len(asked) < 250 + WORK / 6000


def test_when_the_time_is_up_states_stay_apart() -> None:
    entries = Entries(*(np.array(column) for column in ([0, 1], [0, 0], [0, 0], [0, 1])), np.ones(2))
    pay, start = (np.array([0, 1]), np.array([0, 0]), np.zeros(2)), np.array([0.5, 0.5])
    assert put_together(entries, pay, start, 2, informs=False).kinds.tolist() == [0, 0]
    assert put_together(entries, pay, start, 2, informs=False, deadline=-np.inf).kinds.tolist() == [0, 1]


def test_a_rare_outcome_tells_states_apart_though_it_hardly_ever_comes() -> None:
    """Both probabilities are small; their ratio is not."""
    likelihood = np.array([[[1 - 9e-13, 9e-13], [1 - 1e-300, 1e-300]]])
    problem = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), likelihood, np.zeros((1, 2, 2)), discount=0.999999)
    assert compile_problem(problem, weight=1.0).slots == 2

    told = np.array([[9e-13, 1e-300]]) / 2
    mean = told.sum()
    gained = float((told * np.log(told / mean * 2)).sum())  # but for what the usual outcome tells, which is less
    found = solve(problem, weight=1e6, gap=1e-9)
    assert found.stopped_by == "precision"  # a step's rounding, a million times
    assert found.lower <= 1e6 * gained / 1e-6 <= found.upper


def unsealed(arrays: dict[str, Any]) -> dict[str, Any]:
    """What is in a policy's file as versions wrote it that did not seal it."""
    told = {key: value for key, value in json.loads(str(arrays["told"])).items() if key != "seal"}
    return {**arrays, "told": np.array(json.dumps(told))}


def test_a_saved_policy_says_which_states_are_alike(tmp_path: Path) -> None:
    problem = made(doubled(draw(2, 3), 2)[0])
    policy = solve(problem, gap=1e-3).policy
    assert policy is not None
    policy.save(tmp_path / "plan")
    with np.load(tmp_path / "plan") as file:
        arrays = unsealed(dict(file))
    assert len(set(arrays["kinds"].tolist())) == 3

    for kinds in (np.arange(5), arrays["kinds"][:4], arrays["kinds"] + 1, arrays["kinds"] - 1, np.zeros(5, int)):
        np.savez(tmp_path / "other.npz", **{**arrays, "kinds": kinds})
        with pytest.raises(rhoplan.ProblemError, match="other numbers: solve it again"):
            load_policy(tmp_path / "other.npz", problem)


def test_policies_of_versions_that_put_nothing_together_are_read(tmp_path: Path) -> None:
    problem = rhoplan.make("tiger")
    policy = solve(problem, discount=0.95, method="points").policy
    assert policy is not None
    policy.save(tmp_path / "plan")
    with np.load(tmp_path / "plan") as file:
        arrays = unsealed(dict(file))
    assert arrays["kinds"].tolist() == [0, 1]
    np.savez(tmp_path / "turned.npz", **{**arrays, "kinds": np.array([1, 0])})
    with pytest.raises(rhoplan.ProblemError, match="other numbers: solve it again"):
        load_policy(tmp_path / "turned.npz", problem)
    del arrays["kinds"]
    np.savez(tmp_path / "old.npz", **arrays)
    assert load_policy(tmp_path / "old.npz", problem).value(problem.belief()) == policy.value(problem.belief())
