"""Grids of beliefs hold at every value: backed up once more, at beliefs between grid points, and where kinds differ."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="grids are an extra")

from scipy.sparse import csr_array

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, FixedMenu
from rhoplan.planning.certified.lattice.build import Numbers, lattice_of, least_of
from rhoplan.planning.certified.lattice.grid import contract, corners, find_point, neutral, refined, rows_of
from rhoplan.planning.certified.lattice.policy import GridPolicy, _through
from rhoplan.planning.certified.lattice.rooms import NO_FACTOR, structure_of
from rhoplan.planning.certified.lattice.solve import LatticeSearch
from rhoplan.planning.certified.lattice.sweeps import PLAIN, set_out, worth
from test_lattice import random_problem

HALF = np.array([0.5, 0.5])
SURE = np.ones((2, 1))


def search(problem: POMDP, *, weight: float = 0.0, discount: float = 1.0, levels: int = 5) -> LatticeSearch:
    """A search of so many levels at most, above and below in turn: no clock decides."""
    found = LatticeSearch(problem, weight=weight, discount=discount, gap=1e-4, deadline=np.inf, memory=4e8)
    found.first_level()
    for level in range(1, levels):
        found.sides[level % 2].spent, found.sides[(level + 1) % 2].spent = 0.0, 1.0
        if found.bounds[1] - found.bounds[0] <= found.gap or not found.refine():
            break
    return found


def backups(found: LatticeSearch, *, upper: bool) -> tuple[Array, Array]:
    """What each action is worth at each value of a side, its rewards as they are, and the value there."""
    side = found.sides[0 if upper else 1]
    numbers = Numbers(found.structure, weight=found.weight, discount=found.discount, upper=upper, hair=0.0)
    lattice = lattice_of(found.structure, side.settled, numbers, most=np.inf)
    assert lattice is not None
    held, base = np.zeros(len(side.settled), dtype=np.int64), np.zeros(len(lattice.room_at), dtype=np.int64)
    worths, claims = [], []
    for room in range(found.structure.rooms):
        begin, end = (int(number) for number in lattice.room_first[room : room + 2])
        for number in range(int(np.prod(lattice.size[room]))):
            set_out(lattice, room, number, held, base)
            for here in range(begin, end):
                actions = range(int(lattice.first[here]), int(lattice.first[here + 1]))
                each = [worth(lattice, side.values, here, action, held, base, upper) for action in actions]
                worths.append(max(each))
                claims.append(side.values[lattice.room_at[room] + number * (end - begin) + here - begin])
    return np.array(worths), np.array(claims)


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 0.9), (0.3, 0.9), (1.0, 0.5)])
@pytest.mark.parametrize("seed", [0, 1, 7])
def test_with_a_discount_no_value_above_is_raised_by_one_more_backup(seed: int, weight: float, discount: float) -> None:
    found = search(random_problem(seed, states=2 + seed % 2), weight=weight, discount=discount, levels=5)
    worths, claims = backups(found, upper=True)
    assert len(claims) > 10
    assert (worths <= claims).all()


@pytest.mark.parametrize("seed", [0, 1, 7])
def test_without_a_discount_every_step_really_taken_makes_a_value_above_less(seed: int) -> None:
    """By half a hair at the least: else a plan that goes on for ever might earn more than is claimed."""
    found = search(random_problem(seed, states=2 + seed % 2), weight=0.3, discount=1.0, levels=5)
    worths, claims = backups(found, upper=True)
    assert found.sides[0].hair > 0
    assert (worths <= claims - 0.4 * found.sides[0].hair).all()


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (0.3, 0.9)])
def test_no_value_below_claims_more_than_one_more_backup(weight: float, discount: float) -> None:
    found = search(random_problem(1, states=3), weight=weight, discount=discount, levels=5)
    worths, claims = backups(found, upper=False)
    least = least_of(found.structure, discount)
    assert np.isfinite(claims).any()
    assert (claims <= np.maximum(worths, least) + 1e-9).all()


def told(reward: list[float], weight: float, discount: float = 1.0) -> LatticeSearch:
    """The first level of a problem in which one can only stop."""
    stop = Action("stop", np.array(reward), SURE, ("done",), (END,))
    factors = (Factor("one", ("a", "b"), np.array([0.2, 0.8])), Factor("two", ("a", "b", "c"), np.full(3, 1 / 3)))
    problem = POMDP(name="stop", factors=factors, start="here", menu=FixedMenu((stop,)))
    return search(problem, weight=weight, discount=discount, levels=1)


@pytest.mark.parametrize("weight", [0.0, 0.5, 2.0])
def test_the_coarsest_grid_is_told_the_states_and_pays_for_what_it_is_told(weight: float) -> None:
    found = told([1.0, 6.0], weight)
    doubt = float(entropy(np.array([0.2, 0.8]))) + np.log(3)
    assert found.bounds[1] == pytest.approx(5.0 + weight * doubt, abs=1e-4)
    assert found.bounds[0] == pytest.approx(5.0, abs=1e-6)


@pytest.mark.parametrize(
    ("reward", "discount", "least"),
    [([2.0, 3.0], 0.5, 0.0), ([-3.0, 1.0], 0.5, -6.0), ([-3.0, 1.0], 0.9, -30.0), ([2.0, 3.0], 1.0, -np.inf)],
)
def test_any_plan_earns_the_least_reward_for_ever_or_nothing(
    reward: list[float], discount: float, least: float
) -> None:
    assert least_of(told(reward, 0.0, discount).structure, discount) == pytest.approx(least)


@pytest.mark.parametrize("discount", [0.5, 1.0])
@pytest.mark.parametrize("upper", [True, False])
def test_a_row_counts_entropy_made_or_lost_one_step_later(discount: float, upper: bool) -> None:
    """The row's number and entries are worth what the test is, where every point is worth w times its entropy."""
    factor = Factor("f", ("a", "b"), HALF)
    points = refined(corners(factor), np.array([HALF, [0.7, 0.3], [0.4, 0.6]]), HALF).points
    test = Action("t", np.full(2, -1.0), np.array([[0.9, 0.1], [0.2, 0.8]]), ("+", "-"), ("x", "x"))
    chances, after = update(points, test)
    later = (chances * entropy(after)).sum(axis=1)
    rows = rows_of(test, points, weight=2.0, discount=discount, upper=upper)
    assert sum(row is not None for row in rows) >= 3
    for row, paid, left in zip(rows, 2 * information(points, test) - 1, later, strict=True):
        if row is not None:
            held = sum(entry.chance * float(entropy(points[entry.point])) for entry in row.entries)
            assert row.paid + 2 * held == pytest.approx(paid + discount * 2 * left)
            assert sum(entry.chance for entry in row.entries) == pytest.approx(discount)


