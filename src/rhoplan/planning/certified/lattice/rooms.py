"""Where one can be and what one can do there, before any belief: visible states in rooms, actions by kind.

A room is a set of visible states that can all be reached from one another. Rooms are numbered so that an action leads
to its own room or to one with a smaller number: bounds are settled room by room. Actions that say the same in numbers
are of one kind, wherever they lead: what they come to on a grid is worked out once.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rhoplan.belief_math.transitions import key
from rhoplan.model.pomdp import END, POMDP, Action, Ids, Observable
from rhoplan.planning import clock
from rhoplan.planning.asked import spelt
from rhoplan.planning.certified.components import rooms_of
from rhoplan.planning.certified.lattice.grid import neutral
from rhoplan.planning.certified.lattice.sweeps import PLAIN
from rhoplan.planning.certified.pointbased.records import reachable

NO_FACTOR = -1
"""In place of a factor: the action has to do with none."""


@dataclass(frozen=True, eq=False)
class Structure:
    """visibles: sorted by room. room (V,): of each. kinds: one action of each kind, with its factor.

    first (V + 1,): the first action of each visible state. kind (A,). leads (A,): where the action's places in `lead`
    begin: the visible state after each outcome, -1 for the end. walks (A,): whether it may lead elsewhere in its room
    (PLAIN where that is all it does).
    """

    observables: list[Observable]
    start: int
    room: Ids
    kinds: list[tuple[Action, int]]
    first: Ids
    kind: Ids
    names: tuple[str, ...]
    leads: Ids
    lead: Ids

    @cached_property
    def rooms(self) -> int:
        return int(self.room[-1]) + 1

    @cached_property
    def owner(self) -> Ids:
        """The visible state of each action."""
        return np.repeat(np.arange(len(self.observables)), np.diff(self.first))

    @cached_property
    def walks(self) -> Ids:
        found = np.zeros(len(self.kind), dtype=np.int64)
        for number, (at, owner) in enumerate(zip(self.leads.tolist(), self.owner.tolist(), strict=True)):
            targets = self.lead[at : at + len(self.kinds[self.kind[number]][0].leads_to)]
            inside = targets[(targets >= 0) & (targets != owner)]
            if (self.room[inside] == self.room[owner]).any():
                found[number] = PLAIN if len(targets) == 1 and self.kinds[self.kind[number]][1] == NO_FACTOR else 1
        return found

    @cached_property
    def doors(self) -> list[set[tuple[int, tuple[int, ...]]]]:
        """For each room the kinds of actions there, with the room that each outcome leads to, -1 for the end."""
        found: list[set[tuple[int, tuple[int, ...]]]] = [set() for _ in range(self.rooms)]
        for number, owner in enumerate(self.owner.tolist()):
            kind, at = int(self.kind[number]), int(self.leads[number])
            targets = self.lead[at : at + len(self.kinds[kind][0].leads_to)]
            found[int(self.room[owner])].add((kind, tuple(np.where(targets >= 0, self.room[targets], -1).tolist())))
        return found

    @cached_property
    def digest(self) -> str:
        """What tells two structures apart."""
        found = hashlib.sha256(json.dumps([self.names, f"[{', '.join(map(spelt, self.observables))}]"]).encode())
        for part in (self.room, self.first, self.kind, self.leads, self.lead):
            found.update(part.astype(np.int64).tobytes())
        for action, about in self.kinds:
            found.update(repr(about).encode() + b"".join(map(_bytes, _contents(action))))
        return found.hexdigest()

    def only(self, factor: int) -> Structure:
        """What is left where only `factor` is hidden: its own actions, and those that have to do with none."""
        counts = np.array([about in (factor, NO_FACTOR) for _, about in self.kinds])[self.kind]
        kinds = [(action, 0 if about == factor else NO_FACTOR) for action, about in self.kinds]
        kept = np.concatenate([[0], np.cumsum(counts)])
        return replace(
            self,
            kinds=kinds,
            first=kept[self.first],
            kind=self.kind[counts],
            names=tuple(name for name, counted in zip(self.names, counts.tolist(), strict=True) if counted),
            leads=self.leads[counts],
        )


def structure_of(problem: POMDP, *, deadline: float = math.inf) -> Structure:
    """The rooms and the kinds of actions of `problem`; TimeoutError where `deadline` comes first."""
    found = reachable(problem, deadline=deadline)
    number = {observable: place for place, observable in enumerate(found)}
    menus = [problem.menu(observable) for observable in found]
    targets = [[number[there] for action in menu for there in action.leads_to if there is not END] for menu in menus]
    room = rooms_of(targets)
    order = np.argsort(room, kind="stable")
    place = np.empty(len(found), dtype=np.int64)
    place[order] = np.arange(len(found))
    kinds: list[tuple[Action, int]] = []
    known: dict[tuple[object, ...], int] = {}
    first, kind, names, leads, lead = [0], list[int](), list[str](), list[int](), list[int]()
    for here in order.tolist():
        clock.check(deadline)
        for action in menus[here]:
            key = _contents(action)
            if key not in known:
                known[key] = len(kinds)
                kinds.append((action, NO_FACTOR if neutral(action) else action.factor))
            kind.append(known[key])
            names.append(action.name)
            leads.append(len(lead))
            lead += [-1 if there is END else int(place[number[there]]) for there in action.leads_to]
        first.append(len(kind))
    return Structure(
        [found[here] for here in order.tolist()],
        int(place[0]),
        room[order],
        kinds,
        np.array(first),
        np.array(kind),
        tuple(names),
        np.array(leads),
        np.array(lead),
    )


def _contents(action: Action) -> tuple[object, ...]:
    """What two actions of one kind have in common: numbers, and which outcomes lead to one place, or to the end."""
    seen: dict[object, int] = {}
    pattern = tuple(-1 if there is END else seen.setdefault(there, len(seen)) for there in action.leads_to)
    return action.factor, pattern, action.reward.tobytes(), action.likelihood.tobytes(), key(action.transition)


def _bytes(part: object) -> bytes:
    return part if isinstance(part, bytes) else repr(part).encode()
