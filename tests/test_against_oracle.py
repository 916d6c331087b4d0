"""Plans and scores against the brute-force oracle on hundreds of random problems.

Two ways of adding the same numbers differ in the last digits only; rewards here are below 100, so 1e-9 is generous to
rounding and strict to everything else.
"""

import math
import random

import numpy as np
import pytest

import oracle
import rhoplan
from bridge import AGENTS, BoundAgent, make_agent
from bridge import decide_at as decide
from oracle import Goal, Model
from strategies import Case, Limits, built, dice, other_world, random_case, symmetric_case

CLOSE = 1e-9

CLEAR = 1e-13
"""Below this share of the reward scale two values tie for both sides, above CLOSE they tie for neither."""


def random_agent(case: Case, draw: random.Random, horizon: int) -> tuple[BoundAgent, Goal]:
    """One of the six agents with random settings, and what the oracle must be told to act like it."""
    name = draw.choice(list(AGENTS))
    weight, unit = draw.choice([0.0, 0.3, 1.0, 4.5, 20.0]), draw.choice(["nats", "bits"])
    discount = draw.choice([1.0, 1.0, 0.95, 0.6])
    agent = make_agent(name, case.problem, horizon=horizon, weight=weight, unit=unit, discount=discount)
    if name in ("myopic", "planning"):
        weight = 0.0
    if name == "efe" and weight:  # weight 0 takes the information out of it
        weight = 1.0
    if name in ("myopic", "info-gain"):
        horizon = 1
    per_nat = weight if unit == "nats" else weight / math.log(2)
    return agent, Goal(horizon, per_nat, discount, name != "epistemic-only")


def random_evidence(
    model: Model, draw: random.Random, steps: int
) -> tuple[list[tuple[int, int]], list[float], frozenset[int]]:
    """Tests and outcomes that can happen in a row, the belief they lead to, and the run-once tests they used up."""
    evidence, belief, used = [], model.prior, frozenset()
    for _ in range(steps):
        allowed = [k for k in range(len(model.tests)) if k not in used]
        if not allowed:
            break
        test = draw.choice(allowed)
        possible = [(o, b) for o, (_, b) in enumerate(oracle.posteriors(belief, model.tests[test][1])) if b is not None]
        outcome, belief = draw.choice(possible)
        used = oracle.after(model, used, test)
        evidence.append((test, outcome))
    return evidence, belief, used


@pytest.mark.parametrize("seed", range(400))
def test_values_and_choice_are_those_of_plain_recursion(seed):
    case, draw = random_case(seed), random.Random(seed)
    agent, goal = random_agent(case, draw, draw.randint(1, case.depth(4, budget=5000)))
    evidence, belief, used = random_evidence(case.model, draw, draw.randint(0, 3))
    situation = case.problem.belief(given=[(f"test-{k}", f"outcome-{o}") for k, o in evidence])

    decision = decide(case.problem, agent, situation)

    commits, tests = oracle.action_values(case.model, goal, belief, used)
    wanted = {f"test-{k}": worth for k, worth in tests.items()} | {f"commit-{i}": v for i, v in enumerate(commits)}
    assert {action.name: action.value for action in decision.actions} == pytest.approx(wanted, abs=CLOSE)
    information = {k: oracle.mutual_information(belief, case.model.tests[k][1]) for k in tests}
    found = {k: next(a for a in decision.actions if a.name == f"test-{k}").information for k in tests}
    assert found == pytest.approx(information, abs=CLOSE)
    kind, index = oracle.choice(case.model, goal, belief, used)
    if not doubtful(case.model, goal, wanted):
        assert decision.choice == f"{kind}-{index}"


def doubtful(model: Model, goal: Goal, values: dict[str, float]) -> bool:
    """Whether the best two values are neither clearly tied nor clearly apart."""
    best, second = sorted([*values.values(), -math.inf], reverse=True)[:2]
    return CLEAR * oracle.tie_width(model, goal) / oracle.RELATIVE_TIE < best - second < CLOSE


