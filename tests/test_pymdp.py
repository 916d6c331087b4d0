"""Validation against pymdp, the reference library of active inference: same information, same values, same decisions.

What pymdp can express, and how it is expressed here. A problem becomes a model with two state factors: the hidden
state (nothing changes it) and the *stage* (what was done last, and how many tests are left), which the actions move.
There is one modality of observations: every outcome of every test, what a commit shows, and "nothing". pymdp takes the
numbers in C as they are (no softmax, no normalisation) and its utility is their expectation, so C holds rewards: minus
the cost at the outcomes of a test, the payoff at what a commit shows.

What pymdp cannot express, and what stands in for it:

- *A payoff without information.* Utility comes through observations only, and every observation counts towards the
  information gain; it cannot be switched off for one modality. If a commit shows its payoff, pymdp credits the commit
  with what the payoff tells about the state, H(b) here, although nothing is decided after it. So payoffs come in two
  forms. *Faint*: a coin that is almost fair and stands for huge preferences; its expectation is the payoff and its
  information vanishes with the square of the bias. This is rhoplan's EFE. *Told*: the payoff itself is seen. Then the
  information of every plan that ends in a commit adds up to H(b), whatever the plan, and the EFE agent decides like
  one that ignores information.
- *An end and a deadline.* Every policy has the same length. After a commit comes a stage where nothing happens and
  nothing is paid; who still tests when no test is left pays a fine that no plan accepts. So pymdp's depth H + 1 is
  rhoplan's horizon H (H tests at most, then a commit).
- *A continuation in one-step policies.* policy_len=1 is the immediate part alone, reward + information; policy_len=2
  fixes the second action in advance. Only sophisticated inference (`pymdp.planning.si`) reacts to outcomes.

Precision: the models run in float64, except in sophisticated inference, which stores float32 and refuses float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import Array, entropy, information, make_agent
from bridge import decide_at as decide
from rhoplan import POMDP, Belief, Recommendation

REASON = "needs pymdp 1.0 or later: pip install 'rhoplan[validation]'"
jax = pytest.importorskip("jax", reason=REASON)
jax.config.update("jax_enable_x64", True)  # before pymdp is imported: it derives its smallest number from this
jax.config.update("jax_disable_most_optimizations", True)  # every model here compiles for longer than it runs
control = pytest.importorskip("pymdp.control", reason=REASON)
si = pytest.importorskip("pymdp.planning.si", reason=REASON)
pymdp_agent = pytest.importorskip("pymdp.agent", reason=REASON)

SPECS = ("tiger", "testbed", "diagnosis:n=4", "diagnosis:n=8", "bandit", "tileworld:n=4")
TWO_STATES = ("tiger", "testbed")
FINE = -1000.0


def random_beliefs(problem: POMDP, number: int = 23) -> Array:
    """Beliefs (n, S): the prior, a certain one, one with impossible states, and random ones from flat to peaked.

    As many as in `belief_grid`: what is compiled for so many serves both.
    """
    rng, states = np.random.default_rng(20), len(problem.states)
    certain, half = np.eye(states)[0], np.repeat([2.0 / states, 0.0], [states // 2, states - states // 2])
    drawn = [rng.dirichlet(np.full(states, spread)) for spread in np.geomspace(0.1, 10.0, number - 3)]
    return np.stack([problem.prior, certain, half, *drawn])


def belief_grid() -> Array:
    """Beliefs (n, 2) on both sides, from uniform over intermediate to confident."""
    one_side = [0.5, 0.45, 0.4, 0.3, 0.2, 0.15, 0.12, 0.07, 0.03, 0.015, 0.005, 0.001]
    return np.array([[p, 1 - p] for p in one_side] + [[1 - p, p] for p in one_side[1:]])


def decisions(problem: POMDP, beliefs: Array, name: str, horizon: int) -> list[Recommendation]:
    agent = make_agent(name, problem, horizon=horizon)
    return [decide(problem, agent, Belief(problem, problem.start, (belief,))) for belief in beliefs]


def immediate(decision: Recommendation) -> list[float]:
    """Reward plus information of every action: what is left of its value without the continuation."""
    return [action.reward + action.weighted_information for action in decision.actions]


# -- an observe-then-commit problem as a pymdp model -------------------------------------------------------------------


@dataclass(frozen=True)
class Model:
    """Arrays of a pymdp model; see the module's text. likelihood (obs, S, stages), moves (stages, stages, actions).

    first: the observation that stands for the first outcome of each test. tested: the stage after each first test.
    """

    likelihood: Array
    moves: Array
    preferences: Array
    first: tuple[int, ...]
    tested: tuple[int, ...]

    def agent(self, batch: int, **settings: Any) -> Any:
        states = self.likelihood.shape[1]
        number = jax.numpy.zeros(()).dtype
        a, b, c = (jax.numpy.asarray(x, dtype=number) for x in (self.likelihood, self.moves, self.preferences))
        return pymdp_agent.Agent(
            A=[a],
            B=[jax.numpy.eye(states)[:, :, None], b],
            C=[c],
            A_dependencies=[[0, 1]],
            B_dependencies=[[0], [1]],
            batch_size=batch,
            use_utility=True,
            use_states_info_gain=True,
            **settings,
        )

    def beliefs(self, beliefs: Array, stage: int = 0) -> list[Any]:
        """Beliefs (n, S) about the state, and certainty about the stage, in pymdp's shape (n, 1, size)."""
        stages = np.tile(np.eye(self.likelihood.shape[2])[stage], (len(beliefs), 1))
        return [jax.numpy.asarray(x)[:, None, :] for x in (beliefs, stages)]


