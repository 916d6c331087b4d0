"""Studies that are no plain tables: their formulas, their measures, and a finding for every printed number."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from inspect import signature
from typing import Any

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import AGENTS, make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.api import evaluate
from rhoplan.problems.registry import make
from rhoplan_paper.compare import Number
from rhoplan_paper.context import Context
from rhoplan_paper.jobs import Job, find_measure
from rhoplan_paper.measures import told as measures_told
from rhoplan_paper.measures.propositions import first_test_weight
from rhoplan_paper.published import Cell, published, quotes_of
from rhoplan_paper.registry import studies
from rhoplan_paper.statistics import bootstrap, cohens_d
from rhoplan_paper.study import (
    CONFIRMED,
    CONTRADICTED,
    NO_DIFFERENCE,
    ONLY_BITS,
    SETTING,
    UNCHECKED,
    Finding,
    Outcome,
)
from rhoplan_paper.tables import asymmetry as special_tables
from rhoplan_paper.tables import definitions as special
from rhoplan_paper.tables import rows
from rhoplan_paper.told import near_optimality as told_random
from rhoplan_paper.told import results as told
from rhoplan_paper.told import search as told_search

TABLES = ("agents", "environments", "alpha-eta", "effect-sizes")
TOLD = ("bootstrap", "partition", "pomcp-compute", "mcts-efe", "near-optimality", "pymdp")
WORDS = ("sufficient", "interpretation")
"""Columns of words that have findings too."""


class Canned(Context):
    """Answers every job at once: every agent scores the same, unless `scores` has another for it."""

    def __init__(self, *, full: bool = False, scores: dict[str, dict[str, float]] | None = None) -> None:
        super().__init__(full)
        self.scores = scores or {}

    def results(self, jobs: Iterable[Job]) -> list[dict[str, Any]]:
        return [self.answer(one) for one in jobs]

    def answer(self, one: Job) -> dict[str, Any]:
        settings = one.settings
        score = {"reward": -20.0, "reward_sd": 10.0, "tests": 4.0, "tests_sd": 1.0, "success": 0.9, "truncated": 0.0}
        score |= self.scores.get(settings.get("agent", "") if isinstance(settings.get("agent"), str) else "", {})
        if one.measure == "simulated":
            return {"episodes": 200, "columns": {name: {"mean": score[name], "sd": 1.0} for name in score}}
        if one.measure == "steps":
            return {"steps": [{"lower": 0.0, "upper": 300.0, "reward": 1.0}]}
        if one.measure == "effect_sizes":
            row = {"reward": 0.0, "success": 0.0}
            return {"episodes": 500, "d": [row] * 4, "labels": [dict.fromkeys(row, "negligible")] * 4}
        if one.measure == "near_optimality":
            rewards = [[[1.0] * len(settings["weights"])] * len(settings["horizons"])] * 2
            return {"alpha": [2.0, 20.0], "weights": settings["weights"], "rewards": rewards}
        fixed = {
            "first_test_weight": {"weight": -1.0, "tests_at_one": {"bits": True, "nats": True}},
            "bootstrap_interval": {"mean": 0.0, "lower": -1.0, "upper": 1.0, "episodes": 5000},
            "with_pymdp": {"missing": True},
        }
        return fixed.get(one.measure, score)


def built(name: str, context: Context | None = None) -> Outcome:
    return studies()[name].build(context or Canned())


def printed(name: str) -> list[Cell]:
    """The cells of a study that need a finding."""
    if name in published().tables:
        cells = list(published().tables[name].cells)
        return [cell for cell in cells if cell.value is not None or cell.column in WORDS] if name != "agents" else []
    return [cell for quote in quotes_of(name) for cell in quote.cells]


# -- every number is judged, once -------------------------------------------------------------------------------------


def test_the_studies_are_those_of_the_issue() -> None:
    kinds = {id: study.kind for id, study in studies().items() if id not in rows.TABLES}
    told_here = {**dict.fromkeys(TABLES, "table"), **dict.fromkeys((*TOLD, "quoted"), "text"), "claims": "claims"}
    assert {id: kind for id, kind in kinds.items() if kind != "figure"} == told_here


@pytest.mark.parametrize("name", [*TABLES, *TOLD])
def test_every_printed_number_has_one_finding(name: str) -> None:
    found = built(name).findings
    assert len({one.id for one in found}) == len(found)
    assert all(one.id.startswith(f"{name}/") and one.reason for one in found)
    expected = {"agents": 6, "pymdp": 4}
    if name in expected:
        assert len(found) == expected[name]
    else:
        assert Counter(one.published for one in found) == Counter(cell.text for cell in printed(name))


@pytest.mark.parametrize("name", [*TABLES, *TOLD])
def test_sheets_are_rectangular(name: str) -> None:
    sheet = built(name).sheet
    assert sheet is not None
    assert sheet.rows
    assert all(len(row) == len(sheet.headings) for row in sheet.rows)


# -- definitions ------------------------------------------------------------------------------------------------------


def test_agents_and_environments_are_as_printed_and_only_counts_are_results() -> None:
    assert {one.verdict for one in built("agents").findings} == {SETTING}
    found = {one.id.split("/")[-1]: set() for one in built("environments").findings}
    for one in built("environments").findings:
        found[one.id.split("/")[-1]].add(one.verdict)
    counts = ("states", "test_actions", "commit_actions")
    assert found == {column: {CONFIRMED if column in counts else SETTING} for column in found}


def test_another_definition_of_an_agent_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(AGENTS, "efe", replace(AGENTS["efe"], weight=2.0))
    monkeypatch.setitem(AGENTS, "myopic", replace(AGENTS["myopic"], one_step=False))
    wrong = [one.id for one in built("agents").findings if one.verdict == CONTRADICTED]
    assert wrong == ["agents/myopic", "agents/efe"]


def test_another_environment_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(special, "make", lambda spec: make(spec, accuracy=0.8) if spec == "tiger" else make(spec))
    wrong = [one.id for one in built("environments").findings if one.verdict == CONTRADICTED]
    assert wrong == ["environments/tiger/test_accuracy"]


# -- Proposition 2 ----------------------------------------------------------------------------------------------------


def test_formulas_of_tiger_by_hand() -> None:
    information = math.log(2) + 0.85 * math.log(0.85) + 0.15 * math.log(0.15)
    ours = special_tables.formulas("tiger")
    assert ours["alpha"][""] == 10
    assert ours["eta"]["nats"] == pytest.approx(information, abs=1e-12)
    assert ours["eta"]["bits"] == pytest.approx(information / math.log(2), abs=1e-12)
    assert ours["threshold"]["nats"] == pytest.approx((1 - 0.35 * 110) / information, abs=1e-9)
    assert ours["threshold"]["bits"] == pytest.approx(ours["threshold"]["nats"] * math.log(2), abs=1e-9)


@pytest.mark.parametrize(
    ("accuracy", "cost", "right", "wrong"), [(0.85, 1, 10, -100), (0.75, 0.1, 1, -1), (0.6, 9, 2, -3)]
)
def test_threshold_is_where_the_decision_turns(accuracy: float, cost: float, right: float, wrong: float) -> None:
    spec = f"testbed:accuracy={accuracy},cost={cost},right={right},wrong={wrong}"
    turn = first_test_weight(spec)["weight"]
    assert turn == pytest.approx(special_tables.formula(accuracy, cost, right, wrong)["threshold"]["nats"], abs=1e-6)


def test_a_printed_threshold_of_the_wrong_sign_is_contradicted() -> None:
    found = {one.id: one for one in built("alpha-eta").findings}
    assert found["alpha-eta/testbed/threshold"].verdict == CONTRADICTED
    assert "other sign" in found["alpha-eta/testbed/threshold"].reason
    assert found["alpha-eta/tiger/alpha"].verdict == CONFIRMED


def test_best_steps_joins_neighbours() -> None:
    steps = [
        {"lower": 0.0, "upper": 1.0, "reward": 5.0},
        {"lower": 1.0, "upper": 2.0, "reward": 5.0},
        {"lower": 2.0, "upper": 3.0, "reward": 4.0},
        {"lower": 3.0, "upper": 4.0, "reward": 5.0},
    ]
    assert special_tables.best_steps(steps) == [(0.0, 2.0), (3.0, 4.0)]
    assert special_tables.reward_at(steps, 2.5) == 4.0


def test_a_best_weight_may_hold_in_one_unit_only() -> None:
    """0.5 per bit is 0.72 per nat: a policy from 0.6 per nat on holds the first and not 0.5 per nat."""
    steps = [{"lower": 0.0, "upper": 0.6, "reward": 1.0}, {"lower": 0.6, "upper": 300.0, "reward": 2.0}]
    context = Canned()
    context.answer = lambda one, before=context.answer: (  # type: ignore[method-assign]
        {"steps": steps} if "steps" in one.measure else before(one)
    )
    found = {one.id: one for one in built("alpha-eta", context).findings}
    assert found["alpha-eta/diagnosis/best_weight"].verdict == ONLY_BITS
    assert found["alpha-eta/tiger/best_weight"].verdict == CONFIRMED


# -- effect sizes -----------------------------------------------------------------------------------------------------


def test_exact_d_is_cohens_d_of_a_sample_that_is_the_distribution() -> None:
    one, other = np.repeat([1.0, 3.0], 50_000), np.repeat([0.0, 1.0, 5.0], 33_333)
    scores = [{"reward": float(x.mean()), "reward_sd": float(x.std())} for x in (one, other)]
    assert special_tables.exact_d(*scores, metric="reward") == pytest.approx(cohens_d(one, other), abs=1e-4)


def test_success_has_the_spread_of_a_coin() -> None:
    scores = [{"success": 0.8}, {"success": 0.5}]
    assert special_tables.exact_d(*scores, metric="success") == pytest.approx(0.3 / math.sqrt((0.16 + 0.25) / 2))


def test_error_of_d_is_that_of_samples() -> None:
    rng = np.random.default_rng(3)
    drawn = [cohens_d(rng.normal(0.5, 1, 200), rng.normal(0, 1, 200)) for _ in range(4000)]
    assert special_tables.error_of_d(0.5, 200) == pytest.approx(float(np.std(drawn)), rel=0.06)


def test_a_printed_d_between_one_policy_is_noise() -> None:
    found = {one.id: one for one in built("effect-sizes").findings}
    assert found["effect-sizes/tiger-planning-reward/d"].verdict == NO_DIFFERENCE
    assert found["effect-sizes/tiger-planning-reward/interpretation"].verdict == CONFIRMED
    assert found["effect-sizes/tiger-myopic-reward/d"].verdict == CONTRADICTED


def test_effect_sizes_are_those_of_the_raw_episodes() -> None:
    model, seeds = make("testbed"), [42, 123]
    agents = [{"name": "efe", "horizon": 4}, {"name": "info-gain", "weight": 50.0}]
    found = measures_told.effect_sizes(
        "testbed", agent=agents[0], versus=agents[1:], episodes=50, seeds=seeds, unit="bits"
    )
    rows = [
        simulate_episodes(model, make_agent(problem=model, unit="bits", **one), seeds=seeds, episodes=50)
        for one in agents
    ]
    assert found["episodes"] == 100
    assert found["d"][0]["reward"] == cohens_d(rows[0].reward, rows[1].reward)
    assert found["labels"][0]["reward"] == "large"


# -- told in the text -------------------------------------------------------------------------------------------------


def test_bootstrap_interval_is_that_of_the_published_streams() -> None:
    settings: dict[str, Any] = {"episodes": 40, "seeds": [42, 123], "resamples": 500, "horizon": 2}
    found = measures_told.bootstrap_interval("bandit", "planning", **settings)
    model = make("bandit")
    rows = simulate_episodes(model, make_agent("planning", model, horizon=2), seeds=[42, 123], episodes=40)
    expected = bootstrap(rows.reward, resamples=500, seed=42)
    assert (found["lower"], found["upper"]) == (expected.lower, expected.upper)
    assert found["lower"] < found["mean"] == rows.reward.mean() < found["upper"]


def test_a_lead_that_is_not_there_is_no_confirmation() -> None:
    quote = next(quote for quote in quotes_of("partition") if quote.id == "partition-lead")
    cell = quote.cells[0]
    none = {unit: Number(0.0, 30.0) for unit in ("bits", "nats")}
    assert told.lead(quote, cell, none, 1000, "").verdict == NO_DIFFERENCE
    there = {unit: Number(0.5, 30.0) for unit in ("bits", "nats")}
    assert told.lead(quote, cell, there, 1000, "").verdict == CONFIRMED
    far = {unit: Number(-9.0, 30.0) for unit in ("bits", "nats")}
    assert told.lead(quote, cell, far, 1000, "").verdict == CONTRADICTED


def test_a_number_told_twice_is_compared_with_the_first() -> None:
    cells = {cell.text: cell for quote in quotes_of("bootstrap") for cell in quote.cells}
    assert "+6.27" in told.restated(cells["+6.38"])
    assert told.restated(cells["+5.65"]) == ""
    assert told.restated(cells["+6.29"]) == ""


def test_an_exact_mean_outside_the_printed_interval_is_contradicted() -> None:
    """EFE on Bandit is printed as +6.38 [+6.29, +6.47]; 6.247 is 2.6 SE off, and the interval does not hold it."""
    context = Canned(scores={"efe": {"reward": 6.247, "reward_sd": 3.44}})
    found = {one.id: one for one in built("bootstrap", context).findings}
    mine = [one for id, one in found.items() if id.startswith("bootstrap/bootstrap-bandit/") and "efe" in id]
    assert len(mine) == 3
    assert {one.verdict for one in mine} == {CONTRADICTED}
    assert all("6.247" in one.reason and "outside the printed interval" in one.reason for one in mine)
    above = Canned(scores={"efe": {"reward": 6.49, "reward_sd": 3.44}})
    assert {one.verdict for one in built("bootstrap", above).findings if one.id in {m.id for m in mine}} == {
        CONTRADICTED
    }
    context = Canned(scores={"efe": {"reward": 6.30, "reward_sd": 3.44}})
    inside = {one.id: one.verdict for one in built("bootstrap", context).findings}
    assert {inside[one.id] for one in mine} == {CONFIRMED}


def test_printed_widths_speak_for_their_number_of_episodes() -> None:
    """The exact spreads (3.44, 4.01, 10.99, 19.22) fit 5,000 episodes; half of them would fit a quarter as many."""
    spreads = {("bandit", "efe"): 3.44, ("bandit", "planning"): 4.01, ("diagnosis", "efe"): 10.99}
    spreads["diagnosis", "planning"] = 19.22
    context = Canned()
    for scale, verdict in ((1.0, CONFIRMED), (0.5, CONTRADICTED)):
        context.answer = lambda one, scale=scale: (  # type: ignore[method-assign]
            {"mean": 0.0, "lower": 0.0, "upper": 0.0}
            if one.measure != "score"
            else {"reward": 0.0, "reward_sd": scale * spreads[one.settings["problem"], one.settings["agent"]]}
        )
        found = {one.id: one for one in built("bootstrap", context).findings}
        assert found["bootstrap/bootstrap-protocol/episodes"].verdict == verdict


def test_fewest_episodes_that_can_give_the_printed_shares() -> None:
    def share(text: str) -> Cell:
        return Cell({}, "success", "percent", text)

    assert told_search.fewest_episodes([share("96.0%"), share("2.0%")]) == 200
    assert told_search.fewest_episodes([share("97.2%"), share("89.7%")]) == 400
    assert told_search.fewest_episodes([share("97.1%")]) == 800


def test_all_successes_leave_an_error() -> None:
    """Ours at 100% of 200 episodes does not contradict 99.5%, and does contradict 70%."""
    context = Canned(scores={"efe": {"success": 1.0}, "planning": {"success": 1.0}})
    found = {one.id: one for one in built("mcts-efe", context).findings}
    assert found["mcts-efe/mcts-tiger/success-tiger-pomcp-500-10"].verdict == CONTRADICTED
    assert found["mcts-efe/mcts-tiger/success-tiger-mcts-1-500-10"].verdict == CONFIRMED


def test_times_are_not_judged() -> None:
    found = [one for name in ("mcts-efe", "pomcp-compute") for one in built(name).findings if "seconds" in one.claim]
    assert len(found) == 6
    assert {one.verdict for one in found} == {UNCHECKED}


# -- near-optimality --------------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"environments": 5, "seed": 42, "horizons": [1, 3], "weights": [0.01, 1.0, 50.0]}


def plain_loop(unit: str, reward: Any) -> list[list[list[float]]]:
    """Every agent on every problem by itself."""
    draws = np.random.RandomState(42)
    rewards = []
    for place in range(SMALL["environments"]):
        alpha = draws.uniform(1, 50)
        accuracy = draws.uniform(0.55, 0.95)
        cost = draws.uniform(0.1, 5)
        model = rhoplan.make("tiger", accuracy=repr(accuracy), cost=repr(cost), right=10, wrong=repr(-10 * alpha))
        rows = []
        for h, horizon in enumerate(SMALL["horizons"]):
            agents = [make_agent("planning-ig", model, horizon=horizon, weight=w, unit=unit) for w in SMALL["weights"]]
            rows.append([reward(model, agent, place, h, w) for w, agent in enumerate(agents)])
        rewards.append(rows)
    return rewards


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_near_optimality_is_the_plain_loop(unit: str) -> None:
    found = measures_told.near_optimality(**SMALL, unit=unit)
    expected = plain_loop(unit, lambda model, agent, *_: evaluate(model, agent).reward)
    np.testing.assert_allclose(found["rewards"], expected, atol=1e-9)
    assert min(found["alpha"]) >= 1
    assert len(found["accuracy"]) == len(found["cost"]) == 5


@pytest.mark.parametrize("paired", [True, False])
def test_simulated_near_optimality_is_the_plain_loop(paired: bool) -> None:
    found = measures_told.near_optimality(**SMALL, unit="bits", episodes=20, paired=paired)

    def reward(model: Any, agent: Any, place: int, h: int, w: int) -> float:
        seed = 42 if paired else 42 + (place * 2 + h) * 3 + w
        return float(simulate_episodes(model, agent, seeds=[seed], episodes=20).reward.mean())

    np.testing.assert_allclose(found["rewards"], plain_loop("bits", reward), atol=1e-9)


def test_near_optimal_shares_by_hand() -> None:
    """Margins: 0.5 where the best is 4, 5 where it is -100; weight 1 lacks 0.4, 0.6, 4, 6."""
    rewards = [[[4.0, 3.6]], [[4.0, 3.4]], [[-100.0, -104.0]], [[-100.0, -106.0]]]
    result = {"alpha": [2.0, 12.0, 12.0, 12.0], "weights": [0.5, 1.0], "rewards": rewards}
    assert told_random.near_optimal(result) == [[True], [False], [True], [False]]
    assert told_random.near_optimal_shares(result) == ([0.5], 4)
    assert told_random.near_optimal_shares(result, alpha=10.0) == ([1 / 3], 3)


def test_shares_of_the_same_problems_do_not_scatter() -> None:
    found = {one.id: one for one in built("near-optimality").findings}
    assert found["near-optimality/near-optimality-rates/near_optimal-1"].verdict == CONTRADICTED
    assert found["near-optimality/near-optimality-setting/environments"].verdict == SETTING


def test_the_shared_job_runs_the_measure() -> None:
    job = told_random.near_optimality_job("nats")
    assert job.measure == "near_optimality"
    settings = {**job.settings, "environments": 1, "horizons": [1]}
    assert len(measures_told.near_optimality(**settings)["rewards"][0][0]) == len(told_random.TRIED)


# -- pymdp ------------------------------------------------------------------------------------------------------------


def test_gains_and_decisions_beside_pymdp() -> None:
    pytest.importorskip("pymdp.agent", reason="needs the extra 'validation'")
    found = measures_told.with_pymdp("testbed")
    assert found["information_gap"] < 1e-9
    assert found["value_gap"] < 1e-6
    assert found["told_is_entropy"] < 1e-9
    assert found["agree"]["faint"] == found["beliefs"]
    verdicts = {one.id: one.verdict for one in told._pymdp_findings("testbed", found)}
    assert verdicts["pymdp/testbed/information"] == CONFIRMED
    assert verdicts["pymdp/testbed/decisions"] == UNCHECKED


def test_without_pymdp_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "find_spec", lambda name: None)
    found: tuple[Finding, ...] = built("pymdp").findings
    assert {one.verdict for one in found} == {UNCHECKED}
    assert all("not installed" in one.reason for one in found)


@pytest.mark.parametrize("name", [*TABLES, *TOLD])
def test_studies_ask_for_measures_that_take_their_settings(name: str) -> None:
    asked: list[Job] = []
    context = Canned(full=True)
    context.answer = lambda one, before=context.answer: asked.append(one) or before(one)  # type: ignore[method-assign]
    built(name, context)
    for one in asked:
        signature(find_measure(one.measure)).bind(**one.settings)
