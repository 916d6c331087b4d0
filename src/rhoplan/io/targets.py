"""The field `targets` of a model file: what a pathway is to keep, told as people write it (see `model.targets`)."""

from __future__ import annotations

from typing import Any

from rhoplan.errors import ProblemError
from rhoplan.io.constraints import ABOUT_STATE, KINDS, as_given, read_targets
from rhoplan.io.fields import Fields
from rhoplan.io.tree import Tree


def read_file_targets(fields: Fields, tree: Tree, states: tuple[str, ...], positive: str | None) -> dict[str, Any]:
    """The targets that `tree` holds, by kind and state as `read_targets` takes them."""
    fields.check_fields(tree, KINDS)
    if not tree.items:
        raise fields.fault(
            f"{tree.label} must have a target such as miss or spend; it is empty", tree, code="missing-field"
        )
    given: dict[str, Any] = {}
    for kind, value in tree.items.items():
        if kind in ABOUT_STATE and value.kind == "map":
            given[kind] = {state: fields.text(one) for state, one in fields.named_maps(value).items()}
        else:
            given[kind] = fields.text(value)
    try:
        return as_given(read_targets(given, states, positive))
    except ProblemError as error:
        raise fields.fault(error.message, tree.at(error.field or ()), code=error.code) from None