def pymdp_model(problem: POMDP, *, tests_left: int = 1, faint: float | None = 1e-4) -> Model:
    """`problem` with at most `tests_left` tests; payoffs as a coin of bias `faint`, or told where that is None."""
    tests, commits = problem.flat.tests, problem.flat.commits
    payoffs = np.stack([commit.reward for commit in commits])
    levels = np.unique(payoffs)
    first = np.cumsum([0, *(len(test.outcomes) for test in tests)])
    shown = first[-1] + np.arange(2 if faint else len(levels))
    nothing, late_fine = shown[-1] + 1, shown[-1] + 2
    first_commit = 1 + tests_left * len(tests)
    late, over = first_commit + len(commits), first_commit + len(commits) + 1

    likelihood = np.zeros((late_fine + 1, len(problem.states), over + 1))
    preferences = np.zeros(late_fine + 1)
    likelihood[nothing, :, [0, over]] = 1.0
    likelihood[late_fine, :, late] = 1.0
    preferences[late_fine] = FINE
    for k, test in enumerate(tests):
        preferences[first[k] : first[k + 1]] = -test.cost
        for done in range(tests_left):
            likelihood[first[k] : first[k + 1], :, 1 + done * len(tests) + k] = test.likelihood.T
    if faint:
        middle, half = levels.mean(), np.ptp(levels) / 2
        bias = faint * (payoffs - middle) / half
        likelihood[shown[0], :, first_commit:late] = 0.5 + bias.T
        likelihood[shown[1], :, first_commit:late] = 0.5 - bias.T
        preferences[shown] = middle + np.array([1, -1]) * half / (2 * faint)
    else:
        for level, observation in zip(levels, shown, strict=True):
            likelihood[observation, :, first_commit:late] = level == payoffs.T
        preferences[shown] = levels

    moves = np.zeros((over + 1, over + 1, len(tests) + len(commits)))
    for action in range(moves.shape[2]):
        for stage in range(over + 1):
            done = 0 if stage == 0 else (stage - 1) // len(tests) + 1
            if stage >= first_commit:
                target = over
            elif action >= len(tests):
                target = first_commit + action - len(tests)
            else:
                target = 1 + done * len(tests) + action if done < tests_left else late
            moves[target, stage, action] = 1.0
    return Model(likelihood, moves, preferences, tuple(first[:-1]), tuple(range(1, 1 + len(tests))))


@cache
def compiled(verb: str) -> Callable[..., Any]:
    """A method of pymdp's agent, compiled: step by step it takes twice as long."""
    return jax.jit(lambda agent, *arguments: getattr(agent, verb)(*arguments))  # type: ignore[no-any-return]


