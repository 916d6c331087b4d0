"""What Cassandra's own reader takes in a .pomdp file: signs apart from numbers, a `*` without a space after it."""

from __future__ import annotations

import pytest

from bridge import parse_pomdp, parse_pomdpx
from rhoplan import ModelFileError

HEAD = "discount: 0.9\nvalues: reward\nstates: a b\nactions: x y\nobservations: p q\n"
PLAIN = "T: * identity\nO: * uniform\n"


def paid(text: str) -> list[list[float]]:
    problem = parse_pomdp(text)
    return [action.reward.tolist() for action in problem.menu(problem.start)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("R: x : a : * : * - 5\nR: y : * : * : * + 2", [[-5, 0], [2, 2]]),
        ("R: x : a : * : * -\n5", [[-5, 0], [0, 0]]),
        ("R: x : a : *:*-5", [[-5, 0], [0, 0]]),
        ("R:*:*:*:*-5 R:y:b:*:*+.5e1", [[-5, -5], [-5, 5]]),
        ("R: x : a\n- 1 -2\n+ 3 + 3", [[-1.5, 0], [0, 0]]),
    ],
)
def test_signs_may_stand_apart_and_stars_need_no_space(lines: str, expected: list[list[float]]) -> None:
    assert paid(f"{HEAD}{PLAIN}{lines}\n") == expected


def test_keywords_may_follow_a_star_at_once() -> None:
    problem = parse_pomdp(f"{HEAD}start:0.5 + 0.5\nT:*identity\nO:*uniform\nR:x:a:*:* 5")
    assert problem.prior.tolist() == [0.5, 0.5]
    assert [action.reward.tolist() for action in problem.menu(problem.start)] == [[5, 0], [0, 0]]


def test_names_may_hold_signs_and_be_signs() -> None:
    text = (
        "discount: 0.9\nstates: far-left far+right a*\nactions: go-on\nobservations: + -\nT: *identity\nO: *uniform\n"
        "R: go-on : far-left : * : - - 4\nR: go-on : a* : * : * 3"
    )
    problem = parse_pomdp(text)
    (action,) = problem.menu(problem.start)
    assert problem.states == ("far-left", "far+right", "a*")
    assert action.outcomes == ("+", "-")
    assert action.reward.tolist() == [-2, 0, 3]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("R: x : a : * : * - much", 8, "expected a number for a reward; found '-'"),
        ("R: x : a : * : * - - 5", 8, "expected a number for a reward; found '-'"),
        ("R: x : a : * : * -", 8, "expected a number for a reward; found '-'"),
        ("R: x : a\n- 1 2\n3 x", 10, "expected 4 numbers for rewards; found 'x' after 3"),
        ("R: x : a\n- 1 2\n3", 10, "expected 4 numbers for rewards; found the end of the file after 3"),
    ],
)
def test_a_sign_without_a_number_is_told_with_its_line(lines: str, line: int, words: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_pomdp(f"{HEAD}{PLAIN}{lines}")
    assert (caught.value.line, caught.value.message) == (line, words)


def test_a_name_cannot_begin_with_a_star() -> None:
    with pytest.raises(ModelFileError, match=r"'\*' cannot be the name of one of the states \(.*, line 1\)"):
        parse_pomdp("states: a *b")


def test_a_discount_of_0_is_refused_with_what_to_do() -> None:
    with pytest.raises(ModelFileError, match=r"it is 0: .* write 1 and plan one action \(--horizon 1\) \(.*, line 1\)"):
        parse_pomdp(HEAD.replace("0.9", "0") + PLAIN)
    sections = ("Variable", "InitialStateBelief", "StateTransitionFunction", "RewardFunction")
    text = f"<pomdpx>\n<Discount>0.0</Discount>{''.join(f'<{one}/>' for one in sections)}</pomdpx>"
    with pytest.raises(ModelFileError, match=r"it is 0: .* write 1 and plan one action \(--horizon 1\) \(.*, line 2\)"):
        parse_pomdpx(text)
