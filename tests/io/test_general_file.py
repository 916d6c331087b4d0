"""General model files: factors, places and parts are read as meant, written and read back, and faults are named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rhoplan
from bridge import Array, FixedMenu, Observable, as_dense, make_agent, model_record, parse_model, path_of, write_model
from parted import drawn
from rhoplan import END, POMDP, Action, Factor, LimitError, ModelFileError

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "two-components.yaml"

PUMP = """\
unit: kEUR
factors:
  pump: {states: [good, worn], prevalence: {worn: 20%}}
actions:
  run:
    reward: {pump: {good: 8, worn: -6}}
    parts:
      pump:
        outcomes: [quiet, loud]
        likelihood: {good: [0.8, 0.2], worn: [0.3, 0.7]}
        change: {good: {good: 0.9, worn: 0.1}}
  look: {cost: 1, parts: {pump: {sensitivity: 0.95, specificity: 95%, outcomes: [fine, bad]}}}
  renew: {cost: 15, parts: {pump: {change: {worn: good}}}}
  sell: {ends: true, reward: {pump: [5, 1]}}
discount: 0.95
cap: 12
"""

PUMP_TOML = """\
unit = "kEUR"
discount = 0.95
cap = 12
[factors.pump]
states = ["good", "worn"]
positive = "worn"
prior = [0.8, 0.2]
[actions.run]
reward.pump = {good = 8, worn = -6}
[actions.run.parts.pump]
outcomes = ["quiet", "loud"]
likelihood = {good = [0.8, 0.2], worn = [0.3, 0.7]}
change.good = [0.9, 0.1]
[actions.look]
cost = 1
[actions.look.parts.pump]
sensitivity = 0.95
specificity = "95%"
outcomes = ["fine", "bad"]
[actions.renew]
cost = 15
parts.pump.change = {worn = "good"}
[actions.sell]
ends = true
reward.pump = {good = 5, worn = 1}
"""


def pump() -> POMDP:
    here = "here"
    hears, sees = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([[0.95, 0.05], [0.05, 0.95]])
    worn, renewed = np.array([[0.9, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])
    actions = (
        Action("run", np.array([8.0, -6.0]), hears, ("quiet", "loud"), (here, here), transition=worn),
        Action("look", np.full(2, -1.0), sees, ("fine", "bad"), (here, here)),
        Action("renew", np.full(2, -15.0), np.ones((2, 1)), ("done",), (here,), transition=renewed),
        Action("sell", np.array([5.0, 1.0]), np.ones((2, 1)), ("done",), (END,)),
    )
    state = Factor("pump", ("good", "worn"), np.array([0.8, 0.2]))
    return POMDP("pump", (state,), here, FixedMenu(actions), unit="kEUR", discount=0.95, cap=12)


def assert_same(left: POMDP, right: POMDP) -> dict[Observable, Observable]:
    """The same numbers, actions in the same order in places that correspond to one another: these, of the right one."""
    for field in ("name", "unit", "discount", "horizon", "cap", "planner", "tallies"):
        assert getattr(left, field) == getattr(right, field), field
    assert [(one.name, one.states) for one in left.factors] == [(one.name, one.states) for one in right.factors]
    for mine, other in zip(left.factors, right.factors, strict=True):
        assert mine.prior == pytest.approx(other.prior, abs=1e-12)
        assert [one.name for one in mine.joins] == [one.name for one in other.joins]
    counterpart, waiting = {left.start: right.start}, [left.start]
    while waiting:
        here = waiting.pop()
        menus = left.menu(here), right.menu(counterpart[here])
        assert [action.name for action in menus[0]] == [action.name for action in menus[1]]
        for mine, other in zip(*menus, strict=True):
            assert_same_action(mine, other)
            for target, others in zip(mine.leads_to, other.leads_to, strict=True):
                assert (target is END) == (others is END)
                if target is not END and target not in counterpart:
                    waiting.append(target)
                assert counterpart.setdefault(target, others) == others
    assert len(set(counterpart.values())) == len(counterpart)
    return {other: mine for mine, other in counterpart.items()}


def written_and_read(problem: POMDP) -> POMDP:
    """What is read of what is written, checked, with the problem's own leaf."""
    again = parse_model(write_model(problem), file=problem.spec)
    back, leaf = assert_same(problem, again), problem.leaf
    if leaf is None:
        return again
    return replace(
        again, leaf=lambda observables, beliefs: leaf([back[observable] for observable in observables], beliefs)
    )


