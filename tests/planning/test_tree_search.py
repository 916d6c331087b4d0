"""Tree search: its kernels are rhoplan's own formulas, and more simulations bring it to the exact planner's values."""

import doctest
import itertools
import math
import subprocess
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

import rhoplan
import rhoplan.planning.tree_search
from rhoplan.belief_math.information import information, update
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.belief import Belief
from rhoplan.planning.lookahead import LookaheadOnGraph
from rhoplan.planning.tree_search import METHODS, SearchResult, TreeSearch, TreeSearchSettings, kernels
from rhoplan.planning.tree_search import search as module
from rhoplan.planning.tree_search.model import SearchModel
from rhoplan.planning.tree_search.policy import TreeSearchPolicy
from strategies import Limits, random_case
from test_factored_toy import toy

CLOSE = 1e-9


def exact(problem, depth, weight=0.0, discount=1.0, situation=None):
    """Value of the root and of each action by place, and the place of the best one, by exact look-ahead."""
    graph = BeliefGraph(problem)
    held = situation or problem.belief()
    nodes = graph.nodes([held.observable], tuple(belief[None] for belief in held.beliefs))
    plan = LookaheadOnGraph(graph, rhoplan.Objective(weight, discount=discount), depth)
    return plan.value(nodes)[0], plan.action_values(nodes, every_terminal=True)[1].value, plan.places(nodes)[0]


def made(problem, method, depth, *, weight=0.0, discount=1.0, **settings) -> TreeSearch:
    found = TreeSearchSettings(method, depth, extra_depth=0, **settings)
    return TreeSearch(problem, found, weight=weight, discount=discount)


def search(problem, method, depth, *, seed=0, situation=None, **settings) -> SearchResult:
    return made(problem, method, depth, **settings).run(situation or problem.belief(), seed=seed)


def terminal_count(problem, situation) -> int:
    return sum(action.ends_episode for action in problem.menu(situation.observable))


# The kernels


STATES = tuple(f"state-{s}" for s in range(4))


def random_action(rng, changes):
    """An action with up to 4 states and 3 outcomes, some of them impossible; `changes` says how the state moves."""
    states, outcomes = rng.integers(2, 5), rng.integers(1, 4)
    likelihood = rng.dirichlet(np.ones(outcomes), size=states) * (rng.random((states, outcomes)) < 0.8)
    likelihood[:, 0] += 1e-9 * (likelihood.sum(axis=1) == 0)
    likelihood /= likelihood.sum(axis=1, keepdims=True)
    shape = {"nothing": None, "alike": (states, states), "by outcome": (outcomes, states, states)}[changes]
    transition = None if shape is None else rng.dirichlet(np.ones(states), size=shape[:-1])
    names = tuple(f"outcome-{o}" for o in range(outcomes))
    return rhoplan.Action(
        "act", rng.normal(size=states), likelihood, names, ("here",) * outcomes, 1, transition=transition
    )


def compiled_action(action, belief):
    """The model of a problem whose second factor `action` concerns, and a belief about both factors."""
    factors = (
        rhoplan.Factor("other", ("on", "off"), np.full(2, 0.5)),
        rhoplan.Factor("own", STATES[: len(belief)], belief),
    )
    model = SearchModel(rhoplan.POMDP("random", factors, "here", lambda place: (action,)))
    model.explore(model.table.observable_id("here"))
    beliefs = np.zeros((2, model.states))
    beliefs[0, :2], beliefs[1, : len(belief)] = 0.5, belief
    return model.arrays, beliefs


@pytest.mark.parametrize("changes", ["nothing", "alike", "by outcome"])
def test_kernels_are_the_bayes_update_and_the_information_of_the_planner(changes):
    rng = np.random.default_rng(5)
    for _ in range(100):
        action = random_action(rng, changes)
        belief = rng.dirichlet(np.ones(len(action.reward))) * (rng.random(len(action.reward)) < 0.8)
        belief = belief / belief.sum() if belief.any() else np.eye(len(belief))[0]
        model, beliefs = compiled_action(action, belief)
        scratch = np.empty((3, beliefs.shape[1]))
        probability, posterior = update(belief[None, :], action)
        for outcome in range(len(action.outcomes)):
            after, same = scratch[2], beliefs[1].copy()
            chance = kernels.update(model, 0, outcome, beliefs[1], after, scratch[0])
            assert chance == pytest.approx(probability[0, outcome], abs=1e-14)
            assert after[: len(belief)] == pytest.approx(posterior[0, outcome], abs=1e-13)
            kernels.update(model, 0, outcome, same, same, scratch[0])
            assert np.array_equal(same[: len(belief)], after[: len(belief)])
        found = kernels.information(model, 0, beliefs, scratch)
        assert found == pytest.approx(information(belief[None, :], action)[0], abs=1e-13)
        rewards = belief @ action.reward, belief @ np.abs(action.reward)
        assert kernels.expected_reward(model, 0, beliefs) == pytest.approx(rewards, abs=1e-13)


