"""The second half of the paper's claims: each has a function, and its verdict follows the numbers it is given."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from itertools import pairwise, permutations
from typing import Any

import pytest

import rhoplan
from rhoplan.agents.agent import decide, make_agent
from rhoplan.problems.grid import manhattan
from rhoplan_paper import registry
from rhoplan_paper.claims.numbers import rows
from rhoplan_paper.compare import Number
from rhoplan_paper.context import Context, Pending, at_once
from rhoplan_paper.jobs import Job, job, run_job
from rhoplan_paper.measures.ahead import from_within, look_ahead, shortest_walk
from rhoplan_paper.published import published
from rhoplan_paper.study import (
    CONFIRMED,
    CONTRADICTED,
    IN_PART,
    NO_DIFFERENCE,
    ONLY_BITS,
    ONLY_NATS,
    UNCHECKED,
    Finding,
)

SCORE: dict[str, Any] = {
    "reward": 1.0,
    "reward_sd": 1.0,
    "tests": 2.0,
    "tests_sd": 1.0,
    "success": 0.5,
    "truncated": 0.0,
}


class Told(Context):
    """A context whose results are what `answer` says of each job."""

    def __init__(self, answer: Callable[[str, dict[str, Any]], dict[str, Any]], *, full: bool = False) -> None:
        super().__init__(full=full)
        self.answer = answer

    def results(self, jobs: Iterable[Job]) -> list[dict[str, Any]]:
        return [self.answer(one.measure, one.settings) for one in jobs]


def check(id: str, answer: Callable[[str, dict[str, Any]], dict[str, Any]], *, full: bool = False) -> Finding:
    finding = registry.claims()[id](Told(answer, full=full))
    about = published().claims[id]
    assert (finding.id, finding.place, finding.claim) == (id, about.place, about.gist)
    assert finding.reason
    return finding


def scored(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[str, dict[str, Any]], dict[str, Any]]:
    """Every exact score is SCORE, but for what `change` says of its settings."""
    return lambda measure, settings: {**SCORE, **change(settings)}


def sampled(success: float, reward: float, episodes: int = 500) -> dict[str, Any]:
    spread = {"success": (success * (1 - success)) ** 0.5, "reward": 1.0, "tests": 1.0}
    means = {"success": success, "reward": reward, "tests": 2.0}
    return {"episodes": episodes, "columns": {name: {"mean": means[name], "sd": spread[name]} for name in means}}


# -- verdicts follow numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "verdict"),
    [((), CONFIRMED), (("nats",), ONLY_BITS), (("bits",), ONLY_NATS), (("bits", "nats"), CONTRADICTED)],
)
def test_tiger_ignores_discount_only_where_scores_are_the_same(changed: tuple[str, ...], verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        other = settings["agent"] == "efe" and settings["discount"] == 0.9 and settings["unit"] in changed
        return {"tests": 1.5} if other else {}

    assert check("tiger-ignores-discount", scored(change)).verdict == verdict


@pytest.mark.parametrize(
    ("gain", "verdict"),
    [
        ({"bits": 0.0, "nats": 0.0}, NO_DIFFERENCE),
        ({"bits": 0.1, "nats": 0.1}, CONFIRMED),
        ({"bits": 0.1, "nats": 0.0}, ONLY_BITS),
        ({"bits": -0.1, "nats": -0.1}, CONTRADICTED),
    ],
)
def test_information_buffers_only_where_efe_succeeds_more(gain: dict[str, float], verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        return {"success": 0.5 + gain[settings["unit"]]} if settings["agent"] == "efe" else {}

    assert check("information-buffers", scored(change)).verdict == verdict


def test_depth_three_is_intractable_only_if_it_does_not_fit() -> None:
    fits = {"paths": [1, 9, 81, 729], "situations": [1, 5, 20, 60]}
    finding = check("depth-3-intractable", lambda m, s: fits if m == "look_ahead" else SCORE)
    assert finding.verdict == CONTRADICTED
    assert "729" in finding.reason
    assert "60" in finding.reason
    assert check("depth-3-intractable", lambda m, s: {"limit": "too many"}).verdict == CONFIRMED


@pytest.mark.parametrize(("factor", "verdict"), [(1, CONFIRMED), (3, CONTRADICTED)])
def test_search_costs_what_is_counted(factor: int, verdict: str) -> None:
    by_formula = {"diagnosis": 2 * 2**5, "tileworld:n=6": 6 * 2**5}

    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        return {"paths": [1, factor * by_formula[settings["problem"]]], "situations": [1, 2]}

    assert check("search-cost", answer).verdict == verdict


def test_pymdp_is_unchecked_where_it_is_missing_and_contradicted_by_one_decision() -> None:
    agrees = {"missing": False, "beliefs": 23, "information_gap": 1e-16, "agree": {"faint": 23, "told": 22}}
    assert check("pymdp-agrees", lambda m, s: {"missing": True}).verdict == UNCHECKED
    assert check("pymdp-agrees", lambda m, s: agrees).verdict == CONFIRMED
    one_less = {**agrees, "agree": {"faint": 22, "told": 22}}
    assert check("pymdp-agrees", lambda m, s: one_less).verdict == CONTRADICTED
    assert check("pymdp-agrees", lambda m, s: {**agrees, "information_gap": 0.1}).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("informative", "indifferent", "verdict"),
    [(1.0, 1.0, CONFIRMED), (0.8, 1.0, UNCHECKED), (0.8, 0.9, CONTRADICTED)],
)
def test_the_most_informative_test_may_be_a_matter_of_ties(
    informative: float, indifferent: float, verdict: str
) -> None:
    seen = {"most_informative": informative, "indifferent": indifferent, "least_share": 0.7, "spread": [0.0, 0.1]}
    assert check("picks-most-informative", lambda m, s: seen).verdict == verdict


@pytest.mark.parametrize(
    ("after", "episodes", "verdict"),
    [(0.9, 5000, CONTRADICTED), (0.8, 100_000, CONFIRMED), (0.82, 500, UNCHECKED)],
)
def test_more_simulations_help_or_not_or_cannot_be_told(after: float, episodes: int, verdict: str) -> None:
    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        if measure == "score":
            return SCORE
        return sampled(after if settings["simulations"] == 5000 else 0.8, 0.0, episodes)

    assert check("pomcp-budget-no-help", answer).verdict == verdict


@pytest.mark.parametrize(("bandit", "verdict"), [(0.95, CONFIRMED), (0.4, IN_PART)])
def test_pomcp_must_lead_in_bandits_success_as_claimed(bandit: float, verdict: str) -> None:
    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        if measure == "score":
            return SCORE
        return sampled(bandit if settings["problem"] == "bandit" else 0.3, 0.0)

    assert check("pomcp-underperforms", answer).verdict == verdict


@pytest.mark.parametrize(("tuned", "verdict"), [(-5.0, CONTRADICTED), (-50.0, UNCHECKED)])
def test_efe_is_not_the_best_balance_where_another_has_more_of_both(tuned: float, verdict: str) -> None:
    rewards = {"greedy": -99.0, "planning": -5.0, "planning-ig": tuned, "efe": -20.0}
    right = {"greedy": 1.0, "planning": 2.0, "planning-ig": 7.0, "efe": 6.0}

    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        if measure == "ceiling":
            return {"optimum": [-1.0, -1.0]}
        agent = settings["agent"]
        tallies = {"right_nominal": right[agent], "right_faulty": 0.0}
        return {**SCORE, "reward": rewards[agent], "reward_sd": None, "tallies": tallies}

    assert check("inspection-best-trade-off", answer).verdict == verdict


@pytest.mark.parametrize(("last", "verdict"), [(6, CONFIRMED), (4, IN_PART)])
def test_two_conditions_need_a_lead_that_a_longer_horizon_keeps(last: int, verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        several = settings["problem"] in ("diagnosis", "bandit")
        leads = settings["agent"] == "efe" and several and 2 <= settings["horizon"] <= last
        return {"reward": 1.5} if leads else {}

    assert check("two-conditions", scored(change)).verdict == verdict


@pytest.mark.parametrize(("least", "verdict"), [(0.99, CONFIRMED), (0.98, IN_PART), (0.95, CONTRADICTED)])
def test_a_lead_where_the_paper_saw_none_counts_more_than_one_where_it_did_not_look(least: float, verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        return {"success": 0.6} if settings["agent"] == "efe" and settings["discount"] >= least else {}

    assert check("discount-needed-for-lead", scored(change)).verdict == verdict


def test_the_knee_is_broad_only_if_weights_and_units_earn_alike() -> None:
    assert check("knee-is-broad", scored(lambda s: {})).verdict == CONFIRMED
    assert (
        check("knee-is-broad", scored(lambda s: {"reward": 0.9} if s["weight"] == 0.5 else {})).verdict == CONTRADICTED
    )
    assert (
        check("knee-is-broad", scored(lambda s: {"reward": 0.98} if s["unit"] == "bits" else {})).verdict
        == CONTRADICTED
    )


@pytest.mark.parametrize(("at_7", "verdict"), [(5.0, IN_PART), (0.5, CONFIRMED)])
def test_the_walker_is_best_unless_another_is_clearly_ahead(at_7: float, verdict: str) -> None:
    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        ahead = settings["problem"] == "navigation:n=7" and settings["agent"] == "efe"
        return SCORE if measure == "score" else sampled(0.9, at_7 if ahead else 0.5)

    assert check("navigation-myopic-best", answer).verdict == verdict
    assert check("navigation-efe-competitive", answer).verdict == CONFIRMED


def test_efe_does_not_keep_up_when_it_is_clearly_behind() -> None:
    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        return SCORE if measure == "score" else sampled(0.9, -1.0 if settings["agent"] == "efe" else 0.0)

    assert check("navigation-efe-competitive", answer).verdict == CONTRADICTED


@pytest.mark.parametrize(
    ("success", "deep", "verdict"),
    [(0.9, 0.9, CONFIRMED), (0.5, 0.9, IN_PART), (0.9, 0.5, IN_PART), (0.5, 0.5, CONTRADICTED)],
)
def test_depth_and_sampling_are_two_reasons_to_beat_an_exact_search(success: float, deep: float, verdict: str) -> None:
    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        if measure != "score":
            return sampled(success, 0.0)
        return {**SCORE, "success": deep, "reward": 2 * deep} if settings["horizon"] == 5 else SCORE

    assert check("mcts-beats-exact", answer).verdict == verdict


@pytest.mark.parametrize(("deep", "verdict"), [(1.0, CONTRADICTED), (2.0, CONFIRMED)])
def test_too_shallow_a_search_is_a_reason_only_if_a_deeper_one_earns_more(deep: float, verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        return {"reward": deep} if settings["horizon"] > 2 else {}

    assert check("rocksample-11-11-tie", scored(change)).verdict == verdict


@pytest.mark.parametrize(("inspected", "verdict"), [(1.0, CONFIRMED), (0.8, CONFIRMED), (0.4, IN_PART)])
def test_a_match_is_by_the_margin_the_paper_has_elsewhere(inspected: float, verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        small = settings["problem"] == "inspection:n=8" and settings["agent"] == "efe"
        return {"reward": inspected if small else 1.0, "tallies": {"right_nominal": 4.0, "right_faulty": 1.0}}

    assert check("summary-matches-or-improves", scored(change)).verdict == verdict


@pytest.mark.parametrize(("bits", "nats", "verdict"), [(0.7, 0.7, CONFIRMED), (0.7, 0.02, ONLY_BITS)])
def test_two_printings_of_a_rate_may_be_two_runs(bits: float, nats: float, verdict: str) -> None:
    def change(settings: dict[str, Any]) -> dict[str, Any]:
        efe = bits if settings["unit"] == "bits" else nats
        return {"success": {"efe": efe, "planning-ig": 0.977}.get(settings["agent"], 0.016)}

    assert check("tileworld-8-twice", scored(change)).verdict == verdict


@pytest.mark.parametrize(("steeper", "verdict"), [(True, CONFIRMED), (False, NO_DIFFERENCE)])
def test_a_steeper_rise_must_exceed_its_error(steeper: bool, verdict: str) -> None:
    poor, good = [0.0, -99.0], [0.0, 0.0]

    def answer(measure: str, settings: dict[str, Any]) -> dict[str, Any]:
        asymmetric, symmetric = [poor, good], [good, good] if steeper else [poor, good]
        rewards = [asymmetric] * 50 + [symmetric] * 50
        alpha = [20.0] * 50 + [2.0] * 50
        # All rises are 1 or 0, so the binomial error is 0 unless some problems differ.
        rewards[0] = rewards[-1] = [good, good]
        return {"alpha": alpha, "weights": [0.01, 1.0], "horizons": [1, 3], "rewards": rewards}

    assert check("near-optimality-asymmetric", answer).verdict == verdict


# -- with the real numbers ---------------------------------------------------------------------------------------------

CHEAP = {
    "rocksample-greedy-row": CONTRADICTED,
    "depth-3-intractable": CONTRADICTED,
    "two-conditions": IN_PART,
    "depth-amplifies-weight": IN_PART,
    "bits-weight": CONTRADICTED,
    "discount-needed-for-lead": IN_PART,
    "tiger-ignores-discount": ONLY_BITS,
    "misspecification-tiger-robust": IN_PART,
    "misspecification-asymmetric": IN_PART,
    "information-buffers": NO_DIFFERENCE,
    "search-cost": CONTRADICTED,
    "sweep-adapts": CONFIRMED,
    "tests-help": ONLY_BITS,
    "commits-at-crossover": CONFIRMED,
    "scaling-over-myopic": CONFIRMED,
    "commits-earlier": IN_PART,
    "picks-most-informative": UNCHECKED,
    "stops-consistently": IN_PART,
    "discounting-erases-lead": IN_PART,
}
"""Claims whose exact numbers take moments, and what they say."""

KNOWN: dict[Job, dict[str, Any]] = {}
"""Results that several of them share."""


@pytest.mark.parametrize("id", CHEAP)
def test_verdicts_on_the_cheap_claims(id: str) -> None:
    context, rounds = Context(known=KNOWN), 0
    while True:
        try:
            finding = registry.claims()[id](context)
            break
        except Pending as pending:
            rounds += 1
            context.known.update({one: run_job(one)["result"] for one in pending.jobs})
    assert finding.verdict == CHEAP[id], finding.reason
    assert rounds <= 1, "a claim should ask for all its jobs at once"


# -- what claims are made of -------------------------------------------------------------------------------------------


def test_jobs_of_several_sources_are_missed_together() -> None:
    context, jobs = Context(), [job("score", problem=name) for name in ("tiger", "testbed")]
    with pytest.raises(Pending) as raised:
        at_once(*(lambda one=one: context.result(one) for one in jobs))
    assert raised.value.jobs == tuple(jobs)


def test_a_row_must_be_named_exactly() -> None:
    with pytest.raises(LookupError, match="exactly one"):
        rows(Context(), {"all": ("transfer", {"problem": "tiger"})})


def test_rows_fall_back_on_simulation_only_where_nothing_is_exact() -> None:
    wanted = {n: ("navigation", {"problem": f"navigation:n={n}", "agent": "efe"}) for n in (3, 7)}
    found = rows(Told(lambda m, s: SCORE if m == "score" else sampled(0.9, 5.0)), wanted)
    assert found[3].number("reward") == Number(1.0, 1.0)
    assert found[7].number("reward").mean == 5.0


def test_look_ahead_counts_every_path_and_every_belief_once() -> None:
    """Tiger: two outcomes per listen, and beliefs that depend on their difference only."""
    assert look_ahead("tiger", horizon=6) == {
        "paths": [2**depth for depth in range(7)],
        "situations": [2 * depth + 1 for depth in range(7)],
    }
    assert look_ahead("diagnosis", horizon=3)["paths"] == [4**depth for depth in range(4)]


@pytest.mark.parametrize("spec", ["rocksample:n=5,k=3", "rocksample:n=7,k=4"])
def test_no_order_of_rocks_has_a_shorter_walk(spec: str) -> None:
    problem = rhoplan.make(spec)
    assert isinstance(problem.start, tuple)
    start, places = problem.start[:2], problem.details["places"]
    walks = [sum(manhattan(a, b) for a, b in pairwise((start, *order))) for order in permutations(places)]
    assert shortest_walk(spec) == {"rocks": len(places), "moves": min(walks)}


def test_decisions_from_within_are_those_of_decide() -> None:
    """The same shares by following every path of `decide`, without the merged graph."""
    spec, steps = "diagnosis:n=8", 6
    problem = rhoplan.make(spec)
    agent = make_agent("efe", problem, horizon=3)
    taken = informed = 0.0
    waiting = deque([(problem.belief(), 1.0, 0)])
    while waiting:
        situation, chance, depth = waiting.popleft()
        decision = decide(problem, agent, situation)
        tests = {value.name: value for value in decision.actions if value.kind == "test"}
        if decision.choice not in tests or depth > steps:
            continue
        taken += chance
        best = max(value.information for value in tests.values())
        informed += chance * (tests[decision.choice].information >= best - 1e-9)
        test = next(action for action in problem.menu(problem.start) if action.name == decision.choice)
        for outcome, share in zip(test.outcomes, situation.beliefs[0] @ test.likelihood, strict=True):
            after = situation.update(test.name, outcome)
            waiting.append((after, chance * float(share), depth + 1))
    found = from_within(spec, "efe", steps=steps, horizon=3, weight=1.0)
    assert 0 < found["most_informative"] < 1
    assert found["most_informative"] == pytest.approx(informed / taken, abs=1e-12)
    assert found["early"] == found["late"] == 0
