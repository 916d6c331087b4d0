"""Two rocks, two places: the smallest problem with several hidden factors, moves, and a sample that changes the state.

At each place the agent may go to the other one, check the rock there (right 4 times in 5), sample it (+10 good, -10
bad, and it is spent) or leave. The recursion below knows these rules and nothing of rhoplan's records.
"""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rhoplan
from bridge import decide_at as decide
from bridge import information, make_agent, predict
from rhoplan import Belief
from strategies import laws

CLOSE = 1e-9

MOVE, CHECK, LEAVE = 0.25, 0.5, 3.0
PLACES = ("left", "right")
PRIORS = ((0.5, 0.5, 0.0), (0.7, 0.3, 0.0))
"""Belief about each rock: good, bad, spent."""


def toy(leaf=None) -> rhoplan.POMDP:
    states = ("good", "bad", "spent")
    into_spent = np.tile([0.0, 0.0, 1.0], (3, 1))
    check = np.array([[0.8, 0.2], [0.2, 0.8], [0.5, 0.5]])
    none = np.ones((3, 1))

    def menu(place: str) -> tuple[rhoplan.Action, ...]:
        here = PLACES.index(place)
        there = PLACES[1 - here]
        return (
            rhoplan.Action("move", np.full(3, -MOVE), none, ("done",), (there,)),
            rhoplan.Action("check", np.full(3, -CHECK), check, ("looks-good", "looks-bad"), (place,) * 2, here),
            rhoplan.Action("sample", np.array([10.0, -10.0, 0.0]), none, ("done",), (place,), here, into_spent),
            rhoplan.Action("leave", np.full(3, LEAVE), none, ("done",), (rhoplan.END,)),
        )

    menus = {place: menu(place) for place in PLACES}
    factors = tuple(
        rhoplan.Factor(f"rock-{place}", states, np.array(p)) for place, p in zip(PLACES, PRIORS, strict=True)
    )
    problem = rhoplan.POMDP("toy", factors, "left", menus.__getitem__, leaf=leaf)
    rhoplan.check_problem(problem)
    return problem


def hopeful_leaf(places, beliefs):
    """Leaving, plus half of what sampling both rocks would pay, less the way to the other one."""
    worth = np.stack([np.maximum(0.0, 10 * b[:, 0] - 10 * b[:, 1]) for b in beliefs])
    rows, here = np.arange(len(places)), np.array([PLACES.index(place) for place in places])
    return LEAVE + 0.5 * worth[here, rows] + np.maximum(0.0, 0.5 * worth[1 - here, rows] - MOVE)


def plain_leaf(place, rocks, hopeful):
    if not hopeful:
        return LEAVE
    here = PLACES.index(place)
    worth = [max(0.0, 10 * good - 10 * bad) for good, bad, _ in rocks]
    return LEAVE + 0.5 * worth[here] + max(0.0, 0.5 * worth[1 - here] - MOVE)


def checked(rock):
    """Probability of each report and the belief after it."""
    good, bad, spent = rock
    result = []
    for rates in ((0.8, 0.2, 0.5), (0.2, 0.8, 0.5)):
        chance = good * rates[0] + bad * rates[1] + spent * rates[2]
        result.append((chance, (good * rates[0] / chance, bad * rates[1] / chance, spent * rates[2] / chance)))
    return result


def uncertainty(rock):
    return -sum(p * math.log(p) for p in rock if p > 0)


def plain_values(place, rocks, depth, weight, discount, hopeful):
    """Value of each action at look-ahead `depth`, by recursion over places and beliefs."""

    def best(place, rocks):
        if depth == 1:
            return plain_leaf(place, rocks, hopeful)
        return max(plain_values(place, rocks, depth - 1, weight, discount, hopeful).values())

    here = PLACES.index(place)

    def with_rock(rock):
        return tuple(rock if k == here else other for k, other in enumerate(rocks))

    reports = checked(rocks[here])
    gained = uncertainty(rocks[here]) - sum(chance * uncertainty(rock) for chance, rock in reports)
    return {
        "move": -MOVE + discount * best(PLACES[1 - here], rocks),
        "check": -CHECK + weight * gained + discount * sum(c * best(place, with_rock(rock)) for c, rock in reports),
        "sample": 10 * rocks[here][0] - 10 * rocks[here][1] + discount * best(place, with_rock((0.0, 0.0, 1.0))),
        "leave": LEAVE,
    }


settings = pytest.mark.parametrize(
    ("weight", "discount", "hopeful"), [(0.0, 1.0, False), (2.0, 1.0, False), (0.0, 0.9, True), (5.0, 0.95, True)]
)


SITUATIONS = [
    ("left", PRIORS),
    ("right", PRIORS),
    ("right", ((0.0, 0.0, 1.0), (0.9, 0.1, 0.0))),
    ("left", ((0.15, 0.85, 0.0), (0.0, 0.0, 1.0))),
    ("left", ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1))),
]


@settings
@pytest.mark.parametrize("horizon", [1, 2, 3, 4])
@pytest.mark.parametrize(("place", "rocks"), SITUATIONS)
def test_decision_shows_the_values_of_plain_recursion(place, rocks, horizon, weight, discount, hopeful):
    problem = toy(hopeful_leaf if hopeful else None)
    agent = make_agent("planning-ig", problem, horizon=horizon, weight=weight, discount=discount)

    decision = decide(problem, agent, Belief(problem, place, tuple(map(np.array, rocks))))

    wanted = plain_values(place, rocks, horizon, weight, discount, hopeful)
    assert {a.name: a.value for a in decision.actions} == pytest.approx(wanted, abs=CLOSE)
    assert [a.name for a in decision.actions] == ["move", "check", "sample", "leave"]
    # Ending wins ties, then the lower index does.
    order = ["leave", "move", "check", "sample"]
    top = max(wanted.values())
    assert decision.choice == next(name for name in order if wanted[name] > top - CLOSE)


