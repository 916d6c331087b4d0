"""The standing adversary: 200 random model files on which rhoplan and the oracle must agree, and the adversary itself.

An adversary is worth what it catches: the last tests plant faults and see it find them.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import rhoplan
from adversary import crowd
from adversary.__main__ import main
from adversary.case import Case, draw_case, parsed
from adversary.engine import check_decide, check_evaluate
from adversary.examine import CHECKS, examine
from adversary.files import as_yaml, draw_file
from adversary.ledger import Ledger
from adversary.oracle import Goal, Oracle, Places, Worth, winners
from adversary.plain import read
from adversary.scores import follow
from bridge import BeliefSet, Step, bands, flips, make_pathway, policy_steps
from bridge import solve_bounds as solve

MODELS = 200


FOUND = (50888, 51405, 60063, 61390, 68651, 69559, 69858, 89173, 89574, 90786)
"""Models beyond the first that once came out wrong, or never."""


@pytest.mark.parametrize("seed", [*range(MODELS), *FOUND])
def test_rhoplan_and_the_oracle_agree(seed):
    found = examine(seed).differences
    assert not found, f"{found[0]} ({len(found)} differences)\n{as_yaml(draw_file(seed))}"


def features(seed: int) -> set[str]:
    """What the model of a seed has, read off the oracle's own record of it."""
    record, model = draw_file(seed), read(draw_file(seed))
    rows = [row for test in model.tests for row in test.rows]
    sizes = [abs(value) for row in model.rewards for value in row if value]
    has = {
        "order": any(test.after for test in model.tests),
        "group without a first price": any(test.group and test.group not in model.first_prices for test in model.tests),
        "first price": bool(model.first_prices),
        "cap on tests": model.most_tests is not None,
        "cap on spend": model.budget is not None,
        "repeatable test": any(not test.once for test in model.tests),
        "run-once test": any(test.once for test in model.tests),
        "certain test": any(all(share in (0, 1) for share in row) for row in rows if len(row) > 1),
        "useless test": any(len(set(test.rows)) == 1 for test in model.tests if len(model.states) > 1),
        "no test": not model.tests,
        "state of probability 0": 0 in model.prior,
        "one state": len(model.states) == 1,
        "one commit": len(model.commits) == 1,
        "dyadic prior": len(model.states) > 2 and set(model.prior) == {Fraction(1, len(model.states))},
        "giant loss": max(sizes, default=0) >= 10**12,
        "tiny cost": any(0 < test.cost < Fraction(1, 10**8) for test in model.tests),
        "rare state": any(0 < share < Fraction(1, 10**12) for share in model.prior),
        "losses": "losses" in record,
        "prevalence": "prevalence" in record,
        "prevalence of a named state": isinstance(record.get("prevalence"), dict),
        "positive": "positive" in record,
        "percent": "%" in as_yaml(record),
        "horizon": "horizon" in record,
    }
    shorthands = ("sensitivity", "lr_positive", "tp", "inconclusive")
    has |= {name: any(name in test for test in record.get("tests", {}).values()) for name in shorthands}
    has |= {f"{count} outcomes": any(len(test.outcomes) == count for test in model.tests) for count in range(1, 6)}
    return {name for name, there in has.items() if there}


def test_every_feature_of_a_model_file_comes_up():
    seen = Counter(feature for seed in range(MODELS) for feature in features(seed))
    assert len(seen) == 32
    assert min(seen.values()) >= 4, seen.most_common()[-3:]


def test_prices_meet_the_cap_to_the_last_digit():
    """Some plan of some models spends exactly what is allowed, in numbers that floats add up wrongly."""
    met = 0
    for seed in range(MODELS):
        model = read(draw_file(seed))
        costs = [float(test.cost) for test in model.tests]
        if model.budget is not None:
            met += any(
                math.isclose(times * cost, float(model.budget)) and times * cost > float(model.budget)
                for cost in costs
                for times in (2, 3, 4, 7)
            ) or any(cost == float(model.budget) for cost in costs)
    assert met >= 5