def test_random_numbers_are_those_of_splitmix64():
    rng = np.zeros(1, dtype=np.uint64)
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    with np.errstate(over="ignore"):  # for NUMBA_DISABLE_JIT=1
        found = [kernels.uniform(rng) for _ in published]
    assert found == [(bits >> 11) / 2**53 for bits in published]


@pytest.mark.parametrize(
    ("probabilities", "wanted"),
    [([0.5, 0.5 - 1e-12, 0.0], [0, 1, 1]), ([0.0, 1.0, 0.0], [1, 1, 1]), ([0.1, 0.2, 0.7], [0, 2, 2])],
)
def test_draws_follow_the_probabilities_and_never_reach_what_is_impossible(probabilities, wanted):
    table = np.array([[9.0, *probabilities], [9.0] * 4]).T.ravel()  # every second number, from the third on
    places = [kernels.draw(table, 2, 8, 2, chance) for chance in (0.0, 0.5, 1 - 1e-16)]
    assert places == [2 + 2 * place for place in wanted]


# MCTS over beliefs


@pytest.mark.parametrize("weight", [0.0, 1.0, 1 / math.log(2)])
@pytest.mark.parametrize(("name", "depth"), [("tiger", 10), ("diagnosis", 5)])
def test_mcts_comes_to_the_exact_value(name, depth, weight):
    problem = rhoplan.make(name)
    value, values, place = exact(problem, depth, weight)
    errors = []
    for simulations in (10, 100, 400, 1100):
        found = [search(problem, "mcts", depth, weight=weight, simulations=simulations, seed=s) for s in range(8)]
        errors.append(np.mean([abs(one.value - value) for one in found]))
    assert all(later < earlier or later < CLOSE for earlier, later in pairwise(errors))
    assert errors[0] > 1
    assert all(one.exact and one.simulations < 1100 and one.place == place for one in found)
    assert errors[-1] < CLOSE
    assert found[0].values == pytest.approx(values, abs=CLOSE)


@pytest.mark.parametrize("seed", range(40))
def test_solved_tree_of_a_flat_problem_is_the_exact_plan(seed):
    case = random_case(seed, Limits(tests=3))
    depth, weight, discount = case.depth(4, 3000), (0.0, 3.0)[seed % 2], (1.0, 0.9)[seed // 2 % 2]
    found = search(case.problem, "mcts", depth, weight=weight, discount=discount, simulations=100_000, seed=seed)
    check_solved(found, exact(case.problem, depth, weight, discount))


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (2.0, 0.9)])
@pytest.mark.parametrize(
    ("problem", "depth", "situation"),
    [
        (rhoplan.make("navigation:n=3"), 4, None),
        (rhoplan.make("drilling"), 5, None),
        (rhoplan.make("testbed"), 7, None),
        (toy(), 4, ("left", ((0.5, 0.5, 0.0), (0.7, 0.3, 0.0)))),
        (toy(), 4, ("right", ((0.0, 0.0, 1.0), (0.9, 0.1, 0.0)))),
        (toy(), 4, ("left", ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1)))),
    ],
)
def test_solved_tree_is_the_exact_plan_where_states_change_or_factors_are_several(
    problem, depth, situation, weight, discount
):
    start = None if situation is None else Belief(problem, situation[0], tuple(map(np.array, situation[1])))
    settings = {"weight": weight, "discount": discount, "situation": start}
    found = search(problem, "mcts", depth, simulations=100_000, seed=1, **settings)
    check_solved(found, exact(problem, depth, **settings))


def check_solved(found, wanted):
    value, values, place = wanted
    assert found.exact
    assert found.value == pytest.approx(value, abs=CLOSE)
    assert found.values == pytest.approx(values, abs=CLOSE)
    assert found.place == place


# POMCP


def test_pomcp_comes_to_the_exact_value_of_tiger():
    """Means still hold the price of early exploration: errors fall roughly as simulations to the power 0.4."""
    problem = rhoplan.make("tiger")
    value, _, place = exact(problem, 9)
    errors = []
    for simulations in (1000, 10_000, 100_000, 1_000_000):
        found = [search(problem, "pomcp", 9, simulations=simulations, seed=s) for s in range(3)]
        errors.append(max(abs(one.value - value) for one in found))
        assert all(one.place == place for one in found)
    assert all(later < 0.6 * earlier for earlier, later in pairwise(errors))
    assert errors[-1] < 1.0  # of the 110 between the best and the worst reward


