"""Answers to targets: what is counted, what is told, and that plans behind them can be followed and scored."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from rhoplan.advice import targets
from rhoplan.advice.edges import edges
from rhoplan.advice.following import drawn, follower
from rhoplan.advice.target_words import answer_words, labelled, plan_name
from rhoplan.advice.targets import Answer, UnreachableTarget, meet
from rhoplan.advice.words import percent
from rhoplan.api import evaluate
from rhoplan.errors import ProblemError
from rhoplan.io.constraints import read_targets
from rhoplan.io.model_file import parse_model, write_model
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.constrained import ColumnGeneration, Constraint, Mixture
from rhoplan.present.telling import as_text
from rhoplan.problems.registry import WORKED_MODELS, make

CASCADE = make("screening-cascade")


def kept(problem: POMDP = CASCADE, *, minimise: str = "cost", **given: object) -> Answer:
    named = {name.replace("_", "-"): value for name, value in given.items()}
    positive = problem.details.get("positive")
    return meet(problem, read_targets(named, problem.diagnoses, positive), minimise=minimise)


def test_a_target_between_two_corners_is_kept_by_a_mix_of_their_plans() -> None:
    answer = kept(miss="1 in 1,000")
    (miss, _) = edges(CASCADE)
    left = max((p for p in miss.points if p.share <= 0.001), key=lambda p: p.share)
    right = min((p for p in miss.points if p.share >= 0.001), key=lambda p: p.share)
    way = (0.001 - left.share) / (right.share - left.share)
    assert answer.together.missed["ill"] == pytest.approx(0.001, abs=1e-12)
    assert answer.together.cost == pytest.approx(left.cost + way * (right.cost - left.cost), abs=1e-9)
    assert answer.prices[0].price == pytest.approx((left.cost - right.cost) / (right.share - left.share), rel=1e-9)
    assert answer.prices[0].own == (11600.0, 11600.0)
    assert answer.proven
    assert answer.certain is not None
    assert answer.certain.numbers.missed["ill"] <= 0.001
    assert answer.certain.numbers.cost >= answer.together.cost


def test_plans_to_begin_with_keep_more_than_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    class Noted(ColumnGeneration):
        def cheapest(
            self,
            cost: Array,
            constraints: Sequence[Constraint],
            tie_breaker: Array | None = None,
        ) -> Mixture:
            asked.extend(constraint.limit for constraint in constraints)
            return super().cheapest(cost, constraints, tie_breaker)

    monkeypatch.setattr(targets, "ColumnGeneration", Noted)
    kept(miss=0.001)
    assert asked[0] == 0.001
    assert asked[1:] == sorted(asked[1:], reverse=True)
    assert all(0 < most < 0.001 for most in asked[1:])


def test_sensitivity_is_told_of_those_who_are_ill_and_misses_of_all() -> None:
    by_all, by_ill = kept(miss=0.001), kept(sensitive=0.9)  # 1% are ill
    assert by_all.together.cost == pytest.approx(by_ill.together.cost, abs=1e-6)
    assert by_ill.together.reached == pytest.approx((0.9,))
    well = kept(sensitive="90%", specific="95%")
    assert well.together.reached[1] >= 0.95 - 1e-12
    assert well.counts == "what tests cost"
    assert well.together.cost == pytest.approx(well.together.spend)


def test_spend_alone_makes_what_wrong_decisions_lose_small() -> None:
    answer = kept(spend=8)
    assert answer.together.spend == pytest.approx(8)
    assert answer.together.cost == pytest.approx(answer.together.loss)
    assert answer.prices[0].price > 0
    assert kept(spend=9).together.loss < answer.together.loss
    assert kept(spend=1000).together.loss == pytest.approx(kept(spend=900).together.loss)


def test_of_mixes_that_cost_the_same_the_models_own_prices_choose() -> None:
    """A spend target that does not bind brings no plan into the mix: two would do as well as three."""
    lane = make("security-lane")
    answer = kept(lane, sensitive="95%", spend=12)
    assert len(answer.mixture) == 2
    assert answer.prices[1].price == 0
    assert answer.together.spend < 12
    assert answer.together.cost == pytest.approx(kept(lane, sensitive="95%", spend=13).together.cost, rel=1e-9)
    assert "kept without being aimed at" in answer_words(answer)[-1]


def test_spend_can_be_all_that_counts() -> None:
    assert kept(miss=0.001, minimise="spend").together.spend == 0  # whoever treats everybody misses nobody


def test_the_price_of_a_target_brings_its_plans_back() -> None:
    """Whoever counts a miss as what the target acts as if plans the mix's plans: all of them are as good."""
    answer = kept(miss=0.001)
    worth = [part.numbers.cost + answer.prices[0].price * part.numbers.missed["ill"] for part in answer.mixture]
    assert worth[0] == pytest.approx(worth[1], rel=1e-12)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"spend": 3, "sensitive": "99%", "specific": "90%"}, "the least that can be spent is"),
        ({"miss": 0.001, "specific": "99.9%"}, "specificity for ill can be at most 99.62%"),
        ({"wrong": 0.0001}, "lowest reachable share of wrong decisions is 0.23%"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_nearest_that_can(given: dict[str, object], words: str) -> None:
    with pytest.raises(UnreachableTarget, match=words) as caught:
        kept(**given)
    place = next(kind for kind in ("spend", "specific", "wrong") if kind in given)
    slack = -1e-9 if place == "specific" else 1e-9
    near = kept(**{**given, place: caught.value.nearest + slack})
    assert near.together.reached[-1] == pytest.approx(caught.value.nearest, abs=1e-6)


@pytest.mark.parametrize("name", ["screening-cascade", "four-diseases", "tiger-doors"])
def test_plans_behind_targets_are_followed_and_scored_by_the_one_score(name: str) -> None:
    problem = make(name)
    (*_, edge) = edges(problem)
    share = (edge.points[1].share + edge.points[2].share) / 2
    answer = kept(problem, **{edge.kind: {edge.state: share} if edge.state else share})
    for part in (*answer.mixture, answer.plain):
        score = evaluate(answer.problem, follower(answer.ground, part.course))
        best = float(answer.problem.prior @ answer.problem.flat.payoff.max(axis=0))
        assert score.reward == pytest.approx(best - part.numbers.loss - part.numbers.spend, abs=1e-9)
        assert score.success == pytest.approx(1 - part.numbers.wrong, abs=1e-9)
        tree = drawn(answer.ground, part.course, smallest=0.01, most_nodes=50)
        assert tree.ahead.cost == pytest.approx(part.numbers.spend, abs=1e-9)
        assert part.numbers.first in as_text(tree)


def test_the_plan_by_the_models_own_prices_is_a_point_of_its_frontiers() -> None:
    for edge in edges(CASCADE):
        on = [p for p in edge.points if p.share == pytest.approx(edge.plain.share) and p.low <= edge.own[0]]
        assert [p.cost for p in on] == pytest.approx([edge.plain.cost])


def test_every_worked_model_has_frontiers_that_fall() -> None:
    for name in WORKED_MODELS:
        for edge in edges(make(name)):
            assert edge.complete
            shares, costs = np.array([[p.share, p.cost] for p in edge.points]).T
            assert (np.diff(shares) < 0).all()
            assert (np.diff(costs) > 0).all()
            slopes = -np.diff(costs) / np.diff(shares)
            assert (np.diff(slopes) > 0).all()
            assert [p.high for p in edge.points[:-1]] == pytest.approx(slopes.tolist())


def test_subtypes_count_by_their_diagnosis() -> None:
    text = """
states: [well, ill]
positive: ill
subtypes: {ill: [plain, silent]}
prior: {well: 0.9, ill: {plain: 0.06, silent: 0.04}}
tests:
  look:
    cost: 1
    outcomes: [no, yes]
    likelihood: {well: [0.9, 0.1], ill: {plain: [0.1, 0.9], silent: [0.7, 0.3]}}
losses:
  leave: {well: 0, ill: 100}
  treat: {well: 10, ill: 0}
targets:
  sensitive: 60%
  false-alarm: 1 in 10
"""
    problem = parse_model(text, file="ill.yaml", language="yaml")
    targets = read_targets(problem.details["targets"], problem.diagnoses, None)
    answer = meet(problem, targets)
    assert answer.together.missed["ill"] <= 0.04 + 1e-12
    # Looking at a share l of cases finds 66% of their ill with 9% of false alarms, treating a share t finds all of them
    # with 90%: 0.66 l + t = 0.6 and 0.09 l + 0.9 t = 0.1.
    assert answer.together.spend == pytest.approx((0.6 - 0.1 / 0.9) / (0.66 - 0.09 / 0.9))
    assert (
        parse_model(write_model(problem), file="ill.yaml", language="yaml").details["targets"]
        == problem.details["targets"]
    )


@pytest.mark.parametrize(
    ("field", "words", "line"),
    [
        ("targets: {miss: often}", "a share reads", 8),
        ("targets: {missed: 1%}", "no field 'missed'", 8),
        ("targets: {}", "must have a target", 8),
        ("targets:\n  miss: {flu: 1%}", "not one of well, ill", 9),
    ],
)
def test_faults_in_the_targets_of_a_file_are_told_with_their_line(field: str, words: str, line: int) -> None:
    text = (
        f"states: [well, ill]\npositive: ill\nprior: [0.9, 0.1]\n\nlosses:\n  leave: [0, 9]\n  treat: [1, 0]\n{field}\n"
    )
    with pytest.raises(ProblemError, match=words) as caught:
        parse_model(text, file="ill.yaml", language="yaml")
    assert getattr(caught.value, "line", None) == line


def test_plans_that_are_too_many_have_fewer_tests_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rhoplan.advice.targets.MOST_NODES", 60)
    answer = kept(replace(make("printer")), wrong="35%")
    assert answer.depth == 1
    assert not answer.whole
    assert "at most 1 test here" in answer_words(answer)[0]


def test_words_say_what_the_target_acts_as_if() -> None:
    words = " ".join(answer_words(kept(miss="1 in 1,000")))
    assert "acts as if a case of ill that is missed cost 84,513 EUR; the model's own price is 11,600 EUR" in words
    assert "no plan and no mix costs less" in words


def test_rounding_is_no_plan_of_a_mixture() -> None:
    """A bound that one plan keeps to the last digit leaves no room for a billionth of another."""
    found = kept(sensitive="100%")
    assert [part.share for part in found.mixture] == [1.0]
    assert found.mixture[0].numbers.spend == 0
    assert found.gap <= 1e-6


def test_plans_are_called_by_letters_as_long_as_there_are_some() -> None:
    assert [plan_name(place) for place in (0, 1, 8, 25, 26)] == ["plan A", "plan B", "plan I", "plan Z", "plan 27"]


def test_one_plan_and_the_plans_of_a_mix_are_told_by_their_names() -> None:
    one, mix = kept(miss="100%"), kept(miss="1 in 1,000")
    assert labelled(one) == [
        ("one plan", one.mixture[0].numbers),
        ("by the model's own prices", one.plain.numbers),
    ]
    assert mix.certain is not None
    first, second = (part.share for part in mix.mixture)
    assert labelled(mix) == [
        (f"plan A, {percent(first)} of cases", mix.mixture[0].numbers),
        (f"plan B, {percent(second)} of cases", mix.mixture[1].numbers),
        ("the mix", mix.together),
        ("without chance", mix.certain.numbers),
        ("by the model's own prices", mix.plain.numbers),
    ]


def test_nine_targets_are_kept_by_as_many_plans_as_it_takes() -> None:
    """A mix may have one plan more than there are targets; nothing runs out of names for them."""
    names = [f"s{place}" for place in range(12)]
    rows = {name: [0.9 if place % 2 else 0.2, 0.1 if place % 2 else 0.8] for place, name in enumerate(names)}
    model = {
        "states": names,
        "tests": {f"t{one}": {"cost": 1 + one, "outcomes": ["x", "y"], "likelihood": dict(
            zip(names, [rows[names[(place + one) % 12]] for place in range(12)], strict=True))} for one in range(3)},
        "commits": {name: {other: float(other == name) * (1 + place) for other in names}
                    for place, name in enumerate(names)},
    }  # fmt: skip
    problem = parse_model(json.dumps(model), file="twelve")
    answer = meet(problem, read_targets({"miss": dict.fromkeys(names[:11], 0.0826)}, problem.diagnoses, None))
    assert len(answer.mixture) > 8
    assert answer_words(answer)
    assert len(labelled(answer)) >= len(answer.mixture) + 2
