"""Whether a problem keeps the rules: every prior, every action of every menu that can be reached, within a limit."""

from __future__ import annotations

import numpy as np

from rhoplan.belief_math.transitions import (
    Transition,
    has_observation_axis,
    is_by_outcome,
    mean_payment,
    numbers,
    row_sums,
    shapes,
)
from rhoplan.errors import Field, ProblemError
from rhoplan.model.limits import LARGEST_REWARD, MOST_MENUS
from rhoplan.model.pomdp import POMDP, ROW_SUM_TOLERANCE, Action, Array, Factor, subtype


def check_problem(problem: POMDP, *, most: int = MOST_MENUS) -> None:
    """Raise ProblemError unless priors, likelihoods, rewards, transitions and names of `problem` are sound.

    Menus are looked at outwards from the start, `most` of them: where there are more, a fault far away is not found.
    """
    try:
        _check(problem, most)
    except ProblemError as error:
        if problem.listed is not None and error.field:
            error.field = _in_lists(error.field, {commit.name for commit in problem.listed.commits})
        raise


def _check(problem: POMDP, most: int) -> None:
    if not problem.factors:
        raise ProblemError(
            f"'{problem.name}' must have at least one hidden factor", field=("factors",), code="no-factors"
        )
    if problem.price is not None and not 0 <= problem.price <= LARGEST_REWARD:
        raise ProblemError(
            f"price of information of '{problem.name}' must be from 0 to {LARGEST_REWARD:g}; it is {problem.price:g}",
            field=("information", "price"),
            code="number-range",
        )
    for factor in problem.factors:
        place: Field = ("factors", factor.name)
        _check_names(f"states of '{problem.name}'", factor.states, (*place, "states"))
        if not factor.states:
            raise ProblemError(
                f"'{problem.name}' must have at least one state", field=(*place, "states"), code="no-states"
            )
        _check_distribution(
            f"prior of '{problem.name}'", factor.prior, len(factor.states), (*place, "prior"), sum_code="prior-sum"
        )
        if factor.about_diagnosis and len(problem.factors) > 1:
            raise ProblemError(
                f"information of '{problem.name}' may be about the diagnosis only where there is one hidden factor; "
                f"there are {len(problem.factors)}",
                field=(*place, "information"),
                code="information-about-diagnosis",
            )
        if factor.diagnosis_of:
            _check_diagnoses(problem.name, factor, (*place, "subtypes"))
    if problem.looks_first:
        _check_first_look(problem)
    sound: set[tuple[int, int, int]] = set()
    for observable, actions in problem.menus(most):
        where = "" if observable == problem.start else f" in visible state {observable!r}"
        names = tuple(action.name for action in actions)
        _check_names(f"actions of '{problem.name}'{where}", names, ("actions",))
        for action in actions:
            _check_action(problem, action, where, sound)


def checked(problem: POMDP) -> POMDP:
    """`problem`, if it is sound."""
    check_problem(problem)
    return problem


def _check_first_look(problem: POMDP) -> None:
    first = problem.menu(problem.start)
    looks = [one for one in first if not one.reward.any() and one.pays is None and one.preserves_hidden_state]
    if len(first) != 1 or not looks or looks[0].ends_episode or problem.start in looks[0].leads_to:
        raise ProblemError(
            f"'{problem.name}' looks first: its start '{problem.start}' must offer one action, which pays nothing, "
            "leaves all as it is, goes on, and does not lead back",
            field=("looks_first",),
            code="initial-observation",
        )