@pytest.mark.parametrize(
    ("name", "depth", "settings", "tolerance"),
    [
        ("testbed", 4, {}, 0.02),
        ("testbed", 4, {"weight": 0.5, "discount": 0.9}, 0.02),
        ("drilling", 4, {}, 0.7),
        ("drilling", 4, {"weight": 0.5}, 0.7),
        ("navigation:n=3", 4, {}, 0.2),
    ],
)
def test_pomcp_comes_to_the_exact_value(name, depth, settings, tolerance):
    problem = rhoplan.make(name)
    value, values, _ = exact(problem, depth, **settings)
    few, many = (
        [search(problem, "pomcp", depth, simulations=n, seed=seed, **settings) for seed in range(4)]
        for n in (3000, 300_000)
    )
    errors = [np.mean([abs(one.value - value) for one in found]) for found in (few, many)]
    assert errors[1] < min(tolerance, errors[0])
    assert all(values[one.place] == pytest.approx(value, abs=CLOSE) for one in many)


def test_pomcp_comes_to_the_exact_value_of_a_factored_problem():
    """Moving and checking are worth 7.25 and 7.375: telling them apart takes some three million simulations."""
    problem = toy()
    value, values, place = exact(problem, 3)
    soon, late = (search(problem, "pomcp", 3, simulations=n) for n in (10_000, 3_000_000))
    assert values[soon.place] > value - 0.2
    assert abs(late.value - value) < 0.02 < abs(soon.value - value)
    assert late.place == place


def test_pomcp_is_not_clairvoyant_at_the_depth_limit():
    """One listen, then one must open a door without knowing: worth -7.5, where a clairvoyant would get 9."""
    found = search(rhoplan.make("tiger"), "pomcp", 1, simulations=100_000)
    assert found.values[-1] == pytest.approx(-1 + 0.85 * 10 - 0.15 * 100, abs=0.75)  # 6 standard errors


# Both


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["rocksample:n=5,k=3", "inspection:n=16", "navigation:n=3", "tileworld", "drilling"])
def test_choices_are_legal_all_along_an_episode(method, name):
    problem = rhoplan.make(name)
    agent = made(problem, method, 4, weight=1.0, simulations=300)
    situation, rng = problem.belief(), np.random.default_rng(3)
    for step in range(12):
        menu = problem.menu(situation.observable)
        found = agent.run(situation, seed=(7, step))
        going, terminal = [action for action in menu if not action.ends_episode], terminal_count(problem, situation)
        assert len(found.values) == len(menu)
        assert found.values[found.place] == pytest.approx(found.value)
        if method == "pomcp":
            assert found.visits.sum() == found.simulations == 300
        if found.place < terminal:
            break
        branches = situation.branches(going[found.place - terminal])
        situation = branches[rng.choice(len(branches), p=[one.probability for one in branches])].belief
        if situation.observable is rhoplan.END:
            break


def same(one, other):
    return one.nodes == other.nodes and all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("values", "visits")
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["drilling", "inspection:n=8"])
def test_seed_decides_the_result(method, name):
    problem = rhoplan.make(name)
    first, again, other, longer = (search(problem, method, 8, seed=seed) for seed in (11, 11, 12, (11, 1)))
    assert same(first, again)
    assert not same(first, other)
    assert not same(first, longer)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["tiger", "inspection:n=8", "rocksample:n=5,k=3"])
def test_batches_room_and_exploration_do_not_change_the_result(method, name):
    problem = rhoplan.make(name)
    settings = {"simulations": 700, "weight": 1.0, "exploration": 5.0}
    once = search(problem, method, 8, **settings)
    assert same(once, search(problem, method, 8, **settings, largest_batch=7, nearest=1))


@pytest.mark.parametrize("method", METHODS)
def test_searches_do_not_disturb_each_other(method):
    problem = rhoplan.make("inspection:n=8")
    start = problem.belief()
    elsewhere = Belief(start.problem, (3, 1, 5), start.beliefs)
    alone = search(problem, method, 5, simulations=400, seed=2)
    busy, other = (made(problem, method, 5, simulations=400) for _ in range(2))
    busy.run(elsewhere, seed=9)
    other.run(start, seed=2)
    assert same(alone, busy.run(start, seed=2))


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_is_kept(method, monkeypatch):
    """By a clock that moves on by a hundredth of a second each time somebody looks at it."""
    problem, ticks = rhoplan.make("rocksample:n=7,k=8"), itertools.count()
    monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 100))
    found = search(problem, method, 6, simulations=None, seconds=0.2)
    assert found.seconds == pytest.approx(0.21)
    assert next(ticks) == 22
    assert found.simulations > 100
    hasty = search(problem, method, 6, seconds=1e-9)
    assert 1 <= hasty.simulations <= 16


