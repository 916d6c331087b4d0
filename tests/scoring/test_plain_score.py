"""The exact score against the plainest recursion there is, with places, several quantities and states that change."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

import pytest

import rhoplan
from bridge import decide_at as decide
from bridge import make_agent, parse_model
from rhoplan import END
from test_plain_episodes import YARD


@pytest.mark.parametrize("weight", [0.0, 12.0, 25.0])
def test_the_score_is_what_one_counts_case_by_case(weight: float) -> None:
    agent, cap = make_agent("planning-ig", YARD, horizon=2, planner="exact", weight=weight), 4
    total: dict[str, float] = defaultdict(float)
    tests: dict[int, float] = defaultdict(float)

    def follow(situation: Any, share: float, step: int, run: int) -> None:
        if step == cap:
            total["truncated"] += share
            tests[run] += share
            return
        name = decide(YARD, agent, situation).choice
        action = next(one for one in YARD.menu(situation.observable) if one.name == name)
        belief = situation.beliefs[action.factor]
        paid = share * float(belief @ action.reward)
        total["reward"] += paid
        total["discounted"] += YARD.discount**step * paid
        total["steps"] += share
        run += action.kind == "test"
        for outcome, chance, leads in zip(action.outcomes, belief @ action.likelihood, action.leads_to, strict=True):
            if leads is END:
                tests[run] += share * chance
            elif chance > 0:
                follow(situation.update(name, outcome), share * chance, step + 1, run)

    follow(YARD.belief(), 1.0, 0, 0)
    found = rhoplan.evaluate(YARD, agent, max_steps=cap)
    for name in ("reward", "discounted", "steps", "truncated"):
        assert getattr(found, name) == pytest.approx(total[name], abs=1e-9), name
    assert found.tests == pytest.approx(sum(run * share for run, share in tests.items()))
    assert list(found.tests_distribution) == pytest.approx([tests[run] for run in range(len(found.tests_distribution))])
    assert sum(found.tests_distribution) == pytest.approx(1)


def test_what_both_worlds_rule_out_counts_for_nothing_in_the_log_score() -> None:
    """A test that tells one state for sure leaves beliefs of 0, whose logarithm must not count, in any world."""
    text = (
        "states: [a, b, c]\nprior: {}\n"
        "tests: {{split: {{cost: 0.1, outcomes: [x, y], likelihood: {{a: [1, 0], b: [0, 1], c: [0, 1]}}}}}}\n"
        "commits: {{one: {{a: 9, b: 0, c: 0}}, two: {{a: 0, b: 9, c: 1}}}}\n"
    )
    believed, world = (parse_model(text.format(prior), file="split") for prior in ([0.5, 0.3, 0.2], [0.25, 0.25, 0.5]))
    agent = make_agent("planning", believed)
    for truth, chances in ((believed, (0.3, 0.2)), (world, (0.25, 0.5))):
        found = rhoplan.evaluate(believed, agent, world=truth).log_score
        assert found == pytest.approx(chances[0] * math.log(0.6) + chances[1] * math.log(0.4))
