"""Menus that open late and outcomes that become more later on: every entry, on a problem that nobody has looked at yet.

What a graph holds grows while it is read. Each test begins with a fresh problem, so that nothing is known of it.
"""

from __future__ import annotations

import numpy as np
import pytest

import rhoplan
from rhoplan import POMDP, Decision, Test
from rhoplan._old.exact import Plan
from rhoplan._old.graph import Graph
from rhoplan._old.menu import most_at_once
from rhoplan.advice.case import advise
from rhoplan.advice.compare import compare
from rhoplan.advice.pathway import pathway
from rhoplan.advice.sensitivity import flips
from rhoplan.agents.agent import BoundAgent, decide, make_agent
from rhoplan.api import episodes as simulate_episodes
from rhoplan.evaluation.steps import policy_steps
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Done, FlatMenu
from rhoplan.model.pomdp import END, Action, Array, Factor
from rhoplan.planning.certified.solve import solve
from rhoplan.present.content import make_report
from serving import PATIENCE

CLOSE = 1e-9

SHAPES = {
    "more tests, 2 steps on": (2, 3, 2),
    "more tests, 5 steps on": (5, 2, 2),
    "more outcomes, 2 steps on": (2, 1, 4),
    "more outcomes, 5 steps on": (5, 1, 3),
    "more of both, 4 steps on": (4, 2, 5),
}
"""How many tests wait for one another, how many open after the last of them, and how many outcomes these have."""

shapes = pytest.mark.parametrize("shape", SHAPES.values(), ids=list(SHAPES))


def late(shape: tuple[int, int, int], *, sharper: float = 0.0) -> POMDP:
    """A chain of tests with two outcomes, each after the one before; then several at once. sharper: another world."""
    chain, opened, outcomes = shape
    tests = []
    for number in range(chain):
        right = 0.6 + 0.03 * number + sharper
        rows = np.array([[right, 1 - right], [1 - right, right]])
        after = (f"step-{number - 1}",) if number else ()
        tests.append(Test(f"step-{number}", 1.0, ("no", "yes"), rows, repeatable=False, after=after))
    names = tuple(f"grade-{grade}" for grade in range(outcomes))
    for number in range(opened):
        rising = np.arange(1, outcomes + 1, dtype=float) ** (1.5 + number + 5 * sharper)
        rows = np.stack([rising[::-1], rising]) / rising.sum()
        tests.append(Test(f"late-{number}", 2.0, names, rows, repeatable=False, after=(f"step-{chain - 1}",)))
    commits = (Decision("leave", np.array([0.0, -1000.0])), Decision("treat", np.array([-600.0, 0.0])))
    return rhoplan.DiagnosticProblem(
        name="late", states=("well", "ill"), tests=tuple(tests), decisions=commits, prior=np.array([0.7, 0.3])
    )


def followed(
    problem: POMDP, agent: BoundAgent, worlds: dict[str, POMDP], situation: Belief, joint: dict[str, Array]
) -> dict[str, Array]:
    """Expected reward and tests in each world where its states have the weights `joint`.

    One decision after another, no graph. What is decided knows nothing of the world: all are followed at once.
    """
    found = {name: np.zeros(2) for name in worlds}
    for action in decide(problem, agent, situation).actions:
        if not action.probability:
            continue
        share = {name: weights * action.probability for name, weights in joint.items()}
        if action.kind == "commit":
            for name, world in worlds.items():
                taken = next(commit for commit in world.flat.commits if commit.name == action.name)
                found[name] += share[name] @ taken.reward, 0.0
            continue
        tests = {
            name: next(one for one in world.flat.tests if one.name == action.name) for name, world in worlds.items()
        }
        for name, test in tests.items():
            found[name] += np.array([-test.cost, 1.0]) * share[name].sum()
        for place, outcome in enumerate(next(iter(tests.values())).outcomes):
            after = situation.update(action.name, outcome)
            left = {name: share[name] * test.likelihood[:, place] for name, test in tests.items()}
            for name, more in followed(problem, agent, worlds, after, left).items():
                found[name] += more
    return found


