"""Files of Storm with many states and observations: actions are as large as their observation, and worth the same."""

from __future__ import annotations

import math
import random

import pytest

import rhoplan
from rhoplan.belief_math.transitions import dense
from rhoplan.io import drn
from rhoplan.io.drn import parse_drn
from rhoplan.planning import clock
from rhoplan.planning.certified.crude import crude_bounds
from rhoplan.planning.certified.solve import solve


def walk(seed: int, states: int = 12, seen: int = 4) -> str:
    """States drawn to follow each other, two actions in each, and a last one that is never left."""
    rng = random.Random(seed)
    lines = ["@type: POMDP", "@reward_models", "r", "@nr_states", str(states + 1), "@model"]
    for state in range(states):
        lines.append(f"state {state} {{{rng.randrange(seen) if state else 0}}} [{rng.randint(-1, 1)}]")
        lines[-1] += " init" if not state else ""
        for action in range(2):
            first, second = rng.sample(range(states), 2)
            lines += [f"\taction {action} [{rng.randint(-4, 2)}]", f"\t\t{states} : 0.25"]
            lines += [f"\t\t{first} : 0.5", f"\t\t{second} : 0.25"]
    lines += [f"state {states} {{over}} [0]", "\taction stay [0]", f"\t\t{states} : 1"]
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(5))
def test_states_called_by_their_observation_are_worth_the_same(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    all_named = parse_drn(walk(seed))
    monkeypatch.setattr(drn, "MOST_NAMED", 0)
    few_named = parse_drn(walk(seed))
    assert len(few_named.states) < len(all_named.states) == 13
    assert "information is what is learned about that number" in few_named.note
    for horizon in (None, 3):
        found = [solve(problem, discount=0.9, horizon=horizon, gap=1e-4) for problem in (all_named, few_named)]
        assert found[0].lower - 1e-6 <= found[1].upper
        assert found[1].lower - 1e-6 <= found[0].upper
        assert all(one.upper - one.lower <= 1e-4 for one in found)


def test_each_action_says_of_its_own_states_what_the_file_says(monkeypatch: pytest.MonkeyPatch) -> None:
    all_named = parse_drn(walk(7))
    monkeypatch.setattr(drn, "MOST_NAMED", 0)
    few_named = parse_drn(walk(7))
    inside: dict[object, list[int]] = {}
    for number, state in enumerate(few_named.menu.states):  # type: ignore[attr-defined]
        inside.setdefault(state.seen, []).append(number)
    assert len(few_named.states) == max(map(len, inside.values()))
    assert "13 states are called by their number among those of their observation" in few_named.note
    for observable, actions in few_named.menus():
        here = inside[observable]
        for mine, whole in zip(actions, all_named.menu(observable), strict=True):
            assert (mine.name, mine.outcomes, mine.leads_to) == (whole.name, whole.outcomes, whole.leads_to)
            assert mine.reward[: len(here)].tolist() == whole.reward[here].tolist()
            assert mine.likelihood[: len(here)].tolist() == whole.likelihood[here].tolist()
            assert mine.transition is not None
            assert whole.transition is not None
            small, large = (dense(one.transition, len(one.outcomes)) for one in (mine, whole))  # type: ignore[arg-type]
            for outcome, seen in enumerate(mine.outcomes):
                for place, number in enumerate(here):
                    there = inside[seen]
                    assert small[outcome, place, : len(there)].tolist() == large[outcome, number, there].tolist()


def test_a_file_of_many_observations_has_small_actions() -> None:
    problem = parse_drn(walk(0, states=1500, seen=400))
    assert all(action.reward.size < 15 for _, actions in problem.menus(20) for action in actions)
    assert all(problem.prior == [1.0] + [0.0] * (len(problem.states) - 1))


@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("horizon", [None, 1, 3])
def test_the_range_of_rewards_is_told_though_there_is_no_time_to_look(horizon: int | None, weight: float) -> None:
    for seed in range(5):
        problem = parse_drn(walk(seed))
        exact = solve(problem, discount=0.9, weight=weight, horizon=horizon, gap=1e-3)
        asked = rhoplan.with_horizon(problem, horizon) if horizon else problem
        found = crude_bounds(asked, weight=weight, discount=0.9, deadline=-math.inf)
        assert -math.inf < found.lower <= exact.upper
        assert exact.lower <= found.upper < math.inf
        assert found.first in {action.name for action in problem.menu(problem.start)}


def test_without_a_discount_the_range_may_say_nothing() -> None:
    found = crude_bounds(parse_drn(walk(0)), weight=0.0, discount=1.0, deadline=clock.now() - 1)
    assert (found.lower, found.upper) == (-math.inf, math.inf)
