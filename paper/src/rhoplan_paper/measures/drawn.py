"""What jobs measure for the figures: episodes seen from within, exact courses over time, exact sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rhoplan._old.flow import Flow
from rhoplan._old.graph import shared_graph
from rhoplan._old.policy import GraphPolicy, action_values
from rhoplan.agents.agent import make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.app.sweep import sweep
from rhoplan.belief_math.information import entropy
from rhoplan.belief_math.sampling import draw_outcome, draw_state
from rhoplan.planning.certified.solve import solve
from rhoplan.problems.registry import make, with_parameter
from rhoplan_paper.registry import measure


@measure
def over(problem: str, agent: str, *, name: str, values: list[str], **settings: Any) -> dict[str, Any]:
    """Exact scores of one agent for each value of one setting, its own or the problem's; beliefs are shared."""
    rows, _ = sweep(problem, [agent], name, values, settings)
    return {"scores": [{key: row[key] for key in ("reward", "tests", "success")} for row in rows]}


@measure
def optimum_over(problem: str, *, name: str, values: list[str], gap: float = 1e-4) -> dict[str, Any]:
    """The certified optimum of a flat problem for each value of one of its parameters."""
    found = [solve(make(with_parameter(problem, name, value)), gap=gap) for value in values]
    return {"scores": [{"reward": one.reward, "tests": one.tests, "success": one.success} for one in found]}


@measure
def episode_rows(problem: str, agent: str, *, seed: int, episodes: int, **settings: Any) -> dict[str, Any]:
    """Reward, number of tests and success of each of the first episodes of `seed` (the published streams)."""
    model = make(problem)
    rows = simulate_episodes(model, make_agent(agent, model, **settings), seeds=[seed], episodes=episodes)
    return {"reward": rows.reward.tolist(), "tests": rows.tests.tolist(), "success": rows.success.tolist()}


@measure
def episode(problem: str, agent: str, *, seed: int, number: int, **settings: Any) -> dict[str, Any]:
    """Episode `number` of `seed` of a flat problem, as the agent sees it: one entry of `steps` per decision.

    belief and entropy (nats) are those before the action; commit and test are the values of the best of each kind, as
    the agent counts them (with what information is worth to it); information, in nats, is that of each test in the
    problem's order; reward is what was paid up to and including the action. Draws are those of the simulator.
    """
    model = make(problem)
    graph = shared_graph(model)
    policy = GraphPolicy(graph, make_agent(agent, model, **settings))
    stream = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed * 10000 + number)))
    state = draw_state(stream, model.prior)
    best = model.flat.right
    node, paid, success = graph.root, 0.0, False
    steps: list[dict[str, Any]] = []
    while len(steps) < model.cap:
        values = action_values(policy, node)
        belief = graph.situation(node).beliefs[0]
        menu = {action.name: action for action in model.menu(graph.observables[graph.observable[node]])}
        chosen = menu[max(values, key=lambda value: value.probability).name]
        paid += float(chosen.reward[state])
        step: dict[str, Any] = {
            "action": chosen.name,
            "outcome": None,
            "belief": belief.tolist(),
            "entropy": float(entropy(belief)),
            "commit": max(value.value for value in values if value.kind == "commit"),
            "test": max(value.value for value in values if value.kind == "test"),
            "information": [value.information for value in values if value.kind == "test"],
            "reward": paid,
        }
        steps.append(step)
        if chosen.ends_episode:
            success = bool(best[[commit.name for commit in model.flat.commits].index(chosen.name), state])
            break
        outcome = draw_outcome(stream, chosen.likelihood[state])
        step["outcome"] = chosen.outcomes[outcome]
        slot = [action.name for action in menu.values() if not action.ends_episode].index(chosen.name)
        node = int(graph.next[node, slot, outcome])
    return {"state": state, "steps": steps, "success": success, "committed": chosen.ends_episode}


@measure
def course(problem: str, agent: str, *, steps: int, **settings: Any) -> dict[str, Any]:
    """How an episode of a flat problem goes on average, exactly, after 0, 1, ... `steps` tests.

    observing: share of episodes that take another test. entropy: expected entropy in nats, an episode that has ended
    keeping that of its last belief. reward: expected reward so far, commits that were made included.
    """
    model = make(problem)
    graph = shared_graph(model)
    policy = GraphPolicy(graph, make_agent(agent, model, **settings))
    ended_share = ended_entropy = paid = 0.0
    observing, uncertain, reward = [], [], []
    for layer in Flow(policy, cap=steps + 1):
        if layer.step > steps:
            break
        nats = graph.tables[0].entropy[graph.belief[layer.node, 0]]
        uncertain.append(ended_entropy + float(layer.mass @ nats))
        acts, stops = layer.acts, layer.acts.slot < 0
        ended_share += float(acts.mass[stops].sum())
        ended_entropy += float(acts.mass[stops] @ nats[acts.row[stops]])
        paid += float(acts.mass[stops] @ acts.reward[stops])
        observing.append(max(1.0 - ended_share, 0.0))
        reward.append(paid)
        paid += float(acts.mass[~stops] @ acts.reward[~stops])
    for row in (observing, uncertain, reward):
        row += [row[-1]] * (steps + 1 - len(row))
    return {"observing": observing, "entropy": uncertain, "reward": reward}
