"""Problems from arrays: transitions, observations and rewards as most packages hold them, and pymdp's lists.

Outcomes are seen after the change, as everywhere in that literature (`model.joint`).

Shapes: A actions, S states, O observations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
from numpy.typing import ArrayLike

from rhoplan.errors import Field, ProblemError
from rhoplan.io.assemble import assembled
from rhoplan.model.joint import Ways
from rhoplan.model.problem import ROW_SUM_TOLERANCE, Array, Ids, Problem
from rhoplan.model.sparse import Sparse


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
) -> Problem:
    """The problem with transitions T (A, S, S'), observations Z (A, S', O) or (S', O), and rewards R.

    R: (S, A) or (A, S), r(s, a); (A, S, S'), r(s, a, s'); (A, S, S', O), r(s, a, s', o). Where A and S are equal, two
    axes could mean either: give three. start: (S,), uniform if left out.
    """
    moves, shows, pays = (np.asarray(part, dtype=float) for part in (T, Z, R))
    if moves.ndim != 3 or moves.shape[1] != moves.shape[2]:
        raise _wrong_shape("T", "actions x states x states", moves)
    count, size = moves.shape[:2]
    if shows.ndim not in (2, 3) or shows.shape[-2] != size or (shows.ndim == 3 and len(shows) != count):
        raise _wrong_shape("Z", f"({count}, {size}, observations) or ({size}, observations)", shows)
    shows = np.broadcast_to(shows, (count, *shows.shape[-2:]))
    pays = _rewards(pays, count, size, shows.shape[-1])
    acts = _names("actions", actions, count, "action")
    held, seen = _names("states", states, size, "state"), _names("observations", observations, shows.shape[-1], "o")
    prior = np.full(size, 1 / size) if start is None else np.asarray(start, dtype=float)
    if prior.shape != (size,):
        raise _wrong_shape("start", f"({size},)", prior)
    ways = {}
    for number, act in enumerate(acts):
        _check_rows(moves[number], ("T", number))
        _check_rows(shows[number], ("Z", number))
        one = Ways.of(moves[number], shows[number])
        ways[act] = replace(one, pays=pays[number][one.before, one.after, one.outcome])
    return assembled(name, states=held, outcomes=seen, ways=ways, prior=prior, discount=discount)


def from_pymdp(
    A: Sequence[ArrayLike],
    B: Sequence[ArrayLike],
    C: Sequence[ArrayLike],
    D: Sequence[ArrayLike],
    *,
    discount: float = 1.0,
    actions: Sequence[str] | None = None,
    name: str = "pymdp",
) -> Problem:
    """The problem that pymdp's lists describe: A[m] (O_m, S_1, ..., S_F), B[f] (S_f, S_f, U_f), C[m] (O_m,), D[f]
    (S_f,), with one array per modality m or factor f.

    All factors together are one hidden state, all modalities one outcome, and each choice of controls one action. An
    outcome pays its preference C. pymdp looks once before it acts; here the first outcome follows the first action.
    """
    seen, moves, liked, prior = ([np.asarray(one, dtype=float) for one in part] for part in (A, B, C, D))
    sizes = tuple(len(one) for one in prior)
    for factor, one in enumerate(moves):
        if len(moves) != len(sizes) or one.ndim != 3 or one.shape[:2] != (sizes[factor],) * 2:
            raise _wrong_shape(f"B[{factor}]", f"({sizes[factor]}, {sizes[factor]}, controls)", one)
    for modality, one in enumerate(seen):
        if one.shape[1:] != sizes:
            raise _wrong_shape(f"A[{modality}]", f"(outcomes, {', '.join(map(str, sizes))})", one)
        if len(liked) != len(seen) or liked[modality].shape != one.shape[:1]:
            raise _wrong_shape(f"C[{modality}]", f"({len(one)},)", liked[min(modality, len(liked) - 1)])
    size, counts = int(np.prod(sizes)), tuple(len(one) for one in seen)
    shows, worth = np.ones((size, 1)), np.zeros(1)
    for modality, one in enumerate(seen):
        rows = one.reshape(len(one), size).T
        _check_rows(rows, ("A", modality))
        shows = (shows[:, :, None] * rows[:, None, :]).reshape(size, -1)
        worth = (worth[:, None] + liked[modality]).ravel()
    controls = list(product(*(range(one.shape[2]) for one in moves)))
    names = _names("actions", actions, len(controls), "action")
    ways: dict[str, Ways] = {}
    for act, chosen in zip(names, controls, strict=True):
        parts = [one[:, :, control].T for one, control in zip(moves, chosen, strict=True)]
        for factor, part in enumerate(parts):
            _check_rows(part, ("B", factor))
        found = Ways.of(_product(parts), shows)
        ways[act] = replace(found, pays=worth[found.outcome])
    belief = np.ones(1)
    for part in prior:
        belief = np.outer(belief, part).ravel()
    return assembled(
        name,
        states=tuple("/".join(map(str, place)) for place in np.ndindex(*sizes)),
        outcomes=tuple("/".join(map(str, place)) for place in np.ndindex(*counts)),
        ways=ways,
        prior=belief,
        discount=discount,
    )


def _product(parts: list[Array]) -> Sparse:
    """The change of all factors together, each by its own matrix."""
    rows: Ids = np.zeros(1, dtype=np.int64)
    columns, values, size = rows, np.ones(1), 1
    for part in parts:
        before, after = np.nonzero(part)
        rows = (rows[:, None] * len(part) + before).ravel()
        columns = (columns[:, None] * len(part) + after).ravel()
        values, size = np.outer(values, part[before, after]).ravel(), size * len(part)
    return Sparse.of((size, size), rows, columns, values)


def _rewards(pays: Array, actions: int, states: int, outcomes: int) -> Array:
    """R as (A, S, S', O), without copies."""
    whole = (actions, states, states, outcomes)
    if pays.ndim == 2 and actions == states and pays.shape == (states, actions):
        raise ProblemError(
            f"R of shape ({states}, {states}) could be states x actions or actions x states; give it as actions x "
            "states x states",
            field=("R",),
        )
    if pays.shape == (states, actions):
        pays = pays.T
    if pays.ndim < 2 or pays.shape != whole[: pays.ndim]:
        wanted = f"({states}, {actions}), ({actions}, {states}), {whole[:3]} or {whole}"
        raise _wrong_shape("R", wanted, pays)
    return np.broadcast_to(pays.reshape(*pays.shape, *(1,) * (4 - pays.ndim)), whole)


def _check_rows(rows: Array, field: Field) -> None:
    wrong = ~(np.abs(rows.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE) | (rows < 0).any(axis=1)
    for state in np.flatnonzero(wrong)[:1]:
        raise ProblemError(
            f"{field[0]}[{field[1]}] must hold probabilities that sum to 1 for each state; for state {state} they sum "
            f"to {rows[state].sum():.10g}",
            field=(*field, int(state)),
        )


def _names(what: str, given: Sequence[str] | None, count: int, word: str) -> tuple[str, ...]:
    if given is None:
        return tuple(f"{word}-{number}" for number in range(count))
    if len(given) != count:
        raise ProblemError(f"{what} must have {count} names; there are {len(given)}", field=(what,))
    if len(set(given)) < count:
        twice = next(name for place, name in enumerate(given) if name in given[:place])
        raise ProblemError(f"{what} must have different names; '{twice}' stands there twice", field=(what,))
    return tuple(given)


def _wrong_shape(what: str, wanted: str, found: Array) -> ProblemError:
    shape = f"({', '.join(map(str, found.shape))}{',' if found.ndim == 1 else ''})"
    return ProblemError(f"{what} must have the shape {wanted}; it has {shape}", field=(what,))
