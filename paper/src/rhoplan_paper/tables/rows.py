"""The paper's result tables: each printed row names a problem and an agent, so one mechanism computes all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

from rhoplan.model.pomdp import POMDP
from rhoplan.problems.registry import make, with_parameter
from rhoplan_paper.compare import Number, judge
from rhoplan_paper.context import Context, score_job, simulate_job
from rhoplan_paper.jobs import Job, job
from rhoplan_paper.published import Cell, Row, Table, published
from rhoplan_paper.registry import study
from rhoplan_paper.study import Finding, Outcome, Sheet
from rhoplan_paper.tables.definitions import derived

TABLES = tuple(
    id for id, table in published().tables.items()
    if table.cells and all({"problem", "agent"} <= cell.row.keys() and "versus" not in cell.row for cell in table.cells)
)  # fmt: skip
"""Tables whose rows are what an agent does on a problem."""

AS_RUN: dict[str, int] = {"rocksample:n=5,k=3": 50, "rocksample:n=7,k=4": 50, "rocksample:n=7,k=8": 20}
"""RockSample rows that match so many episodes of the first seed digit for digit, whatever their caption says."""

BEYOND_REACH = ("navigation:n=5", "navigation:n=7")
"""Problems with more situations within reach than the engine holds: they are simulated only."""

UNSTATED = 500
"""Episodes taken for rows whose protocol the paper does not state: its smallest."""

PERCENT = ("success", "accuracy")

SHARES = ("success",)
"""Columns that count episodes; accuracy counts components, many to an episode, and is a mean."""

COLUMNS = {"checks": "tests"}
"""Printed columns whose name with us is another."""


@dataclass(frozen=True)
class Line:
    """One printed row as jobs: exact by unit, simulated, and simulated as it seems to have been run."""

    problem: str
    exact: Mapping[str, Job]
    simulated: Job
    as_run: Job | None
    episodes: int


@cache
def named(problem: str) -> POMDP:
    """The problem of that name: each row of a table asks what it is like, and checking its menus takes a while."""
    return make(problem)


def build_table(context: Context, table: Table) -> Outcome:
    """Every row of `table`: published, simulated and exact, and a finding per printed number."""
    rows = _rows(table)
    lines = [plan_row(table, cells[0].row, context) for cells in rows]
    beyond = {line.problem: _beyond(line.problem) for line in lines}
    wanted = [one for line in lines for one in (*line.exact.values(), line.simulated, line.as_run) if one]
    context.results([*wanted, *(one for jobs in beyond.values() for one in jobs.values())])
    reached = {problem: horizon_job(problem, context) for problem in beyond if named(problem).observes_then_commits}
    context.results([one for one in reached.values() if one])
    findings, shown = [], []
    for place, (cells, line) in enumerate(zip(rows, lines, strict=True)):
        numbers = [_compare(table, cell, line, context) for cell in cells]
        findings += [finding for finding, _ in numbers if finding]
        shown.append((*_label(cells[0].row), *(text for _, texts in numbers for text in texts)))
        if place + 1 == len(rows) or lines[place + 1].problem != line.problem:
            shown += _beyond_rows(table, line.problem, beyond[line.problem], context)
    headings = ["problem", "agent", *(f"{name}: {kind}" for name in _columns(table) for kind in KINDS)]
    notes = (*_same_policies(rows, lines, context), *_horizon_notes(reached, context))
    return Outcome(Sheet(tuple(headings), tuple(shown), notes), tuple(findings))


KINDS = ("published", "simulated", "exact, w per bit", "exact, w per nat")


def plan_row(table: Table, row: Row, context: Context) -> Line:
    """The jobs behind one printed row."""
    problem, agent = str(row["problem"]), str(row["agent"])
    fitting = [entry for entry in table.protocol if entry.get("problem", problem) == problem]
    protocol: Mapping[str, Any] = fitting[0] if fitting else {}
    settings = _settings(row, protocol)
    model, world = problem, None
    if "believed_accuracy" in row:
        model, world = with_parameter(problem, "accuracy", f"{row['believed_accuracy']:g}"), problem
    seeds = int(protocol.get("seeds", 5))
    per_seed = int(protocol.get("per_seed", protocol.get("episodes", UNSTATED) / seeds))
    common: dict[str, Any] = {**settings, "world": world}
    if agent == "pomcp":
        agent, common = "planning", {**common, "planner": "pomcp", "simulations": int(row.get("simulations", 1000))}
    informed = common.get("weight") or (agent == "epistemic-only")
    units = ("bits", "nats") if named(problem).observes_then_commits and informed else ("nats",)
    sampled = common.get("planner") == "pomcp" or problem in BEYOND_REACH
    simulated = simulate_job(model, agent, episodes=context.episodes(per_seed), seeds=seeds, unit=units[0], **common)
    as_run = AS_RUN.get(problem) if table.id == "rocksample" else None
    return Line(
        problem,
        {} if sampled else {unit: score_job(model, agent, unit=unit, **common) for unit in units},
        simulated,
        simulate_job(model, agent, episodes=as_run, seeds=1, unit="nats", **common) if as_run else None,
        per_seed * seeds,
    )


def _settings(row: Row, protocol: Mapping[str, Any]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if "weight" in row and row["agent"] not in ("planning", "myopic", "efe"):
        settings["weight"] = float(row["weight"])
    if row["agent"] == "efe":
        settings["weight"] = 1.0
    horizon = row.get("horizon", protocol.get("horizon", named(str(row["problem"])).horizon))
    if row["agent"] in ("planning", "planning-ig", "efe", "epistemic-only", "pomcp"):
        settings["horizon"] = int(horizon)
    if "discount" in row:
        settings["discount"] = float(row["discount"])
    return settings


def _compare(table: Table, cell: Cell, line: Line, context: Context) -> tuple[Finding | None, tuple[str, ...]]:
    """The finding on one printed number, and what the table shows of it: published, simulated, exact in each unit."""
    column = _columns_of(cell)
    scale = 0.01 if column in PERCENT else 1.0
    simulated = number(context.result(line.simulated), column, line.problem)
    exact = {unit: number(context.result(one), column, line.problem) for unit, one in line.exact.items()}
    spread = simulated.sd if simulated else None
    # Where the engine gives a mean only, the simulated spread stands in; a rare count that was never met scatters too.
    known = {
        unit: n if n.sd is not None else replace(n, sd=spread or min(max(n.mean, 0.0), 1.0) ** 0.5)
        for unit, n in exact.items()
        if n
    }
    texts = (cell.text, *(_text(n, column) for n in (simulated, exact.get("bits"), exact.get("nats"))))
    if cell.value is None:
        return None, texts
    if column not in MEASURED:
        return derived(table, cell, _name(table, cell), _label(cell.row)), texts
    judged = judge(cell, known or ({"": simulated} if simulated else {}), line.episodes, scale)
    unstated = "" if table.protocol else f"; no protocol is stated, taken as {UNSTATED} episodes"
    reason = judged.reason + unstated
    if line.as_run:
        again = number(context.result(line.as_run), column, line.problem)
        episodes = AS_RUN[line.problem]
        if again and abs(again.mean - cell.value * scale) <= cell.rounding * scale * (1 + 1e-9):
            reason += (
                f"; digit for digit {episodes} episodes of the first seed, not the {line.episodes:,} of the caption"
            )
    label = " ".join(_label(cell.row))
    finding = Finding(
        _name(table, cell),
        table.place,
        f"{label}: {column}",
        cell.text,
        _text(simulated, column),
        "; ".join(f"{_text(n, column)} ({unit})" if len(known) > 1 else _text(n, column) for unit, n in known.items()),
        judged.unit,
        judged.verdict,
        reason,
    )
    return finding, texts


def _name(table: Table, cell: Cell) -> str:
    label = " ".join(_label(cell.row))
    return f"{table.id}/{'-'.join(label.replace(',', '').split())}/{_columns_of(cell)}"


MEASURED = ("tests", "success", "reward", "steps", "good", "bad", "missed", "accuracy", "checks")


def number(result: Mapping[str, Any], column: str, problem: str) -> Number | None:
    """Mean and spread of a printed column in the result of a job; None where it does not have it."""
    column = COLUMNS.get(column, column)
    if column == "accuracy":
        return _accuracy(result, problem)
    if "columns" in result:
        found, episodes = result["columns"].get(column), result["episodes"]
        counted = int(episodes) if column in SHARES else None
        return Number(found["mean"], found["sd"], found["sd"] / episodes**0.5, counted) if found else None
    if column in result.get("tallies", {}):
        return Number(result["tallies"][column], None)
    if result.get(column) is None:
        return None
    mean = float(result[column])
    if column in SHARES:
        return Number(mean, max(mean * (1 - mean), 0.0) ** 0.5, counted=0)
    return Number(mean, result.get(f"{column}_sd"))


def measured(result: Mapping[str, Any], column: str, problem: str) -> Number:
    """As `number`, of a result that has the column."""
    found = number(result, column, problem)
    if found is None:
        raise LookupError(f"there is no column '{column}' among {', '.join(result.get('columns', result))}")
    return found


def _accuracy(result: Mapping[str, Any], problem: str) -> Number | None:
    """Share of components that were declared right."""
    components = len(named(problem).factors)
    parts = [number(result, name, problem) for name in ("right_nominal", "right_faulty")]
    if None in parts:
        return None
    mean = sum(part.mean for part in parts if part) / components
    # Components are independent of one another, so the share scatters like a mean of that many coins.
    sd = max(mean * (1 - mean), 0.0) ** 0.5 / components**0.5
    se = sd / result["episodes"] ** 0.5 if "columns" in result else 0.0
    return Number(mean, sd, se)


def _text(value: Number | None, column: str) -> str:
    if value is None:
        return ""
    if column in PERCENT:
        return f"{100 * value.mean:.2f}%" + (f" ± {100 * value.se:.2f}" if value.se else "")
    return f"{value.mean:.4f}" + (f" ± {value.se:.4f}" if value.se else "")


def _beyond(problem: str) -> dict[str, Job]:
    """Jobs for the rows of our own: the certified optimum, or the anytime planner and the ceiling."""
    if named(problem).observes_then_commits:
        return {"optimum": job("optimum", problem=problem)}
    jobs = {"ceiling": job("ceiling", problem=problem)}
    if not problem.startswith("navigation"):
        jobs |= {
            agent: score_job(problem, agent, planner="anytime", horizon=1, unit="nats") for agent in ("planning", "efe")
        }
    return jobs


def _beyond_rows(table: Table, problem: str, jobs: Mapping[str, Job], context: Context) -> list[tuple[str, ...]]:
    columns = _columns(table)

    def row(label: str, result: Mapping[str, Any]) -> tuple[str, ...]:
        cells = []
        for column in columns:
            name = column.split()[0]
            about = "problem=" not in column or column.endswith(f"problem={problem}")
            ours = number(result, name, problem) if about else None
            cells += ["", "", "", _text(ours, name)]
        return (problem, label, *cells)

    if "optimum" in jobs:
        return [row("(certified optimum)", context.result(jobs["optimum"]))]
    rows = [
        row(f"(anytime planner, H=1, {agent})", context.result(jobs[agent]))
        for agent in ("planning", "efe")
        if agent in jobs
    ]
    found = context.result(jobs["ceiling"])
    if found["optimum"]:
        rows.append(row("(exact optimum)", {"reward": found["optimum"][0]}))
    return [*rows, row("(nothing hidden)", {"reward": found["clairvoyant"]})]


def horizon_job(problem: str, context: Context) -> Job | None:
    """The job that finds the horizon at which planning for reward alone is optimal; None where a quick run skips it."""
    best = context.result(job("optimum", problem=problem))
    if problem.startswith("tileworld") and not context.full:
        return None
    return job("reaches_optimum", problem=problem, optimum=best["lower"], deepest=8 if "tileworld" in problem else 30)


def _horizon_notes(reached: Mapping[str, Job | None], context: Context) -> list[str]:
    notes = []
    for problem, wanted in reached.items():
        told = "is searched for in full runs only"
        if wanted:
            found = context.result(wanted)
            deepest = len(found["rewards"])
            told = f"is H = {found['horizon']}" if found["horizon"] else f"lies above H = {deepest}"
        notes.append(f"{problem}: the horizon at which planning for reward alone reaches the certified optimum {told}")
    return notes


def _same_policies(rows: list[tuple[Cell, ...]], lines: list[Line], context: Context) -> list[str]:
    """Rows of one problem whose exact scores are the same to the last digit, by unit."""
    units: dict[tuple[str, ...], list[str]] = {}
    for unit in ("bits", "nats"):
        seen: dict[tuple[Any, ...], dict[str, None]] = {}
        for cells, line in zip(rows, lines, strict=True):
            chosen = line.exact.get(unit) or line.exact.get("nats")
            result = context.result(chosen) if chosen else {"limit": ""}
            if "limit" not in result:
                key = (line.problem, result["reward"], result["tests"], result["success"])
                seen.setdefault(key, {})[_label(cells[0].row)[1]] = None
        for key, names in seen.items():
            if len(names) > 1:
                units.setdefault((key[0], *names), []).append(unit)
    notes = []
    for (problem, *alike), found in units.items():
        per = " or ".join(unit.removesuffix("s") for unit in found)
        notes.append(f"{problem}: {', '.join(alike)} have one and the same exact score (weights per {per})")
    return notes


def _rows(table: Table) -> list[tuple[Cell, ...]]:
    """Cells by printed row and problem: a row that spreads over problems becomes one row for each."""
    width = len(table.columns)
    rows = []
    for start in range(0, len(table.cells), width):
        cells = table.cells[start : start + width]
        for problem in dict.fromkeys(str(cell.row["problem"]) for cell in cells):
            rows.append(tuple(cell for cell in cells if cell.row["problem"] == problem))
    return rows


def _columns(table: Table) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.split()[0] for name in table.columns))


def _columns_of(cell: Cell) -> str:
    return cell.column.split()[0]


SHORT = {"weight": "w", "horizon": "H", "discount": "discount", "believed_accuracy": "believes", "simulations": "n"}
"""What settings are called in labels."""


def _label(row: Row) -> tuple[str, str]:
    parts = [str(row["agent"]), *(f"{short}={row[name]:g}" for name, short in SHORT.items() if name in row)]
    return str(row["problem"]), " ".join(parts)


for name in TABLES:
    study(name, partial(build_table, table=published().tables[name]))
