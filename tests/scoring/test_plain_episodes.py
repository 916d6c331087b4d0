"""Episodes against the plainest loop there is: one at a time, one step at a time, on the published streams.

Every column is compared, where states change, payments are left to chance, places and quantities are several, the world
is not what the agent believes, agents draw what they do, and episodes are cut off.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rhoplan
from bridge import (
    Array,
    EventCount,
    Observable,
    RolloutSettings,
    draw_state,
    in_names_of,
    make_agent,
    outcome_for,
    simulate_episodes,
)
from bridge import decide_at as decide
from rhoplan import END, POMDP, Action, Factor

SEED, EPISODES = 42, 30

NEGLIGIBLE = RolloutSettings().negligible


def yard(accuracy: float, *, turned: bool = False) -> POMDP:
    """A machine that wears as it is looked at, pays by luck when it is used, and a lamp in another place.

    turned: outcomes and states are listed the other way round.
    """
    way = slice(None, None, -1 if turned else 1)

    def by_state(*rows: Any) -> Array:
        return np.array(rows, dtype=float)[way]

    def by_both(rows: Any) -> Array:
        return np.array(rows, dtype=float)[way, way]

    wears = np.array([[[0.9, 0.1], [0.0, 1.0]], [[0.5, 0.5], [0.2, 0.8]]])[way, way, way]
    look, sound = by_both([[accuracy, 1 - accuracy], [0.3, 0.7]]), by_both([[0.6, 0.4], [0.2, 0.8]])
    pays = by_both([[3.0, -1.0], [0.5, -4.0]])
    fine, lit, went = ("fine", "odd")[way], ("light", "dark")[way], ("well", "badly")[way]
    one = np.ones((2, 1))
    menus: dict[Observable, tuple[Action, ...]] = {
        "yard": (
            Action("look", np.full(2, -0.3), look, fine, ("yard", "yard"), transition=wears),
            Action("use", (sound * pays).sum(axis=1), sound, went, ("yard", END)[way], pays=pays),
            Action("to-road", np.full(2, -0.1), one, ("there",), ("road",)),
            Action("sell", by_state(6.0, -3.0), one, ("sold",), (END,)),
            Action("keep", by_state(-2.0, 1.0), one, ("kept",), (END,)),
        ),
        "road": (
            Action("peer", by_state(-0.1, -0.4), by_both([[0.8, 0.2], [0.3, 0.7]]), lit, ("road", "road"), factor=1),
            Action("back", np.full(2, -0.1), one, ("there",), ("yard",)),
        ),
    }  # fmt: skip
    factors = (
        Factor("machine", ("whole", "broken")[way], by_state(0.7, 0.3)),
        Factor("lamp", ("on", "off")[way], np.array([0.5, 0.5])),
    )
    tallies = {
        "looks": EventCount(("look",)), "odd": EventCount((), (), ("odd", "badly")),
        "bad": EventCount(("sell",), ("broken",)),
        "shown": EventCount(("test",), ("on", "whole")), "success": EventCount(("commit",), ("whole",)),
    }  # fmt: skip
    return POMDP("yard", factors, "yard", menus.__getitem__, horizon=3, discount=0.9, tallies=tallies)


def tells(action: Action, belief: Array) -> float:
    """Mutual information of outcome and the state after it, from their joint chances."""
    change = np.eye(len(belief)) if action.transition is None else np.asarray(action.transition)
    changes = np.broadcast_to(change, (len(action.outcomes), *change.shape[-2:]))
    joint = np.array([(belief * shares) @ one for shares, one in zip(action.likelihood.T, changes, strict=True)])
    apart = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return sum(p * math.log(p / q) for p, q in zip(joint.flat, apart.flat, strict=True) if p > 0)


def plain(problem: POMDP, agent: Any, world: POMDP, number: int, cap: int) -> dict[str, Any]:
    """One episode, step by step; the world's states and observations in the order of the agent's model."""
    world = problem if world is problem else in_names_of(problem, world)
    entropy = SEED * 10000 + number
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    own = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=(1,))))
    states = [draw_state(rng, factor.prior) for factor in world.factors]
    situation = problem.belief()
    told: dict[str, Any] = {
        "reward": 0.0, "discounted": 0.0, "information": 0.0, "tests": 0, "steps": 0, "success": math.nan,
        "truncated": False, "worst_paid": math.inf, "worst_possible": math.inf, "worst_chance": 0.0,
        **dict.fromkeys(world.tallies, 0.0),
    }  # fmt: skip
    for step in range(cap):
        decision = decide(problem, agent, situation)
        name = decision.choice
        if math.isfinite(agent.precision):
            ranked = sorted(decision.actions, key=lambda one: one.kind != "commit")  # those that end come first
            shares = np.cumsum([one.probability for one in ranked])
            name = ranked[int(np.count_nonzero(shares / shares[-1] <= own.random()))].name
        action = next(one for one in world.menu(situation.observable) if one.name == name)
        factor, mine = world.factors[action.factor], problem.factors[action.factor]
        before = states[action.factor]
        belief = [situation.beliefs[action.factor][mine.states.index(state)] for state in factor.states]
        scatter = action.pays_by_chance
        if action.ends_episode or scatter is not None or np.ptp(action.reward) > 0:
            chance = np.ones(len(belief)) if scatter is None else scatter.worst_chance
            ways = [(w, b * c) for w, b, c in zip(action.worst, belief, chance, strict=True) if b * c > NEGLIGIBLE]
            least = min(w for w, _ in ways)
            share = sum(c for w, c in ways if w <= least)
            if least < told["worst_possible"]:
                told["worst_possible"], told["worst_chance"] = least, share
            elif least == told["worst_possible"]:
                told["worst_chance"] += share
        row = action.likelihood[before]
        outcome = int(row.argmax()) if row.max() == 1 else outcome_for(rng.random(), row)
        if action.transition is not None:
            change = np.asarray(action.transition)
            change = change[outcome, before] if change.ndim == 3 else change[before]
            states[action.factor] = int(change.argmax()) if change.max() == 1 else outcome_for(rng.random(), change)
        paid = action.reward[before] if action.pays is None else np.asarray(action.pays)[before, outcome]
        told["reward"] += paid
        told["discounted"] += world.discount**step * paid
        model = next(one for one in problem.menu(situation.observable) if one.name == name)
        told["information"] += world.discount**step * tells(model, situation.beliefs[model.factor])
        told["steps"] += 1
        told["tests"] += action.kind == "test"
        told["worst_paid"] = min(told["worst_paid"], paid)
        for key, tally in world.tallies.items():
            meant = not tally.actions or action.name in tally.actions or action.kind in tally.actions
            held = not tally.states or factor.states[before] in tally.states
            told[key] += meant and held and (not tally.outcomes or action.outcomes[outcome] in tally.outcomes)
        if len(world.factors) == 1 and action.ends_episode:
            best = max(one.reward[before] for one in world.menu(situation.observable) if one.ends_episode)
            told["success"] = float(action.reward[before] == best)
        if action.leads_to[outcome] is END:
            break
        situation = situation.update(name, action.outcomes[outcome])
    else:
        told["truncated"] = True
    if "success" in world.tallies:
        told["success"] = float(told["success"] > 0)
    elif len(world.factors) == 1 and told["truncated"]:
        told["success"] = 0.0
    told["worst_possible"] = min(told["worst_possible"], told["worst_paid"])
    told["log_score"] = math.log(situation.beliefs[0][states[0]]) if problem.observes_then_commits else math.nan
    return told


YARD, TIGER = yard(0.8), rhoplan.make("tiger")
CASES: dict[str, tuple[POMDP, POMDP, dict[str, Any], int]] = {
    "as believed": (YARD, YARD, {"weight": 12.0}, 8),
    "another world": (YARD, yard(0.6, turned=True), {"weight": 12.0}, 8),
    "drawn actions": (YARD, YARD, {"weight": 1.0, "precision": 0.7}, 6),
    "no success": (replace(YARD, tallies={}), replace(YARD, tallies={}), {"weight": 0.0, "precision": 0.3}, 5),
    "tiger": (TIGER, replace(TIGER, discount=0.8), {"weight": 1.0, "precision": 0.5}, 4),
}


@pytest.mark.parametrize("case", CASES)
def test_every_column_is_what_the_plain_loop_counts(case: str) -> None:
    problem, world, settings, cap = CASES[case]
    agent = make_agent("planning-ig", problem, horizon=2, planner="exact", **settings)
    rows = simulate_episodes(problem, agent, world=world, seeds=[SEED], episodes=EPISODES, max_steps=cap)
    columns = {name: getattr(rows, name) for name in rows.__dataclass_fields__ if name != "tallies"}
    columns |= rows.tallies
    found = [plain(problem, agent, world, number, cap) for number in range(EPISODES)]
    assert set(columns) == set(found[0])
    for name, column in columns.items():
        assert column.tolist() == pytest.approx([one[name] for one in found], nan_ok=True, abs=1e-9), name
    assert 0 < sum(one["truncated"] for one in found) < EPISODES, "some are cut off, some end"
