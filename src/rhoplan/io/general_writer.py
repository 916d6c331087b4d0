"""A finite problem with places, factors and actions of all kinds as plain data in the shape of a general model file.

Visible states become places, named after what they are made of. An action stands there once for all places where its
numbers are the same. What is a Python function is not written: a problem's own leaf, and agents that follow a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from rhoplan.belief_math.transitions import (
    Transition,
    dense,
    entries,
    given_observation,
    has_observation_axis,
    is_by_outcome,
    key,
    numbers,
    paid,
)
from rhoplan.errors import LimitError
from rhoplan.io.as_yaml import Flow
from rhoplan.io.general import THE_END
from rhoplan.model.factored import DONE
from rhoplan.model.pomdp import END, POMDP, Action, Array, Factor, Observable

MOST_PLACES = 20_000
"""Visible states that a file may have."""

MOST_NUMBERS = 500_000
"""Numbers that a file may hold; more would not be read again."""

Offer = tuple[str, tuple[Observable, ...]]
"""A place, and where the action leads from there."""


def general_record(problem: POMDP) -> dict[str, Any]:
    """`problem` as maps, lists and numbers, with the fields of a general model file."""
    menus = _menus(problem)
    places = _names(menus)
    joined = [factor for factor in problem.factors if factor.joins]
    for member in (member for factor in joined for member in factor.joins if "," in member.name):
        raise LimitError(
            f"'{problem.name}' joins the factor '{member.name}', whose comma a model file cannot hold",
            code="not-writable",
        )
    record = {
        "name": problem.name,
        "unit": problem.unit,
        "info": problem.details.get("info"),
        "factors": dict(pair for factor in problem.factors for pair in _factor_records(factor)),
        "joint": {factor.name: _shares(factor.prior) for factor in joined} or None,
        "places": list(places.values()),
        "start": places[problem.start],
        "looks_first": problem.looks_first or None,
        "discount": problem.discount if problem.discount < 1 else None,
        "horizon": problem.horizon,
        "cap": problem.cap,
        "planner": problem.planner,
        "actions": _actions(problem, menus, places),
        "tallies": {
            name: {field: list(names) for field, names in vars(tally).items() if names}
            for name, tally in problem.tallies.items()
        }
        or None,
    }
    return {name: value for name, value in record.items() if value is not None}


def _factor_records(factor: Factor) -> list[tuple[str, dict[str, Any]]]:
    if not factor.joins:
        return [(factor.name, {"states": list(factor.states), "prior": _shares(factor.prior)})]
    return [(member.name, {"states": list(member.states)}) for member in factor.joins]


def _shares(table: Array) -> list[Any]:
    """Probabilities; rounding may have put some a hair above 1, which a file may not say."""
    shares: list[Any] = np.minimum(table, 1.0).tolist()
    return shares


def _menus(problem: POMDP) -> dict[Observable, tuple[Action, ...]]:
    """The menus of all visible states within reach, the start first."""
    found: dict[Observable, tuple[Action, ...]] = {problem.start: problem.menu(problem.start)}
    waiting = [problem.start]
    while waiting:
        for action in found[waiting.pop()]:
            for target in action.leads_to:
                if target is not END and target not in found:
                    found[target] = problem.menu(target)
                    waiting.append(target)
        if len(found) > MOST_PLACES:
            raise LimitError(
                f"'{problem.name}' has more than {MOST_PLACES:,} visible states: it cannot be written as a model file",
                code="not-writable",
            )
    return found


def _names(observables: Iterable[Observable]) -> dict[Observable, str]:
    """Places named after visible states: letters, digits and dashes, all different."""
    found: dict[Observable, str] = {}
    taken = {THE_END}
    for observable in observables:
        word = (
            observable
            if isinstance(observable, str)
            else re.sub(r"[^\w.]+", "-", repr(observable)).strip("-") or "place"
        )
        word = word if re.match(r"[^\W\d_]", word) else f"at-{word}"
        name, number = word, 1
        while name in taken:
            number += 1
            name = f"{word}-{number}"
        taken.add(name)
        found[observable] = name
    return found


def _actions(
    problem: POMDP, menus: dict[Observable, tuple[Action, ...]], places: dict[Observable, str]
) -> dict[str, Any]:
    """The actions by name, in an order that every menu keeps."""
    groups: dict[str, dict[tuple[Any, ...], tuple[Action, list[Offer]]]] = {
        name: {} for name in _order(problem, menus.values())
    }
    for observable, menu in menus.items():
        for action in menu:
            _, offers = groups[action.name].setdefault(_numbers(action), (action, []))
            offers.append((places[observable], action.leads_to))
    total, found = 0, {}
    for name, group in groups.items():
        total += sum(_count(action) for action, _ in group.values())
        if total > MOST_NUMBERS:
            raise LimitError(
                f"'{problem.name}' has more than {MOST_NUMBERS:,} numbers: it cannot be written as a model file "
                "(`--format pomdp` may hold it)",
                code="not-writable",
            )
        records = [_action(problem, action, offers, places) for action, offers in group.values()]
        found[name] = records[0] if len(records) == 1 else records
    return found


def _order(problem: POMDP, menus: Iterable[tuple[Action, ...]]) -> list[str]:
    """Names of all actions, such that each menu has its own in this order."""
    kinds = dict.fromkeys(tuple(action.name for action in menu) for menu in menus)
    before: dict[str, dict[str, None]] = {}
    for names in kinds:
        for place, name in enumerate(names):
            before.setdefault(name, {}).update(dict.fromkeys(names[max(place - 1, 0) : place]))
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError:
        raise LimitError(
            f"'{problem.name}' lists the same actions in different orders: it cannot be written as a model file",
            code="not-writable",
        ) from None


def _numbers(action: Action) -> tuple[Any, ...]:
    """The same for actions that differ in where they are offered and lead alone."""
    arrays = tuple(key(table) for table in (action.reward, action.likelihood, action.transition, action.pays))
    return (action.outcomes, _is_about(action) and action.factor, action.ends_episode, *arrays)


def _count(action: Action) -> int:
    """How many numbers an action takes in a file, at most."""
    tables = [action.likelihood, action.transition, action.pays]
    return sum(numbers(table).size for table in tables if table is not None)


def _is_about(action: Action) -> bool:
    """Whether the hidden factor of the action matters to it."""
    changes = action.transition is not None and not action.preserves_hidden_state
    return changes or len(action.outcomes) > 1 or action.same_reward is None or action.pays is not None


def _action(problem: POMDP, action: Action, offers: list[Offer], places: dict[Observable, str]) -> dict[str, Any]:
    factor = problem.factors[action.factor]
    part: dict[str, Any] = {}
    if action.outcomes != (DONE,):
        part["outcomes"] = list(action.outcomes)
        part["likelihood"] = dict(zip(factor.states, _shares(action.likelihood), strict=True))
    change = _change(action, factor.states)
    part |= change
    return {
        **_where(action, offers, places),
        **_reward(action, factor, stays=not change),
        **({"parts": {factor.name: part}} if part else {}),
    }


def _where(action: Action, offers: list[Offer], places: dict[Observable, str]) -> dict[str, Any]:
    """The fields `at`, `to` and `ends`."""
    at = [place for place, _ in offers]
    everywhere = {} if len(at) == len(places) else {"at": at[0] if len(at) == 1 else at}
    if action.ends_episode:
        return {**everywhere, "ends": True}
    names: dict[Observable, str] = {**places, END: THE_END}
    to = {place: [names[target] for target in targets] for place, targets in offers}
    if all(set(targets) == {place} for place, targets in to.items()):
        return everywhere
    lists = {tuple(targets) for targets in to.values()}
    alike = lists.pop() if len(lists) == 1 else ()
    if alike and len(set(alike)) == 1:
        return {**everywhere, "to": alike[0]}
    if alike and not set(action.outcomes) <= set(places.values()):
        return {**everywhere, "to": Flow(zip(action.outcomes, alike, strict=True))}
    nested = set(to) <= set(action.outcomes)
    table = {
        place: targets[0] if len(set(targets)) == 1 and not nested else Flow(zip(action.outcomes, targets, strict=True))
        for place, targets in to.items()
    }
    return {"to": Flow(table)}  # without `at` an action is offered where `to` says


def _reward(action: Action, factor: Factor, *, stays: bool) -> dict[str, Any]:
    """The field `reward` or `cost`. stays: whether no change is written, so that no state after it can be named."""
    if action.pays is not None:
        outcomes, states = action.outcomes, factor.states
        if is_by_outcome(action.pays) or stays:
            before, outcome = (one.ravel() for one in np.indices(action.likelihood.shape))
            found = paid(action.pays, outcome, before, before).reshape(-1, len(outcomes))
            by_outcome: list[list[float]] = found.tolist()
            rows: list[Any] = [Flow(zip(outcomes, row, strict=True)) for row in by_outcome]
        else:
            table = dense(action.pays, len(outcomes)).swapaxes(0, 1).tolist()
            rows = [
                Flow((name, Flow(zip(states, then, strict=True))) for name, then in zip(outcomes, row, strict=True))
                for row in table
            ]
        return {"reward": {factor.name: dict(zip(states, rows, strict=True))}}
    same = action.same_reward
    if same is None:
        return {"reward": {factor.name: dict(zip(factor.states, action.reward.tolist(), strict=True))}}
    return {"cost": -same} if same < 0 else {"reward": same} if same > 0 else {}


def _change(action: Action, states: tuple[str, ...]) -> dict[str, Any]:
    """The field `change` or `change_on`: the rows of states that do not stay."""
    change = action.transition
    if change is None or action.preserves_hidden_state:
        return {}
    count = len(action.outcomes) if has_observation_axis(change) else 1
    found = [_rows(given_observation(change, outcome), states) for outcome in range(count)]
    named = {name: rows for name, rows in zip(action.outcomes, found, strict=False) if rows}
    if not named:  # rows of outcomes that cannot be may be empty: nothing changes
        return {}
    return {"change": found[0]} if len(found) == 1 else {"change_on": named}


def _rows(table: Transition, states: tuple[str, ...]) -> Flow:
    _, rows, columns, values = entries(table, 1)
    found: dict[int, dict[str, float]] = {}
    for row, column, value in zip(rows.tolist(), columns.tolist(), _shares(values), strict=True):
        found.setdefault(row, {})[states[column]] = value
    named = Flow()
    for row, shares in found.items():
        if shares != {states[row]: 1.0}:
            sure = list(shares.values()) == [1.0]
            named[states[row]] = next(iter(shares)) if sure else Flow(shares)
    return named
