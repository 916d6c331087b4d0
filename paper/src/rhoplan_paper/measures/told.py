"""What jobs measure for results that the paper tells in its text, and for its tables of statistics.

`near_optimality` serves the text, a figure and claims; `told.near_optimality` makes the job they share. Its
settings: environments and seed (how many problems are drawn, from which RandomState), horizons, weights and unit (what
is tried on each), and for the simulated version episodes, paired and stream (how many episodes, whether every weight
meets the same ones, and the seed they come from).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from rhoplan._old.exact import Plan
from rhoplan._old.graph import shared_graph
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.api import evaluate
from rhoplan.belief_math.information import entropy, information, per_nat
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning.utility import Information
from rhoplan.problems.registry import make
from rhoplan_paper.registry import measure
from rhoplan_paper.statistics import bootstrap, cohens_d, effect_label

RIGHT = 10.0
"""What a right commit pays in the random problems."""

ALPHA, ACCURACY, COST = (1.0, 50.0), (0.55, 0.95), (0.1, 5.0)
"""Ranges that random problems are drawn from, in this order."""


@measure
def near_optimality(
    *,
    environments: int = 100,
    seed: int = 42,
    horizons: list[int],
    weights: list[float],
    unit: str = "nats",
    episodes: int | None = None,
    paired: bool = True,
    stream: int = 42,
) -> dict[str, Any]:
    """Reward of planning with each weight, at each horizon, on random two-state problems: rewards[problem][h][w].

    Each problem draws from RandomState(seed), in this order: alpha ~ U(1, 50), accuracy ~ U(.55, .95),
    cost ~ U(.1, 5); a right commit pays 10, a wrong one -10 * alpha. Rewards are exact, or means of `episodes`
    episodes: the same ones for all weights and horizons of a problem if `paired`, else fresh ones for each.
    """
    drawn = random_stakes(environments, seed)
    rewards = []
    for place, numbers in enumerate(drawn):
        model = two_states(*numbers)
        streams = [[stream] * len(weights) for _ in horizons]
        if not paired:
            fresh = stream + place * len(horizons) * len(weights)
            streams = [[fresh + h * len(weights) + w for w in range(len(weights))] for h in range(len(horizons))]
        rewards.append(_rewards(model, horizons, [per_nat(weight, unit) for weight in weights], episodes, streams))
    names = ("alpha", "accuracy", "cost")
    columns = {name: [row[place] for row in drawn] for place, name in enumerate(names)}
    return {**columns, "horizons": horizons, "weights": weights, "rewards": rewards}


def random_stakes(problems: int, seed: int) -> list[tuple[float, float, float]]:
    """(alpha, accuracy, cost) of so many random problems, uniform within their ranges."""
    draws = np.random.RandomState(seed)
    ranges = (ALPHA, ACCURACY, COST)
    return [tuple(float(draws.uniform(*ends)) for ends in ranges) for _ in range(problems)]  # type: ignore[misc]


def two_states(alpha: float, accuracy: float, cost: float) -> POMDP:
    """Two states, one test; a wrong commit costs alpha times what a right one pays."""
    return make("testbed", accuracy=repr(accuracy), cost=repr(cost), right=RIGHT, wrong=repr(-RIGHT * alpha))


def _rewards(
    model: POMDP, horizons: list[int], weights: list[float], episodes: int | None, streams: list[list[int]]
) -> list[list[float]]:
    """Reward by horizon and weight per nat. Weights with one policy and one stream share its evaluation."""
    graph = shared_graph(model)
    plans = [Plan(graph, Information(weight)) for weight in weights]
    known: dict[tuple[int, int], float] = {}
    result = []
    for horizon, row in zip(horizons, streams, strict=True):
        line = []
        for weight, plan, stream in zip(weights, plans, row, strict=True):
            key = _tests_before_commit(plan, horizon), stream if episodes else 0
            if key not in known:
                agent = BoundAgent("planning-ig", horizon, weight)
                known[key] = _reward(model, agent, episodes, stream)
            line.append(known[key])
        result.append(line)
    return result


def _reward(model: POMDP, agent: BoundAgent, episodes: int | None, stream: int) -> float:
    if episodes is None:
        return evaluate(model, agent).reward
    return float(simulate_episodes(model, agent, seeds=[stream], episodes=episodes).reward.mean())


def _tests_before_commit(plan: Plan, horizon: int) -> int:
    """How many more outcomes for one state than for the other it takes until the plan commits, or the cap.

    With two states, one symmetric test and a uniform prior this number is the policy.
    """
    graph = plan.graph
    node = graph.root
    for count in range(graph.problem.cap):
        slot = int(plan.choices(np.array([node]), horizon)[0])
        if slot < 0:
            return count
        # The likelier outcome leads away from the middle, whichever of two mirror images a node stands for.
        node = int(graph.next[node, slot, int(graph.probability[node, slot].argmax())])
    return graph.problem.cap


@measure
def effect_sizes(
    problem: str, *, agent: dict[str, Any], versus: list[dict[str, Any]], episodes: int, seeds: list[int], unit: str
) -> dict[str, Any]:
    """Cohen's d of one agent's reward and success against each of `versus`, on the published streams.

    Agents are settings of `make_agent`, their name under `name`.
    """
    model = make(problem)

    def rows(settings: dict[str, Any]) -> dict[str, Array]:
        found = simulate_episodes(
            model, make_agent(problem=model, unit=unit, **settings), seeds=seeds, episodes=episodes
        )
        return {"reward": found.reward, "success": found.success.astype(float)}

    own = rows(agent)
    others = [rows(settings) for settings in versus]
    d = [{metric: cohens_d(own[metric], other[metric]) for metric in own} for other in others]
    labels = [{metric: effect_label(value) for metric, value in row.items()} for row in d]
    return {"episodes": len(own["reward"]), "d": d, "labels": labels}


@measure
def bootstrap_interval(
    problem: str,
    agent: str,
    *,
    episodes: int,
    seeds: list[int],
    resamples: int = 10_000,
    confidence: float = 0.95,
    seed: int = 42,
    **settings: Any,
) -> dict[str, Any]:
    """Mean reward of seeded episodes and its percentile bootstrap interval."""
    model = make(problem)
    rows = simulate_episodes(model, make_agent(agent, model, **settings), seeds=seeds, episodes=episodes)
    found = bootstrap(rows.reward, resamples=resamples, confidence=confidence, seed=seed)
    return {"mean": float(rows.reward.mean()), "lower": found.lower, "upper": found.upper, "episodes": len(rows.reward)}


FAINT = 1e-4
"""Bias of the coin that stands for a payoff in pymdp: it tells 2 * FAINT**2 nats, and its expectation is the payoff."""

UNCERTAIN = (0.5, 0.45, 0.4, 0.3, 0.2, 0.15, 0.12, 0.07, 0.03, 0.015, 0.005, 0.001)
"""Probabilities of the less likely of two states, from uniform over intermediate to confident."""


@measure
def with_pymdp(problem: str) -> dict[str, Any]:
    """Information gains and one-step decisions of a two-state problem beside pymdp's, over a grid of beliefs.

    information_gap: the largest difference, in nats. agree: at how many beliefs both test or both commit, by what
    pymdp sees of a payoff: a faint coin that tells nothing, or the payoff itself, which counts as information there.
    value_gap: the largest difference of values with faint payoffs. missing: pymdp is not installed.
    """
    try:
        jax = import_module("jax")
        before = jax.config.jax_enable_x64
        jax.config.update("jax_enable_x64", True)  # before pymdp is imported: it derives its smallest number from this
        jax.config.update("jax_disable_most_optimizations", True)  # it compiles for longer than it runs
        control, pymdp = import_module("pymdp.control"), import_module("pymdp.agent")
    except ImportError:
        return {"missing": True}
    model = make(problem)
    one_side = np.array(UNCERTAIN)
    beliefs = np.concatenate([np.stack([one_side, 1 - one_side], 1), np.stack([1 - one_side[1:], one_side[1:]], 1)])
    test = next(action for action in model.menu(model.start) if action.kind == "test")
    likelihood = jax.numpy.asarray(test.likelihood.T)

    def gain(belief: Any) -> Any:
        expected = control.compute_expected_obs([belief], [likelihood], [[0]])
        return control.compute_info_gain([belief], expected, [likelihood], [[0]])

    theirs = np.asarray(jax.vmap(gain)(jax.numpy.asarray(beliefs)))
    ours = information(beliefs, test)
    worth = _one_step_values(model, beliefs)
    values = {
        form: _pymdp_values(model, beliefs, form == "faint", jax.numpy, pymdp.Agent) for form in ("faint", "told")
    }
    jax.config.update("jax_enable_x64", before)
    return {
        "missing": False,
        "beliefs": len(beliefs),
        "information_gap": float(np.abs(theirs - ours).max()),
        "value_gap": float(np.abs(values["faint"] - worth).max()),
        "told_is_entropy": float(np.abs(values["told"][:, 1:] - worth[:, 1:] - entropy(beliefs)[:, None]).max()),
        "tests": int((_tests(worth)).sum()),
        "agree": {form: int((_tests(found) == _tests(worth)).sum()) for form, found in values.items()},
    }


def _tests(values: Array) -> Any:
    """Whether the first action, the test, beats every commit."""
    return values[:, 0] > values[:, 1:].max(axis=1) + 1e-6


def _one_step_values(model: POMDP, beliefs: Array) -> Array:
    """Reward plus information (n, actions) of the test and of each commit: what pymdp's one-step policies are worth."""
    actions = sorted(model.menu(model.start), key=lambda action: action.kind != "test")
    return np.stack([beliefs @ a.reward + (information(beliefs, a) if a.kind == "test" else 0.0) for a in actions], 1)