def assert_same_action(mine: Action, other: Action) -> None:
    assert mine.outcomes == other.outcomes
    moves = len(mine.outcomes) == 1 and mine.preserves_hidden_state and mine.same_reward is not None
    if moves:  # which factor it is said to concern means nothing
        assert other.same_reward == pytest.approx(mine.same_reward, abs=1e-12)
        assert other.preserves_hidden_state
        return
    assert mine.factor == other.factor
    assert other.reward == pytest.approx(mine.reward, abs=1e-12)
    assert other.likelihood == pytest.approx(mine.likelihood, abs=1e-12)
    assert weighed(other) == pytest.approx(weighed(mine), abs=1e-12)
    assert paid(other) == pytest.approx(paid(mine), abs=1e-12)


def weighed(action: Action) -> Array:
    """P(o, s' | s), as (O, S, S): what the row of an outcome that cannot be says, does not count."""
    states, outcomes = action.likelihood.shape
    change = np.eye(states) if action.transition is None else action.transition
    result: Array = as_dense(change, outcomes) * action.likelihood.T[:, :, None]
    return result


def paid(action: Action) -> Array:
    """What every way that an action can go pays, times its chance, (O, S, S)."""
    outcomes = len(action.outcomes)
    if action.pays is None:
        pays = np.broadcast_to(action.reward[None, :, None], weighed(action).shape)
    elif action.pays.ndim == 2:
        pays = np.asarray(action.pays).T[:, :, None]
    else:
        pays = as_dense(action.pays, outcomes)
    result: Array = weighed(action) * pays
    return result


def values(problem: POMDP, name: str = "efe") -> list[float]:
    """What every action is worth at the start."""
    return [action.value for action in rhoplan.decide(problem, make_agent(name, problem)).actions]


def scores(problem: POMDP, name: str = "efe") -> list[float]:
    """What following the agent comes to."""
    score = rhoplan.evaluate(problem, make_agent(name, problem))
    return [score.reward, score.reward_sd, score.tests, score.steps, score.discounted, *score.tallies.values()]


# -- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "language"), [(PUMP, "yaml"), (PUMP_TOML, "toml")])
def test_a_file_is_the_problem_built_by_hand(text: str, language: str) -> None:
    assert_same(parse_model(text, file="pump.yaml", language=language), pump())


def test_json_reads_the_same_way() -> None:
    record = model_record(parse_model(PUMP, file="pump.yaml"))
    assert_same(parse_model(json.dumps(record), language="json"), pump())


def test_the_example_is_two_components_in_two_places() -> None:
    problem = rhoplan.make(str(EXAMPLE))
    assert [action.name for action in problem.menu("yard")] == ["climb", "tap", "x-ray", "repair", "wait", "ship"]
    assert [action.name for action in problem.menu("tower")] == ["descend", "tap", "x-ray", "repair", "wait", "ship"]
    decision = rhoplan.decide(problem, make_agent("efe", problem))
    assert decision.beliefs["beam"] == pytest.approx({"sound": 0.8, "cracked": 0.2})
    assert decision.beliefs["pump"] == pytest.approx({"good": 0.65, "worn": 0.35})
    ship = next(action for action in problem.menu("yard") if action.name == "ship")
    assert ship.reward.tolist() == [18.0, -2.0, -22.0, -42.0]


TWO = """\
factors:
  a: {states: [x, y]}
  b: {states: [u, v]}
places: [p, q, r]
start: q
actions:
  go: {cost: 1}
"""


def read(*lines: str, head: str = TWO) -> POMDP:
    return parse_model(head + "".join(f"{line}\n" for line in lines))


def targets(problem: POMDP, name: str) -> dict[str, tuple[object, ...]]:
    found = {place: {action.name: action for action in problem.menu(place)} for place in "pqr"}
    return {place: menu[name].leads_to for place, menu in found.items() if name in menu}


SHOW = "parts: {a: {outcomes: [s, t], likelihood: {x: [1, 0], y: [0, 1]}}}"


