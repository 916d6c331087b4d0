"""A problem as plain data in the shape of a model file, and as YAML.

Everything is written in full: a shorthand has become a likelihood, a prevalence a prior. Here are flat problems;
`general_writer` has the others.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rhoplan.model.observe_then_commit import Test
from rhoplan.model.problem import Problem


class Flow(dict[str, Any]):
    """A map that is written on one line, whatever it holds."""


def write_model(problem: Problem) -> str:
    """`problem` as a YAML model file; reading it gives the same problem, but for a leaf and rules of its own.

    LimitError where a problem with places is too large to be written.
    """
    lines = _block(model_record(problem), "")
    if problem.leaf is not None or problem.rules:
        lines.insert(0, "# Without the problem's own leaf and agents that follow a rule: they are no numbers.")
    return "\n".join(lines) + "\n"


def model_record(problem: Problem) -> dict[str, Any]:
    """`problem` as maps, lists and numbers, with the fields of a model file."""
    if problem.is_flat:
        return _flat_record(problem)
    from rhoplan.io.general_writer import general_record

    return general_record(problem)


def _flat_record(problem: Problem) -> dict[str, Any]:
    menu, states, details = problem.flat, problem.states, problem.details
    notes = details.get("test_info", {})
    caps = {"tests": menu.most_tests, "spend": menu.budget}
    groups = dict.fromkeys([*menu.first_prices, *(test.group for test in menu.tests if test.group)])
    losses = details.get("losses") and all(np.all(commit.reward <= 0) for commit in menu.commits)
    amounts = {c.name: (0.0 - c.reward if losses else c.reward).tolist() for c in menu.commits}
    record = {
        "name": problem.name,
        "unit": problem.unit,
        "info": details.get("info"),
        "states": list(states),
        "positive": details.get("positive"),
        "prior": problem.prior.tolist(),
        "horizon": problem.horizon,
        "cap": {name: value for name, value in caps.items() if value is not None} or None,
        "groups": {g: {"first": menu.first_prices[g]} if g in menu.first_prices else {} for g in groups} or None,
        "tests": {test.name: _test_record(test, states, notes.get(test.name)) for test in menu.tests},
        "losses" if losses else "commits": {n: dict(zip(states, row, strict=True)) for n, row in amounts.items()},
    }
    return {name: value for name, value in record.items() if value is not None}


def _test_record(test: Test, states: tuple[str, ...], info: dict[str, str | bool] | None) -> dict[str, Any]:
    record = {
        "cost": test.cost,
        "outcomes": list(test.outcomes),
        "likelihood": dict(zip(states, test.likelihood.tolist(), strict=True)),
        "repeat": "independent" if test.repeatable else "once",
        "group": test.group or None,
        "after": list(test.after) or None,
        "info": info,
    }
    return {name: value for name, value in record.items() if value is not None}


def _block(record: dict[str, Any], margin: str) -> list[str]:
    """The lines of a map: what holds more than numbers is indented below its name, the rest stands beside it."""
    lines = []
    for name, value in record.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = [_block(part, margin + "    ") for part in value]
            lines.append(f"{margin}{_word(name)}:")
            lines += [f"{margin}  - {item[0].lstrip()}" if line == 0 else text
                      for item in items for line, text in enumerate(item)]  # fmt: skip
        elif _is_block(value):
            lines += [f"{margin}{_word(name)}:", *_block(value, margin + "  ")]
        else:
            lines.append(f"{margin}{_word(name)}: {_flow(value)}")
    return lines


def _is_block(value: Any) -> bool:
    if not isinstance(value, dict) or isinstance(value, Flow):
        return False
    return any(not isinstance(part, int | float) for part in value.values())


def _flow(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_word(name)}: {_flow(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return _word(value) if isinstance(value, str) else _number(value)


def _word(text: str) -> str:
    """Text as YAML: bare where that is safe, quoted otherwise."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text.lower() not in ("null", "true", "false", "yes", "no")
    return text if plain else '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    """A character between quotes; what a YAML reader would fold or refuse is written as its number."""
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))
