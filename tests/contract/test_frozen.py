"""300 random models whose exact answers an oracle worked out once: decisions, scores and optima must agree.

`adversary.freeze` made the data; `python3 run.py adversary` compares further models with the oracle itself.
"""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from adversary.freeze import frozen, load
from contract.golden import run_command

DATA = Path(__file__).with_name("data") / "frozen_models.jsonl.xz"
MODELS, GROUPS = 300, 10
RELATIVE = 1e-9
NOISE = 1e-11
"""What a number of size 1, such as a chance, may differ by."""


@pytest.mark.parametrize("group", range(GROUPS))
def test_answers_are_exact(group: int, tmp_path: Path) -> None:
    found = []
    for model in islice(load(DATA), group, None, GROUPS):
        for name, text in model["files"].items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        for question in model["questions"]:
            found += [f"seed {model['seed']}: {line}" for line in wrong_answers(question, tmp_path)]
    assert not found, "\n".join(found[:20])


def wrong_answers(question: dict[str, Any], folder: Path) -> list[str]:
    """What rhoplan answers to a question and the oracle does not."""
    code, out = run_command([*question["command"], "--json"], folder)
    command = " ".join(question["command"])
    if code or question.get("refused"):
        return [] if code == 2 and question.get("refused") else [f"{command}: exit {code}"]
    answer = json.loads(out)
    check = {"decide": _decision, "evaluate": _score, "solve": _optimum}[question["command"][0]]
    return [f"{command}: {line}" for line in check(question, answer)]


def _decision(question: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    found = [] if answer["choice"] in question["choices"] else [f"{answer['choice']} is not {question['choices']}"]
    found += _apart("entropy", answer["entropy"], question["entropy"])
    for state, chance in question["belief"].items():
        found += _apart(f"chance of {state}", answer["belief"][state], [chance, chance])
    actions = {row["name"]: row for row in answer["actions"]}
    if actions.keys() - question["actions"].keys() or question["choices"][0] not in actions:
        found.append(f"actions {sorted(actions)} are not {sorted(question['actions'])}")
    for name in actions.keys() & question["actions"].keys():
        for key, wanted in question["actions"][name].items():
            found += _apart(f"{key} of {name}", actions[name][key], wanted)
    return found


def _score(question: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    found = [line for key, wanted in question["numbers"].items() for line in _apart(key, answer[key], wanted)]
    variance, square = question["variance"]
    return found + _apart("variance", answer["reward_sd"] ** 2, [variance, 1e-3 * square])


def _optimum(question: dict[str, Any], answer: dict[str, Any]) -> list[str]:
    value, size = question["value"]
    hair = RELATIVE * size + NOISE
    found = [] if answer["lower"] - hair <= value <= answer["upper"] + hair else [f"{value} is not within the bounds"]
    return found if answer["stopped_by"] == "gap" else [*found, f"stopped by {answer['stopped_by']}"]


def _apart(what: str, found: float, wanted: list[float]) -> list[str]:
    value, size = wanted
    return [] if abs(found - value) <= RELATIVE * size + NOISE * min(size, 1.0) else [f"{what} is {found}, not {value}"]


def test_there_are_300_models_with_decisions_scores_and_optima() -> None:
    models = list(load(DATA))
    commands = [question["command"][0] for model in models for question in model["questions"]]
    assert len(models) == MODELS
    assert min(commands.count(name) for name in ("decide", "evaluate")) > 250
    assert commands.count("solve") > 100


def test_the_generator_still_makes_the_frozen_models() -> None:
    for model in islice(load(DATA), 0, None, 60):
        assert json.loads(json.dumps(frozen(model["seed"]))) == model


def test_a_wrong_answer_is_noticed(tmp_path: Path) -> None:
    for model in islice(load(DATA), 5):
        for name, text in model["files"].items():
            (tmp_path / name).write_text(text, encoding="utf-8")
        for question in model["questions"]:
            if not question.get("refused"):
                assert wrong_answers(_falsified(question), tmp_path)


def _falsified(question: dict[str, Any]) -> dict[str, Any]:
    """The question with an exact answer that is not right."""
    if "actions" in question:
        name, parts = next(iter(question["actions"].items()))
        value, size = parts["value"]
        wrong = {**parts, "value": [value + 1e-6 * size + 1e-6, size]}
        return {**question, "actions": {**question["actions"], name: wrong}}
    if "numbers" in question:
        tests, size = question["numbers"]["tests"]
        return {**question, "numbers": {**question["numbers"], "tests": [tests + 1e-6, size]}}
    value, size = question["value"]
    return {**question, "value": [value + 1e-4 * size + 1e-4, size]}
