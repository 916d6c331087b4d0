"""What uncertain numbers mean: against plain sampling with the oracle, exact against sampled, and laws."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import Generator, default_rng

import oracle
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.advice.case import advise
from rhoplan.advice.start import started
from rhoplan.advice.uncertain.curve import decision_curve
from rhoplan.advice.uncertain.knowing import Worth, estimated, sampled, value_of
from rhoplan.advice.uncertain.numbers import Unsure, drawn, spread_all, unsure, versions
from rhoplan.advice.uncertain.uncertainty import Uncertainty, _interval, how_sure, uncertainty
from rhoplan.advice.uncertain.views import find, swings, two_way
from rhoplan.advice.uncertain.weighing import Weighed, Weigher
from rhoplan.agents.agent import make_adviser
from rhoplan.errors import LimitError, RhoplanError
from rhoplan.io.model_file import parse_model
from rhoplan.model.pomdp import POMDP
from rhoplan.planning.batch import ParameterBatch, TreeLimits
from rhoplan.planning.utility import Information
from rhoplan.problems.registry import WORKED_MODELS, make
from unsure import SMALL

PANEL = """
states: [well, mild, grave]
prior: [0.6 (0.5-0.7), 0.3, 0.1]
tests:
  smear: {cost: 3, outcomes: [no, yes], likelihood: {well: [0.9 (0.8-0.95), 0.1], mild: [0.4, 0.6], grave: [0.2, 0.8]}}
  culture: {outcomes: [no, few, many], likelihood: {well: [0.8, 0.15, 0.05], mild: [0.3, 0.4 (0.2-0.6), 0.3], grave: [0.1, 0.3, 0.6]}}
