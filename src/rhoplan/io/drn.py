"""Storm's explicit `.drn` files of POMDPs: states one by one, each with its observation, actions and where they lead.

    @type: POMDP
    @reward_models
    reward
    @nr_states
    2
    @model
    state 0 {3} [0] init
        action listen [-1]
            0 : 0.5
            1 : 1/2

An observation belongs to a state, and states that share it have the same actions: it is the visible state here, and
what is hidden is which of its states one is in. In a file of many states and observations these are called by their
number among the states of their observation: no action has then more of them than the largest observation has. An
observation whose states are never left and pay nothing is END. The file has no discount: it is 1.

Shapes: S states, E ways in which an action can go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from rhoplan.belief_math.transitions import Ways
from rhoplan.errors import ModelFileError, ProblemError
from rhoplan.io.assemble import Rounding, default_horizon, summed
from rhoplan.io.collecting import nothing_collected
from rhoplan.io.foreign import bare_lines, check_size, number_of
from rhoplan.io.tree import shown
from rhoplan.model.limits import LARGEST_REWARD, MOST_MENUS
from rhoplan.model.pomdp import END, POMDP, Action, CachedMenu, Factor, Ids
from rhoplan.model.validate import check_problem

MOST_CHOICES = 5_000

MOST_NAMED = 300_000
"""States times observations up to which all states are told apart everywhere, and are called what the file calls them.
"""

SURE = 9e-13
"""How far probabilities may be from a sum of 1 that nobody would call rounded, added up in any order."""

MOST_LOOKED = 300_000
"""States, menu by menu, that are looked at for faults: a menu says of every state what becomes of it."""

STATE = re.compile(r"state (\d{1,9}) ?(?:\{([^}]*)\})? ?(?:!\S+)? ?(?:\[([^\]]*)\])? ?(.*)", re.ASCII)
ACTION = re.compile(r"action (\S+) ?(?:\[([^\]]*)\])? ?")
LABEL = re.compile(r'"[^"]*"|\S+')
BRANCH = re.compile(r"(\d{1,9}) ?: ?(\S+)", re.ASCII)
"""Of lines in which one space stands wherever there was any."""


@nothing_collected()
def parse_drn(text: str, *, file: str = "problem.drn") -> POMDP:
    """The problem that `text` describes in Storm's format; `file` is what errors call it."""
    reader = _Reader(file)
    for number, line in enumerate(bare_lines(text, "//", file=file), 1):
        reader.line = number
        reader.read(" ".join(line.split()))
    states = reader.finished()
    starts = [number for number, state in enumerate(states) if "init" in state.labels]
    if len(starts) != 1:
        at = states[starts[1]].line if starts else reader.line_of("model")
        raise ModelFileError(
            f"one state must be labelled init; there are {len(starts)}", file=file, line=at, code="drn-syntax"
        )
    seen = len({state.seen for state in states})
    places, note = np.arange(len(states)), reader.note
    names = tuple(str(number) for number in range(len(states)))
    if len(states) * seen > MOST_NAMED:
        places = _places_inside(states)
        names = tuple(f"its state {number}" for number in range(int(places.max()) + 1))
        check_size("the states of all observations", len(names) * seen, file=file)
        told = (
            f"{len(states):,} states are called by their number among those of their observation, from 0: "
            "information is what is learned about that number"
        )
        note = f"{note}; {told}" if note else told
    menu = DrnMenu(tuple(states), places)
    start = states[starts[0]].seen
    factor = Factor("state", names, np.eye(1, len(names), places[starts[0]]).ravel())
    name = Path(file).stem
    try:
        problem = POMDP(name, (factor,), start, menu, horizon=default_horizon(menu(start)), note=note, spec=file)
        check_problem(problem, most=max(1, min(MOST_MENUS, MOST_LOOKED // len(names))))
    except ProblemError as error:
        raise ModelFileError(error.message, file=file, field=error.field, code=error.code) from None
    return problem


def _places_inside(states: list[State]) -> Ids:
    """The place (S,) of each state among those of its observation."""
    counts: dict[str, int] = {}
    found = np.empty(len(states), dtype=np.int64)
    for number, state in enumerate(states):
        found[number] = counts.get(state.seen, 0)
        counts[state.seen] = int(found[number]) + 1
    return found


@dataclass
class Choice:
    """One action in one state: what it pays, and where it leads with which probability."""

    name: str
    pays: float
    line: int
    branches: dict[int, float] = field(default_factory=dict)


@dataclass
class State:
    """A state, its observation, what being there pays, its labels and its actions."""

    seen: str
    pays: float
    labels: tuple[str, ...]
    line: int
    choices: list[Choice] = field(default_factory=list)

    def is_sink(self, number: int) -> bool:
        """Whether it is never left and pays nothing."""
        return not self.pays and all(not one.pays and one.branches.keys() == {number} for one in self.choices)


class _Reader:
    """Takes a file line by line."""

    def __init__(self, file: str) -> None:
        self.file, self.line = file, 0
        self.rounding = Rounding()
        self._states: list[State] = []
        self._names: set[str] = set()
        self._section = ""
        self._lines: dict[str, list[str]] = {}
        self._begins: dict[str, int] = {}

    def line_of(self, section: str) -> int | None:
        """The line in which a section begins."""
        return self._begins.get(section)

    @cached_property
    def _said(self) -> dict[str, str]:
        """What each section before the model says; to be asked for once all is read."""
        return {section: " ".join(lines).strip() for section, lines in self._lines.items()}

    @property
    def _models(self) -> list[str]:
        return " ".join(self._lines.get("reward_models", [])).split()

    @property
    def note(self) -> str:
        models = self._models
        told = [f"rewards are those of {models[0]}, of {len(models)} in the file"] if len(models) > 1 else []
        pays = any(state.pays or any(choice.pays for choice in state.choices) for state in self._states)
        told += [] if models or pays else ["the file has no rewards: every plan is worth 0"]
        return "; ".join([*told, *([self.rounding.note] if self.rounding.note else [])])

    def read(self, line: str) -> None:
        if line.startswith("@"):
            self._section, _, value = line[1:].partition(":")
            self._lines[self._section] = [value.strip()]
            self._begins[self._section] = self.line
        elif not line:
            return
        elif self._section != "model":
            self._lines.setdefault(self._section, []).append(line)
        elif line.startswith("state"):
            self._state(line)
        elif line.startswith("action"):
            self._action(line)
        else:
            self._branch(line)

    def finished(self) -> list[State]:
        if "model" not in self._begins:
            self._fault("a line '@model' must come before the states; there is none", None)
        if self._said.get("type", "").upper() != "POMDP":
            self._wrong("type", "must be POMDP")
        if said := self._said.get("parameters"):
            self._fault(f"a problem must have no parameters; it has {shown(said)}", self.line_of("parameters"))
        count = self._said.get("nr_states", "")
        if not self._states or (count and count != str(len(self._states))):
            self._wrong("nr_states", f"must be the number of states, {len(self._states)}")
        for number, state in enumerate(self._states):
            if not state.choices:
                self._fault(f"state {number} must have an action; it has none", state.line)
            for choice in state.choices:
                self._check(number, choice)
        count, choices = self._said.get("nr_choices", ""), sum(len(state.choices) for state in self._states)
        if count and count != str(choices):
            self._wrong("nr_choices", f"must be the number of actions of all states, {choices}")
        self._check_alike()
        return self._states

    def _state(self, line: str) -> None:
        found = STATE.fullmatch(line)
        if not found or int(found[1]) != len(self._states):
            self._fault(f"expected 'state {len(self._states)} {{observation}} [reward] labels'; found '{shown(line)}'")
        if not found[2] or not found[2].strip():
            self._fault(f"state {found[1]} must have an observation in braces")
        labels = tuple(label.strip('"') for label in LABEL.findall(found[4]))
        self._states.append(State(found[2].strip(), self._reward(found[3]), labels, self.line))

    def _action(self, line: str) -> None:
        found = ACTION.fullmatch(line)
        if not found or not self._states:
            self._fault(f"expected 'action name [reward]'; found '{shown(line)}'")
        choices = self._states[-1].choices
        name = found[1].strip("()") or found[1]
        if len(choices) == MOST_CHOICES:
            self._fault(f"a state may have {MOST_CHOICES:,} actions at most; state {len(self._states) - 1} has more")
        if not choices:
            self._names = set()
        if name in self._names:
            name = f"{name}-{len(choices)}"
        self._names.add(name)
        choices.append(Choice(name, self._reward(found[2]), self.line))

    def _branch(self, line: str) -> None:
        found = BRANCH.fullmatch(line)
        if not found or not self._states or not self._states[-1].choices:
            self._fault(
                f"expected 'state {len(self._states)} ...', an action, or 'state : probability'; found '{shown(line)}'"
            )
        branches = self._states[-1].choices[-1].branches
        target, chance = int(found[1]), self._number(found[2])
        if chance < 0:
            self._fault(f"expected a probability; found '{shown(found[2])}'")
        branches[target] = branches.get(target, 0.0) + chance

    def _reward(self, text: str | None) -> float:
        if not text or not text.strip():
            return 0.0
        paid, models = [self._number(one.strip()) for one in text.split(",")], self._models
        if models and len(paid) != len(models):
            self._fault(f"expected a reward for each of {', '.join(models)}; found '{shown(text)}'")
        if abs(paid[0]) > LARGEST_REWARD:
            self._fault(f"a reward must be at most {LARGEST_REWARD:g} large; it is {paid[0]:g}", code="reward-range")
        return paid[0]

    def _number(self, text: str) -> float:
        top, slash, bottom = text.partition("/")
        found = number_of(text)
        if slash and (under := number_of(bottom)):
            found = number_of(top) / under
        if not np.isfinite(found):
            self._fault(f"expected a number; found '{shown(text)}'")
        return found

    def _check(self, number: int, choice: Choice) -> None:
        """The branches of `choice` as probabilities that sum to 1."""
        chances = choice.branches.values()
        if not chances or abs(sum(chances) - 1) > SURE:
            numbers = np.array([list(chances)])
            rows, wrong = self.rounding.normalised(numbers)
            if not chances or wrong[0]:
                self._fault(
                    f"action '{choice.name}' of state {number} must have probabilities that sum to 1; "
                    f"{summed(numbers)}",
                    choice.line,
                    code="transition-row-sum",
                )
            choice.branches = dict(zip(choice.branches, rows[0].tolist(), strict=True))
        if (target := max(choice.branches)) >= len(self._states):
            self._fault(f"expected a state below {len(self._states)}; found {target}", choice.line)
        for target in [target for target, chance in choice.branches.items() if chance == 0]:
            del choice.branches[target]

    def _check_alike(self) -> None:
        first: dict[str, int] = {}
        for number, state in enumerate(self._states):
            other = self._states[first.setdefault(state.seen, number)]
            mine, theirs = ([choice.name for choice in one.choices] for one in (state, other))
            if mine != theirs:
                self._fault(
                    f"states that share an observation must have the same actions; state {number} has "
                    f"{', '.join(mine)}, state {first[state.seen]} {', '.join(theirs)}",
                    state.line,
                    code="different-actions",
                )

    def _wrong(self, section: str, must: str) -> NoReturn:
        """A section that does not say what it must."""
        self._fault(f"@{section} {must}; it is '{shown(self._said.get(section, ''))}'", self.line_of(section))

    def _fault(self, message: str, line: int | None = -1, *, code: str = "drn-syntax") -> NoReturn:
        raise ModelFileError(message, file=self.file, line=self.line if line == -1 else line, code=code)


@dataclass(frozen=True, eq=False)
class DrnMenu(CachedMenu):
    """The actions that go with each observation. places (S,): what each state is called where it is hidden; of what is
    called so in other observations alone nothing is asked: it stays."""

    states: tuple[State, ...]
    places: Ids

    @cached_property
    def pays_between(self) -> tuple[float, float]:
        """The least and the most that any action of any menu pays."""
        paid = [state.pays + choice.pays for state in self.states for choice in state.choices]
        return min(paid), max(paid)

    @cached_property
    def _size(self) -> int:
        return int(self.places.max()) + 1

    @cached_property
    def _over(self) -> set[str]:
        """Observations after which nothing can happen any more."""
        alive = {state.seen for number, state in enumerate(self.states) if not state.is_sink(number)}
        return {state.seen for state in self.states} - alive

    @cached_property
    def _inside(self) -> dict[str, list[int]]:
        """The states of each observation."""
        found: dict[str, list[int]] = {}
        for number, state in enumerate(self.states):
            found.setdefault(state.seen, []).append(number)
        return found

    def build(self, observable: Any) -> tuple[Action, ...]:
        inside = self._inside[observable]
        return tuple(self._action(place, inside) for place in range(len(self.states[inside[0]].choices)))

    def _action(self, place: int, inside: list[int]) -> Action:
        branches = [
            (number, target, chance)
            for number in inside
            for target, chance in self.states[number].choices[place].branches.items()
        ]
        seen = list(dict.fromkeys(self.states[target].seen for _, target, _ in branches))
        numbers = {observation: number for number, observation in enumerate(seen)}
        elsewhere = np.ones(self._size, dtype=bool)
        elsewhere[self.places[inside]] = False
        others = np.flatnonzero(elsewhere)
        outcome = np.array([numbers[self.states[target].seen] for _, target, _ in branches])
        paid = {number: self.states[number].pays + self.states[number].choices[place].pays for number in inside}
        ways = Ways(
            self._size,
            len(seen),
            np.concatenate([self.places[[number for number, _, _ in branches]], others]),
            np.concatenate([outcome, np.zeros_like(others)]),
            np.concatenate([self.places[[target for _, target, _ in branches]], others]),
            np.concatenate([np.array([chance for _, _, chance in branches]), np.ones(len(others))]),
            np.concatenate([[paid[number] for number, _, _ in branches], np.full(len(others), paid[inside[0]])]),
        )
        leads_to = tuple(END if observation in self._over else observation for observation in seen)
        return Action.from_ways(self.states[inside[0]].choices[place].name, ways, tuple(seen), leads_to)
