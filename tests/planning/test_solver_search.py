"""Bounds of the search against exact values of random models, and against the solver that it is to replace."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba", reason="the search needs the extra rhoplan[fast]")

from contract.drawn_files import Drawn, pomdp
from rhoplan.io.formats import parse_problem
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.first import first_bounds
from rhoplan.planning.certified.pointbased.given import given
from rhoplan.planning.certified.pointbased.growing import make_settings
from rhoplan.planning.certified.pointbased.lasting import lasting
from rhoplan.planning.certified.pointbased.potential import least_share
from rhoplan.planning.certified.pointbased.solve import solve_general
from rhoplan.planning.solver.blocks import LANES
from rhoplan.planning.solver.search import Prepared, Search
from rhoplan.planning.solver.settings import Parameters, SearchSettings
from rhoplan.planning.solver.tabular import ACTION, BRANCH, CLASS, Tabular

GAP = 0.01


def compiled(drawn: Drawn, weight: float) -> Compiled:
    problem = parse_problem(drawn.text, file=drawn.name, language="pomdp")
    return next(iter(given(problem, weight=weight, discount=problem.discount)))


def tabular(problem: Compiled) -> Tabular:
    model = problem.model
    classes = np.zeros(len(model.class_pair), CLASS)
    actions = np.zeros(len(model.pair_branch), ACTION)
    branches = np.zeros(len(model.branch_target) + 1, BRANCH)
    classes["first_state"], classes["first_action"] = model.class_state, model.class_pair
    actions["class_"][:-1], actions["first_reward"] = model.pair_class, model.pair_reward
    actions["first_branch"] = model.pair_branch
    branches["target"][:-1], branches["first_row"] = model.branch_target, model.branch_row
    return Tabular(
        classes, actions, branches, model.reward, model.row, model.column.astype(np.int32), model.chance, model.symbol
    )


def search(problem: Compiled, weight: float, discount: float, settings: SearchSettings) -> Search:
    share = least_share(problem, discount) if weight > 0 else 1.0
    steps = lasting(problem, discount, np.inf)
    asked = {"weight": weight, "share": share, "discount": discount}
    first = first_bounds(problem, steps=steps, deadline=np.inf, **asked)
    old = make_settings(problem, first, gap=GAP, **asked)
    parameters = Parameters(
        weight=weight,
        convexity=share * weight,
        discount=discount,
        gap=0.9 * GAP,
        rounding=old.rounding,
        outward=old.outward,
        penalty=old.penalty,
        loss=old.lost,
        span=old.span,
        most_children=old.most_children,
        most_numbers=old.most_numbers,
        settings=settings,
    )
    policies = list(zip(first.vectors, first.taken, strict=True))
    prepared = Prepared(
        tabular(problem), problem.start_class, problem.start, first.action, first.corner, policies, steps
    )
    return Search(prepared, parameters)


@pytest.mark.parametrize("seed", range(0, 48, 6))
@pytest.mark.parametrize("weight", [0.0, 1.0])
@pytest.mark.parametrize("hull_states", [0, 20])
def test_the_bounds_hold_the_exact_value(seed: int, weight: float, hull_states: int) -> None:
    drawn = pomdp(seed + 2, weight=weight)  # discount 0.5: the value is exact up to what comes after some steps
    assert drawn.value is not None
    found = search(compiled(drawn, weight), weight, 0.5, SearchSettings(hull_states=hull_states))
    assert found.run(600) == "gap"
    lower, upper = found.bounds
    assert 0 <= upper - lower <= GAP
    assert lower <= drawn.value[1]
    assert drawn.value[0] <= upper


@pytest.mark.parametrize("seed", [0, 1, 5])
@pytest.mark.parametrize("hull_states", [0, 20])
def test_the_bounds_of_nodes_follow_from_vectors_and_points_after_pruning(seed: int, hull_states: int) -> None:
    drawn, weight = pomdp(seed), 0.3
    problem = compiled(drawn, weight)
    found = search(problem, weight, 0.9, SearchSettings(hull_states=hull_states))
    for _ in range(3):
        found.run(0.3)
        found.refine()
        tree = found.tree
        nodes, vectors = tree.nodes[: tree.counts[0]["nodes"]], tree.vectors
        for node in nodes[nodes["best_vector"] >= 0]:
            vector = vectors[node["best_vector"]]
            block, lane = divmod(int(vector["place"]), LANES)
            assert tree.alpha.item[block, lane] == node["best_vector"]
            held = slice(node["first"], node["first"] + node["size"])
            at = tree.alpha.blocks["first"][block] + lane + LANES * tree.state[held]
            worth = tree.alpha.numbers[at] @ tree.mass[held]
            worth += vector["has_entropy"] * found.parameters.convexity * node["entropy"]
            assert node["lower"] == pytest.approx(worth, abs=1e-9)
        for place, node in enumerate(nodes):
            if node["point"] >= 0:
                assert tree.points.item[divmod(int(node["point"]), LANES)] == place
        assert (nodes["lower"] <= nodes["upper"] + 1e-9).all()


@pytest.mark.parametrize("seed", [0, 1, 5, 6, 7, 11])
@pytest.mark.parametrize("hull_states", [0, 20])
def test_the_bounds_meet_those_of_the_other_solver(seed: int, hull_states: int) -> None:
    drawn, weight = pomdp(seed), 0.3
    problem = compiled(drawn, weight)
    discount = parse_problem(drawn.text, file=drawn.name, language="pomdp").discount
    found = search(problem, weight, discount, SearchSettings(hull_states=hull_states))
    found.run(2)
    before = found.bounds
    found.refine()
    lower, upper = found.bounds
    assert before[0] <= lower <= upper <= before[1]
    other = solve_general(problem, weight=weight, discount=discount, gap=GAP, seconds=2)
    assert lower <= other.upper
    assert other.lower <= upper
