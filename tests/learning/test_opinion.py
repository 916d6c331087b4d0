"""A second opinion is scikit-learn's, travels in the model file, and is told where it would end a case otherwise."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")

import rhoplan  # noqa: E402
from rhoplan.errors import ModelFileError  # noqa: E402
from rhoplan.io.learned import LEARNED  # noqa: E402
from rhoplan.io.model_file import parse_model, write_model  # noqa: E402
from rhoplan.learning.choices import Grid  # noqa: E402
from rhoplan.learning.learning import Result, learn  # noqa: E402
from rhoplan.learning.opinion import RATE, chances, fit_opinion  # noqa: E402
from test_learning import plan_of, signal_table  # noqa: E402


@pytest.mark.parametrize("states", [2, 3])
def test_chances_are_those_of_scikit_learn(states: int) -> None:
    from sklearn.ensemble import GradientBoostingClassifier

    draw = np.random.default_rng(states)
    outcomes, diagnosis = draw.integers(-1, 4, (200, 3)), draw.integers(0, states, 200)
    outcomes[:, 0] = np.where(draw.random(200) < 0.7, diagnosis, outcomes[:, 0])
    found = fit_opinion(outcomes, diagnosis, np.ones(200), ["a", "b", "c"], states, seed=1)
    model = GradientBoostingClassifier(
        n_estimators=len(found["trees"]), learning_rate=RATE, max_depth=2, min_samples_leaf=5, init="zero",
        random_state=1,
    ).fit(outcomes, diagnosis)  # fmt: skip
    assert chances(found, outcomes) == pytest.approx(model.predict_proba(outcomes), abs=1e-4)


def test_an_opinion_of_one_diagnosis_is_sure() -> None:
    found = fit_opinion(np.zeros((9, 1), dtype=int), np.ones(9, dtype=int), np.ones(9), ["a"], 2, seed=0)
    assert chances(found, np.zeros((2, 1), dtype=int)).tolist() == [[0, 1], [0, 1]]


@pytest.fixture(scope="module")
def result() -> Result:
    grid = Grid((4,), (0.5,), (1,), (0.1,), (1,), (1.0,))
    return learn(signal_table(120), plan_of(), folds=2, repeats=1, grid=grid, second_opinion=True)


def test_it_travels_in_the_model_file(result: Result) -> None:
    again = parse_model(write_model(result.problem))
    assert again.details[LEARNED]["second_opinion"]["model"] == result.opinion


def contrary(result: Result, commit: str) -> rhoplan.POMDP:
    """The model with an opinion that is sure of the diagnosis for which `commit` is wrong."""
    problem = result.problem
    learned = problem.details[LEARNED]
    other = int(np.argmin(next(one.reward for one in problem.flat.commits if one.name == commit)))
    sure = {"test": [-1], "most": [0], "low": [0], "high": [0], "adds": [100.0 if other else -100.0]}
    second = {**learned["second_opinion"], "model": {**result.opinion, "trees": [[sure]]}}
    return replace(problem, details={**problem.details, LEARNED: {**learned, "second_opinion": second}})


def test_it_is_told_where_a_case_ends_and_the_two_disagree(result: Result) -> None:
    found = rhoplan.advise(result.problem, horizon=1)
    while found.advice.is_test:
        assert found.advice.second is None
        found = found.then(found.do, found.advice.results[0].outcome)
    assert found.advice.second is not None
    assert sum(found.advice.second.belief.values()) == pytest.approx(1.0)
    against = rhoplan.advise(contrary(result, found.do), found.advice.given, agent=found.agent)
    assert against.do == found.do, "it takes no part in planning"
    second = against.advice.second
    assert second.disagrees
    assert second.commit != found.do
    assert second.words.startswith("second opinion: gradient boosting")
    assert second.words in repr(against)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"low": [0, 0, 0]}, "later places"),
        ({"high": [9, 0, 0]}, "later places"),
        ({"test": [7, -1, -1]}, "by their places"),
        ({"adds": [0, 1]}, "one length"),
    ],
)
def test_trees_that_lead_nowhere_are_refused(result: Result, change: dict[str, list[int]], told: str) -> None:
    problem = contrary(result, result.problem.flat.commits[0].name)
    tree = {"test": [0, -1, -1], "most": [0, 0, 0], "low": [1, 0, 0], "high": [2, 0, 0], "adds": [0, 1, -1]}
    opinion = problem.details[LEARNED]["second_opinion"]["model"]
    opinion["trees"] = [[tree]]
    parse_model(write_model(problem))
    opinion["trees"] = [[{**tree, **change}]]
    with pytest.raises(ModelFileError, match=told):
        parse_model(write_model(problem))


def test_a_plan_to_carry_says_that_it_has_none(result: Result) -> None:
    from rhoplan.advice.carried import carry
    from rhoplan.agents.agent import make_adviser
    from rhoplan.present.carry.data import WITHOUT_SECOND, covers_words

    problem = result.problem
    kept = {**problem.details[LEARNED], "second_opinion": None}
    for one, has in ((problem, True), (replace(problem, details={**problem.details, LEARNED: kept}), False)):
        assert (WITHOUT_SECOND in covers_words(carry(one, make_adviser(one)))) == has
