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
import rhoplan.planning.search
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan.belief.information import information, update
from rhoplan.belief.situation import Situation, branch, initial, observe
from rhoplan.planning.search import SearchResult, TreeSearch, kernels, tree
from rhoplan.planning.search.model import SearchModel, cumulative
from rhoplan.planning.utility import Information
from strategies import Limits, random_case
from test_factored_toy import toy

CLOSE = 1e-9

METHODS = ("mcts", "pomcp")


def exact(problem, depth, weight=0.0, discount=1.0, situation=None):
    """Root value, value of each action that goes on, of each that ends, and the choice, by the exact planner."""
    graph = Graph(problem)
    node = graph.root if situation is None else graph.node(situation)
    nodes = np.array([node])
    plan = Plan(graph, Information(weight), discount=discount)
    going = plan.action_values(nodes, depth)[1][0, : len(graph.menus[graph.visible[node]].going)]
    ending = graph.ending_rewards(nodes, int(graph.visible[node]))[0]
    return plan.values(nodes, depth)[0], going, ending, plan.choices(nodes, depth)[0]


def search(problem, method, depth, *, simulations=1000, seed=0, situation=None, **settings) -> SearchResult:
    found = TreeSearch(problem, method=method, depth=depth, **settings)
    return found.run(situation or initial(problem), simulations=simulations, seed=seed)


# The kernels


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
    factors = tuple(
        rhoplan.Factor(name, tuple(f"state-{s}" for s in range(len(prior))), prior)
        for name, prior in (("other", np.full(3, 1 / 3)), ("own", belief))
    )
    model = SearchModel(rhoplan.Problem("random", factors, "here", lambda place: (action,)))
    model.explore(model.number("here"))
    beliefs = np.zeros(2 * model.states)
    beliefs[:3] = 1 / 3
    beliefs[model.states : model.states + len(belief)] = belief
    return model, beliefs


@pytest.mark.parametrize("changes", ["nothing", "alike", "by outcome"])
def test_kernels_are_the_bayes_update_and_the_information_of_the_planner(changes):
    rng = np.random.default_rng(5)
    for _ in range(100):
        action = random_action(rng, changes)
        belief = rng.dirichlet(np.ones(len(action.reward))) * (rng.random(len(action.reward)) < 0.8)
        belief = belief / belief.sum() if belief.any() else np.eye(len(belief))[0]
        model, beliefs = compiled_action(action, belief)
        place, rows = model.states, np.empty(3 * model.states)
        probability, posterior = update(belief[None, :], action)
        for outcome in range(len(action.outcomes)):
            after = beliefs.copy()
            chance = kernels.update(model.arrays, 0, outcome, beliefs, place, after, place, rows)
            assert chance == pytest.approx(probability[0, outcome], abs=1e-14)
            assert after[place : place + len(belief)] == pytest.approx(posterior[0, outcome], abs=1e-13)
            assert np.array_equal(after[:place], beliefs[:place])
        found = kernels.information(model.arrays, 0, beliefs, place, rows)
        assert found == pytest.approx(information(belief[None, :], action)[0], abs=1e-13)
        assert kernels.expected(model.arrays, 0, beliefs, 0) == pytest.approx(belief @ action.reward, abs=1e-13)


def test_update_may_overwrite_the_belief_it_reads():
    rng = np.random.default_rng(6)
    action = random_action(rng, "by outcome")
    model, beliefs = compiled_action(action, rng.dirichlet(np.ones(len(action.reward))))
    apart, rows = beliefs.copy(), np.empty(3 * model.states)
    kernels.update(model.arrays, 0, 0, beliefs, model.states, apart, model.states, rows)
    kernels.update(model.arrays, 0, 0, beliefs, model.states, beliefs, model.states, rows)
    assert np.array_equal(beliefs, apart)


def test_random_numbers_are_those_of_splitmix64():
    rng = np.zeros(1, dtype=np.uint64)
    published = (0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F)
    with np.errstate(over="ignore"):  # for NUMBA_DISABLE_JIT=1
        found = [kernels.uniform(rng) for _ in published]
    assert found == [(bits >> 11) / 2**53 for bits in published]


