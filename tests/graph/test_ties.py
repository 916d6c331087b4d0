"""A tie is a tie of the values at hand: noise never settles a choice, and no large number elsewhere makes a tie."""

from fractions import Fraction

import numpy as np
import pytest

import rhoplan
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy, action_values, in_order
from rhoplan._old.ties import above, at_least, choose, ranked, tolerance
from rhoplan.advice.sensitivity import flips
from rhoplan.agents.agent import BoundAgent, decide, make_agent
from rhoplan.evaluation.steps import policy_steps
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.recommendation import ActionValue


def test_best_wins_and_ties_go_to_the_first() -> None:
    values = np.array([[1.0, 1.0 + 1e-14, 0.5], [0.0, 1.0, 1.0 - 1e-14], [-np.inf, -np.inf, -np.inf]])

    assert choose(values).tolist() == [0, 1, 0]


def test_gains_widen_a_tie_where_they_cancel() -> None:
    values = np.array([[0.0, 3e-13]])

    assert choose(values).tolist() == [1]
    assert choose(values, 10.0).tolist() == [0]
    assert tolerance(-5.0, 1.0) == pytest.approx(7e-12)


def test_ranking_keeps_the_order_of_what_ties() -> None:
    assert ranked(np.array([2.0, 3.0, 3.0 + 1e-13, 1.0, 2.0 + 1e-13])) == [1, 2, 0, 4, 3]


def test_thresholds_do_not_depend_on_the_last_digit() -> None:
    assert at_least(0.1 + 0.2 - 1e-16, 0.3)
    assert not above(0.1 + 0.2, 0.3)


def giant(scale: float = 1.0) -> rhoplan.POMDP:
    """A state of probability 5e-13 in which a mistake costs 2e13, and a perfect test for a thousandth."""
    perfect = np.eye(2)
    return rhoplan.DiagnosticProblem(
        name="giant",
        states=("good", "bad"),
        prior=np.array([1 - 5e-13, 5e-13]),
        tests=(rhoplan.Test("t", 0.001 * scale, ("n", "p"), perfect, repeatable=False),),
        decisions=(
            rhoplan.Decision("A", np.array([0.0, -2e13]) * scale),
            rhoplan.Decision("B", np.array([-1e13, -1e13]) * scale),
        ),
    )


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e20])
def test_giant_losses_of_tiny_probability_make_no_tie(scale: float) -> None:
    problem = giant(scale)
    agent = make_agent("planning", problem, horizon=1)

    decision = rhoplan.decide(problem, agent)
    score, best = rhoplan.evaluate(problem, agent), solve(problem, gap=1e-6 * scale)

    assert decision.choice == "t"
    assert decision.margin == pytest.approx(4.999 * scale, rel=1e-3)
    assert score.reward == pytest.approx(-5.001 * scale, rel=1e-9)
    assert best.lower == best.reward == pytest.approx(-5.001 * scale, rel=1e-9)
    assert best.first == "t"


def prize(weight: float) -> tuple[rhoplan.POMDP, BoundAgent]:
    """A commit that pays 1e13 in a rare state and loses half of that elsewhere: nobody would take it."""
    rows = np.array([[0.45, 0.4, 0.15], [0.42, 0.31, 0.27]])
    problem = rhoplan.DiagnosticProblem(
        name="prize",
        states=("rare", "usual"),
        prior=np.array([0.007, 0.993]),
        tests=(rhoplan.Test("t", 0.061, ("x", "y", "z"), rows, repeatable=False),),
        decisions=(
            rhoplan.Decision("stay", np.array([-7.5, -1.5])),
            rhoplan.Decision("play", np.array([1e13, -5e12])),
        ),
    )
    return problem, make_agent("planning-ig", problem, weight=weight, horizon=1)


@pytest.mark.parametrize(("weight", "first"), [(0.0, "stay"), (10.0, "stay"), (1e3, "t")])
def test_a_prize_that_nobody_plays_for_makes_no_tie(weight: float, first: str) -> None:
    """What the test tells is worth 0.0036 at weight 1: the difference is a hair of the prize and none of the values."""
    problem, agent = prize(weight)
    decision, best = rhoplan.decide(problem, agent), solve(problem, weight=weight, gap=1e-9)
    test, stay, _ = decision.actions

    assert (decision.choice, best.first) == (first, first)
    assert decision.margin == pytest.approx(abs(stay.value - test.value), rel=1e-12)
    assert decision.margin > 0.01
    assert best.lower == pytest.approx(max(stay.value, test.value), rel=1e-12)