@pytest.mark.parametrize("seed", range(12))
def test_a_garbling_on_a_line_is_one_for_every_kink(seed: int) -> None:
    """Of two points on the line between beliefs of different chances: the mean distance to any place is no larger."""
    rng = np.random.default_rng(seed)
    ends = rng.dirichlet(np.ones(3), 2)
    where = np.sort(rng.uniform(0, 1, 4))
    beliefs = ends[0] + np.multiply.outer(where, ends[1] - ends[0])
    chances = 0.7 * rng.dirichlet(np.ones(4))
    middle = float(chances @ where / chances.sum())
    along = np.concatenate([rng.uniform(0, 1, 12), [middle]])
    points = np.vstack([np.eye(3), ends[0] + np.multiply.outer(along, ends[1] - ends[0])])
    shares = contract(points, chances, beliefs)
    assert shares is not None
    assert sum(share for share, _ in shares) == pytest.approx(0.7)
    assert sum(share * points[point] for share, point in shares) == pytest.approx(chances @ beliefs)
    ours = [(share, along[point - 3]) for share, point in shares]
    for kink in np.linspace(0, 1, 101):
        spread = sum(share * abs(place - kink) for share, place in ours)
        assert spread <= float(chances @ np.abs(where - kink)) + 1e-9
    best = max(
        (
            (middle - low) * (high - middle)
            for low in along[along < middle - 1e-9]
            for high in along[along > middle + 1e-9]
            if all(
                ((high - middle) * abs(low - k) + (middle - low) * abs(high - k)) / (high - low)
                <= chances @ np.abs(where - k) / 0.7 + 1e-12
                for k in np.linspace(0, 1, 401).tolist() + where.tolist()
            )
        ),
        default=0.0,
    )
    places = [place for _, place in ours]
    assert (middle - min(places)) * (max(places) - middle) == pytest.approx(best, abs=1e-6)


