"""Shorthands of a test in a model of two states (diagnoses): how people quote a test's quality, as P(outcome | state).

    sensitivity, specificity    P(positive | positive state), P(negative | other state)
    lr_positive, lr_negative    LR+ = sens / (1 - spec), LR- = (1 - sens) / spec, hence
                                sens = LR+ (1 - LR-) / (LR+ - LR-), spec = (LR+ - 1) / (LR+ - LR-)
    tp, fn, fp, tn              sens = tp / (tp + fn), spec = tn / (tn + fp)

Sensitivity and specificity may be given for each subtype of the diagnosis they are about; the others hold for all.
With `inconclusive` a third outcome says nothing: it has this probability in both states, and sensitivity and
specificity are those of the other two.
"""

from __future__ import annotations

import numpy as np

from rhoplan.io.fields import Fields
from rhoplan.io.subtypes import per_subtype
from rhoplan.io.tree import Tree, shown
from rhoplan.model.problem import Array
from rhoplan.model.subtypes import Grouped

RATES = ("sensitivity", "specificity")
RATIOS = ("lr_positive", "lr_negative")
COUNTS = ("tp", "fn", "fp", "tn")
SHORTHANDS = (*RATES, *RATIOS, *COUNTS)
INCONCLUSIVE = "inconclusive"

LARGEST_COUNT = 10**15
"""Above this a floating-point number no longer holds every whole one."""


def has_shorthand(tree: Tree) -> bool:
    """Whether the test gives numbers for two states instead of a likelihood."""
    return any(name in tree.items for name in SHORTHANDS)


def named_positive(fields: Fields, tree: Tree, states: tuple[str, ...], positive: str | None) -> str:
    """The positive state, which numbers that are about it need: the other way round, all would be read backwards."""
    if positive is None:
        first, last = (shown(state) for state in states)
        raise fields.fault(
            f"{tree.label} is about one of the two states and the file must say which: add positive: {first} or "
            f"positive: {last}",
            tree,
        )
    return positive


def two_state_test(
    fields: Fields, tree: Tree, *, hidden: Grouped, positive: str | None
) -> tuple[tuple[str, ...], Array]:
    """Outcomes and likelihood (S, O) of a test given by a shorthand; `positive` is the diagnosis it looks for.

    A family of shorthands gives rows for the other diagnosis and for the positive one, the negative outcome first.
    """
    items, states = tree.items, hidden.diagnoses
    used = [family for family in (RATES, RATIOS, COUNTS) if any(name in items for name in family)]
    if "likelihood" in items or len(used) > 1:
        given = [name for name in ("likelihood", *SHORTHANDS) if name in items]
        ways = "; ".join(["outcomes and likelihood", *(", ".join(family) for family in (RATES, RATIOS, COUNTS))])
        raise fields.fault(
            f"{tree.label} must give one of: {ways}; not both {given[0]} and {given[-1]}", items[given[-1]]
        )
    fields.check_fields(tree, set(items), required=used[0])
    if len(states) != 2:
        raise fields.fault(f"{tree.label}: {', '.join(used[0])} need two states; there are {len(states)}", tree)
    positive = named_positive(fields, items[used[0][0]], states, positive)
    if used[0] is RATES:
        likelihood = _from_rates(fields, tree, hidden, positive)
    else:
        rows = (_from_ratios if used[0] is RATIOS else _from_counts)(fields, tree)
        likelihood = hidden.unfold(rows if positive == states[-1] else rows[::-1])
    silent = fields.probability(items[INCONCLUSIVE]) if INCONCLUSIVE in items else None
    if silent is not None:
        likelihood = np.column_stack([likelihood * (1 - silent), np.full(len(likelihood), silent)])
    return _outcomes(fields, tree, inconclusive=silent is not None), likelihood


def _from_rates(fields: Fields, tree: Tree, hidden: Grouped, positive: str) -> Array:
    likelihood = np.empty((len(hidden.states), 2))
    for diagnosis in hidden.diagnoses:
        name, found = ("sensitivity", 1) if diagnosis == positive else ("specificity", 0)
        places, rate = hidden.places[diagnosis], per_subtype(fields, tree.items[name], hidden, diagnosis)
        likelihood[places, found], likelihood[places, 1 - found] = rate, 1 - rate
    return likelihood


def _from_ratios(fields: Fields, tree: Tree) -> Array:
    high, low = (fields.number(tree.items[name]) for name in RATIOS)
    above, below = (tree.items[name] for name in RATIOS)
    if not high > 1:
        rule = "must be above 1: a positive result speaks for the positive state"
        raise fields.fault(f"{above.label} {rule}; it is {high:g}", above)
    if not 0 <= low < 1:
        rule = "must be from 0 to below 1: a negative result speaks against it"
        raise fields.fault(f"{below.label} {rule}; it is {low:g}", below)
    # Each rate by itself: 1 - specificity would be 0 for a large LR+, and a result then a proof.
    return np.array([[high - 1, 1 - low], [low * (high - 1), high * (1 - low)]]) / (high - low)


def _from_counts(fields: Fields, tree: Tree) -> Array:
    tp, fn, fp, tn = (fields.whole(tree.items[name], 0, LARGEST_COUNT) for name in COUNTS)
    for first, second, total in (("tp", "fn", tp + fn), ("fp", "tn", fp + tn)):
        if not total:
            raise fields.fault(
                f"{tree.label}.{first} and {second} must not both be 0: nobody was tested", tree.items[first]
            )
    rows: Array = np.array([[tn, fp], [fn, tp]]) / np.array([[tn + fp], [tp + fn]])
    return rows


def counted_cases(tree: Tree, *, is_positive: bool) -> tuple[int, bool]:
    """How many cases the counts of a test, read before, rest on in one state, and whether one of the two is 0."""
    counts = [int(float(tree.items[name].text)) for name in (("tp", "fn") if is_positive else ("fp", "tn"))]
    return sum(counts), 0 in counts


def _outcomes(fields: Fields, tree: Tree, *, inconclusive: bool) -> tuple[str, ...]:
    usual = ("negative", "positive", INCONCLUSIVE)[: 3 if inconclusive else 2]
    if "outcomes" not in tree.items:
        return usual
    outcomes = fields.names(tree.items["outcomes"])
    if len(outcomes) != len(usual):
        raise fields.fault(
            f"{tree.label}.outcomes must be {len(usual)} names: for {', '.join(usual)}, in this order; it has "
            f"{len(outcomes)}",
            tree.items["outcomes"],
        )
    return outcomes