def test_where_the_choice_changes_does_not_hang_on_such_a_prize() -> None:
    problem, agent = prize(10.0)
    told = rhoplan.decide(problem, agent).actions[0].information
    crossing = 0.061 / told

    (flip,) = flips(problem, agent, only=["weight"])
    steps = policy_steps(problem, horizon=1, high=2 * crossing)

    assert flip.up.value == pytest.approx(crossing, rel=1e-5)
    assert [step.lower for step in steps] == pytest.approx([0.0, crossing], rel=1e-9)


def test_doubtful_ties_are_settled_by_the_gains_that_are_there() -> None:
    values, most = np.array([[1.0, 1.5, -9.0], [0.0, 1e-6, -1.0]]), np.array([1e13, 1e13])

    assert choose(values, most).tolist() == [0, 0]
    assert choose(values, most, lambda rows: np.zeros((len(rows), 3))).tolist() == [1, 1]
    # The gains of a third value make no tie of two others; those of either of the two do.
    assert choose(values, most, lambda rows: np.array([[0.0, 0.0, 1e13]] * len(rows))).tolist() == [1, 1]
    assert choose(values, most, lambda rows: np.array([[0.0, 1e13, 0.0]] * len(rows))).tolist() == [0, 0]
    assert choose(values, most, lambda rows: np.array([[1e13, 0.0, 0.0]] * len(rows))).tolist() == [0, 0]


def test_what_is_never_offered_ties_with_nothing() -> None:
    assert choose(np.array([[-np.inf, 1.0, 2.0]]), 1e13, lambda rows: np.zeros((1, 3))).tolist() == [2]


def test_information_at_near_certainty_makes_no_tie() -> None:
    """At P = 1e-13 the information is 3e-12 nats; a price of 1e13 per nat makes it worth 31, and 31 is not a tie."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    problem = rhoplan.DiagnosticProblem(
        name="sure",
        states=("usual", "rare"),
        prior=np.array([1 - 1e-13, 1e-13]),
        tests=(rhoplan.Test("look", 20.0, ("no", "yes"), rows),),
        decisions=(rhoplan.Decision("go", np.zeros(2)),),
    )
    agent = make_agent("planning-ig", problem, weight=1e13, horizon=1)

    decision = rhoplan.decide(problem, agent)

    # H = p (1 - ln p) to first order: exact to 1e-13 relative.
    nats = 1e-13 * (1 - np.log(1e-13))
    assert decision.choice == "look"
    assert decision.actions[0].value == pytest.approx(1e13 * nats - 20, rel=1e-9)


@pytest.mark.parametrize("size", [1e9, 1e12, 1e15, 1e18])
def test_a_score_keeps_its_digits_beside_giant_losses(size: float) -> None:
    """Losses of `size` that nobody incurs: the perfect test costs 20 and decides."""
    problem = rhoplan.DiagnosticProblem(
        name="sums",
        states=("a", "b"),
        tests=(rhoplan.Test("t", 20.0, ("n", "p"), np.eye(2), repeatable=False),),
        decisions=(rhoplan.Decision("A", np.array([0.0, -size])), rhoplan.Decision("B", np.array([-size, 0.0]))),
    )
    for agent in (make_agent("planning", problem), make_agent("planning", problem, precision=1.0)):
        score = rhoplan.evaluate(problem, agent)
        assert score.reward == -20.0
        assert score.reward_sd == 0.0
    other = rhoplan.evaluate(problem, make_agent("planning", problem), world=rare_world(problem))
    assert other.reward == -20.0


def rare_world(problem: rhoplan.POMDP) -> rhoplan.POMDP:
    return rhoplan.DiagnosticProblem(
        name="world",
        states=problem.states,
        tests=problem.flat.tests,
        decisions=problem.flat.commits,
        prior=np.array([0.9, 0.1]),
    )


def test_the_spread_is_that_of_the_distribution() -> None:
    """Mean and variance by hand where one case in a million loses a million times as much."""
    loss, share = 1e12, 1e-6
    problem = rhoplan.DiagnosticProblem(
        name="rare",
        states=("usual", "rare"),
        prior=np.array([1 - share, share]),
        tests=(),
        decisions=(rhoplan.Decision("go", np.array([-1.0, -loss])),),
    )

    score = rhoplan.evaluate(problem, make_agent("planning", problem))

    assert score.reward == pytest.approx(-(1 - share) - share * loss, rel=1e-15)
    assert score.reward_sd == pytest.approx((loss - 1) * (share * (1 - share)) ** 0.5, rel=1e-12)


def exact_nav_myopic(size: int, cap: int) -> Fraction:
    """Mean reward of the walker that heads for the likeliest cell, in fractions: nothing is rounded, no tie is lost."""
    cells = [(row, column) for row in range(size) for column in range(size)]
    moves = {"north": (-1, 0), "south": (1, 0), "east": (0, 1), "west": (0, -1)}

    def go(here: tuple[int, int], move: str) -> tuple[int, int]:
        row, column = here[0] + moves[move][0], here[1] + moves[move][1]
        return (row, column) if 0 <= row < size and 0 <= column < size else here

    def warm(apart: int) -> Fraction:
        return Fraction(55, 100) + Fraction(35, 100) * (1 - Fraction(apart, 2 * (size - 1)))

    def distance(one: tuple[int, int], other: tuple[int, int]) -> int:
        return abs(one[0] - other[0]) + abs(one[1] - other[1])

    def choice(here: tuple[int, int], joint: dict[tuple[int, int], Fraction]) -> str:
        there = max(cells, key=lambda cell: (joint.get(cell, Fraction(0)), -cells.index(cell)))
        if there == here:
            return next(move for move in moves if go(here, move) != here)
        down, right = there[0] - here[0], there[1] - here[1]
        if abs(down) >= abs(right):
            return "south" if down > 0 else "north"
        return "east" if right > 0 else "west"

    def value(here: tuple[int, int], joint: dict[tuple[int, int], Fraction], left: int) -> Fraction:
        """Expected reward times the chance of what was seen; joint: of the goal's cell and of what was seen."""
        if left == 0 or not joint:
            return Fraction(0)
        target = go(here, choice(here, joint))
        found = joint.get(target, Fraction(0)) if target != here else Fraction(0)
        rest = {cell: share for cell, share in joint.items() if cell != target or target == here}
        total = 20 * found - Fraction(1, 2) * sum(rest.values(), Fraction(0))
        for likelihood in (lambda d: warm(d), lambda d: 1 - warm(d)):
            after = {cell: share * likelihood(distance(target, cell)) for cell, share in rest.items()}
            total += value(target, {cell: share for cell, share in after.items() if share}, left - 1)
        return total

    start = {cell: Fraction(1, size * size) for cell in cells}
    return value((0, 0), start, cap)


