"""An agent in another world than its model: simulated where names agree, refused in one true line where they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import BoundAgent, check_menu, check_world, main, make_agent
from bridge import decide_at as decide
from bridge import estimate as simulate
from rhoplan import POMDP, Action, Belief, ProblemError

SEEDS = (42, 123)


def worth(problem: POMDP, agent: BoundAgent, world: POMDP, cap: int) -> float:
    """What `agent` expects to be paid in `world` within `cap` steps, history by history; one hidden factor."""

    def rest(here: Belief, weights: Any, steps: int) -> float:
        if here.observable is rhoplan.END or not steps or not weights.any():
            return 0.0
        choice = decide(problem, agent, here).choice
        action = next(action for action in world.menu(here.observable) if action.name == choice)
        total = float(weights @ action.reward)
        for number, outcome in enumerate(action.outcomes):
            after = weights * action.likelihood[:, number]
            if action.transition is not None:
                change = action.transition if action.transition.ndim == 2 else action.transition[number]
                after = after @ change
            if action.leads_to[number] is not rhoplan.END and after.any():
                total += rest(here.update(choice, outcome), after, steps - 1)
        return total

    return rest(problem.belief(), world.factors[0].prior, cap)


@pytest.mark.parametrize(
    ("mine", "other", "cap"),
    [
        ("drilling", "drilling:damage=0.6,drill=0.8", 5),
        ("drilling", "drilling:prior=0.6,tap=0.9,cracked=-100", 5),
        ("drilling:tap=0.9", "drilling:tap_cost=3", 5),
        ("navigation:n=2", "navigation:n=2", 4),
        ("tiger", "tiger:accuracy=0.7", 6),
    ],
)
def test_an_estimate_in_another_world_is_right(mine: str, other: str, cap: int) -> None:
    problem, world = rhoplan.make(mine), rhoplan.make(other)
    agent = make_agent("efe", problem, horizon=2)
    found = simulate(problem, agent, world=world, seeds=SEEDS, episodes=2000, max_steps=cap)
    expected = worth(problem, agent, world, cap)
    # Five standard errors: less than one false alarm in a million, and the seeds are fixed.
    assert found.reward == pytest.approx(expected, abs=5 * found.se["reward"] + 1e-9)
    assert rhoplan.evaluate(problem, agent, world=world, max_steps=cap).reward == pytest.approx(expected)


def test_another_world_matters() -> None:
    problem = rhoplan.make("drilling")
    agent = make_agent("efe", problem, horizon=2)
    own = simulate(problem, agent, seeds=SEEDS, episodes=1000)
    other = simulate(problem, agent, world=rhoplan.make("drilling:prior=0.9"), seeds=SEEDS, episodes=1000)
    assert own.reward - other.reward > 10 * (own.se["reward"] + other.se["reward"])


def test_a_world_of_equal_numbers_gives_the_same_rows() -> None:
    """States, actions and outcomes of the world in another order are the same world."""
    problem = rhoplan.make("rocksample:n=3,k=2")
    agent = make_agent("planning", problem, horizon=1)
    own = simulate(problem, agent, seeds=(42,), episodes=60)
    there = simulate(problem, agent, world=rhoplan.make("rocksample:n=3,k=2"), seeds=(42,), episodes=60)
    assert (own.reward, own.steps, own.tallies) == (there.reward, there.steps, there.tallies)

    drilling = rhoplan.make("drilling")
    turned = replace(drilling, menu=Turned(drilling), factors=(turned_factor(drilling),))
    agent = make_agent("efe", drilling, horizon=2)
    own, there = (simulate(drilling, agent, world=one, seeds=SEEDS, episodes=300) for one in (drilling, turned))
    assert own.quantities == there.quantities


def turned_factor(problem: POMDP) -> Any:
    factor = problem.factors[0]
    return replace(factor, states=factor.states[::-1], prior=factor.prior[::-1])


class Turned:
    """The actions of a problem with states, outcomes and menu the other way round."""

    def __init__(self, problem: POMDP) -> None:
        self.problem = problem

    def __call__(self, observable: Any) -> tuple[Action, ...]:
        return tuple(
            replace(
                action,
                reward=action.reward[::-1],
                likelihood=action.likelihood[::-1, ::-1],
                outcomes=action.outcomes[::-1],
                leads_to=action.leads_to[::-1],
                transition=None if action.transition is None else action.transition[::-1, ::-1],
            )
            for action in self.problem.menu(observable)[::-1]
        )


class Changed:
    """The menu of a problem with one action changed, or left out where `changes` is None."""

    def __init__(self, problem: POMDP, name: str, changes: dict[str, Any] | None) -> None:
        self.problem, self.name, self.changes = problem, name, changes

    def __call__(self, observable: Any) -> tuple[Action, ...]:
        kept = (
            action for action in self.problem.menu(observable) if action.name != self.name or self.changes is not None
        )
        return tuple(replace(action, **self.changes or {}) if action.name == self.name else action for action in kept)


def spoilt(name: str, changes: dict[str, Any] | None) -> POMDP:
    problem = rhoplan.make("drilling")
    return replace(problem, menu=Changed(problem, name, changes))


@pytest.mark.parametrize(
    ("world", "message"),
    [
        (lambda: rhoplan.make("tiger"), "must be a problem with observable states of its own like 'drilling'"),
        (lambda: rhoplan.make("rocksample"), "must have the hidden factors of 'drilling': part"),
        (lambda: replace(rhoplan.make("drilling"), start="floor"), "must start where 'drilling' does, in 'bench'"),
        (lambda: spoilt("tap", None), "must have test 'tap' with outcomes clear, dull in observable state 'bench'"),
        (lambda: spoilt("tap", {"outcomes": ("clear", "dim")}), "must have test 'tap' with outcomes clear, dull"),
        (lambda: spoilt("scrap", None), "must have commit 'scrap' in observable state 'bench'"),
        (
            lambda: spoilt("tap", {"leads_to": ("bench", "floor")}),
            "'tap' of world 'drilling' in observable state 'bench' must",
        ),
        (lambda: spoilt("tap", {"factor": 1}), "must be about part"),
    ],
)
def test_a_world_that_lacks_a_name_is_refused(world: Any, message: str) -> None:
    problem = rhoplan.make("drilling")
    for work in (simulate, rhoplan.evaluate):
        with pytest.raises(ProblemError) as caught:
            work(problem, make_agent("efe", problem, horizon=2), world=world())
        assert message in str(caught.value)
        assert "simulate" not in str(caught.value)
        assert caught.value.field == ("world",)


def test_a_flat_problem_needs_a_flat_world() -> None:
    tiger = rhoplan.make("tiger")
    with pytest.raises(ProblemError, match="must be an observe-then-commit problem like 'tiger'"):
        check_world(tiger, rhoplan.make("drilling"))
    with pytest.raises(ProblemError, match="must have the states of 'tiger': tiger-left, tiger-right"):
        check_world(tiger, rhoplan.make("testbed"))


def test_what_lacks_far_away_is_told_when_it_is_met() -> None:
    """The world lacks an action two steps from the start: no episode goes on without it."""

    def corridor(last: tuple[Action, ...]) -> POMDP:
        def menu(observable: Any) -> tuple[Action, ...]:
            return (
                last if observable == 2 else (Action("on", np.zeros(2), np.ones((2, 1)), ("done",), (observable + 1,)),)
            )

        return POMDP("corridor", (rhoplan.Factor("hidden", ("a", "b"), np.array([0.5, 0.5])),), 0, menu)

    leave = Action("leave", np.ones(2), np.ones((2, 1)), ("done",), (rhoplan.END,))
    problem, world = corridor((leave,)), corridor((replace(leave, name="go"),))
    check_world(problem, world)
    with pytest.raises(ProblemError, match="must have commit 'leave' in observable state 2"):
        check_menu(problem, world, 2)
    agent = make_agent("planning", problem)
    with pytest.raises(ProblemError, match="must have commit 'leave' in observable state 2"):
        simulate(problem, agent, world=world, seeds=(42,), episodes=3)
    with pytest.raises(ProblemError, match="must have commit 'leave' in observable state 2"):
        rhoplan.evaluate(problem, agent, world=world)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as caught:
        main(list(arguments))
    printed = capsys.readouterr()
    return int(caught.value.code or 0), printed.out + printed.err


@pytest.mark.parametrize("command", [("evaluate",), ("simulate", "--episodes", "20", "--seeds", "42")])
def test_the_command_line_takes_another_world_or_says_why_not(
    capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    """It once sent people from `evaluate` to `simulate`, which refused as well."""
    code, said = run(capsys, *command, "drilling", "--world", "drilling:tap=0.9")
    assert code == 0, said
    assert "drilling:tap=0.9" in said
    code, said = run(capsys, *command, "drilling", "--world", "tiger")
    assert code == 2
    assert "must be a problem with observable states of its own like 'drilling'" in said
    assert "simulate" not in said
