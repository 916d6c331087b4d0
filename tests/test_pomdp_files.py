"""Cassandra's .pomdp files: the whole grammar, faults with their line, and the way back."""

import itertools
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rhoplan
from bridge import RESERVED, _guarded, as_dense, lookahead_value, make_agent, parse_pomdp, write_pomdp
from rhoplan import ModelFileError
from strategies import Draw, dice, distribution, laws, random_case

TIGER = """# Cassandra's tiger
discount: 0.95
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right
observations: obs-left obs-right

T:listen
identity
T:open-left
uniform
T:open-right
uniform

O:listen
0.85 0.15
0.15 0.85
O:open-left
uniform
O:open-right
uniform

R:listen : * : * : * -1
R:open-left : tiger-left : * : * -100
R:open-left : tiger-right : * : * 10
R:open-right : tiger-left : * : * 10
R:open-right : tiger-right : * : * -100
"""

HEAD = """discount: 0.9
states: a b c
actions: go stay
observations: x y
"""


def joint(problem: rhoplan.POMDP, name: str) -> np.ndarray:
    """P(s', o | s) of an action, (S, O, S)."""
    action = next(action for action in problem.menu(problem.start) if action.name == name)
    states, outcomes = action.likelihood.shape
    change = as_dense(np.eye(states) if action.transition is None else action.transition, outcomes)
    return np.einsum("so,ost->sot", action.likelihood, change)


def line_of(text: str, at: str | None) -> int | None:
    """The line on which `at` first stands in `text`."""
    return None if at is None else text[: text.index(at)].count("\n") + 1


def reward(problem: rhoplan.POMDP, name: str) -> list[float]:
    return next(action for action in problem.menu(problem.start) if action.name == name).reward.tolist()


def value(problem: rhoplan.POMDP, depth: int, weight: float = 0.0) -> float:
    """The most that `depth` actions can be worth; nothing is worth anything after them."""
    return lookahead_value(problem, depth, weight, problem.discount, leaf=lambda places, _: np.zeros(len(places)))


def test_tiger_is_the_tiger():
    tiger = parse_pomdp(TIGER, file="tiger.pomdp")

    assert tiger.name == "tiger"
    assert tiger.discount == 0.95
    assert tiger.prior.tolist() == [0.5, 0.5]
    listen, left, _ = tiger.menu(tiger.start)
    assert listen.transition is None
    assert listen.likelihood.tolist() == [[0.85, 0.15], [0.15, 0.85]]
    assert listen.same_reward == -1
    assert left.reward.tolist() == [-100, 10]
    np.testing.assert_allclose(joint(tiger, "open-left"), 0.25)


@pytest.mark.parametrize(
    ("lines", "prior"),
    [
        ("", [1 / 3] * 3),
        ("start: uniform", [1 / 3] * 3),
        ("start: 0.5 .25 25e-2", [0.5, 0.25, 0.25]),
        ("start:\n0.5\n+0.25 0.25", [0.5, 0.25, 0.25]),
        ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]),
        ("start include: a c", [0.5, 0, 0.5]),
        ("start include : 0 2", [0.5, 0, 0.5]),
        ("start exclude: b", [0.5, 0, 0.5]),
    ],
)
def test_every_form_of_start(lines, prior):
    text = f"{HEAD}{lines}\nT: * identity\nO: * uniform\n"

    np.testing.assert_allclose(parse_pomdp(text).prior, prior)


MOVES = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5]]


@pytest.mark.parametrize(
    "lines",
    [
        "T: go\n0 1 0\n0 0 1\n.5 0 .5",
        "T: go : a 0 1 0\nT: go : b\n0 0 1\nT: go : c 0.5 0 0.5",
        "T: go : a : b 1\nT: go : b : c 1.0\nT: go : c : a 5e-1\nT: go : c : c 0.5",
        "T: 0 : 0 : 1 1\nT: 0 : 1 : 2 1\nT: 0 : 2 : 0 .5\nT: 0 : 2 : 2 .5",
        "T : go : * uniform\nT: go : a 0 1 0\nT: go : b 0 0 1\nT: go : c : b 0\nT: go : c : a .5\nT: go : c : c .5",
        "T: * : * : * 0\nT: go : a : b 1 T: go : b : c 1\nT: go : c : * 0.5\nT: go : c : b 0",
        "T: go : a : b .3\nT: go : 1 : c 1\nT: go : a : * 0\nT: go : a : b 1\nT: go : c : 0 .5\nT: 0 : c : c .5",
        "T: go identity\nT: go : * : * 0\nT: go : a : b 1\nT: go : b : c 1\nT: go : c\n.5\n0\n.5 # done",
    ],
)
def test_every_form_of_transitions(lines):
    problem = parse_pomdp(f"{HEAD}{lines}\nT: stay identity\nO: * uniform\n")

    np.testing.assert_allclose(joint(problem, "go").sum(axis=1), MOVES)
    assert joint(problem, "stay").sum(axis=1).tolist() == np.eye(3).tolist()


