"""Problems as gymnasium environments: what an episode draws, pays and tells."""

from __future__ import annotations

import copy
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import rhoplan
from bridge import (
    PROBLEMS,
    BoundAgent,
    draw_outcome,
    draw_state,
    environment_id,
    make_agent,
    outcome_for,
    path_of,
    register_environments,
    simulate_episodes,
)
from bridge import decide_at as decide
from rhoplan import END, POMDP, Action, Factor, Test
from rhoplan.gym import ProblemEnv, make_env

NAMES = sorted(PROBLEMS)

SETTINGS = [
    *((name, {}) for name in NAMES),
    ("inspection", {"n": 16}),
    ("navigation", {"n": 5}),
    ("navigation", {"n": 7}),
    ("rocksample", {"n": 11, "k": 11}),
    ("rocksample-standard", {"n": 4, "k": 2}),
]


def named(case: object) -> str:
    return str(case).replace("{}", "")


def published_stream(seed: int, episode: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed * 10000 + episode)))


def draws_left(env: gymnasium.Env) -> object:
    """Where the stream of `env` stands: equal before and after what draws nothing."""
    return copy.deepcopy(env.unwrapped.np_random.bit_generator.state)


def test_every_registered_problem_has_an_environment() -> None:
    before = dict(gymnasium.registry)
    register_environments()
    assert dict(gymnasium.registry) == before
    assert {environment_id(name) for name in NAMES} == {name for name in gymnasium.registry if name[:8] == "rhoplan/"}
    assert environment_id("bandit") == "rhoplan/Bandit-v0"
    assert environment_id("rocksample-standard") == "rhoplan/RockSampleStandard-v0"


@pytest.mark.parametrize(("name", "parameters"), SETTINGS, ids=named)
def test_registered_environments_pass_the_checker(name: str, parameters: dict[str, int]) -> None:
    check_env(gymnasium.make(environment_id(name), **parameters).unwrapped)


@pytest.mark.parametrize(("name", "parameters"), SETTINGS, ids=named)
def test_random_actions_with_and_without_the_mask_run_to_the_end(name: str, parameters: dict[str, int]) -> None:
    env = gymnasium.make(environment_id(name), **parameters)  # with gymnasium's own checks around every step
    env.action_space.seed(1)
    for masked in (True, False):
        observation, info = env.reset(seed=1)
        for _ in range(env.unwrapped.problem.cap):
            assert observation in env.observation_space
            assert info["action_mask"].shape == (env.action_space.n,)
            assert {env.unwrapped.action_names[a] for a in np.flatnonzero(info["action_mask"])} == {*info["actions"]}
            action = env.action_space.sample(info["action_mask"] if masked else None)
            available = info["action_mask"][action]
            before = info["visible"]
            observation, reward, terminated, truncated, info = env.step(action)
            assert (info["outcome"] is None) == (not available)
            assert available or (info["visible"] == before and reward <= 0)
            if terminated or truncated:
                break
        assert terminated or truncated
        assert terminated == (info["visible"] is END)
        assert observation in env.observation_space


@pytest.mark.parametrize("first", ["rhoplan.gym", "gymnasium", "rhoplan"])
def test_any_import_may_come_first(first: str) -> None:
    code = f"import {first}; import gymnasium; print(gymnasium.make('rhoplan.gym:rhoplan/Tiger-v0').spec.id)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "rhoplan/Tiger-v0"


def test_parameters_pass_through_to_the_problem() -> None:
    limited = gymnasium.make("rhoplan/Diagnosis-v0", n=8, accuracy=0.9, cap=7)
    env = limited.unwrapped
    assert env.problem.spec == "diagnosis:n=8,accuracy=0.9"
    assert limited.spec.max_episode_steps == 7
    assert env.action_names[:4] == ("test-0", "test-1", "test-2", "diagnose-0")
    assert env.action_space.n == 3 + 8
    with pytest.raises(rhoplan.ProblemError, match="'tiger' has no parameter 'doors'"):
        gymnasium.make("rhoplan/Tiger-v0", doors=3)
    with pytest.raises(ValueError, match="'tiger' is built already and takes no parameters"):
        ProblemEnv(rhoplan.make("tiger"), accuracy=0.9)


