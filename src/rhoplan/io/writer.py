"""A flat problem as a YAML model file, in full: shorthands have become likelihoods, prevalence a prior."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from rhoplan.problem import Array, Problem, Test


def write_model(problem: Problem) -> str:
    """A flat `problem` as a YAML model file; reading it gives the same problem."""
    menu, states, details = problem.flat, problem.states, problem.details
    lines = [f"name: {_word(problem.name)}", f"unit: {_word(problem.unit)}"]
    if details.get("info"):
        lines += ["info:", *_notes(details["info"], "  ")]
    lines += [f"states: {_words(states)}"]
    if "positive" in details:
        lines.append(f"positive: {_word(details['positive'])}")
    lines += [f"prior: {_numbers(problem.prior)}", f"horizon: {problem.horizon}"]
    caps = {"tests": menu.most_tests, "spend": menu.budget}
    if any(value is not None for value in caps.values()):
        lines.append(f"cap: {_flow({name: value for name, value in caps.items() if value is not None})}")
    groups = dict.fromkeys([*menu.first_prices, *(test.group for test in menu.tests if test.group)])
    if groups:
        lines.append("groups:")
        for group in groups:
            price = {"first": menu.first_prices[group]} if group in menu.first_prices else {}
            lines.append(f"  {_word(group)}: {_flow(price)}")
    lines.append("tests:" if menu.tests else "tests: {}")
    for test in menu.tests:
        lines += _test(test, states, details.get("test_info", {}).get(test.name, {}))
    as_losses = details.get("losses") and all(np.all(commit.reward <= 0) for commit in menu.commits)
    lines.append("losses:" if as_losses else "commits:")
    for commit in menu.commits:
        amounts = 0.0 - commit.reward if as_losses else commit.reward
        lines.append(f"  {_word(commit.name)}: {_flow(dict(zip(states, amounts.tolist(), strict=True)))}")
    return "\n".join(lines) + "\n"


def _test(test: Test, states: tuple[str, ...], info: Mapping[str, str | bool]) -> list[str]:
    lines = [
        f"  {_word(test.name)}:",
        f"    cost: {_number(test.cost)}",
        f"    outcomes: {_words(test.outcomes)}",
        "    likelihood:",
        *(f"      {_word(s)}: {_numbers(row)}" for s, row in zip(states, test.likelihood, strict=True)),
        f"    repeat: {'independent' if test.repeatable else 'once'}",
    ]
    lines += [f"    group: {_word(test.group)}"] if test.group else []
    lines += [f"    after: {_words(test.after)}"] if test.after else []
    return lines + (["    info:", *_notes(info, "      ")] if info else [])


def _notes(info: Mapping[str, str | bool], margin: str) -> list[str]:
    return [f"{margin}{key}: {str(v).lower() if isinstance(v, bool) else _word(v)}" for key, v in info.items()]


def _word(text: str) -> str:
    """A name as YAML: bare where that is safe, quoted otherwise."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text) and text.lower() not in ("null", "true", "false", "yes", "no")
    return text if plain else '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    """A character between quotes; what a YAML reader would fold or refuse is written as its number."""
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    return f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"


def _words(names: tuple[str, ...]) -> str:
    return f"[{', '.join(map(_word, names))}]"


def _flow(values: Mapping[str, float | int]) -> str:
    return "{" + ", ".join(f"{_word(name)}: {_number(value)}" for name, value in values.items()) + "}"


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def _numbers(values: Array) -> str:
    return f"[{', '.join(_number(value) for value in values)}]"