# -- one step ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", SPECS)
def test_information_equals_pymdps_state_information_gain(spec: str) -> None:
    """Every test at 23 beliefs, in float64: 1e-9 leaves room for the order of sums and the clipping of logarithms."""
    problem = rhoplan.make(spec)
    beliefs = random_beliefs(problem)

    @jax.jit
    @jax.vmap
    def gain(belief: Any, likelihood: Any) -> Any:
        expected = control.compute_expected_obs([belief], [likelihood], [[0]])
        return control.compute_info_gain([belief], expected, [likelihood], [[0]])

    for test in problem.menu(problem.start):
        if test.kind == "test":
            theirs = gain(beliefs, np.broadcast_to(test.likelihood.T, (len(beliefs), *test.likelihood.T.shape)))
            assert theirs.dtype == np.float64
            np.testing.assert_allclose(information(beliefs, test), theirs, atol=1e-9, rtol=0)


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "diagnosis:n=4"])  # n=8 is as it, but larger
def test_negative_free_energy_equals_reward_plus_information(spec: str) -> None:
    """A policy of length one is an action, and what pymdp says it is worth is its reward plus its information.

    The faint coin of bias 1e-4 still tells 2e-8 nats: hence 1e-6. rhoplan's continuation has no counterpart here.
    """
    problem = rhoplan.make(spec)
    beliefs, model = random_beliefs(problem), pymdp_model(problem)
    agent = model.agent(len(beliefs), action_selection="deterministic")  # as where actions are taken: compiled once
    _, theirs = compiled("infer_policies")(agent, model.beliefs(beliefs))
    ours = [immediate(decision) for decision in decisions(problem, beliefs, "efe", 1)]
    assert theirs.dtype == np.float64
    np.testing.assert_allclose(ours, theirs, atol=1e-6, rtol=0)


@pytest.mark.parametrize("spec", TWO_STATES)
def test_one_step_decisions_agree(spec: str) -> None:
    """Observe or commit by reward + information alone: pymdp's agent takes what is best by rhoplan's parts."""
    problem = rhoplan.make(spec)
    beliefs, model = belief_grid(), pymdp_model(problem)
    agent = model.agent(len(beliefs), action_selection="deterministic")
    q_pi, _ = compiled("infer_policies")(agent, model.beliefs(beliefs))
    taken = np.asarray(agent.sample_action(q_pi))[:, 1]
    ours = np.array([immediate(decision) for decision in decisions(problem, beliefs, "efe", 1)])
    clear = np.abs(ours[:, 0] - ours[:, 1:].max(axis=1)) > 1e-6
    assert clear.all()
    np.testing.assert_array_equal(taken == 0, ours[:, 0] > ours[:, 1:].max(axis=1))
    np.testing.assert_allclose(ours[np.arange(len(ours)), taken], ours.max(axis=1), atol=1e-6, rtol=0)
    assert taken[0] == 0
    assert taken[11] != 0


@pytest.mark.parametrize("spec", TWO_STATES)
def test_a_payoff_that_is_told_counts_as_information_in_pymdp(spec: str) -> None:
    """The one difference in value: pymdp adds H(b) to a commit whose payoff reveals the state. Tests are unaffected."""
    problem = rhoplan.make(spec)
    beliefs, model = belief_grid(), pymdp_model(problem, faint=None)
    _, theirs = compiled("infer_policies")(model.agent(len(beliefs)), model.beliefs(beliefs))
    for belief, row, decision in zip(beliefs, theirs, decisions(problem, beliefs, "efe", 1), strict=True):
        told = [0.0 if action.kind == "test" else float(entropy(belief)) for action in decision.actions]
        np.testing.assert_allclose(np.add(immediate(decision), told), row, atol=1e-9, rtol=0)


@pytest.mark.parametrize("spec", ["tiger", "diagnosis:n=4", "bandit"])
def test_beliefs_after_a_test_agree(spec: str) -> None:
    """pymdp's belief after each outcome of each test is rhoplan's.

    pymdp clips logarithms, so that what is impossible keeps a probability near 1e-16: the beliefs are all positive.
    """
    problem = rhoplan.make(spec)
    beliefs, model = np.maximum(random_beliefs(problem), 1e-3), pymdp_model(problem)
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    agent = model.agent(len(beliefs))
    for k, test in enumerate(problem.flat.tests):
        prior = [belief[:, 0] for belief in model.beliefs(beliefs, stage=model.tested[k])]
        for o, outcome in enumerate(test.outcomes):
            seen = jax.numpy.full((len(beliefs), 1), model.first[k] + o)
            theirs = compiled("infer_states")(agent, [seen], prior)[0][:, 0]
            situations = (Belief(problem, problem.start, (belief,)) for belief in beliefs)
            ours = [situation.update(test.name, outcome).beliefs[0] for situation in situations]
            np.testing.assert_allclose(ours, theirs, atol=1e-9, rtol=0)