def test_reset_goes_back_to_the_start():
    problem = parse_pomdp(f"{HEAD}start: 0.2 0.3 0.5\nT: * identity\nT: go : c reset\nO: * uniform\n")

    np.testing.assert_allclose(joint(problem, "go").sum(axis=1), [[1, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5]])


@pytest.mark.parametrize(
    "lines",
    [
        "O: *\n1 0\n.5 .5\n0 1",
        "O: * : a 1 0\nO: * : b uniform\nO: * : c\n0 1",
        "O: * : a : x 1\nO: * : b : * 0.5\nO: * : c : y 1",
        "O: * : * : y 1\nO: go : a : x 1\nO: go : a : y 0\nO: go : b uniform\nO: stay : 0 1 0\nO: stay : 1 .5 .5",
        "O: * uniform\nO: * : 0 : 0 1\nO: * : 0 : 1 0\nO: * : c : x 0 O: * : c : y 1",
    ],
)
def test_every_form_of_observations(lines):
    problem = parse_pomdp(f"{HEAD}T: * identity\n{lines}\n")

    for action in problem.menu(problem.start):
        np.testing.assert_allclose(action.likelihood, [[1, 0], [0.5, 0.5], [0, 1]])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("R: * : * : * : * 2", [2, 2, 2]),
        ("R: go : a : * : * 1\nR: go : b : * : * 2 R: go : c : * : * -3e0", [1, 2, -3]),
        ("R: go : * : b : * 4", [4, 0, 0]),
        ("R: go : * : * : y 4", [0, 4, 2]),
        ("R: go : c : a\n8 0", [0, 0, 4]),
        ("R: go : c\n8 0 0 0 0 2", [0, 0, 5]),
        ("R: go : *\n1 2\n3 4\n5 6", [3, 6, 3.5]),
        ("R: go : a : * : * 7\nR: * : * : * : * 1", [1, 1, 1]),
        ("R: * : * : * : * 1\nR: go : a : b : x 7", [7, 1, 1]),
        ("R: go : c : c : * 6\nR: go : c : * : x 2", [0, 0, 4]),
        ("R: go : c : * : x 2\nR: go : c : c : * 6", [0, 0, 4]),
    ],
)
def test_every_form_of_rewards_and_the_last_line_counts(lines, expected):
    """From a to b, seen as x; from b to c, seen as y; from c to a (seen as x) or to c (seen as y)."""
    shows = "O: *\n1 0\n1 0\n0 1\n"
    moves = "T: stay identity\nT: go\n0 1 0\n0 0 1\n.5 0 .5\n"

    assert reward(parse_pomdp(f"{HEAD}{moves}{shows}{lines}\n"), "go") == pytest.approx(expected)
    costs = parse_pomdp(f"{HEAD}values: cost\n{moves}{shows}{lines}\n")
    assert reward(costs, "go") == pytest.approx([-one for one in expected])


def test_names_may_be_keywords_or_stand_anywhere():
    text = """discount : 1.0 states : T uniform
    reset actions: O start observations: R discount
    start: uniform T: O identity
    T: start : T : reset 1.0 T: start : uniform reset T: start : reset : uniform 1
    O: * : * 1 0 R: O : T : * : * 3"""

    problem = parse_pomdp(text)

    assert problem.states == ("T", "uniform", "reset")
    assert problem.prior.tolist() == [0, 1, 0]
    assert reward(problem, "O") == [3, 0, 0]