def test_decision_shows_the_parts_of_a_value():
    problem = toy()
    agent = make_agent("planning-ig", problem, horizon=1, weight=3.0)
    check = rhoplan.decide(problem, agent).actions[1]
    gained = math.log(2) + 0.8 * math.log(0.8) + 0.2 * math.log(0.2)
    assert check.name == "check"
    found = (check.reward, check.information, check.weighted_information, check.continuation)
    assert found == pytest.approx((-CHECK, gained, 3 * gained, LEAVE), abs=1e-14)


def test_kinds_are_derived_from_what_actions_do():
    kinds = {action.name: action.kind for action in toy().menu("left")}
    assert kinds == {"move": "move", "check": "test", "sample": "sample", "leave": "commit"}


def test_outcome_that_ends_the_episode_has_no_continuation():
    """Walking a plank that breaks under half of the states: the walk may end the episode, or teach that it held."""
    walk = rhoplan.Action(
        "walk",
        np.array([5.0, -1.0]),
        np.array([[1.0, 0.0], [0.4, 0.6]]),
        ("holds", "breaks"),
        ("across", rhoplan.END),
    )
    stay = rhoplan.Action("stay", np.array([1.0, 1.0]), np.ones((2, 1)), ("done",), (rhoplan.END,))
    claim = rhoplan.Action("claim", np.array([8.0, 0.0]), np.ones((2, 1)), ("done",), (rhoplan.END,))
    menus = {"start": (walk, stay), "across": (claim,)}
    factor = rhoplan.Factor("plank", ("sound", "rotten"), np.array([0.5, 0.5]))
    problem = rhoplan.POMDP("plank", (factor,), "start", menus.__getitem__)

    decision = rhoplan.decide(problem, make_agent("planning", problem, horizon=2, discount=0.9))

    values = {action.name: action.value for action in decision.actions}
    assert walk.kind == "test"
    # P(holds) = 0.7, and then sound has probability 5/7: 2 + 0.9 * 0.7 * 8 * 5/7.
    assert values == pytest.approx({"walk": 2 + 0.9 * 0.5 * 8, "stay": 1.0}, abs=1e-12)


def test_place_without_an_ending_is_worth_nothing_at_the_leaf():
    go = rhoplan.Action("go", np.array([-2.0]), np.ones((1, 1)), ("done",), ("end-of-road",))
    leave = rhoplan.Action("leave", np.array([7.0]), np.ones((1, 1)), ("done",), (rhoplan.END,))
    menus = {"road": (go,), "end-of-road": (leave,)}
    factor = rhoplan.Factor("nothing", ("only",), np.array([1.0]))
    problem = rhoplan.POMDP("road", (factor,), "road", menus.__getitem__)
    found = [rhoplan.decide(problem, make_agent("planning", problem, horizon=depth)).actions for depth in (1, 2)]
    assert [[action.value for action in actions] for actions in found] == [[5.0], [5.0]]


# A test that can change what it measures


numbers = st.integers(0, 9)


def rows(draw_weights: list[int], width: int) -> np.ndarray:
    table = np.array(draw_weights, dtype=float).reshape(-1, width)
    table[table.sum(axis=1) == 0] = 1.0
    return table / table.sum(axis=1, keepdims=True)


@given(st.data(), st.integers(2, 3), st.integers(2, 3), st.booleans())
@laws
def test_information_of_a_destructive_test_is_about_the_state_it_leaves(data, states, outcomes, by_outcome):
    def table(height, width):
        return rows(data.draw(st.lists(numbers, min_size=height * width, max_size=height * width)), width)

    belief = table(1, states)[0]
    likelihood = table(states, outcomes)
    transition = table(outcomes * states, states).reshape(outcomes, states, states)
    if not by_outcome:
        transition = np.stack([transition[0]] * outcomes)
    action = rhoplan.Action(
        "drill",
        np.zeros(states),
        likelihood,
        tuple(map(str, range(outcomes))),
        ("here",) * outcomes,
        transition=transition if by_outcome else transition[0],
    )

    joint = [
        [sum(belief[s] * likelihood[s][o] * transition[o][s][t] for s in range(states)) for t in range(states)]
        for o in range(outcomes)
    ]
    chance = [sum(row) for row in joint]
    following = [sum(row[t] for row in joint) for t in range(states)]
    shared = sum(
        joint[o][t] * math.log(joint[o][t] / (chance[o] * following[t]))
        for o in range(outcomes)
        for t in range(states)
        if joint[o][t] > 0
    )
    assert predict(belief[None, :], action)[0] == pytest.approx(following, abs=1e-14)
    assert information(belief[None, :], action)[0] == pytest.approx(shared, abs=1e-12)
    factor = rhoplan.Factor("part", tuple(map(str, range(states))), belief)
    problem = rhoplan.POMDP("part", (factor,), "here", lambda place: (action,))
    for seen in problem.belief().branches(action):
        o = action.outcomes.index(seen.observation)
        assert seen.belief.beliefs[0] == pytest.approx(np.array(joint[o]) / chance[o], abs=1e-14)


def test_test_that_resets_the_state_teaches_nothing_about_it():
    reset = np.array([[0.5, 0.5], [0.5, 0.5]])
    action = rhoplan.Action("crush", np.zeros(2), np.eye(2), ("a", "b"), ("here",) * 2, transition=reset)
    assert not action.preserves_hidden_state
    assert information(np.array([[0.3, 0.7]]), action)[0] == pytest.approx(0, abs=1e-15)
