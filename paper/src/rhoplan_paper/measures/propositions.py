"""What jobs measure for the paper's propositions: each by a computation of its own, beside the planner's.

Free energy is minimised in plain floats, belief by belief, and its epistemic value is an expected divergence, not a
difference of entropies: nothing but the problem is shared with the planner that it is compared with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.agents.agent import BoundAgent
from rhoplan.api import evaluate
from rhoplan.belief_math.information import information, per_nat
from rhoplan.belief_math.transitions import dense
from rhoplan.model.diagnostic import Decision, DiagnosticProblem, Test
from rhoplan.model.pomdp import END, POMDP, Action, Array
from rhoplan.planning.utility import Information
from rhoplan.problems.registry import make
from rhoplan_paper.measures.told import random_stakes
from rhoplan_paper.registry import measure

ALIKE = 1e-9
"""Values this close (relative to the reward scale) are equal: two ways of adding up floats differ by less."""

DOUBLINGS = 80
HALVINGS = 80
"""Enough to bracket any threshold of a problem whose numbers are ordinary, and to close in on it to the last digits."""


@measure
def efe_recursion(
    *,
    horizon: int,
    problem: str | None = None,
    problems: int = 0,
    seed: int = 0,
    discount: float = 1.0,
    weight: float = 1.0,
) -> dict[str, Any]:
    """Least expected free energy at every belief within `horizon` tests, beside the planner with `weight` per nat.

    On `problem`, or on so many random ones. value_gap: the largest difference of values, relative to the reward scale.
    choices: at how many beliefs the planner does what does not have least free energy.
    """
    models = [make(problem)] if problem else list(random_problems(problems, seed))
    notes = [compare_with_plan(model, horizon, discount, weight) for model in models]
    return {
        "problems": len(models),
        "beliefs": sum(len(note.free_energy) for note in notes),
        "value_gap": max(note.value_gap for note in notes),
        "choices": sum(note.choices for note in notes),
    }


def random_problems(count: int, seed: int) -> Iterator[POMDP]:
    """Observe-then-commit problems of up to four states and three tests, drawn from `seed`."""
    draws = np.random.default_rng(seed)
    for _ in range(count):
        states, outcomes = int(draws.integers(2, 5)), int(draws.integers(2, 4))
        tests = tuple(
            Test(
                f"test-{k}",
                float(draws.uniform(0.01, 3)),
                tuple(f"outcome-{o}" for o in range(outcomes)),
                draws.dirichlet(np.ones(outcomes), size=states),
            )
            for k in range(int(draws.integers(1, 4)))
        )
        commits = tuple(
            Decision(f"commit-{i}", draws.uniform(-50, 10, size=states)) for i in range(int(draws.integers(2, 5)))
        )
        names = tuple(f"state-{s}" for s in range(states))
        yield DiagnosticProblem(
            name="random", states=names, tests=tests, decisions=commits, prior=draws.dirichlet(np.ones(states))
        )


@dataclass
class Comparison:
    """free_energy: by node and remaining depth, the least G and the actions that have it. See `efe_recursion`."""

    free_energy: dict[tuple[int, int], tuple[float, frozenset[int]]] = field(default_factory=dict)
    value_gap: float = 0.0
    choices: int = 0


def compare_with_plan(model: POMDP, horizon: int, discount: float, weight: float) -> Comparison:
    """Least free energy beside the planner at every belief of `model` (tests that may be repeated) within `horizon`."""
    # A graph of its own, without symmetry: a node must stand for one belief.
    graph, note = Graph(model), Comparison()
    plan = Plan(graph, Information(weight), discount=discount)
    plan.values(np.array([graph.root]), horizon)
    _least_free_energy(model, graph, [float(p) for p in model.prior], graph.root, horizon, discount, note)
    for depth in range(1, horizon + 1):
        nodes = np.array([node for node, level in note.free_energy if level == depth], dtype=np.int64)
        values, slots = plan.values(nodes, depth), plan.choices(nodes, depth)
        for node, value, slot in zip(nodes.tolist(), values, slots, strict=True):
            least, minimisers = note.free_energy[node, depth]
            note.value_gap = max(note.value_gap, abs(float(value) + least) / model.reward_scale)
            note.choices += int(slot) not in minimisers
    return note


def _least_free_energy(
    model: POMDP, graph: Graph, belief: list[float], node: int, depth: int, discount: float, note: Comparison
) -> float:
    """min over actions of G: -E[R] of a commit; c - epistemic value + discount * E[min G] of a test."""
    commits = [-sum(b * float(r) for b, r in zip(belief, one.reward, strict=True)) for one in model.flat.commits]
    if depth == 0:
        return min(commits)
    if (node, depth) in note.free_energy:
        return note.free_energy[node, depth][0]
    free_energy = {-1: min(commits)}
    graph.expand(np.array([node]))
    for slot, test in enumerate(model.flat.tests):
        epistemic, later = 0.0, 0.0
        for outcome in range(len(test.outcomes)):
            joint = [b * float(row[outcome]) for b, row in zip(belief, test.likelihood, strict=True)]
            chance = sum(joint)
            if chance > 0:
                after = [j / chance for j in joint]
                epistemic += chance * _divergence(after, belief)
                child = int(graph.next[node, slot, outcome])
                later += chance * _least_free_energy(model, graph, after, child, depth - 1, discount, note)
        free_energy[slot] = test.cost - epistemic + discount * later
    least = min(free_energy.values())
    close = ALIKE * model.reward_scale
    note.free_energy[node, depth] = least, frozenset(a for a, g in free_energy.items() if g <= least + close)
    return least


def _divergence(one: list[float], other: list[float]) -> float:
    return sum(p * math.log(p / q) for p, q in zip(one, other, strict=True) if p > 0)


@measure
def one_test_thresholds(
    *, cases: list[list[float]] | None = None, problems: int = 0, seed: int = 42, right: float = 10.0
) -> dict[str, Any]:
    """The weight per nat from which an agent of horizon 1 tests, by bisection of its decision, case by case.

    cases: accuracy, cost, reward if right, if wrong; or `problems` of them drawn as in the near-optimality study, with
    stakes scaled so that being right pays `right`. tests_at_one: whether it tests at weight 1. commit, above, far
    above: exact reward of committing at once, and of agents that replan with weights 1e-3 and 20 over the threshold.
    """
    drawn = [[accuracy, cost, right, -right * alpha] for alpha, accuracy, cost in random_stakes(problems, seed)]
    chosen = cases if cases is not None else drawn
    rows = [_threshold_row(*case) for case in chosen]
    return {"cases": [list(case) for case in chosen], **{name: [row[name] for row in rows] for name in rows[0]}}


def _threshold_row(accuracy: float, cost: float, right: float, wrong: float) -> dict[str, Any]:
    model = make(f"testbed:accuracy={accuracy!r},cost={cost!r},right={right!r},wrong={wrong!r}")
    tests, threshold = _turning_weight(model)

    def reward(weight: float) -> float:
        return evaluate(model, BoundAgent("threshold", 1, weight)).reward

    return {
        "threshold": threshold,
        "tests_at_one": tests(1.0),
        "commit": (right + wrong) / 2,
        "above": reward(threshold + 1e-3),
        "far_above": reward(threshold + 20.0),
    }


@measure
def first_test_weight(problem: str) -> dict[str, Any]:
    """The weight per nat from which an agent of horizon 1 begins with a test, and whether it does at weight 1."""
    tests, weight = _turning_weight(make(problem))
    return {"weight": weight, "tests_at_one": {unit: tests(per_nat(1.0, unit)) for unit in ("bits", "nats")}}


def _turning_weight(model: POMDP) -> tuple[Callable[[float], bool], float]:
    """Whether an agent of horizon 1 begins with a test at a weight per nat, and from which one on, by bisection."""
    graph = Graph(model)

    def tests(weight: float) -> bool:
        return bool(Plan(graph, Information(weight)).choices(np.array([graph.root]), 1)[0] >= 0)

    size = next(2.0**power for power in range(DOUBLINGS) if tests(2.0**power) and not tests(-(2.0**power)))
    low, high = -size, size
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if tests(middle) else (middle, high)
    return tests, high


@measure
def joint_epistemic(problem: str, *, seed: int = 0, situations: int = 20) -> dict[str, Any]:
    """Epistemic value and coupling of every action, worked out on the joint of all hidden factors, at random beliefs.

    coupling: the largest of an action that preserves the hidden state. gap: how far the joint's information lies from
    that of the action's own factor. moving: the largest information of a move. changed: the largest coupling of an
    action that changes what is hidden (-1 where there is none, None where it is infinite).
    """
    model, draws = make(problem), np.random.default_rng(seed)
    observable: Any = model.start
    found: dict[str, Any] = {"tests": 0, "moves": 0, "coupling": 0.0, "gap": 0.0, "moving": 0.0, "changed": -1.0}
    for _ in range(situations):
        beliefs = [_random_belief(factor.prior, draws) for factor in model.factors]
        going = [action for action in model.menu(observable) if not action.ends_episode]
        for action in going:
            gain, coupling = _joint_terms(beliefs, action)
            if not action.preserves_hidden_state:
                found["changed"] = max(found["changed"], coupling)
                continue
            found["coupling"] = max(found["coupling"], coupling)
            own = float(information(beliefs[action.factor][None, :], action)[0])
            found["gap"] = max(found["gap"], abs(gain - own))
            found["tests"] += action.kind == "test"
            found["moves"] += action.kind == "move"
            if action.kind == "move":
                found["moving"] = max(found["moving"], gain)
        places = [place for action in going for place in action.leads_to if place is not END]
        observable = places[int(draws.integers(len(places)))]
    found["changed"] = found["changed"] if math.isfinite(found["changed"]) else None
    return found


def _random_belief(prior: Array, draws: np.random.Generator) -> Array:
    """A belief that excludes what the prior excludes."""
    held = prior > 0
    belief = np.zeros(len(prior))
    belief[held] = draws.dirichlet(np.ones(int(held.sum())))
    return belief


def _joint_terms(beliefs: list[Array], action: Action) -> tuple[float, float]:
    """E_o KL(Q(s'|o) || Q(s')) and E_o KL(b'_{o,T} || b'_o), both about all hidden factors together."""
    own = action.factor
    rest = np.ones(1)
    for place, belief in enumerate(beliefs):
        if place != own:
            rest = np.outer(rest, belief[belief > 0]).ravel()
    joint = np.outer(beliefs[own], rest)
    states = len(beliefs[own])
    kernels = dense(np.eye(states) if action.transition is None else action.transition, len(action.outcomes))
    outcomes = [joint * action.likelihood[:, o, None] for o in range(len(action.outcomes))]
    predicted = sum(kernel.T @ part for kernel, part in zip(kernels, outcomes, strict=True))
    gain = coupling = 0.0
    for kernel, part in zip(kernels, outcomes, strict=True):
        chance = float(part.sum())
        if chance > 0:
            moved, still = kernel.T @ part / chance, part / chance
            gain += chance * _kl(moved, np.asarray(predicted))
            coupling += chance * _kl(moved, still)
    return gain, coupling


def _kl(one: Array, other: Array) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(one > 0, one * np.log(one / other), 0.0).sum())


@measure
def destructive_test(*, horizon: int, beliefs: int = 101, problem: str = "drilling") -> dict[str, Any]:
    """Free energy where a test breaks what it measures, against the utility of Proposition 1, over a grid of beliefs.

    term_gap: by how many nats the epistemic value of EFE (about the state after the test) and the information that
    the outcome alone gives differ at most; decisions: at how many beliefs the two choose differently. coupling: the
    largest at the prior; harmless: the largest of a test that leaves the hidden state alone.
    """
    model = make(problem)
    actions = model.menu(model.start)
    going = [action for action in actions if not action.ends_episode]
    grid = [np.array([1 - p, p]) for p in np.linspace(0, 1, beliefs)]
    gaps = [abs(_gain(belief, action, True) - _gain(belief, action, False)) for belief in grid for action in going]
    chosen = [[_best(actions, belief, horizon, true)[1] for true in (True, False)] for belief in grid]
    couplings = {action: _joint_terms([model.prior], action)[1] for action in going}
    return {
        "beliefs": len(grid),
        "term_gap": max(gaps),
        "decisions": sum(one != other for one, other in chosen),
        "coupling": max(couplings.values()),
        "harmless": max(value for action, value in couplings.items() if action.preserves_hidden_state),
    }


def _gain(belief: Array, action: Action, about_state_after: bool) -> float:
    still = action if about_state_after else replace(action, transition=None)
    return _joint_terms([belief], still)[0]


def _best(actions: tuple[Action, ...], belief: Array, depth: int, true: bool) -> tuple[float, str]:
    """Value and name of the best action within `depth` further tests, with EFE's own epistemic value or the other."""
    ending = [(float(belief @ action.reward), action.name) for action in actions if action.ends_episode]
    if depth == 0:
        return max(ending, key=lambda pair: pair[0])
    options = list(ending)
    for action in actions:
        if not action.ends_episode:
            value = float(belief @ action.reward) + _gain(belief, action, true)
            for outcome in range(len(action.outcomes)):
                joint = belief * action.likelihood[:, outcome]
                chance = float(joint.sum())
                if chance > 0:
                    after = joint / chance
                    if action.transition is not None:
                        after = after @ dense(action.transition, len(action.outcomes))[outcome]
                    value += chance * _best(actions, after, depth - 1, true)[0]
            options.append((value, action.name))
    return max(options, key=lambda pair: pair[0])
