"""Planners keep their promises, and whoever breaks one is told which; settings and names come from one table."""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import CliRunner

import rhoplan
from rhoplan.advice.journal import Case, agent_of, settings_of
from rhoplan.advice.replay import replay
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.check import PROBLEMS as SMALL
from rhoplan.agents.registry import PLANNERS, UTILITIES, Registered
from rhoplan.agents.settings import SETTINGS
from rhoplan.app.cli import group
from rhoplan.app.records import describe
from rhoplan.errors import AgentError
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.validate import check_problem
from rhoplan.planning import tree_search
from rhoplan.planning.policy import Policy, PolicyOnGraph
from rhoplan.planning.utility import FunctionUtility

ROOT = Path(rhoplan.__file__).parent
TIGER = rhoplan.make("tiger")
MANY = ("many", 1)
"""Looks as far as it takes; and where it does look ahead by a horizon, it is planner exact."""


# -- everything registered --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "horizon"), [(name, h) for name in PLANNERS for h in (1, 3) if (name, h) != MANY])
def test_registered_planners_keep_their_promises(name: str, horizon: int) -> None:
    small = {"simulations": 40} if "simulations" in PLANNERS[name].takes else {}
    rhoplan.check_planner(PLANNERS[name].load()(horizon=horizon, **small))


@pytest.mark.parametrize("name", [name for name, row in PLANNERS.items() if "time" in row.takes])
def test_planners_limited_by_time_keep_their_promises(name: str) -> None:
    planner = PLANNERS[name].load()(horizon=2, seconds=0.002)
    assert planner.is_timed
    assert not planner.is_fixed
    rhoplan.check_planner(planner, problems=SMALL[:1])


@pytest.mark.parametrize("name", PLANNERS)
def test_rows_say_what_planners_say(name: str) -> None:
    row, kind = PLANNERS[name], PLANNERS[name].load()
    assert (kind.name, kind.samples) == (name, row.samples)
    given = {"memory"}  # by who plans a case, not by who makes an agent
    assert {SETTINGS[one].word for one in row.takes} == {field.name for field in fields(kind)} - given


@pytest.mark.parametrize("name", UTILITIES)
def test_registered_utilities_can_be_asked_for_everywhere(name: str, tmp_path: Path) -> None:
    target = [0.3, 0.7] if "target" in UTILITIES[name].takes else None
    agent = make_agent("planning-ig", TIGER, horizon=2, weight=2.0, unit="bits", utility=name, target=target)
    assert agent.rho.name == name
    assert agent.rho.weight == pytest.approx(2 / math.log(2))
    assert describe(TIGER, agent)["utility"] == name
    assert agent_of(settings_of(agent), TIGER).settings == agent.settings
    options = ["--target", ",".join(map(str, target))] if target else []
    asked = ["--agent", "planning-ig", "--horizon", "2", "--weight", "2", "--unit", "bits", "--utility", name, *options]
    done = CliRunner().invoke(group, ["decide", "tiger", "--json", *asked])
    shown = json.loads(done.stdout)
    assert (shown["utility"], shown["target"]) == (name, target)
    assert shown["actions"][0]["value"] == rhoplan.decide(TIGER, agent).actions[0].value
    case, log = Case(TIGER, agent), tmp_path / "cases.jsonl"
    case.enter("listen", "hear-left")
    case.stop()
    case.append_to(log)
    assert json.loads(log.read_text())["agent"]["utility"] == name
    assert replay(log) == (1, None)


def test_a_log_of_one_utility_does_not_replay_with_another(tmp_path: Path) -> None:
    case = Case(TIGER, make_agent("planning-ig", TIGER, horizon=2, utility="negative-entropy"))
    case.stop()
    record = case.as_dict()
    del record["agent"]["utility"]  # as logs were before utilities had names
    (tmp_path / "old.jsonl").write_text(json.dumps(record) + "\n")
    count, difference = replay(tmp_path / "old.jsonl")
    assert count == 1
    assert difference
    assert difference["what"] == "the advice differs"