def _pymdp_values(model: POMDP, beliefs: Array, faint: bool, jnp: Any, agent: Any) -> Array:
    """Negative expected free energy (n, actions) of pymdp's one-step policies.

    The hidden state is one factor, what was done last the other: nothing, the test, a commit. One modality: outcomes
    of the test, what a commit shows (a faint coin, or the payoff), nothing. Preferences are rewards, as they are.
    """
    (test,), commits = model.flat.tests, model.flat.commits
    payoffs = np.stack([commit.reward for commit in commits])
    levels = np.unique(payoffs)
    outcomes = len(test.outcomes)
    stages = 2 + len(commits)
    seen = np.zeros((outcomes + len(levels) + 1, len(model.states), stages))
    seen[-1, :, 0] = 1.0
    seen[:outcomes, :, 1] = test.likelihood.T
    preferences = np.concatenate([np.full(outcomes, -test.cost), levels, [0.0]])
    if faint:
        middle, half = levels.mean(), np.ptp(levels) / 2
        bias = FAINT * (payoffs.T - middle) / half
        seen[outcomes, :, 2:], seen[outcomes + 1, :, 2:] = 0.5 - bias, 0.5 + bias
        preferences[outcomes : outcomes + 2] = middle + np.array([-1, 1]) * half / (2 * FAINT)
    else:
        for place, level in enumerate(levels):
            seen[outcomes + place, :, 2:] = level == payoffs.T
    moves = np.zeros((stages, stages, stages - 1))
    moves[np.arange(1, stages), :, np.arange(stages - 1)] = 1.0
    planner = agent(
        A=[jnp.asarray(seen)],
        B=[jnp.eye(len(model.states))[:, :, None], jnp.asarray(moves)],
        C=[jnp.asarray(preferences)],
        A_dependencies=[[0, 1]],
        B_dependencies=[[0], [1]],
        batch_size=len(beliefs),
        use_utility=True,
        use_states_info_gain=True,
    )
    start = np.tile(np.eye(stages)[0], (len(beliefs), 1))
    _, values = planner.infer_policies([jnp.asarray(part)[:, None, :] for part in (beliefs, start)])
    return np.asarray(values, dtype=float)
