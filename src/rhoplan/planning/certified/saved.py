"""Policies of all methods read from the files that they were saved to, for the problems that they were made for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rhoplan.errors import ProblemError
from rhoplan.model.horizon import horizon_of, with_horizon
from rhoplan.model.pomdp import POMDP, Ids
from rhoplan.planning.asked import MANY_FORMAT, Asked, seal
from rhoplan.planning.certified.errand_policy import FORMAT as ERRAND_FORMAT
from rhoplan.planning.certified.errand_policy import ErrandPolicy, errand_policy
from rhoplan.planning.certified.lattice.policy import FORMAT as GRID_FORMAT
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.lattice.solve import grid_policy
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.idle import with_stops
from rhoplan.planning.certified.pointbased.records import compile_problem
from rhoplan.planning.certified.pointbased.supports import splits
from rhoplan.planning.certified.solved import FORMAT, SolvedPolicy, digest

if TYPE_CHECKING:
    from rhoplan.planning.many import ManyPolicy


def load_policy(path: Path | str, problem: POMDP) -> SolvedPolicy | GridPolicy | ErrandPolicy | ManyPolicy:
    """The policy saved in `path`, for the problem that it was solved for; with a horizon, `origin` has it too."""
    told, arrays = _read(path)
    if told["horizon"] is not None and horizon_of(problem) is None:
        problem = with_horizon(problem, told["horizon"])
    try:
        found = MADE[told["format"]](problem, told, arrays)
    except (KeyError, IndexError, ValueError, TypeError):  # of versions that did not seal their files
        raise _changed(path) from None
    if found is None:
        raise ProblemError(
            f"policy '{path}' must be used with the problem it was solved for, {told['problem']}; '{problem.name}' has "
            "other numbers: solve it again",
            field=("agent",),
            code="policy-of-another-problem",
        )
    return found


def _solved_policy(problem: POMDP, told: dict[str, Any], arrays: dict[str, Any]) -> SolvedPolicy | None:
    compiled = _compiled(problem, arrays.get("kinds"))  # files of versions before there were kinds have none
    if compiled is None:
        return None
    compiled = next((one for one in _ways_to_solve(compiled, told["discount"]) if digest(one) == told["digest"]), None)
    if compiled is None:
        return None
    homes = _numbers_after(arrays, "alpha-")
    vectors = {home: (arrays[f"alpha-{home}"], arrays[f"share-{home}"], arrays[f"pair-{home}"]) for home in homes}
    points = {home: (arrays[f"beliefs-{home}"], arrays[f"bound-{home}"]) for home in _numbers_after(arrays, "beliefs-")}
    settings = Asked(float(told["weight"]), float(told["discount"]))
    potential = float(told.get("potential", settings.weight))  # files of versions before there was a choice
    return SolvedPolicy(problem, compiled, settings, vectors, points, arrays["corner"], arrays["informed"], potential)


def _ways_to_solve(compiled: Compiled, discount: float) -> Iterator[Compiled]:
    """What may have been solved: without a discount classes may have been told apart by what is possible in them."""
    if discount < 1:
        yield compiled
        return
    yield with_stops(compiled)
    yield from map(with_stops, splits(compiled))


def _compiled(problem: POMDP, kinds: Ids | None) -> Compiled | None:
    """`problem` with these kinds; None where they are those of another one."""
    joint = prod(len(factor.states) for factor in problem.factors)
    if kinds is not None:
        found, first = np.unique(kinds, return_index=True)  # numbered in the order in which they come
        if len(kinds) != joint or not np.array_equal(found, np.arange(len(found))) or (np.diff(first) < 0).any():
            return None
    return compile_problem(problem, kinds=kinds)


def _many_policy(problem: POMDP, told: dict[str, Any], arrays: dict[str, Any]) -> ManyPolicy | None:
    from rhoplan.planning.many.loading import many_policy

    return many_policy(problem, told, arrays)


def _errand_policy(problem: POMDP, told: dict[str, Any], arrays: dict[str, Any]) -> ErrandPolicy | None:
    """The plan of errands, with the policies that were saved for their upper bounds."""
    found = errand_policy(problem, told)
    others = [_contents(BytesIO(arrays[f"above-{place}"].tobytes())) for place in _numbers_after(arrays, "above-")]
    above = [MADE[other["format"]](problem, other, held) for other, held in others] if found else []
    known = tuple(policy for policy in above if policy is not None)
    return replace(found, above=known) if found and len(known) == len(above) else None


Made: TypeAlias = (
    "Callable[[POMDP, dict[str, Any], dict[str, Any]], SolvedPolicy | GridPolicy | ErrandPolicy | ManyPolicy | None]"
)

MADE: dict[str, Made] = {
    FORMAT: _solved_policy,
    GRID_FORMAT: grid_policy,
    ERRAND_FORMAT: _errand_policy,
    MANY_FORMAT: _many_policy,
}
"""How policies are made of what their files say; None where that was for another problem."""


def saved_horizon(path: Path | str) -> int | None:
    """The horizon that the policy saved in `path` was solved for; None where there was none."""
    horizon: int | None = _read(path)[0]["horizon"]
    return horizon


def _read(path: Path | str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a saved policy tells of itself, and its arrays."""
    try:
        told, arrays = _contents(path)
        if told["format"] not in MADE:
            raise KeyError
        if told.get("seal", "") not in ("", seal(told, arrays)):
            raise _changed(path)
    except ProblemError:
        raise
    except OSError as error:
        raise ProblemError(
            f"cannot read policy '{path}': {error.strerror or error}", field=("agent",), code="file-unreadable"
        ) from None
    except Exception:
        raise ProblemError(
            f"'{path}' must be a policy saved by rhoplan solve --save; it is not", field=("agent",), code="not-a-policy"
        ) from None
    return {"horizon": None, **told}, arrays


def _changed(path: Path | str) -> ProblemError:
    return ProblemError(
        f"policy '{path}' must be as rhoplan solve --save wrote it; it has been changed since: solve it again",
        field=("agent",),
        code="policy-changed",
    )


def _contents(file: Path | str | BytesIO) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(file, allow_pickle=False) as found:
        return json.loads(str(found["told"])), {name: found[name] for name in found.files if name != "told"}


def _numbers_after(names: Sequence[str] | dict[str, Any], prefix: str) -> list[int]:
    return [int(name[len(prefix) :]) for name in names if name.startswith(prefix)]
