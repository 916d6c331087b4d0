"""The paper's claims in words, first half: every one has a function, verdicts follow the numbers, propositions hold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rhoplan.problems.registry import make
from rhoplan_paper import registry
from rhoplan_paper.claims import checking as claims
from rhoplan_paper.claims.checking import build_claims, found
from rhoplan_paper.claims.numbers import Sweep, sweep_jobs
from rhoplan_paper.context import Context, Pending, exact_job, score_job
from rhoplan_paper.figures.weights import build_pareto
from rhoplan_paper.jobs import Job, run_job
from rhoplan_paper.measures.propositions import (
    compare_with_plan,
    destructive_test,
    joint_epistemic,
    one_test_thresholds,
    random_problems,
)
from rhoplan_paper.published import published, select
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, IN_PART, NO_DIFFERENCE, ONLY_BITS, ONLY_NATS, Finding, Verdict
from rhoplan_paper.tables.asymmetry import formula
from rhoplan_paper.verdicts import by_unit, by_unit_more
from strategies import Limits, cases, laws


@dataclass
class Told(Context):
    """A context that answers every job at once with what `answer` makes of it."""

    answer: Callable[[Job], dict[str, Any]] = field(default=lambda job: {})

    def results(self, jobs: Any) -> list[dict[str, Any]]:
        return [self.answer(job) for job in jobs]


def score(reward: float = 0.0, tests: float = 1.0, success: float = 0.5, sd: float = 1.0) -> dict[str, Any]:
    return {"reward": reward, "tests": tests, "success": success, "reward_sd": sd, "tests_distribution": [0.0, 1.0]}


def by_agent(efe: Callable[[str, str], dict[str, Any]], **others: dict[str, Any]) -> Callable[[Job], dict[str, Any]]:
    """EFE's score by problem and unit, the others' by agent, a plain one for the rest; a flat sweep over weights."""

    def answer(job: Job) -> dict[str, Any]:
        settings = job.settings
        if job.measure == "steps":
            return {"steps": [{"lower": 0.0, "upper": settings["high"], **score()}]}
        if job.measure == "simulated":
            column = {"mean": 0.0, "sd": 1.0, "seed_means": [0.0] * 5}
            return {"episodes": 1000, "columns": {"reward": column, "success": column, "tests": column}}
        if settings["agent"] == "efe":
            return efe(settings["problem"], settings["unit"])
        return others.get(settings["agent"].replace("-", "_"), score())

    return answer


def verdict(id: str, answer: Callable[[Job], dict[str, Any]]) -> str:
    return registry.claims()[id](Told(answer=answer)).verdict


# -- the registry -----------------------------------------------------------------------------------------------------


def test_every_claim_has_a_function_in_the_papers_order() -> None:
    assert list(registry.claims()) == list(published().claims)
    assert len(registry.claims()) == 90


def test_a_claim_that_the_paper_does_not_make_cannot_be_registered() -> None:
    with pytest.raises(ValueError, match="no claim 'the-moon'"):
        registry.claim("the-moon")


def test_a_claim_has_one_function() -> None:
    with pytest.raises(ValueError, match="two of claim 'coverage'"):
        registry.claim("coverage")(lambda context: found(Verdict(CONFIRMED)))


def test_the_jobs_that_all_claims_miss_are_asked_for_together(monkeypatch: pytest.MonkeyPatch) -> None:
    def needs(id: str, *problems: str) -> registry.Check:
        def check(context: Context) -> Any:
            context.results(score_job(problem, "efe") for problem in problems)
            return Finding(id, "", "", "", "", "", "", CONFIRMED, "so")

        return check

    two = {
        id: needs(id, *problems)
        for id, problems in (("coverage", ("tiger", "bandit")), ("near-knee", ("bandit", "testbed")))
    }
    monkeypatch.setattr(claims, "claims", lambda: two)
    context = Context()
    with pytest.raises(Pending) as pending:
        build_claims(context)
    assert [job.settings["problem"] for job in pending.value.jobs] == ["tiger", "bandit", "testbed"]
    context.known.update({job: {} for job in pending.value.jobs})
    outcome = build_claims(context)
    assert [finding.id for finding in outcome.findings] == ["coverage", "near-knee"]
    assert outcome.sheet is not None
    assert len(outcome.sheet.rows) == 2


def test_sweeps_use_the_jobs_of_the_pareto_figure() -> None:
    with pytest.raises(Pending) as pending:
        build_pareto(Context())
    wanted = set(pending.value.jobs)
    assert {sweep_jobs("tileworld:n=6", 2)["steps"], sweep_jobs("tiger", 6)["steps"]} <= wanted


def test_scores_are_asked_for_as_the_tables_ask_for_them() -> None:
    from rhoplan_paper.tables.rows import plan_row

    table = published().tables["tileworld-6"]
    for cell in select("tileworld-6 reward"):
        agent, weight = str(cell.row["agent"]), cell.row["weight"]
        if agent in ("planning", "efe", "planning-ig"):
            line = plan_row(table, cell.row, Context())
            tuned = float(weight) if agent == "planning-ig" else None
            for unit, wanted in line.exact.items():
                assert exact_job("tileworld:n=6", agent, horizon=2, weight=tuned, unit=unit) == wanted


# -- verdicts follow the numbers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bits", "nats", "expected"),
    [(True, True, CONFIRMED), (True, False, ONLY_BITS), (False, True, ONLY_NATS), (False, False, CONTRADICTED)],
)
def test_a_claim_holds_in_the_units_in_which_its_numbers_do(bits: bool, nats: bool, expected: str) -> None:
    assert by_unit({"bits": bits, "nats": nats}).word == expected
    assert by_unit({"": bits}).word == (CONFIRMED if bits else CONTRADICTED)


def test_equal_scores_are_no_difference_and_lower_ones_a_contradiction() -> None:
    assert by_unit_more({"bits": [0.0, 0.0], "nats": [0.0]}).word == NO_DIFFERENCE
    assert by_unit_more({"bits": [0.1, -0.1], "nats": [0.0]}).word == CONTRADICTED
    assert by_unit_more({"bits": [0.1, 0.2], "nats": [0.0]}).word == ONLY_BITS


def test_tiger_parity_asks_for_one_policy() -> None:
    assert verdict("tiger-parity", by_agent(lambda problem, unit: score())) == CONFIRMED
    assert verdict("tiger-parity", by_agent(lambda problem, unit: score(unit == "nats"))) == ONLY_BITS
    assert verdict("tiger-parity", by_agent(lambda problem, unit: score(1.0))) == CONTRADICTED


def test_dominance_on_diagnosis_and_bandit_asks_for_more_of_both() -> None:
    id = "diagnosis-and-bandit-dominated"
    assert verdict(id, by_agent(lambda problem, unit: score(1.0, success=0.6))) == CONFIRMED
    assert verdict(id, by_agent(lambda problem, unit: score(1.0, success=0.4))) == CONTRADICTED
    assert verdict(id, by_agent(lambda problem, unit: score())) == NO_DIFFERENCE


def test_matching_allows_for_the_noise_of_the_printed_protocol() -> None:
    id = "matches-or-outperforms"
    assert verdict(id, by_agent(lambda problem, unit: score())) == CONFIRMED
    assert verdict(id, by_agent(lambda problem, unit: score(-0.001))) == CONFIRMED
    assert verdict(id, by_agent(lambda problem, unit: score(-0.2 * (problem == "testbed")))) == CONTRADICTED
    assert verdict(id, by_agent(lambda problem, unit: score(-0.2 * (unit == "bits")))) == ONLY_NATS


def test_the_8x8_split_is_there_in_the_unit_that_gives_the_printed_rate() -> None:
    rare = score(success=0.016)

    def efe(unit: str) -> Callable[[str, str], dict[str, Any]]:
        return lambda problem, found: score(success=0.67 if found == unit else 0.016)

    assert verdict("tileworld-8-split", by_agent(efe("bits"), planning=rare)) == ONLY_BITS
    assert verdict("tileworld-8-split", by_agent(efe("nats"), planning=rare)) == ONLY_NATS
    assert verdict("tileworld-8-split", by_agent(efe("bits"), planning=score(success=0.4))) == CONTRADICTED


def test_a_lead_must_grow_with_the_grid_and_with_the_conditions() -> None:
    def growing(problem: str, unit: str) -> dict[str, Any]:
        return score(success=0.5 + int(problem.rpartition("=")[2]) / 100)

    assert verdict("grows-with-states", by_agent(growing)) == CONFIRMED
    assert verdict("grows-with-states", by_agent(lambda problem, unit: score(success=0.9))) == CONTRADICTED


def test_tileworld_effect_is_above_two_or_not() -> None:
    assert verdict("tileworld-effect", by_agent(lambda problem, unit: score(2.5))) == CONFIRMED
    assert verdict("tileworld-effect", by_agent(lambda problem, unit: score(1.5))) == CONTRADICTED


def test_epistemic_only_must_succeed_as_often_as_a_guess() -> None:
    def guessing(job: Job) -> dict[str, Any]:
        return score(success=1 / len(make(job.settings["problem"]).states))

    assert verdict("epistemic-only-at-chance", guessing) == CONFIRMED
    assert verdict("epistemic-only-at-chance", lambda job: score(success=0.9)) == CONTRADICTED


def test_nearly_the_best_on_rocksample_has_a_margin() -> None:
    def efe_at(reward: float) -> Callable[[Job], dict[str, Any]]:
        return by_agent(lambda problem, unit: score(reward), planning_ig=score(20.0))

    assert verdict("rocksample-near-best", efe_at(19.2)) == CONFIRMED
    assert verdict("rocksample-near-best", efe_at(18.8)) == CONTRADICTED


@pytest.mark.parametrize(("lower", "expected"), [(0.9, CONFIRMED), (2.5, ONLY_BITS), (20.0, CONTRADICTED)])
def test_the_knee_is_near_if_some_weight_close_to_one_earns_most(lower: float, expected: str) -> None:
    def answer(job: Job) -> dict[str, Any]:
        if job.measure == "score":
            return score()
        steps = [(0.0, lower, 0.0), (lower, lower * 2, 1.0), (lower * 2, 200.0, 0.5)]
        return {"steps": [{"lower": low, "upper": high, **score(reward)} for low, high, reward in steps]}

    assert verdict("near-knee", answer) == expected


@pytest.mark.parametrize(
    ("id", "result", "changed"),
    [
        ("proposition-1", {"problems": 1, "beliefs": 9, "value_gap": 1e-15, "choices": 0}, {"choices": 1}),
        ("proposition-1", {"problems": 1, "beliefs": 9, "value_gap": 1e-15, "choices": 0}, {"value_gap": 1e-6}),
        (
            "proposition-3",
            {"tests": 1, "moves": 1, "coupling": 0.0, "gap": 0.0, "moving": 0.0, "changed": None},
            {"coupling": 0.1},
        ),
        (
            "destructive-tests-excluded",
            {"beliefs": 9, "term_gap": 0.1, "decisions": 1, "coupling": 0.1, "harmless": 0.0},
            {"coupling": 0.0},
        ),
    ],
)
def test_a_proposition_falls_with_its_numbers(id: str, result: dict[str, Any], changed: dict[str, Any]) -> None:
    assert verdict(id, lambda job: result) == CONFIRMED
    assert verdict(id, lambda job: {**result, **changed}) == CONTRADICTED


@pytest.mark.parametrize(("bitwise", "expected"), [(1.0, CONFIRMED), (-1.0, IN_PART)])
def test_a_lead_with_some_kinds_of_scans_is_part_of_the_claim(bitwise: float, expected: str) -> None:
    answer = by_agent(lambda problem, unit: score(1.0 if "partition" in problem else bitwise))
    assert verdict("partition-independent", answer) == expected


def test_the_threshold_formula_falls_with_the_bisected_thresholds() -> None:
    case = [0.8, 1.0, 10.0, -50.0]

    def answer(threshold: float) -> Callable[[Job], dict[str, Any]]:
        return lambda job: {"cases": [case], "threshold": [threshold]}

    assert verdict("proposition-2", answer(formula(*case)["threshold"]["nats"])) == CONFIRMED
    assert verdict("proposition-2", answer(formula(*case)["threshold"]["nats"] + 0.1)) == CONTRADICTED


def test_cheap_claims_come_out_as_computed() -> None:
    context = Context()
    expected = {"coverage": IN_PART, "tiger-parity": CONFIRMED, "table-follows-formula": CONTRADICTED}
    expected |= {"reward-effects-negligible": CONFIRMED, "testbed-over-explores": CONTRADICTED}
    for id, wanted in expected.items():
        while True:
            try:
                finding = registry.claims()[id](context)
                break
            except Pending as pending:
                context.known.update({job: run_job(job)["result"] for job in pending.jobs})
        assert finding.verdict == wanted
        assert finding.reason
        assert finding.place == published().claims[id].place


def test_a_sweep_knows_the_weights_that_earn_most() -> None:
    steps = tuple(
        {"lower": low, "upper": high, **score(r)} for low, high, r in ((0, 4, 1.0), (4, 9, 2.0), (9, 99, 0.0))
    )
    sweep = Sweep("tiger", 6, steps, {"bits": score(2.0), "nats": score(1.0)})
    assert sweep.best("reward") == (4, 9)
    assert sweep.factor("nats") == 4
    assert sweep.factor("bits") == pytest.approx(4 * np.log(2))
    assert (sweep.loss("nats"), sweep.loss("bits")) == (1.0, 0.0)
    assert not sweep.near_optimal("nats")
    assert sweep.near_optimal("bits")


# -- the propositions -------------------------------------------------------------------------------------------------


@laws
@given(cases(Limits(states=4, tests=2, outcomes=3, once="no")), st.sampled_from([1.0, 0.9]))
def test_least_free_energy_is_planning_with_weight_one(case: Any, discount: float) -> None:
    note = compare_with_plan(case.problem, 2, discount, 1.0)
    assert note.value_gap < 1e-9
    assert note.choices == 0


def test_least_free_energy_is_not_planning_with_another_weight() -> None:
    gaps = [compare_with_plan(problem, 2, 1.0, 2.0) for problem in random_problems(5, 3)]
    assert max(note.value_gap for note in gaps) > 1e-4


@laws
@given(st.floats(0.55, 0.95), st.floats(0.1, 5), st.floats(0.5, 20), st.floats(1.01, 50))
def test_the_threshold_formula_is_where_the_decision_turns(p: float, cost: float, right: float, alpha: float) -> None:
    case = [p, cost, right, -right * alpha]
    bisected = one_test_thresholds(cases=[case])["threshold"][0]
    assert bisected == pytest.approx(formula(*case)["threshold"]["nats"], rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("problem", ["rocksample:n=5,k=3", "inspection:n=4", "navigation:n=3"])
@pytest.mark.parametrize("seed", range(3))
def test_preserving_actions_have_no_coupling(problem: str, seed: int) -> None:
    seen = joint_epistemic(problem, seed=seed, situations=20)
    assert seen["tests"] > 0
    assert max(seen["coupling"], seen["gap"], seen["moving"]) < 1e-12


def test_drilling_has_a_coupling_and_other_decisions() -> None:
    assert joint_epistemic("drilling", situations=5)["changed"] > 0.01
    drilled = destructive_test(horizon=1, beliefs=51)
    assert drilled["coupling"] > 0.01
    assert drilled["decisions"] > 0
    harmless = destructive_test(horizon=1, beliefs=51, problem="drilling:damage=0")
    assert harmless["term_gap"] == harmless["decisions"] == 0


# -- parts are what the paper's own sentence says or names -------------------------------------------------------------


def with_steps(*steps: tuple[float, float, float, float]) -> Callable[[Job], dict[str, Any]]:
    """Every sweep over weights has these steps (from, to, reward, success); Tileworld's loses 9 at weight one."""

    def answer(job: Job) -> dict[str, Any]:
        if job.measure == "steps":
            names = ("lower", "upper", "reward", "success")
            return {"steps": [{**dict(zip(names, step, strict=True)), "tests": 1.0} for step in steps]}
        return score(reward=-9.0 if "tileworld" in job.settings["problem"] else 0.0)

    return answer


