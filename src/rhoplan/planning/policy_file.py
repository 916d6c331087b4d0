"""Files of policies: a JSON header and arrays in one compressed file, with a checksum and a digest of the problem."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.belief_math.transitions import numbers
from rhoplan.errors import ProblemError
from rhoplan.files import replacing
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import POMDP, Action
from rhoplan.planning.asked import seal, spelt


def write_policy_file(path: Path | str, header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write `header` and `arrays` to the file at `path`: all of it or nothing."""
    header = {**header, "seal": ""}
    header["seal"] = seal(header, arrays)
    try:
        with replacing(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, told=np.array(json.dumps(header)), **arrays)
    except OSError as error:
        raise ProblemError(f"cannot write policy '{path}': {error.strerror or error}", field=("path",)) from None


def read_policy_file(path: Path | str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays of the file at `path`; ProblemError where it is no policy or was changed."""
    try:
        with np.load(Path(path), allow_pickle=False) as found:
            header = json.loads(str(found["told"]))
            arrays = {name: found[name] for name in found.files if name != "told"}
            form = header["format"]
    except OSError as error:
        raise ProblemError(f"cannot read policy '{path}': {error.strerror or error}", field=("agent",)) from None
    except Exception:
        raise ProblemError(
            f"'{path}' must be a policy that rhoplan saved; it is not: write one with policy.save", field=("agent",)
        ) from None
    if header.get("seal", "") not in ("", seal(header, arrays)):
        raise ProblemError(
            f"policy '{path}' of format {form} must be as rhoplan wrote it; it has been changed since: save it again",
            field=("agent",),
        )
    return header, arrays


def digest_of_problem(problem: POMDP) -> str:
    """A digest of the numbers of `problem`: horizon, priors, and the actions of observable states near the start."""
    found = hashlib.sha256(f"{horizon_of(problem)} {problem.discount!r}".encode())
    for factor in problem.factors:
        found.update(f"{factor.name} {factor.states}".encode())
        found.update(np.ascontiguousarray(factor.prior).tobytes())
    for observable, actions in problem.menus():
        found.update(spelt(observable).encode())
        for action in actions:
            found.update(_digest_of_action(action))
    return found.hexdigest()


def is_same(problem: POMDP, other: POMDP) -> bool:
    """Whether two problems have the same numbers."""
    return problem is other or digest_of_problem(problem) == digest_of_problem(other)


def _digest_of_action(action: Action) -> bytes:
    found = hashlib.sha256(f"{action.name} {action.factor} {action.outcomes} {spelt(action.leads_to)}".encode())
    parts = [action.reward, action.likelihood]
    parts += [] if action.transition is None else [numbers(action.transition)]
    for part in parts:
        found.update(np.ascontiguousarray(part).tobytes())
    return found.digest()
