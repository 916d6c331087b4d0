"""What solving leaves behind: what to do in any situation that can come up, and bounds on what that is worth.

A `SolvedPolicy` holds the vectors of the lower bound and the points of the upper one. In a situation it takes the
action of the best vector, so following it is worth at least what the lower bound says. It can be saved and loaded, and
it is a rule: an agent follows it like any other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rhoplan.belief.information import entropy
from rhoplan.belief.situation import Situation
from rhoplan.errors import EvidenceError, ProblemError
from rhoplan.model.limited import horizon_of, with_horizon
from rhoplan.model.problem import END, Array, Ids, Problem
from rhoplan.planning.asked import MANY_FORMAT, Asked, BoundedPolicy, seal
from rhoplan.planning.certified.errand_policy import FORMAT as ERRAND_FORMAT
from rhoplan.planning.certified.errand_policy import ErrandPolicy, errand_policy
from rhoplan.planning.certified.lattice.policy import FORMAT as GRID_FORMAT
from rhoplan.planning.certified.lattice.policy import GridPolicy
from rhoplan.planning.certified.lattice.solve import grid_policy
from rhoplan.planning.certified.mixing import mixture, prices_of, sawtooth
from rhoplan.planning.certified.pointbased.check import backup
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.growing import hull_states, penalty_of, spans_of
from rhoplan.planning.certified.pointbased.idle import with_stops
from rhoplan.planning.certified.pointbased.plan import Plan
from rhoplan.planning.certified.pointbased.records import compile_problem, joint_prior, reachable
from rhoplan.planning.first_look import looks, without_delay

if TYPE_CHECKING:
    from rhoplan.planning.many import ManyPolicy

FORMAT = "rhoplan-policy-1"

MOST_SWEEPS, SETTLED = 500, 1e-6
"""Backups of a bound at most, and the change, as a share of it, after which it has settled."""


@dataclass(frozen=True, eq=False)
class SolvedPolicy(BoundedPolicy):
    """Bounds and actions of a solved problem in any situation that can be reached in it.

    vectors: per class alpha (V, S), the share (V,) of `potential` times the entropy, and the pair (V,) that each
    takes. points: per class beliefs (P, S) and their bound (P,) on V - potential H, which is convex. corner (N,),
    informed: bounds that always hold.
    """

    origin: Problem
    problem: Compiled
    settings: Asked
    vectors: dict[int, tuple[Array, Array, Ids]]
    points: dict[int, tuple[Array, Array]]
    corner: Array
    informed: Array
    potential: float

    def action(self, situation: Situation) -> str:
        """The name of what to do in `situation`."""
        home, belief = self._place(situation)
        return self._action_name(self._best(home, belief)[1])

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        home, belief = self._place(situation)
        return self._told(situation, (self._best(home, belief)[0], self._upper(home, belief)))

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        home, belief = self._place(situation)
        model = self.problem.model
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        return {self._action_name(pair): self._told(situation, self._ahead(pair, belief)) for pair in pairs}

    @property
    def start_states(self) -> tuple[str, ...]:
        """The hidden states between which one cannot tell at the start, by name; of several factors, all that vary.

        States that nothing will ever tell apart count as one, called after those of them that are possible.
        """
        names = [""]
        for factor in self.origin.factors:
            if len(factor.states) > 1:
                names = [f"{name}, {state}" if name else state for name in names for state in factor.states]
        kinds, possible = self.problem.kinds, joint_prior(self.origin) > 0
        first, count = self.problem.model.class_state[self.problem.start_class], len(self.problem.start)
        alike = [kinds == state for state in self.problem.state[first : first + count]]
        called = [np.flatnonzero(same & possible if (same & possible).any() else same) for same in alike]
        return tuple(" or ".join(names[state] for state in states.tolist()) for states in called)

    def plans_from(self, beliefs: Array) -> tuple[Array, list[str]]:
        """What each vector (n, V) is worth at beliefs (n, S) about `start_states`, and the action each takes first.

        The largest is the lower bound there.
        """
        alpha, share, pair = self.vectors[self.problem.start_class]
        worth = beliefs @ alpha.T + self.potential * entropy(beliefs)[:, None] * share
        return worth, [self._action_name(int(taken)) for taken in pair]

    def upper_from(self, beliefs: Array) -> Array:
        """The upper bound (n,) at beliefs (n, S) about `start_states`, looking one action ahead."""
        home, model = self.problem.start_class, self.problem.model
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        ahead = [max(self._ahead(pair, belief)[1] for pair in pairs) for belief in beliefs]
        return np.minimum([self._upper(home, belief) for belief in beliefs], ahead)

    def tightened(self) -> SolvedPolicy:
        """The same with the upper bounds at certainty of a start state backed up until they settle.

        A search for the value of the start seldom comes there, so they are loose.
        """
        home, model = self.problem.start_class, self.problem.model
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        better = replace(self, corner=self.corner.copy())
        at = slice(model.class_state[home], model.class_state[home + 1])
        for _ in range(MOST_SWEEPS):
            before = better.corner[at].copy()
            ahead = [max(better._ahead(pair, sure)[1] for pair in pairs) for sure in np.eye(len(before))]
            better.corner[at] = np.minimum(before, ahead)
            if np.abs(before - better.corner[at]).max() <= SETTLED * (1 + np.abs(before).max()):
                break
        return better

    def pair(self, home: int, belief: Array) -> int:
        """The pair that is taken at `belief`, over the states of class `home`."""
        return self._best(home, belief)[1]

    def save(self, path: Path | str) -> None:
        """Write it to a file; `load` reads it for the same problem."""
        told = self.heading(FORMAT, digest(self.problem)) | {"potential": self.potential}
        arrays: dict[str, Array | Ids] = {
            "corner": self.corner, "informed": self.informed, "kinds": self.problem.kinds
        }  # fmt: skip
        for home, (alpha, share, pair) in self.vectors.items():
            arrays |= {f"alpha-{home}": alpha, f"share-{home}": share, f"pair-{home}": pair}
        for home, (beliefs, bound) in self.points.items():
            arrays |= {f"beliefs-{home}": beliefs, f"bound-{home}": bound}
        self.write(path, told, **arrays)

    def _best(self, home: int, belief: Array) -> tuple[float, int]:
        """The lower bound, and the pair of the vector that gives it."""
        if self.problem.ended[home]:
            return 0.0, -1
        alpha, share, pair = self.vectors[home]
        worth = alpha @ belief + share * self.potential * float(entropy(belief))
        best = int(np.argmax(worth))
        taken = int(pair[best])
        return float(worth[best]), taken if taken >= 0 else int(self.problem.model.class_pair[home])

    def _upper(self, home: int, belief: Array) -> float:
        if self.problem.ended[home]:
            return 0.0
        model, potential = self.problem.model, self.potential * float(entropy(belief))
        pays = slice(model.pair_reward[model.class_pair[home]], model.pair_reward[model.class_pair[home + 1]])
        informed = float((self.informed[pays].reshape(-1, len(belief)) @ belief).max())
        corner = self.corner[model.class_state[home] : model.class_state[home + 1]]
        points = self.points.get(home, (np.empty((0, len(belief))), np.empty(0)))
        if len(belief) <= hull_states(self.problem):
            bound = mixture(*points, corner, belief, prices_of(belief, *self._left))
        else:
            bound = sawtooth(*points, corner, belief)
        return min(bound, informed) + potential

    @cached_property
    def _left(self) -> tuple[float, float]:
        """What a part of a belief costs that a mixture does not make up: at most, and as a share of the probability."""
        weight, discount = self.settings.weight, self.settings.discount
        alphas = [alpha for alpha, _, _ in self.vectors.values()]
        size = max(float(np.abs(self.corner).max()), *(float(np.abs(alpha).max()) for alpha in alphas))
        span, far = spans_of(self.corner, min(float(alpha.min(axis=1).max()) for alpha in alphas), weight)
        return penalty_of(self.problem, size, weight, discount), span + far

    def _ahead(self, pair: int, belief: Array) -> tuple[float, float]:
        """Bounds on taking `pair` at `belief`, by both bounds on what comes after."""
        low = backup(self, pair, belief, lambda _, there, after: self._best(there, after)[0])
        high = backup(self, pair, belief, lambda _, there, after: self._upper(there, after))
        at = self.problem.model.pair_reward[pair]
        potential = self.potential * float(entropy(belief))
        return low, min(high, float(self.informed[at : at + len(belief)] @ belief) + potential)

    def _told(self, situation: Situation, bounds: tuple[float, float]) -> tuple[float, float]:
        """`bounds` as they are where a first look takes no time."""
        if not looks(self.origin, situation):
            return bounds
        asked = self.settings
        return without_delay(self.origin, situation, bounds, weight=asked.weight, discount=asked.discount)

    def _action_name(self, pair: int) -> str:
        return self.problem.actions[int(self.problem.pair_action[pair])]

    def _place(self, situation: Situation) -> tuple[int, Array]:
        """The class of `situation`, and the belief over its states."""
        if situation.visible is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        joint: Array = np.ones(1)
        for belief in situation.beliefs:
            joint = np.multiply.outer(joint, belief).ravel()
        joint = np.bincount(self.problem.kinds, joint).astype(float)
        if situation.visible not in self.visibles:
            horizon = horizon_of(self.origin)
            hint = f": situations must be those of with_horizon(problem, {horizon})" if horizon else ""
            raise EvidenceError(f"'{self.origin.name}' never comes to {situation.visible!r}{hint}", field=("visible",))
        held = np.flatnonzero(joint)
        states = self.visibles[situation.visible] * len(joint) + held
        for home in reversed(self._homes.get(int(states[0]), ())):  # the start's own class last
            places = self._places(home)
            if all(state in places for state in states.tolist()):
                result = np.zeros(int(self.problem.sizes[home]))
                result[[places[state] for state in states.tolist()]] = joint[held]
                return home, result
        raise EvidenceError(
            f"the belief must be one that '{self.origin.name}' can lead to; it mixes states that are always told apart",
            field=("belief",),
        )

    @cached_property
    def visibles(self) -> dict[Any, int]:
        """The visible states of the problem, each with its number in `problem`."""
        return {visible: place for place, visible in enumerate(reachable(self.origin))}

    @cached_property
    def _homes(self) -> dict[int, list[int]]:
        """The classes that each state is in: one, or two where the start has a class of its own, which comes first."""
        model, found = self.problem.model, dict[int, list[int]]()
        for home in range(self.problem.classes):
            for state in self.problem.state[model.class_state[home] : model.class_state[home + 1]].tolist():
                found.setdefault(state, []).append(home)
        return found

    def _places(self, home: int) -> dict[int, int]:
        """Where each state of a class stands in its vectors."""
        if home not in self._known:
            model = self.problem.model
            states = self.problem.state[model.class_state[home] : model.class_state[home + 1]]
            self._known[home] = {state: place for place, state in enumerate(states.tolist())}
        return self._known[home]

    @cached_property
    def _known(self) -> dict[int, dict[int, int]]:
        return {}


def policy_of(problem: Problem, compiled: Compiled, plan: Plan) -> SolvedPolicy:
    """The policy that a search has come to."""
    found = plan.vectors_of.items()
    vectors = {home: (plan.rows(home, ids), plan.graph.share[ids], plan.pair(ids)) for home, ids in found}
    points = {home: plan.points(home) for home in range(compiled.classes) if not compiled.ended[home]}
    settings = Asked(plan.settings.weight, plan.settings.discount)
    points = {home: held for home, held in points.items() if len(held[1])}
    corner, informed = plan.graph.corner.copy(), np.asarray(plan.first.action)
    return SolvedPolicy(problem, compiled, settings, vectors, points, corner, informed, plan.settings.potential)


def load_policy(path: Path | str, problem: Problem) -> SolvedPolicy | GridPolicy | ErrandPolicy | ManyPolicy:
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
        )
    return found


def _solved_policy(problem: Problem, told: dict[str, Any], arrays: dict[str, Any]) -> SolvedPolicy | None:
    compiled = _compiled(problem, arrays.get("kinds"))  # files of versions before there were kinds have none
    if compiled is None:
        return None
    compiled = with_stops(compiled) if told["discount"] == 1 else compiled
    if digest(compiled) != told["digest"]:
        return None
    homes = _numbers_after(arrays, "alpha-")
    vectors = {home: (arrays[f"alpha-{home}"], arrays[f"share-{home}"], arrays[f"pair-{home}"]) for home in homes}
    points = {home: (arrays[f"beliefs-{home}"], arrays[f"bound-{home}"]) for home in _numbers_after(arrays, "beliefs-")}
    settings = Asked(float(told["weight"]), float(told["discount"]))
    potential = float(told.get("potential", settings.weight))  # files of versions before there was a choice
    return SolvedPolicy(problem, compiled, settings, vectors, points, arrays["corner"], arrays["informed"], potential)


def _compiled(problem: Problem, kinds: Ids | None) -> Compiled | None:
    """`problem` with these kinds; None where they are those of another one."""
    joint = prod(len(factor.states) for factor in problem.factors)
    if kinds is not None:
        found, first = np.unique(kinds, return_index=True)  # numbered in the order in which they come
        if len(kinds) != joint or not np.array_equal(found, np.arange(len(found))) or (np.diff(first) < 0).any():
            return None
    return compile_problem(problem, kinds=kinds)


def _many_policy(problem: Problem, told: dict[str, Any], arrays: dict[str, Any]) -> ManyPolicy | None:
    from rhoplan.planning.many.loading import many_policy

    return many_policy(problem, told, arrays)


def _errand_policy(problem: Problem, told: dict[str, Any], arrays: dict[str, Any]) -> ErrandPolicy | None:
    """The plan of errands, with the policies that were saved for their upper bounds."""
    found = errand_policy(problem, told)
    others = [_contents(BytesIO(arrays[f"above-{place}"].tobytes())) for place in _numbers_after(arrays, "above-")]
    above = [MADE[other["format"]](problem, other, held) for other, held in others] if found else []
    known = tuple(policy for policy in above if policy is not None)
    return replace(found, above=known) if found and len(known) == len(above) else None


Made: TypeAlias = (
    "Callable[[Problem, dict[str, Any], dict[str, Any]], SolvedPolicy | GridPolicy | ErrandPolicy | ManyPolicy | None]"
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
        raise ProblemError(f"cannot read policy '{path}': {error.strerror or error}", field=("agent",)) from None
    except Exception:
        raise ProblemError(
            f"'{path}' must be a policy saved by rhoplan solve --save; it is not", field=("agent",)
        ) from None
    return {"horizon": None, **told}, arrays


def _changed(path: Path | str) -> ProblemError:
    return ProblemError(
        f"policy '{path}' must be as rhoplan solve --save wrote it; it has been changed since: solve it again",
        field=("agent",),
    )


def _contents(file: Path | str | BytesIO) -> tuple[dict[str, Any], dict[str, Any]]:
    with np.load(file, allow_pickle=False) as found:
        return json.loads(str(found["told"])), {name: found[name] for name in found.files if name != "told"}


def digest(compiled: Compiled) -> str:
    """What tells two compiled problems apart."""
    found = hashlib.sha256(json.dumps(compiled.actions).encode())
    for part in (*compiled.model, compiled.start, compiled.pair_action):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()


def _numbers_after(names: Sequence[str] | dict[str, Any], prefix: str) -> list[int]:
    return [int(name[len(prefix) :]) for name in names if name.startswith(prefix)]