@pytest.mark.parametrize("seed", range(60))
def test_symmetric_problems_break_ties_by_ending_first_then_lower_index(seed):
    case, draw = symmetric_case(dice(seed)), random.Random(seed)
    agent, goal = random_agent(case, draw, draw.randint(1, 3))

    decision = rhoplan.decide(case.problem, agent)

    commits, tests = oracle.action_values(case.model, goal, case.model.prior)
    ending, testing = max(commits), max(tests.values())
    lowest = min(k for k, worth in tests.items() if worth > testing - 1e-10)
    assert decision.choice == ("commit-0" if ending > testing - 1e-10 else f"test-{lowest}")


@pytest.mark.parametrize("weight", [0.0, 1.0, 50.0])
def test_free_useless_test_loses_the_tie_against_ending(weight):
    case = built(Model([0.3, 0.7], [(0.0, [[0.5, 0.5], [0.5, 0.5]], True)], [[1.0, 1.0], [1.0, 1.0]]))
    agent = make_agent("planning-ig", case.problem, horizon=3, weight=weight)

    decision = rhoplan.decide(case.problem, agent)

    assert decision.margin == pytest.approx(0, abs=1e-14)
    assert decision.choice == "commit-0"


def test_equal_tests_tie_and_the_first_one_runs():
    rows = [[0.9, 0.1], [0.2, 0.8]]
    case = built(Model([0.5, 0.5], [(0.1, rows, True)] * 3, [[5.0, -5.0], [-5.0, 5.0]]))

    decision = rhoplan.decide(case.problem, make_agent("efe", case.problem, horizon=3))

    assert decision.choice == "test-0"
    assert [a.value for a in decision.actions[:3]] == pytest.approx([decision.actions[0].value] * 3, abs=1e-14)


def assert_same_score(found: rhoplan.Score, wanted: oracle.Result) -> None:
    assert found.reward == pytest.approx(wanted.reward, abs=CLOSE)
    # Squared rewards reach 1e4, so their rounding does not let the variance be closer than this.
    assert found.reward_sd**2 == pytest.approx(wanted.variance, abs=1e-7)
    assert found.tests == pytest.approx(wanted.tests, abs=CLOSE)
    assert found.success == pytest.approx(wanted.success, abs=CLOSE)
    assert found.truncated == pytest.approx(wanted.truncated, abs=CLOSE)
    assert found.log_score == pytest.approx(wanted.log_score, abs=CLOSE)
    padding = len(wanted.distribution) - len(found.tests_distribution)
    assert [*found.tests_distribution, *[0.0] * padding] == pytest.approx(wanted.distribution, abs=CLOSE)
    assert found.dropped == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("seed", range(200))
def test_score_is_the_sum_over_all_episodes(seed):
    case, draw = random_case(1000 + seed), random.Random(seed)
    agent, goal = random_agent(case, draw, draw.randint(1, case.depth(3, budget=200)))
    cap = draw.randint(1, 5)

    assert_same_score(rhoplan.evaluate(case.problem, agent, max_steps=cap), oracle.score(case.model, goal, cap))


@pytest.mark.parametrize("seed", range(150))
def test_score_in_another_world_is_the_sum_over_its_episodes(seed):
    case, draw = random_case(2000 + seed), random.Random(seed)
    world = other_world(case, dice(seed))
    agent, goal = random_agent(case, draw, draw.randint(1, case.depth(3, budget=200)))
    cap = draw.randint(1, 5)

    try:
        wanted = oracle.score(case.model, goal, cap, world.model)
    except oracle.ImpossibleOutcome:
        with pytest.raises(rhoplan.ImpossibleEvidence, match="has probability zero under the model"):
            rhoplan.evaluate(case.problem, agent, world=world.problem, max_steps=cap)
    else:
        assert_same_score(rhoplan.evaluate(case.problem, agent, world=world.problem, max_steps=cap), wanted)


