"""SARSOP's `.pomdpx` files: variables, and tables of how they depend on each other.

State variables that are not observed are joined into one hidden factor. One that is (`fullyObs`) is part of the visible
state. A problem here starts in one visible state; where first values are drawn that is one of its own, in which all
that one can do is to look at them, in no time (`Problem.looks_first`), and the problem's note says so. A visible state
that is never left, pays nothing and shows nothing is END.

Shapes: E ways in which an action can go; H values of the hidden variables together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np

from rhoplan.belief_math.transitions import Ways
from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.assemble import assembled, default_horizon
from rhoplan.io.collecting import nothing_collected
from rhoplan.io.foreign import FACTORED, Budget, check_size
from rhoplan.io.pomdpx_network import Network, read_network
from rhoplan.io.pomdpx_tables import Table, Variable
from rhoplan.io.xml import parse_xml
from rhoplan.model.pomdp import END, POMDP, Action, Array, CachedMenu, Factor, Ids, Observable
from rhoplan.model.validate import check_problem

PER_STEP = 5_000
"""What one action in one visible state costs, however small it is, counted in numbers: half a millisecond."""

PER_WAY = 3
"""What it costs to tell several values of a variable apart, counted in numbers that have one each."""

FIRST, LOOK = "first look", "look"
"""The visible state before the first values are seen that are drawn, and what one does there."""

NOTHING = "done"
"""The outcome of an action that shows nothing."""


@nothing_collected()
def parse_pomdpx(text: str, *, file: str = "problem.pomdpx") -> POMDP:
    """The problem that `text` describes in SARSOP's format; `file` is what errors call it."""
    network = read_network(parse_xml(text, file=file), file, Budget(text, file, FACTORED))
    try:
        problem = _problem(network, file)
        network.budget.close()
        return problem
    except ModelFileError:
        raise
    except ProblemError as error:
        raise ModelFileError(error.message, file=file, field=error.field, code=error.code) from None


def _problem(network: Network, file: str) -> POMDP:
    chance, first = _start(network)
    observable = tuple(state for state in network.states if state.is_seen)
    hidden = tuple(state for state in network.states if not state.is_seen)
    drawn = tuple(state for state in observable if len(np.unique(first[state.before])) > 1)
    sizes = tuple(len(state.values) for state in hidden)
    size = prod(sizes)
    check_size("the hidden states", size, file=file)
    network.budget.spend(size)
    place = _joined(first, tuple(state.before for state in hidden), sizes)
    prior = np.bincount(place, weights=chance, minlength=size).astype(float)
    states = (
        tuple("/".join(values) for values in product(*(state.values for state in hidden))) if hidden else ("known",)
    )
    told = [f"the first value of {state.name} is drawn: a first look, which takes no time, shows it" for state in drawn]
    note = "; ".join([*([network.rounding.note] if network.rounding.note else []), *told])
    name = Path(file).stem
    if not observable:
        return _at_one_place(network, hidden, states, prior, name, file)
    menu = PomdpxMenu(network, observable, hidden)
    start = menu.label(tuple(int(first[state.before][0]) for state in observable))
    horizon = default_horizon(menu(start))
    if drawn:
        start, menu = menu.with_look(drawn, first, place, chance, prior)
    problem = POMDP(
        name,
        (Factor("state", states, prior),),
        start,
        menu,
        horizon=horizon,
        discount=network.discount,
        note=note,
        spec=file,
        looks_first=bool(drawn),
    )
    check_problem(problem)
    return problem


def _at_one_place(
    network: Network,
    hidden: tuple[Variable, ...],
    states: tuple[str, ...],
    prior: Array,
    name: str,
    file: str,
) -> POMDP:
    """The problem without visible states: all actions have all outcomes."""
    parts = {network.act_name(choice): _Step(network, (), hidden, {}, choice) for choice in network.choices}
    codes = _codes([step.shown for step in parts.values()])
    names = tuple(next(iter(parts.values())).outcome_name(code) for code in codes.tolist())
    ways = ((act, step.ways(np.searchsorted(codes, step.shown), len(codes))) for act, step in parts.items())
    return assembled(
        name,
        states=states,
        outcomes=names,
        ways=ways,
        prior=prior,
        discount=network.discount,
        rounding=network.rounding,
        spec=file,
    )