def _check_action(problem: POMDP, action: Action, where: str, sound: set[tuple[int, int, int]]) -> None:
    """`sound`: likelihoods found to be so, which many actions may share, with their factors and how many outcomes."""
    place: Field = ("actions", action.name)
    if not 0 <= action.factor < len(problem.factors):
        count = len(problem.factors)
        raise ProblemError(
            f"'{action.name}'{where} must concern one of the {count} factors (numbered from 0); it says "
            f"{action.factor}",
            field=(*place, "factor"),
            code="unknown-factor",
        )
    if len(action.leads_to) != len(action.outcomes):
        raise ProblemError(
            f"'{action.name}'{where} must lead to one visible state per outcome; it has {len(action.outcomes)} "
            f"outcomes and leads to {len(action.leads_to)}",
            field=(*place, "leads_to"),
            code="next-states-count",
        )
    states = problem.factors[action.factor].states
    label = f"{action.kind} '{action.name}'{where}"
    _check_reward(action, states, label, (*place, "reward"))
    if action.ends_episode and problem.factors[action.factor].diagnosis_of:
        _check_by_diagnosis(action, problem.factors[action.factor], label, (*place, "reward"))
    _check_names(f"outcomes of {label}", action.outcomes, (*place, "outcomes"))
    if action.likelihood.shape != (len(states), len(action.outcomes)) or not action.outcomes:
        raise ProblemError(
            f"likelihood of {label} must have {len(states)} rows and one column per outcome",
            field=(*place, "likelihood"),
            code="likelihood-shape",
        )
    known = (id(action.likelihood), action.factor, len(action.outcomes))
    if known not in sound:
        off = np.abs(action.likelihood.sum(axis=1) - 1)
        if not (action.likelihood.min() >= 0 and off.max() <= ROW_SUM_TOLERANCE):  # what is no number fails, too
            rows = np.isfinite(action.likelihood).all(axis=1) & (action.likelihood >= 0).all(axis=1)
            (row, *_) = np.flatnonzero(~(rows & (off <= ROW_SUM_TOLERANCE)))
            what, field = f"likelihood row '{states[row]}' of {label}", (*place, "likelihood", states[row])
            _check_distribution(
                what, action.likelihood[row], len(action.outcomes), field, sum_code="likelihood-row-sum"
            )
        sound.add(known)
    if action.transition is not None:
        _check_transition(action, action.transition, states, label, (*place, "transition"))
    if action.pays is not None:
        _check_pays(action, action.pays, states, label, (*place, "pays"))


def _check_reward(action: Action, states: tuple[str, ...], label: str, field: Field) -> None:
    if action.reward.shape == (len(states),) and np.abs(action.reward).max() <= LARGEST_REWARD:
        return
    rule = f"reward of {label} must be one number per state ({len(states)} of them), at most {LARGEST_REWARD:g} large"
    if action.reward.shape != (len(states),):
        raise ProblemError(rule, field=field, code="reward-shape")
    for wrong in np.flatnonzero(~(np.abs(action.reward) <= LARGEST_REWARD))[:1]:
        raise ProblemError(rule, field=(*field, states[wrong]), code="reward-range")


def _check_by_diagnosis(action: Action, factor: Factor, label: str, field: Field) -> None:
    first = np.unique(factor.groups, return_index=True)[1][factor.groups]
    for wrong in np.flatnonzero(action.reward != action.reward[first])[:1]:
        raise ProblemError(
            f"reward of {label} must be the same for every subtype of '{factor.diagnosis_of[wrong]}': what is decided "
            f"is about the diagnosis; it is {action.reward[first[wrong]]:g} in '{factor.states[first[wrong]]}' and "
            f"{action.reward[wrong]:g} in '{factor.states[wrong]}'",
            field=(*field, factor.states[wrong]),
            code="subtype-reward",
        )


def _check_diagnoses(name: str, factor: Factor, field: Field) -> None:
    if len(factor.diagnosis_of) != len(factor.states):
        raise ProblemError(
            f"diagnoses of '{name}' must be one for each of {len(factor.states)} states; they are "
            f"{len(factor.diagnosis_of)}",
            field=field,
            code="diagnoses-count",
        )
    _check_names(f"diagnoses of '{name}'", factor.diagnoses, field)
    for state, diagnosis in zip(factor.states, factor.diagnosis_of, strict=True):
        if state != diagnosis and not subtype(state, diagnosis):
            raise ProblemError(
                f"states of '{name}' with subtypes must be called 'diagnosis' or 'diagnosis (subtype)'; '{state}' is "
                f"one of '{diagnosis}'",
                field=field,
                code="subtype-name",
            )
    if np.any(np.diff(factor.groups) < 0):
        raise ProblemError(
            f"subtypes of one diagnosis of '{name}' must stand side by side", field=field, code="subtype-order"
        )


