"""Errors carry the field they are about, beside the message: the right one for every malformed input."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from bridge import BoundAgent, ModelReader, dotted, make_agent, parse_model, parse_tree, path_of
from bridge import estimate as simulate
from bridge import exact_score as evaluate
from bridge import solve_bounds as solve
from rhoplan import (
    AgentError,
    EvidenceError,
    ModelFileError,
    ProblemError,
    RhoplanError,
)
from test_model_file import FAULTS, FULL, FULL_FAULTS, TIGER

SOURCE = Path(rhoplan.__file__).parent

FIELDS = {
    "a row that does not sum to 1": "tests.listen.likelihood.tiger-left",
    "an unknown state": "commits.open-left.tigger-left",
    "a missing reward": "commits.open-left",
    "a negative cost": "tests.listen.cost",
    "a NaN": "tests.listen.cost",
    "an infinite reward": "commits.open-left.tiger-left",
    "a number written as text": "tests.listen.cost",
    "a truth value for a number": "tests.listen.cost",
    "a missing cost": "tests.listen",
    "a duplicate test": "tests.listen",
    "a duplicate state": "states.1",
    "a duplicate outcome": "tests.listen.outcomes.1",
    "one name for a test and a commit": "commits.listen",
    "a prior that does not sum to 1": "prior",
    "a prior of the wrong length": "prior",
    "a negative probability": "tests.listen.likelihood.tiger-left.0",
    "a probability above 100%": "prior.0",
    "an unknown field": "units",
    "an unknown field of a test": "tests.listen.repeats",
    "an unknown repeat": "tests.listen.repeat",
    "states that are no list": "states",
    "commits that are empty": "commits",
    "a YAML syntax error": None,
    "a tab": None,
    "likelihood and sensitivity at once": "tests.listen.sensitivity",
    "a likelihood row for an outcome list of another length": "tests.listen.likelihood.tiger-left",
    "a shorthand of two kinds": "tests.scan.tn",
    "a shorthand and a likelihood": "tests.look.tp",
    "half a shorthand": "tests.assay",
    "inconclusive beside a likelihood": "tests.look.inconclusive",
    "an impossible inconclusive": "tests.smear.inconclusive",
    "an LR+ below 1": "tests.assay.lr_positive",
    "an LR- above 1": "tests.assay.lr_negative",
    "an LR- below 0": "tests.assay.lr_negative",
    "a count that is no count": "tests.scan.tp",
    "a negative count": "tests.scan.fp",
    "nobody tested": "tests.scan.tp",
    "too few outcomes": "tests.assay.outcomes",
    "too many outcomes": "tests.assay.outcomes",
    "a misspelt group": "tests.smear.group",
    "a group without tests": "groups.scans",
    "a negative first price": "groups.blood.first",
    "a first price as text": "groups.blood.first",
    "an unknown field of a group": "groups.blood.fist",
    "groups that are a list": "groups",
    "an order after nothing": "tests.assay.after",
    "an order after itself": "tests.assay.after",
    "an order in a circle": "tests.smear.after",
    "an order twice": "tests.scan.after.1",
    "an order that is a map": "tests.assay.after",
    "a prior and a prevalence": "prevalence",
    "a prevalence of 1000%": "prevalence",
    "a prevalence of another state": "prevalence",
    "a prevalence of no state": "prevalence",
    "a prevalence of both states": "prevalence",
    "a prevalence of what is no state": "prevalence.fine",
    "a positive state that is none": "positive",
    "losses and commits": "losses",
    "neither losses nor commits": None,
    "a negative loss": "losses.leave.ill",
    "a cap of nothing": "cap",
    "a cap on half a test": "cap.tests",
    "a negative budget": "cap.spend",
    "an unknown cap": "cap.money",
    "info that is text": "tests.assay.info",
    "an unknown note": "info.title",
    "illustrative as text": "info.illustrative",
    "an empty note": "info.source",
    "a key with a line break": "hor\nizon",
    "a huge number": "tests.scan.cost",
}


def told(error: RhoplanError) -> str | None:
    return dotted(error.field) if error.field else None


@pytest.mark.parametrize("fault", [*FAULTS, *FULL_FAULTS])
def test_a_fault_in_a_model_file_has_its_field_and_the_line_of_it(fault: str) -> None:
    text = TIGER if fault in FAULTS else FULL
    before, after, line, _ = {**FAULTS, **FULL_FAULTS}[fault]
    with pytest.raises(ModelFileError) as caught:
        parse_model(text.replace(before, after, 1))
    assert told(caught.value) == FIELDS[fault]
    assert caught.value.line == int(line.removeprefix("line "))
    assert str(caught.value) == f"{caught.value.message} (model, {line})"


@pytest.mark.parametrize(
    ("language", "text", "field"),
    [
        ("json", '{"states": ["a", "b"], "prior": [0.5, "x"], "commits": {"go": [1, 1]}}', "prior.1"),
        ("json", '{"states": ["a", "b"], "commits": {"go": [1, 1], "go": [1, 1]}}', "commits.go"),
        ("json", '{"states": ["a", "b"], "commits": {"g.o": [1, "x"]}}', r"commits.g\.o.1"),
        ("toml", 'states = ["a", "b"]\nprior = [0.5, 2]\n[commits]\ngo = [1, 1]', "prior.1"),
        ("toml", 'states = ["a", "b"]\n[commits.go]\na = 1\nb = "x"', "commits.go.b"),
    ],
)
def test_the_field_is_the_same_in_every_language(language: str, text: str, field: str) -> None:
    with pytest.raises(ModelFileError) as caught:
        parse_model(text, language=language)
    assert told(caught.value) == field


@pytest.mark.parametrize(
    ("field", "line"),
    [
        (("tests", "scan", "cost"), 26),
        (("tests", "look", "likelihood", "ill"), 30),
        (("prior",), 12),
        (("commits", "leave", "ill"), 33),
        (("groups", "blood", "first"), 14),
        (("cap", "spend"), 35),
        (("tests", "look", "nothing of the kind"), 28),
        (None, 1),
    ],
)
def test_a_fault_that_the_problem_finds_gets_its_line_from_the_field(
    field: Any, line: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise ProblemError("no", field=field)

    monkeypatch.setattr(path_of("reader_observe_then_commit"), refuse)
    with pytest.raises(ModelFileError) as caught:
        ModelReader("full.yaml").problem(parse_tree(FULL, file="full.yaml", language="yaml"))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"horizon": 0}, "horizon"),
        ({"weight": 1e101}, "weight"),
        ({"unit": "bans"}, "unit"),
        ({"discount": 0.0}, "discount"),
        ({"precision": 0.0}, "precision"),
        ({"planner": "oracle"}, "planner"),
        ({"planner": "mcts", "simulations": 0}, "simulations"),
        ({"planner": "mcts", "seconds": 0.0}, "time"),
        ({"planner": "mcts", "exploration": -1.0}, "exploration"),
        ({"planner": "mcts", "precision": 2.0}, "planner"),
        ({"planner": "anytime", "seconds": 1.0, "precision": 2.0}, "precision"),
    ],
)
def test_a_setting_that_no_agent_can_have_is_the_field(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(AgentError) as caught:
        BoundAgent("planning", **{"horizon": 2, **settings})
    assert told(caught.value) == field


def test_an_unknown_agent_and_a_negative_weight_have_their_fields() -> None:
    tiger = rhoplan.make("tiger")
    for name, settings, field in (
        ("nobody", {}, "agent"),
        ("planning-ig", {"weight": -1.0}, "weight"),
        ("efe", {"utility": "joy"}, "utility"),
        ("efe", {"target": [0.5, 0.5]}, "target"),
        ("efe", {"utility": "target-belief", "target": [1.0]}, "target"),
    ):
        with pytest.raises(AgentError) as caught:
            make_agent(name, tiger, **settings)
        assert told(caught.value) == field


@pytest.mark.parametrize(
    ("work", "field"),
    [
        (lambda tiger, agent: evaluate(tiger, agent, max_steps=0), "max_steps"),
        (
            lambda tiger, agent: evaluate(tiger, make_agent("efe", tiger, planner="mcts", simulations=3)),
            "planner",
        ),
        (lambda tiger, agent: simulate(tiger, agent, episodes=0), "episodes"),
        (lambda tiger, agent: simulate(tiger, agent, seeds=()), "seeds"),
        (lambda tiger, agent: simulate(tiger, agent, seeds=(-1,)), "seeds"),
        (lambda tiger, agent: simulate(tiger, agent, jobs=0), "jobs"),
        (lambda tiger, agent: simulate(tiger, agent, max_steps=0), "max_steps"),
        (lambda tiger, agent: solve(tiger, gap=0.0), "gap"),
        (lambda tiger, agent: solve(tiger, weight=-1.0), "weight"),
        (lambda tiger, agent: solve(tiger, discount=2.0), "discount"),
        (lambda tiger, agent: rhoplan.make("tiger:claws=4"), "claws"),
        (lambda tiger, agent: rhoplan.make("tiger:accuracy=2"), "accuracy"),
        (lambda tiger, agent: rhoplan.make("tiger:accuracy=x"), "accuracy"),
        (lambda tiger, agent: rhoplan.make("diagnosis:n=1"), "n"),
        (lambda tiger, agent: rhoplan.make("diagnosis:k=9"), "k"),
        (lambda tiger, agent: rhoplan.make("tileworld:partition=odd"), "partition"),
        (lambda tiger, agent: rhoplan.make("rocksample:rocks=9.9/1.1/2.2"), "rocks"),
        (lambda tiger, agent: rhoplan.make("rocksample:layout=none"), "layout"),
        (lambda tiger, agent: rhoplan.make("inspection:places=1"), "places"),
        (lambda tiger, agent: rhoplan.make("inspection:techniques=tap:2:1"), "techniques"),
    ],
)
def test_a_setting_that_is_refused_is_the_field(work: Callable[[Any, Any], object], field: str) -> None:
    tiger = rhoplan.make("tiger")
    with pytest.raises(RhoplanError) as caught:
        work(tiger, make_agent("planning", tiger))
    assert told(caught.value) == field


HEARD = ("listen", "hear-left")


@pytest.mark.parametrize(
    ("name", "given", "field"),
    [
        ("tiger", [("smell", "bad")], "given.0.test"),
        ("tiger", [HEARD, ("listen", "purr")], "given.1.outcome"),
        ("tiger", [HEARD, HEARD, ("open-left", "done")], "given.2.test"),
        ("chest-pain", [("age", "senior"), ("age", "senior")], "given.1.test"),
        ("tiger:accuracy=1", [HEARD, ("listen", "hear-right")], "given.1.outcome"),
    ],
)
def test_evidence_that_does_not_fit_has_its_place(name: str, given: list[tuple[str, str]], field: str) -> None:
    model = rhoplan.make(name)
    if name == "chest-pain":
        given = [("age", model.flat.tests[0].outcomes[0])] * 2
    with pytest.raises(EvidenceError) as caught:
        model.belief(given=given)
    assert told(caught.value) == field


def test_a_field_is_one_word_that_no_other_field_has() -> None:
    assert dotted(("tests", "scan", "cost")) == "tests.scan.cost"
    assert dotted(("given", 2, "outcome")) == "given.2.outcome"
    pairs = [("a.b", "c"), ("a", "b.c"), ("a", "b", "c"), ("a\\", "b"), ("a\\.b",)]
    assert len({dotted(pair) for pair in pairs}) == len(pairs)


def test_errors_travel_between_processes_with_all_they_carry() -> None:
    for error in (
        AgentError("no", field=("weight",)),
        ModelFileError("no", file="a.yaml", line=3, field=("tests", "scan", 1)),
        EvidenceError("no", field=("outcome",)).within("given", 4),
    ):
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), str(copy), vars(copy)) == (type(error), str(error), vars(error))


MUST = {
    "model/validate.py",
    "model/diagnostic.py",
    "agents/agent.py",
    "planning/objective.py",
    "agents/registry.py",
    "agents/settings.py",
    "agents/planners.py",
    "model/belief.py",
    "advice/overrides.py",
}


@pytest.mark.parametrize("name", sorted(MUST))
def test_no_error_is_raised_without_a_field_where_there_is_one(name: str) -> None:
    """Dropping `field=` from any of these errors fails here, whether or not an input above reaches it."""
    tree = ast.parse((SOURCE / name).read_text(encoding="utf-8"))
    kinds = {"ProblemError", "AgentError", "EvidenceError", "ImpossibleEvidence", "RhoplanError"}
    made = [call for call in ast.walk(tree) if isinstance(call, ast.Call) and getattr(call.func, "id", "") in kinds]
    bare = [call.lineno for call in made if not any(word.arg == "field" for word in call.keywords)]
    assert made
    assert not bare


def test_nothing_is_found_by_looking_into_a_message() -> None:
    """No condition and no expression reads the text of one of our errors."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if re.search(r"\bstr\s*\(\s*error", text) else ():
            looks = isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops)
            cuts = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in (
                "split", "partition", "removesuffix", "removeprefix", "startswith", "match", "search", "fullmatch",
            )  # fmt: skip
            if looks or (cuts and node.args):
                inside = ast.unparse(node)
                assert "str(error)" not in inside or path.name in FOREIGN, f"{path.name}, line {node.lineno}: {inside}"


FOREIGN = {"tree.py": "messages of the YAML and TOML readers, which tell their line in no other way"}
