"""A plan followed forward gives what listing every episode gives, on any problem and in any world."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import product

import numpy as np
import pytest

import rhoplan
from rhoplan import END, POMDP, Action, Factor
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.model.belief import Belief
from rhoplan.model.worlds import in_names_of


@dataclass(frozen=True)
class Episode:
    probability: float
    reward: float
    discounted: float
    tests: int
    steps: int
    cut: bool


def episodes(problem: POMDP, agent: BoundAgent, world: POMDP, cap: int) -> Iterator[Episode]:
    """Every episode with its probability: hidden states, outcomes and changes of state are listed one by one."""
    policy = agent.policy(problem)

    def choices(belief: Belief) -> list[tuple[float, Action]]:
        shares = policy.probabilities(belief)
        return [(shares[action.name], action) for action in belief.menu if shares[action.name] > 0]

    def follow(
        situation: Belief, states: tuple[int, ...], chance: float, paid: float, faded: float, tests: int, steps: int
    ) -> Iterator[Episode]:
        if steps == cap:
            yield Episode(chance, paid, faded, tests, steps, True)
            return
        for share, mine in choices(situation):
            action = next(one for one in world.menu(situation.observable) if one.name == mine.name)
            state = states[action.factor]
            reward = float(action.reward[state])
            now, later = paid + reward, faded + world.discount**steps * reward
            counted = tests + (mine.kind == "test")
            for outcome in np.flatnonzero(action.likelihood[state]):
                weight = chance * share * float(action.likelihood[state, outcome])
                place = mine.outcomes.index(action.outcomes[outcome])
                if mine.leads_to[place] is END:
                    yield Episode(weight, now, later, counted, steps + 1, False)
                    continue
                after = {b.observation: b.belief for b in situation.branches(mine)}[mine.outcomes[place]]
                moves = [(1.0, state)]
                if action.transition is not None:
                    rows = np.broadcast_to(action.transition, (len(action.outcomes), *action.transition.shape[-2:]))
                    moves = [(float(p), s) for s, p in enumerate(rows[outcome, state]) if p > 0]
                for moved, new in moves:
                    held = (*states[: action.factor], new, *states[action.factor + 1 :])
                    yield from follow(after, held, weight * moved, now, later, counted, steps + 1)

    for states in product(*(range(len(factor.states)) for factor in world.factors)):
        chance = math.prod(float(f.prior[s]) for f, s in zip(world.factors, states, strict=True))
        if chance > 0:
            yield from follow(problem.belief(), states, chance, 0.0, 0.0, 0, 0)


def assert_alike(problem: POMDP, agent: BoundAgent, cap: int, world: POMDP | None = None) -> rhoplan.Score:
    listed = list(episodes(problem, agent, in_names_of(problem, world) if world else problem, cap))
    score = rhoplan.evaluate(problem, agent, world=world, max_steps=cap)
    mean = math.fsum(e.probability * e.reward for e in listed)
    spread = math.fsum(e.probability * (e.reward - mean) ** 2 for e in listed)
    assert math.fsum(e.probability for e in listed) == pytest.approx(1)
    assert score.reward == pytest.approx(mean, abs=1e-9)
    assert score.reward_sd**2 == pytest.approx(spread, abs=1e-8)
    assert score.discounted == pytest.approx(math.fsum(e.probability * e.discounted for e in listed), abs=1e-9)
    assert score.tests == pytest.approx(math.fsum(e.probability * e.tests for e in listed), abs=1e-9)
    assert score.steps == pytest.approx(math.fsum(e.probability * e.steps for e in listed), abs=1e-9)
    assert score.truncated == pytest.approx(math.fsum(e.probability for e in listed if e.cut), abs=1e-9)
    return score


SMALL = [
    ("drilling", "efe", {}, 5),
    ("navigation:n=2", "nav-myopic", {}, 6),
    ("navigation:n=2", "efe", {"precision": 0.7}, 3),
    ("rocksample:n=3,k=2,rocks=0.1/2.2", "efe", {"horizon": 2}, 7),
    ("rocksample:n=3,k=2,rocks=0.1/2.2", "planning", {"horizon": 1, "precision": 0.5}, 2),
    ("inspection:n=2", "efe", {"horizon": 2}, 6),
    ("tiger", "planning", {"horizon": 2, "precision": 0.1}, 4),
    ("diagnosis", "efe", {}, 4),
]


@pytest.mark.parametrize(("spec", "name", "settings", "cap"), SMALL)
def test_scores_are_those_of_all_episodes(spec: str, name: str, settings: dict[str, float], cap: int) -> None:
    problem = rhoplan.make(spec)
    assert_alike(problem, make_agent(name, problem, **settings), cap)


@pytest.mark.parametrize(("spec", "cap"), [("drilling", 4), ("navigation:n=2", 4), ("inspection:n=2", 5), ("tiger", 5)])
def test_another_world_pays_and_answers(spec: str, cap: int) -> None:
    """The same problem with other probabilities at the start, and rewards that are half as large."""
    problem = rhoplan.make(spec)
    factors = tuple(replace(f, prior=(f.prior + f.prior[::-1] * 2) / 3) for f in problem.factors)

    @cache
    def menu(observable: object) -> tuple[Action, ...]:
        return tuple(replace(action, reward=action.reward / 2) for action in problem.menu(observable))

    if problem.listed is None:
        other = replace(problem, name="changed", factors=factors, menu=menu)
    else:
        other = rhoplan.make("tiger:accuracy=0.6,cost=3")
    agent = make_agent("efe", problem, horizon=2)
    mine = rhoplan.evaluate(problem, agent, max_steps=cap)
    assert assert_alike(problem, agent, cap, other).reward != mine.reward


def restarting_tiger(discount: float = 0.95) -> POMDP:
    """Tiger that starts again behind new doors after each opening; it never ends."""
    rows = np.array([[0.85, 0.15], [0.15, 0.85]])
    even = np.full((2, 2), 0.5)
    menu = (
        Action("listen", np.array([-1.0, -1.0]), rows, ("left", "right"), ("room", "room")),
        Action("open-left", np.array([-100.0, 10.0]), np.ones((2, 1)), ("done",), ("room",), transition=even),
        Action("open-right", np.array([10.0, -100.0]), np.ones((2, 1)), ("done",), ("room",), transition=even),
    )
    hidden = Factor("tiger", ("left", "right"), np.array([0.5, 0.5]))
    return POMDP("restarting", (hidden,), "room", lambda _: menu, discount=discount, horizon=8)


def test_a_problem_without_an_end_has_a_discounted_value() -> None:
    """Its optimum is 19.371368; 400 steps leave less than 1e-5 of it out."""
    problem = restarting_tiger()
    agent = make_agent("planning", problem, horizon=10)

    score = rhoplan.evaluate(problem, agent, max_steps=400)

    assert score.discounted == pytest.approx(19.371368, abs=2e-3)
    assert score.steps == pytest.approx(400)
    assert score.truncated == pytest.approx(1)
    assert score.reward_sd > 100


def test_what_was_paid_tells_about_the_state() -> None:
    """Twice the same stake on one hidden coin: the spread is that of the sum, not of two coins."""
    coin = Factor("coin", ("tails", "heads"), np.array([0.5, 0.5]))
    stake = Action("stake", np.array([-1.0, 1.0]), np.ones((2, 1)), ("done",), ("again",))
    last = replace(stake, name="last", leads_to=(END,))
    menus = {"start": (stake,), "again": (last,)}
    problem = POMDP("twice", (coin,), "start", menus.__getitem__)

    score = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=2))

    assert (score.reward, score.reward_sd) == pytest.approx((0.0, 2.0))


def test_a_result_whose_chance_is_too_small_for_floats_leaves_the_spread_as_it_is() -> None:
    """One state in 1e300 shows a sign that the others never show, and then one in 1e30 of those another."""
    hidden = Factor("hidden", ("rare", "low", "high"), np.array([1e-300, 0.5, 0.5]))
    signs = np.array([[1e-5, 0.0, 1 - 1e-5], [0.0, 1e-5, 1 - 1e-5], [0.0, 1e-5, 1 - 1e-5]])
    look = Action("look", np.array([0.0, -1.0, 1.0]), signs, ("a", "b", "c"), ("again", "again", "again"))
    last = Action("last", np.array([0.0, -1.0, 1.0]), np.array([[1e-30, 1.0], [0, 1], [0, 1]]), ("p", "q"), (END, END))
    menus = {"start": (look,), "again": (replace(last, leads_to=("end", END)),), "end": (last,)}
    problem = POMDP("rare", (hidden,), "start", menus.__getitem__)

    score = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=3))

    assert (score.reward, score.reward_sd) == pytest.approx((0.0, 2.0))