@pytest.mark.parametrize("name", NAMES)
def test_same_seed_same_episode(name: str) -> None:
    def episode(env: gymnasium.Env, seed: int) -> list[object]:
        observation, info = env.reset(seed=seed)
        env.action_space.seed(seed)
        told: list[object] = [observation, info["state"]]
        terminated = truncated = False
        while not (terminated or truncated):
            action = env.action_space.sample(info["action_mask"])
            observation, reward, terminated, truncated, info = env.step(action)
            told += [action, observation, reward, info["outcome"], info["visible"]]
        return told

    once, again = make_env(name, reveal_state=True), make_env(name, reveal_state=True)
    episodes = [episode(once, seed) for seed in range(20)]
    assert episodes == [episode(again, seed) for seed in range(20)]
    assert len({str(told) for told in episodes}) > 1


def test_a_test_costs_and_goes_on_and_a_commit_pays_and_ends() -> None:
    env = ProblemEnv("tiger")
    observation, info = env.reset(seed=0, options={"state": "tiger-left"})
    assert observation == 0
    assert info["outcome"] is None
    assert env.step(0)[1:4] == (-1.0, False, False)
    assert env.step(env.action_names.index("open-right"))[1:4] == (10.0, True, False)
    env.reset(options={"state": "tiger-left"})
    assert env.step(env.action_names.index("open-left"))[1:4] == (-100.0, True, False)


def test_episodes_are_truncated_at_the_cap() -> None:
    env = make_env("tiger", cap=3)
    env.reset(seed=0)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    env.reset()
    assert [env.step(action)[2:4] for action in (0, 1)] == [(False, False), (True, False)]
    with pytest.raises(ResetNeeded, match="the episode of 'tiger' is over"):
        env.step(0)
    env = gymnasium.make("rhoplan/Tiger-v0")
    env.reset(seed=0)
    steps = rhoplan.make("tiger").cap
    assert [env.step(0)[3] for _ in range(steps)] == [False] * (steps - 1) + [True]


@pytest.mark.parametrize("name", ["tiger", "rocksample:n=3,k=2", "drilling", "chest-pain"])
def test_beliefs_as_observations_are_those_of_the_problem(name: str) -> None:
    env = ProblemEnv(name, observation="belief")
    check_env(ProblemEnv(name, observation="belief"), skip_render_check=True)
    env.action_space.seed(2)
    observation, info = env.reset(seed=2)
    assert env.observation_space.shape == (sum(len(factor.states) for factor in env.problem.factors),)
    belief = env.problem.belief()
    for _ in range(10):
        assert observation in env.observation_space
        assert observation.tolist() == pytest.approx(np.concatenate(belief.beliefs).tolist())
        action = env.action_space.sample(info["action_mask"])
        observation, _, terminated, _, info = env.step(action)
        if terminated:
            break
        belief = belief.update(env.action_names[action], info["outcome"])
    with pytest.raises(ValueError, match="observation must be 'outcome' or 'belief'; it is 'state'"):
        ProblemEnv(name, observation="state")


def test_info_tells_names_and_keeps_the_hidden_state() -> None:
    env = ProblemEnv("tiger")
    _, info = env.reset(seed=1)
    assert info["actions"] == env.action_names == ("listen", "open-left", "open-right")
    assert info["action_mask"].dtype == np.int8
    assert info.keys() == {"outcome", "actions", "action_mask", "visible"}
    observation, *_, info = env.step(0)
    assert info["outcome"] == env.outcome_names[int(observation) - 1]
    assert info["outcome"] in ("hear-left", "hear-right")
    *_, info = env.step(1)
    assert info["outcome"] == "done"
    assert info["actions"] == ()
    assert not info["action_mask"].any()
    assert info["visible"] is END
    assert ProblemEnv("tiger", reveal_state=True).reset(seed=1)[1]["state"][0] in ("tiger-left", "tiger-right")