def test_a_utility_of_ones_own_has_a_name_in_records_and_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    wary = FunctionUtility(lambda beliefs, action: -5.0 * (beliefs[:, 0] > 0.9), scale=5.0, name="wary")
    agent = BoundAgent("mine", horizon=3, utility=wary)
    assert (describe(TIGER, agent)["utility"], agent.weight, agent.weight_per_nat) == ("wary", 1.0, 0.0)
    with pytest.raises(AgentError, match="there is no utility 'wary'; there are information, "):
        make_agent("planning-ig", TIGER, utility="wary")
    monkeypatch.setitem(UTILITIES, "wary", Registered("dislikes being sure", lambda: wary))
    named = make_agent("planning-ig", TIGER, horizon=3, utility="wary")
    assert rhoplan.evaluate(TIGER, named) == rhoplan.evaluate(TIGER, agent)
    assert rhoplan.evaluate(TIGER, named.changed(weight=0.0)).reward == pytest.approx(
        rhoplan.evaluate(TIGER, make_agent("planning", TIGER, horizon=3)).reward
    )


def test_an_agent_defined_with_information_says_that_it_is_another_one() -> None:
    efe = make_agent("efe", TIGER, utility="negative-entropy")
    assert efe.notes == (
        "efe is defined with information; with utility negative-entropy this is planning-ig with weight 1",
    )
    plain = make_agent("planning", TIGER, utility="negative-entropy")
    assert "weight 0 and is not used" in plain.notes[0]


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"utility": "target-belief"}, "target must be a probability for each of the 2 states .*; nothing came"),
        ({"utility": "target-belief", "target": [1.0]}, "target must be .*; 1 came"),
        ({"utility": "target-belief", "target": [0.5, 0.6]}, "target is not sound: .* sum to 1"),
        ({"utility": "target-belief", "target": [0.5, math.nan]}, "target is not sound"),
        ({"target": [0.5, 0.5]}, "target is for utility target-belief"),
        ({"utility": "negative-entropy", "planner": "mcts"}, "planner mcts takes .* an own utility"),
        ({"planner": "anytime", "seconds": 1.0, "precision": 2.0}, "time and precision do not go together"),
    ],
)
def test_utilities_and_targets_that_make_no_sense_are_refused(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(AgentError, match=why):
        make_agent("planning-ig", TIGER, **settings)


# -- the leaf of the anytime planner ----------------------------------------------------------------------------------


@pytest.mark.parametrize("utility", [rhoplan.NegativeEntropy(3.0), FunctionUtility(lambda b, a: b[:, 0], name="b0")])
def test_a_derived_leaf_that_leaves_the_utility_out_is_refused(utility: rhoplan.Utility) -> None:
    rocks = rhoplan.make("rocksample-standard:n=4,k=2")
    agent = make_agent("planning-ig", rocks, planner="anytime", utility=utility)
    with pytest.raises(AgentError, match=f"utility {utility.name} does not count there: use planner exact") as told:
        rhoplan.decide(rocks, agent)
    assert "\n" not in str(told.value)
    assert rhoplan.decide(rocks, agent.changed(weight=1.0, utility=rhoplan.Information())).choice


def test_the_leaf_of_a_flat_problem_counts_the_utility() -> None:
    utility = rhoplan.NegativeEntropy(3.0)
    exact, anytime = (BoundAgent("mine", 2, utility=utility, planner=name) for name in ("exact", "anytime"))
    assert rhoplan.decide(TIGER, exact) == rhoplan.decide(TIGER, anytime)


def test_a_plan_that_deepens_leaves_commits_out_where_it_should() -> None:
    # A commit counts nothing, and no test is worth its cost: epistemic-only stops at once.
    agent = make_agent("epistemic-only", TIGER, planner="anytime", seconds=0.01)
    assert rhoplan.decide(TIGER, agent).choice == "open-left"


# -- one table of settings --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_options_and_keys_of_records(name: str) -> None:
    decide = group.get_command(None, "decide")  # type: ignore[arg-type]
    option = next(one for one in decide.params if f"--{name}" in one.opts)  # type: ignore[union-attr]
    assert option.name == SETTINGS[name].word
    assert SETTINGS[name].help in option.help  # type: ignore[attr-defined]
    assert name in describe(TIGER, make_agent("efe", TIGER))


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_are_fields_of_the_api(name: str) -> None:
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    from rhoplan.app.serve import schema

    field = schema.Decide.model_json_schema()["properties"][name]
    assert field["description"] == SETTINGS[name].help
    assert (name in schema.Adviser.model_fields) == SETTINGS[name].is_kept


def outside(name: str) -> list[float]:
    """Values just outside the range of a setting."""
    one = SETTINGS[name]
    low = [] if one.low is None else [one.low if one.is_above else one.low - 1, math.nan]
    return [*low, *([one.high + 1] if one.high is not None and one.high + 1 > one.high else [])]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in SETTINGS for value in outside(name)])
