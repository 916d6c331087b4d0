"""The contract that every planner's policy keeps, whatever the planner."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import rhoplan as rp
from oracle import Goal, Model
from oracle import score as listed_score
from rhoplan.agents.registry import OTHER_AGENTS, UTILITIES
from rhoplan.problems.registry import PROBLEMS

WEIGHTED = rp.Objective(information_weight=1.0)
MAX_STEPS = 4


@dataclass(frozen=True)
class Made:
    """How a policy of a problem is made, and what it offers. has: of `action_values`, `value` and `save`."""

    name: str
    make: Callable[[rp.POMDP], Any]
    has: str = "action_values value save"
    problem: str = "tiger"
    samples: bool = False


def cautious(belief: rp.Belief) -> str:
    if belief.max() < 0.9:
        return "listen"
    return "open-right" if belief["tiger-left"] > 0.5 else "open-left"


def blind(problem: rp.POMDP) -> rp.Policy:
    """What is left where the solver had no time: nothing but the range of rewards."""
    return rp.solve(problem, method="points", seconds=1e-9).policy


NO_VALUE = "action_values save"

POLICIES = (
    Made("lookahead", lambda p: rp.Lookahead(horizon=3).solve(p, WEIGHTED)),
    Made("lookahead-of-places", lambda p: rp.Lookahead(horizon=2).solve(p, WEIGHTED), problem="drilling"),
    Made("anytime", lambda p: rp.Anytime(horizon=2).solve(p)),
    Made("anytime-of-factors", lambda p: rp.Anytime(horizon=1).solve(p), problem="rocksample:n=3,k=1"),
    Made("run-once", lambda p: rp.RunOnce().solve(p), problem="screening-cascade"),
    Made("softmax", lambda p: rp.Lookahead(horizon=2).solve(p, rp.Objective(inverse_temperature=0.05))),
    Made("negative-entropy", lambda p: rp.Lookahead(2).solve(p, rp.Objective(utility=rp.NegativeEntropy()))),
    Made("target", lambda p: rp.Lookahead(2).solve(p, rp.Objective(utility=rp.TargetBelief([0.3, 0.7])))),
    Made("without-terminal-rewards", lambda p: rp.Lookahead(2).solve(p, rp.Objective(1.0, terminal_rewards=False))),
    Made("agent", lambda p: rp.agent("efe", horizon=3, information_weight=1, information_unit="bits").solve(p)),
    Made("rule", lambda p: rp.agent("greedy").solve(p), has="save", problem="rocksample:n=3,k=1"),
    Made("mcts", lambda p: rp.MCTS(horizon=2, simulations=64).solve(p), has=NO_VALUE, samples=True),
    Made("pomcp", lambda p: rp.POMCP(horizon=2, simulations=64).solve(p), has=NO_VALUE, samples=True),
    Made("hsvi", lambda p: rp.HSVI(gap=0.1, seconds=60).solve(p)),
    Made("hsvi-with-horizon", lambda p: rp.HSVI(gap=0.1, seconds=60, horizon=2).solve(p)),
    Made("solution", lambda p: rp.solve(p, gap=0.01)),
    Made("solution-with-weight", lambda p: rp.solve(p, WEIGHTED, gap=0.01)),
    Made("solution-of-run-once", lambda p: rp.solve(p, gap=0.01), problem="screening-cascade"),
    Made("blind", blind, has="value save"),
    Made("blind-of-places", blind, has="value save", problem="drilling"),
    Made("function", lambda p: rp.FunctionPolicy(p, cautious), has=""),
)

every_policy = pytest.mark.parametrize("made", POLICIES, ids=lambda made: made.name)


def beliefs_near_the_start(problem: rp.POMDP, policy: rp.Policy, most: int = 12) -> list[rp.Belief]:
    """Beliefs that following the policy leads to."""
    found, place = [policy.problem.belief()], 0
    while place < len(found) < most:
        belief = found[place]
        after = [one.belief for one in belief.branches(policy.action(belief))]
        found += [one for one in after if one.actions]
        place += 1
    return found[:most]


@every_policy
def test_a_policy_selects_available_actions_with_certainty_in_all(made: Made) -> None:
    problem = rp.make(made.problem)
    policy = made.make(problem)
    for belief in beliefs_near_the_start(problem, policy):
        shares = policy.probabilities(belief)
        assert set(shares) == set(belief.actions)
        assert math.isclose(sum(shares.values()), 1.0, rel_tol=1e-12)
        assert policy.action(belief) in belief.actions
        assert shares[policy.action(belief)] == pytest.approx(max(shares.values()), rel=1e-9)


@every_policy
def test_a_policy_reads_all_kinds_of_beliefs(made: Made) -> None:
    problem = rp.make(made.problem)
    policy, start = made.make(problem), problem.belief()
    wanted = policy.action(start)
    assert policy.action({name: start[name] for name in start}) == wanted
    if len(problem.factors) == 1:
        assert policy.action(start.to_array().tolist()) == wanted
        assert policy.action(start.to_array()) == wanted
    with pytest.raises(rp.RhoplanError):
        policy.action("listen")


@every_policy
def test_a_policy_offers_what_it_says_and_refuses_the_rest(made: Made, tmp_path: Path) -> None:
    problem = rp.make(made.problem)
    policy, start = made.make(problem), problem.belief()
    asked: dict[str, Callable[[], Any]] = {
        "action_values": lambda: policy.action_values(start),
        "value": lambda: policy.value(start),
        "save": lambda: policy.save(tmp_path / "policy"),
    }
    for name, ask in asked.items():
        if name in made.has.split():
            ask()
        else:
            with pytest.raises(rp.NotAvailable):
                ask()
    assert (policy.value_kind is not None) == ("value" in made.has.split())
    if "action_values" in made.has.split():
        values = policy.action_values(start)
        assert set(values) == set(policy.belief(start).actions)
        if policy.value_kind == "lookahead":
            assert policy.value(start) == max(row.value for row in values.rows)
        for row in values.rows:
            terms = row.reward + row.weighted_information + row.continuation
            assert row.value == pytest.approx(terms, rel=1e-12, nan_ok=True)
        frame = values.to_frame()
        assert list(frame.columns) == ["reward", "information", "weighted_information", "continuation", "value"]


@every_policy
def test_a_saved_policy_acts_the_same(made: Made, tmp_path: Path) -> None:
    if "save" not in made.has.split():
        return
    problem = rp.make(made.problem)
    policy = made.make(problem)
    policy.save(tmp_path / "policy")
    again = rp.load_policy(tmp_path / "policy", made.problem)
    for belief in beliefs_near_the_start(problem, policy):
        assert again.action(belief) == policy.action(belief)
        if "value" in made.has.split():
            assert again.value(belief) == pytest.approx(policy.value(belief), rel=1e-9)
    other = rp.make("testbed" if made.problem != "testbed" else "tiger")
    with pytest.raises(rp.RhoplanError):
        rp.load_policy(tmp_path / "policy", other)


@every_policy
def test_a_value_is_a_bound_on_what_following_the_policy_earns(made: Made) -> None:
    problem = rp.make(made.problem)
    policy = made.make(problem)
    if policy.value_kind != "lower bound" or made.samples:
        return
    score = rp.evaluate(problem, policy)
    weight = 1.0 if made.name == "solution-with-weight" else 0.0
    earned = score.discounted + weight * score.information + score.discounted_tail
    assert policy.value(problem.belief()) <= earned + 1e-6 * (1 + abs(earned))


@every_policy
def test_an_exact_score_agrees_with_episodes(made: Made) -> None:
    """Six standard errors: false alarms are below one in a million."""
    problem = rp.make(made.problem)
    policy = made.make(problem)
    estimate = rp.simulate(problem, policy, episodes=40 if made.samples else 400, seeds=7, max_steps=MAX_STEPS)
    assert estimate.kind == "estimated"
    if made.samples:
        with pytest.raises(rp.AgentError, match="simulate"):
            rp.evaluate(problem, policy)
        return
    exact = rp.evaluate(problem, policy, max_steps=MAX_STEPS)
    assert (exact.kind, exact.se) == ("exact", {})
    spread = exact.reward_sd / math.sqrt(estimate.episodes)
    assert abs(estimate.reward - exact.reward) <= 6 * spread + 1e-9
    assert abs(estimate.steps - exact.steps) <= 6 * MAX_STEPS / math.sqrt(estimate.episodes)


def oracle_model() -> Model:
    hears = [[0.85, 0.15], [0.15, 0.85]]
    return Model([0.5, 0.5], [(1.0, hears, True)], [[-100.0, 10.0], [10.0, -100.0]])


@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_exact_scores_are_those_of_the_brute_force_oracle(horizon: int) -> None:
    tiger = rp.make("tiger")
    wanted = listed_score(oracle_model(), Goal(horizon, 2.0), 6)
    policy = rp.Lookahead(horizon=horizon).solve(tiger, rp.Objective(information_weight=2.0))
    for followed in (policy, rp.FunctionPolicy(tiger, policy.action)):
        found = rp.evaluate(tiger, followed, max_steps=6)
        assert found.reward == pytest.approx(wanted.reward, abs=1e-9)
        assert found.reward_sd**2 == pytest.approx(wanted.variance, abs=1e-6)
        assert found.tests == pytest.approx(wanted.tests, abs=1e-9)


def test_an_episode_takes_the_steps_of_the_first_simulated_one() -> None:
    for name, settings in (("tiger", {}), ("drilling", {}), ("tiger", {"inverse_temperature": 0.05})):
        problem, agent = rp.make(name), rp.agent("planning", horizon=2, **settings)
        for seed in range(5):
            steps = list(rp.episode(problem, agent, seed=seed))
            row = rp.episodes(problem, agent, episodes=1, seeds=seed).to_frame().iloc[0]
            assert (len(steps), sum(step.reward for step in steps)) == (row["steps"], pytest.approx(row["reward"]))
            assert [step.number for step in steps] == list(range(1, len(steps) + 1))
            for step, after in pairwise(steps):
                assert after.belief == step.belief.update(step.action, step.observation)


def test_several_policies_give_a_mapping_with_a_table() -> None:
    found = rp.evaluate("tiger", ["efe", rp.Lookahead(2), cautious])
    assert list(found) == ["efe", "Lookahead", "cautious"]
    assert found["efe"] == rp.evaluate("tiger", "efe")
    assert found.to_frame().loc["cautious", "reward"] == found["cautious"].reward
    assert list(rp.evaluate("tiger", {"mine": cautious})) == ["mine"]


def test_a_solution_is_a_policy_between_its_bounds() -> None:
    tiger = rp.make("tiger")
    best = rp.solve(tiger, gap=1e-3)
    assert best.lower <= best.upper <= best.lower + 1e-3
    assert best.status == "gap"
    score = rp.evaluate(tiger, best)
    assert best.lower - 1e-3 <= score.reward <= best.upper + 1e-9
    assert score == rp.evaluate(tiger, best.policy)
    assert all(len(repr(one)) < 120 for one in (best, best.policy, score))
    assert "<table>" in best._repr_html_()


def test_a_policy_of_a_horizon_is_evaluated_in_the_problem_with_that_horizon() -> None:
    tiger = rp.make("tiger")
    for horizon in (1, 2, 3):
        best = rp.solve(tiger, horizon=horizon, gap=1e-6)
        score = rp.evaluate(tiger, best)
        assert score.reward == pytest.approx(best.lower, abs=1e-5)
        assert len(score.tests_distribution) <= horizon + 1
        assert best.action(best.problem.belief(given=[("listen", "hear-left")])) in tiger.actions


def test_a_blind_policy_earns_at_least_its_value() -> None:
    """Inspecting for ever: nothing ends, and every action may cost something."""
    keep = [[1.0, 0.0], [0.0, 1.0]]
    machine = rp.from_arrays(
        T=[[[0.9, 0.1], [0.0, 1.0]], keep, [[1.0, 0.0], [1.0, 0.0]]],
        Z=[[[0.5, 0.5], [0.5, 0.5]], [[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]]],
        R=[[5.0, -0.5, -12.0], [-3.0, -0.5, -12.0]],
        discount=0.5,
    )
    policy = blind(machine)
    value, score = policy.value(machine.belief()), rp.evaluate(machine, policy, max_steps=60)
    assert -math.inf < value < 0
    assert value <= score.discounted + score.discounted_tail
    assert policy.value_kind == "lower bound"


def test_a_utility_without_a_weight_has_its_own() -> None:
    own, given = rp.Objective(utility=rp.NegativeEntropy(2.0)), rp.Objective(2.0, utility=rp.NegativeEntropy())
    assert own.information_weight == 2.0
    values = [rp.Lookahead(2).solve(rp.make("tiger"), one).action_values([0.4, 0.6]) for one in (own, given)]
    assert values[0] == values[1]
    assert values[0]["listen"].weighted_information < 0


def test_counts_of_events_are_in_every_score() -> None:
    name, agent = "rocksample:n=3,k=1", "greedy"
    exact, estimate = rp.evaluate(name, agent), rp.simulate(name, agent, episodes=200, seeds=3)
    assert set(exact.tallies) == set(estimate.tallies) == {"good", "bad"}
    for event, mean in exact.tallies.items():
        assert abs(estimate.tallies[event] - mean) <= 6 * max(estimate.se[event], 0.05)
        assert event in exact.to_frame().index


def test_another_world_and_a_limit_of_steps() -> None:
    tiger, world = rp.make("tiger"), rp.make("tiger:accuracy=0.6")
    assert rp.evaluate(tiger, cautious, world=world).reward < rp.evaluate(tiger, cautious).reward
    assert rp.evaluate(tiger, cautious, max_steps=1).truncated == pytest.approx(1.0)
    assert rp.evaluate("tiger", cautious, world="tiger:accuracy=0.6") == rp.evaluate(tiger, cautious, world=world)


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda belief: "dance", ("listen", "dance")),
        (3, ("rhoplan.agent",)),
        ("nobody", ("efe",)),
    ],
    ids=["unknown-action", "no-policy", "unknown-agent"],
)
def test_what_is_no_policy_is_refused_with_what_would_be(policy: Any, words: tuple[str, ...]) -> None:
    with pytest.raises(rp.RhoplanError) as caught:
        rp.evaluate("tiger", policy)
    assert all(word in str(caught.value) for word in words)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "word"), [({"jobs": 2}, "jobs"), ({"max_steps": 0}, "max_steps")], ids=["jobs", "max-steps"]
)
def test_settings_of_a_simulation_are_refused_by_their_names(settings: Any, word: str) -> None:
    with pytest.raises(rp.AgentError, match=word):
        rp.simulate("tiger", lambda belief: "listen", episodes=10, **settings)


def test_limits_of_evaluation_are_refused_or_lead_to_an_estimate() -> None:
    with pytest.raises(rp.LimitError, match="simulate") as refused:
        rp.evaluate("tiger", cautious, memory=1e3)
    assert refused.value.code == "memory-limit"
    with pytest.raises(rp.LimitError) as late:
        rp.evaluate("tiger", cautious, seconds=0.0)
    assert late.value.code == "time-limit"
    score = rp.evaluate("tiger", cautious, memory=1e3, fallback="simulate")
    assert score.kind == "estimated"
    assert score.se["reward"] > 0


def test_decide_reads_pairs_mappings_and_beliefs() -> None:
    tiger = rp.make("tiger")
    wanted = rp.decide(tiger, "efe", [("listen", "hear-left")])
    assert rp.decide("tiger", "efe", {"listen": "hear-left"}) == wanted
    assert rp.decide(tiger, rp.agent("efe"), tiger.belief(given={"listen": "hear-left"})) == wanted
    assert rp.decide(tiger, rp.solve(tiger, horizon=2), {"listen": "hear-left"}).choice in tiger.actions


def test_an_agent_is_a_planner_with_an_objective() -> None:
    tiger = rp.make("tiger")
    agent = rp.agent("efe", horizon=4, information_weight=0.0)
    assert agent.solve(tiger).value([0.5, 0.5]) == rp.Lookahead(4).solve(tiger).value([0.5, 0.5])
    bits = rp.Lookahead(3).solve(tiger, rp.Objective(1.0, information_unit="bits")).value([0.5, 0.5])
    nats = rp.Lookahead(3).solve(tiger, rp.Objective(1 / math.log(2))).value([0.5, 0.5])
    assert bits == pytest.approx(nats, rel=1e-12)
    assert rp.agent("planning-ig", planner=rp.MCTS(simulations=10)).solve(tiger).planner.simulations == 10
    with pytest.raises(rp.AgentError, match="information_weight"):
        rp.agent("efe", weight=2)


def test_a_target_names_states_in_any_order() -> None:
    tiger = rp.make("tiger")
    named = rp.Objective(1.0, utility=rp.TargetBelief({"tiger-right": 0.7, "tiger-left": 0.3}))
    listed = rp.Objective(1.0, utility=rp.TargetBelief([0.3, 0.7]))
    values = [rp.Lookahead(2).solve(tiger, one).action_values([0.4, 0.6]) for one in (named, listed)]
    assert values[0] == values[1]
    with pytest.raises(rp.AgentError, match="tiger-left"):
        rp.Lookahead(2).solve(tiger, rp.Objective(1.0, utility=rp.TargetBelief({"a": 0.5, "b": 0.5})))


@pytest.fixture
def registries() -> Iterator[None]:
    """Takes out afterwards what a test registers."""
    before = [list(one) for one in (PROBLEMS, UTILITIES, OTHER_AGENTS)]
    yield
    for registry, names in zip((PROBLEMS, UTILITIES, OTHER_AGENTS), before, strict=True):
        for name in set(registry) - set(names):
            del registry[name]


@pytest.mark.usefixtures("registries")
def test_what_is_registered_is_found_by_name() -> None:
    def surprise(beliefs: Any, action: Any) -> Any:
        """Minus the probability of the most probable state."""
        return -beliefs.max(axis=1)

    rp.register("utility", "surprise", surprise)
    rp.register("agent", "wary", rp.agent("planning", horizon=2))
    rp.register("agent", "searching", rp.agent("planning", planner="mcts", simulations=10))
    assert rp.agent("searching", horizon=2).solve(rp.make("tiger")).planner == rp.MCTS(horizon=2, simulations=10)
    rp.register("problem", "coarse-tiger", lambda: rp.make("tiger:accuracy=0.7"))
    assert "wary" in rp.list_agents()
    assert "coarse-tiger" in rp.list_problems()
    assert rp.evaluate("coarse-tiger", "wary").reward == rp.evaluate("tiger:accuracy=0.7", rp.Lookahead(2)).reward
    named = rp.agent("planning-ig", utility="surprise", information_weight=1.0, horizon=2).solve(rp.make("tiger"))
    own = rp.Lookahead(2).solve(rp.make("tiger"), rp.Objective(1.0, utility=surprise))
    assert named.action_values([0.5, 0.5]) == own.action_values([0.5, 0.5])
    with pytest.raises(rp.AgentError, match="built in"):
        rp.register("agent", "efe", rp.agent("planning"))


def test_a_recommendation_is_shown_in_one_line_and_as_a_table() -> None:
    pytest.importorskip("pandas")
    recommended = rp.decide("tiger", "efe", {"listen": "hear-left"})

    assert repr(recommended) == f"Recommendation(listen, {recommended.margin:.6g} ahead of open-right)"
    table = recommended.to_frame()
    assert list(table.index) == [row.name for row in recommended.ranking]
    assert table.loc["listen", "value"] == recommended.ranking[0].value
    assert recommended._repr_html_().count("<tr>") == 1 + len(recommended.actions)


def test_a_policy_keeps_its_own_numbers_in_another_problem() -> None:
    """A policy made for an accurate test is followed, not planned again, where the test is worse."""
    policy, other = rp.Lookahead(6).solve(rp.make("tiger")), rp.make("tiger", accuracy=0.6)
    asked = rp.evaluate(other, lambda belief: policy.action(dict(belief)))

    assert rp.evaluate(other, policy).reward == pytest.approx(asked.reward, rel=1e-12)
    assert rp.evaluate(other, rp.Lookahead(6).solve(other)).reward > asked.reward + 1
    assert rp.evaluate("tiger", policy).reward == rp.evaluate("tiger", rp.Lookahead(6)).reward
    with pytest.raises(rp.EvidenceError, match="diagnosis"):
        rp.evaluate("diagnosis", policy)


def test_a_decision_shows_the_values_of_the_policy_itself() -> None:
    policy = rp.HSVI().solve(rp.make("tiger"))
    values = policy.action_values(rp.make("tiger").belief())

    for row in rp.decide("tiger", policy).actions:
        assert row.value == pytest.approx(values[row.name].value, rel=1e-12)
    assert rp.decide("tiger", cautious).choice == "listen"


def test_a_policy_with_a_horizon_counts_the_actions_taken() -> None:
    heard = [("listen", "hear-left"), ("listen", "hear-left"), ("listen", "hear-right")]
    tiger, policy = rp.make("tiger"), rp.solve("tiger", horizon=4)
    belief = rp.with_horizon(tiger, 4).belief(given=heard)

    assert rp.decide(tiger, policy, heard).choice == policy.action(belief)
    assert policy.action(tiger.belief()) == policy.action([0.5, 0.5])
    with pytest.raises(rp.EvidenceError) as refused:
        policy.action(tiger.belief(given=heard))
    assert refused.value.field == ("belief",)


@pytest.mark.parametrize(
    "function",
    [
        lambda beliefs, action: beliefs.max(),
        lambda beliefs, action: beliefs.max(axis=1, keepdims=True),
        lambda beliefs, action: None,
        lambda beliefs, action: beliefs[:, 0] * math.nan,
    ],
    ids=["scalar", "column", "none", "nan"],
)
def test_a_utility_returns_one_finite_number_for_each_belief(function: Callable[..., Any]) -> None:
    policy = rp.Lookahead(2).solve(rp.make("tiger"), rp.Objective(1.0, utility=function))

    with pytest.raises(rp.AgentError, match="utility"):
        policy.action_values([0.5, 0.5])


@pytest.mark.parametrize(
    "call",
    [
        lambda: rp.Lookahead(3).solve("tiger"),
        lambda: rp.solve("tiger", "efe"),
        lambda: rp.solve("tiger", rp.agent("efe")),
        lambda: rp.evaluate("tiger", "efe", max_steps="5"),
        lambda: rp.evaluate("tiger", "efe", max_steps=True),
        lambda: rp.simulate("tiger", "efe", episodes=2.5),
        lambda: rp.simulate("tiger", "efe", episodes=2, seeds="a"),
        lambda: rp.episode("tiger", "efe", seed="a"),
        lambda: rp.episode("tiger", "efe", world="diagnosis"),
        lambda: rp.register("problem", "number", 5),
        lambda: rp.register("agent", "number", 5),
    ],
    ids=["name", "agent-name", "agent", "text", "bool", "fraction", "seeds", "seed", "world", "problem", "agent-kind"],
)
def test_arguments_of_another_kind_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(rp.RhoplanError):
        call()
