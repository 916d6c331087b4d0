"""Bounds on grids of beliefs: every piece by its law, and the whole against other code."""

import itertools

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.planners import FollowRule
from rhoplan.api import simulate
from rhoplan.belief_math.information import information, update
from rhoplan.errors import LimitError, ProblemError
from rhoplan.io.formats import parse_problem
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.model.validate import checked
from rhoplan.planning.certified.components import rooms_of
from rhoplan.planning.certified.lattice.check import check_grids, is_garbling
from rhoplan.planning.certified.lattice.grid import contract, corners, mixture_of, refined, rows_of, spread
from rhoplan.planning.certified.lattice.solve import LatticeSearch
from rhoplan.planning.certified.solve import solve
from rhoplan.planning.clock import now


def search(problem, *, weight=0.0, gap=1e-3, levels=40, discount=None):
    """A search of so many levels at most: no clock decides."""
    discount = problem.discount if discount is None else discount
    found = LatticeSearch(problem, weight=weight, discount=discount, gap=gap, deadline=np.inf, memory=4e8)
    found.first_level()
    while found.bounds[1] - found.bounds[0] > gap and found.levels < levels and found.refine():
        pass
    return found


def told(known: float, gap: float = 0.01) -> LatticeSearch:
    """A search that is told what the rover's problem is worth at least; no clock decides."""
    problem = rhoplan.make("rocksample:n=4,k=2")
    return LatticeSearch(problem, weight=0.0, discount=1.0, gap=gap, deadline=np.inf, memory=4e8, known=known)


def test_a_bound_known_from_elsewhere_ends_the_search():
    best = search(rhoplan.make("rocksample:n=4,k=2")).bounds[1]
    found = told(best - 0.5, gap=5.0)
    found.first_level()
    while found.bounds[1] - (best - 0.5) > 5.0:
        assert found.refine()

    assert found.bounds[1] - found.bounds[0] > 5.0, "its own lower bound has not come so far"
    assert found.run() == "gap"


@pytest.mark.parametrize(("known", "refined_side"), [(-np.inf, "lower"), (100.0, "upper")])
def test_lower_grids_wait_while_they_lie_below_what_is_known(known, refined_side):
    found = told(known)
    found.first_level()
    upper, lower = found.sides
    upper.spent, lower.spent = 1.0 / len(upper.values), 0.5 / len(lower.values)
    before = len(upper.values), len(lower.values)

    assert found.refine()
    assert (len(upper.values) > before[0]) == (refined_side == "upper")
    assert (len(lower.values) > before[1]) == (refined_side == "lower")


class Walks:
    """A menu of random tests, repairs and ends in two rooms of a random house."""

    def __init__(self, rng, states, outcomes=2):
        self.menus = {place: tuple(self._actions(rng, place, states, outcomes)) for place in ("a", "b", "c")}

    def __call__(self, observable):
        return self.menus[observable]

    def _actions(self, rng, place, states, outcomes):
        where = {"a": ("b",), "b": ("a", "c"), "c": ()}[place]
        for there in where:
            yield Action(f"to-{there}", np.full(states, -0.3), np.ones((states, 1)), ("done",), (there,))
        for factor in (0, 1):
            rows = rng.dirichlet(np.ones(outcomes), size=states)
            names = tuple(map(str, range(outcomes)))
            yield Action(
                f"test-{factor}", np.full(states, -rng.uniform(0.2, 0.6)), rows, names, (place,) * outcomes, factor
            )
        worth = rng.uniform(-6, 4, size=states)
        worth[0] = 0  # the state after it: no use twice
        spend = np.tile(np.eye(states)[0], (states, 1))
        yield Action("use", worth - 1, np.ones((states, 1)), ("done",), (place,), int(rng.integers(2)), spend)
        yield Action(
            "stop", rng.uniform(-4, 4, size=states), np.ones((states, 1)), ("done",), (END,), int(rng.integers(2))
        )


def random_problem(seed, states=2, outcomes=2):
    rng = np.random.default_rng(seed)
    names = tuple(f"s{i}" for i in range(states))
    factors = tuple(Factor(f"f{i}", names, rng.dirichlet(np.ones(states))) for i in (0, 1))
    return checked(POMDP(name="house", factors=factors, start="a", menu=Walks(rng, states, outcomes)))


