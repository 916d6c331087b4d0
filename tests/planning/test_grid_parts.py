"""Parts of grids of beliefs: what can be told apart of a test, where tuples stand, and what can come up."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("numba", reason="grids are an extra")

from rhoplan.model.problem import END, Action, Factor, FixedMenu, Problem
from rhoplan.planning.certified.lattice.build import Numbers, lattice_of, start_tuples
from rhoplan.planning.certified.lattice.grid import contract, corners, refined
from rhoplan.planning.certified.lattice.rooms import NO_FACTOR, structure_of
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


def three_factors() -> Problem:
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
    return Problem(name="three", factors=factors, start="here", menu=FixedMenu(tuple(actions)))


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
    for here in range(len(found.structure.visibles)):
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