@pytest.mark.parametrize(
    ("action", "leads"),
    [
        ("{}", {"p": ("p",), "q": ("q",), "r": ("r",)}),
        ("{at: p}", {"p": ("p",)}),
        ("{at: [p, r], to: q}", {"p": ("q",), "r": ("q",)}),
        ("{at: [p, r], to: {p: q}}", {"p": ("q",), "r": ("r",)}),
        ("{to: {p: q, r: end}}", {"p": ("q",), "r": (END,)}),
        ("{ends: true}", dict.fromkeys("pqr", (END,))),
        ("{ends: false, at: q}", {"q": ("q",)}),
        (f"{{at: q, to: {{s: r}}, {SHOW}}}", {"q": ("r", "q")}),
        (f"{{to: {{q: {{s: r, t: end}}, p: r}}, {SHOW}}}", {"q": ("r", END), "p": ("r", "r")}),
        ("[{at: p, to: q}, {at: q, to: r}]", {"p": ("q",), "q": ("r",)}),
    ],
)
def test_to_says_where_an_action_leads(action: str, leads: dict[str, tuple[object, ...]]) -> None:
    assert targets(read(f"  act: {action}"), "act") == leads


def test_costs_and_rewards_add_up_by_state_outcome_and_change() -> None:
    problem = read(
        "  act:",
        "    reward: {a: {x: {s: 1, t: {x: 2, y: 3}}, y: 10}, b: [0.5, 0]}",
        "    cost: {a: [100, 200]}",
        "    parts: {a: {outcomes: [s, t], likelihood: {x: [0.5, 0.5], y: [0, 1]}, change: {x: [0.25, 0.75]}}}",
    )
    action = problem.menu("q")[1]
    after_t = 0.25 * 2 + 0.75 * 3
    in_x = 0.5 * 1 + 0.5 * after_t - 100
    assert action.reward == pytest.approx([in_x + 0.5, in_x, -190 + 0.5, -190])
    pays = np.asarray(action.pays)  # states: x u, x v, y u, y v
    assert [pays[0, 0, 0], pays[1, 0, 0], pays[1, 1, 3], pays[1, 2, 2]] == [-98.5, -97.5, -97.0, -189.5]


def test_change_on_an_outcome_leaves_the_others() -> None:
    part = "{outcomes: [s, t], likelihood: {x: [0.5, 0.5], y: [0.5, 0.5]}, change_on: {t: {x: y}}}"
    change = np.asarray(read(f"  act: {{parts: {{a: {part}}}}}").menu("q")[1].transition)
    assert change.tolist() == [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]


def test_joint_priors_and_passive_changes() -> None:
    problem = read('joint: {"b, a": {"u, x": 0.4, "u, y": 0.1, "v, x": 0, "v, y": 0.5}}', "passive: {a: {x: y}}")
    (block,) = problem.factors
    assert dict(zip(block.states, block.prior.tolist(), strict=True)) == {
        "x, u": 0.4, "x, v": 0.0, "y, u": 0.1, "y, v": 0.5,
    }  # fmt: skip
    after = problem.belief().branches(problem.menu("q")[0])[0].belief
    assert after.beliefs[0].tolist() == [0, 0, 0.5, 0.5]


# -- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", ["planning", "efe"])
@pytest.mark.parametrize(
    "spec", ["rocksample:n=3,k=2", "rocksample", "drilling", "navigation:n=3", "inspection:n=2", str(EXAMPLE)]
)
def test_writing_and_reading_keeps_menus_decisions_and_scores(spec: str, agent: str) -> None:
    problem = rhoplan.make(spec)
    again = written_and_read(problem)
    assert values(again, agent) == pytest.approx(values(problem, agent), rel=1e-12, abs=1e-12)
    assert scores(again, agent) == pytest.approx(scores(problem, agent), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("spec", ["rocksample:n=7,k=8", "rocksample-standard:n=4,k=3", "inspection:n=4"])
def test_larger_problems_keep_menus_and_decisions(spec: str) -> None:
    problem = rhoplan.make(spec)
    assert values(written_and_read(problem)) == pytest.approx(values(problem), rel=1e-12, abs=1e-12)


@pytest.mark.slow
def test_the_published_inspection_is_written_and_read_back() -> None:
    problem = rhoplan.make("inspection")
    assert values(written_and_read(problem)) == pytest.approx(values(problem), rel=1e-12, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**9))
def test_random_problems_are_written_and_read_back(seed: int) -> None:
    problem = drawn(seed).problem()
    assert_same(problem, parse_model(write_model(problem)))


def test_an_action_stands_there_once_for_places_where_its_numbers_are_equal() -> None:
    record = model_record(rhoplan.make("rocksample:n=3,k=2"))
    assert isinstance(record["actions"]["north"], dict)
    checks = record["actions"]["check-0"]
    assert sum(1 if isinstance(one["at"], str) else len(one["at"]) for one in checks) == 9
    assert len(checks) < 9