WALK = Action("walk", np.full(2, -1.0), SURE, ("done",), ("there",))


@pytest.mark.parametrize(
    ("action", "walks"),
    [
        (WALK, True),
        (replace(WALK, likelihood=np.full((2, 2), 0.5), outcomes=("x", "y"), leads_to=("there", "here")), True),
        (replace(WALK, reward=np.array([-1.0, -2.0])), False),
        (replace(WALK, transition=np.full((2, 2), 0.5)), False),
        (replace(WALK, likelihood=np.eye(2), outcomes=("x", "y"), leads_to=("there", "there")), False),
    ],
)
def test_a_walk_tells_changes_and_is_paid_nothing_by_what_is_hidden(action: Action, walks: bool) -> None:
    assert neutral(action) == walks
    menus = {"here": (action, replace(WALK, name="stay", leads_to=("here",))), "there": (WALK,)}
    factors = (Factor("one", ("a", "b"), HALF), Factor("two", ("a", "b"), HALF))
    structure = structure_of(POMDP(name="walk", factors=factors, start="here", menu=menus.__getitem__))
    about = {kind for kind, _ in zip(structure.kinds, structure.kind, strict=False) if kind[0] is action}
    assert all((factor == NO_FACTOR) == walks for _, factor in about)


def test_only_a_sure_walk_within_a_room_is_a_plain_one() -> None:
    fork = replace(WALK, name="fork", likelihood=np.full((2, 2), 0.5), outcomes=("x", "y"), leads_to=("there", "here"))
    paid = replace(WALK, name="paid", reward=np.array([-1.0, -2.0]))
    out = replace(WALK, name="out", leads_to=("away",))
    still = replace(WALK, name="still", leads_to=("here",))
    menus = {
        "here": (WALK, fork, paid, out, still),
        "there": (replace(WALK, name="back", leads_to=("here",)),),
        "away": (replace(WALK, name="stop", leads_to=(END,)),),
    }
    factors = (Factor("one", ("a", "b"), HALF), Factor("two", ("a", "b"), HALF))
    structure = structure_of(POMDP(name="house", factors=factors, start="here", menu=menus.__getitem__))
    marks = dict(zip(structure.names, structure.walks.tolist(), strict=True))
    assert marks == {"walk": PLAIN, "fork": 1, "paid": 1, "out": 0, "still": 0, "back": PLAIN, "stop": 0}


LOOK = Action("look", np.full(2, -1.0), np.array([[0.9, 0.1], [0.2, 0.8]]), ("x", "y"), ("here", "here"))
OTHERS = {
    "factor": replace(LOOK, factor=1),
    "reward": replace(LOOK, reward=np.array([-1.0, -2.0])),
    "likelihood": replace(LOOK, likelihood=np.array([[0.8, 0.2], [0.2, 0.8]])),
    "pattern": replace(LOOK, leads_to=("here", "there")),
    "end": replace(LOOK, leads_to=(END, END)),
    "change": replace(LOOK, transition=np.array([[0.5, 0.5], [0.0, 1.0]])),
    "other change": replace(LOOK, transition=np.array([[0.25, 0.75], [0.0, 1.0]])),
    "sparse change": replace(LOOK, transition=csr_array([[0.0, 1.0], [1.0, 0.0]])),
}