def test_ranges_are_kept(name: str, value: float) -> None:
    with pytest.raises(AgentError, match=f"^{name} must be "):
        make_agent("planning-ig", TIGER, planner="mcts", **{SETTINGS[name].word: value})


def test_settings_that_a_planner_does_not_take_are_told() -> None:
    given = {"simulations": 5, "seconds": 1.0, "exploration": 2.0}
    for name, row in PLANNERS.items():
        agent = make_agent("efe", TIGER, planner=name, **given)
        missing = [one for one in ("simulations", "time", "exploration") if one not in row.takes]
        assert agent.notes == tuple(f"planner {name} does not use {one}" for one in missing)
        assert [agent.settings[one] for one in missing] == [None] * len(missing)


def test_agents_are_objective_and_planner() -> None:
    agent = BoundAgent("mine", 3, 2.0, unit="bits", discount=0.9, planner="mcts", simulations=7)
    same = BoundAgent("mine", objective=agent.objective, planner=agent.planner)
    assert agent == same
    assert replace(agent, weight=1.0) == agent.changed(weight=1.0) != agent
    assert agent.changed(horizon=5, simulations=9).planner == replace(agent.planner, horizon=5, simulations=9)
    with pytest.raises(TypeError):
        BoundAgent("mine", 3, simulations=7)  # exact does not take them


# -- the problems that promises are checked on -----------------------------------------------------------------------


@pytest.mark.parametrize("problem", SMALL, ids=lambda problem: problem.name)
def test_problems_that_promises_are_checked_on_are_sound(problem: rhoplan.POMDP) -> None:
    check_problem(problem)
    if problem.listed is not None:  # the two doors are each other's mirror image, or there would be no ties
        left, right = problem.flat.commits
        assert left.reward.tolist() == right.reward[::-1].tolist()


# -- broken promises --------------------------------------------------------------------------------------------------

Bend = Callable[[Policy, rhoplan.Belief], str]


class Bent(Policy):
    """Look-ahead over two actions whose choice `bend` may change."""

    def __init__(self, straight: Policy, bend: Bend) -> None:
        self.problem, self.straight, self.bend = straight.problem, straight, bend

    def action(self, belief: Any) -> str:
        return self.bend(self.straight, self.belief(belief))

    def probabilities(self, belief: Any) -> dict[str, float]:
        return self.straight.probabilities(belief)


def unbent(policy: Policy, belief: rhoplan.Belief) -> str:
    return policy.action(belief)


@dataclass(frozen=True)
class Broken(rhoplan.Planner):
    name: ClassVar[str] = "broken"
    bend: Bend = unbent

    def solve(self, problem: rhoplan.POMDP, objective: rhoplan.Objective | None = None) -> Policy:
        return Bent(rhoplan.Lookahead(2).solve(problem, objective), self.bend)


def unavailable(policy: Policy, belief: rhoplan.Belief) -> str:
    return "fly"


def last(policy: Policy, belief: rhoplan.Belief) -> str:
    return next(name for name in reversed(belief.actions) if name != policy.action(belief))


def meddling(policy: Policy, belief: rhoplan.Belief) -> str:
    policy.problem.factors[0].prior[:] = [0.4, 0.6]
    return policy.action(belief)


def test_broken_promises_are_reported() -> None:
    rhoplan.check_planner(Broken())
    for bend, promise in ((unavailable, "select an available action"), (last, "select the most probable action")):
        with pytest.raises(AgentError, match=f"planner broken must {promise}"):
            rhoplan.check_planner(Broken(bend=bend))