def test_draws_never_reach_what_is_impossible():
    assert cumulative(np.array([[0.5, 0.5 - 1e-12, 0.0], [0.0, 1.0, 0.0], [0.1, 0.2, 0.7]])).tolist() == [
        [0.5, 1.0, 1.0],
        [0.0, 1.0, 1.0],
        [0.1, pytest.approx(0.3), 1.0],
    ]


# MCTS over beliefs


@pytest.mark.parametrize("weight", [0.0, 1.0, 1 / math.log(2)])
@pytest.mark.parametrize(("name", "depth"), [("tiger", 10), ("diagnosis", 5)])
def test_mcts_comes_to_the_exact_value(name, depth, weight):
    problem = rhoplan.make(name)
    value, going, ending, choice = exact(problem, depth, weight)
    errors = []
    for simulations in (10, 100, 400, 1100):
        found = [search(problem, "mcts", depth, weight=weight, simulations=simulations, seed=s) for s in range(8)]
        errors.append(np.mean([abs(one.value - value) for one in found]))
    assert all(later < earlier or later < CLOSE for earlier, later in pairwise(errors))
    assert errors[0] > 1
    assert all(one.solved and one.simulations < 1100 and one.choice == choice for one in found)
    assert errors[-1] < CLOSE
    assert found[0].going_values == pytest.approx(going, abs=CLOSE)
    assert found[0].ending_values == pytest.approx(ending, abs=CLOSE)


@pytest.mark.parametrize("seed", range(40))
def test_solved_tree_of_a_flat_problem_is_the_exact_plan(seed):
    case = random_case(seed, Limits(tests=3))
    depth, weight, discount = case.depth(4, 3000), (0.0, 3.0)[seed % 2], (1.0, 0.9)[seed // 2 % 2]
    found = search(case.problem, "mcts", depth, weight=weight, discount=discount, simulations=100_000, seed=seed)
    check_solved(found, exact(case.problem, depth, weight, discount))


SITUATIONS = [
    ("left", ((0.5, 0.5, 0.0), (0.7, 0.3, 0.0))),
    ("right", ((0.0, 0.0, 1.0), (0.9, 0.1, 0.0))),
    ("left", ((0.2, 0.3, 0.5), (0.6, 0.3, 0.1))),
]


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (2.0, 0.9)])
@pytest.mark.parametrize(("place", "rocks"), SITUATIONS)
def test_solved_tree_of_a_factored_problem_is_the_exact_plan(place, rocks, weight, discount):
    problem, situation = toy(), Situation(place, tuple(map(np.array, rocks)))
    found = search(
        problem, "mcts", 4, weight=weight, discount=discount, simulations=100_000, seed=1, situation=situation
    )
    check_solved(found, exact(problem, 4, weight, discount, situation))


@pytest.mark.parametrize(("name", "depth"), [("navigation:n=3", 4), ("drilling", 5), ("testbed", 7)])
def test_solved_tree_is_the_exact_plan_where_tests_end_or_change_the_state(name, depth):
    problem = rhoplan.make(name)
    found = search(problem, "mcts", depth, weight=0.5, simulations=100_000)
    check_solved(found, exact(problem, depth, 0.5))


def check_solved(found, wanted):
    value, going, ending, choice = wanted
    assert found.solved
    assert found.value == pytest.approx(value, abs=CLOSE)
    assert found.going_values == pytest.approx(going, abs=CLOSE)
    assert found.ending_values == pytest.approx(ending, abs=CLOSE)
    assert found.choice == choice


# POMCP


def test_pomcp_comes_to_the_exact_value_of_tiger():
    """Means still hold the price of early exploration: errors fall roughly as simulations to the power 0.4."""
    problem = rhoplan.make("tiger")
    value, _, _, choice = exact(problem, 9)
    errors = []
    for simulations in (1000, 10_000, 100_000, 1_000_000):
        found = [search(problem, "pomcp", 9, simulations=simulations, seed=s) for s in range(3)]
        errors.append(max(abs(one.value - value) for one in found))
        assert all(one.choice == choice for one in found)
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
    value, _, _, choice = exact(problem, depth, **settings)
    few, many = (search(problem, "pomcp", depth, simulations=n, seed=1, **settings) for n in (3000, 300_000))
    assert abs(many.value - value) < min(tolerance, abs(few.value - value))
    assert many.choice == choice


