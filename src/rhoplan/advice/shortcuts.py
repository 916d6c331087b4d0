"""Shortcuts of results: one rule for the terminal, the page (shortcuts.js) and a carried plan."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rhoplan.advice.first import First
from rhoplan.model.pomdp import POMDP

LETTERS = "abcefghijklmopqtvxyz"
"""The letters that are no keys of the page or of a carried plan."""

_NUMBER = re.compile(r"[-+−]?[0-9]+([.,][0-9]+)?")


def shortcuts(outcomes: Sequence[str], others: Sequence[str] = ()) -> list[str]:
    """A shortcut for each of `outcomes`: its number from 1 on, or a letter if one of the names is a number.

    others: further names that can be entered at this point. Letters that are names are left out, and where no letter is
    left the shortcut is empty.
    """
    names = [name.strip().lower() for name in (*outcomes, *others)]
    if not any(map(_NUMBER.fullmatch, names)):
        return [str(place) for place in range(1, len(outcomes) + 1)]
    letters = [letter for letter in LETTERS if letter not in names]
    return [*letters, *[""] * len(outcomes)][: len(outcomes)]


def result_shortcuts(problem: POMDP, advice: First) -> list[str]:
    """A shortcut for each result of the recommended test."""
    test = next(test for test in problem.flat.tests if test.name == advice.do)
    commits = [commit.name for commit in problem.flat.commits]
    return shortcuts([result.outcome for result in advice.results], [*test.outcomes, *commits])