def test_states_and_actions_by_number():
    problem = parse_pomdp(
        "discount: .5\nstates: 2\nactions: 3\nobservations: 2\nT: * uniform\nO: * uniform\nR: 2 : 1 : * : * 5"
    )

    assert problem.states == ("0", "1")
    assert [action.name for action in problem.menu(problem.start)] == ["0", "1", "2"]
    assert reward(problem, "2") == [0, 5]


def test_few_digits_are_told_and_divided_out():
    row = " ".join(["0.333333"] * 3)
    problem = parse_pomdp(f"{HEAD}start: {row}\nT: * : * {row}\nO: * uniform\n")

    assert problem.prior.sum() == pytest.approx(1, abs=1e-15)
    assert "7 rows of probabilities printed with few digits, off 1 by 1e-06 at most" in problem.note


def test_a_state_that_is_never_left_ends_the_episode_where_it_is_seen():
    text = """discount: 1
    states: left right over
    actions: look take
    observations: l r done
    start include: left right
    T: look identity
    T: take : * : over 1
    O: look : left 0.8 0.2 0
    O: look : right 0.2 0.8 0
    O: * : over : done 1
    O: take : left uniform O: take : right uniform
    R: look : left : * : * -1
    R: look : right : * : * -1
    R: take : left : * : * 10 R: take : right : * : * -20"""

    look, take = (problem := parse_pomdp(text)).menu("here")

    assert take.ends_episode
    assert look.leads_to == ("here", "here", rhoplan.END)
    score = rhoplan.evaluate(problem, make_agent("planning", problem))
    assert score.truncated == pytest.approx(0, abs=1e-9)


def test_states_that_are_never_left_but_look_different_go_on():
    """With a price on information it is worth finding out in which of them one is."""
    text = "discount: .9\nstates: a b\nactions: look\nobservations: x y\nT: * identity\nO: * : a 1 0\nO: * : b 0 1"

    (look,) = parse_pomdp(text).menu("here")

    assert look.leads_to == ("here", "here")


