"""Solving problems of any kind: what comes back, what it is worth when followed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

import rhoplan
from rhoplan.agents.agent import AGENTS, BoundAgent, make_agent
from rhoplan.agents.planners import FollowRule
from rhoplan.api import simulate
from rhoplan.app.cli import _guarded
from rhoplan.io.pomdp_writer import write_pomdp
from rhoplan.model.pomdp import END, POMDP, Action, Factor, FixedMenu
from rhoplan.planning.certified.solve import solve

pytest.importorskip("numba", reason="solving general problems needs numba")


def restarting_tiger(discount: float = 0.95) -> POMDP:
    """Tiger that starts again after each opening: worth 19.371368 (discount .95)."""
    listen = np.array([[0.85, 0.15], [0.15, 0.85]])
    even = np.full((2, 2), 0.5)
    here = "room"
    actions = (
        Action("listen", np.full(2, -1.0), listen, ("left", "right"), (here, here)),
        Action("open-left", np.array([-100.0, 10.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
        Action("open-right", np.array([10.0, -100.0]), np.ones((2, 1)), ("done",), (here,), transition=even),
    )
    factor = Factor("tiger", ("left", "right"), np.full(2, 0.5))
    return POMDP("tiger-again", (factor,), here, FixedMenu(actions), discount=discount)


def test_the_value_of_tiger_lies_between_the_bounds() -> None:
    for weight, value in ((0.0, 19.371368), (1.0, 22.484883)):
        found = solve(restarting_tiger(), weight=weight, gap=1e-3, check=True)

        assert found.method == "points"
        assert found.stopped_by == "gap"
        assert found.lower - 1e-6 <= value <= found.upper + 1e-6
        assert found.first == "listen"
        assert found.certificate is not None
        assert found.certificate.holds


def test_a_search_that_only_chance_would_end_blindly_is_solved() -> None:
    """A look, for 1, at the right one of two doors finds it every second time; always the same door may not end.

    Best take turns: behind the first door 1/2 + 3/4 + 5/8 + ... = 3 looks are needed, behind the second 4.
    """
    here, looks = "hall", np.array([[0.5, 0.5], [0.0, 1.0]])
    actions = tuple(
        Action(name, np.full(2, -1.0), row, ("there", "not"), (END, here))
        for name, row in (("left", looks), ("right", looks[::-1]))
    )
    hidden = POMDP("hidden", (Factor("it", ("left", "right"), np.array([0.5, 0.5])),), here, FixedMenu(actions))

    found = solve(hidden, method="points", discount=1.0, gap=0.1)

    assert found.lower - 1e-6 <= -3.5 <= found.upper + 1e-6
    assert found.stopped_by == "gap"


def test_following_the_policy_is_worth_the_lower_bound(tmp_path: Path) -> None:
    problem = restarting_tiger()
    found = solve(problem, gap=1e-3)
    assert found.policy is not None
    found.policy.save(tmp_path / "tiger.policy")

    agent = make_agent(f"solved:{tmp_path / 'tiger.policy'}", problem)
    score = rhoplan.evaluate(problem, agent)

    assert score.discounted + score.discounted_tail >= found.lower - 1e-6
    assert score.discounted - score.discounted_tail <= found.upper + 1e-6
    assert rhoplan.decide(problem, agent).choice == "listen"


def test_a_policy_bounds_every_action_and_says_what_is_proven() -> None:
    problem = restarting_tiger()
    policy = solve(problem, gap=1e-4).policy
    assert policy is not None
    situation = problem.belief()
    low, high = policy.value(situation)
    bounds = policy.actions(situation)

    assert low <= 19.371368 + 1e-6
    assert high >= 19.371368 - 1e-6
    assert set(bounds) == {"listen", "open-left", "open-right"}
    assert all(below <= above for below, above in bounds.values())
    assert max(above for _, above in bounds.values()) == pytest.approx(high, abs=1e-3)
    assert policy.proven(situation) == "listen"
    for _ in range(3):
        situation = situation.update("listen", "left")
    assert policy.action(situation) == "open-right"


def test_both_ways_of_solving_agree() -> None:
    problem = rhoplan.make("tiger")
    for weight in (0.0, 1.0):
        reveal, points = (solve(problem, weight=weight, gap=1e-3, method=m) for m in ("reveal", "points"))
        assert reveal.lower <= points.upper + 1e-9
        assert points.lower <= reveal.upper + 1e-9
        assert points.stopped_by == reveal.stopped_by == "gap"


def test_a_sparse_change_is_solved_like_a_dense_one() -> None:
    problem = restarting_tiger()
    actions = tuple(
        Action(
            a.name, a.reward, a.likelihood, a.outcomes, a.leads_to,
            transition=None if a.transition is None else csr_array(np.asarray(a.transition)),
        )
        for a in problem.menu(problem.start)
    )  # fmt: skip
    sparse = POMDP("sparse", problem.factors, problem.start, FixedMenu(actions), discount=0.95)

    one, other = solve(problem, gap=1e-3), solve(sparse, gap=1e-3)

    assert (one.lower, one.upper) == pytest.approx((other.lower, other.upper), abs=1e-12)


def test_several_factors_and_places_are_solved() -> None:
    """RockSample with one rock: following the policy is worth what the bounds say, and no agent is worth more."""
    problem = rhoplan.make("rocksample:n=3,k=1")
    found = solve(problem, gap=1e-3, seconds=600)
    assert found.policy is not None
    solved = BoundAgent("solved", planner=FollowRule(rule=found.policy))
    reward = rhoplan.evaluate(problem, solved).reward

    assert found.stopped_by == "gap"
    assert found.lower - 1e-9 <= reward <= found.upper + 1e-9
    for name in AGENTS:
        other = rhoplan.evaluate(problem, make_agent(name, problem)).reward
        assert other <= found.upper + 1e-9, name


def test_a_policy_is_refused_for_another_problem(tmp_path: Path) -> None:
    policy = solve(restarting_tiger(), gap=0.1).policy
    assert policy is not None
    policy.save(tmp_path / "p")

    with pytest.raises(rhoplan.ProblemError, match="has other numbers: solve it again"):
        make_agent(f"solved:{tmp_path / 'p'}", rhoplan.make("tiger"))
    (tmp_path / "no").write_text("nothing")
    with pytest.raises(rhoplan.ProblemError, match="must be a policy saved by rhoplan solve"):
        make_agent(f"solved:{tmp_path / 'no'}", rhoplan.make("tiger"))


def endless(reward: float) -> POMDP:
    stay = Action("stay", np.full(2, reward), np.eye(2), ("a", "b"), ("here", "here"), transition=np.full((2, 2), 0.5))
    stop = Action("stop", np.zeros(2), np.ones((2, 1)), ("done",), (END,))
    return POMDP("endless", (Factor("x", ("a", "b"), np.full(2, 0.5)),), "here", FixedMenu((stay, stop)))


def dark(*, lost: float = 0.0, wait: float = -0.1) -> POMDP:
    """Grope for the way out, which pays 10 and may get one lost for good, unseen; a feel tells where one stands."""
    here = "dark"
    states = ("near", "far", "lost")
    out = np.array([[0.8, 0.2], [0.4, 0.6], [0.0, 1.0]])
    strays = np.array([np.eye(3), [[0, 0.5, 0.5], [0, 0.5, 0.5], [0, 0, 1]]])
    feels = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    actions = (
        Action("grope", np.array([8.0, 4.0, lost]), out, ("out", "dark"), (END, here), transition=strays),
        Action("feel", np.array([wait, wait, lost]), feels, ("wall", "air"), (here, here)),
    )
    return POMDP("dark", (Factor("place", states, np.array([0.5, 0.5, 0.0])),), here, FixedMenu(actions))


def dark_value(belief: np.ndarray, steps: int) -> float:
    """What the best plan of `steps` steps gives, by the plain recursion."""
    if not steps or belief[2] == 1:
        return 0.0
    found = []
    for action in dark().menu("dark"):
        total = float(belief @ action.reward)
        for outcome, target in enumerate(action.leads_to):
            joint = belief * action.likelihood[:, outcome]
            joint = joint if action.transition is None else joint @ action.transition[outcome]
            if target is not END and joint.sum() > 1e-6:
                total += joint.sum() * dark_value(joint / joint.sum(), steps - 1)
        found.append(total)
    return max(found)


def test_lost_for_good_unseen_is_worth_nothing_and_no_reason_to_refuse() -> None:
    found = solve(dark(), gap=1e-3, check=True)
    assert found.stopped_by == "gap"
    assert found.certificate is not None
    assert found.certificate.holds
    assert dark_value(np.array([0.5, 0.5, 0.0]), 9) <= found.upper
    assert found.lower == pytest.approx(dark_value(np.array([0.5, 0.5, 0.0]), 9), abs=0.02)


def drawn_with_an_end(chance: float) -> POMDP:
    """Four hidden states that change, three actions, each of which ends it all with this chance."""
    rng, here, states = np.random.default_rng(3), "here", 4
    outcomes, places = ("x", "y", "z", "over"), (here, here, here, END)
    actions = []
    for name in ("one", "two", "three"):
        reward = 10 * rng.normal(size=states)
        shown = np.hstack([(1 - chance) * rng.dirichlet(np.ones(3), states), np.full((states, 1), chance)])
        moved = rng.dirichlet(np.full(states, 0.3), states)
        actions.append(Action(name, reward, shown, outcomes, places, transition=moved))
    factor = Factor("state", ("a", "b", "c", "d"), np.full(states, 0.25))
    return POMDP("drawn", (factor,), here, FixedMenu(tuple(actions)))


def test_a_chance_to_end_is_as_good_as_a_discount() -> None:
    """Trials that bear the same gap at every depth went round in circles here, a gap of 12 open."""
    found = solve(drawn_with_an_end(0.05), gap=1.0, seconds=600)
    assert found.stopped_by == "gap"
    discounted = solve(drawn_with_an_end(0.0), discount=0.95, gap=1.0, seconds=600)
    assert found.lower <= discounted.upper
    assert discounted.lower <= found.upper


def test_a_refusal_names_the_state_and_the_action_that_make_it_endless() -> None:
    with pytest.raises(rhoplan.ProblemError, match="from state 'lost' nothing leads to an end"):
        solve(dark(lost=-1.0))
    with pytest.raises(rhoplan.ProblemError, match=r"by 'feel' in state '(near|far)'"):
        solve(dark(wait=0.1))
    with pytest.raises(rhoplan.ProblemError, match="for ever, if states are seen, by 'stay' in state 'a'"):
        solve(endless(1.0))


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_refusal_says_what_can_be_had_for_ever(weight: float) -> None:
    """It spoke of information where there was a weight, whatever it was that paid."""
    states, seen, paid = np.eye(2), np.tile(np.eye(2), (2, 1, 1)), np.zeros((2, 2, 2))
    paid[0, 0] = 0.5
    changes = np.array([states, [[0.0, 1.0], [0.0, 1.0]]])
    problem = rhoplan.from_arrays(changes, seen, paid, start=[1.0, 0.0], discount=1.0, actions=["earn", "end"])
    with pytest.raises(
        rhoplan.ProblemError, match="here a reward can be collected for ever, if states are seen, by 'e"
    ):
        solve(problem, weight=weight)


def test_a_test_for_nothing_is_no_reason_to_refuse() -> None:
    costly = solve(dark(), gap=1e-3)

    found = solve(dark(wait=0.0), seconds=2.0, check=True)

    assert found.lower >= costly.lower - 1e-3  # the same tests, for nothing
    assert found.lower <= found.upper <= 10.0
    assert found.certificate is not None
    assert found.certificate.holds


def test_what_has_no_certificate_is_refused() -> None:
    with pytest.raises(rhoplan.AgentError, match="weight must be"):
        solve(endless(-1.0), weight=-1.0)
    with pytest.raises(rhoplan.RhoplanError):
        solve(endless(1.0))
    with pytest.raises(rhoplan.RhoplanError):
        solve(endless(0.0), weight=1.0)
    with pytest.raises(rhoplan.ProblemError, match="observe-then-commit"):
        solve(endless(-1.0), method="reveal")
    assert solve(endless(-1.0)).upper == pytest.approx(0.0, abs=1e-6)


def test_the_command_solves_saves_checks_and_says_how(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, policy = tmp_path / "tiger.pomdp", tmp_path / "out.policy"
    path.write_text(write_pomdp(restarting_tiger()))

    def told(*arguments: str) -> str:
        assert _guarded(list(arguments)) == 0
        return capsys.readouterr().out

    solved = told("solve", str(path), "--save", str(policy), "--check", "--gap", "0.01")
    record = json.loads(told("solve", str(path), "--gap", "0.01", "--json"))
    decided = json.loads(told("decide", str(path), "--agent", f"solved:{policy}", "--json"))
    shown = " ".join(told("decide", str(path), "--agent", f"solved:{policy}").split())

    assert "checked by other code: the bounds hold" in solved
    assert "by bounds carried from belief to belief" in " ".join(solved.split())
    assert record["lower"] - 5e-7 <= 19.371368 <= record["upper"] + 5e-7  # known to six decimals
    assert record["method"] == "points"
    assert record["stopped_by"] == "gap"
    assert decided["choice"] == decided["proven"] == "listen"
    assert decided["bounds"]["listen"][0] > decided["bounds"]["open-left"][1]
    assert "Do next: listen (proven best)" in shown


def test_careless_use_is_told_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for arguments, line in (
        (
            ("--method", "reveal", "--save", str(tmp_path / "p")),
            "--save, --plot and --check are not for method reveal",
        ),
        (("--method", "reveal", "--check"), "--save, --plot and --check are not for method reveal"),
        (("--method", "many", "--plot", "p.png"), "--plot is for method points; method is many"),
        (("--method", "many", "--save", "p.policyx"), "--save FILE.policyx is for method points; method is many"),
        (("--save", str(tmp_path / "file" / "p")), "is not a folder"),
    ):
        assert _guarded(["solve", "tiger", *arguments]) == 2
        assert line in " ".join(capsys.readouterr().err.split())
    with pytest.raises(rhoplan.AgentError, match="check is not for method reveal"):
        solve(rhoplan.make("tiger"), check=True)
    assert _guarded(["solve", "tiger", "--gap", "0.1", "--save", str(tmp_path / "new" / "p")]) == 0
    assert (tmp_path / "new" / "p").exists()


def corridor() -> POMDP:
    """Six cells in a ring, one sees every time whether one's cell is odd, and starts anywhere; the last one pays."""
    cells = 6
    ring = np.eye(cells)
    step, stay = 0.8 * np.roll(ring, 1, axis=1) + 0.2 * ring, ring
    pays = np.zeros(cells)
    pays[-1] = 1.0
    back = np.tile(np.full(cells, 1 / cells), (cells, 1))
    seen = np.stack([np.arange(cells) % 2 == 0, np.arange(cells) % 2 == 1], axis=1).astype(float)
    changes = (step, np.where(np.arange(cells)[:, None] == cells - 1, back, stay))
    return rhoplan.from_arrays(
        np.stack(changes), np.stack([seen, seen]), np.stack([np.zeros(cells), pays - 0.1]), discount=0.9
    )


