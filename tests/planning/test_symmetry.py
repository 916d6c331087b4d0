"""Symmetries of problems: they are symmetries, they form a group, and solving with them changes no bound."""

import dataclasses
import itertools
import math
import sys

import numpy as np
import pytest

import rhoplan
from oracle import Model
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.planning.certified.solve import Bounds, solve
from rhoplan.planning.certified.symmetry import LARGEST_GROUP, _key, is_symmetry, state_symmetries
from serving import PATIENCE
from strategies import Limits, built, dice, random_case, symmetric_case

NAMED = ["tiger", "testbed", "diagnosis", "diagnosis:n=8", "bandit", "bandit:k=3", "tileworld:n=4", "tileworld:n=6"]


def as_set(group) -> set[tuple[int, ...]]:
    return {tuple(map(int, permutation)) for permutation in group}


@pytest.mark.parametrize("spec", NAMED)
def test_every_permutation_found_is_a_symmetry(spec):
    problem = rhoplan.make(spec)
    found = state_symmetries(problem)
    assert len(found) > 1
    assert all(is_symmetry(problem, permutation) for permutation in found)


@pytest.mark.parametrize("spec", NAMED)
def test_symmetries_form_a_group(spec):
    group = as_set(state_symmetries(rhoplan.make(spec)))
    size = len(next(iter(group)))
    assert tuple(range(size)) in group
    assert len(group) <= LARGEST_GROUP
    assert all(sorted(permutation) == list(range(size)) for permutation in group)
    for left, right in itertools.product(group, repeat=2):
        assert tuple(left[i] for i in right) in group
    for permutation in group:
        assert tuple(int(i) for i in np.argsort(permutation)) in group


@pytest.mark.parametrize(
    ("spec", "size"),
    [
        ("tiger", 2),  # exchange the doors
        ("diagnosis", 8),  # flip either bit, exchange the bits
        ("diagnosis:n=8", 48),  # the cube
        ("bandit:k=3", math.factorial(3)),
        ("bandit", math.factorial(4)),
    ],
)
def test_whole_group_is_found_where_it_is_small(spec, size):
    assert len(state_symmetries(rhoplan.make(spec))) == size


def test_identity_comes_first():
    assert state_symmetries(rhoplan.make("bandit"))[0].tolist() == [0, 1, 2, 3]


def test_one_odd_reward_breaks_the_symmetry():
    bandit = rhoplan.make("bandit")
    odd = [commit.reward.copy() for commit in bandit.flat.commits]
    odd[3][3] += 1.0
    menu = dataclasses.replace(bandit.flat, commits=tuple(rhoplan.Decision(f"pull-{i}", r) for i, r in enumerate(odd)))
    group = as_set(state_symmetries(dataclasses.replace(bandit, menu=menu)))
    # The other three arms are still alike.
    assert len(group) == 6
    assert all(permutation[3] == 3 for permutation in group)


def test_odd_prior_breaks_the_symmetry():
    tests = [(1.0, [[0.8, 0.2], [0.2, 0.8]], True)]
    commits = [[1.0, -1.0], [-1.0, 1.0]]
    assert len(state_symmetries(built(Model([0.5, 0.5], tests, commits)).problem)) == 2
    assert len(state_symmetries(built(Model([0.4, 0.6], tests, commits)).problem)) == 1


def test_odd_cost_keeps_two_tests_apart():
    diagnosis = rhoplan.make("diagnosis")
    cheap, dear = diagnosis.flat.tests
    menu = dataclasses.replace(diagnosis.flat, tests=(cheap, dataclasses.replace(dear, cost=2.0)))
    # Each bit can still be flipped, but they cannot be exchanged.
    assert len(state_symmetries(dataclasses.replace(diagnosis, menu=menu))) == 4


def test_test_that_errs_more_on_one_side_has_no_symmetry():
    case = built(Model([0.5, 0.5], [(1.0, [[0.9, 0.1], [0.2, 0.8]], True)], [[1.0, -1.0], [-1.0, 1.0]]))
    assert len(state_symmetries(case.problem)) == 1


