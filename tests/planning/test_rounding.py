"""Rounding never takes a bound past what it claims: floats of a search against fractions, with no tolerance."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import rhoplan
from rhoplan.model.pomdp import Array

pytest.importorskip("numba", reason="solving general problems needs numba")

from rhoplan.planning.certified.pointbased.graph import (
    ABOVE,
    BEST,
    ENTRY,
    HOME,
    LOWER,
    NODES,
    OWN,
    SLOT,
    UPPER,
)
from rhoplan.planning.certified.pointbased.growing import UNIT, hull_states
from rhoplan.planning.certified.pointbased.plan import Plan, plan_of
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import Search
from rhoplan.planning.certified.pointbased.trials import run_trials
from rhoplan.planning.machine import entropy, entropy_of_groups

SLICES = 2
"""Calls of the kernel that runs trials, with a settling after each, which adds points of its own, round after round."""

MOST = 40
"""Vectors and nodes that are looked at: fractions are slow."""


@cache  # several tests look at each
def searched(seed: int, discount: float = 0.0) -> Plan:
    """A search under way in a small random problem, its rewards of very different sizes. discount: 0 to draw it, too;
    close to 1, values are centred, and rounded by what is known of them by now."""
    rng = np.random.default_rng(seed)
    states, actions, outcomes = (5, 12)[seed % 2], 3, 3
    large = 10.0 ** rng.integers(0, 9)
    rewards = rng.normal(size=(actions, states)) + 1 - large * (rng.random((actions, states)) < 0.3)
    rewards[0] = -0.01  # to look is cheap and changes nothing, and what goes wrong may be dear: one has to plan
    discount = max(float(rng.choice([0.5, 0.9, 0.99])), discount)
    changes = rng.dirichlet(np.full(states, 0.3), size=(actions, states))
    changes[0] = np.eye(states)
    likelihood = rng.dirichlet(np.full(outcomes, 0.3), size=(actions, states))
    problem = rhoplan.from_arrays(changes, likelihood, rewards, discount=discount)
    search = Search(compile_problem(problem), discount=discount, weight=0.0, gap=1e-12, seconds=np.inf, memory=1e9)
    search.settings = search.settings._replace(work=3000)
    for _ in range(SLICES):
        run_trials(search.model, search.graph, search.settings)
        search.make_room()
        search.settle()
    return plan_of(search.problem, search.graph, search.first, search.settings)


def exactly(numbers: np.ndarray) -> list[Fraction]:
    return [Fraction(number) for number in numbers.tolist()]


def joint(plan: Plan, branch: int, belief: list[Fraction]) -> list[Fraction]:
    """P(s', o | belief) of one branch, as fractions."""
    model = plan.problem.model
    found = [Fraction(0)] * int(plan.problem.sizes[model.branch_target[branch]])
    for state, held in enumerate(belief):
        row = model.branch_row[branch] + state
        for place in range(model.row[row], model.row[row + 1]):
            found[model.column[place]] += held * Fraction(float(model.chance[place]))
    return found


def times(left: list[Fraction], right: list[Fraction]) -> Fraction:
    return sum((one * other for one, other in zip(left, right, strict=True)), Fraction(0))


def one_step(
    plan: Plan, pair: int, belief: list[Fraction], value: Callable[[int, list[Fraction]], Fraction]
) -> Fraction:
    """The reward of `pair` plus the discounted values of where its branches lead, given what weighs as it is likely."""
    model, discount = plan.problem.model, Fraction(plan.settings.discount)
    at = int(model.pair_reward[pair])
    total = times(exactly(model.reward[at : at + len(belief)]), belief)
    for branch in range(model.pair_branch[pair], model.pair_branch[pair + 1]):
        total += discount * value(branch, joint(plan, branch, belief))
    return total


@pytest.mark.parametrize(("seed", "discount"), [(1, 0), (6, 0), (8, 0), (9, 0), (11, 0), (6, 0.9999), (11, 0.99999)])
def test_no_vector_claims_more_than_its_exact_backup(seed: int, discount: float) -> None:
    plan = searched(seed, discount)
    made = plan.vectors
    for vector in {*range(min(made, MOST // 2)), *range(max(made - MOST // 2, 0), made)}:
        size = int(plan.problem.sizes[plan.home(vector)])

        def followed(branch: int, masses: list[Fraction], vector: int = vector) -> Fraction:
            return times(exactly(plan.numbers(plan.follower(vector, branch))), masses)

        for state, claimed in enumerate(exactly(plan.numbers(vector))):
            sure = [Fraction(int(state == other)) for other in range(size)]
            assert claimed <= one_step(plan, plan.pair(vector), sure, followed)


def belief_of(plan: Plan, node: int) -> Array:
    return plan.beliefs(int(plan.graph.node[node, HOME]), np.array([node]))[0]


@pytest.mark.parametrize("seed", [1, 2, 6, 7, 11])
def test_no_node_claims_more_than_the_exact_backup_of_its_vector(seed: int) -> None:
    plan = searched(seed)
    for node in range(min(int(plan.graph.used[NODES]), MOST)):
        vector = int(plan.graph.node[node, BEST])
        if vector < 0:
            continue

        def followed(branch: int, masses: list[Fraction], vector: int = vector) -> Fraction:
            return times(exactly(plan.numbers(plan.follower(vector, branch))), masses)

        worth = one_step(plan, plan.pair(vector), exactly(belief_of(plan, node)), followed)
        assert Fraction(float(plan.graph.bound[node, LOWER])) <= worth


@pytest.mark.parametrize(("seed", "discount"), [(1, 0), (2, 0), (6, 0), (7, 0), (11, 0), (6, 0.9999), (11, 0.99999)])
def test_no_action_claims_less_than_its_exact_backup(seed: int, discount: float) -> None:
    """What follows is worth what its node claims, or what the corners and points imply exactly, if that is less."""
    plan = searched(seed, discount)
    model, graph, looked = plan.problem.model, plan.graph, 0
    points = [node for node in range(int(graph.used[NODES])) if graph.node[node, ENTRY] >= 0]
    known = [(exactly(belief_of(plan, node)), Fraction(float(graph.bound[node, OWN]))) for node in points]
    corner = exactly(graph.corner)

    def implied(masses: list[Fraction]) -> Fraction:
        base = times(corner, masses)
        falls = [
            (own - times(corner, point)) * min(mass / part for mass, part in zip(masses, point, strict=True) if part)
            for point, own in known
        ]
        return base + min([Fraction(0), *falls])

    for node in [0, *points[:8], *points[-8:]]:
        home, belief = int(graph.node[node, HOME]), exactly(belief_of(plan, node))
        for pair in range(model.class_pair[home], model.class_pair[home + 1]):
            slot = int(graph.node[node, SLOT]) + pair - int(model.class_pair[home])
            first, at = int(graph.slot_child[slot]), int(model.pair_reward[pair])
            informed = float(plan.first.action[at : at + len(belief)] @ belief_of(plan, node))
            if first < 0 or graph.slot[slot, ABOVE] >= informed - 1e-9 * abs(informed):
                continue  # it claims the first bound, which is not made by this backup

            def above(branch: int, masses: list[Fraction], pair: int = pair, first: int = first) -> Fraction:
                child = int(graph.child[first + branch - model.pair_branch[pair]])
                claimed = Fraction(float(graph.bound[child, UPPER])) * sum(masses, Fraction(0))
                return claimed if len(masses) <= hull_states(plan.problem) else min(claimed, implied(masses))

            assert Fraction(float(graph.slot[slot, ABOVE])) >= one_step(plan, pair, belief, above)
            looked += 1
    assert looked > 0


@pytest.mark.parametrize("others", [(), (1e-17,), (1e-300, 1e-18)])
def test_entropy_of_numbers_that_are_all_but_halves(others: tuple[float, ...]) -> None:
    """Their sum is 1 but for rounding: both may be more than half, or neither, or one."""
    near = 0.5 + np.arange(-4, 5) * 2.0**-53
    for one in near:
        for other in near:
            numbers = np.array([one, *others, other])
            expected = -float((numbers * np.log(numbers)).sum())
            assert entropy(numbers, 0, len(numbers)) == pytest.approx(expected, abs=1e-14)
            apart, together = np.arange(len(numbers)), np.zeros(len(numbers), dtype=np.int64)
            assert entropy_of_groups(numbers, apart) == pytest.approx(expected, abs=1e-14)
            assert entropy_of_groups(numbers, together) == pytest.approx(0.0, abs=1e-14)


def test_the_unit_of_rounding_is_that_of_the_numbers() -> None:
    """The proof counts operations, each of which may be off by half the distance between neighbouring numbers."""
    assert np.finfo(float).eps / 2 == UNIT


@pytest.mark.parametrize("seed", range(4))
def test_what_is_told_of_the_start_pays_for_looking_it_up(seed: int) -> None:
    """The sum over its states is rounded, too; and bounds that then are no longer as near as asked for are not said to
    be."""
    problem = compile_problem(rhoplan.from_arrays(*drawn(seed), discount=0.5))
    search = Search(problem, discount=0.5, weight=0.0, gap=1e-2, seconds=np.inf, memory=1e9)
    assert search.run() == "gap"
    lower, upper = search.bounds
    assert lower <= search.graph.bound[0, LOWER] - search.settings.outward < search.graph.bound[0, LOWER]
    assert upper >= search.graph.bound[0, UPPER] + search.settings.outward > search.graph.bound[0, UPPER]
    assert upper - lower <= 1e-2
    vain = Search(problem, discount=0.5, weight=0.0, gap=1e-300, seconds=30, memory=1e9)
    assert vain.run() == "precision"
    assert 0 < vain.bounds[1] - vain.bounds[0] < 1e-10


def drawn(seed: int) -> tuple[Array, Array, Array]:
    """Three states that change, two actions, and two outcomes that tell which state it is, but for two alike."""
    rng = np.random.default_rng(seed)
    changes = rng.dirichlet(np.ones(3), size=(2, 3))
    shows = np.tile([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]], (2, 1, 1))
    return changes, shows, np.repeat(rng.normal(size=(2, 3, 1)), 3, axis=2)