def test_a_policy_keeps_its_promise_where_the_start_is_known_least() -> None:
    """The start mixes beliefs that are told apart later: those have plans of their own, which must be followed."""
    problem = corridor()
    found = solve(problem, gap=1e-3, seconds=600)
    assert found.policy is not None
    situation = problem.belief()
    for name, (low, _) in found.policy.actions(situation).items():
        action = next(a for a in problem.menu(situation.observable) if a.name == name)
        chances = situation.beliefs[0] @ action.likelihood
        later = sum(
            chance * found.policy.value(situation.update(name, outcome))[0]
            for outcome, chance in zip(action.outcomes, chances, strict=True)
            if chance > 0
        )
        assert float(action.reward @ situation.beliefs[0]) + problem.discount * later >= low - 1e-9

    agent = BoundAgent("solved", planner=FollowRule(rule=found.policy))
    estimate = simulate(problem, agent, episodes=60)
    assert estimate.discounted > found.lower - 4 * estimate.se["discounted"]


def test_bounds_that_do_not_hold_end_the_command_with_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rhoplan.planning.certified.pointbased.check import Certificate

    path = tmp_path / "tiger.pomdp"
    path.write_text(write_pomdp(restarting_tiger()))
    monkeypatch.setattr(Certificate, "holds", False)

    assert _guarded(["solve", str(path), "--check", "--gap", "0.1"]) == 1
    assert "the bounds DO NOT HOLD" in capsys.readouterr().out