def test_what_is_no_number_is_said_to_be_left_out() -> None:
    assert write_model(rhoplan.make("rocksample:n=3,k=2")).startswith("# Without the problem's own leaf")
    assert write_model(rhoplan.make("drilling")).startswith("name: drilling")


def test_awkward_places_and_names_survive() -> None:
    go = Action("go: there", np.zeros(2), np.ones((2, 1)), ("{done}",), ((-1, "end"),))
    back = Action("end", np.array([1.0, 2.0]), np.ones((2, 1)), ("done",), (END,))
    menus = {"end": (go,), (-1, "end"): (back,)}
    factor = Factor("a, b", ("yes", "no"), np.array([0.5, 0.5]))
    problem = POMDP("x", (factor,), "end", menus.__getitem__)
    assert_same(problem, parse_model(write_model(problem), file="x"))


def test_probabilities_that_rounding_put_above_1_are_read_back() -> None:
    above = np.nextafter(1.0, 2.0)
    see = Action("see", np.zeros(2), np.array([[above, 0.0], [0.0, above]]), ("p", "q"), ("here", END))
    change = np.array([[0.0, above], [above, 0.0]])
    factor = Factor("a", ("s", "t"), np.array([0.0, above]))
    problem = POMDP("x", (factor,), "here", FixedMenu((replace(see, transition=change),)))
    assert_same(problem, parse_model(write_model(problem), file="x"))


def test_outcomes_that_are_places_are_no_puzzle() -> None:
    see = Action("see", np.zeros(2), np.eye(2), ("p", "q"), ("q", "p"))
    leave = Action("leave", np.zeros(2), np.eye(2), ("p", "q"), (END, "p"))
    menus = {"p": (see,), "q": (leave,)}
    problem = POMDP("x", (Factor("a", ("s", "t"), np.array([0.5, 0.5])),), "p", menus.__getitem__)
    assert_same(problem, parse_model(write_model(problem), file="x"))


def test_what_cannot_be_written_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Action(name, np.zeros(2), np.ones((2, 1)), ("done",), ("q",)) for name in "xy")
    menus = {"p": (first, second), "q": (second, first)}
    problem = POMDP("x", (Factor("a", ("s", "t"), np.array([0.5, 0.5])),), "p", menus.__getitem__)
    with pytest.raises(LimitError, match="different orders"):
        write_model(problem)
    monkeypatch.setattr(path_of("writer_LARGEST_FILE"), 500)
    with pytest.raises(LimitError, match="bytes; 500 is the most"):
        write_model(rhoplan.make("drilling"))
    monkeypatch.setattr(path_of("MOST_PLACES"), 5)
    with pytest.raises(LimitError, match="more than 5 visible states"):
        write_model(rhoplan.make("rocksample:n=3,k=2"))
    monkeypatch.setattr(path_of("MOST_NUMBERS"), 5)
    with pytest.raises(LimitError, match="more than 5 numbers"):
        write_model(rhoplan.make("drilling"))