def test_the_option_state_sets_the_hidden_state_without_a_draw() -> None:
    env = ProblemEnv("bandit", reveal_state=True)
    env.reset(seed=5)
    before = draws_left(env)
    assert env.reset(options={"state": "best-2"})[1]["state"] == ("best-2",)
    assert draws_left(env) == before
    with pytest.raises(ValueError, match="factor 'state' has no state 'best-9'; it has best-0, best-1"):
        env.reset(options={"state": "best-9"})
    with pytest.raises(ValueError, match=r"must name one state per factor \(1\); it names 2"):
        env.reset(options={"state": ("best-0", "best-1")})
    with pytest.raises(ValueError, match="knows the option 'state' only, not 'goal'"):
        env.reset(options={"goal": 3})


def test_bad_settings_are_refused() -> None:
    with pytest.raises(ValueError, match="cap must be at least 1 step; it is 0"):
        make_env("tiger", cap=0)
    with pytest.raises(ValueError, match="render_mode must be None or 'ansi'; it is 'human'"):
        ProblemEnv("tiger", render_mode="human")
    with pytest.raises(ResetNeeded, match="not started"):
        ProblemEnv("tiger").step(0)


@pytest.mark.parametrize("action", [3, -1, 1.0, "listen"])
def test_no_action_of_that_number(action: object) -> None:
    env = ProblemEnv("tiger")
    env.reset(seed=0)
    with pytest.raises(
        ValueError, match=r"whole number from 0 to 2; it is .*; allowed now are listen \(0\), open-left"
    ):
        env.step(action)  # type: ignore[arg-type]


def test_rendering_is_the_episode_so_far() -> None:
    env = ProblemEnv("tiger", render_mode="ansi")
    env.reset(seed=0, options={"state": "tiger-left"})
    *_, info = env.step(0)
    env.step(2)
    assert env.render() == (
        f"tiger\n   1  listen -> {info['outcome']}  (-1)\n   2  open-right -> done  (+10)\n      +9 points, over"
    )
    with pytest.warns(UserWarning, match="shows nothing without a render mode"):
        assert ProblemEnv("tiger").render() is None


# -- draws ------------------------------------------------------------------------------------------------------------


def test_a_uniform_state_is_the_published_draw() -> None:
    """`choice([0, 1])` of Tiger and Testbed, and `integers(0, N)` of the others, are the one draw of `draw_state`."""
    for episode in range(1000):
        chosen, drawn = published_stream(42, episode), published_stream(42, episode)
        assert chosen.choice([0, 1]) == draw_state(drawn, np.array([0.5, 0.5]))
        assert chosen.random() == drawn.random()
        assert published_stream(7, episode).integers(0, 36) == draw_state(
            published_stream(7, episode), np.full(36, 1 / 36)
        )


def test_several_factors_are_the_published_vector_draw() -> None:
    """`integers(0, 2, size=K)` of RockSample (third state: spent), `random(N) < 0.3` of Inspection (faulty first)."""
    rock, component = np.array([0.5, 0.5, 0.0]), np.array([0.3, 0.7, 0.0])
    for episode in range(300):
        at_once, in_turn = published_stream(123, episode), published_stream(123, episode)
        assert list(at_once.integers(0, 2, size=11)) == [draw_state(in_turn, rock) for _ in range(11)]
        assert at_once.random() == in_turn.random()
        at_once, in_turn = published_stream(123, episode), published_stream(123, episode)
        assert list(at_once.random(8) < 0.3) == [draw_state(in_turn, component) == 0 for _ in range(8)]