@pytest.mark.parametrize("change", ["number", "gone", "weight", "old and short", "old and gone"])
def test_a_policy_that_was_changed_after_it_was_written_is_refused(tmp_path: Path, change: str) -> None:
    """A number that was raised would be told as certified."""
    policy = solve(restarting_tiger(), gap=0.1).policy
    assert policy is not None
    policy.save(tmp_path / "p")
    make_agent(f"solved:{tmp_path / 'p'}", restarting_tiger())
    with np.load(tmp_path / "p") as held:
        arrays = {name: held[name] for name in held.files}
    told = json.loads(str(arrays.pop("told")))
    if "old" in change:
        told["seal"] = ""  # as files were before they had one
    if change == "number":
        arrays["alpha-0"][0, 0] += 1000
    elif change == "weight":
        told["weight"] = 0.5
    elif change == "old and short":
        arrays["alpha-0"] = arrays["alpha-0"].ravel()[:-1].reshape(-1, 1)
        arrays["corner"] = arrays["corner"].astype(str)
        del arrays["share-0"]
    else:
        del arrays["pair-0"]
    with (tmp_path / "p").open("wb") as file:
        np.savez(file, told=np.array(json.dumps(told)), **arrays)
    with pytest.raises(rhoplan.ProblemError, match="it has been changed since: solve it again"):
        make_agent(f"solved:{tmp_path / 'p'}", restarting_tiger())


