"""What solving leaves behind: what to do in any situation that can come up, and bounds on what that is worth.

A `SolvedPolicy` holds the vectors of the lower bound and the points of the upper one. In a situation it takes the
action of the best vector, so following it is worth at least what the lower bound says. It can be saved and loaded, and
it is a rule: an agent follows it like any other.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from rhoplan.belief_math.information import entropy
from rhoplan.errors import EvidenceError
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import END, POMDP, Array, Ids
from rhoplan.planning.asked import Asked, BoundedPolicy, unbeaten
from rhoplan.planning.certified.mixing import mixture, prices_of, sawtooth
from rhoplan.planning.certified.pointbased.check import backup
from rhoplan.planning.certified.pointbased.compiled import Compiled
from rhoplan.planning.certified.pointbased.growing import hull_states, penalty_of, spans_of
from rhoplan.planning.certified.pointbased.idle import stopping_pairs
from rhoplan.planning.certified.pointbased.plan import Plan
from rhoplan.planning.certified.pointbased.records import joint_prior, reachable
from rhoplan.planning.first_look import looks, without_delay

FORMAT = "rhoplan-policy-1"

MOST_SWEEPS, SETTLED = 500, 1e-6
"""Backups of a bound at most, and the change, as a share of it, after which it has settled."""


@dataclass(frozen=True, eq=False)
class SolvedPolicy(BoundedPolicy):
    """Bounds and actions of a solved problem in any situation that can be reached in it.

    vectors: per class alpha (V, S), the share (V,) of `potential` times the entropy, and the pair (V,) that each takes
    (below 0: all equally often). points: per class beliefs (P, S) and their bound (P,) on V - potential H, which is
    convex. corner (N,), informed: bounds that always hold.
    """

    origin: POMDP
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

    @property
    def first(self) -> str:
        """The name of what to do at the start."""
        return self._action_name(self.pair(self.problem.start_class, self.problem.start))

    def value(self, situation: Situation) -> tuple[float, float]:
        """Lower and upper bound on the best value from `situation` on."""
        home, belief = self._place(situation)
        return self._told(situation, (self._lower(home, belief), self._upper(home, belief)))

    def actions(self, situation: Situation) -> dict[str, tuple[float, float]]:
        """Lower and upper bound on what each action is worth in `situation`, the best plan followed afterwards."""
        found, stops = self._by_pair(situation), stopping_pairs(self.problem)
        if stops.isdisjoint(found):
            return {self._action_name(pair): bounds for pair, bounds in found.items()}
        best = max(low for low, _ in found.values()), max(high for _, high in found.values())
        return {self._action_name(pair): best if pair in stops else bounds for pair, bounds in found.items()}

    def proven(self, situation: Situation) -> str | None:
        """The action that no other can beat in `situation`, where the bounds prove it. One that does nothing cannot
        beat what is done after it: it counts for what it is worth for ever."""
        return unbeaten({self._action_name(pair): bounds for pair, bounds in self._by_pair(situation).items()})

    def _by_pair(self, situation: Situation) -> dict[int, tuple[float, float]]:
        """Bounds on taking each pair, where one that does nothing is taken for ever."""
        home, belief = self._place(situation)
        model = self.problem.model
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        return {pair: self._told(situation, self._ahead(pair, belief)) for pair in pairs}

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
        first = self.problem.model.class_pair[self.problem.start_class]
        return worth, [self._action_name(int(taken if taken >= 0 else first)) for taken in pair]

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

    def best_of(self, home: int, beliefs: Array) -> tuple[Array, Ids]:
        """The lower bound (n,) at each of `beliefs` (n, states of class `home`), and the pair taken there; where the
        episode is over, 0 and none (-1)."""
        if self.problem.ended[home]:
            return np.zeros(len(beliefs)), np.full(len(beliefs), -1)
        worth = self._worth(home, beliefs)
        best = worth.argmax(axis=1)
        taken = self.vectors[home][2][best]
        for place in np.flatnonzero(taken < 0):
            taken[place] = self._better_than_any(home, beliefs[place])
        return worth[np.arange(len(beliefs)), best], taken

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
        worth, pair = self.best_of(home, belief[None, :])
        return float(worth[0]), int(pair[0])

    def _better_than_any(self, home: int, belief: Array) -> int:
        """The pair to take at `belief` where the best plan known takes all pairs equally often: one that is worth most
        with what is known of what follows is worth no less."""
        model = self.problem.model
        pairs = range(model.class_pair[home], model.class_pair[home + 1])
        return max(
            pairs, key=lambda pair: backup(self, pair, belief, lambda _, there, after: self._lower(there, after))
        )

    def _lower(self, home: int, belief: Array) -> float:
        """The lower bound."""
        if self.problem.ended[home]:
            return 0.0
        return float(self._worth(home, belief[None, :]).max())

    def _worth(self, home: int, beliefs: Array) -> Array:
        """What each vector says (n, V) of `beliefs` (n, S)."""
        alpha, share, _ = self.vectors[home]
        worth: Array = beliefs @ alpha.T
        if self.potential > 0:
            worth += np.multiply.outer(self.potential * entropy(beliefs), share)
        return worth

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
        low = backup(self, pair, belief, lambda _, there, after: self._lower(there, after))
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
        """The class of `situation`, and the belief over its states; of several classes that with the best plan, which
        goes on with plans of classes that the next situation is in."""
        if situation.observable is END:
            raise EvidenceError(f"the episode of '{self.origin.name}' has ended: there is nothing left to do")
        joint: Array = np.ones(1)
        for belief in situation.beliefs:
            joint = np.multiply.outer(joint, belief).ravel()
        joint = np.bincount(self.problem.kinds, joint).astype(float)
        if situation.observable not in self.observables:
            horizon = horizon_of(self.origin)
            hint = f": situations must be those of with_horizon(problem, {horizon})" if horizon else ""
            raise EvidenceError(
                f"'{self.origin.name}' never comes to {situation.observable!r}{hint}", field=("visible",)
            )
        held = np.flatnonzero(joint)
        states = self.observables[situation.observable] * len(joint) + held
        found = [(home, self._over(home, states, joint[held])) for home in self._homes.get(int(states[0]), ())]
        homes = [(home, belief) for home, belief in found if belief is not None]
        if homes:
            return max(homes, key=lambda place: self._lower(*place)) if len(homes) > 1 else homes[0]
        raise EvidenceError(
            f"the belief must be one that '{self.origin.name}' can lead to; it mixes states that are always told apart",
            field=("belief",),
        )

    @cached_property
    def observables(self) -> dict[Any, int]:
        """The visible states of the problem, each with its number in `problem`."""
        return {observable: place for place, observable in enumerate(reachable(self.origin))}

    @cached_property
    def _homes(self) -> dict[int, list[int]]:
        """The classes that each state is in: one, or two where the start has a class of its own, or many where they are
        told apart by what is possible (see `supports`)."""
        model, found = self.problem.model, dict[int, list[int]]()
        for home in range(self.problem.classes):
            for state in self.problem.state[model.class_state[home] : model.class_state[home + 1]].tolist():
                found.setdefault(state, []).append(home)
        return found

    def _over(self, home: int, states: Ids, chances: Array) -> Array | None:
        """These chances of original states as a belief over those of class `home`; None where some are not in it."""
        places = self._places(home)
        if not all(state in places for state in states.tolist()):
            return None
        belief = np.zeros(int(self.problem.sizes[home]))
        belief[[places[state] for state in states.tolist()]] = chances
        return belief

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


def policy_of(problem: POMDP, plan: Plan) -> SolvedPolicy:
    """The policy that a search has come to."""
    compiled, found = plan.problem, plan.vectors_of.items()
    vectors = {home: (plan.rows(home, ids), plan.graph.share[ids], plan.taken(ids)) for home, ids in found}
    points = {home: plan.points(home) for home in range(compiled.classes) if not compiled.ended[home]}
    settings = Asked(plan.settings.weight, plan.settings.discount)
    points = {home: held for home, held in points.items() if len(held[1])}
    corner, informed = plan.graph.corner.copy(), np.asarray(plan.first.action)
    return SolvedPolicy(problem, compiled, settings, vectors, points, corner, informed, plan.settings.potential)


def digest(compiled: Compiled) -> str:
    """What tells two compiled problems apart."""
    found = hashlib.sha256(json.dumps(compiled.actions).encode())
    for part in (*compiled.model, compiled.start, compiled.pair_action):
        found.update(np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