@pytest.mark.parametrize("accuracy", [0.55, 0.75, 0.85, 1.0])
def test_the_right_label_comes_if_u_is_below_the_accuracy(accuracy: float) -> None:
    rows = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
    edges = [0.0, np.nextafter(accuracy, 0.0), min(accuracy, np.nextafter(1.0, 0.0)), np.nextafter(1.0, 0.0)]
    for u in [*edges, *np.random.default_rng(3).random(500)]:
        for label in (0, 1):
            assert (outcome_for(u, rows[label]) == label) == (u < accuracy)


def test_equal_outcomes_keep_their_order_and_certain_ones_draw_nothing() -> None:
    assert outcome_for(0.2, np.array([0.25, 0.25, 0.5])) == 2
    assert outcome_for(0.6, np.array([0.25, 0.25, 0.5])) == 0
    assert outcome_for(0.9, np.array([0.25, 0.25, 0.5])) == 1
    rng = np.random.default_rng(0)
    before = copy.deepcopy(rng.bit_generator.state)
    assert draw_outcome(rng, np.array([0.0, 1.0])) == 1
    assert draw_state(rng, np.array([0.0, 0.0, 1.0])) == 2
    assert rng.bit_generator.state == before
    draw_outcome(rng, np.array([0.1, 0.9]))
    assert rng.bit_generator.state != before


def test_a_seeded_episode_is_the_published_episode() -> None:
    """Seed s * 10000 + i gives episode i of seed s: gymnasium makes the very generator that was published."""
    env = ProblemEnv("tiger", reveal_state=True)
    for episode in range(50):
        rng = published_stream(42, episode)
        state = int(rng.choice([0, 1]))
        heard = [state if rng.random() < 0.85 else 1 - state for _ in range(6)]
        assert env.reset(seed=42 * 10000 + episode)[1]["state"] == (env.problem.states[state],)
        assert [int(env.step(0)[0]) - 1 for _ in range(6)] == heard


# -- an agent in it ---------------------------------------------------------------------------------------------------


def one_sided_problem() -> POMDP:
    """The swab, run once, never finds what is not there; the scan errs both ways. Prior not uniform."""
    swab = Test("swab", 0.1, ("clear", "found"), np.array([[1.0, 0.0], [0.4, 0.6]]), repeatable=False)
    scan = Test("scan", 0.5, ("clear", "found"), np.array([[0.8, 0.2], [0.1, 0.9]]))
    return rhoplan.DiagnosticProblem(
        name="one-sided",
        states=("well", "ill"),
        tests=(swab, scan),
        decisions=(rhoplan.Decision("treat", np.array([-8.0, 4.0])), rhoplan.Decision("wait", np.array([0.0, -16.0]))),
        prior=np.array([0.7, 0.3]),
    )


def rewards_of(problem: POMDP, agent: BoundAgent, episodes: int) -> list[float]:
    """What `agent` earns in each episode of seed 42, decided step by step."""
    env, rewards = ProblemEnv(problem), []
    decided: dict[object, str] = {}  # a situation that was met before is not planned for again
    for episode in range(episodes):
        env.reset(seed=42 * 10000 + episode)
        situation, total, terminated = problem.belief(), 0.0, False
        while not terminated:
            here = situation.observable, *(belief.tobytes() for belief in situation.beliefs)
            if here not in decided:
                decided[here] = decide(problem, agent, situation).choice
            choice = decided[here]
            _, reward, terminated, truncated, info = env.step(env.action_names.index(choice))
            assert not truncated
            total += reward
            if not terminated:
                situation = situation.update(choice, info["outcome"])
        rewards.append(total)
    return rewards


@pytest.mark.parametrize("spec", ["tiger", "diagnosis", "one-sided"])
def test_episodes_are_those_of_the_simulator(spec: str) -> None:
    """Digit for digit, also where a test is certain in one state and then draws nothing."""
    problem = one_sided_problem() if spec == "one-sided" else rhoplan.make(spec)
    agent = make_agent("efe", problem)
    assert rewards_of(problem, agent, 60) == list(simulate_episodes(problem, agent, seeds=(42,), episodes=60).reward)


