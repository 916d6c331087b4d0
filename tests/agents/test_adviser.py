"""Who advises where nobody says: cost alone counts, unless the model, a weight or a utility puts a price."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

import rhoplan
from rhoplan.agents.agent import AGENTS, make_adviser, make_agent
from rhoplan.app.cli import _guarded
from rhoplan.errors import AgentError, ModelFileError, ProblemError
from rhoplan.io.model_file import parse_model, write_model

MODEL = """\
states: [well, ill]
prevalence: {ill: 20%}
tests:
  swab: {cost: 5, sensitivity: 90%, specificity: 80%}
  scan: {cost: 30, sensitivity: 95%, specificity: 97%}
losses:
  treat: {well: 100, ill: 20}
  leave: {well: 0, ill: 900}
"""
PRICED = "information: {price: 25, per: nat}\n" + MODEL


def test_cost_alone_counts_unless_somebody_puts_a_price() -> None:
    plain, priced = parse_model(MODEL), parse_model(PRICED)
    assert (make_adviser(plain).name, make_adviser(plain).weight) == ("planning", 0)
    assert (make_adviser(plain, weight=3.0).name, make_adviser(plain, weight=3.0).weight) == ("planning-ig", 3)
    assert (make_adviser(priced).name, make_adviser(priced).weight) == ("planning-ig", 25)
    assert make_adviser(priced, weight=0.0).weight == 0
    assert make_adviser(plain, "efe").weight == 1
    assert make_adviser(plain, utility="negative-entropy").weight == 1


def test_a_price_is_the_same_in_every_unit() -> None:
    per_bit = parse_model(PRICED.replace("25, per: nat", f"{25 * math.log(2)!r}, per: bit"))
    assert per_bit.price == pytest.approx(25)
    in_bits = make_adviser(per_bit, unit="bits")
    assert in_bits.weight == pytest.approx(25 * math.log(2))
    assert in_bits.weight_per_nat == pytest.approx(25)
    assert parse_model(write_model(per_bit)).price == per_bit.price
    assert parse_model(PRICED.replace(", per: nat", "")).price == 25
    assert make_agent("planning-ig", per_bit).weight == pytest.approx(25)
    assert make_agent("efe", per_bit).weight == 1


@pytest.mark.parametrize("name", AGENTS)
def test_weight_0_takes_information_out_of_any_agent(name: str) -> None:
    problem = rhoplan.make("tiger")
    agent = make_agent(name, problem, weight=0.0)
    assert agent.weight_per_nat == 0
    if AGENTS[name].commits_count and not AGENTS[name].one_step:
        plain = rhoplan.decide(problem, make_agent("planning", problem))
        assert rhoplan.decide(problem, agent).actions == plain.actions
    assert bool(agent.notes) == (name == "efe")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{price: -1}", "information.price must not be negative"),
        ("{price: 25, per: byte}", "information.per names the unit 'byte'"),
        ("{per: nat}", "information has no field 'per'"),
        ("{price: much}", "information.price must be a finite number"),
        ("{}", "must have the field 'about'"),
        ("25", "information must be a map"),
    ],
)
def test_a_price_that_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        parse_model(PRICED.replace("{price: 25, per: nat}", text))


def test_a_price_of_a_problem_is_checked() -> None:
    menu = parse_model(MODEL).flat
    with pytest.raises(ProblemError, match="price of information"):
        rhoplan.DiagnosticProblem(
            name="x", states=("well", "ill"), tests=menu.tests, decisions=menu.commits, price=-1.0
        )
    with pytest.raises(AgentError, match="no agent"):
        make_adviser(parse_model(MODEL), "nobody")


def test_commands_for_people_count_costs_and_those_for_research_are_the_papers(
    capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    plain, priced = tmp_path / "plain.yaml", tmp_path / "priced.yaml"
    plain.write_text(MODEL)
    priced.write_text(PRICED)

    def asked(*arguments: str) -> dict[str, Any]:
        assert _guarded([*arguments, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        record: dict[str, Any] = found["parts"][0]["content"] if "parts" in found else found
        return {name: record[name] for name in ("agent", "weight")}

    assert asked("advise", str(plain)) == {"agent": "planning", "weight": 0}
    assert asked("advise", str(plain), "--weight", "7") == {"agent": "planning-ig", "weight": 7}
    assert asked("advise", str(plain), "--agent", "efe", "--weight", "0") == {"agent": "efe", "weight": 0}
    assert asked("advise", str(priced)) == {"agent": "planning-ig", "weight": 25}
    assert asked("decide", str(plain)) == {"agent": "efe", "weight": 1}
    assert asked("decide", str(plain), "--weight", "0") == {"agent": "efe", "weight": 0}