@pytest.mark.parametrize("method", METHODS)
def test_search_stops_when_the_tree_is_as_large_as_it_may_become(method):
    problem = rhoplan.make("rocksample:n=5,k=3")
    found = search(problem, method, 8, simulations=30_000, memory=3_000_000, exploration=50.0)
    assert 100 < found.simulations < 30_000
    assert found.nodes <= 1_000_000 // 8 // 15
    assert not found.exact


def test_a_tree_that_has_no_room_for_one_simulation_is_refused():
    with pytest.raises(rhoplan.LimitError) as refused:
        TreeSearch(rhoplan.make("tiger"), TreeSearchSettings(memory=100))
    assert refused.value.field == ("memory",)


def test_without_actions_that_go_on_there_is_nothing_to_search():
    commit = rhoplan.Decision("stop", np.array([1.0, 3.0]))
    test = rhoplan.Test("look", 0.0, ("a", "b"), np.eye(2), repeatable=False)
    problem = rhoplan.DiagnosticProblem(name="once", states=("s", "t"), tests=(test,), decisions=(commit,))
    situation = problem.belief().update("look", "a")
    for method in METHODS:
        found = search(problem, method, 3, simulations=50, situation=situation)
        assert (found.place, found.value) == (0, 1.0)


def test_ties_go_to_the_ending_action_listed_first():
    """A free test that says nothing is worth as much as ending at once."""
    commits = tuple(rhoplan.Decision(name, np.array([1.0, 1.0])) for name in ("first", "second"))
    test = rhoplan.Test("idle", 0.0, ("a", "b"), np.full((2, 2), 0.5))
    problem = rhoplan.DiagnosticProblem(name="tied", states=("s", "t"), tests=(test,), decisions=commits)
    for method in METHODS:
        found = search(problem, method, 3, simulations=50)
        assert found.place == 0


def test_example_in_the_docstring_runs():
    assert doctest.testmod(rhoplan.planning.tree_search) == (0, 5)


# The policy


@pytest.mark.parametrize("method", METHODS)
def test_policy_takes_the_best_action_and_its_terms_add_up(method):
    problem = rhoplan.make("rocksample:n=3,k=2")
    settings = TreeSearchSettings(method, 3, simulations=400)
    policy = TreeSearchPolicy(problem, rhoplan.Objective(2.0), settings, seed=5)
    belief = problem.belief()
    values = policy.action_values(belief)
    found = TreeSearch(problem, settings, weight=2.0).run(belief, seed=5)
    names = [action.name for action in sorted(problem.menu(problem.start), key=lambda one: not one.ends_episode)]
    assert policy.action(belief) == names[found.place]
    assert policy.probabilities(belief) == {name: float(name == names[found.place]) for name in belief.actions}
    assert values.kind == "estimated"
    for name, value in zip(names, found.values.tolist(), strict=True):
        row = values[name]
        assert row.weighted_information == 2.0 * row.information
        if row.continuation:
            assert row.value == pytest.approx(value, abs=CLOSE)
        else:
            assert row.value == row.reward == pytest.approx(9.5)


@pytest.mark.parametrize("method", METHODS)
def test_policy_on_a_graph_searches_each_node_with_its_seed(method):
    problem = rhoplan.make("drilling")
    policy = TreeSearchPolicy(problem, None, TreeSearchSettings(method, 3, simulations=60))
    graph = BeliefGraph(problem)
    nodes = np.full(40, graph.root)
    rows, places, chances = policy.on(graph).choose(nodes, [(seed, 1) for seed in range(40)])
    wanted = [policy.search.run(problem.belief(), seed=(seed, 1)).place for seed in range(40)]
    assert places.tolist() == wanted
    assert rows.tolist() == list(range(40))
    assert chances.tolist() == [1.0] * 40


# What is refused


def test_seeds_are_whole_numbers():
    with pytest.raises(rhoplan.AgentError, match="seed must be one or more whole numbers of at least 0; it is -1"):
        search(rhoplan.make("tiger"), "pomcp", 3, seed=-1)


def test_search_after_the_end_is_refused():
    problem = rhoplan.make("tiger")
    ended = Belief(problem, rhoplan.END, problem.belief().beliefs)
    with pytest.raises(rhoplan.EvidenceError, match="has ended"):
        TreeSearch(problem).run(ended)


def test_numba_is_loaded_only_for_search():
    code = "import sys, rhoplan; rhoplan.decide('tiger', 'efe'); "
    subprocess.run([sys.executable, "-c", code + "assert 'numba' not in sys.modules"], check=True)