# -- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "message", "line", "field"),
    [
        (["states: [x]"], "the model has no field 'states'", 8, ("states",)),
        (["tests: {}"], "the model has no field 'tests'", 8, ("tests",)),
        (["  go: {}"], "'go' stands twice", 8, ("actions", "go")),
        (["  act: 5"], "actions.act must be a map of fields", 8, ("actions", "act")),
        (["  act: []"], "actions.act must be a map of fields, or a list", 8, ("actions", "act")),
        (["  act: {price: 5}"], "actions.act has no field 'price'", 8, ("actions", "act", "price")),
        (["  act: {at: s}"], "names the place 's', which is not one of p, q, r", 8, ("actions", "act", "at")),
        (["  act: {at: [p, s]}"], "names the place 's'", 8, ("actions", "act", "at", 1)),
        (["  act: {to: s}"], "names the place 's', which is not one of p, q, r, end", 8, ("actions", "act", "to")),
        (["  act: {to: {}}"], "must name a place; it is an empty map", 8, ("actions", "act", "to")),
        (["  act: {to: {s: p}}"], "names 's', which is neither an outcome", 8, ("actions", "act", "to", "s")),
        (["  act: {at: p, to: {q: p}}"], "not one of those where it is offered", 8, ("actions", "act", "to", "q")),
        (["  act: {ends: true, to: p}"], "must either end or lead to a place", 8, ("actions", "act", "to")),
        (["  act: {ends: maybe}"], "must be true or false", 8, ("actions", "act", "ends")),
        (["  act: [{at: p}, {}]"], "offered at 'p', as one before it is", 8, ("actions", "act", 1)),
        (
            ["  act: {to: {p: q}, parts: {a: {outcomes: [p, z], likelihood: [[1, 0], [1, 0]]}}}"],
            "must give a row for each state", 8, ("actions", "act", "parts", "a", "likelihood"),
        ),
        (
            ["  act: {to: {p: q}, parts: {a: {outcomes: [p, z], likelihood: {x: [1, 0], y: [1, 0]}}}}"],
            "could mean outcomes or places", 8, ("actions", "act", "to"),
        ),
        (["  act: {cost: -1}"], "actions.act.cost must not be negative", 8, ("actions", "act", "cost")),
        (["  act: {reward: much}"], "must be a finite number", 8, ("actions", "act", "reward")),
        (["  act: {reward: {c: [1, 2]}}"], "names the factor 'c', which is not one of a, b", 8,
         ("actions", "act", "reward", "c")),
        (["  act: {reward: {a: [1]}}"], "a number for each of 2 states; it has 1", 8,
         ("actions", "act", "reward", "a")),
        (["  act: {reward: {a: {x: 1}}}"], "'y' is missing", 8, ("actions", "act", "reward", "a")),
        (["  act: {reward: {a: {x: 1, y: {done: {}}}}}"], "must be a number, or numbers by outcome", 8,
         ("actions", "act", "reward", "a", "y", "done")),
        (["  act: {reward: {a: {x: 1, y: {done: {x: 1, y: 2}}}}}"], "does not change it", 8,
         ("actions", "act", "reward", "a")),
        (["  act: {parts: {c: {}}}"], "names the factor 'c'", 8, ("actions", "act", "parts", "c")),
        (['  act: {parts: {"a, a": {}}}'], "must name every factor once", 8, ("actions", "act", "parts", "a, a")),
        (["  act: {parts: {a: {}}}"], "it is empty", 8, ("actions", "act", "parts", "a")),
        (["  act: {parts: {a: {accuracy: 1}}}"], "has no field 'accuracy'", 8,
         ("actions", "act", "parts", "a", "accuracy")),
        (["  act: {parts: {a: {outcomes: [s, t]}}}"], "must have the field 'likelihood'", 8,
         ("actions", "act", "parts", "a")),
        (["  act: {parts: {a: {outcomes: [s, s], likelihood: {x: [1, 0], y: [0, 1]}}}}"], "'s' stands there twice", 8,
         ("actions", "act", "parts", "a", "outcomes", 1)),
        (["  act:", "    parts:", "      a:", "        outcomes: [s, t]", "        likelihood:",
          "          x: [1, 0]", "          y: [0.5, 0.4]"], "rows that sum to 1; row 'y' sums to 0.9", 14,
         ("actions", "act", "parts", "a", "likelihood", "y")),
        (["  act: {parts: {a: {change: {z: x}}}}"], "names the state 'z'", 8,
         ("actions", "act", "parts", "a", "change", "z")),
        (["  act: {parts: {a: {change: {x: z}}}}"], "names the state 'z'", 8,
         ("actions", "act", "parts", "a", "change", "x")),
        (["  act: {parts: {a: {change: {x: {y: 0.5}}}}}"], "must sum to 1; it sums to 0.5", 8,
         ("actions", "act", "parts", "a", "change", "x")),
        (["  act: {parts: {a: {change: {x: [0.5]}}}}"], "for each of 2 states; it has 1", 8,
         ("actions", "act", "parts", "a", "change", "x")),
        (["  act: {parts: {a: {change_on: {s: {x: y}}}}}"], "needs outcomes", 8,
         ("actions", "act", "parts", "a", "change_on")),
        (["  act: {parts: {a: {change: {x: y}, change_on: {s: {x: y}}}}}"], "either change or change_on", 8,
         ("actions", "act", "parts", "a", "change_on")),
        (['  act: {parts: {a: {change: {x: y}}, "a, b": {change: {"x, u": "y, u"}}}}'],
         "changes of 'act' must have every factor once; 'a' stands there twice", 8, ("actions", "act")),
        (["joint: {a: [0.5, 0.4]}"], "must sum to 1; it sums to 0.9", 8, ("joint", "a")),
        (['joint: {"a, b": [1, 0, 0, 0], a: [1, 0]}'], "'a' stands there twice", 8, ("joint", "a")),
        (['joint: {"a, b": [1, 0]}'], "for each of 4 states; it has 2", 8, ("joint", "a, b")),
        (["passive: {a: {z: x}}"], "names the state 'z'", 8, ("passive", "a", "z")),
        (["passive: {c: {x: y}}"], "names the factor 'c'", 8, ("passive", "c")),
        (['passive: {a: {x: y}, "a, b": {"x, u": "y, u"}}'], "passive changes must have every factor once", 8,
         ("passive",)),
        (["discount: 0"], "discount must be above 0 and at most 1", 8, ("discount",)),
        (["cap: 0"], "cap must be a whole number", 8, ("cap",)),
        (["horizon: 0"], "horizon must be a whole number", 8, ("horizon",)),
        (["planner: guess"], "names the planner 'guess'", 8, ("planner",)),
        (["tallies: {n: {states: [z]}}"], "names 'z', which is not one of x, y, u, v", 8,
         ("tallies", "n", "states", 0)),
        (["tallies: {n: {kinds: [z]}}"], "has no field 'kinds'", 8, ("tallies", "n", "kinds")),
    ],
)  # fmt: skip
def test_every_fault_names_file_line_and_field(
    lines: list[str], message: str, line: int, field: tuple[str | int, ...]
) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_model(TWO + "".join(f"{one}\n" for one in lines), file="two.yaml")
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.field) == (line, field)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("  a: {states: [x, y]}", "  a: [x, y]", "factors.a must be a map of fields", 2),
        ("  a: {states: [x, y]}", "  a: {prior: [1]}", "factors.a must have the field 'states'", 2),
        ("  a: {states: [x, y]}", "  a: {states: [x, x]}", "'x' stands there twice", 2),
        ("  a: {states: [x, y]}", "  a: {states: [x, y], prior: [1, 1]}", "factors.a.prior must sum to 1", 2),
        ("  a: {states: [x, y]}", "  a: {states: [x, y, z], prevalence: 1%}", "factors.a has 3", 2),
        ("  a: {states: [x, y]}", "  a: {states: [x, y, z], positive: x}", "factors.a has 3", 2),
        ("  b: {states: [u, v]}", "  a: {states: [u, v]}", "'a' stands twice", 3),
        ("start: q", "start: s", "start names the place 's'", 5),
        ("places: [p, q, r]", "places: [p, q, end]", "'end' is where episodes end", 4),
        ("  go: {cost: 1}", "  go: {cost: 1, at: [p, q]}", "every place must offer an action; 'r' offers none", 4),
        ("  go: {cost: 1}", "  go: {parts: {a: {sensitivity: 1}}}", "must have the field 'specificity'", 7),
        ("actions:\n  go: {cost: 1}", "discount: 1", "the model must have the field 'actions'", 1),
        ("actions:\n  go: {cost: 1}", "actions: {}", "actions must be a map from names", 6),
        (
            "  a: {states: [x, y]}",
            '  a: {states: [x, y], prior: [1, 0]}\njoint: {"a, b": [1, 0, 0, 0]}',
            "factors.a must have no prior of its own: joint.a, b gives it",
            2,
        ),
    ],
)
def test_faults_in_factors_and_places_are_named(old: str, new: str, message: str, line: int) -> None:
    text = TWO.replace(old, new)
    if "joint" in new:
        text = TWO.replace(old, new.split("\n")[0]) + new.split("\n")[1] + "\n"
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, file="two.yaml")
    assert message in str(caught.value)
    assert caught.value.line == line


def test_names_that_combine_to_the_same_are_refused() -> None:
    head = TWO.replace("[x, y]", '[x, "x, y"]').replace("[u, v]", '[z, "y, z"]')
    with pytest.raises(ModelFileError, match="combinations of states must have different names"):
        read('  act: {parts: {"a, b": {change: {"x, z": "x, z"}}}}', head=head)


def test_too_many_combinations_name_the_factors() -> None:
    factors = "".join(f"  f{number}: {{states: [x, y]}}\n" for number in range(15))
    parts = ", ".join(f"f{number}: {{change: {{x: y}}}}" for number in range(15))
    with pytest.raises(ModelFileError, match="belong together and have 32,768 combinations"):
        parse_model(f"factors:\n{factors}actions:\n  go: {{parts: {{{parts}}}}}\n")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("factor: {}\nactions: {}", "factors"),
        ("factors: {}\naction: {}", "actions"),
        ("states: [a]\ntest: {}", "tests"),
    ],
)
def test_a_field_that_is_nearly_one_is_named(text: str, meant: str) -> None:
    with pytest.raises(ModelFileError, match=f"is it '{meant}'"):
        parse_model(text)
