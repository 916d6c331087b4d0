"""Claims that the words decide, and baselines beside rules without thought: verdicts follow what is printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from rhoplan.problems.registry import make
from rhoplan_paper import registry
from rhoplan_paper.claims import announced as claims_announced
from rhoplan_paper.claims import baselines as claims_baselines
from rhoplan_paper.claims.baselines import at_once_reward, leaving_reward, tour, tour_reward
from rhoplan_paper.context import Context
from rhoplan_paper.jobs import Job
from rhoplan_paper.published import Cell, published, select
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, IN_PART, ONLY_NATS, Finding

Answer = Callable[[Job], dict[str, Any]]


class Told(Context):
    """A context whose results are what `answer` says of each job."""

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer

    def results(self, jobs: Iterable[Job]) -> list[dict[str, Any]]:
        return [self.answer(one) for one in jobs]


def check(id: str, answer: Answer = lambda job: {}) -> Finding:
    return registry.claims()[id](Told(answer))


def score(reward: float) -> dict[str, Any]:
    return {"reward": reward, "reward_sd": 1.0, "tests": 2.0, "success": 0.5, "tallies": {}}


def sampled(reward: float, sd: float = 1.0) -> dict[str, Any]:
    names = ("reward", "success", "tests", "good", "bad")
    return {"episodes": 500, "columns": {name: {"mean": reward, "sd": sd} for name in names}}


def either(reward: float, sd: float = 1.0) -> Answer:
    return lambda job: sampled(reward, sd) if job.measure == "simulated" else score(reward)


# -- announced --------------------------------------------------------------------------------------------------------


def test_an_announced_baseline_must_have_results(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check("pomcp-everywhere")
    assert found.verdict == CONTRADICTED
    assert "on 4 (tiger, diagnosis, bandit, tileworld:n=6)" in found.reason
    cells = [*select("environments states"), *select("rocksample reward")]
    monkeypatch.setattr(claims_announced, "results", lambda agent: cells)
    assert check("pomcp-everywhere").verdict == CONFIRMED


def test_a_table_said_to_have_pomcp_must_have_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("pomcp-on-rocksample").verdict == CONTRADICTED
    paper = published()
    table = paper.tables["rocksample-extended"]
    more = Cell({"problem": "rocksample:n=5,k=3,layout=appendix", "agent": "pomcp"}, "reward", "reward", "+1.0")
    tables = {**paper.tables, table.id: replace(table, cells=(*table.cells, more))}
    monkeypatch.setattr(claims_announced, "published", lambda: replace(paper, tables=tables))
    assert check("pomcp-on-rocksample").verdict == CONFIRMED


def test_every_announced_budget_must_have_a_result_and_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check("pomcp-budgets-reported")
    assert found.verdict == IN_PART
    assert [part.holds for part in found.parts] == ["yes", "no", "no", "yes"]
    assert "none with 2,000" in found.reason
    paper = published()
    quote = paper.quotes["pomcp-compute-diagnosis"]
    rows = [{"problem": "tiger", "agent": "pomcp", "simulations": n} for n in (500.0, 1000.0, 2000.0, 5000.0)]
    cells = tuple(Cell(row, column, "", "1.0") for row in rows for column in ("success", "seconds"))
    quotes = {**paper.quotes, quote.id: replace(quote, cells=cells)}
    monkeypatch.setattr(claims_announced, "published", lambda: replace(paper, quotes=quotes))
    assert check("pomcp-budgets-reported").verdict == CONFIRMED


# -- what a caption fixes ---------------------------------------------------------------------------------------------


def test_printed_rows_that_a_few_episodes_give_digit_for_digit_are_no_means_of_thousands() -> None:
    def printed(job: Job) -> dict[str, Any]:
        spec, agent = job.settings["problem"], job.settings["agent"]
        cells = {
            name: select(f"rocksample {name} problem={spec} agent={agent}")[0] for name in ("good", "bad", "reward")
        }
        return {"episodes": 50, "columns": {name: {"mean": one.value, "sd": 1.0} for name, one in cells.items()}}

    assert check("rocksample-episodes", printed).verdict == CONTRADICTED
    assert check("rocksample-episodes", either(99.0)).verdict == CONFIRMED


def test_orders_of_magnitude_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check("sweep-three-orders")
    assert (found.verdict, found.exact) == (CONFIRMED, "2.70")
    ends = [Cell({"bound": bound}, "penalty", "", text) for bound, text in (("low", "1"), ("high", "300"))]
    monkeypatch.setattr(claims_announced, "select", lambda reference: ends)
    assert check("sweep-three-orders").verdict == CONTRADICTED


def test_a_one_step_agent_has_no_other_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    def at_two(success: float) -> Answer:
        return lambda job: {**score(1.0), "success": success if job.settings["horizon"] == 2 else 0.016}

    found = check("scaling-horizon", at_two(0.66))
    assert (found.verdict, found.exact) == (IN_PART, "H = 1 for myopic, info-gain")
    assert check("scaling-horizon", at_two(0.9)).verdict == CONTRADICTED  # then two is not their horizon
    paper = published()
    table = paper.tables["tileworld-8"]
    deep = tuple(one for one in table.cells if one.row.get("horizon") != 1)
    monkeypatch.setattr(
        claims_announced, "published", lambda: replace(paper, tables={table.id: replace(table, cells=deep)})
    )
    assert check("scaling-horizon", at_two(0.66)).verdict == CONFIRMED


def test_fewer_tests_tell_fewer_conditions_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check("fixed-conditions", either(1.0))
    assert (found.verdict, found.exact) == (CONTRADICTED, "K=1: 2; K=2: 4; K=3: 8")
    monkeypatch.setattr(claims_announced, "_told_apart", lambda spec: 8)
    assert check("fixed-conditions", either(1.0)).verdict == CONFIRMED


def test_a_size_counts_if_the_search_holds_it() -> None:
    def situations(count: int) -> Answer:
        return lambda job: {"paths": [1, 9, count], "situations": [1, 9, count]}

    assert check("sizes-searched", situations(100)).verdict == IN_PART
    assert check("sizes-searched", situations(70_000)).verdict == CONFIRMED


# -- rules without thought --------------------------------------------------------------------------------------------


def test_answers_at_once_by_hand() -> None:
    assert at_once_reward("tiger") == pytest.approx(-45.0)
    assert at_once_reward("testbed") == pytest.approx(0.0)
    assert at_once_reward("bandit") == pytest.approx(0.25 * 10 + 0.75)
    assert leaving_reward("rocksample:n=7,k=8") == pytest.approx(9.5)


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7])
def test_a_tour_enters_every_cell_by_single_steps_and_earns_what_its_steps_say(size: int) -> None:
    walk = tour(size)
    assert set(walk) == {(row, column) for row in range(size) for column in range(size)}
    for (row, column), (down, right) in zip([(0, 0), *walk], walk, strict=False):
        assert abs(row - down) + abs(column - right) == 1
    rewards = []
    for goal in set(walk):
        steps = walk.index(goal) + 1
        rewards.append(20 - 0.5 * (steps - 1))
        assert steps <= make(f"navigation:n={size}").cap
    assert tour_reward(size) == pytest.approx(sum(rewards) / size**2)


def test_greedy_must_earn_more_than_leaving_and_than_declaring_blindly() -> None:
    def earned(**rewards: float) -> Answer:
        return lambda job: score(rewards.get(job.settings["agent"], 20.0))

    assert check("greedy-worth-beating", earned(greedy=10.0, blind=-30.0)).verdict == CONFIRMED
    assert check("greedy-worth-beating", either(9.0)).verdict == CONTRADICTED  # nobody leaves Greedy behind
    blind = check("greedy-worth-beating", earned(greedy=10.0, blind=11.0))
    assert blind.verdict == IN_PART
    assert "on 2 of 6 instances" in blind.reason


def test_the_walker_must_beat_a_fixed_tour(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check("strongest-on-navigation", either(30.0)).verdict == IN_PART  # the printed agents are below it
    monkeypatch.setattr(claims_baselines, "tour_reward", lambda size: -40.0)
    assert check("strongest-on-navigation", either(30.0)).verdict == CONFIRMED
    assert check("strongest-on-navigation", either(-50.0)).verdict == IN_PART


def test_a_tuned_weight_must_beat_answering_at_once() -> None:
    def answer(bits: float, nats: float, gap: float = 0.0) -> Answer:
        alike = {"value_gap": gap, "choices": 0, "beliefs": 9, "problems": 1}
        return lambda job: (
            alike if job.measure == "efe_recursion" else score(bits if job.settings["unit"] == "bits" else nats)
        )

    assert check("tuned-worth-beating", answer(4.0, 4.0)).verdict == CONFIRMED
    assert check("tuned-worth-beating", answer(0.0, 4.0)).verdict == ONLY_NATS
    assert check("tuned-worth-beating", answer(-0.4, -0.4)).verdict == IN_PART
    assert check("tuned-worth-beating", answer(4.0, 4.0, gap=0.1)).verdict == CONTRADICTED  # then it is no control


def test_pomcp_must_be_above_answering_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = check("pomcp-worth-beating", either(1.0, sd=1.0))
    assert found.verdict == IN_PART
    assert "beyond sampling error on bandit" in found.reason
    assert "beyond sampling error on none" in check("pomcp-worth-beating", either(1.0, sd=100.0)).reason
    monkeypatch.setattr(claims_baselines, "at_once_reward", lambda spec: -99.0)
    assert check("pomcp-worth-beating", either(1.0)).verdict == CONFIRMED


def test_the_price_of_accuracy_is_moderate_if_it_leaves_more_than_no_tests() -> None:
    def untested(reward: float, right: float = 7.0) -> Answer:
        tallies = {"efe": right, "planning": 6.0, "planning-ig": 6.0, "blind": 5.0}
        return lambda job: {
            **score(reward if job.settings["agent"] == "blind" else -20.0),
            "tallies": {"right_nominal": tallies[job.settings["agent"]], "right_faulty": 0.0},
        }

    assert check("accuracy-at-moderate-cost", untested(-24.5)).verdict == CONFIRMED
    assert check("accuracy-at-moderate-cost", untested(-19.0)).verdict == IN_PART
    assert check("accuracy-at-moderate-cost", untested(-19.0, right=5.0)).verdict == CONTRADICTED