panels: {both: {cost: 4 to 8, tests: [smear, culture]}}
losses: {leave: {well: 0, mild: 40, grave: 200}, treat: {well: 30 (20-45), mild: 10, grave: 50}}
"""  # noqa: E501


@pytest.fixture(scope="module")
def small() -> Weigher:
    return weigher_of(parse_model(SMALL))


def weigher_of(problem: POMDP, **settings: float) -> Weigher:
    return Weigher(problem, make_adviser(problem, **settings))


def worth(weigher: Weigher, items: list[Unsure], samples: int = 2000) -> Worth:
    return value_of(weigher, items, samples, 7, linear=weigher.is_linear(unsure(weigher.problem)))


# -- against an independent planner -----------------------------------------------------------------------------------


def plain_version(generator: Generator | None) -> oracle.Model:
    """The small model as the oracle has it, with numbers drawn by moments alone; without a generator, as stated."""

    def chance(mean: float, sd: float) -> float:
        cases = mean * (1 - mean) / sd**2 - 1
        return mean if generator is None else float(generator.beta(mean * cases, (1 - mean) * cases))

    def counted(yes: int, no: int) -> float:
        return yes / (yes + no) if generator is None else float(generator.beta(yes, no))

    def amount(mean: float, sd: float) -> float:
        log_sd = math.sqrt(math.log(1 + (sd / mean) ** 2))
        return mean if generator is None else float(generator.lognormal(math.log(mean) - log_sd**2 / 2, log_sd))

    ill = chance(0.2, 0.18 / 3.919928)
    found, clear = chance(0.83, 0.22 / 3.919928), chance(0.9, 0.16 / 3.919928)
    seen, free = counted(45, 5), counted(94, 6)
    return oracle.Model(
        [1 - ill, ill],
        [
            (5.0, [[clear, 1 - clear], [1 - found, found]], False),
            (amount(16.0, 8 / 3.919928), [[free, 1 - free], [1 - seen, seen]], False),
        ],
        [[0.0, -amount(500.0, 400 / 3.919928)], [-amount(100.0, 90 / 3.919928), -10.0]],
    )


GOAL = oracle.Goal(2)


def oracle_value(model: oracle.Model) -> float:
    return oracle.value(model, GOAL, model.prior, frozenset(), GOAL.horizon)


def test_every_version_is_planned_as_the_oracle_plans_it(small: Weigher) -> None:
    numbers = drawn(small.problem, unsure(small.problem), default_rng(3), 100)
    told = small.weigh(numbers)
    for k in range(100):
        tests = [(float(numbers.cost[k, t]), numbers.likelihood[k, t].T.tolist(), False) for t in range(2)]
        model = oracle.Model(numbers.prior[k].tolist(), tests, numbers.payoff[k].tolist())
        assert told.best[k] == pytest.approx(oracle_value(model), rel=1e-12)
        kind, place = oracle.choice(model, GOAL, model.prior)
        assert small.names[told.first[k]] == (["leave", "treat"] if kind == "commit" else ["smear", "scan"])[place]
    assert len(set(told.first.tolist())) > 1


def test_value_of_knowing_agrees_with_plain_sampling(small: Weigher) -> None:
    """Everything is drawn and planned by other means; both estimates have an error."""
    generator, now = default_rng(11), oracle_value(plain_version(None))
    assert small.worth == pytest.approx(now, rel=1e-12)
    models = [plain_version(generator) for _ in range(3000)]
    values = np.array([oracle_value(one) for one in models])
    mine = sampled(small, unsure(small.problem), 3000, 1)
    ours, error = estimated(mine.gain, mine.chance), float(values.std()) / math.sqrt(3000)
    assert values.mean() - now == pytest.approx(ours.value, abs=3 * math.hypot(ours.se, error))
    firsts = [oracle.choice(one, GOAL, one.prior) for one in models]
    begins = ("test", ["smear", "scan"].index(small.first))
    right, told = np.mean([one == begins for one in firsts]), np.mean(mine.first == small.names.index(small.first))
    assert right == pytest.approx(told, abs=3 * math.sqrt(2 * told * (1 - told) / 3000))


def test_plan_is_worth_at_the_means_what_it_is_worth_on_average(small: Weigher) -> None:
    told = sampled(small, unsure(small.problem), 4000, 5)
    error = float(told.kept.std()) / math.sqrt(4000)
    assert told.kept.mean() == pytest.approx(small.worth, abs=4 * error)


# -- once something was seen ------------------------------------------------------------------------------------------

SEEN = [("smear", "positive")]
NAMES = ["leave", "treat", "smear", "scan"]


def after_smear(model: oracle.Model) -> tuple[float, list[float]]:
    """How likely the positive smear was, and the belief after it."""
    joint = [share * row[1] for share, row in zip(model.prior, model.tests[0][1], strict=True)]
    return sum(joint), [share / sum(joint) for share in joint]


def test_every_version_goes_on_as_the_oracle_goes_on() -> None:
    problem = parse_model(SMALL)
    weigher = Weigher(problem, make_adviser(problem), SEEN)
    numbers = drawn(problem, unsure(problem), default_rng(3), 60)
    told = weigher.weigh(numbers)
    usual, _ = after_smear(plain_version(None))
    for k in range(60):
        tests = [(float(numbers.cost[k, t]), numbers.likelihood[k, t].T.tolist(), False) for t in range(2)]
        model = oracle.Model(numbers.prior[k].tolist(), tests, numbers.payoff[k].tolist())
        chance, belief = after_smear(model)
        assert told.chance[k] == pytest.approx(chance / usual, rel=1e-12)
        expected = oracle.value(model, GOAL, belief, frozenset([0]), GOAL.horizon)
        assert told.best[k] / told.chance[k] == pytest.approx(expected, rel=1e-12)
    assert len(set(told.first.tolist())) > 1


def test_people_speak_of_the_likeliest_result() -> None:
    named = [item.id for item in unsure(parse_model(PANEL)) if item.kind == "likelihood"]
    assert named == ["likelihood.smear.well.no", "likelihood.culture.mild.few"]


def test_how_sure_one_is_after_a_result_agrees_with_cases_that_had_it() -> None:
    """Numbers and cases are drawn by other means, and only those cases kept whose smear was positive."""
    problem, generator = parse_model(SMALL), default_rng(17)
    agent = make_adviser(problem)
    sure = how_sure(problem, agent, SEEN, samples=4000)
    assert sure is not None
    worths, right = list[float](), list[bool]()
    while len(worths) < 1200:
        model = plain_version(generator)
        chance, belief = after_smear(model)
        if generator.random() < chance:
            kind, place = oracle.choice(model, GOAL, belief, frozenset([0]))
            right.append(NAMES[place + 2 * (kind == "test")] == sure.action)
            worths.append(oracle.value(model, GOAL, belief, frozenset([0]), GOAL.horizon))
    share = float(np.mean(right))
    assert 0.05 < share < 0.95
    assert share == pytest.approx(sure.share, abs=3 * math.hypot(sure.se, math.sqrt(share * (1 - share) / 1200)))
    gains = uncertainty(problem, agent, samples=4000, given=SEEN).everything
    error = float(np.std(worths)) / math.sqrt(1200)
    assert np.mean(worths) == pytest.approx(sure.worth + gains.value, abs=3 * math.hypot(gains.se, error))
    assert sure.worth_kind == "exact"
    assert sure.low < sure.worth < sure.high


def test_what_was_seen_or_cannot_be_had_is_not_planned_again() -> None:
    problem = parse_model(SMALL)
    agent = make_adviser(problem)
    assert Weigher(problem, agent, SEEN, ["scan"]).names == ["leave", "treat"]
    assert Weigher(problem, agent, [("smear", "?")]).names == ["leave", "treat", "scan"]
    for given in (SEEN, [("smear", "negative")], [("scan", "positive")]):
        assert Weigher(problem, agent, given).first == advise(problem, agent, given).do
    found = uncertainty(problem, agent, samples=50, given=SEEN)
    assert found.curve is None
    assert "After smear positive" in found.words[0]
    with pytest.raises(RhoplanError, match="enter them as results"):
        uncertainty(started(problem, known=SEEN), agent, samples=50)


RARE = """
states: [well, ill]
positive: ill
prevalence: 20%
tests:
  scan: {cost: 1, sensitivity: 0.00001 (0.0000000000001 to 0.001), specificity: 0.99999 (0.999 to 0.9999999999999)}
  blood: {cost: 1, sensitivity: 0.9, specificity: 0.8}