@pytest.mark.parametrize(("size", "cap"), [(2, 8), (3, 5), (3, 12), (4, 9)])
def test_the_walker_breaks_ties_by_rule_and_not_by_noise(size: int, cap: int) -> None:
    problem = rhoplan.make(f"navigation:n={size}")

    score = rhoplan.evaluate(problem, make_agent("nav-myopic", problem), max_steps=cap)

    assert score.reward == pytest.approx(float(exact_nav_myopic(size, cap)), abs=1e-9)


def test_the_most_probable_action_of_a_soft_agent_is_chosen_by_the_same_rule() -> None:
    problem = rhoplan.make("diagnosis")
    agent = make_agent("planning", problem, precision=3.0)
    given = [("test-0", "positive"), ("test-1", "negative"), ("test-1", "positive")]
    names = [test.name for test in problem.flat.tests]
    outcomes = problem.flat.tests[0].outcomes
    evidence = [(names[int(test[-1]) % len(names)], outcomes[outcome == "positive"]) for test, outcome in given]

    soft = decide(problem, agent, problem.belief(given=evidence))
    sharp = decide(problem, make_agent("planning", problem), problem.belief(given=evidence))

    assert soft.choice == sharp.choice


def test_commits_rank_by_money_however_much_there_is_to_learn() -> None:
    """Losses of 1e-10 at weight 1: what could be learned says nothing of one commit against another."""
    losses = 4e-10 * (1 - np.eye(3))
    problem = rhoplan.DiagnosticProblem(
        name="small",
        states=("a", "b", "c"),
        prior=np.array([0.3, 0.301, 0.399]),
        tests=(rhoplan.Test("look", 8e-10, ("n", "p"), np.array([[0.6, 0.4], [0.4, 0.6], [0.5, 0.5]])),),
        decisions=tuple(rhoplan.Decision(name, -row) for name, row in zip("ABC", losses, strict=True)),
    )
    agent = make_agent("efe", problem, horizon=1)

    ranking = [action.name for action in in_order_of(problem, agent)]

    assert ranking == ["look", "C", "B", "A"]


def in_order_of(problem: rhoplan.POMDP, agent: BoundAgent) -> list[ActionValue]:
    policy = GraphPolicy(Graph(problem), agent)
    return in_order(policy, policy.graph.root, action_values(policy, policy.graph.root))


def test_nothing_is_above_itself_and_everything_is_at_least_itself() -> None:
    for value in (0.0, 3.0, -3.0, 1e300):
        hair = 1e-11 * abs(value)
        assert not above(value, value)
        assert at_least(value, value)
        assert above(value + hair, value) == (value != 0)
        assert at_least(value - hair, value) == (value == 0)
