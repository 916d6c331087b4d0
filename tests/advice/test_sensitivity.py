"""Sensitivity: flips are where mathematics puts them, and the first action differs across each."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rhoplan.advice import standin
from rhoplan.advice.brackets import Answer
from rhoplan.advice.case import advise
from rhoplan.advice.questions import Allowance, Asker
from rhoplan.advice.sensitivity import FIRST_STEP, _Search, flips
from rhoplan.advice.variations import KINDS, moved, parameters, with_values
from rhoplan.advice.words import parameter_name
from rhoplan.agents.agent import decide, make_agent
from rhoplan.agents.fitting import size_of
from rhoplan.errors import RhoplanError
from rhoplan.io.model_file import parse_model
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.planning.utility import NegativeEntropy
from rhoplan.problems.registry import make
from weak import weak_tests


def perfect(cost=1.0):
    """One test that tells the truth: worth 10 before its cost where both states are equally likely."""
    truth = Test("truth", cost, ("no", "yes"), np.eye(2), repeatable=False)
    commits = (Decision("leave", np.array([0.0, -20.0])), Decision("treat", np.array([-20.0, 0.0])))
    return DiagnosticProblem(
        name="perfect", states=("well", "ill"), tests=(truth,), decisions=commits, prior=np.array([0.5, 0.5])
    )


def by_name(problem, agent, **settings):
    return {flip.id: flip for flip in flips(problem, agent, **settings)}


def test_flips_of_a_perfect_test_are_where_its_cost_meets_its_worth():
    problem = perfect()
    found = by_name(problem, make_agent("planning", problem))
    cost, prior = found["cost.truth"], found["prior.ill"]
    assert cost.up.value == pytest.approx(10, rel=1e-6)
    assert cost.down.status == "does not flip"
    assert (prior.down.value, prior.up.value) == pytest.approx((1 / 20, 19 / 20), rel=1e-6)
    assert (prior.down.then, prior.up.then) == ("leave", "treat")
    assert found["loss.leave.ill"].down.value == pytest.approx(2, rel=1e-6)
    assert found["weight"].up.status == "does not flip"
    assert all(edge.is_nearest for edge in (cost.up, cost.down, prior.up, prior.down))


def test_losses_below_zero_are_not_offered():
    """Where sending a healthy person home would be a gain, the first action changes; nobody means that by a loss."""
    problem = perfect()
    agent = make_agent("planning", problem)
    assert all(one.low == 0 for one in parameters(problem, agent) if one.kind == "loss")
    found = by_name(problem, agent)
    edges = [edge for name, flip in found.items() if name.startswith("loss.") for edge in (flip.down, flip.up)]
    assert edges
    assert all(edge.value >= 0 for edge in edges if edge.status == "flips")
    with pytest.raises(RhoplanError, match="loss of leave in well must lie between 0 and"):
        with_values(problem, agent, {"loss.leave.well": -1.0})


def test_weight_flips_where_information_pays_for_the_test():
    problem = perfect(cost=11.0)
    flip = by_name(problem, make_agent("planning-ig", problem, weight=0.5))["weight"]
    assert flip.now in ("leave", "treat")
    assert flip.up.value == pytest.approx(1 / np.log(2), rel=1e-6)
    assert flip.up.then == "truth"


@pytest.mark.parametrize("name", ["screening-cascade", "tiger", "four-diseases"])
def test_the_first_action_differs_across_every_flip(name):
    problem = make(name)
    agent = make_agent("efe", problem)
    kinds = ("cost", "weight") if name == "four-diseases" else ("prior", "cost", "first-price", "weight")
    every = {parameter.id: parameter for parameter in parameters(problem, agent)}
    seen = 0
    for flip in flips(problem, agent, only=kinds, budget=8):
        for edge in (flip.down, flip.up):
            if edge.status == "flips":
                seen += 1
                change = every[flip.id].change
                assert decide(*change(edge.before)).choice == flip.now
                assert decide(*change(edge.beyond)).choice == edge.then != flip.now
                assert abs(edge.beyond - edge.before) <= 1e-6 * max(abs(edge.value), 1e-3 * abs(flip.value))
    assert seen >= 2


def test_a_narrow_stretch_with_another_action_is_found():
    problem = make("security-lane")
    prior = by_name(problem, make_agent("efe", problem), only=["prior"])["prior.threat"]
    assert prior.down.then == "swab"
    assert prior.down.value == pytest.approx(7.998e-5, rel=1e-3)


def test_likelihoods_flip_too_and_rows_keep_summing_to_one():
    problem = perfect()
    truth = problem.flat.tests[0]
    rough = dataclasses.replace(truth, likelihood=np.array([[0.9, 0.1], [0.1, 0.9]]))
    model = DiagnosticProblem(
        name="rough", states=problem.states, tests=(rough,), decisions=problem.flat.commits, prior=problem.prior
    )
    flip = by_name(model, make_agent("planning", model))["likelihood.truth.ill.yes"]
    # worth 20 * (0.9 + x) / 2 - 10 - 1 = 0 at x = 0.2
    assert flip.down.value == pytest.approx(0.2, rel=1e-6)
    assert moved(np.array([0.5, 0.3, 0.2]), 0, 0.75) == pytest.approx([0.75, 0.15, 0.1])


def test_flips_are_of_the_case_at_hand():
    problem = make("screening-cascade")
    agent, given = make_agent("efe", problem), [("strip", "positive")]
    found = flips(problem, agent, given, only=["cost"])
    assert {flip.now for flip in found} == {"lab-assay"}
    flip = next(flip for flip in found if flip.id == "cost.lab-assay")
    change = next(p for p in parameters(problem, agent) if p.id == flip.id).change
    for value, action in ((flip.up.before, "lab-assay"), (flip.up.beyond, flip.up.then)):
        changed, _ = change(value)
        assert decide(changed, agent, changed.belief(given=given)).choice == action


def test_without_time_nothing_is_claimed():
    problem = make("printer")
    found = flips(problem, make_agent("efe", problem), budget=1e-9)
    assert {edge.status for flip in found for edge in (flip.down, flip.up)} == {"not examined"}


def test_a_search_begins_close_by_and_looks_where_the_lead_goes_down():
    problem = perfect()
    cost = next(p for p in parameters(problem, make_agent("planning", problem)) if p.id == "cost.truth")
    search = _Search(cost, True)
    assert search.wanted == [1.0, 1.0 - FIRST_STEP, 1.0 + FIRST_STEP]
    leads = (0.3, 0.4, 0.2)  # it loses a third of the lead in a step of 2%: two more, and it is gone
    search.tell(
        {at: Answer(at, "truth", True, np.array([lead, 0.0])) for at, lead in zip(search.wanted, leads, strict=True)}
    )
    assert search.urgency == (False, pytest.approx(3 * FIRST_STEP))


def test_nearest_flips_are_met_first(monkeypatch):
    """With three quarters of the work that all numbers take, the nearest flips are there."""
    problem = make("leak-search")
    agent = make_agent("efe", problem)
    whole = by_name(problem, agent)
    assert all(flip.is_examined for flip in whole.values())
    near = sorted(whole.values(), key=lambda flip: flip.nearest)[:6]
    monkeypatch.setattr("rhoplan.advice.questions.USUAL_WORK", 0.75 * work_of(problem, agent))
    found = by_name(problem, agent)
    assert list(found) == list(whole)
    assert sum(flip.is_examined for flip in found.values()) < len(found)
    assert {flip.kind for flip in near} == {"cost", "prior"}
    for flip in near:
        assert found[flip.id].nearest == pytest.approx(flip.nearest, rel=1e-5), flip.id


def work_of(problem, agent):
    """What all flips take, in the count of `Allowance`."""
    whole = []

    class Counted(Allowance):
        def use(self, versions, numbers, states):
            fine = super().use(versions, numbers, states)
            whole.append(self._done)
            return fine

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rhoplan.advice.sensitivity.Allowance", Counted)
        flips(problem, agent)
    return whole[-1]


def test_without_a_time_clocks_do_not_matter(monkeypatch):
    problem = make("printer")
    agent = make_agent("efe", problem)
    monkeypatch.setattr("rhoplan.advice.questions.USUAL_WORK", 3e6)
    quick = flips(problem, agent)
    years = iter(range(10**9))
    monkeypatch.setattr("rhoplan.advice.questions.time.monotonic", lambda: 1e6 * next(years))
    slow = flips(problem, agent)
    assert quick == slow
    assert 0 < sum(flip.is_examined for flip in quick) < len(quick)


def test_a_test_that_was_run_may_be_unavailable_since():
    problem = make("four-diseases")
    agent = make_agent("efe", problem)
    first = decide(problem, agent).choice
    given = [(first, next(test.outcomes[0] for test in problem.flat.tests if test.name == first))]
    for found in flips(problem, agent, given, unavailable=[first], only=["cost", "prior"]):
        assert found.is_examined
        assert found.now == advise(problem, agent, given, unavailable=[first]).do


def test_own_utilities_are_searched_on_graphs_of_their_own():
    problem = perfect(cost=11.0)
    agent = dataclasses.replace(make_agent("planning", problem), utility=NegativeEntropy(20.0))
    flip = by_name(problem, agent, only=["cost"])["cost.truth"]
    assert (flip.now, flip.down.then) == ("leave", "truth")  # being unsure costs as much at the test as at the commit
    assert flip.down.value == pytest.approx(10, rel=1e-5)
    assert not flip.down.is_nearest


def test_every_parameter_has_an_id_of_its_own_and_words_for_people() -> None:
    problem = make("chest-pain")
    found = {parameter.id: parameter for parameter in parameters(problem, make_agent("efe", problem))}
    assert len(found) == len(list(parameters(problem, make_agent("efe", problem))))
    kinds = {parameter.kind for parameter in found.values()}
    assert kinds == set(KINDS) - {"reward"}
    test, group, commit, state = "troponin", "blood", "treat", "healthy"
    words = {
        "weight": "weight",
        f"cost.{test}": f"cost of {test}",
        f"first-price.{group}": f"first price of {group}",
        f"loss.{commit}.{state}": f"loss of {commit} in {state}",
    }
    for name, word in words.items():
        assert parameter_name(found[name].kind, found[name].names) == word
    assert parameter_name("likelihood", ("scan", "ill", "positive")) == "P(positive | ill) of scan"


def test_ids_differ_whatever_things_are_called() -> None:
    problem = DiagnosticProblem(
        name="points",
        states=("b.c", "c"),
        tests=(),
        decisions=tuple(Decision(name, np.array([1.0, -1.0])) for name in ("a", "a.b")),
    )
    found = [parameter.id for parameter in parameters(problem, make_agent("planning", problem))]
    assert sorted(set(found)) == sorted(found)
    assert {r"reward.a.b\.c", r"reward.a\.b.c"} <= set(found)


def test_a_two_state_model_moves_the_state_it_is_about() -> None:
    problem = parse_model("states: [ill, well]\npositive: ill\nprevalence: 10%\ncommits: {go: [1, -1], stay: [0, 0]}")
    found = [p for p in parameters(problem, make_agent("planning", problem)) if p.kind == "prior"]
    assert [(parameter.id, parameter.value) for parameter in found] == [("prior.ill", 0.1)]


def test_values_by_id_change_what_they_name_and_nothing_else() -> None:
    base = make("chest-pain")
    own = make_agent("planning-ig", base)
    values = {"cost.age": 2.5, "loss.treat.healthy": 7, "first-price.blood": 4, "weight": 3}
    problem, agent = with_values(base, own, values)
    assert [test.cost for test in problem.flat.tests][:2] == [2.5, 1.0]
    assert problem.flat.commits[1].reward.tolist() == [-7, 0]
    assert problem.flat.first_prices == {"blood": 4, "exercise": 70}
    assert (problem.prior.tolist(), agent.weight, own.weight) == (base.prior.tolist(), 3, 1)
    now = {parameter.id: parameter.value for parameter in parameters(problem, agent)}
    before = {parameter.id: parameter.value for parameter in parameters(base, own)}
    assert {name: value for name, value in now.items() if value != before[name]} == values


def test_priors_set_one_after_the_other_share_the_room() -> None:
    base = make("four-diseases")
    first, second = base.states[:2]
    problem, _ = with_values(base, make_agent("efe", base), {f"prior.{first}": 0.5, f"prior.{second}": 0.2})
    expected = moved(moved(base.prior, 0, 0.5), 1, 0.2)
    assert problem.prior == pytest.approx(expected)
    assert problem.prior.sum() == pytest.approx(1)


def test_ids_stay_when_every_reward_becomes_a_loss() -> None:
    tiger = make("tiger")
    right = {f"reward.{commit.name}.{state}": -1.0 for commit in tiger.flat.commits for state in tiger.states}
    problem, agent = with_values(tiger, make_agent("efe", tiger), right)
    assert all((commit.reward == -1).all() for commit in problem.flat.commits)
    assert {p.id for p in parameters(problem, agent) if p.kind == "reward"} == set(right)


@pytest.mark.parametrize(
    "values",
    [
        {"cost.purr": 1.0},
        {"cost.listen": -1.0},
        {"weight": np.nan},
        {"prior.tiger-right": 1.0},
        {"prior.tiger-right": 0.0},
        {"cost of listen": 1.0},
    ],
)
def test_a_value_that_cannot_be_is_refused_by_its_id(values: dict[str, float]) -> None:
    tiger = make("tiger")
    with pytest.raises(RhoplanError) as caught:
        with_values(tiger, make_agent("efe", tiger), values)
    assert caught.value.field == tuple(values)


def test_distance_is_relative_and_of_probabilities_in_odds() -> None:
    found = by_name(make("screening-cascade"), make_agent("efe", make("screening-cascade")), only=["cost", "prior"])
    flipping = [(flip, edge) for flip in found.values() for edge in (flip.down, flip.up) if edge.value is not None]
    assert {flip.quantity for flip, _ in flipping} == {"money", "probability"}
    for flip, edge in flipping:
        odds = edge.value / (1 - edge.value) / (flip.value / (1 - flip.value)) if flip.kind == "prior" else None
        expected = abs(np.log(odds)) if odds else abs(edge.value / flip.value - 1)
        assert edge.distance == pytest.approx(expected)
        assert flip.as_dict()["nearest"] == min(flip.down.distance, flip.up.distance)


def test_a_giant_loss_elsewhere_does_not_hide_a_flip() -> None:
    """A rival 2e13 below the others made differences of 1e4 look like rounding: a flip was said not to exist."""
    rows = np.array([[0.25, 0.75], [2 / 3, 1 / 3], [1 / 13, 12 / 13]])
    problem = DiagnosticProblem(
        name="giant",
        states=("rare", "usual", "other"),
        prior=np.array([4e-14, 1 - 1e-9 - 4e-14, 1e-9]),
        tests=(Test("t", 0.015, ("n", "p"), rows),),
        decisions=(
            Decision("go", np.array([-9e15, 14.5, -9.5])),
            Decision("no", np.array([-26.5, -2e13, 6.0])),
        ),
    )
    agent = make_agent("efe", problem, horizon=1, unit="bits")

    found = {flip.names: flip for flip in flips(problem, agent, only=["prior"])}
    edge = found["other",].up

    assert edge.status == "flips"
    assert edge.then == "t"
    for value, expected in ((edge.before, "go"), (edge.beyond, "t")):
        assert value is not None
        rest = problem.prior[:2] / problem.prior[:2].sum() * (1 - value)
        other = DiagnosticProblem(
            name="other",
            states=problem.states,
            prior=np.append(rest, value),
            tests=problem.flat.tests,
            decisions=problem.flat.commits,
        )
        assert decide(other, agent).choice == expected


def test_after_evidence_worth_times_its_chance_is_convex_in_every_probability() -> None:
    """What proofs of nearest flips rest on: of beliefs it is true only in terms of the chance of what was seen."""
    problem = make("chest-pain")
    agent, test = make_agent("planning-ig", problem, weight=20.0), problem.flat.tests[0]
    asker = Asker(problem, agent, [(test.name, test.outcomes[1])], set(), None)
    values = np.linspace(0.02, 0.98, 17).tolist()
    for parameter in (one for one in parameters(problem, agent) if one.is_convex and one.quantity == "probability"):
        answers = asker.answers([(parameter, value) for value in values], Allowance(None))
        assert answers is not None
        worth = np.array([answers[parameter.id, value].worth for value in values])  # type: ignore[union-attr]
        assert np.diff(worth, 2, axis=0).min() >= -1e-9 * np.abs(worth).max(), parameter.id


@pytest.mark.parametrize("repeatable", [False, True])
def test_a_plan_that_stands_in_looks_no_further_than_there_is_room(
    repeatable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that can be repeated count as if they ran once: so many situations and more."""
    problem = weak_tests(4, repeatable=repeatable)
    agent = make_agent("planning", problem, planner="many", horizon=3)
    now = advise(problem, agent).do
    for ahead in (2, 3):
        room = size_of(problem, ahead, repeats=True).nodes * 4
        monkeypatch.setattr(standin, "MOST_NUMBERS", room)
        told = standin.flips_of(problem, agent, now)
        assert f"looks {ahead} tests ahead" in told.words