losses: {leave: {well: 0, ill: 100}, treat: {well: 10, ill: 0}}
"""


def test_versions_in_which_what_was_seen_cannot_happen_count_for_nothing() -> None:
    """Chances that are hardly known are drawn as 0: such a version says nothing about the worth of a plan."""
    problem, given = parse_model(RARE), [("scan", "positive")]
    agent = make_adviser(problem)
    assert (sampled(Weigher(problem, agent, given), unsure(problem), 1000, 0).chance == 0).any()
    with np.errstate(divide="raise", invalid="raise"):
        sure = how_sure(problem, agent, given, samples=1000)
    assert sure is not None
    assert -100 < sure.low < sure.high < 0


def test_what_was_seen_may_be_possible_in_one_version_or_in_none(
    small: Weigher, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(*chance: float) -> Weighed:
        paid = np.array([0.0, -6.0, 0.0])
        return Weighed(paid, paid, paid, np.zeros(3, dtype=np.int64), np.array(chance))

    assert _interval(found(0.0, 2.0, 0.0)) == (-3.0, -3.0)
    monkeypatch.setattr(Weigher, "weigh", lambda *_: found(0.0, 0.0, 0.0))
    with pytest.raises(LimitError, match="none of 2,000 versions"):
        sampled(small, unsure(small.problem), 2000, 0)


# -- exact against sampled --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", range(8))
def test_exact_value_of_one_number_agrees_with_draws(small: Weigher, place: int) -> None:
    items = unsure(small.problem)
    assert len(items) == 8
    exact = worth(small, [items[place]])
    assert (exact.kind, exact.se) == ("exact", 0.0)
    told = sampled(small, [items[place]], 2000, 2)
    rough = estimated(told.gain, told.chance)
    assert exact.value == pytest.approx(rough.value, abs=3 * rough.se + 1e-9)


def test_exact_value_is_an_integral(small: Weigher) -> None:
    """Of the prior, by the trapezoid rule over ten thousand values."""
    item = unsure(small.problem)[0]
    edges = np.linspace(0.0, 1.0, 4001)
    middle = (edges[1:] + edges[:-1]) / 2
    told = small.weigh(versions(small.problem, [(item, item.at(middle))], len(middle)))
    chance = np.diff([item.one.below(float(edge)) for edge in edges])
    assert worth(small, [item]).value == pytest.approx(float(told.gain @ chance), rel=1e-3)
    assert worth(small, [item]).value > 0.1


# -- laws -------------------------------------------------------------------------------------------------------------


def test_knowing_everything_is_worth_most(small: Weigher) -> None:
    found = uncertainty(small.problem, small.agent, samples=2000)
    for one in (*found.numbers, *found.studies):
        error = math.hypot(one.worth.se, found.everything.se)
        assert 0 <= one.worth.value <= found.everything.value + 3 * error
    (test,) = (one for one in found.studies if one.name == "a study of smear")
    alone = {one.ids[0]: one.worth.value for one in found.numbers}
    assert test.worth.value + 3 * test.worth.se >= max(alone[name] for name in test.ids)


def test_certain_numbers_are_worth_nothing() -> None:
    problem = make("screening-cascade")
    found = uncertainty(problem, make_adviser(problem), spread=1e-6, samples=50)
    assert [one.share for one in found.right] == [1.0]
    assert found.everything.value == 0
    assert all(one.worth.value == 0 for one in (*found.numbers, *found.studies))
    with pytest.raises(RhoplanError, match="states no uncertain number"):
        uncertainty(problem, make_adviser(problem))
    assert how_sure(problem, make_adviser(problem)) is None


def told(text: str) -> Uncertainty:
    problem = parse_model(text)
    return uncertainty(problem, make_adviser(problem), samples=200, seed=4)


def test_scaling_money_scales_everything() -> None:
    large = SMALL
    for old, new in (
        ("cost: 5,", "cost: 500,"), ("12 to 20", "1200 to 2000"), ("300 to 700", "30000 to 70000"),
        ("100 (60-150), ill: 10", "10000 (6000-15000), ill: 1000"),
    ):  # fmt: skip
        assert old in large
        large = large.replace(old, new)
    before, after = told(SMALL), told(large)
    assert [one.share for one in before.right] == [one.share for one in after.right]
    assert 100 * before.everything.value == pytest.approx(after.everything.value)
    assert [100 * one.worth.value for one in before.numbers] == pytest.approx([o.worth.value for o in after.numbers])
    assert 100 * before.low == pytest.approx(after.low)


def test_renaming_changes_nothing() -> None:
    before, after = told(SMALL), told(SMALL.replace("smear", "aaa").replace("ill:", "zzz:").replace("ill]", "zzz]"))
    assert [one.worth for one in before.numbers] == [one.worth for one in after.numbers]
    assert [one.share for one in before.right] == [one.share for one in after.right]
    assert before.everything == after.everything


def test_same_seed_draws_the_same_whatever_fits_one_graph(small: Weigher, monkeypatch: pytest.MonkeyPatch) -> None:
    items = unsure(small.problem)
    whole = sampled(small, items, 1500, 9)
    monkeypatch.setattr(small.layout, "limits", TreeLimits(branches=1000))
    parts = sampled(small, items, 1500, 9)
    assert np.array_equal(whole.first, parts.first)
    assert whole.best == pytest.approx(parts.best, rel=1e-12)


# -- what versions are made of ----------------------------------------------------------------------------------------


def test_versions_with_panels_and_rows_of_three(small: Weigher) -> None:
    """A version's joint likelihoods are those of its tests, each row sums to 1, and what is certain stays."""
    problem = parse_model(PANEL)
    numbers = drawn(problem, unsure(problem), default_rng(0), 20)
    assert numbers.prior.sum(axis=1) == pytest.approx(np.ones(20))
    assert np.ptp(numbers.prior, axis=0).min() > 0
    smear, both = numbers.likelihood[:, 0, :2], numbers.likelihood[:, 1].reshape(20, 2, 3, 3)
    assert both.sum(axis=2) == pytest.approx(smear)
    assert both.sum(axis=(1, 2)) == pytest.approx(np.ones((20, 3)))
    assert np.ptp(both.sum(axis=1)[:, :, 1], axis=0).min() > 0.01  # the culture in mild cases
    assert np.ptp(both.sum(axis=1)[:, :, 2], axis=0).max() < 1e-12  # and in grave ones
    assert np.ptp(numbers.payoff[:, 1], axis=0).tolist()[1:] == [0.0, 0.0]