@pytest.mark.parametrize(
    ("spec", "name", "planner"),
    [
        ("rocksample:n=5,k=3", "efe", "exact"),
        ("rocksample-standard:n=4,k=3", "planning", "anytime"),
        ("inspection:n=3", "planning", "anytime"),
        ("inspection:n=16", "planning", "anytime"),
        ("navigation:n=3", "efe", "exact"),
        ("drilling", "efe", "exact"),
    ],
)
def test_episodes_with_places_are_those_of_the_simulator(spec: str, name: str, planner: str) -> None:
    """Positions, several factors, samples and tests that change the hidden state: the same draws, digit for digit."""
    problem = rhoplan.make(spec)
    agent, episodes = make_agent(name, problem, planner=planner), 1 if spec == "inspection:n=16" else 6
    found = simulate_episodes(problem, agent, seeds=(42,), episodes=episodes)
    assert rewards_of(problem, agent, episodes) == list(found.reward)


# -- positions, several factors, changing states ----------------------------------------------------------------------

QUALITY = ("bad", "good", "spent")


def two_rocks() -> POMDP:
    """A rock at each of two places. Check either from anywhere, sample where you stand, leave from the east only."""
    spent = np.tile([0.0, 0.0, 1.0], (3, 1))
    one, nothing = np.ones((3, 1)), np.zeros(3)

    def menu(observable: object) -> tuple[Action, ...]:
        here = ("west", "east").index(str(observable))
        there = ("east", "west")[here]

        def check(rock: int) -> Action:
            accuracy = 0.9 if rock == here else 0.6
            rows = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy], [0.5, 0.5]])
            name = f"check-{('west', 'east')[rock]}"
            return Action(
                name, np.full(3, -0.5), rows, ("looks-bad", "looks-good"), (observable, observable), factor=rock
            )

        actions = [
            Action(f"go-{there}", np.full(3, -1.0), one, ("done",), (there,)),
            check(0),
            check(1),
            Action(
                "sample", np.array([-10.0, 10.0, 0.0]), one, ("done",), (observable,), factor=here, transition=spent
            ),
        ]
        leave = Action("leave", nothing + 5.0, one, ("done",), (END,))
        return (*actions, leave) if observable == "east" else tuple(actions)

    rock = np.array([0.5, 0.5, 0.0])
    factors = (Factor("west-rock", QUALITY, rock), Factor("east-rock", QUALITY, rock))
    return POMDP("two-rocks", factors, "west", menu, cap=20)


def test_positions_factors_and_samples_live_in_the_same_environment() -> None:
    env = ProblemEnv(two_rocks(), reveal_state=True)
    assert env.action_names == ("go-east", "check-west", "check-east", "sample", "go-west", "leave")
    assert env.visible_states == ("west", "east", END)
    number = env.action_names.index
    observation, info = env.reset(seed=0, options={"state": ("good", "bad")})
    assert observation == {"outcome": 0, "visible": 0}
    assert observation in env.observation_space
    assert list(info["action_mask"]) == [1, 1, 1, 1, 0, 0]
    before = draws_left(env)
    paid = []
    for name, state in [
        ("sample", ("spent", "bad")),
        ("sample", ("spent", "bad")),
        ("go-east", ("spent", "bad")),
        ("sample", ("spent", "spent")),
        ("leave", ("spent", "spent")),
    ]:
        observation, reward, terminated, _, info = env.step(number(name))
        paid.append(reward)
        assert observation in env.observation_space
        assert info["state"] == state
        assert terminated == (name == "leave")
    assert paid == [10.0, 0.0, -1.0, -10.0, 5.0]
    assert observation == {"outcome": 1 + env.outcome_names.index("done"), "visible": 2}
    assert draws_left(env) == before


