"""Short ways of giving a test, as P(outcome | state); the arithmetic is that of `conversions`.

In a model of two states (diagnoses), how people quote a test's quality:

    sensitivity, specificity     P(positive | positive state), P(negative | other state)
    lr_positive, lr_negative     likelihood ratios
    tp, fn, fp, tn               counts of people of whom the truth is known
    ppv, npv, share_positive     predictive values, and the share of people whose result is positive

In a model of any number of states, a finding that sorts people into groups, as a clinical score does:

    shares, chances              of all people the share in each group, and in each group the chance of each state
                                 (of two states, of the positive one)

Sensitivity and specificity may be given for each subtype of the diagnosis they are about; the others hold for all.
With `inconclusive` a third outcome says nothing: it has this probability in both states, and sensitivity and
specificity are those of the other two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.io.accuracy import Quoted, from_counts, from_groups, from_predictive, from_ratios
from rhoplan.io.fields import Fields, listed
from rhoplan.io.subtypes import per_subtype
from rhoplan.io.tree import Tree, shown
from rhoplan.model.pomdp import Array
from rhoplan.model.records import Factor

Found = TypeVar("Found")

RATES = ("sensitivity", "specificity")
RATIOS = ("lr_positive", "lr_negative")
COUNTS = ("tp", "fn", "fp", "tn")
PREDICTIVE = ("ppv", "npv", "share_positive")
GROUPS = ("shares", "chances")
FAMILIES = (RATES, RATIOS, COUNTS, PREDICTIVE, GROUPS)
SHORTHANDS = tuple(name for family in FAMILIES for name in family)
_KNOWN = frozenset(SHORTHANDS)
INCONCLUSIVE = "inconclusive"

AS_IN = "as in "
"""How a prevalence or prior says that it is the one of the people a test is quoted for."""

LARGEST_COUNT = 10**15
"""Above this a floating-point number no longer holds every whole one."""


def has_shorthand(tree: Tree) -> bool:
    """Whether the test is given by one of the short ways instead of a likelihood."""
    return not _KNOWN.isdisjoint(tree.items)


def named_positive(fields: Fields, tree: Tree, states: tuple[str, ...], positive: str | None) -> str:
    """The positive state, which numbers that are about it need: the other way round, all would be read backwards."""
    if positive is None:
        first, last = (shown(state) for state in states)
        raise fields.fault(
            f"{tree.label} is about one of the two states and the file must say which: add positive: {first} or "
            f"positive: {last}",
            tree,
            code="missing-field",
        )
    return positive


def short_test(fields: Fields, tree: Tree, *, hidden: Factor, positive: str | None) -> tuple[tuple[str, ...], Array]:
    """Outcomes and likelihood (S, O) of a test given by a shorthand; `positive` is the diagnosis it looks for.

    A family of two-state shorthands gives rows for the other diagnosis and for the positive one, the negative outcome
    first.
    """
    items, states = tree.items, hidden.diagnoses
    family = _family(fields, tree)
    if family is GROUPS:
        if INCONCLUSIVE in items or "outcomes" in items:
            extra = INCONCLUSIVE if INCONCLUSIVE in items else "outcomes"
            raise fields.fault(
                f"{tree.label}.{extra} does not go with shares, whose names are the outcomes",
                items[extra],
                code="conflicting-fields",
            )
        return tuple(fields.named_maps(items["shares"])), hidden.unfold(
            quoted(fields, tree, states, positive).likelihood
        )
    if len(states) != 2:
        raise fields.fault(
            f"{tree.label}: {', '.join(family)} need two states; there are {len(states)}",
            tree,
            code="two-states-needed",
        )
    positive = named_positive(fields, items[family[0]], states, positive)
    if family is RATES:
        likelihood = _from_rates(fields, tree, hidden, positive)
    elif family is PREDICTIVE:
        likelihood = hidden.unfold(quoted(fields, tree, states, positive).likelihood)
    else:
        rows = _from_ratios(fields, tree) if family is RATIOS else _from_counts(fields, tree)
        likelihood = hidden.unfold(rows if positive == states[-1] else rows[::-1])
    silent = fields.probability(items[INCONCLUSIVE]) if INCONCLUSIVE in items else None
    if silent is not None:
        likelihood = np.column_stack([likelihood * (1 - silent), np.full(len(likelihood), silent)])
    return _outcomes(fields, tree, inconclusive=silent is not None), likelihood


def quoted(fields: Fields, tree: Tree, states: tuple[str, ...], positive: str | None) -> Quoted:
    """Likelihood (S, O) and prior (S,) over diagnoses of a test that is quoted with shares of people."""
    items = tree.items
    if _family(fields, tree) is GROUPS:
        names = tuple(fields.named_maps(items["shares"]))
        shares = fields.per_name(items["shares"], names, "a probability", "group")
        fields.check_names(items["chances"], names, "group", "a chance")
        rows = [_chances(fields, items["chances"].items[name], states, positive) for name in names]
        return _converted(fields, tree, lambda: from_groups(shares, np.stack(rows), states))
    about = named_positive(fields, items["ppv"], states, positive)
    ppv, npv, share = (fields.probability(items[name]) for name in PREDICTIVE)
    found = _converted(fields, tree, lambda: from_predictive(ppv, npv, share))
    return found if about == states[-1] else Quoted(found.likelihood[::-1], found.prior[::-1])


def prior_as_in(fields: Fields, tree: Tree, tests: Tree | None, states: tuple[str, ...], positive: str | None) -> Array:
    """The prior (S,) over diagnoses that `as in TEST` means: that of the people TEST is quoted for."""
    name = tree.text.removeprefix(AS_IN).strip()
    known = [test for test, one in tests.items.items() if one.items.keys() & {"shares", "ppv"}] if tests else []
    if tests is None or name not in known:
        given = listed(known) if known else "none"
        rule = "must name a test that is given by shares, or by ppv, npv and share_positive"
        raise fields.fault(f"{tree.label} {rule}: {given}; it is '{shown(tree.text)}'", tree, code="unknown-test")
    test = tests.items[name]
    fields.check_fields(test, set(test.items), required=_family(fields, test))
    return quoted(fields, test, states, positive).prior


def _family(fields: Fields, tree: Tree) -> tuple[str, ...]:
    """The one family of shorthands that the test uses, of which it has all."""
    items = tree.items
    given = _KNOWN.intersection(items)
    used = [family for family in FAMILIES if not given.isdisjoint(family)]
    if "likelihood" in items or len(used) > 1:
        both = [name for name in ("likelihood", *SHORTHANDS) if name in items]
        ways = "; ".join(["outcomes and likelihood", *(", ".join(family) for family in FAMILIES)])
        raise fields.fault(
            f"{tree.label} must give one of: {ways}; not both {both[0]} and {both[-1]}",
            items[both[-1]],
            code="conflicting-fields",
        )
    fields.check_fields(tree, set(items), required=used[0])
    return used[0]


def _chances(fields: Fields, tree: Tree, states: tuple[str, ...], positive: str | None) -> Array:
    """The chance of each state in one group: of two states one number, that of the positive one, is enough."""
    if tree.kind in ("map", "list"):
        return fields.distribution(tree, states)
    if len(states) != 2:
        raise fields.fault(
            f"{tree.label} must give a chance for each of {len(states)} states: {listed(states)}",
            tree,
            code="missing-entry",
        )
    about, chance = named_positive(fields, tree, states, positive), fields.probability(tree)
    return np.array([chance if state == about else 1 - chance for state in states])


def _converted(fields: Fields, tree: Tree, convert: Callable[[], Found]) -> Found:
    """What `convert` makes of the numbers of a test; a wrong one is told by its place in the file."""
    try:
        return convert()
    except ProblemError as error:
        raise fields.fault(f"{tree.label}.{error.message}", tree.at(error.field or ()), code=error.code) from None


def _from_rates(fields: Fields, tree: Tree, hidden: Factor, positive: str) -> Array:
    if not hidden.subtypes:  # as in most models, and in those of thousands of tests
        right = {name: fields.probability(tree.items[name]) for name in RATES}
        rows = ([1 - right["sensitivity"], right["sensitivity"]], [right["specificity"], 1 - right["specificity"]])
        return np.array([rows[diagnosis != positive] for diagnosis in hidden.diagnoses])
    likelihood = np.empty((len(hidden.states), 2))
    for diagnosis in hidden.diagnoses:
        name, found = ("sensitivity", 1) if diagnosis == positive else ("specificity", 0)
        places, rate = hidden.places[diagnosis], per_subtype(fields, tree.items[name], hidden, diagnosis)
        likelihood[places, found], likelihood[places, 1 - found] = rate, 1 - rate
    return likelihood


def _from_ratios(fields: Fields, tree: Tree) -> Array:
    high, low = (fields.number(tree.items[name]) for name in RATIOS)
    return _converted(fields, tree, lambda: from_ratios(high, low))


def _from_counts(fields: Fields, tree: Tree) -> Array:
    tp, fn, fp, tn = (fields.whole(tree.items[name], 0, LARGEST_COUNT) for name in COUNTS)
    return _converted(fields, tree, lambda: from_counts(tp, fn, fp, tn))


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
            code="wrong-length",
        )
    return outcomes
