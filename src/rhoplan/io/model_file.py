"""Model files: a problem as YAML, JSON or TOML, read with errors that name file, line and field.

name: screening
unit: CAD
info: {source: ..., note: ..., illustrative: true}
states: [well, ill]
prevalence: {ill: 1%}                          # or prior: [0.99, 0.01]; uniform if left out
groups: {blood: {first: 2.10}}          # the first test of the group costs this much more
tests:
  smear: {cost: 5, sensitivity: 90%, specificity: 95%, inconclusive: 5%, group: blood}
  assay: {cost: 9, lr_positive: 18, lr_negative: 0.1, group: blood, after: smear}
  scan:
    cost: 40
    outcomes: [clear, doubtful, dark]
    likelihood: {well: [0.8, 0.15, 0.05], ill: [0.1, 0.2, 0.7]}
    repeat: independent                 # or once, the default
losses:                                 # or commits: with rewards
  leave: {well: 0, ill: 1000}
  treat: {well: 50, ill: 10}
cap: {tests: 3, spend: 60}
horizon: 4                              # optional: the look-ahead used when nobody asks for another

`reader` has the fields, `shorthands` the short forms of a test, `writer` the way back. A file with the field `factors`
is a general problem: `general` reads it.
"""

from __future__ import annotations

from rhoplan.io.collecting import nothing_collected
from rhoplan.io.reader import ModelReader
from rhoplan.io.tree import parse_tree
from rhoplan.io.writer import write_model
from rhoplan.model.pomdp import POMDP

__all__ = ["parse_model", "write_model"]

LANGUAGES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".toml": "toml"}


GENERAL = {"factors", "actions", "places"}
"""Fields of which a model that is more than tests and commits has one at least."""


@nothing_collected()
def parse_model(text: str, *, file: str = "model", language: str = "yaml") -> POMDP:
    """The problem that `text` describes; `file` is what errors call it, `language` yaml, json or toml."""
    if language not in LANGUAGES.values():
        raise ValueError(f"language must be yaml, json or toml, not '{language}'")
    tree = parse_tree(text, file=file, language=language)
    if GENERAL & tree.items.keys():
        from rhoplan.io.general import GeneralReader

        return GeneralReader(file).problem(tree)
    return ModelReader(file).problem(tree)