def two_looks(other: Action) -> POMDP:
    factors = (Factor("one", ("a", "b"), HALF), Factor("two", ("a", "b"), HALF))
    stop = replace(WALK, name="stop", leads_to=(END,))
    menus = {"here": (LOOK, replace(other, name="other"), stop), "there": (stop,)}
    return POMDP(name="looks", factors=factors, start="here", menu=menus.__getitem__)


@pytest.mark.parametrize("what", OTHERS)
def test_actions_that_differ_in_anything_but_names_are_of_two_kinds(what: str) -> None:
    alike, differ = structure_of(two_looks(LOOK)), structure_of(two_looks(OTHERS[what]))
    kinds = dict(zip(alike.names, alike.kind.tolist(), strict=False))
    assert kinds["look"] == kinds["other"]
    kinds = dict(zip(differ.names, differ.kind.tolist(), strict=False))
    assert kinds["look"] != kinds["other"]
    assert alike.digest != differ.digest


@pytest.mark.parametrize(
    ("third", "reward"), [("c", -1.0), ("b", -2.0), ("b", -1.5)], ids=["leads elsewhere", "other kind", "new kind"]
)
def test_structures_are_told_apart_by_where_an_action_leads_and_by_what_it_is(third: str, reward: float) -> None:
    """Places, rooms, names and all other actions are the same."""
    factors = (Factor("one", ("a", "b"), HALF), Factor("two", ("a", "b"), HALF))
    first, second = WALK, replace(WALK, name="dear", reward=np.full(2, -2.0), leads_to=("c",))
    digests = set()
    for there, paid in (("b", -1.0), (third, reward)):
        last = replace(WALK, name="last", reward=np.full(2, paid), leads_to=(there,))
        stop = replace(WALK, name="stop", reward=np.full(2, -1.5), leads_to=(END,))
        menus = {"a": (replace(first, leads_to=("b",)), second, last), "b": (stop,), "c": (stop,)}
        structure = structure_of(POMDP(name="fork", factors=factors, start="a", menu=menus.__getitem__))
        assert structure.names == ("stop", "stop", "walk", "dear", "last")
        digests.add(structure.digest)
    assert len(digests) == 2


def test_structures_are_told_apart_by_the_numbers_of_their_kinds() -> None:
    one, other = (structure_of(two_looks(replace(LOOK, reward=np.full(2, paid)))) for paid in (-2.0, -3.0))
    assert one.kind.tolist() == other.kind.tolist()
    assert one.digest != other.digest


def best_within(problem: POMDP, situation: Belief, steps: int, weight: float, discount: float) -> float:
    """The best value of at most `steps` actions the last of which ends the episode."""
    best = -np.inf
    for action in problem.menu(situation.observable) if steps else ():
        belief = situation.beliefs[action.factor]
        chances, after = (part[0] for part in update(belief[None], action))
        total = float(action.reward @ belief) + weight * float(information(belief[None], action)[0])
        for outcome in np.flatnonzero(chances > 0):
            if (there := action.leads_to[outcome]) is not END:
                held = tuple(after[outcome] if f == action.factor else b for f, b in enumerate(situation.beliefs))
                total += (
                    discount
                    * chances[outcome]
                    * best_within(problem, Belief(problem, there, held), steps - 1, weight, discount)
                )
        best = max(best, total)
    return best


def solved(weight: float, discount: float) -> tuple[POMDP, GridPolicy]:
    problem = random_problem(3)
    return problem, search(problem, weight=weight, discount=discount, levels=7).policy()


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (1.0, 1.0), (1.0, 0.9), (0.3, 0.5)])
def test_bounds_hold_at_beliefs_between_grid_points(weight: float, discount: float) -> None:
    """From below, a belief is known by grid points that lie between it and others."""
    problem, policy = solved(weight, discount)
    rng, between = np.random.default_rng(2), 0
    for place in ("a", "b", "c") * 4:
        situation = Belief(problem, place, tuple(rng.dirichlet(np.ones(2), 2)))
        low, high = policy.value(situation)
        assert best_within(problem, situation, 3, weight, discount) <= high + 1e-9
        exact = solve(begun(problem, situation), weight=weight, discount=discount, gap=1e-3, method="points")
        assert low <= exact.upper + 1e-6
        assert exact.lower <= high + 1e-6
        own = policy._lower(policy.place_of(place), situation.beliefs)
        assert own <= exact.upper + 1e-6
        assert exact.lower <= policy._upper(policy.place_of(place), situation.beliefs) + 1e-6
        between += own > policy._ending(policy.place_of(place), situation.beliefs) + 1e-6
        for name, (worst, best) in policy.actions(situation).items():
            assert worst <= min(best, high + 1e-9), name
    assert between > 0


