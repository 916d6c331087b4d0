"""What tables print that no episodes make: agents, environments, and columns that follow from these or other rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import groupby

import numpy as np

from rhoplan.agents.agent import AGENTS, AgentKind
from rhoplan.model.pomdp import POMDP
from rhoplan.problems.registry import make
from rhoplan_paper.compare import Number, judge
from rhoplan_paper.context import Context
from rhoplan_paper.published import Cell, Table, published
from rhoplan_paper.registry import study
from rhoplan_paper.study import CONFIRMED, CONTRADICTED, REPEATED, SETTING, Finding, Outcome, Sheet

UTILITIES: dict[str, Callable[[AgentKind], bool]] = {
    "ρ = 0": lambda kind: kind.weight == 0.0 and kind.commits_count,
    "w · I(b)": lambda kind: kind.weight is None and kind.commits_count,
    "I_a(b) via EFE": lambda kind: kind.weight == 1.0 and kind.commits_count,
    "I_a(b) only": lambda kind: kind.weight != 0.0 and not kind.commits_count,
}
"""What each printed utility asks of an agent's definition."""

HORIZONS: dict[str, bool] = {"H = 1": True, "H > 1": False}
"""Whether a printed horizon is one step."""


def build_agents(context: Context) -> Outcome:
    """The paper's six agents beside ours: what each is worth is computed from these definitions alone."""
    table = published().tables["agents"]
    rows, findings = [], []
    for name, group in groupby(table.cells, key=lambda cell: str(cell.row["agent"])):
        cells = {cell.column: cell.text for cell in group}
        kind = AGENTS[name]
        ours = _defined(kind)
        agrees = UTILITIES[cells["rho"]](kind) and HORIZONS[cells["horizon"]] == kind.one_step
        rows.append((name, *cells.values(), *ours, kind.controls_for))
        findings.append(
            Finding(
                f"agents/{name}",
                table.place,
                f"{name}: utility and horizon",
                f"{cells['rho']}, {cells['horizon']}",
                "",
                ", ".join(ours),
                "",
                SETTING if agrees else CONTRADICTED,
                "the definition used here is the same" if agrees else "the definition is another",
            )
        )
    published_heads = [f"{heading}: published" for heading in ("utility", "horizon", "controls for")]
    ours_heads = ["weight of information", "horizon", "commits", "controls for"]
    return Outcome(Sheet(("agent", *published_heads, *ours_heads), tuple(rows)), tuple(findings))


def _defined(kind: AgentKind) -> tuple[str, str, str]:
    weight = "w as chosen" if kind.weight is None else f"w = {kind.weight:g}"
    return weight, "H = 1" if kind.one_step else "H as chosen", "count" if kind.commits_count else "count for nothing"


def build_environments(context: Context) -> Outcome:
    """Every number of the table of environments, read off the problem that this package builds."""
    table = published().tables["environments"]
    columns = list(table.columns)
    rows, findings = [], []
    for spec, group in groupby(table.cells, key=lambda cell: str(cell.row["problem"])):
        ours = specification(make(spec))
        cells = list(group)
        rows.append((spec, *(text for cell in cells for text in (cell.text, _shown(ours[cell.column])))))
        findings += [_environment_finding(table, spec, cell, ours) for cell in cells if cell.value is not None]
    headings = [
        "problem",
        *(f"{column.replace('_', ' ')}: {kind}" for column in columns for kind in ("published", "ours")),
    ]
    return Outcome(Sheet(tuple(headings), tuple(rows)), tuple(findings))


COUNTS = ("states", "test_actions", "commit_actions")
"""Columns that are counted in a problem once it is built; the others are what it is built from."""


def specification(problem: POMDP) -> dict[str, tuple[float, ...]]:
    """By printed column, the different values that the problem has: one as a rule, several, or none."""
    actions = problem.menu(problem.start)
    going = [action for action in actions if not action.ends_episode]
    ending = [action for action in actions if action.ends_episode]
    tests = [action for action in going if len(action.outcomes) > 1]
    spent = {float(min(action.reward)) for action in going}
    paid = {float(value) for action in (ending or going) for value in action.reward} - (set() if ending else spent)
    accuracies = {float(value) for action in tests for value in action.likelihood.max(axis=1)}
    return {
        "states": (float(np.prod([len(factor.states) for factor in problem.factors])),),
        "test_actions": (float(len(tests)),),
        "commit_actions": (float(len(ending)),),
        "test_accuracy": tuple(sorted(accuracies)),
        "test_cost": tuple(sorted(spent)),
        "correct": (max(paid),),
        "incorrect": (min(paid),) if ending else (),
    }


def _environment_finding(table: Table, spec: str, cell: Cell, ours: dict[str, tuple[float, ...]]) -> Finding:
    values = ours[cell.column]
    judged = judge(cell, {"": Number(values[0], None)} if len(values) == 1 else {}, 1)
    verdict, reason = judged.verdict, f"the problem has {_shown(values)}"
    if verdict == CONFIRMED:
        is_count = cell.column in COUNTS
        verdict, reason = (CONFIRMED, "counted in the problem") if is_count else (SETTING, "the one used here")
    claim = f"{spec}: {cell.column.replace('_', ' ')}"
    name = f"environments/{spec}/{cell.column}"
    return Finding(name, table.place, claim, cell.text, "", _shown(values), "", verdict, reason)


def _shown(values: tuple[float, ...]) -> str:
    if len(values) > 2:
        return f"{values[0]:g} to {values[-1]:g}"
    return ", ".join(f"{value:g}" for value in values)


study("agents", build_agents)
study("environments", build_environments)


def derived(table: Table, cell: Cell, name: str, label: tuple[str, str]) -> Finding:
    """The finding `name` on a number that follows from the problem, from its row, or from other printed numbers."""
    column = cell.column.split()[0]
    value, verdict, reason = SOURCES[column](table, cell)
    slack = 2 * cell.rounding if verdict == REPEATED else 0.0
    fits = math.isclose(cell.number, value, rel_tol=0, abs_tol=slack + 1e-9)
    claim = f"{' '.join(label)}: {column.replace('_', ' ')}"
    return Finding(name, table.place, claim, cell.text, "", f"{value:g}", "", verdict if fits else CONTRADICTED, reason)


def _mismatch(table: Table, cell: Cell) -> tuple[float, str, str]:
    true = float(make(str(cell.row["problem"])).flat.tests[0].likelihood.max())
    believed = float(cell.row["believed_accuracy"])
    reason = f"the one used here: the agent believes {believed:g}, the truth is {true:g}"
    return round(believed - true, 9), SETTING, reason


def _gap(table: Table, cell: Cell) -> tuple[float, str, str]:
    """EFE's printed success less Planning's in the row below; both are judged on their own."""
    shared = {key: value for key, value in cell.row.items() if key in ("problem", "discount")}
    printed = {
        str(one.row["agent"]): one.number
        for one in table.cells
        if one.column == "success" and shared.items() <= one.row.items()
    }
    efe, planning = printed["efe"], printed["planning"]
    return round(efe - planning, 9), REPEATED, f"the difference of {efe:g}% and {planning:g}%, judged there"


SOURCES: dict[str, Callable[[Table, Cell], tuple[float, str, str]]] = {
    "states": lambda _, cell: (float(len(make(str(cell.row["problem"])).states)), CONFIRMED, "counted in the problem"),
    "mismatch": _mismatch,
    "success_gap": _gap,
}
"""By column: the value that follows, the verdict where it is the printed one, and the reason."""
