"""Problems from arrays: transitions, observations and rewards as most packages hold them, and pymdp's lists.

Outcomes are seen after the change, as everywhere in that literature (`model.joint`).

Shapes: A actions, S states, O observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import prod
from reprlib import repr as shortened
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike

from rhoplan.belief_math.transitions import Transition, Ways, from_entries
from rhoplan.errors import Field, ProblemError
from rhoplan.io.assemble import Rounding, assembled, summed
from rhoplan.model.pomdp import POMDP, Array, Ids

Names: TypeAlias = Sequence[str] | Sequence[Sequence[str]]
"""Names of all combinations, or one list of names for each factor or modality."""


def from_arrays(
    T: ArrayLike,
    Z: ArrayLike,
    R: ArrayLike,
    *,
    discount: float,
    start: ArrayLike | None = None,
    states: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    observations: Sequence[str] | None = None,
    name: str = "arrays",
) -> POMDP:
    """The problem with transitions T (A, S, S'), observations Z (A, S', O) or (S', O), and rewards R.

    R: (S, A) or (A, S), r(s, a); (A, S, S'), r(s, a, s'); (A, S, S', O), r(s, a, s', o). Where A and S are equal, two
    axes could mean either: give three. start: (S,), uniform if left out. states, actions, observations: names.
    """
    moves, shows, pays = (_numbers(what, part) for what, part in (("T", T), ("Z", Z), ("R", R)))
    if moves.ndim != 3 or moves.shape[1] != moves.shape[2]:
        raise _wrong_shape("T", "actions x states x states", moves)
    count, size = moves.shape[:2]
    if not count or not size:
        raise ProblemError(
            f"T must have an action and a state; it has {count} and {size}", field=("T",), code="wrong-shape"
        )
    if shows.ndim not in (2, 3) or shows.shape[-2] != size or (shows.ndim == 3 and len(shows) != count):
        raise _wrong_shape("Z", f"({count}, {size}, observations) or ({size}, observations)", shows)
    shows = np.broadcast_to(shows, (count, *shows.shape[-2:]))
    pays = _rewards(pays, count, size, shows.shape[-1])
    acts = _names("actions", actions, count, "action")
    held, seen = _names("states", states, size, "state"), _names("observations", observations, shows.shape[-1], "o")
    prior = np.full(size, 1 / size) if start is None else _numbers("start", start)
    if prior.shape != (size,):
        raise _wrong_shape("start", f"({size},)", prior)
    ways, rounding = {}, Rounding()
    for number, act in enumerate(acts):
        one = Ways.of(_rows(moves[number], ("T", number), rounding), _rows(shows[number], ("Z", number), rounding))
        ways[act] = replace(one, pays=pays[number][one.before, one.after, one.outcome])
    prior = _belief(prior, "start", rounding)
    return assembled(
        name, states=held, outcomes=seen, ways=ways.items(), prior=prior, discount=discount, rounding=rounding
    )


def from_pymdp(
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    C: Sequence[ArrayLike],
    D: Sequence[ArrayLike],
    *,
    discount: float = 1.0,
    states: Names | None = None,
    observations: Names | None = None,
    actions: Names | None = None,
    name: str = "pymdp",
    **settings: Any,
) -> POMDP:
    """The problem that pymdp's lists describe: A[m] (O_m, S_1, ..., S_F), B[f] (S_f, S_f, U_f), C[m] (O_m,), D[f]
    (S_f,), with one array of NumPy or JAX per modality m or factor f.

    All factors together are one hidden state, all modalities one observation, and each choice of controls one action.
    An observation pays its preference C. pymdp observes once before it acts; here the first observation follows the
    first action.

    states, observations, actions: names of all combinations, the last factor or modality varying fastest; or one list
    of names for each factor or modality, which are joined by "/". settings: none; those of a pymdp agent are refused.
    """
    _refuse_settings(settings)
    given = {"A": A, "B": B, "C": C, "D": D}
    seen, moves, liked, prior = (
        [_numbers(f"{what}[{place}]", one) for place, one in enumerate(_listed(what, part))]
        for what, part in given.items()
    )
    for factor, one in enumerate(prior):
        if one.ndim != 1 or not len(one):
            raise _wrong_shape(f"D[{factor}]", "(states,)", one, _hint("D", one, 1))
    sizes = tuple(len(one) for one in prior)
    _check_count("B", moves, "D", prior)
    for factor, one in enumerate(moves):
        if one.ndim != 3 or one.shape[:2] != (sizes[factor],) * 2 or not one.shape[2]:
            wanted = f"({sizes[factor]}, {sizes[factor]}, controls)"
            raise _wrong_shape(f"B[{factor}]", wanted, one, _hint("B", one, 3))
    for modality, one in enumerate(seen):
        if one.shape[1:] != sizes:
            wanted = f"(observations, {', '.join(map(str, sizes))})"
            raise _wrong_shape(f"A[{modality}]", wanted, one, _hint("A", one, 1 + len(sizes)))
    _check_count("C", liked, "A", seen)
    for modality, one in enumerate(seen):
        if liked[modality].shape != one.shape[:1]:
            raise _wrong_shape(f"C[{modality}]", f"({len(one)},)", liked[modality], _hint("C", liked[modality], 1))
    size, counts = int(np.prod(sizes)), tuple(len(one) for one in seen)
    shows, worth, rounding = np.ones((size, 1)), np.zeros(1), Rounding()
    for modality, one in enumerate(seen):
        rows = _rows(one.reshape(len(one), size).T, ("A", modality), rounding)
        shows = (shows[:, :, None] * rows[:, None, :]).reshape(size, -1)
        worth = (worth[:, None] + liked[modality]).ravel()
    controls = list(product(*(range(one.shape[2]) for one in moves)))
    if actions is None:
        names = _names("actions", None, len(controls), "action")
    else:
        names = _joint_names("actions", actions, tuple(one.shape[2] for one in moves))
    ways: dict[str, Ways] = {}
    for act, chosen in zip(names, controls, strict=True):
        pairs = enumerate(zip(moves, chosen, strict=True))
        parts = [_rows(one[:, :, control].T, ("B", factor), rounding) for factor, (one, control) in pairs]
        found = Ways.of(_product(parts), shows)
        ways[act] = replace(found, pays=worth[found.outcome])
    belief = np.ones(1)
    for factor, part in enumerate(prior):
        belief = np.outer(belief, _belief(part, f"D[{factor}]", rounding)).ravel()
    return assembled(
        name,
        states=_joint_names("states", states, sizes),
        outcomes=_joint_names("observations", observations, counts),
        ways=ways.items(),
        prior=belief,
        discount=discount,
        rounding=rounding,
    )


OF_AGENTS = {
    "policy_len": "the number of actions to plan is the planner's: leave it out and give horizon to rhoplan.agent",
    "batch_size": "a problem is that of one agent: leave it out and give arrays without a batch axis",
    "A_dependencies": "leave it out and give arrays A[m] over all factors",
    "B_dependencies": "leave it out and give arrays B[f] of one factor each",
    "gamma": "leave it out and give inverse_temperature to rhoplan.Objective",
}
"""What to do instead of a setting of a pymdp agent."""


def _refuse_settings(settings: dict[str, Any]) -> None:
    for setting in settings:
        instead = OF_AGENTS.get(setting, "settings of a pymdp agent are not part of a problem: leave it out")
        raise ProblemError(f"from_pymdp takes A, B, C, D, discount and names, not {setting}; {instead}",
                           field=(setting,))  # fmt: skip


def _check_count(what: str, some: list[Array], other: str, others: list[Array]) -> None:
    if len(some) != len(others):
        raise ProblemError(
            f"{what} must have as many arrays as {other}, {len(others)}; it has {len(some)}",
            field=(what,),
            code="wrong-length",
        )


def _hint(what: str, found: Array, axes: int) -> str:
    """What may be meant by an array with more or fewer axes than it should have."""
    if found.ndim < axes:
        per = "modality" if what in "AC" else "factor"
        return f": {what} is a list with one array for each {per}"
    if found.ndim == axes:
        return ""
    if what == "C":
        return ": preferences that depend on time are not supported, give those of one time step"
    return f": arrays with a batch axis are not supported, give those of one agent, [one[0] for one in {what}]"


def _product(parts: list[Array]) -> Transition:
    """The change of all factors together, each by its own matrix."""
    rows: Ids = np.zeros(1, dtype=np.int64)
    columns, values, size = rows, np.ones(1), 1
    for part in parts:
        before, after = np.nonzero(part)
        rows = (rows[:, None] * len(part) + before).ravel()
        columns = (columns[:, None] * len(part) + after).ravel()
        values, size = np.outer(values, part[before, after]).ravel(), size * len(part)
    return from_entries((size, size), rows, columns, values)


def _rewards(pays: Array, actions: int, states: int, outcomes: int) -> Array:
    """R as (A, S, S', O), without copies."""
    whole = (actions, states, states, outcomes)
    if pays.ndim == 2 and actions == states and pays.shape == (states, actions):
        raise ProblemError(
            f"R of shape ({states}, {states}) could be states x actions or actions x states; give it as actions x "
            "states x states",
            field=("R",),
            code="ambiguous-shape",
        )
    if pays.shape == (states, actions):
        pays = pays.T
    if pays.ndim < 2 or pays.shape != whole[: pays.ndim]:
        wanted = f"({states}, {actions}), ({actions}, {states}), {whole[:3]} or {whole}"
        raise _wrong_shape("R", wanted, pays)
    return np.broadcast_to(pays.reshape(*pays.shape, *(1,) * (4 - pays.ndim)), whole)


def _numbers(what: str, given: ArrayLike) -> Array:
    """`given` as an array of numbers; matrices that are not there in full (as scipy has them) are made so."""
    sparse = [*given] if isinstance(given, (list, tuple)) else [given]
    dense = [one.toarray() if hasattr(one, "toarray") else one for one in sparse]
    try:
        found = np.asarray(dense if isinstance(given, (list, tuple)) else dense[0])
        if np.iscomplexobj(found) or np.ma.isMaskedArray(given) or found.dtype.kind in "USMm":
            raise TypeError
        return found.astype(float)
    except (TypeError, ValueError):
        raise ProblemError(
            f"{what} must be an array of numbers; it is not", field=(what,), code="number-expected"
        ) from None


def _listed(what: str, given: Sequence[ArrayLike]) -> list[ArrayLike]:
    if not hasattr(given, "__len__") or not len(given):
        raise ProblemError(f"{what} must be a list of arrays; it is {given!r}", field=(what,), code="list-expected")
    return list(given)


def _rows(rows: Array, field: Field, rounding: Rounding) -> Array:
    """`rows` as probabilities that sum to 1, those of arrays of few digits (float32) divided by their sums."""
    scaled, wrong = rounding.normalised(rows)
    for state in np.flatnonzero(wrong)[:1]:
        raise ProblemError(
            f"{field[0]}[{field[1]}] must hold probabilities that sum to 1 for each state; for state {state} "
            f"{summed(rows[state])}",
            field=(*field, int(state)),
            code="likelihood-row-sum" if field[0] in ("A", "Z") else "transition-row-sum",
        )
    return scaled


def _belief(row: Array, what: str, rounding: Rounding) -> Array:
    scaled, wrong = rounding.normalised(row[None, :])
    if wrong[0]:
        raise ProblemError(
            f"{what} must hold probabilities that sum to 1; {summed(row)}", field=(what,), code="prior-sum"
        )
    result: Array = scaled[0]
    return result


def _names(what: str, given: Sequence[str] | None, count: int, word: str = "") -> tuple[str, ...]:
    if given is None:
        return tuple(f"{word}-{number}" for number in range(count))
    if isinstance(given, str) or not hasattr(given, "__len__"):
        raise ProblemError(f"{what} must be a list of {count} names; it is {shortened(given)}", field=(what,))
    if len(given) != count:
        raise ProblemError(
            f"{what} must have {count} names; there are {len(given)}", field=(what,), code="wrong-length"
        )
    given = [str(name) for name in given]
    if len(set(given)) < count:
        twice = next(name for place, name in enumerate(given) if name in given[:place])
        raise ProblemError(
            f"{what} must have different names; '{twice}' stands there twice", field=(what,), code="duplicate-name"
        )
    return tuple(given)


def _joint_names(what: str, given: Names | None, sizes: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the combinations of so many: given as such, or made of one list for each part; by default numbers."""
    if given is None:
        given = [[str(number) for number in range(size)] for size in sizes]
    is_flat = isinstance(given, str) or not hasattr(given, "__len__")
    if is_flat or all(isinstance(part, str) or not hasattr(part, "__len__") for part in given):
        return _names(what, cast("Sequence[str]", given), prod(sizes))
    if len(given) != len(sizes):
        raise ProblemError(
            f"{what} must have {prod(sizes)} names, or {len(sizes)} lists of names; it has {len(given)} lists",
            field=(what,),
            code="wrong-length",
        )
    lists = enumerate(zip(given, sizes, strict=True))
    parts = [_names(f"{what}[{place}]", part, size) for place, (part, size) in lists]
    return _names(what, ["/".join(chosen) for chosen in product(*parts)], prod(sizes))


def _wrong_shape(what: str, wanted: str, found: Array, hint: str = "") -> ProblemError:
    shape = f"({', '.join(map(str, found.shape))}{',' if found.ndim == 1 else ''})"
    return ProblemError(f"{what} must have the shape {wanted}; it has {shape}{hint}", field=(what,), code="wrong-shape")