def test_subtypes_share_the_row_of_their_diagnosis() -> None:
    text = SMALL.replace("prevalence", "subtypes: {ill: {mild: 60%, grave: 40%}}\nprevalence")
    problem = parse_model(text)
    numbers = drawn(problem, unsure(problem), default_rng(0), 10)
    assert np.array_equal(numbers.likelihood[..., 1], numbers.likelihood[..., 2])
    assert numbers.prior[:, 1] * 0.4 == pytest.approx(numbers.prior[:, 2] * 0.6)
    assert np.array_equal(numbers.payoff[..., 1], numbers.payoff[..., 2])
    assert weigher_of(problem).worth == pytest.approx(weigher_of(parse_model(SMALL)).worth)


@pytest.mark.parametrize("name", WORKED_MODELS)
def test_masses_are_worth_what_beliefs_are(name: str) -> None:
    """Also with a price on information: the plan's value on the ordinary graph."""
    problem = make(name)
    for weight in (0.0, 0.02 * problem.reward_scale):
        agent = make_adviser(problem, horizon=2, weight=weight)
        graph = Graph(problem)
        value = Plan(graph, Information(weight)).values(np.array([graph.root]), 2)[0]
        assert Weigher(problem, agent).worth == pytest.approx(value, rel=1e-10)