def test_bounds_that_cross_are_an_error_and_are_not_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from rhoplan.planning.certified.pointbased.standing import Standing

    held = Standing.bounds.fget
    assert held is not None
    monkeypatch.setattr(Standing, "bounds", property(lambda self: (held(self)[0] + 1, held(self)[1])))
    with pytest.raises(ArithmeticError, match="the bounds cross, at least"):
        solve(restarting_tiger(), gap=1e-3)
    assert _guarded(["solve", "tiger", "--method", "points", "--discount", "0.9"]) == 1
    said = capsys.readouterr()
    assert "the bounds cross" in said.err
    assert "between" not in said.out


def test_who_does_not_wait_for_the_score_has_the_bounds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import rhoplan.evaluation.plan_score as scoring

    def stopped(policy: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(scoring, "score_solved", stopped)
    path = tmp_path / "tiger.pomdp"
    path.write_text(write_pomdp(restarting_tiger()))
    assert _guarded(["solve", str(path), "--score", "--gap", "0.1"]) == 0
    said = capsys.readouterr().out
    assert "value    between 19." in said
    assert "was not worked out: stopped from the keyboard" in said
    assert _guarded(["solve", str(path), "--score", "--gap", "0.1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["score"] is None
    assert told["lower"] <= 19.371369
