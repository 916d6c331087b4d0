"""General model files: several hidden factors, visible places, actions with parts, changes of what is hidden.

factors:
  pump: {states: [good, worn], prior: [0.8, 0.2]}        # uniform if left out
  seal: {states: [tight, leaking], prevalence: 10%}
joint: {"pump, seal": [0.75, 0.05, 0.1, 0.1]}            # instead of their own priors
places: [gate, pit]
start: gate
actions:
  walk: {cost: 1, to: {gate: pit, pit: gate}}
  listen:
    at: pit
    cost: 0.5
    parts:
      pump: {outcomes: [quiet, loud], likelihood: {good: [0.8, 0.2], worn: [0.3, 0.7]}}
  repair: {at: pit, cost: 9, parts: {pump: {change: {worn: good}}}}
  leave: {ends: true, reward: {pump: {good: 20, worn: 0}, seal: {tight: 0, leaking: -30}}}
passive: {pump: {good: {good: 0.95, worn: 0.05}}}        # at every action that does not end it all
discount: 0.98

`part_reader` has the parts, `model.blocks` makes the problem of them, `general_writer` is the way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from pathlib import Path

from rhoplan.agents.registry import PLANNERS
from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.fields import described, listed
from rhoplan.io.part_reader import PartReader
from rhoplan.io.reader import DEFAULT_HORIZON
from rhoplan.io.subtypes import read_subtypes
from rhoplan.io.tree import Tree, shown
from rhoplan.model.factored import MOST_STATES, FactoredAction, FactoredProblem, JointPrior, LocalModel
from rhoplan.model.limits import LARGEST_HORIZON, MOST_ACTIONS
from rhoplan.model.pomdp import END, POMDP, Factor, Observable
from rhoplan.model.records import EventCount

GENERAL_FIELDS = (
    "name", "unit", "info", "factors", "joint", "places", "start", "looks_first", "actions", "passive", "discount",
    "horizon", "cap", "planner", "tallies",
)  # fmt: skip
FACTOR_FIELDS = ("states", "positive", "prior", "prevalence")
ACTION_FIELDS = ("at", "to", "ends", "cost", "reward", "parts")
TALLY_FIELDS = ("actions", "states", "outcomes")

KINDS = ("test", "move", "sample", "commit")
"""What a tally may count instead of actions by name."""

HERE = "here"
"""The one place of a file that names none."""

THE_END = "end"
"""What `to` says where the episode ends."""

MOST_OFFERED = 100_000
"""Actions of all places together."""

LARGEST_CAP = 1_000_000
DEFAULT_CAP, DEFAULT_PLANNER = (POMDP.__dataclass_fields__[name].default for name in ("cap", "planner"))


class GeneralReader(PartReader):
    """Reads one file's tree."""

    def problem(self, tree: Tree) -> POMDP:
        """The problem that the tree describes."""
        self.check_fields(tree, GENERAL_FIELDS, required=("factors", "actions"))
        items = tree.items
        for name, factor in self.named_maps(items["factors"]).items():
            self.factors[name] = self.factor(name, factor)
        joint = self.joint(items["joint"], items["factors"]) if "joint" in items else []
        self.places = dict.fromkeys(self.names(items["places"]) if "places" in items else (HERE,))
        if THE_END in self.places:
            raise self.fault(
                f"'{THE_END}' is where episodes end; it cannot be a place", items["places"], code="reserved-name"
            )
        first = next(iter(self.places))
        start = self.one_of(items["start"], self.places, "place") if "start" in items else first
        menus = self.menus(items["actions"], items.get("places", tree))
        try:
            return FactoredProblem(
                self.text(items["name"]) if "name" in items else Path(self.file).stem,
                tuple(self.factors.values()),
                start=start,
                menus=menus,
                joint=joint,
                passive=self.passive(items["passive"]) if "passive" in items else (),
                unit=self.text(items["unit"]) if "unit" in items else "points",
                discount=self.discount(items["discount"]) if "discount" in items else 1.0,
                horizon=self.whole(items["horizon"], 1, LARGEST_HORIZON) if "horizon" in items else DEFAULT_HORIZON,
                looks_first="looks_first" in items and self.truth(items["looks_first"]),
                cap=self.whole(items["cap"], 1, LARGEST_CAP) if "cap" in items else DEFAULT_CAP,
                planner=self.planner(items["planner"]) if "planner" in items else DEFAULT_PLANNER,
                tallies=self.tallies(items["tallies"], menus) if "tallies" in items else {},
                spec=self.file,
                details={"info": self.info(items["info"])} if "info" in items else {},
            )
        except ModelFileError:
            raise
        except ProblemError as error:
            raise self.fault(error.message, self.place(tree, error.field or ()), code=error.code) from None

    def factor(self, name: str, tree: Tree) -> Factor:
        """A hidden factor; its prior is uniform where the file leaves it out."""
        self.check_fields(tree, FACTOR_FIELDS, required=("states",))
        states = self.names(tree.items["states"])
        self.positives[name] = self.positive(tree, states)
        return Factor(name, states, self.prior(tree, read_subtypes(self, None, states), self.positives[name]))

    def joint(self, tree: Tree, factors: Tree) -> list[JointPrior]:
        """Priors over several factors together, which then have none of their own."""
        found: list[JointPrior] = []
        for scope, table in self.scopes(tree).items():
            for name in scope:
                own = factors.items[name].items
                for field in {"prior", "prevalence"} & own.keys():
                    raise self.fault(
                        f"factors.{name} must have no {field} of its own: {table.label} gives it",
                        own[field],
                        code="conflicting-fields",
                    )
                if any(name in other.factors for other in found):
                    raise self.fault(
                        f"{tree.label} must have every factor once; '{name}' stands there twice",
                        table,
                        code="duplicate-name",
                    )
            found.append(JointPrior(scope, self.distribution(table, self.states_of(scope, table))))
        return found

    def passive(self, tree: Tree) -> list[LocalModel]:
        """Changes that happen at every action."""
        return [
            LocalModel(scope, change=self.change([table], self.states_of(scope, table), deep=False))
            for scope, table in self.scopes(tree).items()
        ]

    def discount(self, tree: Tree) -> float:
        value = self.number(tree)
        if not 0 < value <= 1:
            raise self.fault(f"discount must be above 0 and at most 1; it is {value:g}", tree, code="discount-range")
        return value

    def planner(self, tree: Tree) -> str:
        return self.one_of(tree, tuple(PLANNERS), "planner")

    def menus(self, tree: Tree, places: Tree) -> dict[Observable, list[FactoredAction]]:
        """The actions of every place, in the order of the file."""
        found: dict[Observable, list[FactoredAction]] = {place: [] for place in self.places}
        count = 0
        for name, given in self.named_maps(tree, most=MOST_ACTIONS).items():
            if given.kind == "list" and not given.list:
                raise self.fault(
                    f"{given.label} must be a map of fields, or a list of them; it is an empty list",
                    given,
                    code="map-expected",
                )
            offered: set[str] = set()
            for one in given.list if given.kind == "list" else (given,):
                for place, action in self.action(name, one).items():
                    if place in offered:
                        raise self.fault(
                            f"{one.label} is offered at '{shown(place)}', as one before it is; give each its places",
                            one,
                            code="duplicate-name",
                        )
                    offered.add(place)
                    found[place].append(action)
            count += len(offered)
            if count > MOST_OFFERED:
                raise self.fault(
                    f"{tree.label} may be offered {MOST_OFFERED:,} times at most, place by place",
                    given,
                    code="too-many-actions",
                )
        for empty in (place for place, menu in found.items() if not menu):
            raise self.fault(f"every place must offer an action; '{empty}' offers none", places, code="no-actions")
        return found

    def action(self, name: str, tree: Tree) -> dict[str, FactoredAction]:
        """An action at each place where it is offered."""
        self.check_fields(tree, ACTION_FIELDS)
        own, parts = self.paying(tree, self.parts(tree.items["parts"]) if "parts" in tree.items else {})
        count = prod(max(len(part.outcomes), 1) for part in parts)
        if count > MOST_STATES:
            raise self.fault(
                f"{tree.label} may have {MOST_STATES:,} combined outcomes at most; its parts make {count:,}",
                tree,
                code="too-many-states",
            )
        outcomes = FactoredAction(name, (END,), parts).outcomes
        targets = self.targets(tree, outcomes)
        return {place: FactoredAction(name, leads_to, parts, own) for place, leads_to in targets.items()}

    def targets(self, tree: Tree, outcomes: tuple[str, ...]) -> dict[str, tuple[Observable, ...]]:
        """The places where an action is offered, and where it leads from there."""
        items = tree.items
        at = self.offered(items["at"]) if "at" in items else tuple(self.places)
        to, ends = items.get("to"), "ends" in items and self.truth(items["ends"])
        if ends and to is not None:
            raise self.fault(
                f"{tree.label} must either end or lead to a place, not both", to, code="conflicting-fields"
            )
        if to is None:
            return {place: (END if ends else place,) for place in at}
        if to.kind != "map":
            return dict.fromkeys(at, (self.target(to),))
        if not to.items:
            raise self.fault(f"{to.label} must name a place; it is {described(to)}", to, code="text-expected")
        if self.is_by_outcome(to, outcomes):
            return {place: self.by_outcome(to, outcomes, place) for place in at}
        found, offered = {}, set(at)
        for place, value in to.items.items():
            if place not in offered:
                raise self.fault(
                    f"{to.label} names the place '{shown(place)}', which is not one of those where it is offered: "
                    f"{listed(at)}",
                    value,
                    code="unknown-place",
                )
            by_outcome = value.kind == "map"
            found[place] = self.by_outcome(value, outcomes, place) if by_outcome else (self.target(value),)
        return found if "at" not in items else {place: found.get(place, (place,)) for place in at}

    def is_by_outcome(self, tree: Tree, outcomes: tuple[str, ...]) -> bool:
        """Whether the names in `to` are outcomes; else they are places."""
        if any(value.kind == "map" for value in tree.items.values()):
            return False
        known_outcomes = set(outcomes)
        shows, stands = (sum(name in names for name in tree.items) for names in (known_outcomes, self.places))
        if shows == stands == len(tree.items):
            raise self.fault(
                f"{tree.label} could mean outcomes or places; write where each outcome leads from each place, as "
                "{place: {outcome: place}}",
                tree,
                code="ambiguous-field",
            )
        for name, value in tree.items.items():
            if name not in known_outcomes and name not in self.places:
                known = f"an outcome ({listed(outcomes)}) nor a place ({listed(self.places)})"
                raise self.fault(
                    f"{tree.label} names '{shown(name)}', which is neither {known}", value, code="unknown-name"
                )
        return shows > stands

    def by_outcome(self, tree: Tree, outcomes: tuple[str, ...], here: str) -> tuple[Observable, ...]:
        """Where each outcome leads; one that is left out stays."""
        given = self.some_names(tree, dict.fromkeys(outcomes), "outcome", self.target)
        return tuple(given.get(outcome, here) for outcome in outcomes)

    def target(self, tree: Tree) -> Observable:
        """A place, or the end."""
        name = self.text(tree)
        if name not in self.places and name != THE_END:
            self.one_of(tree, (*self.places, THE_END), "place")
        return END if name == THE_END else name

    def offered(self, tree: Tree) -> tuple[str, ...]:
        """The places where an action is offered: a name or a list of names."""
        if tree.kind != "list":
            return (self.one_of(tree, self.places, "place"),)
        names = self.names(tree)
        for name, value in zip(names, tree.list, strict=True):
            if name not in self.places:
                raise self.fault(
                    f"{tree.label} names the place '{shown(name)}', which is not one of {listed(self.places)}",
                    value,
                    code="unknown-place",
                )
        return names

    def tallies(self, tree: Tree, menus: Mapping[Observable, list[FactoredAction]]) -> dict[str, EventCount]:
        """What is worth counting in an episode."""
        actions = {action.name: action.outcomes for menu in menus.values() for action in menu}
        known = {
            "actions": dict.fromkeys((*actions, *KINDS)),
            "states": {state: None for factor in self.factors.values() for state in factor.states},
            "outcomes": {outcome: None for outcomes in actions.values() for outcome in outcomes},
        }
        found = {}
        for name, given in self.named_maps(tree).items():
            self.check_fields(given, TALLY_FIELDS)
            said = {field: self.names(value) for field, value in given.items.items()}
            for field, names in said.items():
                for place, one in enumerate(names):
                    if one not in known[field]:
                        raise self.fault(
                            f"{given.label}.{field} names '{shown(one)}', which is not one of {listed(known[field])}",
                            given.items[field].list[place],
                            code="unknown-name",
                        )
            found[name] = EventCount(**said)
        return found
