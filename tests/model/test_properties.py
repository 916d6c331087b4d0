"""What a problem can do follows from its mathematics, in whichever form it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan import END, POMDP, Action, Factor
from rhoplan.agents.agent import make_agent
from rhoplan.evaluation.steps import policy_steps
from rhoplan.model.horizon import with_horizon
from rhoplan.planning.routing.full_information import full_information_bound
from rhoplan.present.content import check_reportable

FLAT = ("tiger", "bandit", "diagnosis", "chest-pain", "four-diseases")


def in_general_form(problem: POMDP) -> POMDP:
    """`problem` without its lists: factors, and a menu by function."""
    return replace(problem, menu=lambda observable: problem.menu(observable))


def tiger(**changes: object) -> POMDP:
    return in_general_form(replace(rhoplan.make("tiger"), **changes))


def changed(problem: POMDP, name: str, change: Callable[[Action], Action]) -> POMDP:
    """`problem` with one of its actions changed, everywhere."""
    return replace(problem, menu=lambda v: tuple(change(a) if a.name == name else a for a in problem.menu(v)))


@pytest.mark.parametrize("name", FLAT)
def test_the_form_of_a_problem_is_not_its_nature(name: str) -> None:
    listed = rhoplan.make(name)
    general = in_general_form(listed)
    assert listed.observes_then_commits
    assert listed.listed is not None
    assert general.observes_then_commits
    assert general.listed is None
    assert [one.name for one in general.commits] == [one.name for one in listed.flat.commits]


MOVES = np.array([[0.9, 0.1], [0.1, 0.9]])


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("listen", lambda one: replace(one, transition=MOVES)),
        ("listen", lambda one: replace(one, reward=np.array([-1.0, -2.0]))),
        ("listen", lambda one: replace(one, reward=np.array([1.0, 1.0]))),
        ("listen", lambda one: replace(one, leads_to=(one.leads_to[0], END))),
        ("listen", lambda one: replace(one, pays=np.array([[-2.0, -2.0], [0.0, 0.0]]))),
        ("listen", lambda one: replace(one, likelihood=np.ones((2, 1)), outcomes=("-",), leads_to=one.leads_to[:1])),
        ("open-left", lambda one: replace(one, leads_to=("elsewhere",))),
    ],
    ids=[
        "the state changes",
        "price by state",
        "a gain",
        "an outcome ends it",
        "paid by chance",
        "a move",
        "a door on",
    ],
)
def test_other_problems_do_not_observe_then_commit(name: str, change: Callable[[Action], Action]) -> None:
    assert not changed(tiger(), name, change).observes_then_commits


def test_several_factors_or_places_too_many_to_see_are_something_else() -> None:
    two = tiger()
    assert not replace(
        two, factors=(*two.factors, Factor("other", ("a", "b"), np.array([0.5, 0.5])))
    ).observes_then_commits
    listen, *doors = two.menu(two.start)
    endless = POMDP("long", two.factors, 0, lambda n: (replace(listen, leads_to=(n + 1, n + 1)), *doors))
    assert not endless.observes_then_commits
    assert not rhoplan.make("navigation:n=3").observes_then_commits


def test_commits_must_be_the_same_everywhere() -> None:
    base = tiger()
    listen, left, right = base.menu(base.start)
    onward = replace(listen, leads_to=("there", "there"))
    apart = POMDP("apart", base.factors, "here", lambda v: (onward, left, right) if v == "here" else (onward, left))
    assert not apart.observes_then_commits
    alike = POMDP("alike", base.factors, "here", lambda v: (onward, left, right) if v == "here" else (left, right))
    assert alike.observes_then_commits


def test_a_horizon_leaves_a_problem_what_it_is() -> None:
    limited = with_horizon(rhoplan.make("tiger"), 5)
    assert limited.observes_then_commits
    assert limited.listed is None


@pytest.mark.parametrize("name", FLAT)
@pytest.mark.parametrize(
    "found",
    [
        *(lambda one, agent=agent: rhoplan.evaluate(one, agent) for agent in ("planning", "efe", "epistemic-only")),
        lambda one: rhoplan.simulate(one, "efe", seeds=42, episodes=50),
        lambda one: rhoplan.decide(one, make_agent("efe", one, planner="anytime")),
        lambda one: rhoplan.decide(one, make_agent("planning", one, planner="mcts", simulations=50)),
        full_information_bound,
    ],
    ids=["planning", "efe", "epistemic-only", "simulate", "anytime", "mcts", "ceiling"],
)
def test_both_forms_have_the_same_numbers(name: str, found: Callable[[POMDP], object]) -> None:
    listed = rhoplan.make(name)
    assert found(in_general_form(listed)) == found(listed)


def test_both_forms_have_the_same_steps_over_the_weight() -> None:
    listed = rhoplan.make("four-diseases")
    wanted, found = (policy_steps(form, horizon=2, high=20.0) for form in (listed, in_general_form(listed)))
    assert [(step.beliefs, step.changed) for step in found] == [(step.beliefs, step.changed) for step in wanted]
    assert [step.upper for step in found] == pytest.approx([step.upper for step in wanted])


def test_a_leaf_of_its_own_has_no_steps() -> None:
    general = replace(tiger(), leaf=lambda observables, beliefs: np.zeros(len(observables)))
    with pytest.raises(rhoplan.ProblemError, match="steps cannot be found"):
        policy_steps(general, horizon=2)


def test_a_ceiling_puts_off_losses_where_time_is_discounted() -> None:
    """Opening costs 100 behind either door: to listen for ever, at 1 a time, costs 10."""
    both = [replace(one, reward=np.array([-100.0, -100.0])) for one in tiger().commits]
    listen = tiger().menu(tiger().start)[0]
    problem = POMDP("loss", tiger().factors, tiger().start, lambda _: (listen, *both), discount=0.9)
    assert problem.observes_then_commits
    assert full_information_bound(problem).value == pytest.approx(-10.0, abs=1e-6)


def test_what_needs_lists_says_so() -> None:
    with pytest.raises(rhoplan.ProblemError, match="general form"):
        check_reportable(tiger())
    with pytest.raises(rhoplan.ProblemError, match="general form"):
        _ = tiger().flat
    with pytest.raises(rhoplan.ProblemError, match="is not an observe-then-commit problem"):
        _ = rhoplan.make("drilling").flat