# -- several steps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", TWO_STATES)
def test_two_step_policies_add_up_and_cannot_react(spec: str) -> None:
    """policy_len=2 sums the parts of both actions at the present belief, for the second is fixed before the outcome.

    So it counts a repeated test twice in full, and what it says of "test, then commit" is at most rhoplan's value of
    testing with one test ahead, which commits by the outcome; far less where the outcome matters.
    """
    problem = rhoplan.make(spec)
    beliefs, model = belief_grid(), pymdp_model(problem, tests_left=2)
    agent = model.agent(len(beliefs), policy_len=2)
    _, theirs = compiled("infer_policies")(agent, model.beliefs(beliefs))
    policies = np.asarray(agent.policies.policy_arr)[:, :, 1]
    values = {tuple(map(int, policy)): np.asarray(theirs)[:, i] for i, policy in enumerate(policies)}
    for i, decision in enumerate(decisions(problem, beliefs, "efe", 1)):
        worth = immediate(decision)
        for (now, then), value in values.items():
            expected = worth[now] + (worth[then] if decision.actions[now].kind == "test" else 0.0)
            assert value[i] == pytest.approx(expected, abs=1e-6)
        fixed = max(values[0, commit][i] for commit in (1, 2))
        assert fixed <= decision.actions[0].value + 1e-6
    at_uniform = decisions(problem, beliefs[:1], "efe", 1)[0].actions[0].value
    assert max(values[0, 1][0], values[0, 2][0]) < at_uniform - 0.4


DEPTH = 2
"""Tests that the tree search may look ahead. Depth 3 agrees as well, and takes 3 s per test instead of 0.2 s."""


@cache
def sophisticated_search() -> Callable[..., Any]:
    """pymdp's tree search over DEPTH tests and a commit, nothing pruned, the best action taken at every node.

    gamma = 1e4 makes the softmax over actions a maximum: what it gives away is below 1e-4. The full tree has 208 nodes;
    with too few pymdp plans less deeply and says so on the screen only.
    """
    search: Callable[..., Any] = si.si_policy_search(
        horizon=DEPTH + 1,
        max_nodes=256,
        max_branching=8,
        policy_prune_threshold=-1.0,
        observation_prune_threshold=1e-6,
        entropy_stop_threshold=-1.0,
        gamma=1e4,
    )
    return search


@pytest.fixture
def single_precision() -> Iterator[None]:
    jax.config.update("jax_enable_x64", False)
    yield
    jax.config.update("jax_enable_x64", True)


@pytest.mark.usefixtures("single_precision")
@pytest.mark.parametrize("horizon", range(1, DEPTH + 1))
@pytest.mark.parametrize(("faint", "agent_name"), [(1e-2, "efe"), (None, "planning")], ids=["faint", "told"])
@pytest.mark.parametrize("spec", TWO_STATES)
def test_sophisticated_inference_decides_alike(
    spec: str, faint: float | None, agent_name: str, horizon: int, capfd: pytest.CaptureFixture[str]
) -> None:
    """Closed-loop planning in pymdp: the same values and decisions as rhoplan's `efe` at horizon H.

    With payoffs that are told it is rhoplan's `planning` (weight 0) plus H(b), because the information of every plan
    that ends in a commit is then the same. A shorter horizon starts at a stage with fewer tests left, so that one
    compiled search serves all. The tolerance: float32 at preferences of 55 / (2 * 0.01) = 2750 errs by 5e-4, and a
    coin of bias 0.01 tells 2e-4 nats.
    """
    tolerance = 2e-3
    problem = rhoplan.make(spec)
    beliefs, model = belief_grid(), pymdp_model(problem, tests_left=DEPTH, faint=faint)
    start = model.beliefs(beliefs, stage=DEPTH - horizon)
    q_pi, found = sophisticated_search()(model.agent(len(beliefs)), qs=start)
    values = np.asarray(found["tree"].neg_efe)[:, 0, 0]
    assert "Used up all" not in capfd.readouterr().out
    kinds = []
    for i, decision in enumerate(decisions(problem, beliefs, agent_name, horizon)):
        worth = np.array([action.value for action in decision.actions])
        extra = 0.0 if faint else float(entropy(beliefs[i]))
        assert values[i] == pytest.approx(worth.max() + extra, abs=tolerance)
        taken = int(np.argmax(q_pi[i]))
        assert worth[taken] >= worth.max() - 2 * tolerance
        if abs(worth[0] - worth[1:].max()) > 2 * tolerance:
            kinds.append(decision.actions[taken].kind)
            assert (taken == 0) == (decision.choice == decision.actions[0].name)
    assert len(kinds) >= len(beliefs) - 2
    assert set(kinds) == {"test", "commit"}
