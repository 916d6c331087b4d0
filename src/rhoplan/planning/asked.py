"""What is asked of a solver, and what all policies that come with bounds have in common."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.files import replacing
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.horizon import horizon_of
from rhoplan.model.limits import LARGEST_REWARD
from rhoplan.model.pomdp import POMDP

MANY_FORMAT = "rhoplan-many-policy-1"
"""How a file begins that holds a plan of method many; here, so that reading other files does not load its kernels."""


@dataclass(frozen=True)
class Asked:
    """What was solved for: the weight per nat, and the discount."""

    weight: float
    discount: float


def check_asked(weight: float, discount: float, gap: float) -> None:
    """Refuse what no bound can be certified for."""
    if not weight >= 0:
        why = ": with a price on knowing, no bound is certain" if weight < 0 else ""
        raise AgentError(
            f"weight must be a number of at least 0; it is {weight:g}{why}", field=("weight",), code="setting-range"
        )
    if weight > LARGEST_REWARD:
        raise AgentError(
            f"weight must be at most {LARGEST_REWARD:g}, like rewards; it is {weight:g}",
            field=("weight",),
            code="setting-range",
        )
    if not 0 < discount <= 1:
        raise AgentError(
            f"discount must be above 0 and at most 1; it is {discount:g}", field=("discount",), code="discount-range"
        )
    if not gap > 0:
        raise AgentError(f"gap must be above 0; it is {gap:g}", field=("gap",), code="setting-range")


def seal(told: dict[str, Any], arrays: dict[str, Any]) -> str:
    """What tells whether anything in the file of a policy has changed since it was written: not who changed it."""
    read_again = json.loads(json.dumps({**told, "seal": ""}))
    found = hashlib.sha256(json.dumps(read_again, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(array.tobytes())
    return found.hexdigest()


def spelt(observable: object) -> str:
    """A visible state as `repr` writes it, but with the members of sets in an order: `repr` writes strings in that in
    which they are hashed, which is another one in every process."""
    if isinstance(observable, frozenset) and observable:
        members = sorted(map(spelt, observable), key=lambda member: (len(member), member))
        return f"frozenset({{{', '.join(members)}}})"
    names: tuple[str, ...] | None = getattr(observable, "_fields", None) if isinstance(observable, tuple) else None
    if is_dataclass(observable) and not isinstance(observable, type):
        names = tuple(part.name for part in fields(observable) if part.repr)
    if names is not None:
        inside = (f"{name}={spelt(getattr(observable, name))}" for name in names)
        return f"{type(observable).__qualname__}({', '.join(inside)})"
    if isinstance(observable, tuple):
        return f"({', '.join(map(spelt, observable))}{',' * (len(observable) == 1)})"
    return repr(observable)


def check_about_states(problem: POMDP, weight: float, who: str) -> None:
    """Refuse information about diagnoses to those who reckon it about states only."""
    if weight and any(factor.about_diagnosis and factor.diagnosis_of for factor in problem.factors):
        raise AgentError(
            f"{who} counts information about the state; '{problem.name}' asks for it about the diagnosis: take "
            "another, or weight 0",
            field=("weight",),
        )


def unbeaten(bounds: dict[str, tuple[float, float]]) -> str | None:
    """The action whose lower bound no upper bound of another is above; None where there is none."""
    for name, (low, _) in bounds.items():
        if all(low >= high for other, (_, high) in bounds.items() if other != name):
            return name
    return None


class BoundedPolicy:
    """A policy for `origin` that bounds what every action is worth; a rule that agents can follow."""

    origin: POMDP
    settings: Asked

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`."""
        raise NotImplementedError

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        raise NotImplementedError

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        raise NotImplementedError

    def proven(self, situation: Situation) -> str | None:
        """The action that no other can beat in `situation`, where the bounds prove it."""
        return unbeaten(self.actions(situation))

    def __call__(self, problem: POMDP, situation: Situation, weight: float) -> str:
        """As a rule of a problem."""
        return self.action(situation)

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load_policy` reads it for the same problem."""
        raise NotImplementedError

    def write(self, path: Path | str, told: dict[str, Any], **arrays: Any) -> None:
        """Put what a file tells of the policy, and its arrays, into the file at `path`: all of it or nothing."""
        told = {**told, "seal": seal(told, arrays)}
        with replacing(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, told=np.array(json.dumps(told)), **arrays)

    def heading(self, form: str, digest: str) -> dict[str, Any]:
        """What a file says of the policy in it: its form, and the problem by name and by the digest of its numbers."""
        return {
            "format": form,
            "problem": self.origin.spec or self.origin.name,
            "digest": digest,
            "weight": self.settings.weight,
            "discount": self.settings.discount,
            "horizon": horizon_of(self.origin),
        }