def test_an_action_off_the_menu_does_nothing_and_costs_the_worst_of_the_menu() -> None:
    env = ProblemEnv(two_rocks(), reveal_state=True, render_mode="ansi")
    _, before = env.reset(seed=0, options={"state": ("good", "bad")})
    stream = draws_left(env)
    observation, reward, terminated, truncated, info = env.step(env.action_names.index("leave"))
    assert (reward, terminated, truncated) == (-10.0, False, False)  # sampling a bad rock
    assert observation == {"outcome": 0, "visible": 0}
    assert info["outcome"] is None
    assert info["state"] == before["state"]
    assert draws_left(env) == stream
    assert "leave -> not on the menu  (-10)" in env.render()
    env.step(env.action_names.index("go-east"))
    env.step(env.action_names.index("go-east"))


def test_sitting_out_an_episode_off_the_menu_pays_no_better_than_walking() -> None:
    """Else the best reward of Inspection, whose optimum is negative, would be to never declare anything."""
    env = ProblemEnv("inspection")
    declare = env.action_names.index("declare-nominal")
    env.reset(seed=0)
    paid = [env.step(declare)[1] for _ in range(env.problem.cap)]
    assert paid == [-0.5] * env.problem.cap
    assert sum(paid) < -16.544


def test_a_menu_that_only_pays_makes_waiting_free_not_gainful() -> None:
    go = Action("go", np.array([3.0]), np.ones((1, 1)), ("done",), (END,))
    walk = Action("walk", np.array([1.0]), np.ones((1, 1)), ("done",), ("there",))
    menus = {"here": (walk,), "there": (go,)}
    env = ProblemEnv(POMDP("road", (Factor("none", ("only",), np.ones(1)),), "here", menus.__getitem__))
    env.reset(seed=0)
    assert env.step(env.action_names.index("go"))[1:4] == (0.0, False, False)


def test_an_action_off_the_menu_is_refused_with_the_allowed_ones() -> None:
    env = ProblemEnv(two_rocks(), strict=True)
    env.reset(seed=0)
    with pytest.raises(
        ValueError,
        match=r"action 'leave' \(5\) is not on the menu of 'two-rocks' now; "
        r"allowed are go-east \(0\), check-west \(1\), check-east \(2\), sample \(3\)$",
    ):
        env.step(5)
    assert env.step(0)[4]["actions"] == ("go-west", "check-west", "check-east", "sample", "leave")


def test_a_test_that_runs_once_leaves_the_menu() -> None:
    problem = rhoplan.DiagnosticProblem(
        name="biopsy",
        states=("well", "ill"),
        tests=(Test("biopsy", 3.0, ("clear", "not-clear"), np.array([[0.9, 0.1], [0.1, 0.9]]), repeatable=False),),
        decisions=(rhoplan.Decision("treat", np.array([-1.0, 5.0])), rhoplan.Decision("wait", np.array([0.0, -20.0]))),
    )
    env = ProblemEnv(problem, strict=True)
    env.reset(seed=3)
    *_, info = env.step(0)
    assert info["actions"] == ("treat", "wait")
    assert list(info["action_mask"]) == [0, 1, 1]
    assert info["visible"].run == {"biopsy"}
    with pytest.raises(ValueError, match=r"'biopsy' \(0\) is not on the menu .* allowed are treat \(1\), wait \(2\)"):
        env.step(0)


def test_a_random_change_depends_on_the_outcome_and_takes_its_own_draw() -> None:
    """The press opens the jammed lock with probability .8, but only where it clicked."""
    stay = np.eye(2)
    opens = np.array([[0.2, 0.8], [0.0, 1.0]])
    press = Action(
        "press",
        np.array([-1.0, 0.0]),
        np.array([[0.3, 0.7], [0.0, 1.0]]),
        ("silence", "click"),
        ("door", "door"),
        transition=np.stack([stay, opens]),
    )
    go = Action("go", np.array([0.0, 1.0]), np.ones((2, 1)), ("done",), (END,))
    lock = Factor("lock", ("jammed", "open"), np.array([1.0, 0.0]))
    env = ProblemEnv(POMDP("lock", (lock,), "door", lambda observable: (press, go)), reveal_state=True)
    for seed in range(200):
        env.reset(seed=seed)
        rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
        *_, info = env.step(0)
        clicked = rng.random() < 0.7
        assert info["outcome"] == ("click" if clicked else "silence")
        opened = clicked and rng.random() < 0.8
        assert info["state"] == (("open",) if opened else ("jammed",))
        assert env.np_random.random() == rng.random()