def best_within(problem, steps, weight, discount):
    """The best value of at most `steps` actions the last of which ends the episode: plain recursion on beliefs."""

    def value(observable, beliefs, left):
        best = -np.inf
        for action in problem.menu(observable) if left else ():
            belief = beliefs[action.factor]
            chances, after = (part[0] for part in update(belief[None], action))
            total = float(action.reward @ belief) + weight * float(information(belief[None], action)[0])
            for outcome in np.flatnonzero(chances > 0):
                there = action.leads_to[outcome]
                if there is not END:
                    now = tuple(after[outcome] if f == action.factor else b for f, b in enumerate(beliefs))
                    total += discount * chances[outcome] * value(there, now, left - 1)
            best = max(best, total)
        return best

    return value(problem.start, tuple(factor.prior for factor in problem.factors), steps)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (1.0, 1.0), (0.3, 0.9)])
def test_bounds_hold_beside_other_code(seed, weight, discount):
    problem = random_problem(seed, states=2 + seed % 2, outcomes=2 + seed // 3 % 2)
    found = search(problem, weight=weight, discount=discount, levels=9, gap=1e-4)
    lower, upper = found.bounds
    assert best_within(problem, 3, weight, discount) <= upper + 1e-9
    other = solve(problem, weight=weight, discount=discount, gap=1e-2, seconds=5, method="points")
    assert lower <= other.upper + 1e-6
    assert other.lower <= upper + 1e-6
    assert check_grids(found.policy(), np.random.default_rng(seed), most=15).holds


def test_the_smallest_published_rover_is_solved():
    problem = rhoplan.make("rocksample:n=5,k=3")
    found = search(problem)
    assert found.bounds == pytest.approx((16.75, 16.75), abs=1e-3)
    policy = found.policy()
    estimate = simulate(problem, BoundAgent("solved", planner=FollowRule(rule=policy)), episodes=100)
    assert abs(estimate.reward - 16.75) < 5 * estimate.se["reward"]
    assert policy.value(problem.belief(given=[])) == pytest.approx((16.75, 16.75), abs=1e-3)


def test_more_rocks_than_fit_as_one_factor_are_bounded():
    problem = rhoplan.make("rocksample:n=7,k=8")
    found = search(problem, levels=3)  # enough for both bounds to have moved: 9.5 and 40.9 at first
    lower, upper = found.bounds
    assert 17 < lower < 28.0 < upper < 36  # 28.0 is what the paper's best agent earns


def test_bounds_in_situations_contain_those_of_points():
    problem = rhoplan.make("rocksample:n=3,k=2")
    grids = search(problem).policy()
    points = solve(problem, gap=1e-2, seconds=20, method="points").policy
    situation = problem.belief(given=[])
    rng = np.random.default_rng(0)
    for _ in range(8):
        low, high = grids.value(situation)
        other_low, other_high = points.value(situation)
        assert low <= other_high + 1e-6
        assert other_low <= high + 1e-6
        actions = [a for a in problem.menu(situation.observable) if not a.ends_episode]
        action = actions[rng.integers(len(actions))]
        situation = situation.update(action.name, action.outcomes[rng.integers(len(action.outcomes))])


def test_points_that_make_no_difference_share_a_place():
    found = search(rhoplan.make("rocksample:n=3,k=2"), levels=1)
    for grid in found.sides[0].grids:  # corners: bad, good, spent
        assert grid.place[0] == grid.place[2] != grid.place[1]


def test_what_goes_on_for_ever_for_nothing_is_refused():
    tell = Action("tell", np.full(2, 0.5), np.eye(2), ("x", "y"), ("here", "here"))
    other = Action("see", np.full(2, -1.0), np.eye(2), ("x", "y"), ("here", "here"), 1)
    stop = Action("stop", np.zeros(2), np.ones((2, 1)), ("done",), (END,))
    half = np.array([0.5, 0.5])
    factors = (Factor("one", ("a", "b"), half), Factor("two", ("a", "b"), half))
    problem = POMDP(name="mill", factors=factors, start="here", menu=FixedMenu((tell, other, stop)))
    with pytest.raises(LimitError, match="for ever"):
        search(problem)
    with pytest.raises(ProblemError, match="for ever"):
        solve(problem)


def test_a_rest_that_costs_nothing_is_not_taken_for_ruin():
    """After the bet one waits for ever, for nothing: the bet is worth what it pays, and no bound may say less."""
    sure = np.ones((2, 1))
    bet = Action("bet", np.array([1.0, -1.0]), sure, ("done",), ("rest",))
    look = Action("look", np.full(2, -0.1), np.eye(2), ("x", "y"), ("here", "here"), 1)
    leave = Action("leave", np.full(2, -5.0), sure, ("done",), (END,))
    wait, turn = (Action("wait", np.zeros(2), sure, ("done",), (there,)) for there in ("nap", "rest"))
    menus = {"here": (bet, look, leave), "rest": (wait,), "nap": (turn,)}
    factors = (Factor("one", ("a", "b"), np.array([0.8, 0.2])), Factor("two", ("a", "b"), np.array([0.5, 0.5])))
    problem = POMDP(name="bet", factors=factors, start="here", menu=menus.__getitem__)
    with pytest.raises(LimitError, match="circle is free"):
        search(problem)
    found = solve(problem, gap=1e-4)
    assert found.method == "points"
    assert found.lower - 1e-9 <= 0.6 <= found.upper + 1e-9


@pytest.mark.parametrize("seed", range(40))
def test_spreading_keeps_the_mean_and_garbling_forgets(seed):
    rng = np.random.default_rng(seed)
    states, outcomes = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    factor = Factor("f", tuple(f"s{i}" for i in range(states)), rng.dirichlet(np.ones(states)))
    points = refined(
        corners(factor), np.vstack([factor.prior, rng.dirichlet(np.ones(states), size=4)]), factor.prior
    ).points
    rows = rng.dirichlet(np.ones(outcomes), size=states)
    action = Action("t", np.zeros(states), rows, tuple(map(str, range(outcomes))), ("x",) * outcomes)
    chances, after = (part[0] for part in update(factor.prior[None], action))
    mixture = spread(points, chances, after)
    assert sum(share for share, _ in mixture) == pytest.approx(1)
    assert sum(share * points[point] for share, point in mixture) == pytest.approx(factor.prior)
    told = contract(points, chances, after)
    assert told is not None  # the prior itself is on the grid
    assert is_garbling(rng, points, told, chances, after)
    sure = [(float(chance), point) for chance, point in zip(factor.prior, range(states), strict=True)]
    assert not is_garbling(rng, points, sure, chances, after)  # knowing for sure is more than was told
    hair = 1e-7 * np.eye(points.shape[1])[0]
    assert not is_garbling(rng, points, told, chances, after + hair - hair.mean())  # the mean is another


def test_a_pair_of_outcomes_is_garbled_as_little_as_can_be():
    points = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.8, 0.2], [0.2, 0.8], [0.6, 0.4]])
    told = contract(points, np.array([0.5, 0.5]), np.array([[0.9, 0.1], [0.1, 0.9]]))
    assert sorted(point for _, point in told) == [3, 4]
    assert contract(points[[0, 1, 3]], np.array([1.0]), np.array([[0.3, 0.7]])) is None