def test_run_once_tests_are_not_exchanged():
    rows = [[[0.8, 0.2] if s >> bit & 1 else [0.2, 0.8] for s in range(4)] for bit in range(2)]
    commits = [[10.0 if s == i else -50.0 for s in range(4)] for i in range(4)]

    def group(repeatable):
        return state_symmetries(built(Model([0.25] * 4, [(1.0, r, repeatable) for r in rows], commits)).problem)

    assert len(group(True)) == 8
    assert len(group(False)) == 4


def test_permutation_of_another_problem_is_no_symmetry():
    assert not is_symmetry(rhoplan.make("diagnosis"), np.array([1, 2, 3, 0]))


@pytest.mark.parametrize("spec", ["tiger", "diagnosis", "bandit"])
def test_graph_of_orbits_is_smaller_and_has_the_same_values(spec):
    problem = rhoplan.make(spec)
    group = state_symmetries(problem)
    whole, orbits = Graph(problem), Graph(problem, permutations=group)
    values = [
        [Plan(graph).values(np.array([graph.root]), horizon)[0] for horizon in (1, 4, 8)] for graph in (whole, orbits)
    ]
    assert values[1] == pytest.approx(values[0], abs=1e-12)
    # An orbit has at most as many beliefs as the group has permutations; the prior is alone in its own.
    assert whole.size / len(group) <= orbits.size < whole.size


def without_symmetries(problem, **settings):
    with pytest.MonkeyPatch.context() as patch:
        module = sys.modules[Bounds.__module__]
        patch.setattr(module, "state_symmetries", lambda known: np.arange(len(known.states))[None, :])
        return solve(problem, **settings)


@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("spec", ["tiger", "testbed", "diagnosis", "diagnosis:n=8,cost=3", "bandit", "tileworld:n=2"])
def test_solving_with_symmetries_gives_the_same_bounds(spec, weight):
    problem, gap = rhoplan.make(spec), 1e-5
    one = solve(problem, weight=weight, gap=gap, seconds=PATIENCE)
    other = without_symmetries(problem, weight=weight, gap=gap, seconds=PATIENCE)
    assert one.stopped_by == other.stopped_by == "gap"
    assert other.symmetries == 1 < one.symmetries
    assert max(one.lower, other.lower) <= min(one.upper, other.upper) + 1e-9
    if weight == 0:
        assert one.reward == pytest.approx(other.reward, abs=gap)


@pytest.mark.parametrize("seed", range(12))
def test_solving_random_problems_with_symmetries_gives_the_same_bounds(seed):
    case = symmetric_case(dice(seed)) if seed % 2 else random_case(seed, Limits(states=4, tests=2, cheapest=1))
    one = solve(case.problem, gap=1e-4, seconds=1.0)
    other = without_symmetries(case.problem, gap=1e-4, seconds=1.0)
    assert max(one.lower, other.lower) <= min(one.upper, other.upper) + 1e-9


def test_rows_are_alike_only_to_the_last_bit() -> None:
    """But for the sign of a zero, which is no difference."""
    assert _key(np.array([0.0, 1.0])) == _key(np.array([-0.0, 1.0]))
    for one, other in ((1e-20, 2e-20), (1.0, np.nextafter(1.0, 2.0)), (0.0, 5e-324)):
        assert _key(np.array([one])) != _key(np.array([other]))


def test_states_that_are_alike_are_exchanged_as_pairs() -> None:
    """Two of each kind: where the kinds change places, each state has a place of its own."""
    rows = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]
    commits = [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    group = state_symmetries(built(Model([0.25] * 4, [(1.0, rows, True)], commits)).problem)
    assert len(group) > 1
    assert all(sorted(permutation) == [0, 1, 2, 3] for permutation in group.tolist())


def test_four_results_are_renamed_in_every_way() -> None:
    rows = [[0.7 if s == o else 0.1 for o in range(4)] for s in range(4)]
    commits = [[1.0 if s == i else 0.0 for s in range(4)] for i in range(4)]
    assert len(state_symmetries(built(Model([0.25] * 4, [(1.0, rows, True)], commits)).problem)) == 24