FAULTS = {
    "a number of states below 0": ("discount: 1\nstates: -3", 2, "a whole number; they are '-3'"),
    "a number of actions with a point": ("discount: 1\nactions: 3.0", 2, "a whole number; they are '3.0'"),
    "a start after a reset": (
        f"{HEAD}T: * : * reset\nO: * uniform\nstart: 1",
        7,
        "'start:' must stand before 'reset', which stands for it",
    ),
    "an underscore in a number": (f"{HEAD}T: * : 0 : 0 1_0", 5, "expected a number for a probability; found '1_0'"),
    "a digit of another script": (f"{HEAD}T: * : 0 \u0661 0", 5, "found '\u0661'"),
    "an unknown statement": ("nonsense: 3", 1, "expected discount:"),
    "a stray number": (f"{HEAD}T: * identity\n0.5", 6, "expected discount:"),
    "no states": ("discount: 1\nactions: 2\nobservations: 2\nT: * identity", 4, "'states:' must stand before T"),
    "nothing but a discount": ("discount: 1", None, "must say 'states:'"),
    "no discount": ("states: 1 actions: 1 observations: 1 T: * identity O: * uniform", None, "must say 'discount:'"),
    "a discount of 2": ("discount: 2", 1, "discount must be above 0"),
    "a discount in words": ("discount: much", 1, "expected a number for the discount; found 'much'"),
    "values of neither kind": ("values: profit", 1, "values must be reward or cost"),
    "names twice": ("states: a b a", 1, "'a' stands there twice"),
    "states twice": ("states: a b\nstates: a b", 2, "it stands there twice"),
    "no names": ("states:\nactions: 2", 1, "expected the names of the states"),
    "a wildcard as a name": ("states: a *", 1, "'*' cannot be the name"),
    "a word that begins nothing": ("states: a b\nobersvations: 2", 2, "expected one of discount, values, states"),
    "several states to start in": (f"{HEAD}start: a b", 5, "for several write 'start include:'"),
    "no state at all": ("states: 0", 1, "states must be at least 1"),
    "a reward before all names": ("discount: 1\nR: a : * : * : * 1", 2, "'states:' must stand before T"),
    "start before states": ("start: uniform", 1, "'states:' must stand before 'start:'"),
    "an unknown start": (f"{HEAD}start: d", 5, "expected one of the states (a, b, c); found 'd'"),
    "an unknown start among many": ("states: a b c d e f g\nstart: x", 2, "(a, b, c, d, e, f, ...); found 'x'"),
    "an unknown start in a list": (f"{HEAD}start include: a\nd", 6, "expected one of the states"),
    "a start without states": (f"{HEAD}start exclude: a b c", 5, "must leave at least one state"),
    "a start that is too short": (
        f"{HEAD}start: .5 .5\nT: * identity",
        6,
        "expected 3 numbers for start; found 'T' after 2",
    ),
    "a start that does not sum to 1": (f"{HEAD}start: .5 .5 .5", 5, "it sums to 1.5"),
    "an unknown action": (f"{HEAD}T: fly : a : b 1", 5, "expected one of the actions (go, stay); found 'fly'"),
    "an unknown state": (f"{HEAD}T: go : a : d 1", 5, "expected one of the states"),
    "a number beyond the states": (f"{HEAD}T: go : 3 : a 1", 5, "expected one of the states"),
    "an unknown observation": (f"{HEAD}O: go : a : z 1", 5, "expected one of the observations (x, y); found 'z'"),
    "a missing probability": (
        f"{HEAD}T: go : a : b",
        5,
        "expected a number for a probability; found the end of the file",
    ),
    "a probability in words": (f"{HEAD}T: go : a : b often", 5, "found 'often'"),
    "infinity": (f"{HEAD}T: go : a : b inf", 5, "expected a number"),
    "infinity after other lines": (
        f"{HEAD}T: * identity\nT: go : a : a 0\nT: go : a : b 1\nT: go : a : c inf",
        8,
        "expected a number",
    ),
    "an unknown state after other lines": (
        f"{HEAD}T: * identity\nO: go : a : x 1\nO: go : b : x 1\nO: go : d : x 1",
        8,
        "expected one of the states (a, b, c); found 'd'",
    ),
    "transitions that later lines make wrong": (
        f"{HEAD}T: * identity\nO: * uniform\nT: go : a : b 0.5\nT: go : a : c 0.5\nT: stay : c : c 1",
        8,
        "transitions of action 'go' and state 'a' must be probabilities that sum to 1; they sum to 2",
    ),
    "a short row": (f"{HEAD}T: go : a 1 0\nO: * uniform", 6, "expected 3 numbers for a row; found 'O' after 2"),
    "a short matrix": (f"{HEAD}T: go\n1 0 0\n0 1 0\nO: * uniform", 8, "expected 9 numbers for a matrix"),
    "a reset of observations": (f"{HEAD}O: go : a reset", 5, "reset must stand for the states"),
    "an identity of observations": (f"{HEAD}O: go identity", 5, "expected 6 numbers for a matrix; found 'identity'"),
    "a reward without states": (f"{HEAD}R: go 5", 5, "expected ':' and one of the states; found '5'"),
    "a colon too many": (f"{HEAD}T: : a", 5, "expected one of the actions, or *; found ':'"),
    "transitions that do not sum to 1": (
        f"{HEAD}T: * identity\nT: go : b : b 0.9\nO: * uniform",
        6,
        "transitions of action 'go' and state 'b' must be probabilities that sum to 1; they sum to 0.9",
    ),
    "transitions below 0": (
        f"{HEAD}T: * identity\nT: go : b -1 1 1\nO: * uniform",
        6,
        "transitions of action 'go' and state 'b' must be probabilities that sum to 1; one is -1",
    ),
    "transitions that no line is about": (
        f"{HEAD}T: stay identity\nT: go : a 1 0 0\nT: go : c 1 0 0\nO: * uniform",
        None,
        "transitions of action 'go' and state 'b' must be probabilities that sum to 1; no line is about them",
    ),
    "observations that no line is about": (
        f"{HEAD}T: * identity\nO: stay uniform\nO: go : a uniform",
        None,
        "observations of action 'go' and state 'b' must be probabilities that sum to 1; no line is about them",
    ),
    "observations that do not sum to 1": (
        f"{HEAD}T: * identity\nO: * uniform\nO: stay : c : x 0.6",
        7,
        "observations of action 'stay' and state 'c' must be probabilities that sum to 1; they sum to 1.1",
    ),
    "a reward too large": (f"{HEAD}T: * identity\nO: * uniform\nR: go : a : * : * 1e200", 7, "reward of test 'go'"),
    "more observations than fit": (
        "discount: 1 states: 100000 actions: 10 observations: 1000\nO: 0 : 0 : 0 1",
        None,
        "numbers at most",
    ),
    "an empty file": ("", None, "must say 'discount:'"),
}


