"""The words of `rhoplan solve`: bounds that are known or not, why they did not meet, checks, and what a plan earns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

import rhoplan
from rhoplan.app.cli.solution import ALARM, FAR, ROUNDING, print_check, print_score, print_solution, several, six
from rhoplan.evaluation.score import Score
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.pointbased.check import Certificate
from rhoplan.planning.certified.solution import SolveResult

FOUND = SolveResult(
    lower=1.25, upper=1.5, gap=0.001, stopped_by="time", reward=2.0, tests=3.0, success=0.75, truncated=0.0,
    first="listen", nodes=2000, symmetries=2, rounds=1, seconds=4.0, method="points",
)  # fmt: skip

SCORE = Score(
    kind="exact", reward=3.0, reward_sd=0.0, discounted=1.25, discounted_tail=math.nan, information=0.5, value=1.25,
    tests=0.0, success=math.nan, log_score=math.nan, tests_distribution=(1.0,), steps=2.5, truncated=0.0,
)  # fmt: skip

NO_ERRORS = dict.fromkeys(("reward", "discounted", "information", "value", "steps"), 0.0)


def estimated(episodes: int, value: float = SCORE.value, **errors: float) -> Score:
    """SCORE, but estimated with these standard errors."""
    return replace(SCORE, kind="estimated", episodes=episodes, value=value, se=NO_ERRORS | errors)


@pytest.fixture
def told(capsys: pytest.CaptureFixture[str]) -> Any:
    def lines(print_it: Any, *arguments: Any, **named: Any) -> list[str]:
        print_it(*arguments, **named)
        return [line.strip() for line in capsys.readouterr().out.splitlines()]

    return lines


def solution(told: Any, found: SolveResult, *, weight: float = 0.0, discount: float = 1.0, horizon: int | None = None):
    tiger = rhoplan.make("tiger")
    return told(print_solution, tiger, found, weight=weight, unit="nats", discount=discount, horizon=horizon)


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (1.25, 1.5, "value    between 1.250000 and 1.500000 (gap 2.5e-01)"),
        (1.25, math.inf, "value    at least 1.250000; no upper bound is known"),
        (-math.inf, 1.5, "value    at most 1.500000; no lower bound is known"),
        (-math.inf, math.inf, "value    not known yet"),
        (-1e-9, 0.0, "value    between 0.000000 and 0.000000 (gap 1.0e-09)"),
    ],
)
def test_bounds_are_told_as_far_as_they_are_known(told: Any, lower: float, upper: float, words: str) -> None:
    lines = solution(told, replace(FOUND, lower=lower, upper=upper))
    assert words in lines
    begins = "the plan behind the lower bound begins with listen"
    assert (begins in lines) == math.isfinite(lower)


@pytest.mark.parametrize(
    ("stopped_by", "why"),
    [
        ("time", "time ran out"),
        ("interrupted", "stopped from the keyboard"),
        ("memory", "it is too large for the memory allowed"),
        ("precision", "rounding lets them come no nearer"),
        ("method", "this method goes no further"),
    ],
)
def test_why_bounds_did_not_meet_is_told_where_they_did_not(told: Any, stopped_by: str, why: str) -> None:
    said = f"the bounds did not meet within 0.001: {why}"
    assert said in solution(told, replace(FOUND, stopped_by=stopped_by))
    assert not any("did not meet" in line for line in solution(told, replace(FOUND, upper=1.251)))


@pytest.mark.parametrize(
    ("weight", "discount", "horizon", "words"),
    [
        (0.0, 1.0, None, "with no horizon limit for reward"),
        (0.0, 0.5, 1, "of at most 1 action for reward, discount 0.5"),
        (2.0, 1.0, 3, "of at most 3 actions for reward + 2 points per nat of information"),
    ],
)
def test_the_goal_is_told(told: Any, weight: float, discount: float, horizon: int | None, words: str) -> None:
    tiger = replace(rhoplan.make("tiger"), unit="points")
    first, *_ = told(print_solution, tiger, FOUND, weight=weight, unit="nats", discount=discount, horizon=horizon)
    assert first == f"tiger: best plan {words}"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "2,000 nodes, 1 trial, 4.0 s, by bounds carried from belief to belief"),
        ({"compiling": 4.9}, "2,000 nodes, 1 trial, 4.0 s, by bounds carried from belief to belief"),
        (
            {"compiling": 5.0, "nodes": 1},
            "1 node, 1 trial, 4.0 s, by bounds carried from belief to belief (and 5.0 s to compile the planner, once)",
        ),
        (
            {"method": "errands and grids", "shares": (0, 2)},
            "2,000 nodes, 2 levels, 4.0 s, by one hidden factor after the other, and on a grid of beliefs for each "
            "hidden factor",
        ),
        (
            {"method": "range", "rounds": 0},
            "2,000 nodes, 4.0 s, by the range of rewards: there was not enough time for more",
        ),
        (
            {"method": "range", "rounds": 0, "stopped_by": "interrupted"},
            "2,000 nodes, 4.0 s, by the range of rewards",
        ),
        ({"method": "reveal"}, "2,000 nodes, 2 symmetries, 1 round, 4.0 s"),
        ({"method": "many"}, "2,000 nodes, 1 trial, 4.0 s, by branch and bound over evidence"),
    ],
)
def test_the_work_is_told_by_the_words_of_the_method(told: Any, changes: dict[str, Any], words: str) -> None:
    assert " ".join(solution(told, replace(FOUND, **changes))).endswith(words)


@pytest.mark.parametrize("method", ["reveal", "many"])
def test_a_plan_that_is_scored_is_told_with_its_score(told: Any, method: str) -> None:
    scored = replace(FOUND, method=method, truncated=0.5)
    words = "the plan behind the lower bound: reward +2.0000, tests 3.0000, success 75.00%, first action listen"
    text = " ".join(solution(told, scored))
    assert words in text
    assert "that plan: 50.0% of cases are cut off" in text
    faded = " ".join(solution(told, replace(scored, truncated=0.0), discount=0.5))
    assert words.replace("+2.0000", "+2.0000 (not discounted)") in faded
    assert "that plan:" not in faded


def test_numbers_and_their_words() -> None:
    assert [six(number) for number in (-4e-7, 4e-7, -6e-7, 0.0, -1.5)] == [
        "0.000000", "0.000000", "-0.000001", "0.000000", "-1.500000",
    ]  # fmt: skip
    assert [several(number, "symmetry") for number in (0, 1, 2)] == ["0 symmetries", "1 symmetry", "2 symmetries"]
    assert several(12345, "node") == "12,345 nodes"


@pytest.mark.parametrize(
    ("method", "certificate", "words"),
    [
        ("points", (0.0, 0.0, 3, 2), "the bounds hold (3 vectors and 2 points backed up once more)"),
        ("grids", (0.0, 0.0, 1, 0), "the bounds hold (1 vector backed up once more)"),
        ("errands", (0.0, 0.0, 3, 0), "the bounds hold (3 situations of the plan backed up once more)"),
        ("points", (0.1, 0.0, 3, 2), "the bounds DO NOT HOLD: please report this (3 vectors and 2 points"),
        ("errands and range", (0.0, 0.0, 3, 0), "the bounds of errands hold (3 situations of the plan"),
    ],
)
def test_what_was_checked_is_told_and_what_was_not(told: Any, method: str, certificate: Any, words: str) -> None:
    found = replace(FOUND, method=method, certificate=Certificate(*certificate))
    lines = told(print_check, found)
    assert lines[0].startswith(f"checked by other code: {words}")
    assert len(lines) == 1 + ("range" in method)
    if "range" in method:
        assert lines[1] == "not checked: no other code looks at the bounds of the range of rewards"
    assert told(print_check, replace(FOUND, method="points")) == ["not checked: stopped before that was done"]


@pytest.mark.parametrize(
    ("score", "discount", "words"),
    [
        (SCORE, 1.0, "following it earns +3.0000 in 2.5 steps; exact"),
        (SCORE, 0.5, "following it earns +3.0000 (+1.2500 discounted) in 2.5 steps; exact"),
        (
            estimated(1300, reward=0.5, discounted=0.25, steps=0.1),
            0.5,
            "following it earns +3.0000 ± 0.5000 (+1.2500 ± 0.2500 discounted) in 2.5 ± 0.1 steps; estimated from "
            "1,300 episodes, ± standard error",
        ),
    ],
)
def test_what_a_plan_earns_is_told_with_its_error(told: Any, score: Score, discount: float, words: str) -> None:
    assert " ".join(told(print_score, score, FOUND, weight=0.0, discount=discount, cap=50)) == words
    for tail, later in ((math.nan, "is not known"), (1.0, "adds or takes 1 at most")):
        cut = told(
            print_score, replace(score, truncated=0.25, value_tail=tail), FOUND, weight=0.0, discount=discount, cap=50
        )
        assert " ".join(cut) == f"{words} 25.00% of cases are cut off after 50 steps: what comes later {later}"
    (stopped,) = told(print_score, None, FOUND, weight=0.0, discount=discount, cap=50)
    assert stopped == "what following it earns was not worked out: stopped from the keyboard"


@pytest.mark.parametrize(
    ("score", "discount", "words"),
    [
        (SCORE, 1.0, "following it earns +3.0000 and 0.5000 nats in 2.5 steps; exact which is worth +1.2500"),
        (
            replace(estimated(40, information=0.1), se=NO_ERRORS | {"information": 0.1, "value": 0.2}),
            0.5,
            "following it earns +3.0000 ± 0.0000 (+1.2500 ± 0.0000 discounted) and 0.5000 ± 0.1000 nats discounted in "
            "2.5 ± 0.0 steps; estimated from 40 episodes, ± standard error which is worth +1.2500 ± 0.2000",
        ),
    ],
)
def test_with_a_weight_information_and_what_it_is_worth_are_told(
    told: Any, score: Score, discount: float, words: str
) -> None:
    lines = told(print_score, score, FOUND, weight=2.0, discount=discount, cap=50)
    assert " ".join(lines) == f"{words} with information paid"


@pytest.mark.parametrize("lower", [100.0, -100.0, 0.0])
def test_too_little_is_what_neither_rounding_nor_chance_nor_later_pay_explains(told: Any, lower: float) -> None:
    """The least that is told of: just beyond what may be missing."""
    found, rounding = replace(FOUND, lower=lower, upper=lower + 1, own=lower), ROUNDING * max(abs(lower), 1.0)
    own = replace(found, own=lower - 50.0)  # where the bound is of another method
    drawn = replace(estimated(300), se=NO_ERRORS | {"value": 0.25})
    later = replace(SCORE, truncated=0.25, value_tail=2.0)
    for score, allowed in (
        (SCORE, rounding),
        (replace(SCORE, value_tail=2.0), rounding),  # nothing is cut off: nothing comes later
        (drawn, FAR * 0.25),
        (later, 2.0),
        (replace(drawn, truncated=0.25, value_tail=2.0), FAR * 0.25 + 2.0),
    ):
        for share, little in ((0.9, False), (1.1, True)):
            earned = replace(score, value=lower - share * allowed)
            for weight in (0.0, 1.0):
                lines = told(print_score, earned, found, weight=weight, discount=0.5, cap=50)
                rare = "payments too rare for so few episodes may be missing; else "
                told_of = f"which is less than the lower bound: {'' if score.kind == 'exact' else rare}{ALARM}"
                assert (told_of in " ".join(lines)) == little
                ranged = told(print_score, earned, own, weight=weight, discount=0.5, cap=50)
                excuse = "which is less than the lower bound: that is of the range of rewards, not of this plan"
                assert (excuse in ranged) == little
                far = replace(earned, value=earned.value - 60.0)
                assert told_of in " ".join(told(print_score, far, own, weight=weight, discount=0.5, cap=50))


@pytest.mark.parametrize("error", [0.19, 0.21])
def test_what_is_too_rare_to_be_drawn_is_told_of_where_the_bounds_leave_room_for_it(told: Any, error: float) -> None:
    found = replace(FOUND, lower=-3.0, own=-4.0, upper=-3.0, policy=None)
    score = replace(estimated(26, -3.5), se=NO_ERRORS | {"value": error})
    rare = "± is of what was drawn: what comes up in fewer than 1 of 8 cases may be missing"
    words = f"{rare}; from -4.000000 to -3.000000 is proven"
    room = FAR * error < 1.0
    assert (words in " ".join(told(print_score, score, found, weight=0.0, discount=0.5, cap=50))) == room
    exact = replace(score, kind="exact", episodes=0, se={})
    assert "±" not in " ".join(told(print_score, exact, found, weight=0.0, discount=0.5, cap=50))


@pytest.mark.parametrize("weight", [1e-3, 0.5, 1.0])
def test_any_weight_above_0_has_information_told(told: Any, weight: float) -> None:
    text = " ".join(told(print_score, SCORE, FOUND, weight=weight, discount=1.0, cap=50))
    assert "and 0.5000 nats in 2.5 steps" in text
    assert "which is worth +1.2500 with information paid" in text


def test_few_cases_that_are_cut_off_are_told_of_though_nothing_comes_later(told: Any) -> None:
    cut = replace(SCORE, truncated=1e-3, value_tail=0.0)
    text = " ".join(told(print_score, cut, FOUND, weight=0.0, discount=1.0, cap=50))
    assert text.endswith("0.10% of cases are cut off after 50 steps: what comes later adds or takes 0 at most")


def test_nothing_is_told_as_proven_of_a_policy_on_grids(told: Any) -> None:
    """It aims at the lower bound, no more."""
    score = estimated(30, 1.3)
    found = replace(FOUND, own=1.25)
    assert "is proven" in " ".join(told(print_score, score, found, weight=0.0, discount=1.0, cap=50))
    gridded = replace(found, policy=GridPolicy.__new__(GridPolicy))
    assert "is proven" not in " ".join(told(print_score, score, gridded, weight=0.0, discount=1.0, cap=50))