def test_pomcp_comes_to_the_exact_value_of_a_factored_problem():
    """Moving and checking are worth 7.25 and 7.375: telling them apart takes some three million simulations."""
    problem = toy()
    value, going, _, choice = exact(problem, 3)
    soon, late = (search(problem, "pomcp", 3, simulations=n) for n in (10_000, 3_000_000))
    assert going[soon.choice] > value - 0.2
    assert abs(late.value - value) < 0.02 < abs(soon.value - value)
    assert late.choice == choice


def test_pomcp_is_not_clairvoyant_at_the_depth_limit():
    """One listen, then one must open a door without knowing: worth -7.5, where a clairvoyant would get 9."""
    found = search(rhoplan.make("tiger"), "pomcp", 1, simulations=100_000)
    assert found.going_values[0] == pytest.approx(-1 + 0.85 * 10 - 0.15 * 100, abs=0.75)  # 6 standard errors


# Both


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["rocksample:n=5,k=3", "inspection:n=16", "navigation:n=3", "tileworld", "drilling"])
def test_choices_are_legal_all_along_an_episode(method, name):
    problem = rhoplan.make(name)
    agent = TreeSearch(problem, method=method, depth=4, weight=1.0)
    situation, rng = initial(problem), np.random.default_rng(3)
    for step in range(12):
        menu = problem.menu(situation.visible)
        found = agent.run(situation, simulations=300, seed=(7, step))
        going = [action for action in menu if not action.ends_episode]
        assert len(found.going_values) == len(going)
        assert len(found.ending_values) == len(menu) - len(going)
        assert -1 <= found.choice < len(going)
        assert (0 if len(menu) > len(going) else -1) <= found.ending < max(len(menu) - len(going), 1)
        if method == "pomcp":
            assert found.going_visits.sum() + found.ending_visits.sum() == found.simulations == 300
        if found.choice < 0:
            break
        branches = branch(problem, situation, going[found.choice])
        situation = branches[rng.choice(len(branches), p=[one.probability for one in branches])].situation
        if situation.visible is rhoplan.END:
            break


def same(one, other):
    names = ("going_values", "ending_values", "going_visits", "ending_visits")
    return one.nodes == other.nodes and all(np.array_equal(getattr(one, n), getattr(other, n)) for n in names)


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
def test_batches_room_and_missing_menus_do_not_change_the_result(method, name, monkeypatch):
    problem = rhoplan.make(name)
    settings = {"simulations": 700, "weight": 1.0, "exploration": 5.0}
    once = search(problem, method, 8, **settings)
    monkeypatch.setattr(tree, "LARGEST_BATCH", 7)
    monkeypatch.setattr(tree, "SMALLEST", 8)
    monkeypatch.setattr("rhoplan.planning.search.model.LOOK_AROUND", 1)
    assert same(once, search(problem, method, 8, **settings))


@pytest.mark.parametrize("method", METHODS)
def test_searches_do_not_disturb_each_other(method):
    problem = rhoplan.make("inspection:n=8")
    start = initial(problem)
    elsewhere = Situation((3, 1, 5), start.beliefs)
    alone = search(problem, method, 5, simulations=400, seed=2)
    busy, other = (TreeSearch(problem, method=method, depth=5) for _ in range(2))
    busy.run(elsewhere, simulations=300, seed=9)
    other.run(start, simulations=100, seed=2)
    assert same(alone, busy.run(start, simulations=400, seed=2))


@pytest.mark.parametrize("method", METHODS)
def test_time_limit_is_kept(method, monkeypatch):
    """By a clock that moves on by a hundredth of a second each time somebody looks at it."""
    problem, ticks = rhoplan.make("rocksample:n=7,k=8"), itertools.count()
    monkeypatch.setattr(tree, "time", SimpleNamespace(perf_counter=lambda: next(ticks) / 100))
    found = TreeSearch(problem, method=method, depth=6).run(initial(problem), simulations=None, seconds=0.2)
    assert found.seconds == pytest.approx(0.21)
    assert next(ticks) == 22
    assert found.simulations > 100
    hasty = TreeSearch(problem, method=method, depth=6).run(initial(problem), seconds=1e-9)
    assert 1 <= hasty.simulations <= 16


