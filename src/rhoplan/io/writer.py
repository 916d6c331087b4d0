"""A problem as plain data in the shape of a model file, and as YAML.

Everything is written in full: a shorthand has become a likelihood, a prevalence a prior. Here are flat problems;
`general_writer` has the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rhoplan.errors import LimitError
from rhoplan.io.as_yaml import yaml_lines
from rhoplan.io.general_writer import general_record
from rhoplan.io.learned import LEARNED
from rhoplan.io.tree import LARGEST_FILE
from rhoplan.io.uncertain import UNCERTAIN
from rhoplan.model.diagnostic import Test
from rhoplan.model.pomdp import POMDP
from rhoplan.model.records import Factor


def write_model(problem: POMDP) -> str:
    """`problem` as a YAML model file; reading it gives the same problem, but for a leaf of its own.

    LimitError where a problem with places is too large to be written.
    """
    lines = yaml_lines(model_record(problem))
    if problem.leaf is not None:
        lines.insert(0, "# Without the problem's own leaf: it is no number.")
    text = "\n".join(lines) + "\n"
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST_FILE and problem.listed is None:
        raise LimitError(
            f"'{problem.name}' as a model file would have {size:,} bytes; {LARGEST_FILE:,} is the most "
            "(`--format pomdp` may hold it)",
            code="not-writable",
        )
    return text


def model_record(problem: POMDP) -> dict[str, Any]:
    """`problem` as maps, lists and numbers, with the fields of a model file."""
    return general_record(problem) if problem.listed is None else _flat_record(problem)


def _flat_record(problem: POMDP) -> dict[str, Any]:
    menu, hidden, details = problem.flat, problem.factors[0], problem.details
    notes = details.get("test_info", {})
    caps = {"tests": menu.most_tests, "spend": menu.budget}
    groups = dict.fromkeys([*menu.first_prices, *(test.group for test in menu.tests if test.group)])
    losses = details.get("losses") and all(np.all(commit.reward <= 0) for commit in menu.commits)
    amounts = {c.name: (0.0 - c.reward if losses else c.reward).tolist() for c in menu.commits}
    record = {
        "name": problem.name,
        "unit": problem.unit,
        "field": details.get("field"),
        "info": details.get("info"),
        "states": list(hidden.diagnoses),
        "subtypes": {diagnosis: list(names) for diagnosis, names in hidden.subtypes.items()} or None,
        "information": _information(problem),
        "positive": details.get("positive"),
        "prior": _by_diagnosis(hidden, problem.prior.tolist(), always=True)
        if hidden.subtypes
        else problem.prior.tolist(),
        "horizon": problem.horizon,
        "cap": {name: value for name, value in caps.items() if value is not None} or None,
        "groups": {g: {"first": menu.first_prices[g]} if g in menu.first_prices else {} for g in groups} or None,
        "tests": {
            test.name: _test_record(test, hidden, notes.get(test.name), alone=test not in menu.parts)
            for test in (*menu.tests, *menu.parts)
            if not test.parts
        },
        "panels": {test.name: _panel_record(test) for test in menu.tests if test.parts} or None,
        "losses" if losses else "commits": {name: _by_diagnosis(hidden, row) for name, row in amounts.items()},
        "targets": details.get("targets"),
        LEARNED: details.get(LEARNED),
        UNCERTAIN: _uncertain(details.get(UNCERTAIN), "losses" if losses else "commits"),
    }
    return {name: value for name, value in record.items() if value is not None}


def _uncertain(record: dict[str, Any] | None, stakes: str) -> dict[str, Any] | None:
    """What is uncertain, losses as rewards where these are what is written."""
    return record and {stakes if name in ("losses", "commits") else name: one for name, one in record.items()}


def _information(problem: POMDP) -> dict[str, Any] | None:
    price = {} if problem.price is None else {"price": problem.price, "per": "nat"}
    return {**price, **({"about": "diagnosis"} if problem.factors[0].about_diagnosis else {})} or None


def _by_diagnosis(hidden: Factor, rows: list[Any], *, always: bool = False) -> dict[str, Any]:
    """What holds for each state, by diagnosis; by subtype where subtypes differ (or `always`)."""
    record: dict[str, Any] = {}
    for diagnosis in hidden.diagnoses:
        own, names = rows[hidden.places[diagnosis]], hidden.subtypes.get(diagnosis)
        differ = always or any(one != own[0] for one in own)
        record[diagnosis] = dict(zip(names, own, strict=True)) if names and differ else own[0]
    return record


def _panel_record(panel: Test) -> dict[str, Any]:
    return {"cost": panel.cost, "tests": list(panel.parts), **({"group": panel.group} if panel.group else {})}


def _test_record(test: Test, hidden: Factor, info: dict[str, str | bool] | None, *, alone: bool) -> dict[str, Any]:
    record = {
        "cost": test.cost if alone else None,
        "outcomes": list(test.outcomes),
        "likelihood": _by_diagnosis(hidden, test.likelihood.tolist()),
        "repeat": "independent" if test.repeatable else "once",
        "group": test.group or None,
        "after": list(test.after) or None,
        "info": info,
    }
    return {name: value for name, value in record.items() if value is not None}