@pytest.mark.parametrize("name", ["printer", "security-lane", "tiger-doors"])
def test_spread_takes_every_number(name: str) -> None:
    problem = make(name)
    items = spread_all(problem, 0.1)
    amounts = [item for item in items if item.quantity == "money"]
    told = [item.one.quantile(0.975) / item.one.mean for item in amounts]
    assert told == pytest.approx([1.1] * len(told), abs=0.006)
    paid = sum(test.cost > 0 for test in problem.flat.tests) + len(problem.flat.first_prices)
    assert len(amounts) == paid + int((problem.flat.payoff != 0).sum())
    with pytest.raises(RhoplanError, match="above 0% and below 100%"):
        spread_all(problem, 1.0)


def test_repeated_tests_are_estimated_and_say_so() -> None:
    problem = make("tiger-doors")
    found = uncertainty(problem, make_adviser(problem), spread=0.1, samples=200)
    assert found.worth_kind == "estimated"
    assert found.worth_se > 0
    assert {one.worth.kind for one in found.numbers} == {"estimated"}
    assert any("repeated" in words for words in found.words)


# -- views ------------------------------------------------------------------------------------------------------------


def test_tornado_ends_are_plans_of_changed_models(small: Weigher) -> None:
    swing = next(one for one in swings(small, unsure(small.problem)) if one.id == "prior.ill")
    assert swing.low.value < swing.value < swing.high.value
    for end in (swing.low, swing.high):
        factor = replace(small.problem.factors[0], prior=np.array([1 - end.value, end.value]))
        other = weigher_of(replace(small.problem, factors=(factor,)))
        assert (end.first, end.best) == (other.first, pytest.approx(other.worth))
        assert end.kept <= end.best


def test_map_holds_the_tornado_in_its_middle(small: Weigher) -> None:
    items = unsure(small.problem)
    found = two_way(small, find(items, "prior.ill"), find(items, "loss of treat in well"))
    assert len(found.actions) > 1
    side = len(found.across.values)
    for row, column in ((0, 0), (side // 2, 3), (side - 1, side - 1)):
        changes = [
            (find(items, "prior.ill"), np.array([[1 - (p := found.across.values[column]), p]])),
            (find(items, "loss.treat.well"), np.array([[found.down.values[row]]])),
        ]
        told = small.weigh(versions(small.problem, changes, 1))
        assert found.actions[found.first[row][column]] == small.names[told.first[0]]
    with pytest.raises(RhoplanError, match="two different numbers"):
        two_way(small, items[0], items[0])
    with pytest.raises(RhoplanError, match="no uncertain number of this model"):
        find(items, "prior.flu")


def test_decision_curve_holds_the_model_itself(small: Weigher) -> None:
    curve = decision_curve(small)
    assert curve is not None
    assert (curve.diagnosis, curve.action) == ("ill", "treat")
    good, harm = 490.0, 100.0
    assert curve.own == pytest.approx(harm / (harm + good))
    losses = SMALL.replace("100 (60-150)", str(good * 0.31 / 0.69))
    other = weigher_of(parse_model(losses))
    point = next(one for one in curve.points if one.threshold == 0.31)
    assert point.plan == pytest.approx((other.worth + 0.2 * 500) / good)
    assert point.everybody == pytest.approx(0.2 - 0.8 * 0.31 / 0.69)
    assert point.tested is not None
    assert max(0.0, point.everybody, point.tested) <= point.plan + 1e-12
    assert decision_curve(weigher_of(make("printer"))) is None


def test_what_cannot_be_weighed_is_refused() -> None:
    with pytest.raises(RhoplanError, match="need a model of tests and decisions"):
        weigher_of(make("rocksample:n=3,k=1"))
    many = "\n".join(
        f"  t{k}: {{cost: 1, outcomes: [a, b, c], likelihood: {{well: [0.5, 0.3, 0.2], ill: [0.2, 0.3, 0.5]}}}}"
        for k in range(30)
    )
    text = f"states: [well, ill]\ntests:\n{many}\nlosses: {{a: [0, 9], b: [9, 0]}}\nhorizon: 4\n"
    with pytest.raises(LimitError, match="shorter look-ahead"):
        weigher_of(parse_model(text), horizon=4)


def test_numbers_of_a_problem_are_its_own() -> None:
    problem = make("chest-pain")
    numbers = ParameterBatch.of(problem, 3)
    assert len(numbers) == 3
    assert numbers.first[0].tolist() == [0, 0, 0, 2.1, 2.1, 70, 70, 0, 0]
    assert numbers.part(slice(1, 2)).payoff.tolist() == [problem.flat.payoff.tolist()]
