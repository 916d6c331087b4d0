"""No state is lost that evidence does not rule out, however improbable it becomes on the way."""

import numpy as np
import pytest

import rhoplan
from rhoplan.agents.agent import decide, make_agent
from rhoplan.belief_math.information import FLOOR, update
from rhoplan.model.belief import Belief
from rhoplan.planning.tree_search import TreeSearch, TreeSearchSettings


def sharp(error: float, *, prior: float = 0.5, transition: bool = False) -> rhoplan.POMDP:
    """Two states and a repeatable test that errs with probability `error`."""
    rows = np.array([[1 - error, error], [error, 1 - error]])
    return rhoplan.DiagnosticProblem(
        name="sharp",
        states=("a", "b"),
        prior=np.array([1 - prior, prior]),
        tests=(rhoplan.Test("look", 0.01, ("like-a", "like-b"), rows),),
        decisions=(rhoplan.Decision("A", np.array([1.0, -9.0])), rhoplan.Decision("B", np.array([-9.0, 1.0]))),
    )


def seen(problem: rhoplan.POMDP, *counts: tuple[str, int]) -> Belief:
    test = problem.flat.tests[0].name
    return problem.belief(given=[(test, outcome) for outcome, count in counts for _ in range(count)])


def test_tiger_after_390_left_and_390_right_is_undecided() -> None:
    tiger = rhoplan.make("tiger")
    outcomes = tiger.flat.tests[0].outcomes

    situation = seen(tiger, (outcomes[0], 390), (outcomes[1], 390))

    assert situation.beliefs[0] == pytest.approx([0.5, 0.5], abs=1e-9)
    assert decide(tiger, make_agent("efe", tiger), situation).choice == "listen"


@pytest.mark.parametrize(("error", "count"), [(1e-12, 24), (1e-3, 99), (1e-150, 1)])
def test_equal_evidence_for_both_cancels(error: float, count: int) -> None:
    problem = sharp(error)

    there = seen(problem, ("like-a", count))
    back = seen(problem, ("like-a", count), ("like-b", count))

    assert there.beliefs[0][0] == 1.0
    assert back.beliefs[0] == pytest.approx([0.5, 0.5], abs=1e-9)


def test_an_outcome_too_improbable_for_a_float_can_be_observed() -> None:
    """Only the state that is all but excluded can show it: then it is the truth."""
    rows = np.array([[1.0, 0.0, 0.0], [1e-170, 0.5, 0.5]])
    problem = rhoplan.DiagnosticProblem(
        name="proof",
        states=("a", "b"),
        tests=(rhoplan.Test("look", 0.01, ("x", "y", "z"), rows),),
        decisions=(rhoplan.Decision("A", np.zeros(2)),),
    )

    situation = problem.belief(given=[("look", "x")] * 2 + [("look", "y")])

    assert situation.beliefs[0][1] == pytest.approx(1.0)


@pytest.mark.parametrize("method", ["mcts", "pomcp"])
def test_search_brings_a_state_back(method: str) -> None:
    """All but excluded at the root; with two results against it the other commit is right, and search knows."""
    problem = sharp(1e-200)
    start = seen(problem, ("like-a", 2))
    search = TreeSearch(problem, TreeSearchSettings(method, 3, simulations=200))
    terminal = len(problem.flat.commits)

    assert start.beliefs[0].tolist() == [1.0, FLOOR]
    found = search.run(seen(problem, ("like-a", 2), ("like-b", 3)))
    assert problem.flat.commits[int(found.values[:terminal].argmax())].name == "B"
    assert search.run(start).place < terminal


@pytest.mark.parametrize("change", [False, True])
def test_search_keeps_a_state_that_is_possible_as_the_update_does(change: bool) -> None:
    """Results that each make a state 1e-200 times as probable, and others that bring it back."""
    from rhoplan.planning.tree_search import kernels
    from rhoplan.planning.tree_search.model import SearchModel

    still = np.eye(2) if not change else np.array([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]])
    rows = np.array([[1 - 1e-200, 1e-200], [1e-200, 1 - 1e-200]])
    action = rhoplan.Action("look", np.zeros(2), rows, ("a", "b"), ("on",) * 2, transition=still if change else None)
    model = SearchModel(rhoplan.POMDP("sharp", (rhoplan.Factor("f", ("s", "t"), rows[0]),), "on", lambda _: (action,)))
    model.explore(model.table.observable_id("on"))
    belief, scratch, wanted = np.array([0.5, 0.5]), np.empty(2), np.array([[0.5, 0.5]])
    for outcome in (0, 0, 0, 1, 1, 1, 0):
        kernels.update(model.arrays, 0, outcome, belief, belief, scratch)
        wanted = update(wanted, action)[1][:, outcome]
        assert (belief > 0).all()
        assert belief == pytest.approx(wanted[0], rel=1e-9, abs=0.0)


def test_a_world_that_the_model_all_but_excludes() -> None:
    """The only result that comes has a chance of 1e-330 under the model: below any float, and not impossible."""
    rows = np.array([[1.0, 0.0], [1.0 - 1e-10, 1e-10]])
    commits = (rhoplan.Decision("A", np.array([1.0, -9.0])), rhoplan.Decision("B", np.array([-9.0, 1.0])))
    parts = {"states": ("a", "b"), "decisions": commits}
    model = rhoplan.DiagnosticProblem(
        name="model", tests=(rhoplan.Test("look", 0.01, ("x", "y"), rows),), prior=np.array([1.0, 1e-320]), **parts
    )
    world = rhoplan.DiagnosticProblem(
        name="world",
        tests=(rhoplan.Test("look", 0.01, ("x", "y"), np.array([[1.0, 0.0], [0.0, 1.0]])),),
        prior=np.array([0.0, 1.0]),
        **parts,
    )
    agent = make_agent("planning", model, horizon=1, precision=1e-9)  # does anything, each equally often

    score = rhoplan.evaluate(model, agent, world=world, max_steps=3)
    drawn = rhoplan.simulate(model, agent, world=world, episodes=200, seeds=(1,), max_steps=3)

    assert score.tests > 0.3
    assert drawn.reward == pytest.approx(score.reward, abs=5 * score.reward_sd / 200**0.5)