def test_choices_that_change_are_reported() -> None:
    class Fickle(Broken):
        def solve(self, problem: rhoplan.POMDP, objective: rhoplan.Objective | None = None) -> Policy:
            names = iter(range(10_000))
            policy = rhoplan.FunctionPolicy(problem, lambda held: held.actions[next(names) // 2 % len(held.actions)])
            return policy

    with pytest.raises(AgentError, match="must do the same at the same belief"):
        rhoplan.check_planner(Fickle())


def test_a_policy_that_differs_on_a_graph_is_reported() -> None:
    class Other(Bent):
        def on(self, graph: BeliefGraph) -> PolicyOnGraph:
            return rhoplan.FunctionPolicy(graph.problem, lambda held: held.actions[-1]).on(graph)

    class Graphic(Broken):
        def solve(self, problem: rhoplan.POMDP, objective: rhoplan.Objective | None = None) -> Policy:
            return Other(rhoplan.Lookahead(2).solve(problem, objective), unbent)

    with pytest.raises(AgentError, match="must do the same on a graph as belief by belief"):
        rhoplan.check_planner(Graphic())


def test_meddling_with_the_problem_is_reported() -> None:
    problem = rhoplan.make("tiger")
    mine = rhoplan.Factor("state", problem.states, np.array([0.5, 0.5]))
    mine.prior.flags.writeable = True
    with pytest.raises(AgentError, match="must leave the problem as it is; on 'tiger' it changed"):
        rhoplan.check_planner(Broken(bend=meddling), problems=[replace(problem, factors=(mine,))])


def test_other_broken_promises_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing(Broken):
        def solve(self, problem: rhoplan.POMDP, objective: rhoplan.Objective | None = None) -> Any:
            return "listen"

    class Nameless(Broken):
        name: ClassVar[str] = ""

    for planner, promise in ((Nothing(), "return a Policy by `solve`"), (Nameless(), "have a name")):
        with pytest.raises(AgentError, match=f"must {promise}"):
            rhoplan.check_planner(planner)
    monkeypatch.setitem(PLANNERS, "broken", Registered("", Broken, (), samples=True))
    with pytest.raises(AgentError, match="must sample if and only if its row of PLANNERS says so"):
        rhoplan.check_planner(Broken())


# -- values, not strings ----------------------------------------------------------------------------------------------


def comparisons(source: str) -> list[str]:
    """Places where something is compared with a planner's name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
        parts += [node.value] if isinstance(node, ast.MatchValue) else []
        names = {one.value for part in parts for one in ast.walk(part) if isinstance(one, ast.Constant)}
        words = " ".join(map(ast.unparse, parts))
        if names & (set(PLANNERS) - {"exact"}) or ("exact" in names and "planner" in words):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")  # type: ignore[attr-defined]
    return found


def test_nobody_compares_with_the_name_of_a_planner() -> None:
    assert comparisons("if agent.planner != 'exact': pass")
    assert comparisons("x = how in ('mcts', 'pomcp')")
    assert not comparisons("row.se_from == 'exact'")
    named = re.compile(rf"""["']({"|".join(PLANNERS)})["']""")
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        assert not (named.search(text) and comparisons(text)), path


@pytest.mark.parametrize(("planner", "beyond"), [("mcts", 0), ("pomcp", 3)])
def test_searches_look_as_far_as_they_say(planner: str, beyond: int, monkeypatch: pytest.MonkeyPatch) -> None:
    depths: list[int] = []

    class Noted(tree_search.TreeSearch):
        def __init__(self, problem: rhoplan.POMDP, settings: Any, **aim: Any) -> None:
            depths.append(settings.depth)
            super().__init__(problem, settings, **aim)

    monkeypatch.setattr("rhoplan.planning.tree_search.policy.TreeSearch", Noted)
    rhoplan.decide(TIGER, make_agent("efe", TIGER, planner=planner, horizon=2, simulations=5))
    assert depths == [2 + beyond]


def test_exact_is_what_it_says() -> None:
    assert rhoplan.Lookahead(3) == rhoplan.Lookahead(3) != rhoplan.Lookahead(4)
    assert rhoplan.Lookahead(3).is_fixed
    assert rhoplan.Lookahead(3).takes == ("horizon",)
