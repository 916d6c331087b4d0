"""Problems from arrays, and problems that go on for ever."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

import rhoplan
from bridge import cut_off_worth, has_commits, is_endless, largest_payment, main, make_agent, path_of, simulate_episodes
from strategies import Draw, dice, distribution, laws
from test_pomdp_files import TIGER, joint, value


def tables(draw: Draw, actions: int, states: int, outcomes: int) -> tuple[np.ndarray, np.ndarray]:
    moves = [[distribution(draw, states) for _ in range(states)] for _ in range(actions)]
    shows = [[distribution(draw, outcomes) for _ in range(states)] for _ in range(actions)]
    return np.array(moves), np.array(shows)


@laws
@given(st.integers(0, 10**6))
def test_arrays_give_the_joint_and_the_mean_reward(seed):
    draw = dice(seed)
    actions, states, outcomes = draw(1, 2), draw(3, 4), draw(1, 3)
    moves, shows = tables(draw, actions, states, outcomes)
    shape = [(actions, states), (states, actions), (actions, states, states), (actions, states, states, outcomes)][
        draw(0, 3)
    ]
    pays = np.array([draw(-8, 8) / 2 for _ in range(int(np.prod(shape)))]).reshape(shape)

    problem = rhoplan.from_arrays(moves, shows, pays, discount=0.9)

    full = pays.T if shape == (states, actions) else pays
    full = np.broadcast_to(full.reshape(*full.shape, *(1,) * (4 - full.ndim)), (actions, states, states, outcomes))
    for number, action in enumerate(problem.menu(problem.start)):
        both = np.einsum("st,to->sot", moves[number], shows[number])
        np.testing.assert_allclose(joint(problem, action.name), both, atol=1e-12)
        np.testing.assert_allclose(action.reward, np.einsum("sot,sto->s", both, full[number]), atol=1e-12)


def test_one_table_of_observations_serves_all_actions():
    moves = np.stack([np.eye(3), np.roll(np.eye(3), 1, axis=1)])
    shows = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])

    problem = rhoplan.from_arrays(
        moves, shows, np.zeros((2, 3)), discount=1, start=[1, 0, 0], states=["a", "b", "c"], actions=["stay", "go"],
        observations=["low", "high"], name="ring",
    )  # fmt: skip

    assert problem.name == "ring"
    stay, go = problem.menu("here")
    assert stay.likelihood.tolist() == shows.tolist()
    assert go.outcomes == ("low", "high")
    assert go.likelihood.tolist() == np.roll(shows, -1, axis=0).tolist()


TWO = {"T": np.stack([np.eye(2)] * 3), "Z": np.full((2, 2), 0.5), "R": np.zeros((3, 2)), "discount": 0.9}


@pytest.mark.parametrize(
    ("fields", "words", "field"),
    [
        ({"T": np.eye(2)}, "T must have the shape actions x states x states; it has (2, 2)", ("T",)),
        ({"T": np.zeros((3, 2, 2))}, "T[0] must hold probabilities that sum to 1", ("T", 0, 0)),
        ({"Z": np.zeros((3, 3, 2))}, "Z must have the shape (3, 2, observations) or (2, observations)", ("Z",)),
        ({"Z": np.full((2, 2), 0.4)}, "Z[0] must hold probabilities that sum to 1", ("Z", 0, 0)),
        ({"R": np.zeros(3)}, "R must have the shape (2, 3), (3, 2), (3, 2, 2) or (3, 2, 2, 2); it has (3,)", ("R",)),
        ({"R": np.zeros((3, 2, 3))}, "R must have the shape", ("R",)),
        ({"T": np.stack([np.eye(2)] * 2), "R": np.eye(2)}, "could be states x actions or actions x states", ("R",)),
        ({"start": [1.0]}, "start must have the shape (2,)", ("start",)),
        ({"start": [0.5, 0.4]}, "start must hold probabilities that sum to 1; they sum to 0.9", ("start",)),
        ({"start": [1.5, -0.5]}, "start must hold probabilities that sum to 1; one is -0.5", ("start",)),
        ({"R": np.array([[0, -np.inf], [0, 0], [0, 0]])}, "rewards must be finite numbers; one is -inf", ("R",)),
        ({"T": np.stack([np.eye(2)] * 3) + 1j}, "T must be an array of numbers", ("T",)),
        ({"T": [[[1, 0], [0]]]}, "T must be an array of numbers", ("T",)),
        ({"Z": np.ma.masked_less(np.eye(2), 0.5)}, "Z must be an array of numbers", ("Z",)),
        ({"R": [["a", "b"]] * 3}, "R must be an array of numbers", ("R",)),
        ({"T": np.zeros((0, 2, 2))}, "T must have an action and a state; it has 0 and 2", ("T",)),
        ({"discount": "0.95"}, "discount must be above 0 and at most 1; it is '0.95'", ("discount",)),
        ({"states": ["a"]}, "states must have 2 names; there are 1", ("states",)),
        ({"actions": ["a", "b", "a"]}, "'a' stands there twice", ("actions",)),
        ({"discount": 0.0}, "discount must be above 0", ("discount",)),
    ],
)
def test_shapes_that_do_not_fit_are_refused(fields, words, field):
    with pytest.raises(rhoplan.ProblemError) as caught:
        rhoplan.from_arrays(**{**TWO, **fields})

    assert words in caught.value.message
    assert caught.value.field == field


def test_numbers_of_few_digits_are_divided_by_their_sums():
    fields = {**TWO, "Z": np.array([[0.9, 0.1], [0.3, 0.7]], np.float32), "start": np.array([0.9, 0.1], np.float32)}
    problem = rhoplan.from_arrays(**fields)
    assert problem.menu("here")[0].likelihood.sum(axis=1).tolist() == [1, 1]
    assert "divided by their sums" in problem.note
    assert rhoplan.from_arrays(**TWO, states=[1, 2]).factors[0].states == ("1", "2")


@pytest.mark.parametrize(
    ("lists", "words"),
    [
        ({"B": []}, "B must be a list of arrays"),
        ({"B": [np.eye(2)[:, :, None]] * 2}, "B must have as many arrays as D, 1; it has 2"),
        ({"C": [np.zeros(2)] * 2}, "C must have as many arrays as A, 1; it has 2"),
        ({"C": [np.zeros(3)]}, "C[0] must have the shape (2,); it has (3,)"),
        ({"C": [np.array([-np.inf, 0])]}, "rewards must be finite numbers; one is -inf"),
        ({"D": [1.0]}, "D[0] must have the shape (states,)"),
        ({"D": [np.array([0.5, 0.4])]}, "D[0] must hold probabilities that sum to 1; they sum to 0.9"),
        ({"B": [np.zeros((2, 2, 0))]}, "B[0] must have the shape (2, 2, controls)"),
        ({"D": np.array([0.5, 0.5])}, "D is a list with one array for each factor"),
        ({"A": np.eye(2)}, "A is a list with one array for each modality"),
        ({"C": [np.zeros((2, 5))]}, "depend on time"),
        ({"B": [np.eye(2)[None, :, :, None]]}, "batch axis"),
        ({"states": "ab"}, "states must be a list of 2 names"),
        ({"states": ["a"]}, "states must have 2 names; there are 1"),
        ({"states": [["a", "b"], ["c", "d"]]}, "states must have 2 names, or 1 lists of names; it has 2 lists"),
        ({"observations": [["a"]]}, "observations[0] must have 2 names"),
        ({"actions": ["a", "b"]}, "actions must have 1 names"),
        ({"batch_size": 3}, "batch_size"),
        ({"use_utility": True}, "not use_utility"),
    ],
)
def test_lists_of_pymdp_that_are_no_problem_are_refused(lists, words):
    fields = {"A": [np.eye(2)], "B": [np.eye(2)[:, :, None]], "C": [np.zeros(2)], "D": [np.array([0.5, 0.5])]}
    with pytest.raises(rhoplan.ProblemError) as caught:
        rhoplan.from_pymdp(**{**fields, **lists})
    assert words in caught.value.message


def test_lists_of_pymdp_are_one_block():
    """Two factors of 2 and 3 states, two modalities, one of which depends on both; one factor is controlled."""
    draw = dice(3)
    first = np.array([[distribution(draw, 2) for _ in range(3)] for _ in range(2)]).transpose(2, 0, 1)
    second = np.array([[distribution(draw, 3)] * 3] * 2).transpose(2, 0, 1)
    moves = [
        np.stack([np.eye(2), 1 - np.eye(2)], axis=2),
        np.array([distribution(draw, 3) for _ in range(3)]).T[:, :, None],
    ]
    liked, prior = [np.array([0.0, 2.0]), np.array([1.0, 0.0, -1.0])], [np.array([0.3, 0.7]), np.array([0.2, 0.3, 0.5])]

    problem = rhoplan.from_pymdp([first, second], moves, liked, prior, discount=0.9)

    names = {"states": [["a", "b"], ["x", "y", "z"]], "actions": [["stay", "flip"], ["drift"]]}
    named = rhoplan.from_pymdp([first, second], moves, liked, prior, **names, observations=[*"012345"])
    assert named.states == ("a/x", "a/y", "a/z", "b/x", "b/y", "b/z")
    assert named.actions == ("stay/drift", "flip/drift")
    assert named.observations == (*"012345",)
    np.testing.assert_allclose(problem.prior, np.outer(*prior).ravel())
    assert len(problem.menu("here")) == 2
    assert problem.menu("here")[0].outcomes[:2] == ("0/0", "0/1")
    for control, action in enumerate(problem.menu("here")):
        found = joint(problem, action.name).reshape(2, 3, 2, 3, 2, 3)
        expected = np.einsum("xa,yb,oxy,pxy->abopxy", moves[0][:, :, control], moves[1][:, :, 0], first, second)
        np.testing.assert_allclose(found, expected, atol=1e-12)
        worth = np.add.outer(*liked)
        np.testing.assert_allclose(action.reward, np.einsum("abopxy,op->ab", expected, worth).ravel(), atol=1e-12)


@pytest.mark.parametrize(
    ("place", "part", "words"),
    [
        ("A", [np.full((2, 3), 0.5)], "A[0] must have the shape (observations, 2)"),
        ("A", [np.full((2, 2), 0.4)], "A[0] must hold probabilities"),
        ("B", [np.eye(2)], "B[0] must have the shape (2, 2, controls)"),
        ("B", [np.zeros((2, 2, 1))], "B[0] must hold probabilities"),
        ("C", [np.zeros(3)], "C[0] must have the shape (2,)"),
    ],
)
def test_lists_of_pymdp_that_do_not_fit_are_refused(place, part, words):
    lists = {"A": [np.eye(2)], "B": [np.eye(2)[:, :, None]], "C": [np.zeros(2)], "D": [np.full(2, 0.5)]}

    with pytest.raises(rhoplan.ProblemError) as caught:
        rhoplan.from_pymdp(**{**lists, place: part})

    assert words in caught.value.message


# -- problems that go on for ever -----------------------------------------------------------------------------------


@pytest.fixture
def tiger(tmp_path):
    file = tmp_path / "tiger.pomdp"
    file.write_text(TIGER)
    return file


def test_what_is_cut_off_of_an_endless_problem_is_bounded(tiger):
    problem = rhoplan.make(str(tiger))
    agent = make_agent("planning", problem, horizon=3)
    assert is_endless(problem)
    assert not has_commits(problem)
    assert largest_payment(problem) == 100

    short, long = (rhoplan.evaluate(problem, agent, max_steps=cap) for cap in (20, 300))

    assert short.truncated == pytest.approx(1)
    assert np.isnan(short.success)
    assert short.discounted_tail == pytest.approx(0.95**20 * 100 / 0.05)
    assert abs(long.discounted - short.discounted) <= short.discounted_tail
    assert long.discounted_tail < 1e-3
    estimate = rhoplan.simulate(problem, agent, max_steps=20, seeds=(1,), episodes=50)
    assert estimate.discounted_tail == pytest.approx(short.discounted_tail)
    assert np.isnan(estimate.success)


def test_nothing_bounds_what_is_not_discounted(tiger):
    problem = replace(rhoplan.make(str(tiger)), discount=1.0)

    assert np.isnan(cut_off_worth(problem, 0.5, 20))
    assert cut_off_worth(problem, 0.0, 20) == 0


def test_where_nothing_is_ever_paid_nothing_is_cut_off(recwarn):
    waits = rhoplan.from_arrays(np.eye(2)[None], np.ones((1, 2, 1)), np.zeros((1, 2)), discount=1.0)

    assert cut_off_worth(waits, 1.0, 20) == 0
    assert not recwarn.list


def test_sparse_payments_count_for_the_largest():
    pays = np.zeros((1, 2, 2, 2))
    pays[0, 0, 1, 1] = -7
    problem = rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.eye(2), pays, discount=0.5)

    assert problem.menu("here")[0].pays is not None
    assert largest_payment(problem) == 7


def ring(states: int) -> rhoplan.POMDP:
    """A ring to walk round: a step may slip, a bell rings in one place out of ten, and one of these pays."""
    places = np.arange(states)
    step = np.zeros((2, states, states))
    step[0, places, places] = step[1, places, places] = 0.1
    step[0, places, (places + 1) % states] = step[1, places, (places - 1) % states] = 0.9
    bell = np.where(places % 10 == 0, 0.8, 0.1)
    pays = np.zeros((2, states, states))
    pays[:, :, 0] = 5.0
    return rhoplan.from_arrays(step, np.stack([bell, 1 - bell], axis=1), pays, discount=0.9)


def test_long_beliefs_are_planned_scored_and_simulated():
    """False alarm below 1e-6: five standard errors of the mean."""
    large = ring(300)
    assert all(isinstance(action.transition, csr_array) for action in large.menu("here"))

    agent = make_agent("efe", large, horizon=2)
    score = rhoplan.evaluate(large, agent, max_steps=4)
    rows = simulate_episodes(large, agent, max_steps=4, seeds=(1,), episodes=600)

    assert abs(rows.reward.mean() - score.reward) <= 5 * score.reward_sd / 600**0.5
    for planner in ("mcts", "pomcp"):
        searching = make_agent("efe", large, planner=planner, simulations=300)
        assert rhoplan.decide(large, searching).choice in ("action-0", "action-1")


def test_long_beliefs_stay_within_memory():
    large = ring(300)
    agent = make_agent("planning", large, horizon=1)

    with pytest.raises(rhoplan.LimitError, match="limit on memory") as refused:
        rhoplan.evaluate(large, agent, max_steps=20, memory=1e6)
    assert refused.value.code == "memory-limit"


def test_search_refuses_more_changes_than_it_can_hold(monkeypatch):
    pytest.importorskip("numba", reason="tree search comes with the extra rhoplan[fast]")
    monkeypatch.setattr(path_of("MOST_MOVES"), 100)
    large = ring(300)

    with pytest.raises(rhoplan.LimitError, match=r"changes state in .* ways by 'action-0'"):
        rhoplan.decide(large, make_agent("efe", large, planner="mcts", simulations=10))


@pytest.fixture
def run(capsys):
    """Runs a command; its exit code, and what it printed."""

    def call(*words):
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        told = capsys.readouterr()
        return ended.value.code, told.out + told.err

    return call


def test_a_file_stands_wherever_a_problem_is_named(run, tiger):
    assert "discount 0.95; no action ends it; cut off after 200 steps" in run("show", tiger)[1]
    assert json.loads(run("show", tiger, "--json")[1])["name"] == "tiger"
    assert json.loads(run("decide", tiger, "--given", "listen=obs-left", "--json")[1])["choice"] == "listen"
    told = " ".join(run("evaluate", tiger, "--cap", 20)[1].split())
    assert "discounted" in told
    assert "100% of cases are cut off at 20 steps, for the problem has no end; what comes later could change" in told
    assert "discounted" in run("simulate", tiger, "--episodes", 20, "--cap", 20)[1]


def test_a_problem_is_shown_as_a_file_and_read_again(run, tmp_path):
    file = tmp_path / "drilling.pomdp"
    file.write_text(run("show", "drilling", "--format", "pomdp")[1])

    assert value(rhoplan.make(str(file)), 3) == pytest.approx(value(rhoplan.make("drilling"), 3))
    assert run("show", "tiger", "--format", "yaml") == run("show", "tiger", "--yaml")


def test_faults_of_files_are_one_line_and_exit_2(run, tmp_path):
    file = tmp_path / "bad.pomdp"
    file.write_text("discount: 0.9\nstates: a b\nactions: go\nobservations: x\nT: fly identity\n")

    assert run("decide", file) == (2, f"rhoplan: expected one of the actions (go); found 'fly' ({file}, line 5)\n")
    assert run("decide", tmp_path / "none.drn")[0] == 2


def test_gym_draws_what_a_file_pays(tiger, tmp_path):
    gym = pytest.importorskip("rhoplan.gym")
    pays = np.zeros((1, 2, 2, 2))
    pays[0, :, 1, 1] = 4.0
    env = gym.ProblemEnv(rhoplan.from_arrays(np.full((1, 2, 2), 0.5), np.eye(2), pays, discount=0.5))

    env.reset(seed=1)
    seen = [env.step(0) for _ in range(50)]

    paid = [(info["outcome"], reward) for _, reward, _, _, info in seen]
    assert set(paid) == {("o-0", 0.0), ("o-1", 4.0)}
    assert gym.make_env(str(tiger)).reset(seed=1)[1]["actions"] == ("listen", "open-left", "open-right")


def test_a_served_file_is_opened_by_name(tiger):
    pytest.importorskip("fastapi")
    from bridge import build, open_model

    source = open_model(str(tiger.rename(tiger.with_name("my-tiger.pomdp"))))

    assert source.name == "my-tiger"
    assert source.language == "pomdp"
    assert build(source).discount == 0.95