def test_a_best_weight_far_from_one_is_the_core() -> None:
    near, far = [(0.0, 3.0, 1.0, 0.4), (3.0, 300.0, 0.0, 0.9)], [(0.0, 17.0, 0.0, 0.4), (17.0, 300.0, 1.0, 0.9)]
    assert verdict("reward-weight-near-one", with_steps(*near)) == CONFIRMED
    assert verdict("reward-weight-near-one", with_steps(*far)) == CONTRADICTED


def test_each_problem_that_is_named_is_a_part() -> None:
    finding = registry.claims()["asymmetry-suffices"](Told(answer=with_steps((0.0, 300.0, 0.0, 0.5))))
    assert finding.verdict == IN_PART
    assert {part.words: part.holds for part in finding.parts} == {
        "on diagnosis H=3": "yes", "on tiger H=6": "yes", "on tileworld:n=6 H=2": "no", "at shorter horizons": "yes",
    }  # fmt: skip


@pytest.mark.parametrize(("rocks", "tests", "expected"), [(1, 1, CONFIRMED), (0, 1, IN_PART), (0, 0, CONTRADICTED)])
def test_a_lead_may_grow_with_rocks_or_with_tests(rocks: int, tests: int, expected: str) -> None:
    def efe(problem: str, unit: str) -> dict[str, Any]:
        k = float(problem.partition("k=")[2])
        return score(reward=rocks * k, success=0.5 + 0.1 * tests * k)

    assert verdict("grows-with-tests", by_agent(efe)) == expected


@pytest.mark.parametrize(("reward", "expected"), [(1.0, CONFIRMED), (0.0, IN_PART), (-1.0, CONTRADICTED)])
def test_where_to_use_it_is_where_it_beats_planning_and_is_not_behind_the_tuned(reward: float, expected: str) -> None:
    assert verdict("when-to-use", by_agent(lambda problem, unit: score(reward=reward))) == expected
