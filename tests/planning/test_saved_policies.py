"""Files of policies: what they are read for, and what is refused in their place."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import AgentError, ProblemError
from rhoplan.model.diagnostic import Done
from rhoplan.model.horizon import Left, horizon_of
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import END, POMDP, Action, Factor
from rhoplan.planning.asked import check_about_states, check_asked, spelt, unbeaten
from rhoplan.planning.certified.errand_policy import ErrandPolicy
from rhoplan.planning.certified.saved import load_policy, saved_horizon
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")


def test_a_policy_with_a_horizon_is_read_for_the_problem_itself_or_with_that_horizon(tmp_path: Path) -> None:
    tiger, path = rhoplan.make("tiger"), tmp_path / "three"
    policy = solve(tiger, horizon=3).policy
    assert policy is not None
    policy.save(path)
    assert saved_horizon(path) == 3
    for problem in (tiger, rhoplan.with_horizon(tiger, 3)):
        again = load_policy(path, problem)
        assert horizon_of(again.origin) == 3
        assert again.value(again.origin.belief()) == policy.value(policy.origin.belief())
    with pytest.raises(ProblemError, match="has other numbers: solve it again"):
        load_policy(path, rhoplan.with_horizon(tiger, 4))


def test_a_policy_names_the_problem_it_was_solved_for(tmp_path: Path) -> None:
    path = tmp_path / "rover"
    policy = solve(rhoplan.make("rocksample:n=3,k=1"), method="grids", gap=5.0).policy
    assert policy is not None
    policy.save(path)
    assert saved_horizon(path) is None
    with pytest.raises(ProblemError, match="solved for, rocksample:n=3,k=1; 'tiger' has other numbers"):
        load_policy(path, rhoplan.make("tiger"))


def test_what_is_no_policy_is_told_from_what_cannot_be_read(tmp_path: Path) -> None:
    tiger, path = rhoplan.make("tiger"), tmp_path / "other"
    for unreadable in (path, tmp_path):
        with pytest.raises(ProblemError, match=r"^cannot read policy '.*': "):
            load_policy(unreadable, tiger)
    path.write_text("not a policy")
    with pytest.raises(ProblemError, match="must be a policy saved by rhoplan solve --save; it is not"):
        load_policy(path, tiger)
    for told in ('{"format": "other"}', "[]", "{}"):
        with path.open("wb") as file:
            np.savez(file, told=np.array(told))
        with pytest.raises(ProblemError, match="must be a policy saved by rhoplan solve --save; it is not"):
            load_policy(path, tiger)


def test_a_plan_of_errands_brings_no_bounds_of_another_problem(tmp_path: Path) -> None:
    problem = rhoplan.make("rocksample:n=3,k=2")
    policy = solve(problem, method="errands").policy
    other = solve(rhoplan.make("rocksample:n=3,k=1"), method="grids", gap=5.0).policy
    assert isinstance(policy, ErrandPolicy)
    policy.save(tmp_path / "own")
    assert load_policy(tmp_path / "own", problem).value(problem.belief()) == policy.value(problem.belief())
    replace(policy, above=(other,)).save(tmp_path / "mixed")  # type: ignore[arg-type]
    with pytest.raises(ProblemError, match="has other numbers: solve it again"):
        load_policy(tmp_path / "mixed", problem)


TOOLS = (0, 8)
"""Numbers with one place in a set of eight: the first to come stands first, as strings do by chance."""


def basket(tools: frozenset[int]) -> POMDP:
    """Two things to be taken or not, with the tools at hand."""
    coins = tuple(Factor(f"f{n}", ("good", "bad"), np.array([0.6, 0.4])) for n in (0, 1))

    def take(n: int, observable: tuple[str, frozenset[int]]) -> Action:
        after = (observable[0] + str(n), tools)
        return Action(f"take-{n}", np.array([2.0, -1.0]), np.ones((2, 1)), ("on",), (after,), factor=n)

    def menu(observable: Any) -> tuple[Action, ...]:
        stop = Action("stop", np.zeros(2), np.ones((2, 1)), ("on",), (END,))
        return (*(take(n, observable) for n in (0, 1) if str(n) not in observable[0]), stop)

    return POMDP("basket", coins, ("", tools), menu)


@pytest.mark.parametrize("method", ["errands", "grids", "points"])
def test_a_policy_is_read_whatever_the_order_in_which_members_of_sets_stand(method: str, tmp_path: Path) -> None:
    one, other = frozenset(TOOLS), frozenset(reversed(TOOLS))
    assert one == other
    assert repr(one) != repr(other)
    policy = solve(basket(one), method=method, gap=0.5).policy
    assert policy is not None
    policy.save(tmp_path / "basket")
    again = load_policy(tmp_path / "basket", basket(other))
    assert again.action(again.origin.belief()) == policy.action(policy.origin.belief())


@dataclass(frozen=True)
class Shelf:
    held: frozenset[str]
    number: int = 1
    note: str = field(default="", repr=False)


def test_visible_states_are_spelt_as_they_are_shown_but_for_sets() -> None:
    plain = (END, "a", 1.5, (1,), (), ("b", ("c", None)), frozenset(), frozenset({3}), Left(2, Done(tests=1)), Shelf)
    for observable in (*plain, Shelf(frozenset({"x"}))):
        assert spelt(observable) == repr(observable)
    assert spelt(frozenset({"pear", "fig", 10, 2})) == "frozenset({2, 10, 'fig', 'pear'})"
    shelf = spelt(Left(1, (Shelf(frozenset({"b", "a"})),)))
    assert shelf == "Left(actions=1, observable=(Shelf(held=frozenset({'a', 'b'}), number=1),))"


def test_what_is_asked_may_go_as_far_as_the_words_say() -> None:
    check_asked(0.0, 1.0, 1e-300)
    check_asked(LARGEST_REWARD, 1e-9, 1.0)
    for weight, discount, gap, name in (
        (np.nextafter(LARGEST_REWARD, np.inf), 1.0, 1.0, "weight"),
        (-1e-300, 1.0, 1.0, "weight"),
        (np.nan, 1.0, 1.0, "weight"),
        (0.0, 0.0, 1.0, "discount"),
        (0.0, 1.0 + 1e-15, 1.0, "discount"),
        (0.0, np.nan, 1.0, "discount"),
        (0.0, 1.0, 0.0, "gap"),
        (0.0, 1.0, np.nan, "gap"),
    ):
        with pytest.raises(AgentError, match=f"^{name} must be") as caught:
            check_asked(weight, discount, gap)
        assert caught.value.field == (name,)


def test_one_factor_that_asks_about_its_diagnosis_is_enough_to_refuse() -> None:
    rover = rhoplan.make("rocksample:n=3,k=2")
    one, *others = rover.factors
    about = replace(one, diagnosis_of=("ill",) * len(one.states), about_diagnosis=True)
    problem = replace(rover, factors=(about, *others))
    check_about_states(rover, 1.0, "method points")
    check_about_states(problem, 0.0, "method points")
    with pytest.raises(AgentError, match="method points counts information about the state"):
        check_about_states(problem, 1.0, "method points")


def test_what_is_unbeaten_is_at_least_as_good_as_all_others_may_be() -> None:
    assert unbeaten({"a": (1.0, 2.0), "b": (2.0, 5.0)}) == "b"
    assert unbeaten({"a": (1.0, 2.1), "b": (2.0, 5.0)}) is None
    assert unbeaten({"a": (0.0, 9.0)}) == "a"
    assert unbeaten({}) is None