def test_a_row_of_the_upper_bound_counts_the_entropy_it_makes():
    factor = Factor("f", ("a", "b"), np.array([0.5, 0.5]))
    points = refined(corners(factor), factor.prior[None], factor.prior).points
    test = Action("t", np.full(2, -1.0), np.array([[0.9, 0.1], [0.1, 0.9]]), ("+", "-"), ("x", "x"))
    row = rows_of(test, points, weight=2.0, discount=1.0, upper=True)[2]
    told = float(information(factor.prior[None], test)[0])
    reveals = 0.8  # as good as a test that tells all four times in five, and else nothing
    assert row.paid == pytest.approx(-1 + 2 * told + 2 * (np.log(2) - told - (1 - reveals) * np.log(2)))
    with pytest.raises(TimeoutError):
        rows_of(test, points, weight=2.0, discount=1.0, upper=True, deadline=-np.inf)


@pytest.mark.parametrize("seed", range(20))
def test_rooms_are_what_can_be_reached_there_and_back(seed):
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 9))
    linked = rng.random((count, count)) < 0.25
    reached = linked | np.eye(count, dtype=bool)
    for k, i, j in itertools.product(range(count), repeat=3):
        reached[i, j] |= reached[i, k] & reached[k, j]
    room = rooms_of([np.flatnonzero(row).tolist() for row in linked])
    for i, j in itertools.product(range(count), repeat=2):
        assert (room[i] == room[j]) == (reached[i, j] and reached[j, i])
        assert not linked[i, j] or room[j] <= room[i]


