"""Settings that the running text tells: which of them the computation here really uses, looked up where it takes them.

A number is a setting by what it is (a weight, a price, a seed), and it is used if a problem is built from it, or if a
row of the paper that is computed again has it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache

from rhoplan.agents.agent import AGENTS
from rhoplan.evaluation.streams import PUBLISHED_SEEDS
from rhoplan.planning.tree_search import TreeSearchSettings
from rhoplan.problems.registry import make, parameters
from rhoplan_paper.published import Cell, Quote, Row, published
from rhoplan_paper.statistics import EFFECT_SIZES
from rhoplan_paper.tables.asymmetry import TUNING
from rhoplan_paper.tables.rows import MEASURED
from rhoplan_paper.told.checks import TUNING_EPISODES

BUILT_FROM: dict[tuple[str, str], tuple[str, str]] = {
    ("correct", "sample"): ("rocksample", "good"),
    ("incorrect", "sample"): ("rocksample", "bad"),
    ("correct", "exit"): ("rocksample", "exit"),
    ("cost", ""): ("rocksample", "cost"),
    ("prior", ""): ("inspection", "prior"),
    ("move_cost", ""): ("inspection", "move_cost"),
    ("test_accuracy", "visual"): ("inspection", "visual"),
    ("test_cost", "visual"): ("inspection", "visual_cost"),
    ("test_accuracy", "detailed"): ("inspection", "detailed"),
    ("test_cost", "detailed"): ("inspection", "detailed_cost"),
    ("correct", "nominal"): ("inspection", "nominal"),
    ("correct", "faulty"): ("inspection", "fault"),
    ("incorrect", "faulty"): ("inspection", "missed"),
    ("incorrect", "nominal"): ("inspection", "false_alarm"),
}
"""By printed column and what it is of, the problem and the parameter that it is built from."""

COSTS = ("cost", "move_cost", "test_cost")
"""Columns printed as what is paid, with either sign; parameters are prices."""


def used(quote: Quote, cell: Cell) -> str:
    """What uses the printed setting, in words; empty where nothing does."""
    for look in (_parameter, _label, _agent, _depth, _by_column):
        if what := look(quote, cell):
            return what
    return ""


def _parameter(quote: Quote, cell: Cell) -> str:
    about = next((str(cell.row[key]) for key in ("action", "test", "state") if key in cell.row), "")
    problem, name = BUILT_FROM.get((cell.column, about), ("", ""))
    if not problem or cell.value is None:
        return ""
    value = next(float(str(one.default)) for one in parameters(problem) if one.name == name)
    printed = abs(cell.value) if cell.column in COSTS else cell.value
    return f"'{name}' of {problem}" if math.isclose(printed, value) else ""


def _label(quote: Quote, cell: Cell) -> str:
    """A limit between two words for effect sizes."""
    limits = [limit for limit, _ in EFFECT_SIZES]
    words = [*(word for _, word in EFFECT_SIZES), "large"]
    if cell.row.get("label") not in words:
        return ""
    place = words.index(str(cell.row["label"]))
    upper = cell.row.get("bound") == "high" or place == 0
    return f"limit of '{cell.row['label']}'" if limits[place if upper else place - 1] == cell.value else ""


def _agent(quote: Quote, cell: Cell) -> str:
    kind = AGENTS.get(str(cell.row.get("agent"))) if cell.column == "weight" else None
    return f"weight of {cell.row['agent']}, by its definition" if kind and kind.weight == cell.value else ""


def _depth(quote: Quote, cell: Cell) -> str:
    if cell.column != "horizon" or "problem" not in cell.row:
        return ""
    spec = str(cell.row["problem"])
    return f"depth of the search on {spec}" if make(spec).horizon == cell.value else ""


def _by_column(quote: Quote, cell: Cell) -> str:
    look = IN_USE.get(cell.column if "per" not in cell.row else f"{cell.column} per {cell.row['per']}")
    return next((what for value, what in look() if value == cell.value), "") if look else ""


def _rows() -> Iterator[tuple[str, Row]]:
    """Where a result stands, and what it is of: the row of every printed number that comes out of a computation."""
    paper = published()
    cells = {name: part.cells for name, part in paper.tables.items()}
    cells |= {name: part.cells for name, part in paper.quotes.items()}
    for name, mine in cells.items():
        yield from ((name, cell.row) for cell in mine if cell.column.split()[0] in MEASURED)


@cache
def _key(name: str) -> list[tuple[float, str]]:
    protocols = ((table.id, row) for table in published().tables.values() for row in table.protocol)
    found = [(where, row[name]) for where, row in (*_rows(), *protocols) if name in row]
    return [(float(value), f"{name.replace('_', ' ')} of '{where}'") for where, value in found]


@cache
def _weights() -> list[tuple[float, str]]:
    return [*((weight, "weight of the tuning grid") for weight in TUNING), *_key("weight")]


@cache
def _sizes() -> list[tuple[float, str]]:
    specs = dict.fromkeys(str(row["problem"]) for _, row in _rows() if "problem" in row)
    flat = [(spec, make(spec)) for spec in specs if ":" in spec or spec in ("tiger", "testbed", "diagnosis", "bandit")]
    return [(float(len(model.states)), f"states of {spec}") for spec, model in flat if model.observes_then_commits]


IN_USE: dict[str, Callable[[], list[tuple[float, str]]]] = {
    "weight": _weights,
    "states": _sizes,
    "discount": lambda: _key("discount"),
    "horizon": lambda: _key("horizon"),
    "simulations": lambda: _key("simulations"),
    "seeds": lambda: _key("seeds"),
    "episodes": lambda: [(float(TUNING_EPISODES), "episodes of tuning, per weight")],
    "episodes per seed": lambda: _key("per_seed"),
    "episodes per agent": lambda: _key("episodes"),
    "seed": lambda: [(float(seed), "a published seed") for seed in PUBLISHED_SEEDS],
    "stop_chance": lambda: [(100 * TreeSearchSettings.stop_probability, "chance that a rollout ends")],
}
"""By column, the values in use, each with what uses it."""
