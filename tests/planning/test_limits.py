"""A solve ends when its time does, wherever that is, and what it says then holds."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array

import rhoplan
from rhoplan.app.cli import _guarded
from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.pomdp import POMDP, Action, Factor, FixedMenu
from rhoplan.planning import clock
from rhoplan.planning.certified.crude import crude_bounds
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.planning.certified.pointbased.compiled import BYTES_PER_ENTRY
from rhoplan.planning.certified.pointbased.first import first_bounds
from rhoplan.planning.certified.pointbased.idle import with_stops
from rhoplan.planning.certified.pointbased.lasting import lasting
from rhoplan.planning.certified.pointbased.records import compile_problem

VALUE = {0.0: 19.371368, 1.0: 22.484883}
"""What the tiger that starts again is worth, by weight."""


def restarting_tiger(discount: float = 0.95) -> POMDP:
    listen = np.array([[0.85, 0.15], [0.15, 0.85]])
    even, here = np.full((2, 2), 0.5), "room"
    actions = (
        Action("listen", np.full(2, -1.0), listen, ("left", "right"), (here, here)),
        Action("open-left", np.array([-100.0, 10.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
        Action("open-right", np.array([10.0, -100.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
    )
    factor = Factor("tiger", ("left", "right"), np.full(2, 0.5))
    return POMDP("tiger-again", (factor,), here, FixedMenu(actions), discount=discount)


class Counted:
    """A clock that stands still for so many looks; then a year passes with each, or what it is told happens."""

    def __init__(self, looks: int, then: Callable[[], float] | None = None) -> None:
        self.left, self.then = looks, then

    def __call__(self) -> float:
        self.left -= 1
        if self.left >= 0:
            return 0.0
        return -3e7 * self.left if self.then is None else self.then()


BEGIN = 2
"""Looks at the clock that begin the work."""

LOOKS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 17, 25, 40)


@pytest.mark.parametrize("weight", VALUE)
@pytest.mark.parametrize("looks", LOOKS)
def test_bounds_hold_whenever_the_time_runs_out(monkeypatch, looks, weight):
    monkeypatch.setattr(clock, "now", Counted(looks + BEGIN))

    found = solve(restarting_tiger(), weight=weight, seconds=1.0, gap=1e-9)

    assert found.stopped_by == "time"
    assert math.isfinite(found.lower)
    assert math.isfinite(found.upper)
    assert found.lower - 1e-6 <= VALUE[weight] <= found.upper + 1e-6
    assert found.first in ("listen", "open-left", "open-right")


@pytest.mark.parametrize("looks", [0, 2, 4, 7, 12])
def test_bounds_hold_whenever_somebody_interrupts(monkeypatch, looks):
    def once() -> float:
        monkeypatch.setattr(clock, "now", Counted(0))
        raise KeyboardInterrupt

    problem = restarting_tiger()
    monkeypatch.setattr(clock, "now", Counted(looks + BEGIN, once))

    found = solve(problem, seconds=1.0, gap=1e-9)

    assert found.stopped_by == "interrupted"
    assert found.lower - 1e-6 <= VALUE[0.0] <= found.upper + 1e-6


@cache
def solved_rover():
    problem = rhoplan.make("rocksample:n=4,k=2")
    return problem, solve(problem, gap=1e-6)


@pytest.mark.parametrize("looks", [0, 3, 10, 30, 100])
def test_several_factors_have_bounds_whenever_the_time_runs_out(monkeypatch, looks):
    problem, exact = solved_rover()
    monkeypatch.setattr(clock, "now", Counted(looks + BEGIN))

    found = solve(problem, seconds=1.0, gap=1e-12)

    assert found.lower <= exact.upper
    assert found.upper >= exact.lower


def drawn(seed: int) -> POMDP:
    rng = np.random.default_rng(seed)
    transition = rng.dirichlet(np.full(4, 0.3), (2, 4))
    likelihood = rng.dirichlet(np.ones(2), (2, 4))
    reward = rng.normal(size=(2, 4)) + rng.normal()
    return rhoplan.from_arrays(transition, likelihood, reward, start=rng.dirichlet(np.ones(4)), discount=0.8)


def test_more_time_for_the_last_resort_gives_closer_bounds(monkeypatch):
    ranges = []
    for looks in (0, 3, 100):
        monkeypatch.setattr(clock, "now", Counted(looks))
        found = crude_bounds(drawn(0), weight=0.0, discount=0.8, deadline=1.0)
        ranges.append(found.upper - found.lower)

    assert ranges[0] > ranges[1] > ranges[2]


@pytest.mark.parametrize("seed", range(20))
def test_the_last_resort_holds_beside_a_solved_problem(seed):
    for weight in (0.0, 1.0):
        exact = solve(drawn(seed), weight=weight, gap=0.1)

        found = crude_bounds(drawn(seed), weight=weight, discount=0.8, deadline=math.inf)

        assert found.lower <= exact.upper
        assert found.upper >= exact.lower


@pytest.mark.parametrize("by_outcome", [False, True])
def test_the_last_resort_is_the_same_where_few_states_follow_each(by_outcome):
    """Changes that are written as lists of what follows, one for all results of an action or one for each."""
    rng = np.random.default_rng(5)
    change = rng.dirichlet(np.full(3, 0.5), (2, 2, 3) if by_outcome else (2, 3))
    likelihood, reward = rng.dirichlet(np.ones(2), (2, 3)), rng.normal(size=(2, 3))

    def by_entries(dense):
        return csr_array(dense.reshape(-1, 3))

    def made(written):
        actions = tuple(
            Action(f"a{n}", reward[n], likelihood[n], ("x", "y"), ("here", "here"), transition=written(change[n]))
            for n in range(2)
        )
        return POMDP("p", (Factor("state", ("s", "t", "u"), np.full(3, 1 / 3)),), "here", lambda _: actions)

    whole, listed = (
        crude_bounds(made(written), weight=0.0, discount=0.8, deadline=math.inf) for written in (np.array, by_entries)
    )

    assert (listed.lower, listed.upper) == pytest.approx((whole.lower, whole.upper), rel=1e-12)
    assert listed.first == whole.first


def test_without_a_discount_the_last_resort_says_what_it_knows():
    rover = rhoplan.make("rocksample:n=4,k=2")
    leaving = next(action for action in rover.menu(rover.start) if action.name == "exit")

    found = crude_bounds(rover, weight=0.0, discount=1.0, deadline=math.inf)

    assert found.first == "exit"
    assert found.lower == pytest.approx(leaving.reward[0])
    assert found.upper == math.inf


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("name", ["tiger", "bandit", "diagnosis:n=4"])
def test_the_last_resort_is_finite_where_tests_cost_and_commits_end(name, weight):
    problem = rhoplan.make(name)
    exact = solve(problem, weight=weight)

    for discount in (1.0, 0.9):
        found = crude_bounds(problem, weight=weight, discount=discount, deadline=-math.inf)

        (factor,) = problem.factors
        sure = factor.prior @ np.max([one.reward for one in problem.commits], axis=0)
        told = weight * math.log(len(factor.states))  # the prior is uniform
        assert found.upper == pytest.approx(sure + told)
        assert found.upper >= exact.upper - 1e-9
        assert found.lower == pytest.approx(max(one.reward @ factor.prior for one in problem.commits))


def test_the_last_resort_knows_that_a_state_which_stays_can_be_learnt_once():
    """Listening costs 1 and could, by its range, bring 5 ln 2 each time: in all it does not bring more than that once.

    The tiger is written in general form here, not as lists of tests and commits.
    """
    tiger = rhoplan.make("tiger")
    general = replace(tiger, menu=lambda observable: tiger.menu(observable), name="general")

    found = crude_bounds(general, weight=5.0, discount=1.0, deadline=math.inf)

    assert general.listed is None
    assert found.upper == pytest.approx(10 + 5 * math.log(2))


def test_the_clock_stands_still_while_machine_code_is_made(monkeypatch):
    at = [100.0]
    monkeypatch.setattr(clock.time, "monotonic", lambda: at[0])
    compiling = clock.Compiling()
    monkeypatch.setattr(clock, "COMPILING", compiling)
    told = []
    before = clock.now()
    with clock.telling(lambda: told.append("once")):
        at[0] += 1.0
        compiling.begins()
        compiling.makes_anew()
        compiling.begins()
        at[0] += 40.0
        compiling.ends()
        assert clock.now() - before == pytest.approx(1.0)
        at[0] += 5.0
        compiling.ends()
    compiling.makes_anew()
    at[0] += 2.0

    assert clock.now() - before == pytest.approx(3.0)
    assert compiling.seconds == pytest.approx(45.0)
    assert told == ["once"]

    with clock.never_standing():
        with clock.loading():
            at[0] += 4.0
        assert clock.now() - before == pytest.approx(7.0)
    with clock.loading():
        at[0] += 8.0
    assert clock.now() - before == pytest.approx(7.0)
    assert compiling.seconds == pytest.approx(53.0)


def test_numba_reports_to_the_clock():
    from numba import njit

    from rhoplan.planning import dispatchers

    told, before = [], clock.COMPILING.seconds
    with clock.telling(lambda: told.append(1)):
        njit(lambda number: number + 1)(1)

    assert dispatchers.WATCH
    assert told
    assert clock.COMPILING.seconds > before


def corridor(cost: float) -> POMDP:
    """Three cells, nothing is seen; `right` works at times, `go` ends it and pays 1 in the last cell, -1 elsewhere."""
    transition = np.zeros((3, 4, 4))
    transition[0] = np.eye(4)  # wait, for nothing
    for state in range(3):
        transition[1, state, min(state + 1, 2)] += 0.8
        transition[1, state, state] += 0.2
    transition[1, 3, 3] = 1.0
    transition[2, :, 3] = 1.0
    likelihood = np.zeros((3, 4, 2))
    likelihood[:, :3, 0] = likelihood[:, 3, 1] = 1.0
    reward = np.zeros((3, 4))
    reward[1, :3] = -cost
    reward[2, :3] = [-1.0, -1.0, 1.0]
    return rhoplan.from_arrays(transition, likelihood, reward, start=np.array([0.4, 0.4, 0.2, 0.0]), discount=1.0)


@pytest.mark.parametrize("cost", [0.0, 0.01, 0.3])
def test_waiting_for_nothing_is_no_reason_to_refuse(cost):
    belief, best, paid = np.array([0.4, 0.4, 0.2]), 0.0, 0.0
    step = np.array([[0.2, 0.8, 0.0], [0.0, 0.2, 0.8], [0.0, 0.0, 1.0]])
    for _ in range(200):  # nothing is seen: the best plan goes right so many times, and then `go`; or waits for ever
        best = max(best, paid + float(belief @ [-1.0, -1.0, 1.0]))
        belief, paid = belief @ step, paid - cost

    found = solve(corridor(cost), gap=1e-3, check=True)

    assert found.converged
    assert found.lower - 1e-6 <= best <= found.upper + 1e-6
    assert found.certificate is not None
    assert found.certificate.holds


def test_a_circle_of_two_for_nothing_still_has_bounds():
    # Two cells to walk between for nothing, one of which ends for 1 half of the time and for -2 otherwise.
    transition = np.zeros((2, 3, 3))
    transition[0, 0, 1] = transition[0, 1, 0] = transition[0, 2, 2] = 1.0
    transition[1, :, 2] = 1.0
    likelihood = np.zeros((2, 3, 2))
    likelihood[:, :2, 0] = likelihood[:, 2, 1] = 1.0
    reward = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 0.0]])
    problem = rhoplan.from_arrays(transition, likelihood, reward, start=np.array([0.5, 0.5, 0.0]), discount=1.0)

    found = solve(problem, seconds=2.0, check=True)

    assert found.lower <= 0.0 <= found.upper  # to go on for ever pays 0, to end pays -0.5 in the mean
    assert found.lower >= -1e-6
    assert found.upper <= 1.0 + 1e-6
    assert found.certificate is not None
    assert found.certificate.holds


def test_thousands_of_states_without_a_discount_have_a_plan_that_ends():
    """Chance alone finds the goal of this grid, after hundreds of steps: more than sweeps settle for one policy."""
    problem = with_stops(compile_problem(rhoplan.make("navigation:n=8")))
    steps = lasting(problem, 1.0, math.inf)
    first = first_bounds(problem, weight=0.0, share=1.0, discount=1.0, steps=steps, deadline=math.inf)

    (values,), going = first.vectors, ~np.repeat(problem.ended, problem.sizes)
    later = problem.model.reward + problem.expected(values)
    often = np.bincount(problem.row_slot, minlength=problem.slots)
    followed = np.bincount(problem.row_slot, later, problem.slots)[going] / often[going]  # any action, equally likely
    assert problem.slots > 4000
    assert (values[going] <= followed).all()
    np.testing.assert_allclose(values[going], followed, atol=1e-5)


@pytest.mark.parametrize("stay", [0.0, 0.5])
def test_a_long_way_to_the_end_is_no_reason_to_refuse(stay):
    """A corridor, longer than systems that are solved at once; one goes on, or stays where one is, and sees nothing."""
    states = 2500
    here = np.arange(states)
    transition = np.zeros((1, states, states))
    transition[0, here, np.minimum(here + 1, states - 1)] = 1 - stay
    transition[0, here, here] += stay
    transition[0, -1] = np.eye(states)[-1]
    likelihood = np.zeros((1, states, 2))
    likelihood[0, :-1, 0] = likelihood[0, -1, 1] = 1.0
    reward = np.full((1, states), -1.0)
    reward[0, -1] = 0.0
    start = np.eye(states)[0]
    given = rhoplan.from_arrays(transition, likelihood, reward, start=start, discount=1.0)
    problem = with_stops(compile_problem(given))
    steps = lasting(problem, 1.0, math.inf)
    first = first_bounds(problem, weight=0.0, share=1.0, discount=1.0, steps=steps, deadline=math.inf)
    slot = int(problem.model.class_state[problem.start_class]) + int(np.argmax(problem.start))
    exact = -(states - 1) / (1 - stay)
    assert max(vector[slot] for vector in first.vectors) == pytest.approx(exact, rel=1e-6)
    assert first.corner[slot] == pytest.approx(exact, rel=1e-6)


def test_a_state_that_floats_cannot_leave_is_refused_in_one_line():
    transition = np.array([[[1.0, 1e-17], [0.0, 1.0]]])
    likelihood = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    problem = rhoplan.from_arrays(transition, likelihood, np.array([[-1.0, 0.0]]), discount=1.0)
    with pytest.raises(ProblemError, match="some plan must end for sure"):
        solve(problem)


@pytest.mark.parametrize("weight", VALUE)
def test_a_solve_ends_where_rounding_lets_bounds_come_no_nearer(weight):
    found = solve(restarting_tiger(), weight=weight, gap=1e-300)

    assert found.stopped_by == "precision"
    assert found.lower <= VALUE[weight] + 1e-6
    assert found.upper >= VALUE[weight] - 1e-6
    assert 0 < found.upper - found.lower <= 1e-9


def test_a_reward_for_ever_is_refused_in_one_line():
    transition = np.zeros((2, 2, 2))
    transition[0] = [[0.0, 1.0], [1.0, 0.0]]
    transition[1] = np.eye(2)
    reward = np.zeros((2, 2, 2))
    reward[0, 0] = 1.0
    problem = rhoplan.from_arrays(transition, np.ones((2, 2, 1)), reward, start=np.full(2, 0.5), discount=1.0)

    with pytest.raises(ProblemError, match="a reward can be collected for ever") as refused:
        solve(problem, seconds=5.0)

    assert "\n" not in str(refused.value)


def test_a_problem_larger_than_the_memory_still_has_bounds():
    problem = restarting_tiger()
    found = solve(problem, memory=1.0)
    assert (found.method, found.stopped_by, found.policy) == ("range", "memory", None)
    assert found.lower <= VALUE[0.0] <= found.upper
    assert math.isfinite(found.upper - found.lower)


def test_a_problem_larger_than_the_memory_is_refused_where_no_bound_is_known():
    with pytest.raises(LimitError, match="must fit into"):
        solve(restarting_tiger(), discount=1.0, memory=1.0)


def test_reading_counts_against_the_time(tmp_path, monkeypatch, capsys):
    """A file that takes longer to read than there is gets bounds all the same, and a line says why they are wide."""
    path = tmp_path / "tiger.pomdp"
    path.write_text(write_pomdp(restarting_tiger()))
    ticks = iter(range(0, 10**9, 3600))
    monkeypatch.setattr("rhoplan.app.cli.solve.time", SimpleNamespace(monotonic=lambda: float(next(ticks))))
    monkeypatch.setattr(clock, "loading", lambda: pytest.fail("there is no time to load anything"))

    assert _guarded(["solve", str(path), "--time-limit", "1"]) == 0
    told = " ".join(capsys.readouterr().out.split())

    assert "by the range of rewards: there was not enough time for more" in told
    assert "reading the file took 3600.0 s of the 1 s allowed" in told


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("places", [False, True])
def test_arrays_take_no_more_memory_than_is_reckoned_with(places: bool, weight: float) -> None:
    """A problem too large is refused by that number before anything is made: it must not take twice as much."""
    rng = np.random.default_rng(0)
    states, actions, outcomes = 60, 3, 6
    problem = (
        rhoplan.make("rocksample:n=5,k=5")
        if places
        else rhoplan.from_arrays(
            rng.dirichlet(np.full(states, 0.3), (actions, states)),
            rng.dirichlet(np.full(outcomes, 0.3), (actions, states)),
            rng.uniform(-10, 10, (actions, states)),
            discount=0.95,
        )
    )
    tracemalloc.start()
    ready = compile_problem(problem)
    first_bounds(ready, weight=weight, share=1.0, discount=0.95, steps=np.full(ready.slots, 20.0), deadline=np.inf)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(ready.model.chance) > 50_000
    assert peak <= BYTES_PER_ENTRY * len(ready.model.chance) + 2_000_000


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_bounds_hold_where_memory_is_too_small_for_a_single_step(weight: float) -> None:
    """Twelve hundred beliefs follow from each, more than the arrays have room for at first; they may not grow."""
    rng = np.random.default_rng(0)
    shows, pays = rng.dirichlet(np.ones(30), (40, 3)), np.repeat(rng.normal(size=(40, 3, 1)), 3, axis=2)
    problem = rhoplan.from_arrays(np.repeat(np.eye(3)[None], 40, axis=0), shows, pays, discount=0.9)
    found = solve(problem, method="points", weight=weight, memory=1e6, gap=1e-3, check=True)
    wide = solve(problem, method="points", weight=weight, gap=1.0, check=True)
    assert found.stopped_by == "memory"
    assert found.nodes == 1
    assert found.lower <= wide.lower < wide.upper <= found.upper
    for one in (found, wide):
        assert one.certificate is not None
        assert one.certificate.holds