def test_tree_stops_growing_at_its_largest_size(monkeypatch):
    problem = rhoplan.make("rocksample:n=5,k=3")
    monkeypatch.setattr(tree, "TREE_BYTES", 3_000_000)
    averaged = search(problem, "pomcp", 8, simulations=30_000)
    assert averaged.simulations == 30_000
    assert averaged.nodes <= 1_000_000 // 8 // 18
    stopped = search(problem, "mcts", 8, simulations=30_000)
    assert stopped.simulations < 30_000
    assert not stopped.solved


def test_without_actions_that_go_on_there_is_nothing_to_search():
    commit = rhoplan.Commit("stop", np.array([1.0, 3.0]))
    test = rhoplan.Test("look", 0.0, ("a", "b"), np.eye(2), repeatable=False)
    problem = rhoplan.observe_then_commit("once", ("s", "t"), tests=(test,), commits=(commit,))
    situation = observe(problem, initial(problem), "look", "a")
    for method in METHODS:
        found = search(problem, method, 3, simulations=50, situation=situation)
        assert (found.choice, found.ending, found.value) == (-1, 0, 1.0)


def test_ties_go_to_the_ending_action_listed_first():
    """A free test that says nothing is worth as much as ending at once."""
    commits = tuple(rhoplan.Commit(name, np.array([1.0, 1.0])) for name in ("first", "second"))
    test = rhoplan.Test("idle", 0.0, ("a", "b"), np.full((2, 2), 0.5))
    problem = rhoplan.observe_then_commit("tied", ("s", "t"), tests=(test,), commits=commits)
    for method in METHODS:
        found = search(problem, method, 3, simulations=50)
        assert (found.choice, found.ending) == (-1, 0)


def test_example_in_the_docstring_runs():
    assert doctest.testmod(rhoplan.planning.search) == (0, 5)


# What is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "dfs"}, "there is no search method 'dfs'; there are mcts, pomcp"),
        ({"depth": 0}, "depth must be a whole number from 1 to 10000; it is 0"),
        ({"depth": math.nan}, "depth must be a whole number"),
        ({"weight": math.inf}, "weight must be a finite number; it is inf"),
        ({"discount": 0.0}, "discount must be above 0 and at most 1; it is 0"),
        ({"exploration": -1.0}, "exploration must be a finite number of at least 0; it is -1"),
    ],
)
def test_settings_that_no_search_can_have_are_refused(settings, message):
    with pytest.raises(rhoplan.AgentError, match=message):
        TreeSearch(rhoplan.make("tiger"), **{"method": "mcts", "depth": 3, **settings})


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ({"simulations": 0}, "simulations must be a whole number of at least 1; it is 0"),
        ({"simulations": math.inf}, "simulations must be a whole number"),
        ({"seconds": 0.0}, "seconds must be a finite number above 0; it is 0"),
        ({"seconds": math.nan}, "seconds must be a finite number above 0; it is nan"),
        ({"simulations": None}, "a search needs a number of simulations or of seconds"),
        ({"seed": -1}, "seed must be one or more whole numbers of at least 0; it is -1"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(budget, message):
    problem = rhoplan.make("tiger")
    with pytest.raises(rhoplan.AgentError, match=message):
        TreeSearch(problem, method="pomcp", depth=3).run(initial(problem), **budget)


def test_search_after_the_end_is_refused():
    problem = rhoplan.make("tiger")
    ended = Situation(rhoplan.END, initial(problem).beliefs)
    with pytest.raises(rhoplan.EvidenceError, match="has ended"):
        TreeSearch(problem, method="mcts", depth=3).run(ended)


def test_numba_is_loaded_only_for_search():
    code = "import sys, rhoplan; rhoplan.decide('tiger', 'efe'); "
    subprocess.run([sys.executable, "-c", code + "assert 'numba' not in sys.modules"], check=True)
