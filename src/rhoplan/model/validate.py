"""Validation of problems: priors, and the actions of the observable states that are nearest to the start.

Shapes: S hidden states, O observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rhoplan.belief_math.transitions import (
    Transition,
    has_observation_axis,
    is_by_outcome,
    numbers,
    payments,
    row_sums,
    shapes,
)
from rhoplan.errors import Field, ProblemError, require
from rhoplan.model.limits import LARGEST_REWARD, MOST_MENUS
from rhoplan.model.records import ROW_SUM_TOLERANCE, Action, Array, Factor, subtype

if TYPE_CHECKING:
    from rhoplan.model.pomdp import POMDP

Problem = TypeVar("Problem", bound="POMDP")


def check_problem(problem: POMDP, *, most: int = MOST_MENUS) -> None:
    """Raise ProblemError unless priors, likelihoods, rewards, transitions and names of `problem` are sound.

    Checks the menus of `most` observable states in order of distance from the start, no others.
    """
    listed = problem.listed
    try:
        if listed is not None:
            listed.check(problem.name)
        _check_factors(problem)
        if problem.looks_first:
            _check_initial_observation(problem)
        sound: set[tuple[int, int, int]] = set()
        for observable, actions in problem.menus(most):
            where = "" if observable == problem.start else f" in observable state {observable!r}"
            check_names(f"actions of '{problem.name}'{where}", [action.name for action in actions], ("actions",))
            for action in actions:
                _check_action(problem, action, where, sound)
    except ProblemError as error:
        if listed is not None and error.field:
            error.field = _in_lists(error.field, {commit.name for commit in listed.commits})
        raise


def checked(problem: Problem) -> Problem:
    """`problem`, after `check_problem`."""
    check_problem(problem)
    return problem


def check_names(what: str, names: Sequence[str], field: Field) -> None:
    """Raise ProblemError unless all names are different and none is empty."""
    seen: set[str] = set()
    for position, name in enumerate(names):
        require(
            name and name.strip(), f"{what} must have names; number {position + 1} is empty", field, code="empty-name"
        )
        message = f"{what} must have different names; '{name}' stands there twice"
        require(name not in seen, message, field, code="duplicate-name")
        seen.add(name)


def check_distribution(what: str, row: Array, length: int, field: Field, *, sum_code: str) -> None:
    """Raise ProblemError unless `row` holds `length` probabilities that sum to 1."""
    message = f"{what} must have {length} numbers; it has {row.size}"
    require(row.shape == (length,), message, field, code="wrong-length")
    require(np.isfinite(row).all(), f"{what} must be finite numbers", field, code="number-expected")
    for wrong in row[(row < 0) | (row > 1 + ROW_SUM_TOLERANCE)][:1]:
        message = f"{what} must hold probabilities between 0 and 1; it has {wrong:g}"
        raise ProblemError(message, field=field, code="probability-range")
    total = float(row.sum())
    require(abs(total - 1) <= ROW_SUM_TOLERANCE, f"{what} must sum to 1; it sums to {total:.10g}", field, code=sum_code)


def check_rows(
    what: str,
    table: Transition,
    field: Field,
    *,
    sum_code: str,
    likelihood: Array | None = None,
    states: Sequence[str] = (),
) -> None:
    """Raise ProblemError unless each row of `table` holds probabilities that sum to 1.

    likelihood (S, O): the rows of observations that a state cannot yield may be empty. states: names for the field.
    """
    message = f"{what} must hold probabilities; some are below 0"
    require((numbers(table) >= 0).all(), message, field, code="probability-range")
    sums = row_sums(table)
    sound = np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    if likelihood is not None and has_observation_axis(table):
        sound |= (sums == 0) & (likelihood.T == 0)
    for wrong in np.flatnonzero(~sound)[:1]:
        message = f"{what} must have rows that sum to 1; one sums to {sums.flat[wrong]:.10g}"
        place = (*field, states[wrong % len(states)]) if states else field
        raise ProblemError(message, field=place, code=sum_code)


def _check_factors(problem: POMDP) -> None:
    name, count = problem.name, len(problem.factors)
    require(count, f"'{name}' must have at least one hidden factor", ("factors",), code="no-factors")
    if problem.price is not None:
        message = f"price of information of '{name}' must be from 0 to {LARGEST_REWARD:g}; it is {problem.price:g}"
        require(0 <= problem.price <= LARGEST_REWARD, message, ("information", "price"), code="number-range")
    for factor in problem.factors:
        place = ("factors", factor.name)
        check_names(f"states of '{name}'", factor.states, (*place, "states"))
        require(factor.states, f"'{name}' must have at least one state", (*place, "states"), code="no-states")
        length = len(factor.states)
        check_distribution(f"prior of '{name}'", factor.prior, length, (*place, "prior"), sum_code="prior-sum")
        message = (
            f"information of '{name}' may be about the diagnosis only where there is one hidden factor; it has {count}"
        )
        about = not factor.about_diagnosis or count == 1
        require(about, message, (*place, "information"), code="information-about-diagnosis")
        if factor.diagnosis_of:
            _check_diagnoses(name, factor, (*place, "subtypes"))


def _check_diagnoses(name: str, factor: Factor, field: Field) -> None:
    given, states = factor.diagnosis_of, factor.states
    message = f"diagnoses of '{name}' must be one for each of {len(states)} states; they are {len(given)}"
    require(len(given) == len(states), message, field, code="diagnoses-count")
    check_names(f"diagnoses of '{name}'", factor.diagnoses, field)
    rule = f"states of '{name}' with subtypes must be called 'diagnosis' or 'diagnosis (subtype)'"
    for state, diagnosis in zip(states, given, strict=True):
        sound = state == diagnosis or subtype(state, diagnosis)
        require(sound, f"{rule}; '{state}' is one of '{diagnosis}'", field, code="subtype-name")
    message = f"subtypes of one diagnosis of '{name}' must stand side by side"
    require((np.diff(factor.groups) >= 0).all(), message, field, code="subtype-order")


def _check_initial_observation(problem: POMDP) -> None:
    first = problem.menu(problem.start)
    looks = [one for one in first if not one.reward.any() and one.pays is None and one.preserves_hidden_state]
    sound = len(first) == 1 and looks and not looks[0].ends_episode and problem.start not in looks[0].leads_to
    message = (
        f"'{problem.name}' has an initial observation: its start '{problem.start}' must offer one action, which pays "
        "nothing, leaves all as it is, does not end the episode, and does not lead back"
    )
    require(sound, message, ("looks_first",), code="initial-observation")


def _check_action(problem: POMDP, action: Action, where: str, sound: set[tuple[int, int, int]]) -> None:
    """`sound`: likelihoods that passed, by identity, factor and number of observations; many actions may share one."""
    place, name, outcomes = ("actions", action.name), f"'{action.name}'{where}", len(action.outcomes)
    count = len(problem.factors)
    message = f"{name} must concern one of the {count} factors (numbered from 0); it says {action.factor}"
    require(0 <= action.factor < count, message, (*place, "factor"), code="unknown-factor")
    found = f"it has {outcomes} outcomes and leads to {len(action.leads_to)}"
    message = f"{name} must lead to one observable state per outcome; {found}"
    require(len(action.leads_to) == outcomes, message, (*place, "leads_to"), code="next-states-count")
    factor = problem.factors[action.factor]
    label = f"{action.kind} {name}"
    _check_reward(action, factor, label, (*place, "reward"))
    check_names(f"outcomes of {label}", action.outcomes, (*place, "outcomes"))
    message = f"likelihood of {label} must have {len(factor.states)} rows and one column per outcome"
    fits = outcomes and action.likelihood.shape == (len(factor.states), outcomes)
    require(fits, message, (*place, "likelihood"), code="likelihood-shape")
    known = (id(action.likelihood), action.factor, outcomes)
    if known not in sound:
        off = np.abs(action.likelihood.sum(axis=1) - 1)
        unsound = ~((action.likelihood >= 0).all(axis=1) & (off <= ROW_SUM_TOLERANCE))  # true for nan, too
        for row in np.flatnonzero(unsound)[:1]:
            state = factor.states[row]
            what, field = f"likelihood row '{state}' of {label}", (*place, "likelihood", state)
            check_distribution(what, action.likelihood[row], outcomes, field, sum_code="likelihood-row-sum")
        sound.add(known)
    if action.transition is not None:
        _check_transition(action, action.transition, factor.states, label, (*place, "transition"))
    if action.pays is not None:
        _check_pays(action, action.pays, factor.states, label, (*place, "pays"))


def _check_reward(action: Action, factor: Factor, label: str, field: Field) -> None:
    states, reward = factor.states, action.reward
    rule = f"reward of {label} must be one number per state ({len(states)} of them), at most {LARGEST_REWARD:g} large"
    require(reward.shape == (len(states),), rule, field, code="reward-shape")
    for wrong in np.flatnonzero(~(np.abs(reward) <= LARGEST_REWARD))[:1]:
        raise ProblemError(rule, field=(*field, states[wrong]), code="reward-range")
    if not (action.ends_episode and factor.diagnosis_of):
        return
    first = np.unique(factor.groups, return_index=True)[1][factor.groups]
    for wrong in np.flatnonzero(reward != reward[first])[:1]:
        here, there = states[first[wrong]], states[wrong]
        raise ProblemError(
            f"reward of {label} must be the same for every subtype of '{factor.diagnosis_of[wrong]}': decisions are "
            f"about the diagnosis; it is {reward[first[wrong]]:g} in '{here}' and {reward[wrong]:g} in '{there}'",
            field=(*field, there),
            code="subtype-reward",
        )


def _check_transition(action: Action, change: Transition, states: tuple[str, ...], label: str, field: Field) -> None:
    message = (
        f"transition of {label} must have a row and a column per state ({len(states)}), for all outcomes or for each; "
        f"it is {' x '.join(map(str, change.shape))}"
    )
    require(change.shape in shapes(change, len(states), len(action.outcomes)), message, field, code="transition-shape")
    what = f"transition of {label}"
    check_rows(what, change, field, sum_code="transition-row-sum", likelihood=action.likelihood, states=states)


def _check_pays(action: Action, pays: Transition, states: tuple[str, ...], label: str, field: Field) -> None:
    by_outcome = (len(states), len(action.outcomes))
    wanted = by_outcome if is_by_outcome(pays) else shapes(pays, *by_outcome)[1]
    message = (
        f"pays of {label} must be states x outcomes ({len(states)} x {len(action.outcomes)}), or outcomes x states x "
        f"states; it is {' x '.join(map(str, pays.shape))}"
    )
    require(pays.shape == wanted, message, field, code="reward-shape")
    message = f"pays of {label} must be states x outcomes: no state changes"
    require(is_by_outcome(pays) or action.transition is not None, message, field, code="reward-shape")
    message = f"{label} ends the episode: it must pay by the state alone, without `pays`"
    require(not action.ends_episode, message, field, code="terminal-reward")
    message = f"pays of {label} must be numbers, at most {LARGEST_REWARD:g} large"
    require((np.abs(numbers(pays)) <= LARGEST_REWARD).all(), message, field, code="reward-range")
    mean = payments(action.likelihood, action.transition, pays).mean
    most = max(float(np.max(np.abs(numbers(pays)), initial=0.0)), 1.0)
    for wrong in np.flatnonzero(np.abs(mean - action.reward) > ROW_SUM_TOLERANCE * most)[:1]:
        found = f"in '{states[wrong]}' it is {action.reward[wrong]:g}, the mean {mean[wrong]:g}"
        message = f"reward of {label} must be the mean of what it pays; {found}"
        raise ProblemError(message, field=(*field, states[wrong]), code="reward-mean")


def _in_lists(field: Field, commits: set[str]) -> Field:
    """The field of a diagnostic problem for a field of the problem in general form."""
    match field:
        case ("factors", _, *rest):
            return tuple(rest)
        case ("actions",):
            return ("tests",)
        case ("actions", name, "reward", *rest):
            return ("commits", name, *rest) if name in commits else ("tests", name, "cost")
        case ("actions", name, *rest):
            return ("commits" if name in commits else "tests", name, *rest)
    return field