def test_few_models_are_left_out():
    total = Ledger()
    for seed in range(100):
        total.add(examine(seed, ("decide", "evaluate")))
    assert sum(total.skipped.values()) <= 0.06 * sum(total.models.values())


def test_oracle_knows_tiger():
    """Listening until one side leads by two: the chance of each number of tests is in closed form."""
    tiger = {
        "name": "tiger",
        "states": ["left", "right"],
        "tests": {
            "listen": {
                "cost": 1,
                "outcomes": ["hear-left", "hear-right"],
                "likelihood": {"left": [Decimal("0.85"), Decimal("0.15")], "right": [Decimal("0.15"), Decimal("0.85")]},
                "repeat": "independent",
            }
        },
        "commits": {"open-left": [-100, 10], "open-right": [10, -100]},
    }
    oracle = Oracle(Places(read(tiger)), Goal(2))
    account = follow(oracle, cap=2)
    assert oracle.choice(oracle.places.start) == ("test", 0)
    assert (account.tests, account.truncated, account.reward) == (2.0, 1.0, -2.0)
    after = oracle.places.after(oracle.places.after(oracle.places.start, 0, 0), 0, 0)
    assert oracle.places.belief(after)[0] == pytest.approx(0.7225 / (0.7225 + 0.0225), rel=1e-15)
    told = math.log(2) + 0.85 * math.log(0.85) + 0.15 * math.log(0.15)
    assert oracle.places.information(oracle.places.start, 0) == pytest.approx(told, rel=1e-14)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0, 1.0], [0]), ([1.0, 1.0 + 1e-15], [0]), ([1.0, 1.0 + 1e-11], [0, 1]), ([1.0, 1.0 + 1e-8], [1])],
)
def test_ties_are_ties_doubtful_or_none(values, expected):
    assert winners([Worth(value, 1.0) for value in values]) == expected


@dataclass(frozen=True)
class Cheated(Case):
    """A case whose problem is not what its record says."""

    @property
    def problem(self) -> rhoplan.POMDP:
        record = {**self.record}
        field = "losses" if "losses" in record else "commits"
        record[field] = {name: _more(row) for name, row in record[field].items()}
        return parsed(record)


def _more(row: list[Decimal] | dict[str, Decimal]) -> list[Decimal] | dict[str, Decimal]:
    factor = 1 + Decimal("1e-7")
    if isinstance(row, dict):
        return {name: value * factor for name, value in row.items()}
    return [value * factor for value in row]


def test_rewards_that_are_off_by_a_ten_millionth_are_found():
    caught = 0
    for seed in range(20):
        ledger = Ledger(seed, "decide")
        check_decide(Cheated(seed, draw_file(seed)), ledger)
        caught += bool(ledger.differences)
    assert caught >= 15  # epistemic-only does not look at rewards, and some are all zero


def test_a_broken_tie_rule_is_found(monkeypatch):
    """The last of equals instead of the first: symmetric models are full of exact ties."""

    def last(values, absolute, start):
        ends = [*start[1:].tolist(), len(values)]
        groups = zip(start.tolist(), ends, strict=True)
        return np.array([end - 1 - int(values[first:end][::-1].argmax()) for first, end in groups])

    for module in ("graph.belief_graph", "planning.backup"):
        monkeypatch.setattr(f"rhoplan.{module}.first_best", last)
    total = Ledger()
    for seed in range(60):
        total.seed, total.kind = seed, "decide"
        check_decide(draw_case(seed), total)
    assert any(difference.what == "choice" for difference in total.differences)


def test_beliefs_taken_for_one_are_found(monkeypatch):
    """Of two beliefs that differ in some states only, the second is lost."""
    intern = BeliefSet.intern

    def careless(self, beliefs):
        beliefs = beliefs.copy()
        beliefs[:, 1] = beliefs[:, 0]
        return intern(self, beliefs)

    monkeypatch.setattr(BeliefSet, "intern", careless)
    ledger = Ledger(0, "crowd")
    crowd.check_crowd(draw_case(0), ledger)
    assert ledger.differences