@pytest.mark.parametrize("mark", ["\x85", "\x0b", "\x0c", "\x1c", "\u2028"])
def test_a_comment_goes_on_to_the_end_of_its_line(mark):
    said = TIGER + f"# and so on{mark} R: * : * : * : * 7\n"
    assert value(parse_pomdp(said), 2) == value(parse_pomdp(TIGER), 2)


def test_what_others_take_for_words_of_the_grammar_is_no_name_in_what_is_written():
    words = [*RESERVED]
    moves, shows = np.stack([np.eye(len(words))] * len(words)), np.full((len(words), len(words)), 1 / len(words))
    problem = rhoplan.from_arrays(
        moves, shows, np.zeros((len(words), len(words), len(words))), discount=0.9, states=words, actions=words,
        observations=words, name="two\nlines",
    )  # fmt: skip
    written = write_pomdp(problem)
    lines = written.splitlines()
    assert lines[0] == "# two lines, written by rhoplan"
    assert [line for line in lines if line.startswith("R:")] == ["R: * : * : * : * 0"]  # some readers want one
    for head in ("states", "actions", "observations"):
        (named,) = [line for line in lines if line.startswith(f"{head}:")]
        assert not {*named.split()[1:]} & RESERVED
    again = parse_pomdp(written)
    assert len(again.factors[0].states) == len(words)


@pytest.mark.parametrize(("text", "line", "words"), FAULTS.values(), ids=FAULTS)
def test_faults_name_file_line_and_what_was_expected(text, line, words):
    with pytest.raises(rhoplan.ModelFileError) as caught:
        parse_pomdp(text, file="some.pomdp")

    assert words in caught.value.message
    assert caught.value.line == line
    assert str(caught.value).endswith("(some.pomdp)" if line is None else f"(some.pomdp, line {line})")
    assert "\n" not in str(caught.value)


# -- there and back -------------------------------------------------------------------------------------------------


def random_problem(draw: Draw) -> rhoplan.POMDP:
    """Places, factors, tests, changes, payments and ends, a few of each."""
    factors = tuple(
        rhoplan.Factor(f"f{n}", tuple(f"s{s}" for s in range(size)), np.array(distribution(draw, size)))
        for n, size in enumerate([draw(1, 3) for _ in range(draw(1, 2))])
    )
    places = ["p", "q"][: draw(1, 2)]

    def action(number: int) -> rhoplan.Action:
        factor = draw(0, len(factors) - 1)
        size, outcomes = len(factors[factor].states), draw(1, 3)
        likelihood = np.array([distribution(draw, outcomes) for _ in range(size)])
        changes = draw(0, 2)
        rows = [[distribution(draw, size) for _ in range(size)] for _ in range(outcomes)]
        transition = None if changes == 0 else np.array(rows[0] if changes == 1 else rows)
        targets = tuple([*places, rhoplan.END][draw(0, len(places))] for _ in range(outcomes))
        names = tuple(f"o{o}" for o in range(outcomes))
        reward, pays = np.array([draw(-8, 8) / 2 for _ in range(size)]), None
        if draw(0, 1) and not all(target is rhoplan.END for target in targets):
            shape = (outcomes, size, size) if transition is not None and draw(0, 1) else (size, outcomes)
            pays = np.array([draw(-8, 8) / 2 for _ in range(int(np.prod(shape)))]).reshape(shape)
            change = as_dense(np.eye(size) if transition is None else transition, outcomes)
            by_change = pays if pays.ndim == 3 else np.broadcast_to(pays.T[:, :, None], change.shape)
            reward = np.einsum("so,ost,ost->s", likelihood, change, by_change)
        return rhoplan.Action(f"a{number}", reward, likelihood, names, targets, factor, transition, pays)

    menus = {place: tuple(action(n) for n in range(draw(1, 3))) for place in places}
    problem = rhoplan.POMDP("random", factors, "p", menus.__getitem__, discount=draw(5, 10) / 10)
    rhoplan.check_problem(problem)
    return problem


