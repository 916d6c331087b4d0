"""Changes of state, dense or sparse, say the same; outcomes seen after the change; payments left to chance."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rhoplan
from rhoplan.agents.agent import BoundAgent, decide, make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.belief_math import transitions
from rhoplan.belief_math.information import coupling, information, predict, update
from rhoplan.belief_math.sampling import RowSampler
from rhoplan.belief_math.transitions import Ways, payments
from rhoplan.model.worlds import in_names_of
from strategies import Draw, dice, distribution, laws

CLOSE = 1e-12


def change(draw: Draw, states: int, outcomes: int) -> np.ndarray:
    rows = [[distribution(draw, states) for _ in range(states)] for _ in range(outcomes)]
    return np.array(rows if draw(0, 1) else rows[0])


def as_sparse(matrix: np.ndarray) -> csr_array:
    flat = matrix.reshape(-1, matrix.shape[-1])
    rows, columns = np.nonzero(flat)
    order = np.random.default_rng(0).permutation(len(rows))
    return csr_array((flat[rows, columns][order], (rows[order], columns[order])), shape=flat.shape)


def both(draw: Draw) -> tuple[rhoplan.Action, rhoplan.Action, np.ndarray]:
    """One action, its change dense and sparse, and some beliefs."""
    states, outcomes = draw(1, 5), draw(1, 3)
    moves = change(draw, states, outcomes)
    likelihood = np.array([distribution(draw, outcomes) for _ in range(states)])
    names = tuple(f"o{o}" for o in range(outcomes))
    reward = np.array([draw(-4, 4) / 2 for _ in range(states)])
    dense = rhoplan.Action("act", reward, likelihood, names, ("here",) * outcomes, transition=moves)
    thin = rhoplan.Action("act", reward, likelihood, names, ("here",) * outcomes, transition=as_sparse(moves))
    return dense, thin, np.array([distribution(draw, states) for _ in range(3)])


@laws
@given(st.integers(0, 10**6))
def test_sparse_and_dense_update_alike(seed):
    dense, thin, beliefs = both(dice(seed))

    for one, other in zip(update(beliefs, dense), update(beliefs, thin), strict=True):
        np.testing.assert_allclose(one, other, atol=CLOSE)
    np.testing.assert_allclose(predict(beliefs, dense), predict(beliefs, thin), atol=CLOSE)
    np.testing.assert_allclose(information(beliefs, dense), information(beliefs, thin), atol=CLOSE)
    np.testing.assert_allclose(coupling(beliefs, dense), coupling(beliefs, thin), atol=1e-9)
    assert dense.least_likelihood == pytest.approx(thin.least_likelihood)
    assert dense.preserves_hidden_state == thin.preserves_hidden_state


@laws
@given(st.integers(0, 10**6))
def test_sparse_and_dense_have_the_same_verbs(seed):
    draw = dice(seed)
    states, outcomes = draw(1, 5), draw(2, 4)
    dense = change(draw, states, outcomes)
    thin = as_sparse(dense)
    order, columns = np.array(draw_order(draw, states)), np.array(draw_order(draw, outcomes))
    values = np.array([draw(-9, 9) for _ in range(states)], dtype=float)
    told = np.array([draw(0, outcomes - 1) for _ in range(4)])
    masses = np.array([distribution(draw, states) for _ in range(4)])

    np.testing.assert_array_equal(transitions.dense(thin, outcomes), transitions.dense(dense, outcomes))
    np.testing.assert_allclose(transitions.row_sums(thin), transitions.row_sums(dense), atol=CLOSE)
    turned = transitions.permuted(thin, columns, order)
    assert isinstance(turned, csr_array)
    wanted = transitions.permuted(dense, columns, order)
    np.testing.assert_array_equal(transitions.dense(turned, outcomes), transitions.dense(wanted, outcomes))
    np.testing.assert_allclose(
        transitions.moved_each(masses, thin, told), transitions.moved_each(masses, dense, told), atol=CLOSE
    )
    np.testing.assert_allclose(
        transitions.expected(thin, 0, values), transitions.expected(dense, 0, values), atol=CLOSE
    )


def draw_order(draw: Draw, size: int) -> list[int]:
    left = list(range(size))
    return [left.pop(draw(0, len(left) - 1)) for _ in range(size)]


@laws
@given(st.integers(0, 10**6), st.floats(0, 1, exclude_max=True) | st.just(float(np.nextafter(1.0, 0.0))))
def test_rows_are_drawn_with_the_most_probable_column_first(seed, uniform):
    draw = dice(seed)
    rows = np.array([distribution(draw, 5) for _ in range(5)])
    order = np.argsort(-rows, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(rows, order, axis=1), axis=1)
    asked = []

    for table in (rows, as_sparse(rows)):
        found = RowSampler(table).draw(
            np.arange(5), lambda places: asked.append(places.tolist()) or np.full(len(places), uniform)
        )
        for state, column in enumerate(found):
            assert rows[state, column] > 0
            if np.abs(sums[state] - uniform).min() > 1e-9:
                assert column == order[state, np.count_nonzero(sums[state] <= uniform)]

    several = np.flatnonzero(np.count_nonzero(rows, axis=1) > 1).tolist()
    assert asked == [several] * 2 * bool(several)


@laws
@given(st.integers(0, 10**6))
def test_outcomes_seen_after_the_change_have_the_joint_of_both(seed):
    draw = dice(seed)
    states, outcomes = draw(1, 4), draw(1, 3)
    moves = np.eye(states) if draw(0, 3) == 0 else np.array([distribution(draw, states) for _ in range(states)])
    shows = np.array([distribution(draw, outcomes) for _ in range(states)])
    if draw(0, 3) == 0:
        shows[:] = shows[0]

    for moved in (moves, as_sparse(moves)):
        likelihood, transition = rhoplan.from_transition_observation(moved, shows)
        per_outcome = transitions.dense(np.eye(states) if transition is None else transition, outcomes)
        for s, o, t in itertools.product(range(states), range(outcomes), range(states)):
            assert likelihood[s, o] * per_outcome[o, s, t] == pytest.approx(moves[s, t] * shows[t, o], abs=CLOSE)
    assert (transition is None) == np.array_equal(moves, np.eye(states))
    if np.all(shows == shows[0]) and transition is not None:
        assert transition.ndim == 2


def test_a_small_change_is_dense_and_a_large_one_sparse():
    states = 200
    shift = np.roll(np.eye(states), 1, axis=1)
    shows = np.eye(states)[:, :3] + np.outer(np.arange(states) > 2, [0.0, 0.0, 1.0])

    assert isinstance(rhoplan.from_transition_observation(shift, shows)[1], csr_array)
    assert isinstance(rhoplan.from_transition_observation(np.full((2, 2), 0.5), np.eye(2))[1], np.ndarray)


def test_small_numbers_are_not_taken_for_equal():
    """Payments of 1e-14, and changes whose chance is 1e-13, differ as large ones do."""
    moves, shows = np.array([[0.5, 0.5], [0.0, 1.0]]), np.eye(2)
    pays = np.zeros((1, 2, 2, 2))
    pays[0, 0, 1] = 4e-14
    small = rhoplan.from_arrays(moves[None], shows, pays, discount=1).menu("here")[0]
    assert small.reward == pytest.approx([2e-14, 0], rel=1e-9)
    assert small.pays is not None

    rare = np.array([[1 - 3e-13, 1e-13, 2e-13], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    shows = np.array([[1.0, 0.0], [0.25, 0.75], [0.75, 0.25]])
    likelihood, transition = rhoplan.from_transition_observation(rare, shows)
    found = likelihood[0] * transitions.dense(transition, 2)[:, 0, 1]
    assert found == pytest.approx([0.25e-13, 0.75e-13], rel=1e-9)


# -- whole problems -------------------------------------------------------------------------------------------------


def paying(draw: Draw, *, states: int = 3, outcomes: int = 2, actions: int = 2, thin: bool = False) -> rhoplan.POMDP:
    """A problem without an end whose payments depend on outcomes and on the states after them."""

    def act(number: int) -> rhoplan.Action:
        moves = np.array([distribution(draw, states) for _ in range(states)])
        shows = np.array([distribution(draw, outcomes) for _ in range(states)])
        ways = Ways.of(moves, shows)
        how = draw(0, 3)
        parts = (ways.before, ways.outcome, ways.after)[: 1 + (how > 0) + (how > 1)]
        keys = [tuple(row) for row in np.stack(parts, axis=1).tolist()]
        worth = {key: draw(-8, 8) / 2 for key in dict.fromkeys(keys)}
        ways = Ways(ways.states, ways.outcomes, ways.before, ways.outcome, ways.after, ways.chance,
                    np.array([worth[key] for key in keys]))  # fmt: skip
        names = tuple(f"o{o}" for o in range(outcomes))
        action = rhoplan.Action.from_ways(f"a{number}", ways, names, ("here",) * outcomes)
        if thin and action.transition is not None:
            kept = None if action.pays is None or action.pays.ndim == 2 else as_sparse(action.pays)
            kept = action.pays if kept is None else kept
            moved = as_sparse(np.asarray(action.transition))
            action = rhoplan.Action(action.name, action.reward, action.likelihood, names, action.leads_to,
                                    transition=moved, pays=kept)  # fmt: skip
        return action

    menu = tuple(act(number) for number in range(actions))
    factor = rhoplan.Factor("state", tuple(f"s{s}" for s in range(states)), np.array(distribution(draw, states)))
    problem = rhoplan.POMDP("paying", (factor,), "here", lambda _: menu, horizon=2, discount=0.9, cap=3)
    rhoplan.check_problem(problem)
    return problem


def brute(problem: rhoplan.POMDP, agent: BoundAgent) -> tuple[float, float, float]:
    """Mean, spread and discounted mean of what is paid, way by way."""
    found: list[tuple[float, float, float]] = []
    factor = problem.factors[0]

    def follow(situation, state, chance, paid, discounted, step):
        if step == problem.cap:
            found.append((chance, paid, discounted))
            return
        name = decide(problem, agent, situation).choice
        action = next(action for action in problem.menu(situation.observable) if action.name == name)
        per_outcome = transitions.dense(
            np.eye(len(factor.states)) if action.transition is None else action.transition, len(action.outcomes)
        )
        pays = (
            transitions.dense(action.pays, len(action.outcomes)) if isinstance(action.pays, csr_array) else action.pays
        )
        for one in situation.branches(action):
            o = action.outcomes.index(one.observation)
            for after in range(len(factor.states)):
                share = chance * action.likelihood[state, o] * per_outcome[o, state, after]
                if share > 0:
                    pay = action.reward[state] if pays is None else (
                        pays[state, o] if pays.ndim == 2 else pays[o, state, after])  # fmt: skip
                    worth = problem.discount**step * pay
                    follow(one.belief, after, share, paid + pay, discounted + worth, step + 1)

    for state in np.flatnonzero(factor.prior).tolist():
        follow(problem.belief(), state, factor.prior[state], 0.0, 0.0, 0)
    chance, paid, discounted = (np.array(column) for column in zip(*found, strict=True))
    mean = float(chance @ paid)
    return mean, float(np.sqrt(max(chance @ (paid - mean) ** 2, 0.0))), float(chance @ discounted)


@pytest.mark.parametrize("seed", range(15))
@pytest.mark.parametrize("thin", [False, True])
def test_spread_of_payments_is_that_of_all_ways(seed, thin):
    problem = paying(dice(seed), thin=thin)
    agent = make_agent("efe", problem, horizon=1)

    score = rhoplan.evaluate(problem, agent)

    mean, spread, discounted = brute(problem, agent)
    assert score.reward == pytest.approx(mean, abs=1e-9)
    assert score.reward_sd == pytest.approx(spread, abs=1e-7)
    assert score.discounted == pytest.approx(discounted, abs=1e-9)
    assert score.truncated == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(6))
def test_episodes_draw_the_payments(seed):
    """False alarm below 1e-6: five standard errors of the mean; the spread within a tenth, many times its error."""
    problem, thin = paying(dice(seed)), paying(dice(seed), thin=True)
    agent = make_agent("planning", problem, horizon=1)

    rows = simulate_episodes(problem, agent, seeds=(1,), episodes=4000)

    score = rhoplan.evaluate(problem, agent)
    assert abs(rows.reward.mean() - score.reward) <= 5 * score.reward_sd / 4000**0.5 + 1e-9
    assert rows.reward.std() == pytest.approx(score.reward_sd, rel=0.1, abs=1e-9)
    np.testing.assert_array_equal(simulate_episodes(thin, agent, seeds=(1,), episodes=4000).reward, rows.reward)
    assert rows.worst_paid.min() >= rows.worst_possible.min()


@pytest.mark.parametrize("seed", range(6))
def test_another_world_pays_its_own_payments(seed):
    problem = paying(dice(seed))
    for thin in (False, True):
        world = paying(dice(seed + 100), thin=thin)
        agent = make_agent("planning", problem, horizon=1)
        try:
            score = rhoplan.evaluate(problem, agent, world=world)
        except rhoplan.ImpossibleEvidence:
            return
        rows = simulate_episodes(problem, agent, world=world, seeds=(1,), episodes=4000)
        assert abs(rows.reward.mean() - score.reward) <= 5 * score.reward_sd / 4000**0.5 + 1e-9
        assert rows.reward.std() == pytest.approx(score.reward_sd, rel=0.1, abs=1e-9)
        rhoplan.check_problem(in_names_of(problem, world))


@pytest.mark.parametrize("planner", ["exact", "mcts", "pomcp"])
def test_planners_choose_alike_whatever_the_change_is_kept_in(planner):
    for seed in range(4):
        problem, thin = paying(dice(seed)), paying(dice(seed), thin=True)
        settings = {"planner": planner, **({} if planner == "exact" else {"simulations": 200})}
        one, other = (rhoplan.decide(p, make_agent("efe", p, **settings)) for p in (problem, thin))
        assert one.choice == other.choice


def test_payments_have_their_mean_variance_and_worst():
    likelihood = np.array([[0.5, 0.5], [1.0, 0.0]])
    pays = np.array([[4.0, -2.0], [3.0, 7.0]])

    found = payments(likelihood, None, pays)

    assert found.mean.tolist() == [1.0, 3.0]
    assert found.variance.tolist() == [9.0, 0.0]
    assert found.worst.tolist() == [-2.0, 3.0]
    assert found.worst_chance.tolist() == [0.5, 1.0]


def test_no_belief_at_all_is_moved_to_none():
    change = as_sparse(np.array([np.eye(3), np.full((3, 3), 1 / 3)]))
    assert transitions.moved(np.empty((0, 2, 3)), change).shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("change", "stays"),
    [
        (np.eye(3), True),
        (np.eye(3)[[0, 2, 1]], False),
        (np.eye(3)[[1, 2, 0]], False),
        (np.array([[1, 0], [0.5, 0.5]]), False),
        (np.stack([np.eye(2), np.eye(2)]), True),
        (np.stack([np.eye(2), np.eye(2)[::-1]]), False),
    ],
)
def test_nothing_changes_only_where_every_state_stays(change: np.ndarray, stays: bool) -> None:
    assert transitions.is_identity(change) == transitions.is_identity(as_sparse(change)) == stays