@pytest.mark.parametrize("seed", range(80))
def test_score_of_a_soft_agent_is_the_sum_over_all_episodes_and_choices(seed):
    case, draw = random_case(3000 + seed, Limits(states=3, tests=3, outcomes=2)), random.Random(seed)
    name = draw.choice(["planning", "planning-ig", "epistemic-only"])
    weight, precision, horizon = draw.choice([0.5, 2.0]), draw.choice([0.05, 0.4, 3.0]), draw.randint(1, 2)
    agent = make_agent(name, case.problem, horizon=horizon, weight=weight, precision=precision)
    goal = Goal(horizon, 0.0 if name == "planning" else weight, 1.0, name != "epistemic-only", precision)
    world = other_world(case, dice(seed)) if seed % 2 else case
    cap = draw.randint(1, 3)

    try:
        wanted = oracle.score(case.model, goal, cap, world.model)
    except oracle.ImpossibleOutcome:
        with pytest.raises(rhoplan.ImpossibleEvidence):
            rhoplan.evaluate(case.problem, agent, world=world.problem, max_steps=cap)
    else:
        assert_same_score(rhoplan.evaluate(case.problem, agent, world=world.problem, max_steps=cap), wanted)


@pytest.mark.parametrize("seed", range(40))
def test_softmax_probabilities_are_shown_with_the_decision(seed):
    case = random_case(4000 + seed, Limits(states=3, tests=2))
    agent = make_agent("planning-ig", case.problem, horizon=2, weight=1.5, precision=0.7)

    decision = rhoplan.decide(case.problem, agent)

    goal = Goal(2, 1.5, precision=0.7)
    wanted = oracle.action_probabilities(case.model, goal, case.model.prior, frozenset())
    assert {a.name: a.probability for a in decision.actions} == pytest.approx(
        {f"{kind}-{index}": probability for (kind, index), probability in wanted}, abs=CLOSE
    )


@pytest.mark.parametrize("seed", range(30))
def test_world_may_list_states_tests_outcomes_and_commits_in_another_order(seed):
    case = random_case(5000 + seed)
    flat, shuffled = case.problem.flat, np.random.default_rng(seed).permutation(len(case.problem.states))
    world = rhoplan.DiagnosticProblem(
        name="shuffled",
        states=tuple(case.problem.states[s] for s in shuffled),
        prior=case.problem.prior[shuffled],
        tests=tuple(
            rhoplan.Test(t.name, t.cost, t.outcomes[::-1], t.likelihood[shuffled][:, ::-1], t.repeatable)
            for t in flat.tests[::-1]
        ),
        decisions=tuple(rhoplan.Decision(c.name, c.reward[shuffled]) for c in flat.commits[::-1]),
    )
    agent = make_agent("efe", case.problem, horizon=2)

    own = rhoplan.evaluate(case.problem, agent, max_steps=8)
    same = rhoplan.evaluate(case.problem, agent, world=world, max_steps=8)

    assert (same.reward, same.tests, same.success, same.truncated, same.log_score) == pytest.approx(
        (own.reward, own.tests, own.success, own.truncated, own.log_score), abs=CLOSE
    )
    assert same.reward_sd**2 == pytest.approx(own.reward_sd**2, abs=1e-7)


def test_truth_that_the_agent_rules_out_scores_minus_infinity():
    case = built(Model([1.0, 0.0], [(1.0, [[0.5, 0.5], [0.5, 0.5]], True)], [[1.0, 0.0], [0.0, 1.0]]))
    world = built(Model([0.5, 0.5], case.model.tests, case.model.commits))

    score = rhoplan.evaluate(case.problem, make_agent("planning", case.problem), world=world.problem)

    assert score.log_score == -math.inf
    assert (score.reward, score.success, score.tests) == (0.5, 0.5, 0.0)


def test_problem_without_tests_is_decided_at_once():
    case = built(Model([0.25, 0.75], [], [[4.0, 0.0], [0.0, 4.0]]))
    agent = make_agent("efe", case.problem, horizon=2)

    assert rhoplan.decide(case.problem, agent).choice == "commit-1"
    score = rhoplan.evaluate(case.problem, agent)
    assert (score.reward, score.tests, score.tests_distribution) == (3.0, 0.0, (1.0,))