@laws
@given(st.integers(0, 10**6))
def test_what_is_written_is_worth_the_same_when_read(seed):
    problem = random_problem(dice(seed))

    again = parse_pomdp(write_pomdp(problem))

    for depth in (1, 2, 3):
        assert value(again, depth) == pytest.approx(value(problem, depth), abs=1e-9)


@laws
@given(st.integers(0, 10**6))
def test_a_file_says_where_information_counts_otherwise(seed):
    """Where it says nothing, values with a price on information are the same."""
    problem = random_problem(dice(seed))
    written = write_pomdp(problem)

    if "# With a price on information" not in written:
        for depth in (1, 2):
            assert value(parse_pomdp(written), depth, 0.8) == pytest.approx(value(problem, depth, 0.8), abs=1e-9)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("tiger", None),
        ("rocksample:n=3,k=2", None),
        ("drilling", "# telling also which copy of a state it is."),
        ("navigation:n=3", "# telling also whether this is the end."),
    ],
)
def test_what_else_is_told_is_said(spec, said):
    lines = write_pomdp(rhoplan.make(spec)).splitlines()
    assert [line for line in lines if line.startswith("# telling")] == ([said] if said else [])


def names_of(written, head):
    (line,) = [line for line in written.splitlines() if line.startswith(f"{head}:")]
    return line.split()[1:]


def peeks(**caps):
    sure, blurred = np.eye(2), np.array([[0.8, 0.2], [0.2, 0.8]])
    tests = (
        rhoplan.Test("peek", 1.0, ("-", "+"), blurred, repeatable=False),
        rhoplan.Test("open", 2.5, ("*", "~~"), sure, repeatable=False),
        rhoplan.Test("tap", 0.5, ("-", "+"), blurred),
    )
    commits = (rhoplan.Decision("go", np.array([1.0, 0.0])), rhoplan.Decision("stay", np.array([0.0, 1.0])))
    return rhoplan.DiagnosticProblem(name="peeks", states=("ill", "well"), tests=tests, decisions=commits, **caps)


def test_visible_states_are_named_after_what_has_been_done():
    written = write_pomdp(peeks())
    done = ("start", "open", "peek", "open_peek")
    states = {name.removesuffix("_1") for name in names_of(written, "states")}  # some stand there twice
    assert states == {f"{word}_{state}" for word in done for state in ("ill", "well")} | {"end"}
    assert names_of(written, "observations") == ["hyphen-minus", "plus-sign", "asterisk", "tilde_tilde", "end"]


def test_a_copy_that_the_visible_state_before_tells_is_no_news():
    written = write_pomdp(peeks())
    assert "open_peek_well_1" in names_of(written, "states")
    assert "# With a price" not in written
    for depth in (1, 2, 3):
        assert value(parse_pomdp(written), depth, 0.8) == pytest.approx(value(peeks(), depth, 0.8), abs=1e-9)


def test_where_tests_do_not_tell_visible_states_apart_what_was_spent_does():
    states = names_of(write_pomdp(peeks(budget=3.0)), "states")
    assert {"start_ill", "start_spent-0_5_ill", "open_spent-2_5_ill", "open_spent-3_ill"} <= {*states}
    assert len({*states}) == len(states)


def test_sets_and_tuples_are_named_by_their_parts():
    def menu(place):
        after = (("hall", 1), frozenset()) if place[1] else (("hall", 1), frozenset({"key", "lamp"}))
        return (rhoplan.Action("turn", np.zeros(2), np.ones((2, 1)), ("seen",), (after,)),)

    factor = rhoplan.Factor("f", ("a", "b"), np.array([0.5, 0.5]))
    problem = rhoplan.POMDP("turns", (factor,), (("hall", 1), frozenset()), menu, discount=0.9)
    wanted = ["hall_1_none_a", "hall_1_none_b", "hall_1_key_lamp_a", "hall_1_key_lamp_b"]
    assert names_of(write_pomdp(problem), "states") == wanted


@laws
@given(st.integers(0, 10**6))
def test_written_twice_is_written_once(seed):
    """A file that was read is written as it stands, but for the names that END and doubled states get."""
    once = parse_pomdp(write_pomdp(random_problem(dice(seed))))

    twice = parse_pomdp(write_pomdp(once))

    for depth in (1, 2):
        assert value(twice, depth) == pytest.approx(value(once, depth), abs=1e-9)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("weight", [0.0, 2.0])
