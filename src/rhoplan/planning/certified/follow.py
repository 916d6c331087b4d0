"""The plan behind the lower bound: what it does at a node, and what following it brings.

At a node the plan runs the TRUE test that is worth most, or, where nothing beats it, falls back on a commit or on a
plan borrowed from another node. `bounds.Bounds` holds the values that this reads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rhoplan._old.flow import Chosen, Flow
from rhoplan._old.ties import choose
from rhoplan._old.utilities import GraphUtility
from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.convex import REWARD, SCORE, SUCCESS, TESTS, VALUE
from rhoplan.planning.utility import Information

if TYPE_CHECKING:
    from rhoplan.planning.certified.bounds import Bounds

TRUE = 2
"""The last stage of a test in `bounds`: the test itself."""

NEGLIGIBLE = 1e-18
"""Share of cases at one node at one step below which the plan is no longer followed."""


def plan_choices(bounds: Bounds, nodes: Ids) -> Ids:
    """The TRUE test (n,) that the plan behind the lower bound takes at `nodes`, -1 to commit."""
    worth = np.where(bounds.stage[nodes] == TRUE, bounds.worth(nodes, bounds.lower), -np.inf)
    stop = bounds.fallback[nodes][:, None]
    information = GraphUtility(Information(bounds.weight)).scale(bounds.graph, nodes)

    def exactly(rows: Ids) -> Array:
        return _gains(bounds, nodes[rows]) + information[rows][:, None]

    return choose(np.concatenate([stop, worth], axis=1), bounds.graph.gains[nodes] + information, exactly) - 1


def first_actions(bounds: Bounds, nodes: Ids) -> Ids:
    """What the plan does first (n,) at `nodes`: the slot of a test, or -1 - i for commit i."""
    choice = plan_choices(bounds, nodes)
    alone = -1 - bounds.graph.stop_action[nodes]
    borrowed = bounds.borrowed[nodes]
    if bounds.anchors is not None and len(bounds.anchors.first):
        alone = np.where(borrowed >= 0, bounds.anchors.first[borrowed], alone)
    return np.where(choice >= 0, choice, alone)


def score_plan(bounds: Bounds, cap: int) -> tuple[float, float, float, float, str]:
    """Reward, tests, success and truncated share of the plan behind the lower bound, and its first action."""
    graph = bounds.graph
    plan = Chosen(graph, plan_choices(bounds, np.arange(bounds.size)), graph.stop_action)
    reward = tests = success = truncated = 0.0
    for layer in Flow(plan, cap=cap, least=NEGLIGIBLE):
        if layer.is_cut:
            truncated = float(layer.mass.sum())
            tests += cap * truncated
            continue
        acts, stops = layer.acts, layer.acts.stops
        ended = acts.mass[stops] @ _endings(bounds, layer.node[acts.row[stops]])
        reward += float(acts.mass[acts.going] @ acts.reward[acts.going]) + float(ended[REWARD])
        success += float(ended[SUCCESS])
        tests += layer.step * float(acts.mass[stops].sum()) + float(ended[TESTS])
    menu = graph.menus[graph.observable[graph.root]]
    slot = int(first_actions(bounds, np.array([graph.root]))[0])
    first = menu.going[slot] if slot >= 0 else menu.ending[-1 - slot]
    return reward, tests, success, truncated, first.name


def plan_vectors(bounds: Bounds, nodes: Ids, sweeps: int = 200) -> Array:
    """What the plan behind the lower bound brings from each of `nodes`, per true state: (n, 5, S).

    Every sweep lets the plan run one test longer before it falls back on committing or on a borrowed plan, so
    what comes out is a real plan's, however few the sweeps.
    """
    choice = plan_choices(bounds, nodes)
    going, slots = nodes[choice >= 0], choice[choice >= 0]
    around = np.unique(np.concatenate([nodes, bounds.next[going, slots].ravel()]))
    vectors = _fallback_vectors(bounds, around)
    place = np.searchsorted(around, going)
    after = np.searchsorted(around, bounds.next[going, slots])
    beliefs = bounds.graph.beliefs(around)
    tests = bounds.graph.menus[0].going
    width = bounds.next.shape[2]
    likelihood = np.zeros((len(going), width, len(bounds.problem.states)))
    for slot in np.unique(slots):
        rows = tests[slot].likelihood.T
        likelihood[slots == slot, : len(rows)] = rows
    paid = np.zeros((len(going), 5, len(bounds.problem.states)))
    paid[:, VALUE] = paid[:, REWARD] = np.array([test.reward for test in tests])[slots]
    paid[:, TESTS] = 1.0
    if bounds.discount < 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.where(likelihood > 0, likelihood * _log_scores(bounds, beliefs[after]), 0.0)
        paid[:, SCORE] = (1 - bounds.discount) * scores.sum(axis=1)
    factors = np.array([bounds.discount, bounds.discount, 1.0, 1.0, 1.0])[:, None]
    mine = np.searchsorted(around, nodes)
    for _ in range(sweeps):
        with np.errstate(invalid="ignore"):
            follow = np.where(likelihood[:, :, None, :] > 0, likelihood[:, :, None, :] * vectors[after], 0.0)
        changed = paid + factors * follow.sum(axis=1)
        if np.allclose(changed, vectors[place], rtol=0, atol=1e-9 * bounds.problem.reward_scale):
            break
        vectors[place] = changed
    return vectors[mine]


def _gains(bounds: Bounds, nodes: Ids, sweeps: int = 200) -> Array:
    """The gains (n, 1 + M) in the values of not running a test and of running each TRUE one, for the tie rule.

    A sweep looks one test further along the plan; how large they are matters, not their digits.
    """
    every = np.arange(bounds.size)
    fallback = bounds.graph.stop_gains(every)
    held = np.flatnonzero(bounds.borrowed[every] >= 0)
    if held.size:
        assert bounds.anchors is not None
        plans = bounds.anchors.plans[bounds.borrowed[held], REWARD]
        fallback[held] = (bounds.graph.beliefs(held) * np.where(plans > 0, plans, 0.0)).sum(axis=1)
    worth = np.where(bounds.stage[every] == TRUE, bounds.worth(every, bounds.lower), -np.inf)
    going = np.flatnonzero(worth.max(axis=1, initial=-np.inf) > bounds.fallback[every])
    slots = worth[going].argmax(axis=1) if worth.shape[1] else going
    gains, chance, after = fallback.copy(), bounds.chance[going, slots], bounds.next[going, slots]
    for _ in range(sweeps):
        changed = (chance * gains[after]).sum(axis=1)
        if np.allclose(changed, gains[going], rtol=0.01):
            break
        gains[going] = changed
    later: Array = (bounds.chance[nodes] * gains[bounds.next[nodes]]).sum(axis=-1)
    return np.concatenate([fallback[nodes][:, None], later], axis=1)


def _endings(bounds: Bounds, nodes: Ids) -> Array:
    """Expectations (n, 5), as in `convex`, of committing at `nodes` or of the plan borrowed there."""
    beliefs = bounds.graph.beliefs(nodes)
    stop = bounds.graph.stop_action[nodes]
    result = np.zeros((len(nodes), 5))
    result[:, REWARD] = bounds.graph.stop_reward[nodes]
    result[:, SUCCESS] = (beliefs * bounds.best_commits[stop]).sum(axis=1)
    held = np.flatnonzero(bounds.borrowed[nodes] >= 0)
    if held.size:
        assert bounds.anchors is not None
        plans = bounds.anchors.plans[bounds.borrowed[nodes[held]]]
        with np.errstate(invalid="ignore"):
            result[held] = np.einsum("ns,nks->nk", beliefs[held], np.where(np.isfinite(plans), plans, 0.0))
    return result


def _log_scores(bounds: Bounds, beliefs: Array) -> Array:
    """The log (..., S) of the chance that `beliefs` (..., S) give to what is asked about, for each true state."""
    factor = bounds.problem.factors[0]
    logs: Array = np.log(factor.about(beliefs))
    return logs[..., factor.groups] if factor.about_diagnosis else logs


def _fallback_vectors(bounds: Bounds, nodes: Ids) -> Array:
    """Vectors (n, 5, S) of committing at once at `nodes`, or of the plan borrowed there."""
    assert bounds.anchors is not None
    vectors = np.zeros((len(nodes), 5, len(bounds.problem.states)))
    stop = bounds.graph.stop_action[nodes]
    vectors[:, VALUE] = vectors[:, REWARD] = bounds.commits[stop]
    vectors[:, SUCCESS] = bounds.best_commits[stop]
    with np.errstate(divide="ignore"):
        vectors[:, SCORE] = _log_scores(bounds, bounds.graph.beliefs(nodes))
    borrowed = bounds.borrowed[nodes] >= 0
    vectors[borrowed] = bounds.anchors.plans[bounds.borrowed[nodes[borrowed]]]
    return vectors
