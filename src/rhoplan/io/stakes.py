"""What decisions come to in each state, in one of four ways; the arithmetic is that of `conversions`.

commits      rewards                   commits: {treat: {well: -50, ill: 100}, leave: {well: 0, ill: -900}}
losses       positive is bad           losses: {treat: {well: 50, ill: 0}, leave: {well: 0, ill: 1000}}
threshold    the chance of the positive state from which on one acts, and what one of the mistakes costs
                                       threshold: {act: treat, otherwise: leave, at: 5%, false_alarm: 50}
utilities    how good each end is      utilities: {treat: {well: 0.95, ill: 0.9}, leave: {well: 1, ill: 0}}
             with what one of utility is in the unit of the model: worth: 50000 (1 if left out)
"""

from __future__ import annotations

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.io.accuracy import threshold_losses, utility_losses
from rhoplan.io.fields import Fields
from rhoplan.io.shorthands import named_positive
from rhoplan.io.tree import Tree
from rhoplan.model.diagnostic import Decision
from rhoplan.model.limits import MOST_ACTIONS
from rhoplan.model.records import Factor

STAKES = ("commits", "losses", "threshold", "utilities")
THRESHOLD = ("act", "otherwise", "at", "false_alarm", "miss")


def read_commits(
    fields: Fields, tree: Tree, hidden: Factor, positive: str | None, *, taken: set[str]
) -> tuple[Decision, ...]:
    """The commits; names that are `taken` are tests."""
    items = tree.items
    given = [name for name in STAKES if name in items]
    if len(given) != 1:
        what = f"not both {given[0]} and {given[1]}" if given else "it has neither"
        rule = "the model must have either commits (rewards) or losses, a threshold or utilities"
        raise fields.fault(f"{rule}; {what}", items[given[-1]] if given else tree, code="conflicting-fields")
    (field,) = given
    if "worth" in items and field != "utilities":
        raise fields.fault(
            "worth goes with utilities: it says what one of utility is in the model's unit",
            items["worth"],
            code="conflicting-fields",
        )
    if field == "threshold":
        return _by_threshold(fields, items[field], hidden, positive, taken)
    what, sign = ("a loss", -1.0) if field == "losses" else ("a reward", 1.0)
    what = "a utility" if field == "utilities" else what
    rows = fields.named_maps(items[field], most=MOST_ACTIONS)
    for name, row in rows.items():
        _check_free(fields, name, row, taken)
    amounts = np.stack([fields.per_name(row, hidden.diagnoses, what, "state") for row in rows.values()])
    if field == "utilities":
        worth = fields.number(items["worth"]) if "worth" in items else 1.0
        try:
            amounts, sign = utility_losses(amounts, worth), -1.0
        except ProblemError as error:
            raise fields.fault(error.message, tree.at(error.field or ()), code=error.code) from None
    return tuple(Decision(name, sign * hidden.unfold(row) + 0.0) for name, row in zip(rows, amounts, strict=True))


def _by_threshold(
    fields: Fields, tree: Tree, hidden: Factor, positive: str | None, taken: set[str]
) -> tuple[Decision, ...]:
    fields.check_fields(tree, THRESHOLD, required=THRESHOLD[:3])
    items, states = tree.items, hidden.diagnoses
    if len(states) != 2:
        raise fields.fault(f"threshold needs two states; there are {len(states)}", tree, code="two-states-needed")
    about = named_positive(fields, tree, states, positive)
    otherwise, act = fields.text(items["otherwise"]), fields.text(items["act"])
    for name in ("otherwise", "act"):
        _check_free(fields, fields.text(items[name]), items[name], taken)
    if act == otherwise:
        raise fields.fault(
            f"threshold.act and otherwise must be two decisions; both are '{act}'", items["act"], code="duplicate-name"
        )
    known = {name: fields.amount(items[name]) for name in ("false_alarm", "miss") if name in items}
    try:
        false_alarm, miss = threshold_losses(fields.probability(items["at"]), **known)
    except ProblemError as error:
        raise fields.fault(f"{tree.label}.{error.message}", tree.at(error.field or ()), code=error.code) from None
    ill = np.array([state == about for state in states])
    losses = {otherwise: np.where(ill, miss, 0.0), act: np.where(ill, 0.0, false_alarm)}
    return tuple(Decision(name, 0.0 - hidden.unfold(row)) for name, row in losses.items())


def _check_free(fields: Fields, name: str, tree: Tree, taken: set[str]) -> None:
    if name in taken:
        raise fields.fault(f"'{name}' is both a test and a commit; names must differ", tree, code="duplicate-name")
