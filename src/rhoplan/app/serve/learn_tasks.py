"""What a worker does with a table of cases: describe it, draft a plan for it, learn from it. It keeps nothing of it.

A table is a Source whose text has a character for each byte of the file, so that the reader of tables finds out in
which encoding it was written.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rhoplan.app.serve.sources import Source
from rhoplan.errors import ModelFileError

if TYPE_CHECKING:
    from rhoplan.app.serve.worker import Tell
    from rhoplan.learning.plan import Plan
    from rhoplan.learning.table import Table
    from rhoplan.model.pomdp import POMDP

CSV, BYTES = "csv", "latin-1"
"""Language of a source that is a table, and the encoding that has a character for each byte."""

CALLED = "the table"
"""What faults call the file, whose name the server does not know."""


def table_source(name: str, data: bytes) -> Source:
    """The table in a file that holds `data`, under a name of our own."""
    return Source(name, data.decode(BYTES), CSV)


def describe(source: Source) -> dict[str, Any]:
    """What the table has: cases, warnings, and of each column its kind, blanks and different values.

    target, test: whether it can be what it turned out to be, and whether a draft takes it for a test.
    """
    from rhoplan.learning.plan import TEST_KINDS, may_be_target

    table = _table(source)
    columns = [
        {
            "name": name,
            "kind": column.kind,
            "blanks": int(column.blank.sum()),
            "distinct": len(column.values),
            "target": may_be_target(column),
            "test": column.kind in TEST_KINDS,
        }
        for name, column in table.columns.items()
    ]
    return {"cases": table.size, "columns": columns, "warnings": list(table.warnings)}


def draft(source: Source, request: dict[str, Any]) -> dict[str, Any]:
    """A plan to fill in, as an object: every price and every loss is 1; and how many cases have each diagnosis."""
    from rhoplan.learning.plan import draft_plan, parse_plan

    table = _table(source)
    plan = parse_plan(draft_plan(table, request["target"]))
    values = table.columns[plan.target].values
    losses = {
        commit.name: dict(zip(plan.states, row.tolist(), strict=True))
        for commit, row in zip(plan.commits, plan.losses + 0.0, strict=True)
    }
    tests = {test.name: {"cost": test.cost} for test in plan.tests}
    drafted = {"unit": plan.unit, "target": plan.target, "tests": tests, "losses": losses}
    return {"plan": drafted, "diagnoses": {state: values[state] for state in plan.states}}


def learned(source: Source, request: dict[str, Any], tell: Tell) -> dict[str, Any]:
    """The bill with its verdict in a sentence, what was warned of, and the model as the text of a file."""
    from rhoplan.io.model_file import write_model
    from rhoplan.learning.bill import depth_sentence, sentence
    from rhoplan.learning.learning import learn

    how = {name: request[name] for name in ("folds", "repeats", "group", "time", "seed")}
    result = learn(_table(source), _plan(request), **how, tell=tell)
    unit, found = result.cases.plan.unit, result.record
    words = [sentence(result.bill, unit)] + ([depth_sentence(found["depth"], unit)] if "depth" in found else [])
    return {
        **result.bill.record,
        "words": words,
        "unit": unit,
        "warnings": list(result.cases.warnings),
        "name": request["name"],
        "model": write_model(result.problem),
    }


def page(problem: POMDP) -> str:
    """The report on a model that was learned, as a page."""
    from rhoplan.present.page.learned_page import learned_page

    return learned_page(problem)


def _table(source: Source) -> Table:
    from rhoplan.learning.baselines import need_sklearn
    from rhoplan.learning.table import parse_table

    need_sklearn()  # said when the table comes, not after prices have been filled in
    return parse_table((source.text or "").encode(BYTES), file=CALLED)


def _plan(request: dict[str, Any]) -> Plan:
    from rhoplan.learning.plan import parse_plan

    try:
        return parse_plan(json.dumps({"name": request["name"], **request["plan"]}), file="the plan", language="json")
    except ModelFileError as error:
        raise ModelFileError(error.message, file="the plan", field=error.field, code=error.code).within(
            "plan"
        ) from None