def test_observe_then_commit_comes_back_with_its_scores(seed, weight):
    """Also with a price on information: no place is drawn, no state stands twice."""
    problem = random_case(seed).problem
    again = parse_pomdp(write_pomdp(problem))

    for depth in (1, 2, 3):
        assert value(again, depth, weight) == pytest.approx(value(problem, depth, weight), abs=1e-9)


@pytest.mark.parametrize("name", ["tiger", "testbed", "diagnosis", "bandit"])
def test_classics_are_scored_alike_as_files(name):
    problem = rhoplan.make(name)
    again = parse_pomdp(write_pomdp(problem))

    scores = [rhoplan.evaluate(one, make_agent("efe", one, horizon=2)) for one in (problem, again)]

    assert scores[0].reward == pytest.approx(scores[1].reward, abs=1e-9)
    assert scores[0].reward_sd == pytest.approx(scores[1].reward_sd, abs=1e-7)
    assert scores[0].success == pytest.approx(scores[1].success, abs=1e-9)


@pytest.mark.parametrize("spec", ["drilling", "navigation:n=3", "rocksample:n=3,k=2", "inspection:n=2"])
def test_problems_with_places_are_worth_the_same_as_files(spec):
    problem = rhoplan.make(spec)
    again = parse_pomdp(write_pomdp(problem))

    for depth in (1, 2, 3):
        assert value(again, depth) == pytest.approx(value(problem, depth), abs=1e-9)


def test_every_name_that_is_written_is_legal_and_different():
    test = rhoplan.Test("peek twice!", 1.0, ("1", "é", "e"), np.array([[0.5, 0.25, 0.25], [0.2, 0.4, 0.4]]))
    commits = (rhoplan.Decision("a b", np.array([1.0, 0.0])), rhoplan.Decision("a_b", np.array([0.0, 1.0])))
    problem = rhoplan.DiagnosticProblem(name="odd", states=("+", "-"), tests=(test,), decisions=commits)

    again = parse_pomdp(write_pomdp(problem))

    names = (*again.states, *(action.name for action in again.menu("here")), *again.menu("here")[0].outcomes)
    assert all(name[0].isalpha() and name.replace("_", "").replace("-", "").isalnum() for name in names)
    assert value(again, 2) == pytest.approx(value(problem, 2))


def test_too_large_a_problem_is_not_written():
    with pytest.raises(rhoplan.LimitError, match=r"cannot be written as a \.pomdp file"):
        write_pomdp(rhoplan.make("rocksample:n=11,k=11"))


# -- files of others ------------------------------------------------------------------------------------------------

FOLDER = os.environ.get("RHOPLAN_POMDP_FILES")
FILES = (
    sorted(itertools.chain(*(Path(FOLDER).glob(f"*{end}") for end in (".pomdp", ".pomdpx", ".drn")))) if FOLDER else []
)


@pytest.mark.skipif(not FILES, reason="RHOPLAN_POMDP_FILES names no folder with problem files of others")
@pytest.mark.parametrize("path", FILES or [None], ids=lambda path: path.name if path else "none")
def test_files_of_others_are_read_decided_and_simulated(path):
    problem = rhoplan.make(str(path))

    rhoplan.check_problem(problem)
    agent = make_agent("efe", problem, horizon=1)
    assert rhoplan.decide(problem, agent).choice in {action.name for action in problem.menu(problem.start)}
    assert np.isfinite(rhoplan.simulate(problem, agent, seeds=(1,), episodes=20, max_steps=5).reward)


def test_a_word_that_is_not_values_is_told_where_it_stands():
    with pytest.raises(ModelFileError, match="values must be reward or cost; they are 'profit'") as told:
        parse_pomdp("discount: 0.9\nvalues:\nprofit\nstates: 2\n", file="odd.pomdp")
    assert told.value.line == 3


def test_a_discount_next_to_one_is_shown_as_it_is(tmp_path, capsys):
    path = tmp_path / "slow.pomdp"
    path.write_text(
        "discount: 0.9999999\nstates: 1\nactions: 1\nobservations: 1\nT: 0\n1\nO: 0\n1\nR: * : * : * : * 1\n"
    )
    assert _guarded(["show", str(path)]) == 0
    assert "discount 0.9999999" in capsys.readouterr().out
