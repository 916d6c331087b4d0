"""Parts of grids of beliefs: what can be told apart of a test, where tuples stand, and what can come up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import rhoplan

pytest.importorskip("numba", reason="grids are an extra")

from rhoplan.belief_math.information import entropy, information, update
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.planning.certified.lattice.build import Numbers, lattice_of, least_of, start_tuples, start_value
from rhoplan.planning.certified.lattice.check import check_grids
from rhoplan.planning.certified.lattice.grid import contract, corners, mixture_of, refined
from rhoplan.planning.certified.lattice.policy import Half
from rhoplan.planning.certified.lattice.rooms import NO_FACTOR, Structure, structure_of
from rhoplan.planning.certified.lattice.sweeps import USELESS, set_out, worth
from test_grids_hold import search
from test_lattice import random_problem


def test_a_test_that_no_line_holds_is_forgotten_as_a_whole() -> None:
    """Points on the line through its middle and one of its beliefs are no garbling: other beliefs are off that line."""
    beliefs = np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]])
    chances = np.array([0.2, 0.2, 0.2])
    step = np.array([0.2, -0.1, -0.1])
    middle = np.full(3, 1 / 3)
    points = np.vstack([np.eye(3), middle, middle + step, middle - step])
    assert contract(points, chances, beliefs) == [(pytest.approx(0.6), 3)]
    assert contract(points[[0, 1, 2, 4, 5]], chances, beliefs) is None
    only = contract(points, chances[:1], (middle + step)[None])
    assert only == [(pytest.approx(0.2), 4)]


def three_factors() -> POMDP:
    """Tests of three factors of two, three and four states, with a place to go to."""
    rng, actions = np.random.default_rng(0), []
    for factor, states in enumerate((2, 3, 4)):
        rows = rng.dirichlet(np.ones(2), states)
        actions.append(Action(f"t{factor}", np.full(states, -0.2), rows, ("+", "-"), ("here", "here"), factor))
        pays = 3.0 * factor + np.arange(states)
        actions.append(Action(f"stop{factor}", pays, np.ones((states, 1)), ("done",), (END,), factor))
    factors = tuple(
        Factor(f"f{number}", tuple(map(str, range(states))), rng.dirichlet(np.ones(states)))
        for number, states in enumerate((2, 3, 4))
    )
    return POMDP(name="three", factors=factors, start="here", menu=FixedMenu(tuple(actions)))


def test_every_tuple_of_grid_points_stands_in_a_place_of_its_own() -> None:
    problem = three_factors()
    found = search(problem, levels=1)
    coarse = found.sides[0]
    assert coarse.lattice is not None
    assert coarse.lattice.size.tolist() == [[2, 3, 4]]
    for side in (*found.sides, *search(problem, levels=3).sides):
        assert side.lattice is not None
        size, stride = side.lattice.size[0].tolist(), side.lattice.stride[0]
        places = {int(np.array(digits) @ stride) for digits in itertools.product(*map(range, size))}
        assert places == set(range(int(np.prod(size))))
    shares, _ = start_tuples(coarse.lattice, found.structure, coarse.settled)
    priors = [factor.prior for factor in problem.factors]
    assert sorted(shares) == pytest.approx(sorted(np.einsum("i,j,k->ijk", *priors).ravel()))
    assert len(shares) == 24


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 3, 7])
def test_all_that_an_action_leads_to_can_come_up_where_it_leads(seed: int, upper: bool) -> None:
    """In its own room and in others, for the factor that it is about and for all others."""
    found = search(random_problem(seed, states=2 + seed % 2), weight=0.3, levels=6)
    side = found.sides[0 if upper else 1]
    grid, looked = side.lattice, 0
    assert grid is not None
    for here in range(len(found.structure.observables)):
        room = int(grid.room[here])
        for action in range(int(grid.first[here]), int(grid.first[here + 1])):
            factor = int(grid.factor[action])
            for place in np.flatnonzero(grid.digit[room, factor] >= 0).tolist():
                at = int(grid.kind_at[grid.kind[action]]) + place
                for entry in range(int(grid.row_at[grid.row_first[at]]), int(grid.row_at[grid.row_first[at + 1]])):
                    there = int(grid.lead[grid.leads[action] + grid.outcome[entry]])
                    other = int(grid.room[there])
                    assert there >= 0
                    assert grid.digit[other, factor, grid.to[entry]] >= 0
                    for beside in {0, 1} - {factor}:
                        assert (grid.digit[other, beside, grid.digit[room, beside] >= 0] >= 0).all()
                    looked += 1
    assert looked > 20


def test_rows_are_kept_for_each_grid_and_each_kind() -> None:
    problem = random_problem(0)
    structure = structure_of(problem)
    numbers = Numbers(structure, weight=0.0, discount=0.9, upper=True, hair=0.0)
    coarse = corners(problem.factors[0])
    fine = refined(coarse, np.array([[0.5, 0.5]]), problem.factors[0].prior)
    kinds = [kind for kind, (_, about) in enumerate(structure.kinds) if about == 0]
    assert len(kinds) > 2
    for kind in kinds:
        assert [len(numbers.rows(kind, grid)) for grid in (coarse, fine, coarse)] == [2, 3, 2]
        assert numbers.rows(kind, fine)[0].paid == pytest.approx(structure.kinds[kind][0].reward[0])
    assert numbers.rows(kinds[0], fine) != numbers.rows(kinds[1], fine)


def test_a_grid_with_corners_put_together_keeps_its_other_points_apart() -> None:
    factor = Factor("f", ("a", "b", "c"), np.full(3, 1 / 3))
    grid = refined(corners(factor), np.array([factor.prior, [0.5, 0.5, 0.0]]), factor.prior)
    together = grid.put_together(np.array([0, 1, 0]))
    assert together.place.tolist() == [0, 1, 0, 2, 3]
    assert together.places == 4
    more = refined(together, np.array([[0.2, 0.2, 0.6], [0.5, 0.5, 0.0]]), factor.prior)
    assert more.place.tolist() == [0, 1, 0, 2, 3, 4]
    assert more.start == ((1.0, 3),)


def test_a_lattice_with_more_values_than_allowed_is_none() -> None:
    problem = three_factors()
    structure = structure_of(problem)
    numbers = Numbers(structure, weight=0.0, discount=1.0, upper=True, hair=0.0)
    grids = [corners(factor) for factor in problem.factors]
    assert lattice_of(structure, grids, numbers, most=23) is None
    assert lattice_of(structure, grids, numbers, most=24) is not None


def test_doors_lead_to_rooms_or_to_the_end_and_one_factor_alone_keeps_its_walks() -> None:
    structure = structure_of(random_problem(0))
    stops = {kind for kind, (action, _) in enumerate(structure.kinds) if action.leads_to == (END,)}
    ends = {kind for doors in structure.doors for kind, rooms in doors if rooms == (-1,)}
    assert ends == stops
    assert all(0 <= room < structure.rooms for doors in structure.doors for kind, rooms in doors
               if kind not in stops for room in rooms)  # fmt: skip
    alone = structure.only(1)
    kept = [structure.kinds[kind][1] in (1, NO_FACTOR) for kind in structure.kind]
    assert alone.kind.tolist() == structure.kind[kept].tolist()
    assert alone.names == tuple(name for name, stays in zip(structure.names, kept, strict=True) if stays)
    assert {about for _, about in alone.kinds} == {0, NO_FACTOR}
    assert len(alone.kind) == int(alone.first[-1]) < len(structure.kind)


def plainly(structure: Structure, half: Half, numbers: Numbers, here: int, action: int, points: list[int]) -> float:
    """What an action is worth with these points of the factors' grids: the best of all that share the place of its
    own, or the worst, from below; what leads back to where one is counts as often as it takes to get away."""
    kind = int(structure.kind[action])
    factor = max(structure.kinds[kind][1], 0)
    grid, found = half.grids[factor], []
    for point in np.flatnonzero(grid.place == grid.place[points[factor]]).tolist():
        row = numbers.rows(kind, grid)[point]
        total, stays = row.paid, 0.0
        for chance, to, outcome in row.entries:
            there = int(structure.lead[structure.leads[action] + outcome])
            if there == here and grid.place[to] == grid.place[point]:
                stays += chance
            else:
                after = [[(1.0, to if f == factor else p)] for f, p in enumerate(points)]
                value = half.at(structure, there, after)
                assert value is not None
                total += chance * value
        found.append(total / (1 - stays) if stays < 1 - USELESS else -np.inf)
    return max(found) if numbers.upper else min(found)


def spend() -> POMDP:
    """One leaves the first room by what makes the first factor known: there it is never anything else."""
    sure, gone = np.ones((3, 1)), np.tile([0.0, 0.0, 1.0], (3, 1))
    rows = np.array([[0.8, 0.2], [0.3, 0.7], [0.5, 0.5]])
    tests = {
        (place, factor): Action(f"t{factor}", np.full(3, -0.1), rows, ("+", "-"), (place, place), factor)
        for place, factor in itertools.product("ab", (0, 1))
    }
    use = Action("use", np.array([3.0, -2.0, 0.0]), sure, ("done",), ("b",), 0, gone)
    stop = Action("stop", np.array([0.0, 1.0, 2.0]), sure, ("done",), (END,), 1)
    menus = {"a": (tests["a", 0], tests["a", 1], use), "b": (tests["b", 0], tests["b", 1], stop)}
    factors = tuple(Factor(name, ("x", "y", "z"), np.array([0.5, 0.3, 0.2])) for name in ("one", "two"))
    return POMDP(name="spend", factors=factors, start="a", menu=menus.__getitem__)


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("discount", [0.9, 1.0])
@pytest.mark.parametrize("spec", ["rocksample:n=2,k=2", "house", "spend"])
def test_an_action_is_worth_what_a_plain_sum_over_all_it_leads_to_says(spec: str, discount: float, upper: bool) -> None:
    """Whatever the values are; in a room where something is spent what it was before cannot come up."""
    known = {"house": random_problem(1, states=3), "spend": spend()}
    problem = known[spec] if spec in known else rhoplan.make(spec)
    found = search(problem, weight=0.3, discount=discount, levels=3)
    side, structure, rng = found.sides[0 if upper else 1], found.structure, np.random.default_rng(0)
    numbers = Numbers(structure, weight=0.3, discount=discount, upper=upper, hair=0.0)
    lattice = lattice_of(structure, side.settled, numbers, most=np.inf)
    assert lattice is not None
    half = Half(lattice, tuple(side.settled), rng.normal(size=int(lattice.room_at[-1])))
    held, base, looked = np.zeros(2, dtype=np.int64), np.zeros(len(lattice.room_at), dtype=np.int64), 0
    for _ in range(150):
        here = int(rng.integers(len(structure.observables)))
        room, action = int(structure.room[here]), int(rng.integers(structure.first[here], structure.first[here + 1]))
        places = [np.flatnonzero(lattice.digit[room, factor] >= 0) for factor in (0, 1)]
        if not all(map(len, places)):
            continue
        place = [int(rng.choice(some)) for some in places]
        points = [int(np.flatnonzero(grid.place == one)[0]) for grid, one in zip(side.settled, place, strict=True)]
        number = sum(int(lattice.digit[room, f, one] * lattice.stride[room, f]) for f, one in enumerate(place))
        set_out(lattice, room, number, held, base)
        assert held.tolist() == place
        expected = plainly(structure, half, numbers, here, action, points)
        assert worth(lattice, half.values, here, action, held, base, upper) == pytest.approx(expected)
        looked += np.isfinite(expected)
    assert looked > 40


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("reward", [1.0, 0.0, -1.0])
def test_to_stay_for_ever_is_worth_all_there_is_or_nothing(reward: float, upper: bool) -> None:
    """Without a discount: without limit from above where it pays, and else no plan at all."""
    idle = Action("idle", np.full(2, reward), np.ones((2, 1)), ("done",), ("here",))
    factors = (Factor("one", ("a", "b"), np.array([0.5, 0.5])),)
    structure = structure_of(POMDP(name="idle", factors=factors, start="here", menu=FixedMenu((idle,))))
    numbers = Numbers(structure, weight=0.0, discount=1.0, upper=upper, hair=0.0)
    lattice = lattice_of(structure, [corners(factors[0])], numbers, most=np.inf)
    assert lattice is not None
    held, base = np.zeros(1, dtype=np.int64), np.zeros(2, dtype=np.int64)
    set_out(lattice, 0, 0, held, base)
    found = worth(lattice, np.zeros(2), 0, 0, held, base, upper)
    assert found == (np.inf if upper and reward > 0 else -np.inf)


@pytest.mark.parametrize("discount", [0.9, 1.0])
def test_the_bounds_of_a_start_are_rounded_outward_and_never_grow_worse(discount: float) -> None:
    found = search(random_problem(1, states=3), weight=0.3, discount=discount, levels=1)
    for side in found.sides:
        assert side.lattice is not None
        value = start_value(side.lattice, side.values, found.structure, side.settled, 0.3)
        outward = side.bound - value if side.upper else value - side.bound
        assert 0 < outward < 1e-7
        better = value - 1.0 if side.upper else value + 1.0
        side.bound = better
        assert found._settle(side)
        assert side.bound == better


def test_values_begin_to_rise_below_anything_that_a_plan_may_earn() -> None:
    problem = random_problem(1)
    without = search(problem, discount=1.0, levels=1)
    above, below = without.sides
    assert without._least(below) == -np.inf
    assert -np.inf < without._least(above) <= -1000 * without.scale
    found = search(problem, discount=0.9, levels=1)
    assert [found._least(side) for side in found.sides] == [least_of(found.structure, 0.9)] * 2


@pytest.mark.parametrize(("weight", "discount"), [(0.0, 1.0), (0.7, 0.5)])
def test_bounds_of_a_situation_are_what_its_parts_say(weight: float, discount: float) -> None:
    """An action: its reward, what it tells, and the bounds of what follows. Above: the mixture of grid points that
    makes the beliefs up, and the entropy that it lacks. At the end: the best commit."""
    problem = random_problem(3)
    policy, rng = search(problem, weight=weight, discount=discount, levels=5).policy(), np.random.default_rng(1)
    for place in ("a", "b", "c") * 2:
        beliefs, here = list(rng.dirichlet(np.ones(2), 2)), policy.place_of(place)
        for action in problem.menu(place):
            own = beliefs[action.factor]
            chances, after = (part[0] for part in update(own[None], action))
            low = high = float(action.reward @ own) + weight * float(information(own[None], action)[0])
            for chance, belief, there in zip(chances, after, action.leads_to, strict=True):
                if there is not END:
                    then = [belief if f == action.factor else b for f, b in enumerate(beliefs)]
                    low += discount * chance * policy._lower(policy.place_of(there), then)
                    high += discount * chance * policy._upper(policy.place_of(there), then)
            assert policy.bounds_of(action, beliefs) == pytest.approx((low, high))
        stop = next(action for action in problem.menu(place) if action.name == "stop")
        assert policy._ending(here, beliefs) == pytest.approx(float(stop.reward @ beliefs[stop.factor]))
        grids = policy.above.grids
        mixtures = [mixture_of(g.points, b, np.arange(len(g.points))) for g, b in zip(grids, beliefs, strict=True)]
        total = 0.0
        for one, other in itertools.product(*mixtures):
            value = policy.above.at(policy.structure, here, [[(1.0, one[1])], [(1.0, other[1])]])
            total += one[0] * other[0] * value
        for grid, belief, mixture in zip(grids, beliefs, mixtures, strict=True):
            held = sum(share * float(entropy(grid.points[point])) for share, point in mixture)
            total += weight * (float(entropy(belief)) - held)
        assert policy._upper(here, beliefs) == pytest.approx(total)


def test_a_mixture_with_a_point_that_cannot_come_up_has_no_value() -> None:
    found = search(rhoplan.make("rocksample:n=2,k=2"), levels=2)
    half, structure = found.policy().below, found.structure
    missing = 0
    for here in range(len(structure.observables)):
        digits = half.lattice.digit[structure.room[here], 0, half.grids[0].place]
        known, other = np.flatnonzero(digits >= 0), np.flatnonzero(digits < 0)
        beside = np.flatnonzero(half.lattice.digit[structure.room[here], 1, half.grids[1].place] >= 0)
        if len(known) and len(other):
            mixed = [(0.5, int(known[0])), (0.5, int(other[0]))]
            assert half.at(structure, here, [mixed, [(1.0, int(beside[0]))]]) is None
            assert half.at(structure, here, [mixed[:1], [(1.0, int(beside[0]))]]) is not None
            missing += 1
    assert missing > 0


@pytest.mark.parametrize("weight", [0.0, 0.3])
def test_a_second_opinion_notices_values_that_claim_too_little_or_too_much(weight: float) -> None:
    policy = search(random_problem(1, states=3), weight=weight, levels=4).policy()
    assert check_grids(policy, np.random.default_rng(0), most=40).holds
    policy.above.values[:] -= 0.5
    assert check_grids(policy, np.random.default_rng(0), most=40).upper_excess > 0.1
    policy.above.values[:] += 0.5
    policy.below.values[:] += 0.5
    assert check_grids(policy, np.random.default_rng(0), most=40).lower_excess > 0.1
