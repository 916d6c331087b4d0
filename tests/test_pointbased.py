"""Certified bounds for any finite problem: they contain what independent recursions find, and say when they cannot."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import rhoplan
from rhoplan.errors import AgentError, LimitError, ProblemError
from rhoplan.planning.certified.pointbased.check import check_plan
from rhoplan.planning.certified.pointbased.compiled import Compiled, dense_joint, flat
from rhoplan.planning.certified.pointbased.graph import (
    AT,
    COUNT,
    ENTRIES,
    INDEX,
    LOWER,
    NODES,
    TRIALS,
    UPPER,
    VECTOR_AT,
    WORK,
)
from rhoplan.planning.certified.pointbased.potential import MARGIN, least_share
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.solve import GeneralSolution, Search, solve_general
from rhoplan.planning.certified.pointbased.vectors import project
from rhoplan.planning.certified.solve import solve
from small import Small, draw, entropy, recursion, step

WEIGHTS = (0.0, 0.3, 1.0, 5.0)


def on_grid(problem: Small, weight: float, discount: float, cells: int) -> float:
    """The value of the start, two hidden states, by value iteration on a grid: W interpolated lies above the truth."""
    place = np.linspace(0, 1, cells + 1)
    beliefs = np.zeros((cells + 1, problem.reward.shape[1]))
    beliefs[:, 0], beliefs[:, 1] = 1 - place, place
    at = np.vstack([beliefs, problem.start])
    steps = []
    for action in range(len(problem.reward)):
        chance, after, information = step(problem, at, action)
        alive = after[..., :2].sum(axis=-1) > 0.5  # the end is seen when it comes
        position = np.clip(after[..., 1] * cells, 0, cells)
        low = np.minimum(position.astype(int), cells - 1)
        paid = at @ problem.reward[action] + weight * information
        steps.append((chance * alive, low, position - low, entropy(after), paid))
    curve = np.zeros(cells + 1)
    own, best = entropy(at), np.zeros(len(at))
    for _ in range(3000):
        options = []
        for chance, low, share, doubt, paid in steps:
            later = curve[low] * (1 - share) + curve[low + 1] * share + weight * doubt
            options.append(paid + discount * (chance * later).sum(axis=1))
        before, best = best, np.max(options, axis=0)
        curve = (best - weight * own)[:-1]
        if np.abs(best - before).max() < 1e-10:
            break
    return float(best[-1])


def solved(problem: Small, weight: float, discount: float, gap: float = 1e-3) -> GeneralSolution:
    return solve_general(problem.compiled, weight=weight, discount=discount, gap=gap, seconds=600)


@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
@pytest.mark.parametrize("weight", WEIGHTS)
def test_bounds_contain_the_value_on_a_grid(weight: float, discount: float) -> None:
    for seed in range(12):
        problem = draw(seed + int(1000 * discount), 2, ends=discount == 1)
        found = solved(problem, weight, discount)
        coarse, fine = (on_grid(problem, weight, discount, cells) for cells in (250, 1000))
        error = 4 * abs(coarse - fine) + 1e-7  # interpolation errs by the square of the cell: a sixteenth is left
        assert found.stopped_by == "gap"
        assert found.lower <= fine + 1e-8
        assert found.upper >= fine - error


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_bounds_and_plan_of_a_problem_that_needs_few_steps_hold(weight: float) -> None:
    problem = draw(3, 2)
    found = solved(problem, weight, 0.5, gap=0.1)
    value = on_grid(problem, weight, 0.5, 250)
    assert found.stopped_by == "gap"
    assert found.upper - 0.1 <= found.lower <= value + 1e-3
    assert found.upper >= value - 1e-3
    assert check_plan(found.plan, np.random.default_rng(0)).holds


def test_a_search_begins_with_a_bound_on_either_side() -> None:
    search = Search(draw(3, 3).compiled, weight=0.0, discount=0.5, gap=0.1, seconds=600, memory=1e9)
    lower, upper = search.bounds
    assert -np.inf < lower <= upper < np.inf


def test_what_a_result_leaves_of_a_belief_is_worked_out_and_counted_as_work() -> None:
    problem = draw(3, 3)
    search = Search(problem.compiled, weight=0.0, discount=0.5, gap=0.1, seconds=600, memory=1e9)
    before, after = int(search.graph.used[WORK]), np.zeros(3)
    total = sum(project(search.model, search.graph, branch, problem.start, 3, after) for branch in range(2))
    assert total == pytest.approx(1.0)
    assert after == pytest.approx(problem.start @ problem.joint[0, 1])
    assert search.graph.used[WORK] > before


def test_points_are_looked_at_where_they_are_likeliest_first() -> None:
    search = Search(draw(3, 3).compiled, weight=0.0, discount=0.5, gap=0.1, seconds=600, memory=1e9)
    search.run()
    graph = search.graph
    assert graph.used[ENTRIES] > 3
    for entry in range(graph.used[ENTRIES]):
        row = graph.node[graph.entry[entry, 1]]
        assert row[INDEX] < 0  # all three states are possible
        likeliest = np.sort(graph.value[row[AT] : row[AT] + 3])[::-1]
        assert graph.inverse[entry, :3] == pytest.approx(1 / likeliest, rel=1e-12)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_bounds_contain_the_recursion_and_its_tail(weight: float) -> None:
    discount, depth = 0.5, 7
    for seed in range(14):
        problem = draw(seed, 3)
        found = solved(problem, weight, discount)
        value = float(recursion(problem, problem.start[None], depth, weight, discount)[0])
        tail = discount**depth / (1 - discount)
        assert found.stopped_by == "gap"
        assert found.lower <= value + tail * (problem.reward.max() + weight * np.log(3))
        assert found.upper >= value + tail * problem.reward.min()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_bounds_contain_what_even_odds_are_worth(weight: float) -> None:
    """Each state is followed by both, as likely: sums over outcomes make either more than half, or less."""
    discount, told = 0.9, np.random.default_rng(7).dirichlet(np.ones(3), (60, 1, 2))
    for likelihood in told:
        joint = likelihood[0] / 2
        each = weight * (joint * np.log(2 * joint / joint.sum(axis=0))).sum() + 1.0
        problem = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), likelihood, np.ones((1, 2)), discount=discount)
        found = solve(problem, weight=weight, gap=1e-6)
        assert found.lower - 1e-9 <= each / (1 - discount) <= found.upper + 1e-9


@pytest.mark.parametrize("weight", WEIGHTS)
def test_value_without_potential_is_convex(weight: float) -> None:
    rng = np.random.default_rng(5)
    for seed in range(20):
        problem = draw(seed, 3)
        left, right = rng.dirichlet(np.ones(3), 40), rng.dirichlet(np.full(3, 0.3), 40)
        share = rng.uniform(size=(40, 1))
        between = share * left + (1 - share) * right
        w_left, w_right, w_between = (
            recursion(problem, b, 3, weight, 0.9) - weight * entropy(b) for b in (left, right, between)
        )
        assert np.all(w_between <= share[:, 0] * w_left + (1 - share[:, 0]) * w_right + 1e-9)


@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
def test_value_without_the_least_potential_is_convex(discount: float) -> None:
    rng, shares = np.random.default_rng(6), []
    for seed in range(20):
        problem = draw(seed, 3)
        shares.append(least_share(problem.compiled, discount))
        left, right = rng.dirichlet(np.full(3, 0.5), 40), rng.dirichlet(np.full(3, 0.3), 40)
        right = left + 0.1 * (right - left)
        ends, middle = (
            recursion(problem, b, 3, 1.0, discount) - shares[-1] * entropy(b)
            for b in (np.concatenate([left, right]), (left + right) / 2)
        )
        assert np.all(middle <= ends.reshape(2, -1).mean(axis=0) + 1e-9)
    assert min(shares) < 0.3 < max(shares)


@pytest.mark.parametrize("discount", [0.5, 0.95, 1.0])
def test_least_potential_of_a_state_that_stays_is_known(discount: float) -> None:
    told = np.array([[0.8, 0.2], [0.2, 0.8]])
    problem = flat(dense_joint(np.eye(2)[None], told[None]), np.ones((1, 2)), np.array([0.5, 0.5]))
    kept = 0.6**2  # 1 - 2 (0.8)(0.2) / 0.5, at even odds
    assert least_share(problem, discount) == pytest.approx(kept / (1 - discount + discount * kept), abs=2 * MARGIN)


def test_least_potential_is_all_where_a_test_tells_all_and_none_where_it_tells_nothing() -> None:
    for told, share in ((np.eye(3), 1.0), (np.full((3, 2), 0.5), 0.0)):
        problem = flat(dense_joint(np.eye(3)[None], told[None]), np.ones((1, 3)), np.full(3, 1 / 3))
        assert least_share(problem, 0.9) == pytest.approx(share, abs=2 * MARGIN)


def tiger(discount: float = 0.95) -> Compiled:
    listen, reset = np.eye(2), np.full((2, 2), 0.5)
    told, nothing = np.array([[0.85, 0.15], [0.15, 0.85]]), np.full((2, 2), 0.5)
    reward = np.array([[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]])
    joint = dense_joint(np.stack([listen, reset, reset]), np.stack([told, nothing, nothing]))
    return flat(joint, reward, np.array([0.5, 0.5]), actions=("listen", "open-left", "open-right"))


@pytest.mark.parametrize(("weight", "value"), [(0.0, 19.371368), (1.0, 22.484883)])
def test_tiger_has_its_known_value(weight: float, value: float) -> None:
    found = solve_general(tiger(), weight=weight, discount=0.95, gap=1e-4, seconds=600)
    assert found.lower <= value + 1e-6
    assert found.upper >= value - 1e-6
    assert found.upper - found.lower <= 1e-4
    assert found.first == "listen"


def test_certificates_hold_and_notice_a_claim_too_high() -> None:
    for weight in (0.0, 1.0):
        search = Search(tiger(), weight=weight, discount=0.95, gap=1e-3, seconds=600, memory=1e9)
        plan = search.solution(search.run()).plan
        assert check_plan(plan, np.random.default_rng(0)).holds
        at = plan.graph.vector[plan.root_vector, VECTOR_AT]
        plan.graph.alpha[at] += 1e-3
        assert not check_plan(plan, np.random.default_rng(0)).holds
        plan.graph.alpha[at] -= 1e-3
        search.graph.bound[0, UPPER] -= 1e-2
        assert not check_plan(search.solution("gap").plan, np.random.default_rng(0)).holds


@pytest.mark.parametrize("most", [300, 4])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_certificates_notice_a_known_state_that_claims_too_little(weight: float, most: int) -> None:
    """It is no mixture of others, and many lean on it: its own word is not enough, nor is it left out by chance."""
    search = Search(tiger(), weight=weight, discount=0.95, gap=1e-3, seconds=600, memory=1e9)
    search.run()
    known = np.flatnonzero(search.graph.node[: search.graph.used[NODES], COUNT] == 1)
    assert len(known) == 2
    assert check_plan(search.solution("gap").plan, np.random.default_rng(0), most=most).holds
    search.graph.bound[known[0], UPPER] -= 1.0
    search.graph.corner[0] -= 1.0
    search.graph.corner[1] -= 1.0
    assert not check_plan(search.solution("gap").plan, np.random.default_rng(0), most=most).holds


@pytest.mark.parametrize("cut", [1e-3, 10.0])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_certificates_notice_a_corner_that_claims_too_little(weight: float, cut: float) -> None:
    """All mixtures lean on the corners, whether or not a node stands there."""
    search = Search(tiger(), weight=weight, discount=0.95, gap=1e-3, seconds=600, memory=1e9)
    search.run()
    search.graph.corner[:] -= cut
    assert not check_plan(search.solution("gap").plan, np.random.default_rng(0)).holds


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_certificates_hold_whatever_rewards_are_counted_in(scale: float) -> None:
    for seed in range(6):
        problem = draw(seed, 3)
        counted = replace(problem, reward=scale * problem.reward)
        found = solved(counted, 0.0, 0.9, gap=1e-2 * scale)
        assert check_plan(found.plan, np.random.default_rng(seed), most=40).holds


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_certificates_hold_on_random_problems(weight: float) -> None:
    for seed in range(6):
        found = solved(draw(seed, 3), weight, 0.9, gap=1e-2)
        assert check_plan(found.plan, np.random.default_rng(seed), most=40).holds


def test_plan_gives_both_bounds_anywhere() -> None:
    found = solve_general(tiger(), discount=0.95, gap=1e-4, seconds=600)
    for p in np.linspace(0, 1, 21):
        belief = np.array([p, 1 - p])
        lower, vector = found.plan.lower(0, belief)
        assert lower <= found.plan.upper(0, belief)
        assert found.plan.pair(vector) in range(3)
    assert found.plan.lower(0, np.array([0.5, 0.5]))[0] == pytest.approx(found.lower)


def corridor() -> Compiled:
    """Three places that are seen, a hidden bit that is not: six states, and a start anywhere."""
    transition = np.zeros((2, 6, 6))
    for action, step_ in enumerate((1, -1)):
        for place in range(3):
            for bit in range(2):
                transition[action, 2 * place + bit, 2 * int(np.clip(place + step_, 0, 2)) + bit] = 1.0
    likelihood = np.repeat(np.repeat(np.eye(3), 2, axis=0)[None], 2, axis=0)
    reward = np.tile([0.0, 0.0, 0.0, 0.0, 1.0, -1.0], (2, 1))
    return flat(dense_joint(transition, likelihood), reward, np.full(6, 1 / 6))


def test_classes_are_what_is_seen_and_the_start_stands_apart() -> None:
    problem = corridor()
    assert sorted(problem.sizes.tolist()) == [2, 2, 2, 6]
    assert len(problem.start) == 6
    assert {frozenset(problem.state[first:last].tolist()) for first, last in _ranges(problem)} == {
        frozenset(range(6)),
        frozenset({0, 1}),
        frozenset({2, 3}),
        frozenset({4, 5}),
    }


def _ranges(problem: Compiled) -> list[tuple[int, int]]:
    return list(zip(problem.model.class_state[:-1].tolist(), problem.model.class_state[1:].tolist(), strict=True))


def test_states_that_cannot_be_reached_are_dropped() -> None:
    transition = np.array([[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    problem = flat(dense_joint(transition, np.ones((1, 3, 1))), np.ones((1, 3)), np.array([1.0, 0.0, 0.0]))
    assert problem.state.tolist() == [0]


@pytest.mark.parametrize("spec", ["tiger", "testbed", "diagnosis:n=4", "bandit:k=3"])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_agrees_with_the_solver_of_observe_then_commit(spec: str, weight: float) -> None:
    problem = rhoplan.make(spec)
    here = solve_general(compile_problem(problem), weight=weight, discount=1.0, gap=1e-2, seconds=600)
    there = solve(problem, weight=weight, gap=1e-2, seconds=600)
    assert here.stopped_by == "gap"
    assert here.lower <= there.upper + 1e-9
    assert there.lower <= here.upper + 1e-9
    assert check_plan(here.plan, np.random.default_rng(0), most=40).holds


def test_rocksample_is_split_by_cell_and_spent_rocks() -> None:
    problem = compile_problem(rhoplan.make("rocksample:n=3,k=2"))
    assert set(problem.sizes.tolist()) == {1, 2, 4}
    found = solve_general(problem, discount=1.0, gap=1e-2, seconds=600)
    assert found.stopped_by == "gap"
    assert check_plan(found.plan, np.random.default_rng(0), most=40).holds


def test_information_about_what_is_visible_is_no_news() -> None:
    """A walk with visible slips, no hidden doubt left: nothing to gain by any weight."""
    listen = rhoplan.Action("look", np.zeros(2), np.full((2, 2), 0.5), ("a", "b"), ("left", "right"))
    stop = rhoplan.Action("stop", np.array([1.0, 0.0]), np.ones((2, 1)), ("done",), (rhoplan.END,))
    walk = replace(listen, reward=np.full(2, -0.1))
    factor = rhoplan.Factor("bit", ("no", "yes"), np.array([0.5, 0.5]))
    problem = rhoplan.POMDP("walk", (factor,), "left", lambda _: (walk, stop))
    found = solve_general(compile_problem(problem), weight=3.0, discount=1.0, gap=1e-4, seconds=600)
    assert found.lower <= 0.5 <= found.upper <= 0.5001


def test_negative_weight_is_refused() -> None:
    with pytest.raises(AgentError, match="weight must be a number of at least 0"):
        solve_general(tiger(), weight=-0.1, discount=0.95)


@pytest.mark.parametrize("discount", [0.0, 1.1])
def test_discount_outside_its_range_is_refused(discount: float) -> None:
    with pytest.raises(AgentError, match="discount must be above 0"):
        solve_general(tiger(), discount=discount)


def shake_and_look(cost: float) -> Compiled:
    """A coin that every look shakes again; or stop."""
    transition = np.zeros((2, 3, 3))
    transition[0, :2, :2], transition[0, 2, 2], transition[1, :, 2] = 0.5, 1.0, 1.0
    likelihood = np.repeat(np.eye(3)[None], 2, axis=0)
    reward = np.array([[-cost, -cost, 0.0], [0.0, 0.0, 0.0]])
    return flat(dense_joint(transition, likelihood), reward, np.array([0.5, 0.5, 0.0]))


def test_reward_for_ever_without_discount_is_refused() -> None:
    with pytest.raises(ProblemError, match="a reward can be collected for ever"):
        solve_general(shake_and_look(-0.1), discount=1.0)


def test_information_for_ever_without_discount_is_refused() -> None:
    with pytest.raises(ProblemError, match="information can be made for ever"):
        solve_general(shake_and_look(0.1), weight=1.0, discount=1.0)
    dear = solve_general(shake_and_look(0.8), weight=1.0, discount=1.0, gap=1e-3, seconds=600)
    assert dear.lower <= 0.0 <= dear.upper  # a look gives ln 2 = 0.69: not worth it


def test_no_end_without_discount_is_refused() -> None:
    still = dense_joint(np.eye(2)[None], np.ones((1, 2, 1)))
    endless = flat(still, np.full((1, 2), -1.0), np.array([0.5, 0.5]))
    with pytest.raises(ProblemError, match="some plan must end for sure"):
        solve_general(endless, discount=1.0)


def test_too_large_for_memory_is_refused() -> None:
    with pytest.raises(LimitError, match="must fit into"):
        compile_problem(rhoplan.make("rocksample:n=7,k=8"), memory=1e6)


def test_stops_when_interrupted_or_short_of_memory() -> None:
    def interrupt(lower: float, upper: float, nodes: int) -> None:
        raise KeyboardInterrupt

    problem = draw(3, 3)
    found = solve_general(problem.compiled, discount=0.95, gap=1e-9, seconds=600, progress=interrupt)
    assert found.stopped_by == "interrupted"
    assert found.lower <= found.upper
    short = solve_general(problem.compiled, discount=0.95, gap=1e-9, seconds=600, memory=2e5)
    assert short.stopped_by == "memory"
    late = solve_general(problem.compiled, discount=0.95, gap=1e-9, seconds=0.0)
    assert late.stopped_by == "time"
    assert late.lower <= short.upper
    assert short.lower <= late.upper


def test_forgetting_changes_no_bound_for_the_worse() -> None:
    search = Search(draw(11, 3).compiled, weight=1.0, discount=0.95, gap=1e-3, seconds=600, memory=1e9)
    search.run()
    before = search.bounds
    search.forget()
    assert search.graph.bound[0, LOWER] >= before[0]
    assert search.graph.bound[0, UPPER] <= before[1]


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_settling_tightens_both_bounds_and_keeps_certificates(weight: float) -> None:
    def stop(lower: float, upper: float, nodes: int) -> None:
        if search.graph.used[TRIALS] >= 20:
            raise KeyboardInterrupt

    search = Search(tiger(), weight=weight, discount=0.95, gap=1e-9, seconds=600, memory=1e9)
    search.next_prune = np.inf
    assert search.run(stop) == "interrupted"
    before = search.bounds
    search.forget()
    search.settle()
    lower, upper = search.bounds
    assert lower > before[0]
    assert upper < before[1]
    assert check_plan(search.solution("time").plan, np.random.default_rng(0)).holds


def test_a_plan_that_goes_round_in_a_circle_is_worth_what_it_earns_for_ever() -> None:
    """A machine wears out unseen: work some times, then replace it. No plan that forgets how often earns anything."""
    discount, wear, price = 0.99999, 0.2, 2.0
    transition = np.array([[[1 - wear, wear], [0, 1]], [[1, 0], [1, 0]]])
    pays = np.array([[1.0, 0.0], [-price, -price]])
    problem = flat(dense_joint(transition, np.ones((2, 2, 1))), pays, np.array([1.0, 0.0]))
    worth = [
        (sum((discount * (1 - wear)) ** i for i in range(times)) - price * discount**times)
        / (1 - discount ** (times + 1))
        for times in range(1, 40)
    ]

    told = []

    def enough(lower: float, upper: float, nodes: int) -> None:
        told.append((lower, upper))
        if len(told) == 30:
            raise KeyboardInterrupt

    found = solve_general(problem, discount=discount, gap=0.01, seconds=600, progress=enough)

    assert found.lower == pytest.approx(max(worth), abs=0.01)
    assert found.lower <= max(worth) <= found.upper
    assert check_plan(found.plan, np.random.default_rng(0)).holds