def _check_transition(action: Action, change: Transition, states: tuple[str, ...], label: str, field: Field) -> None:
    if change.shape not in shapes(change, len(states), len(action.outcomes)):
        shape = " x ".join(map(str, change.shape))
        raise ProblemError(
            f"transition of {label} must have a row and a column per state ({len(states)}), for all outcomes or "
            f"for each; it is {shape}",
            field=field,
            code="transition-shape",
        )
    sums = row_sums(change)
    sound = np.abs(sums - 1) <= ROW_SUM_TOLERANCE
    if has_observation_axis(change):
        sound |= (sums == 0) & (action.likelihood.T == 0)
    if not (numbers(change) >= 0).all():
        raise ProblemError(
            f"transition of {label} must hold probabilities; some are below 0", field=field, code="probability-range"
        )
    for place in np.flatnonzero(~sound)[:1]:
        raise ProblemError(
            f"transition of {label} must have rows that sum to 1",
            field=(*field, states[place % len(states)]),
            code="transition-row-sum",
        )


def _check_pays(action: Action, pays: Transition, states: tuple[str, ...], label: str, field: Field) -> None:
    by_outcome = (len(states), len(action.outcomes))
    wanted = by_outcome if is_by_outcome(pays) else shapes(pays, *by_outcome)[1]
    if pays.shape != wanted:
        raise ProblemError(
            f"pays of {label} must be states x outcomes ({len(states)} x {len(action.outcomes)}), or outcomes x states "
            f"x states; it is {' x '.join(map(str, pays.shape))}",
            field=field,
            code="reward-shape",
        )
    if not is_by_outcome(pays) and action.transition is None:
        raise ProblemError(
            f"pays of {label} must be states x outcomes: no state changes", field=field, code="reward-shape"
        )
    if action.ends_episode:
        raise ProblemError(
            f"{label} ends the episode: it must pay by the state alone, without `pays`",
            field=field,
            code="terminal-reward",
        )
    if not (np.abs(numbers(pays)) <= LARGEST_REWARD).all():
        raise ProblemError(
            f"pays of {label} must be numbers, at most {LARGEST_REWARD:g} large", field=field, code="reward-range"
        )
    mean = mean_payment(action.likelihood, action.transition, pays)
    most = max(float(np.max(np.abs(numbers(pays)), initial=0.0)), 1.0)
    for wrong in np.flatnonzero(np.abs(mean - action.reward) > ROW_SUM_TOLERANCE * most)[:1]:
        raise ProblemError(
            f"reward of {label} must be the mean of what it pays; in '{states[wrong]}' it is {action.reward[wrong]:g}, "
            f"the mean {mean[wrong]:g}",
            field=(*field, states[wrong]),
            code="reward-mean",
        )


def _in_lists(field: Field, commits: set[str]) -> Field:
    """Where `field` of a problem in general form stands where tests and commits are listed."""
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


def _check_names(what: str, names: tuple[str, ...], field: Field) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name or not name.strip():
            raise ProblemError(
                f"{what} must have names; number {position + 1} is empty", field=field, code="empty-name"
            )
        if name in seen:
            raise ProblemError(
                f"{what} must have different names; '{name}' stands there twice", field=field, code="duplicate-name"
            )
        seen.add(name)


def _check_distribution(what: str, row: Array, length: int, field: Field, *, sum_code: str) -> None:
    if row.shape != (length,):
        raise ProblemError(f"{what} must have {length} numbers; it has {row.size}", field=field, code="wrong-length")
    if not np.all(np.isfinite(row)):
        raise ProblemError(f"{what} must be finite numbers", field=field, code="number-expected")
    if np.any(row < 0) or np.any(row > 1 + ROW_SUM_TOLERANCE):
        bad = float(row[(row < 0) | (row > 1)][0])
        raise ProblemError(
            f"{what} must hold probabilities between 0 and 1; it has {bad:g}", field=field, code="probability-range"
        )
    if abs(float(row.sum()) - 1) > ROW_SUM_TOLERANCE:
        raise ProblemError(f"{what} must sum to 1; it sums to {float(row.sum()):.10g}", field=field, code=sum_code)