def test_the_command_tells_what_it_compared(capsys, tmp_path):
    assert main(["--models", "3", "--seed", "1", "--kinds", "decide", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "3 models" in told
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_model_that_differs(capsys, tmp_path, monkeypatch):
    def wrong(case, ledger):
        ledger.near("reward", 1.0, 2.0, 1.0)

    monkeypatch.setitem(CHECKS, "decide", (wrong, 1))
    assert main(["--models", "1", "--seed", "7", "--kinds", "decide", "--out", str(tmp_path)]) == 1
    assert "--seed 7 --models 1 --kinds decide" in capsys.readouterr().out
    again = rhoplan.load(tmp_path / "adversary-7.yaml")
    assert again.states == parsed(draw_file(7)).states


def test_an_error_of_the_engine_is_a_difference(monkeypatch):
    def broken(*_, **__):
        raise IndexError("out of range")

    monkeypatch.setattr(rhoplan, "evaluate", broken)
    assert any("IndexError" in difference.found for difference in examine(1, ("evaluate",)).differences)


def test_a_score_in_the_wrong_world_is_found(monkeypatch):
    evaluate, total = rhoplan.evaluate, Ledger()
    monkeypatch.setattr(
        rhoplan,
        "evaluate",
        lambda problem, agent, world=None, max_steps=None: evaluate(problem, agent, max_steps=max_steps),
    )
    for seed in range(30):
        total.seed, total.kind = seed, "evaluate"
        check_evaluate(draw_case(seed), total)
    assert total.differences


def test_flips_that_are_off_by_a_hundredth_are_found(monkeypatch):
    def shifted(*arguments, **settings):
        for flip in flips(*arguments, **settings):
            edge = flip.up
            if edge.status == "flips" and flip.quantity != "probability":
                edge = replace(edge, before=edge.before * 1.01, beyond=edge.beyond * 1.01)
            yield replace(flip, up=edge)

    monkeypatch.setattr("adversary.flips.flips", shifted)
    assert any(examine(seed, ("flips",)).differences for seed in range(30))


def test_bands_that_are_off_by_a_thousandth_are_found(monkeypatch):
    def shifted(*arguments, **settings):
        found = bands(*arguments, **settings)
        return tuple(
            replace(band, lower=band.lower * 1.001, upper=min(band.upper * 1.001, 1.0)) if len(found) > 1 else band
            for band in found
        )

    monkeypatch.setattr("adversary.advice.bands", shifted)
    assert any(examine(seed, ("bands",)).differences for seed in range(30))


def test_a_pathway_that_drops_a_branch_is_found(monkeypatch):
    def pruned(*arguments, **settings):
        found = make_pathway(*arguments, **settings)
        if isinstance(found.root, Step):
            found = replace(found, root=replace(found.root, outcomes=found.root.outcomes[1:]))
        return found

    monkeypatch.setattr("adversary.advice.pathway", pruned)
    assert any(examine(seed, ("pathway",)).differences for seed in range(30))


def test_steps_that_are_too_few_are_found(monkeypatch):
    def merged(*arguments, **settings):
        found = policy_steps(*arguments, **settings)
        return (replace(found[0], upper=found[-1].upper),)

    monkeypatch.setattr("adversary.advice.policy_steps", merged)
    assert any(examine(seed, ("steps",)).differences for seed in range(40))


def test_a_bound_that_is_too_tight_is_found(monkeypatch):
    def tight(*arguments, **settings):
        found = solve(*arguments, **settings)
        return replace(found, upper=found.upper - 1e-6 * abs(found.upper))

    monkeypatch.setattr("adversary.engine.solve", tight)
    assert any(examine(seed, ("solve",)).differences for seed in range(20))