def test_a_belief_outside_the_known_points_has_no_mixture():
    points = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    assert mixture_of(points, np.array([0.5, 0.0, 0.5]), np.array([0, 1])) is None
    shares = mixture_of(points, np.array([0.25, 0.0, 0.75]), np.arange(3))
    assert sorted(shares) == [(0.25, 0), (0.75, 2)]


TO_NOWHERE = """
factors:
  a: {states: [a0, a1]}
  b: {states: [b0, b1]}
places: [p, q, r1, r2]
actions:
  walk: {at: p, reward: 3, to: q}
  stop: {at: p, ends: true, reward: -6}
  probe: {at: q, cost: 100, to: {yes: r1, no: r2}, parts: {a: {outcomes: [yes, no], likelihood: {a0: [0.6, 0.4],
    a1: [0.9, 0.1]}, change: {a0: {a0: 0.7, a1: 0.3}, a1: {a0: 0.2, a1: 0.8}}}}}
  rest: {at: [r1, r2], ends: true, reward: {b: {b0: -5, b1: -4}}}
  to1: {at: p, cost: 6, to: r1}
  to2: {at: p, cost: 6, to: r2}
discount: 0.5
"""


def test_where_grids_can_say_nothing_a_plan_is_worth_what_any_is():
    """All that can be done at q leads off the lower grid: it is not worth what other actions are at the least."""
    found = solve(parse_problem(TO_NOWHERE, file="nowhere.yaml", language="yaml"), method="grids", check=True)
    assert found.lower == pytest.approx(-6, abs=1e-6)
    assert found.upper == pytest.approx(-6, abs=1e-6)
    assert found.first == "stop"
    assert found.certificate.holds


def test_a_room_that_the_lower_grid_never_comes_to_is_no_fault():
    text = TO_NOWHERE.replace("  to1: {at: p, cost: 6, to: r1}\n  to2: {at: p, cost: 6, to: r2}\n", "")
    found = solve(parse_problem(text, file="nowhere.yaml", language="yaml"), method="grids", check=True)
    assert (found.lower, found.upper) == pytest.approx((-6, -6), abs=1e-6)
    assert found.certificate.holds


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_a_check_mixes_points_as_the_grid_does(weight):
    """After the test the corners do not come up, and what it leads to lies at the ends of the points that do."""
    text = """
factors: {a: {states: [a0, a1]}, b: {states: [b0, b1]}}
actions:
  test: {cost: 0.001, parts: {a: {outcomes: [x, y, z], likelihood: {a0: [0.15, 0.6, 0.25], a1: [0.14, 0.48, 0.38]}}}}
  stop: {ends: true, reward: {a: {a0: 0, a1: 0.1}}}
"""
    problem = parse_problem(text, file="ends.yaml", language="yaml")
    found = solve(problem, method="grids", weight=weight, horizon=2, check=True)
    exact = solve(problem, method="points", weight=weight, horizon=2, gap=1e-9)
    assert found.certificate.holds
    assert found.lower <= exact.upper
    assert exact.lower <= found.upper


def test_small_problems_are_not_kept_waiting_for_half_of_the_time(monkeypatch):
    """Grids alone never bring these bounds together; points do, and come before the grids have had half an hour."""
    text = """
factors: {a: {states: [a0, a1]}, b: {states: [b0, b1]}}
actions:
  test: {cost: 0.1, parts: {a: {outcomes: [x, y], likelihood: {a0: [0.7, 0.3], a1: [0.35, 0.65]},
    change: {a0: {a0: 0.97, a1: 0.03}, a1: {a0: 0.02, a1: 0.98}}}}}
  stop: {ends: true, reward: {a: {a0: -10, a1: 10}}}
discount: 0.95
"""
    seen = []
    ran = LatticeSearch.run
    monkeypatch.setattr(LatticeSearch, "run", lambda self, tell: seen.append(self.deadline - now()) or ran(self, tell))
    found = solve(parse_problem(text, file="two.yaml", language="yaml"), gap=1e-5, seconds=3600)
    assert found.stopped_by == "gap"
    assert found.method.endswith("points")
    assert max(seen) < 60
