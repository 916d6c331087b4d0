"""What policies on classes are worth from below: by a linear system or by sweeps, however many there is time for."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rhoplan
from rhoplan.model.pomdp import END, POMDP, Action, Factor

pytest.importorskip("numba", reason="solving general problems needs numba")

policies = pytest.importorskip("rhoplan.planning.certified.pointbased.policies")
records = pytest.importorskip("rhoplan.planning.certified.pointbased.records")

CHANGE = np.random.default_rng(4).dirichlet(np.ones(3), (2, 3))
PAYS = np.array([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]])


def compiled(discount: float):
    """Three states, of which two signs tell a little, so that all stand in one class."""
    shows = np.tile([[0.7, 0.3], [0.5, 0.5], [0.2, 0.8]], (2, 1, 1))
    return records.compile_problem(rhoplan.from_arrays(CHANGE, shows, PAYS, discount=discount))


@pytest.mark.parametrize("action", [0, 1, None])
@pytest.mark.parametrize("discount", [0.5, 0.95, 0.9999])
def test_no_value_is_above_what_the_policy_earns_however_it_is_found(action, discount, monkeypatch) -> None:
    problem = compiled(discount)
    mean = slice(None) if action is None else slice(action, action + 1)
    change, pays = CHANGE[mean].mean(axis=0), PAYS[mean].mean(axis=0)
    known = np.linalg.solve(np.eye(3) - discount * change, pays)[problem.state]
    policy = np.full(problem.classes, policies.ANY if action is None else action)
    rest = np.zeros(problem.slots, dtype=bool)
    found = {}
    for dense, late in ((700, math.inf), (0, math.inf), (0, -math.inf)):
        monkeypatch.setattr(policies, "MOST_DENSE", dense)
        found[dense, late] = policies._value_of(problem, policy, discount, 3.0, rest, late)
        assert (found[dense, late] <= known).all()
    assert found[700, math.inf] == pytest.approx(known, rel=1e-8, abs=1e-9)
    assert found[0, math.inf] == pytest.approx(known, rel=1e-8, abs=1e-6)
    assert (found[0, -math.inf] < known - 0.01).all()  # after one sweep


def pushes(chance: float) -> POMDP:
    """A door that opens so often at a push, which costs 1; or one waits, and nothing happens."""
    push = Action("push", np.full(1, -1.0), np.array([[1 - chance, chance]]), ("shut", "open"), ("here", END))
    wait = Action("wait", np.full(1, -1.0), np.ones((1, 1)), ("shut",), ("here",))
    return POMDP("door", (Factor("none", ("only",), np.ones(1)),), "here", lambda _: (push, wait))


@pytest.mark.parametrize("dense", [2000, 0])
@pytest.mark.parametrize("chance", [0.5, 0.01])
def test_without_a_discount_a_policy_has_a_value_where_it_ends(chance: float, dense: int, monkeypatch) -> None:
    monkeypatch.setattr(policies, "MOST_DENSE_GOAL", dense)
    problem = records.compile_problem(pushes(chance))
    over = problem.ended[np.repeat(np.arange(problem.classes), problem.sizes)]
    for pair, known in ((0, -1 / chance), (policies.ANY, -2 / chance), (1, None)):
        policy = np.where(problem.ended, -1, pair)
        values = policies._value_of(problem, policy, 1.0, 1.0, over, math.inf)
        if known is None:
            assert values is None  # who only waits never ends
        else:
            assert values[~over] == pytest.approx(known, rel=1e-5)
            assert (values[~over] <= known).all()


@pytest.mark.parametrize("few", [200, 0])
def test_visits_are_counted_alike_at_once_and_step_by_step(few: int, monkeypatch) -> None:
    """They are as many in all as there are steps, later ones counting less."""
    monkeypatch.setattr(policies, "FEW_SLOTS", few)
    problem = compiled(0.9)
    visits = policies._visits(problem, np.zeros(problem.classes, dtype=np.int64), 0.8, math.inf)
    start = np.full(3, 1 / 3)
    known = np.linalg.solve(np.eye(3) - 0.8 * CHANGE[0].T, start)[problem.state]
    assert visits == pytest.approx(known, abs=1e-4)
    assert visits.sum() == pytest.approx(5, abs=1e-3)
    at_once = policies._visits(problem, np.zeros(problem.classes, dtype=np.int64), 0.8, -math.inf)
    assert at_once == pytest.approx(known if few else start[problem.state], abs=1e-4)


def test_steps_are_counted_along_the_arcs() -> None:
    rest = np.array([True, False, False, False, False])
    source, target = np.array([1, 2, 2, 3, 4]), np.array([0, 1, 3, 2, 4])
    assert policies.steps_to(rest, source, target).tolist() == [0, 1, 2, 3, math.inf]
    assert policies.can_end(rest, source, target).tolist() == [True, True, True, True, False]
