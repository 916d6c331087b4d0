"""The field `learned` of a model file: what learning from past cases found. `rhoplan learn` writes it, `rhoplan update`
goes on from it, reports print it. It holds aggregates, no case.

What it must hold is SHAPE: a map of fields (`?` after a name: may be left out), `{"*": shape}` for a map from any
names, `[shape]` for a list, `(shape,)` for one that is not empty, or the kind of a single value.
"""

from __future__ import annotations

from typing import Any

from rhoplan.io.fields import Fields, described
from rhoplan.io.tree import Tree

LEARNED = "learned"
"""Of the details of a problem, and of a model file."""

NUMBER, AMOUNT, TEXT, TRUTH, SCALAR = "number", "amount", "text", "truth", "scalar"

_ESTIMATE = {"cost": NUMBER, "low": NUMBER, "high": NUMBER}
_TABLE = {"cases": NUMBER, "sha256": TEXT}

SHAPE: dict[str, Any] = {
    "verdict": TEXT,
    "heldout": {**_ESTIMATE, "tests": NUMBER, "spend": NUMBER, "errors": NUMBER},
    "planned": {"cost": NUMBER},
    "baselines": {"*": _ESTIMATE},
    "gain": {"over": TEXT, "mean": NUMBER, "low": NUMBER, "high": NUMBER},
    "splits": NUMBER,
    "cases": NUMBER,
    "unit": TEXT,
    "choice": {"horizon": AMOUNT, "weight": AMOUNT, "shrinkage": AMOUNT, "tempering": AMOUNT, "*": SCALAR},
    "folds": ({"cost": NUMBER, "planned": NUMBER, "cases": AMOUNT, "choice": {"*": SCALAR}},),
    "diagnoses": {"*": NUMBER},
    "events_per_parameter": NUMBER,
    "table": _TABLE,
    "seed": NUMBER,
    "split": {"folds": NUMBER, "repeats": NUMBER, "by?": TEXT, "column?": TEXT},
    "warnings": [TEXT],
    "calibration": {
        "about?": TEXT, "said": NUMBER, "seen": NUMBER, "apart": NUMBER,
        "points": ({"said": NUMBER, "seen": NUMBER, "low": NUMBER, "high": NUMBER, "cases": AMOUNT},),
    },
    "decision_curve?": {
        "about": TEXT, "own?": NUMBER, "points": ({"threshold": NUMBER, "policy": NUMBER, "all": NUMBER},),
    },
    "caps": {"tests": [{"most?": NUMBER, **_ESTIMATE}], "spend": [{"most?": NUMBER, **_ESTIMATE}]},
    "use": {"tests": {"*": NUMBER}, "numbers": [NUMBER]},
    "dependence": {
        "looked": NUMBER, "found": NUMBER, "pairs": [{"tests": [TEXT], "told": NUMBER, "model": NUMBER}],
    },
    "subtypes": [
        {
            "diagnosis": TEXT, "name": TEXT, "share": NUMBER,
            "marks": [{"test": TEXT, "result": TEXT, "here": NUMBER, "within": NUMBER}],
        },
    ],
    "blanks": {
        "*": {
            "share?": NUMBER, "by_diagnosis?": {"*": NUMBER}, "goes_with_diagnosis?": TRUTH, "fewer_than?": NUMBER,
        },
    },
    "alone": {"*": NUMBER},
    "suspects": [TEXT],
    "depth?": {"mean": NUMBER, "low": NUMBER, "high": NUMBER},
    "second_opinion?": {
        "disagree": NUMBER, "cost": _ESTIMATE, "less": {"mean": NUMBER, "low": NUMBER, "high": NUMBER},
        "rows": [{"policy": TEXT, "second": TEXT, "cases": NUMBER, "policy_loss": NUMBER, "second_loss": NUMBER}],
        "model?": {
            "tests": [TEXT], "diagnoses": [AMOUNT], "states": AMOUNT,
            "trees": [[{"test": [NUMBER], "most": [NUMBER], "low": [AMOUNT], "high": [AMOUNT], "adds": [NUMBER]}]],
        },
    },
    "target": TEXT,
    "prior_given": TRUTH,
    "cuts": {"*": {"at?": [NUMBER], "places?": [NUMBER]}},
    "counts": {"*": {"*": [NUMBER]}},
    "state_cases": {"*": NUMBER},
    "updates?": [_TABLE],
}  # fmt: skip


def read_learned(fields: Fields, tree: Tree) -> dict[str, Any]:
    """What `tree` holds, as plain data of the shape SHAPE."""
    found: dict[str, Any] = _read(fields, tree, SHAPE)
    over = tree.items["gain"].items["over"]
    fields.one_of(over, list(found["baselines"]), "policy")
    second = tree.items.get("second_opinion")
    if second is not None and "model" in second.items:
        _check_opinion(fields, second.items["model"], found["second_opinion"]["model"], len(found["diagnoses"]))
    return found


def _check_opinion(fields: Fields, tree: Tree, found: dict[str, Any], diagnoses: int) -> None:
    """Complain unless every tree leads from its first place downwards to an end, and asks for tests that there are."""
    known, tests = found["diagnoses"], len(found["tests"])
    sums = 1 if len(known) == 2 else len(known)
    if (
        found["states"] != diagnoses
        or len(set(known)) != len(known)
        or any(one not in range(diagnoses) for one in known)
    ):
        raise fields.fault(f"{tree.label} must be about the {diagnoses} diagnoses, by their places", tree)
    for row, places in zip(tree.items["trees"].list, found["trees"], strict=True):
        if len(places) != sums:
            raise fields.fault(f"{row.label} must have {sums} trees; it has {len(places)}", row)
        for one, tree_ in zip(row.list, places, strict=True):
            size = len(tree_["test"])
            if not size or any(len(values) != size for values in tree_.values()):
                raise fields.fault(f"{one.label} must have lists of one length", one)
            for place, test in enumerate(tree_["test"]):
                if test not in range(-1, tests):
                    raise fields.fault(f"{one.label} must ask for tests by their places, 0 to {tests - 1}", one)
                if test >= 0 and not all(tree_[side][place] in range(place + 1, size) for side in ("low", "high")):
                    raise fields.fault(f"{one.label} must go on to later places only", one)


def _read(fields: Fields, tree: Tree, shape: Any) -> Any:
    if isinstance(shape, list | tuple):
        if tree.kind != "list" or (isinstance(shape, tuple) and not tree.list):
            raise fields.fault(f"{tree.label} must be a list; it is {described(tree)}", tree)
        return [_read(fields, one, shape[0]) for one in tree.list]
    if isinstance(shape, dict):
        named = {name.removesuffix("?"): one for name, one in shape.items() if name != "*"}
        required = [name for name in shape if name != "*" and not name.endswith("?")]
        fields.check_fields(tree, tree.items if "*" in shape else named, required=required)
        return {name: _read(fields, one, named.get(name, shape.get("*"))) for name, one in tree.items.items()}
    kind = tree.kind if shape == SCALAR else shape
    if kind == TRUTH:
        return fields.truth(tree)
    if kind in (NUMBER, AMOUNT):
        value = fields.number(tree) if kind == NUMBER else fields.amount(tree)
        return int(value) if value.is_integer() else value
    return fields.text(tree)