def test_too_many_visible_states_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_of("VISIBLE_LIMIT"), 1000)

    def menu(observable: object) -> tuple[Action, ...]:
        assert isinstance(observable, int)
        return (Action("on", np.zeros(1), np.ones((1, 1)), ("done",), (observable + 1,)),)

    endless = POMDP("endless", (Factor("none", ("only",), np.ones(1)),), 0, menu)
    with pytest.raises(
        ValueError, match=r"'endless' has more than 1,000 observable states.*not tuples of whole numbers"
    ):
        ProblemEnv(endless)


def test_visible_states_beyond_listing_stand_for_themselves() -> None:
    env = ProblemEnv("inspection:n=16")
    assert env.visible_states is None
    moves, rest = env.action_names[:4], env.action_names[4:]
    assert moves == ("north", "south", "east", "west")
    assert rest == ("visual", "detailed", "declare-nominal", "declare-faulty")
    observation, info = env.reset(seed=0)
    assert observation["visible"].tolist() == [0, 0, 0]
    assert list(info["action_mask"]) == [1, 1, 1, 1, 0, 0, 0, 0]
    env.step(env.action_names.index("east"))
    observation, *_, info = env.step(env.action_names.index("declare-nominal"))
    assert observation["visible"].tolist() == [0, 1, 1]
    assert info["visible"] == (0, 1, 1)
    assert observation["visible"].dtype == np.int64


def lock(digits: int) -> POMDP:
    """Visible: how often each of a few dials was turned, and whether the last one is all the way round."""

    def menu(observable: object) -> tuple[Action, ...]:
        assert isinstance(observable, tuple)
        if min(observable) == 9:
            return (Action("open", np.ones(1), np.ones((1, 1)), ("opened",), (END,)),)
        turned = [(*observable[:dial], observable[dial] + 1, *observable[dial + 1 :]) for dial in range(digits)]
        return tuple(
            Action(f"turn-{dial}", np.zeros(1), np.ones((1, 1)), ("done",), (after,))
            for dial, after in enumerate(turned)
            if observable[dial] < 9
        )

    return POMDP("lock", (Factor("none", ("only",), np.ones(1)),), (0,) * digits, menu)


def test_actions_that_only_deep_states_offer_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_of("VISIBLE_LIMIT"), 100)
    env = ProblemEnv(lock(5))
    assert env.visible_states is None
    assert env.action_names == ("turn-0", "turn-1", "turn-2", "turn-3", "turn-4", "open")
    env.reset(seed=0)
    for dial in range(5):
        for _ in range(9):
            observation, *_, info = env.step(dial)
    assert info["actions"] == ("open",)
    observation, _, terminated, _, _ = env.step(5)
    assert terminated
    assert observation["visible"].tolist() == [-1] * 5
    assert observation in env.observation_space
    assert observation["outcome"] == 1 + env.outcome_names.index("opened")


def test_an_action_that_exploring_missed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_of("VISIBLE_LIMIT"), 10)
    monkeypatch.setattr(path_of("DIVE"), 5)
    env = ProblemEnv(lock(3))
    env.reset(seed=0)
    turns = [dial for dial in range(3) for _ in range(9)]
    for dial in turns[:-1]:
        env.step(dial)
    with pytest.raises(RuntimeError, match=r"'lock' offers 'open' \(opened\) only after more than 10 obs"):
        env.step(turns[-1])
