"""One table of settings: ranges, defaults, notes, and the same names in options, API, records and logs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rhoplan
from rhoplan.advice.journal import Case, agent_of, settings_of
from rhoplan.advice.replay import replay
from rhoplan.agents.agent import AGENTS, BoundAgent, make_agent
from rhoplan.agents.planners import field_names
from rhoplan.agents.registry import PLANNERS, UTILITIES, Registered
from rhoplan.agents.settings import SETTINGS, is_number
from rhoplan.app.cli import group
from rhoplan.app.records import describe
from rhoplan.errors import AgentError
from rhoplan.planning.utility import FunctionUtility

TIGER, ROCKS = rhoplan.make("tiger"), rhoplan.make("rocksample:n=3,k=2")

MOST = np.finfo(float).max
ENDS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "horizon": ((1, 10_000), (0, 10_001, 1.5, math.nan)),
    "simulations": ((1, 10**9), (0, -1, 1.5)),
    "time": ((5e-324, MOST), (0, -1.0, math.inf, math.nan)),
    "exploration": ((0, MOST), (-5e-324, math.inf, math.nan)),
    "precision": ((5e-324, math.inf), (0, -1.0, math.nan)),
    "weight": ((0, MOST), (-5e-324, math.nan)),
    "discount": ((5e-324, 1), (0, math.nextafter(1, 2), math.nan)),
    "near": ((0, 1), (-5e-324, math.nextafter(1, 2), math.nan)),
}
"""The ends of every range, and the nearest values beyond them."""


@pytest.mark.parametrize("name", SETTINGS)
def test_a_range_ends_where_it_says(name: str) -> None:
    assert (name in ENDS) == bool(SETTINGS[name].rule)
    inside, beyond = ENDS.get(name, ((), ()))
    for value in inside:
        SETTINGS[name].check(value)
    for value in beyond:
        for refuse in (SETTINGS[name].check, lambda one: make_agent("efe", TIGER, **{SETTINGS[name].word: one})):
            with pytest.raises(AgentError) as caught:
                refuse(value)
            assert (caught.value.code, caught.value.field) == ("setting-range", (name,))


def test_what_a_log_may_say_of_a_setting() -> None:
    good: dict[type, list[Any]] = {int: [3], float: [3, 0.5], str: ["exact"], tuple: [[0.5, 0.5], []]}
    bad: dict[type, list[Any]] = {int: [0.5, "3"], float: ["3", math.inf], str: [3], tuple: [0.5, ["1"], (0.5,)]}
    for name, setting in SETTINGS.items():
        assert all(map(setting.reads, good[setting.kind])), name
        assert not any(map(setting.reads, [*bad[setting.kind], True])), name
        assert setting.reads(None) == (name in {"planner", "precision", "utility", "target", "near"}), name
    assert not any(map(is_number, [True, None, "1", [1], 1e300, -1e300, 10**400, math.nan]))
    assert all(map(is_number, [0, -1, 1.5, math.nextafter(1e300, 0), -math.nextafter(1e300, 0)]))


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_one_name_in_options_records_and_the_api(name: str) -> None:
    decide = group.get_command(None, "decide")  # type: ignore[arg-type]
    option = next(one for one in decide.params if f"--{name}" in one.opts)  # type: ignore[union-attr]
    assert option.name == SETTINGS[name].word
    assert SETTINGS[name].help in option.help  # type: ignore[attr-defined]
    assert name in describe(TIGER, make_agent("efe", TIGER))
    pytest.importorskip("fastapi", reason="the server comes with the extra rhoplan[serve]")
    from rhoplan.app.serve import schema

    field = schema.Decide.model_json_schema()["properties"][name]
    assert field["description"] == SETTINGS[name].help
    assert (name in schema.Adviser.model_fields) == SETTINGS[name].is_kept


@pytest.mark.parametrize("name", PLANNERS)
def test_rows_say_what_planners_say(name: str) -> None:
    row, kind = PLANNERS[name], PLANNERS[name].load()
    assert (kind.name, kind.samples) == (name, row.samples)  # type: ignore[attr-defined]
    assert set(row.takes) == set(field_names(kind)) - {"memory"}  # type: ignore[arg-type]
    given = {"simulations": 5, "seconds": 1.0, "exploration": 2.0}
    agent = make_agent("efe", TIGER, planner=name, **given)
    missing = [word for word in given if word not in row.takes]
    assert len(agent.notes) == len(missing)
    assert {word: getattr(agent, word) for word in given} == {**given, **dict.fromkeys(missing)}


def test_defaults_are_those_of_the_problem() -> None:
    agent = make_agent("planning", TIGER)
    assert {name: value for name, value in agent.settings.items() if value is not None} == {
        "horizon": 6, "planner": "exact", "weight": 0.0, "unit": "nats", "discount": 1.0, "utility": "information",
        "near": 0.01,
    }  # fmt: skip
    assert agent.precision == math.inf
    horizons = [make_agent("planning", ROCKS, planner=name).horizon for name in ("exact", "anytime")]
    assert horizons == [ROCKS.horizon, 2]
    for name in ("mcts", "pomcp"):
        searches = [{}, {"simulations": 7}, {"seconds": 0.5}, {"simulations": 7, "seconds": 0.5}]
        made = [make_agent("efe", TIGER, planner=name, **given).simulations for given in searches]
        assert made == [1000, 7, None, 7]


def test_the_paper_s_agents_are_these() -> None:
    """Weight (None: to choose), one step, whether commits count."""
    assert {name: (kind.weight, kind.one_step, kind.commits_count) for name, kind in AGENTS.items()} == {
        "myopic": (0.0, True, True), "planning": (0.0, False, True), "info-gain": (None, True, True),
        "planning-ig": (None, False, True), "efe": (1.0, False, True), "epistemic-only": (None, False, False),
    }  # fmt: skip


def test_settings_that_a_definition_fixes_are_noted() -> None:
    for name, settings in (
        ("efe", {"utility": "negative-entropy"}),
        ("planning", {"utility": "negative-entropy"}),
        ("efe", {"weight": 3.0}),
        ("myopic", {"horizon": 3}),
    ):
        assert len(make_agent(name, TIGER, **settings).notes) == 1
    assert make_agent("efe", TIGER, weight=3.0).weight == 1
    assert make_agent("myopic", TIGER, horizon=3).horizon == 1


def test_agents_are_objective_and_planner() -> None:
    agent = BoundAgent("mine", 3, 2.0, unit="bits", discount=0.9, planner="mcts", simulations=7)
    same = BoundAgent("mine", objective=agent.objective, planner=agent.planner)
    assert agent == same
    assert agent.changed(weight=1.0) != agent
    assert agent.changed(weight=1.0).changed(weight=2.0) == agent
    changed = agent.changed(horizon=5, simulations=9)
    assert (changed.horizon, changed.simulations, changed.objective) == (5, 9, agent.objective)
    with pytest.raises(TypeError):
        BoundAgent("mine", 3, simulations=7)  # exact does not take them


# -- utilities by name ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", UTILITIES)
def test_registered_utilities_have_one_name_everywhere(name: str, tmp_path: Path) -> None:
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
    del record["agent"]["utility"]  # the default is information
    (tmp_path / "old.jsonl").write_text(json.dumps(record) + "\n")
    count, difference = replay(tmp_path / "old.jsonl")
    assert (count, bool(difference)) == (1, True)


def test_a_utility_of_ones_own_has_a_name_in_records_and_a_weight(monkeypatch: pytest.MonkeyPatch) -> None:
    wary = FunctionUtility(lambda beliefs, action: -5.0 * (beliefs[:, 0] > 0.9), scale=5.0, name="wary")
    agent = BoundAgent("mine", horizon=3, utility=wary)
    assert (describe(TIGER, agent)["utility"], agent.weight, agent.weight_per_nat) == ("wary", 1.0, 0.0)
    with pytest.raises(AgentError) as caught:
        make_agent("planning-ig", TIGER, utility="wary")
    assert caught.value.code == "unknown-name"
    monkeypatch.setitem(UTILITIES, "wary", Registered("dislikes being sure", lambda: wary))
    named = make_agent("planning-ig", TIGER, horizon=3, utility="wary")
    assert rhoplan.evaluate(TIGER, named) == rhoplan.evaluate(TIGER, agent)
    plain = rhoplan.evaluate(TIGER, make_agent("planning", TIGER, horizon=3)).reward
    assert rhoplan.evaluate(TIGER, named.changed(weight=0.0)).reward == pytest.approx(plain)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"utility": "target-belief"}, "wrong-length"),
        ({"utility": "target-belief", "target": [1.0]}, "wrong-length"),
        ({"utility": "target-belief", "target": [0.5, 0.6]}, "probability-sum"),
        ({"utility": "target-belief", "target": [0.5, math.nan]}, "probability-sum"),
        ({"target": [0.5, 0.5]}, "setting-conflict"),
        ({"utility": "negative-entropy", "planner": "mcts"}, "planner-unsupported"),
        ({"planner": "anytime", "seconds": 1.0, "precision": 2.0}, "setting-conflict"),
        ({"unit": "bytes"}, "unknown-unit"),
        ({"planner": "nobody"}, "unknown-name"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings: dict[str, Any], code: str) -> None:
    with pytest.raises(AgentError) as caught:
        make_agent("planning-ig", TIGER, **settings)
    assert caught.value.code == code