class _Step:
    """One action in one visible state: every way it can go. shown (E,): code of what is seen; target (E,): code of the
    visible state after it."""

    def __init__(
        self,
        network: Network,
        observable: tuple[Variable, ...],
        hidden: tuple[Variable, ...],
        here: dict[str, int],
        choice: tuple[int, ...],
    ) -> None:
        sizes = tuple(len(state.values) for state in hidden)
        size = prod(sizes)
        network.budget.spend(PER_STEP + size)
        places = np.unravel_index(np.arange(size), sizes) if sizes else ()
        held: dict[str, Ids] = {
            state.before: place.astype(np.min_scalar_type(len(state.values)))
            for state, place in zip(hidden, places, strict=True)
        }
        fixed = {**here, **{act.name: value for act, value in zip(network.acts, choice, strict=True)}}
        held |= {name: np.array(value) for name, value in fixed.items()}
        held["\0"] = np.arange(size)
        chance = np.ones(size)
        for table, asked in zip((*network.changes, *network.shows), network.asked, strict=True):
            held, chance = _expanded(held, chance, table, network.budget)
            held = {name: values for name, values in held.items() if name in asked or name == "\0"}
        self.size, self.chance, self.before = size, chance, held["\0"]
        self.after = _joined(held, tuple(state.name for state in hidden), sizes)
        self.pays = np.zeros(len(chance))
        for table in network.pays:
            self.pays += table.numbers.ravel()[table.place(held)]
        self.told = (*(state for state in hidden if state.is_seen), *network.seen)
        self.shown = _joined(held, tuple(one.name for one in self.told), tuple(len(one.values) for one in self.told))
        self.target = _joined(held, tuple(v.name for v in observable), tuple(len(v.values) for v in observable))

    def ways(self, outcome: Ids, outcomes: int) -> Ways:
        return Ways(self.size, outcomes, self.before, outcome, self.after, self.chance, self.pays)

    def outcome_name(self, code: int) -> str:
        sizes = tuple(len(one.values) for one in self.told)
        values = np.unravel_index(code, sizes) if sizes else ()
        return "/".join(one.values[value] for one, value in zip(self.told, values, strict=True)) or NOTHING


@dataclass(frozen=True, eq=False)
class PomdpxMenu(CachedMenu):
    """The actions in each visible state, made when it is first met."""

    network: Network
    observable: tuple[Variable, ...]
    hidden: tuple[Variable, ...]
    looks: tuple[Observable, Action] | None = None

    def with_look(
        self, drawn: tuple[Variable, ...], first: dict[str, Ids], place: Ids, chance: Array, prior: Array
    ) -> tuple[Observable, PomdpxMenu]:
        """A visible state before all others, and the menus with that: there one looks at the variables `drawn`.

        first, place, chance (E,): the ways to begin, by values, hidden state and probability; prior (H,).
        """
        code = _joined(first, tuple(state.before for state in self.observable), self._sizes)
        codes, outcome = np.unique(code, return_inverse=True)
        self.network.budget.spend(len(codes) * len(prior))
        joint = np.zeros((len(prior), len(codes)))
        np.add.at(joint, (place, outcome.ravel()), chance)
        ruled_out = joint.sum(axis=0)
        likelihood = np.where(prior[:, None] > 0, joint / np.where(prior > 0, prior, 1.0)[:, None], ruled_out)
        places = [tuple(int(one) for one in np.unravel_index(one, self._sizes)) for one in codes]
        told = [number for number, state in enumerate(self.observable) if state in drawn]
        names = tuple("/".join(self.observable[number].values[here[number]] for number in told) for here in places)
        over = [self._is_over(one, here) for one, here in zip(codes.tolist(), places, strict=True)]
        leads_to = tuple(
            END if ends and not all(over) else self.label(here) for ends, here in zip(over, places, strict=True)
        )
        look = Action(LOOK, np.zeros(len(prior)), likelihood, names, leads_to)
        start = FIRST
        while start in leads_to:
            start += "'"
        return start, replace(self, looks=(start, look))

    def label(self, values: tuple[int, ...]) -> Observable:
        """The visible state with these values: the name of the one, or a tuple of names."""
        names = tuple(state.values[value] for state, value in zip(self.observable, values, strict=True))
        return names[0] if len(names) == 1 else names

    def build(self, observable: Any) -> tuple[Action, ...]:
        if self.looks and observable == self.looks[0]:
            return (self.looks[1],)
        names = (observable,) if len(self.observable) == 1 else observable
        here = tuple(state.numbers[name] for state, name in zip(self.observable, names, strict=True))
        return tuple(self._action(choice, step) for choice, step in self._steps(here))

    @cached_property
    def _over(self) -> dict[int, bool]:
        return {}

    @property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(len(state.values) for state in self.observable)

    def _steps(self, here: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], _Step]]:
        held = {state.before: value for state, value in zip(self.observable, here, strict=True)}
        for choice in self.network.choices:
            yield choice, _Step(self.network, self.observable, self.hidden, held, choice)

    def _action(self, choice: tuple[int, ...], step: _Step) -> Action:
        targets = np.unique(step.target)
        codes, outcome = np.unique(
            step.shown * len(targets) + np.searchsorted(targets, step.target), return_inverse=True
        )
        shown, number = np.divmod(codes, len(targets))
        places = [tuple(int(one) for one in np.unravel_index(target, self._sizes)) for target in targets[number]]
        labels = [self.label(place) for place in places]
        names = [step.outcome_name(code) for code in shown.tolist()]
        if len(targets) > 1:
            where = [label if isinstance(label, str) else "/".join(cast("tuple[str, ...]", label)) for label in labels]
            names = [w if name == NOTHING else f"{name}/{w}" for name, w in zip(names, where, strict=True)]
        over = [self._is_over(code, place) for code, place in zip(targets[number].tolist(), places, strict=True)]
        leads_to = tuple(END if ends else label for ends, label in zip(over, labels, strict=True))
        ways, name = step.ways(outcome.ravel(), len(codes)), self.network.act_name(choice)
        action = Action.from_ways(name, ways, tuple(names), leads_to)
        if action.ends_episode and action.pays is not None:
            return replace(action, leads_to=tuple(labels))  # what it pays is left to chance: the end comes a step later
        return action

    def _is_over(self, code: int, place: tuple[int, ...]) -> bool:
        """Whether nothing can happen any more in a visible state: it is never left, pays nothing and shows nothing."""
        if code not in self._over:
            self._over[code] = all(
                (step.target == code).all() and not step.pays.any() and _shows_nothing(step)
                for _, step in self._steps(place)
            )
        return self._over[code]