def begun(problem: POMDP, situation: Belief) -> POMDP:
    """The same problem, with another beginning."""
    factors = tuple(replace(f, prior=b) for f, b in zip(problem.factors, situation.beliefs, strict=True))
    return replace(problem, factors=factors, start=situation.observable)


def test_a_grid_point_lies_between_a_belief_and_one_as_far_beyond_as_can_be() -> None:
    belief, points = np.array([0.5, 0.3, 0.2]), np.array([[1.0, 0.0, 0.0], [0.4, 0.25, 0.35], [0.6, 0.3, 0.1]])
    share, point, beyond = _through(belief, points)
    assert point.tolist() == points[1].tolist()
    assert share == pytest.approx(0.8)
    assert beyond == pytest.approx([0.0, 0.05, 0.95])
    assert share * belief + (1 - share) * beyond == pytest.approx(point)
    assert _through(np.array([0.5, 0.5, 0.0]), np.array([[0.4, 0.4, 0.2]])) is None  # it has a state that is ruled out
    assert _through(belief, points[:1]) is None  # nothing lies beyond a corner


@pytest.mark.parametrize("weight", [0.0, 0.7])
def test_a_belief_is_worth_what_a_point_between_it_and_another_leaves_for_it(weight: float) -> None:
    """V - w H is convex: what the point is worth at the least, less what the belief beyond is worth at the most."""
    _, policy = solved(weight, 1.0)
    here, tried = policy.place_of("b"), 0
    for place in np.linspace(0.02, 0.98, 25):
        beliefs = [np.array([place, 1 - place]), policy.below.grids[1].points[2]]
        known = [
            np.flatnonzero(policy.below.lattice.digit[1, f, g.place] >= 0) for f, g in enumerate(policy.below.grids)
        ]
        grid = policy.below.grids[0].points[known[0]]
        found = _through(beliefs[0], grid)
        if found is None or find_point(grid, beliefs[0]) >= 0 or 2 not in known[1]:
            continue
        share, point, beyond = found
        at = policy._lower(here, [point, beliefs[1]])
        far = policy._upper(here, [beyond, beliefs[1]])
        less = float(entropy(point)) - share * float(entropy(beliefs[0])) - (1 - share) * float(entropy(beyond))
        worth = (at - weight * less - (1 - share) * far) / share
        expected = max(worth, policy._ending(here, beliefs))
        assert policy._lower(here, beliefs) == pytest.approx(expected, abs=1e-9)
        tried += expected == worth
    assert tried > 0


def test_what_to_do_is_what_is_worth_most_at_the_least_if_that_is_known_to_be_all() -> None:
    """Else nobody knows which action makes up for it: then it is what may be worth most."""
    policy = search(random_problem(5), discount=1.0, levels=2).policy()
    rng, kinds = np.random.default_rng(5), set()
    for place in ("a", "b", "c") * 20:
        situation = Belief(policy.origin, place, tuple(rng.dirichlet(np.ones(2), 2)))
        bounds = policy.actions(situation)
        known = policy._lower(policy.place_of(place), situation.beliefs)
        least, most = (max(bounds, key=lambda name: bounds[name][side]) for side in (0, 1))
        enough = bounds[least][0] >= known - 1e-9 * abs(known)
        assert policy.action(situation) == (least if enough else most)
        kinds.add((enough, least == most))
        low, high = policy.value(situation)
        assert low == max(known, bounds[least][0])
        assert high == min(policy._upper(policy.place_of(place), situation.beliefs), bounds[most][1])
    assert {(True, False), (False, False)} <= kinds