@shapes
@pytest.mark.parametrize("settings", [{}, {"horizon": 1}, {"precision": 0.01}, {"horizon": 2, "precision": 0.05}])
def test_the_score_is_that_of_decision_after_decision(shape: tuple[int, int, int], settings: dict[str, float]) -> None:
    known, other = late(shape), late(shape, sharper=0.05)
    agent = make_agent("efe", known, **settings)  # type: ignore[arg-type]
    worlds = {"known": known, "other": other}
    start = {name: world.prior for name, world in worlds.items()}
    wanted = followed(known, agent, worlds, known.belief(), start)
    for name, world in (("known", None), ("other", other)):
        found = rhoplan.evaluate(late(shape), agent, world=world)
        assert (found.reward, found.tests) == pytest.approx(tuple(wanted[name]), abs=1000 * CLOSE), name


@shapes
@pytest.mark.parametrize(
    "settings", [{"horizon": 1}, {}, {"horizon": 1, "precision": 0.01}, {"planner": "mcts", "simulations": 50}]
)
def test_episodes_can_be_drawn(shape: tuple[int, int, int], settings: dict[str, float]) -> None:
    problem = late(shape)
    agent = make_agent("efe", problem, **settings)  # type: ignore[arg-type]
    rows = simulate_episodes(problem, agent, seeds=[42], episodes=30)
    assert not rows.truncated.any()
    assert rows.tests.max() <= len(problem.flat.tests)


@shapes
def test_the_deepest_plan_is_the_optimum(shape: tuple[int, int, int]) -> None:
    problem = late(shape)
    deepest = len(problem.flat.tests)
    found = solve(late(shape), gap=1e-6)
    assert found.converged
    score = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=deepest))
    assert score.reward == pytest.approx(found.lower, abs=1e-6)
    rows = {row.key: row for row in compare(late(shape), make_agent("efe", problem), seconds=PATIENCE)}
    assert rows["optimum"].reward == pytest.approx(score.reward, abs=1e-6)


@shapes
@pytest.mark.parametrize("horizon", [1, 3])
def test_advice_and_pathway_expect_what_the_score_says(shape: tuple[int, int, int], horizon: int) -> None:
    problem = late(shape)
    agent = make_agent("efe", problem, horizon=horizon)
    score = rhoplan.evaluate(problem, agent)
    for ahead in (advise(late(shape), agent).ahead, pathway(late(shape), agent).ahead):
        assert (ahead.reward, ahead.tests) == pytest.approx((score.reward, score.tests), abs=1000 * CLOSE)


@shapes
@pytest.mark.parametrize("horizon", [1, 2, 3])
def test_steps_of_the_weight_begin_with_the_plan_at_weight_0(shape: tuple[int, int, int], horizon: int) -> None:
    problem = late(shape)
    steps = policy_steps(late(shape), horizon=horizon, high=50.0, limit=20)
    plain = rhoplan.evaluate(problem, make_agent("planning", problem, horizon=horizon))
    assert steps[0].score.reward == pytest.approx(plain.reward, abs=1000 * CLOSE)


@shapes
def test_flips_are_found(shape: tuple[int, int, int]) -> None:
    problem = late(shape)
    agent = make_agent("efe", problem)
    found = flips(problem, agent, only=("cost", "prior"))
    assert {flip.now for flip in found} == {rhoplan.decide(late(shape), agent).choice}


@shapes
def test_a_report_is_made(shape: tuple[int, int, int]) -> None:
    problem = late(shape)
    report = make_report(problem, make_agent("efe", problem), seconds=0.3, budget=0.5)
    assert report.frontier is not None
    assert report.ends.sum() == pytest.approx(1, abs=CLOSE)


@shapes
def test_an_environment_plays_the_plan_to_its_end(shape: tuple[int, int, int]) -> None:
    from rhoplan.gym import ProblemEnv

    problem = late(shape)
    agent = make_agent("efe", problem)
    env = ProblemEnv(problem, strict=True)
    for seed in range(10):
        _, info = env.reset(seed=seed)
        situation, over = problem.belief(), False
        while not over:
            choice = decide(problem, agent, situation).choice
            observation, _, over, cut, info = env.step(env.action_names.index(choice))
            assert env.observation_space.contains(observation)
            assert not cut
            if not over:
                situation = situation.update(choice, info["outcome"])