def _shows_nothing(step: _Step) -> bool:
    """Whether what is seen has nothing to do with the hidden state, as it was before or as it is after."""
    can = step.chance > 0
    ways, pair = np.unique((step.before * step.size + step.after)[can], return_inverse=True)
    codes, outcome = np.unique(step.shown[can], return_inverse=True)
    place, entry = np.unique(pair.ravel() * len(codes) + outcome.ravel(), return_inverse=True)
    chance = np.bincount(entry.ravel(), step.chance[can])
    share = chance / np.bincount(pair.ravel(), step.chance[can])[place // len(codes)]
    lowest, highest = np.full(len(codes), np.inf), np.full(len(codes), -np.inf)
    np.minimum.at(lowest, place % len(codes), share)
    np.maximum.at(highest, place % len(codes), share)
    met = np.bincount(place % len(codes), minlength=len(codes))
    return bool((met == len(ways)).all() and (highest - lowest).max() <= 1e-12)


def _start(network: Network) -> tuple[Array, dict[str, Ids]]:
    """The first values of the state variables together, and how probable they are."""
    held: dict[str, Ids] = {"\0": np.zeros(1, dtype=np.int64)}
    chance = np.ones(1)
    for table in network.start:
        held, chance = _expanded(held, chance, table, network.budget)
    return chance, {name: np.broadcast_to(values, chance.shape) for name, values in held.items()}


def _expanded(held: dict[str, Ids], chance: Array, table: Table, budget: Budget) -> tuple[dict[str, Ids], Array]:
    """Every way so far with every value that the variable of `table` can then have. held: the values (E,) of each
    variable, or one number that all ways have."""
    place = table.place(held)
    only = table.only[place]
    if (only >= 0).all():
        budget.spend(len(chance))
        return {**held, table.name: only}, chance * table.rows[place, only]
    place = np.broadcast_to(place, chance.shape)
    counts = table.counts[place]
    ways = int(counts.sum())
    budget.spend(PER_WAY * ways)
    values, shares, starts = table.left
    entry = np.arange(ways) + np.repeat(starts[place] - np.cumsum(counts) + counts, counts)
    after = {name: np.repeat(one, counts) if one.ndim else one for name, one in held.items()}
    after[table.name] = values[entry]
    return after, np.repeat(chance, counts) * shares[entry]


def _codes(parts: list[Ids]) -> Ids:
    """The different numbers in `parts`, in order."""
    most = 1 + max(int(part.max()) for part in parts)
    if most > sum(len(part) for part in parts):
        return np.unique(np.concatenate([np.unique(part) for part in parts]))
    there = np.zeros(most, dtype=bool)
    for part in parts:
        there[part] = True
    return np.flatnonzero(there)


def _joined(held: dict[str, Ids], names: tuple[str, ...], sizes: tuple[int, ...]) -> Ids:
    """The values of several variables as one number."""
    result = np.zeros_like(held["\0"])
    for name, size in zip(names, sizes, strict=True):
        result = result * size + held[name]
    return result
