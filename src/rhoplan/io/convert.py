"""Quoted numbers by themselves, without a model around them, read and converted as a model file's are."""

from __future__ import annotations

import json
from typing import Any

from rhoplan.io.fields import Fields
from rhoplan.io.shorthands import has_shorthand, quoted, short_test
from rhoplan.io.stakes import read_commits
from rhoplan.io.tree import parse_tree
from rhoplan.model.diagnostic import partitioned

STAKED = ("threshold", "utilities", "worth")


def convert(given: dict[str, Any]) -> dict[str, Any]:
    """What quoted numbers mean. given: states and positive, and a test, a threshold, or utilities with their worth.

    The reply has likelihood (by state, a probability for each outcome) and, where the test is quoted with shares of
    people, their prior; or losses (by decision and state). ModelFileError with the field of what is wrong.
    """
    fields = Fields("the request")
    tree = parse_tree(json.dumps(given), file=fields.file, language="json")
    states = fields.names(tree.items["states"])
    positive = fields.one_of(tree.items["positive"], states, "state") if "positive" in tree.items else None
    hidden = partitioned(states)
    if "test" not in tree.items:
        staked = {name: value for name, value in tree.items.items() if name in STAKED}
        commits = read_commits(fields, type(tree)("map", None, items=staked), hidden, positive, taken=set())
        return {"losses": {one.name: dict(zip(states, (0.0 - one.reward).tolist(), strict=True)) for one in commits}}
    test = tree.items["test"]
    if not has_shorthand(test):
        raise fields.fault(
            "test must give one of the ways in which a test is quoted; it gives none", test, code="missing-field"
        )
    outcomes, likelihood = short_test(fields, test, hidden=hidden, positive=positive)
    told: dict[str, Any] = {"outcomes": list(outcomes)}
    told["likelihood"] = {state: row.tolist() for state, row in zip(states, likelihood, strict=True)}
    if test.items.keys() & {"ppv", "shares"}:
        told["prior"] = dict(zip(states, quoted(fields, test, states, positive).prior.tolist(), strict=True))
    return told