@shapes
def test_a_graph_keeps_its_width(shape: tuple[int, int, int]) -> None:
    chain, opened, outcomes = shape
    problem = late(shape)
    graph = Graph(problem)
    assert graph.next.shape[1:] == (opened, outcomes)
    Plan(graph).values(np.array([graph.root]), chain + opened)
    assert graph.next.shape[1:] == (opened, outcomes)
    assert max(len(menu.going) for menu in graph.menus) == opened


def test_no_menu_is_longer_than_the_bound_on_its_length() -> None:
    """Random orders of tests that run once or again: every set that can have been run, one after another."""
    random, menus = np.random.default_rng(7), 0
    for _ in range(200):
        names = [f"t{number}" for number in range(int(random.integers(1, 7)))]
        tests = tuple(
            Test(name, 1.0, ("no", "yes"), np.eye(2), bool(random.random() < 0.3), after=tuple(
                other for other in names[:place] if random.random() < 0.4
            ))
            for place, name in enumerate(names)
        )  # fmt: skip
        shuffled = tuple(tests[place] for place in random.permutation(len(tests)))
        menu = FlatMenu(shuffled, (Decision("stop", np.zeros(2)),))
        found = [Done()]
        for observable in found:
            actions = [action for action in menu(observable) if not action.ends_episode]
            assert len(actions) <= most_at_once(shuffled) <= len(tests)
            found += [v for v in dict.fromkeys(action.leads_to[0] for action in actions) if v not in found]  # type: ignore[misc]
        menus += len(found)
    assert menus > 1000


def doors(steps: int) -> POMDP:
    """Two hidden coins and a corridor: after `steps` moves there is a look at each coin, with three outcomes."""
    looks = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    grades = ("dark", "grey", "bright")

    def menu(observable: object) -> tuple[Action, ...]:
        place, seen = observable  # type: ignore[misc]
        sure = np.ones((2, 1))
        ends = tuple(
            Action(f"take-{coin}", np.array([-10.0, 10.0]), sure, ("done",), (END,), factor=coin) for coin in (0, 1)
        )
        leave = Action("leave", np.zeros(2), sure, ("done",), (END,))
        if place < steps:
            return Action("walk", np.full(2, -0.1), sure, ("there",), ((place + 1, seen),)), *ends, leave
        fresh = [coin for coin in (0, 1) if coin not in seen]
        going = [
            Action(f"look-{c}", np.full(2, -0.2), looks, grades, ((place, (*seen, c)),) * 3, factor=c) for c in fresh
        ]
        return *going, *ends, leave

    coins = tuple(Factor(f"coin-{number}", ("bad", "good"), np.array([0.5, 0.5])) for number in (0, 1))
    return POMDP("doors", coins, (0, ()), menu, cap=steps + 4)


@pytest.mark.parametrize("steps", [1, 2, 5])
@pytest.mark.parametrize("planner", ["exact", "anytime"])
def test_places_with_longer_menus_further_on(steps: int, planner: str) -> None:
    problem, known = doors(steps), doors(steps)
    agent = make_agent("efe", problem, horizon=steps + 2, planner=planner)

    def expected(situation: Belief) -> float:
        chosen = decide(known, agent, situation).choice
        action = next(action for action in known.menu(situation.observable) if action.name == chosen)
        paid = float(situation.beliefs[action.factor] @ action.reward)
        if action.ends_episode:
            return paid
        return paid + sum(b.probability * expected(b.belief) for b in situation.branches(action))

    score = rhoplan.evaluate(problem, agent)
    assert score.tests > 1
    assert score.reward == pytest.approx(expected(known.belief()), abs=CLOSE)
    rows = simulate_episodes(doors(steps), agent, seeds=[42], episodes=20)
    assert rows.tests.max() == 2
