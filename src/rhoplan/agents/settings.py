"""The settings of an agent in one table: the names of each, its range and its description.

Options of the command line, fields of the API, arguments in Python, keys of records and logs, and the notes on settings
that are not used derive from it. It imports little, because the command line reads it to print its help.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rhoplan.agents.registry import PLANNERS, UTILITIES
from rhoplan.errors import AgentError, in_a_row
from rhoplan.model.limits import LARGEST_HORIZON, UNITS

DEFAULT_SIMULATIONS = 1000

DEFAULT_NEAR = 0.01
"""Two actions whose values differ by less than this share of the expected loss are reported as about equally good."""

LARGEST_NUMBER = 1e300
"""Numbers in JSON must be smaller: it can hold infinity, NaN, and whole numbers beyond the range of floats."""


@dataclass(frozen=True)
class Setting:
    """One setting of an agent.

    name: of options, API fields, records and logs. word: the argument of `make_agent`; field: the argument of
    `rhoplan.agent` and the field of the objective or the planner; both default to the name. kind: int, float, str, or
    tuple for a list of numbers. about: what it does; `{planners}` stands for the planners that take it. otherwise: the
    default in words, if `default` does not say it. low, high: the range, without low itself if is_above; most_served:
    the largest value that a server accepts. rule: the range in words. is_share: whether it may be written as a
    percentage. of: what it is a setting of. is_kept: whether a case log contains it; may_lack: whether it may be
    missing there.
    """

    name: str
    kind: type
    about: str
    of: str
    word: str = ""
    field: str = ""
    default: Any = None
    otherwise: str | None = None
    low: float | None = None
    high: float | None = None
    most_served: float | None = None
    is_above: bool = False
    rule: str = ""
    is_share: bool = False
    is_kept: bool = True
    may_lack: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "word", self.word or self.name)
        object.__setattr__(self, "field", self.field or self.word)

    @property
    def users(self) -> tuple[str, ...]:
        """The planners that take this setting."""
        return tuple(name for name in PLANNERS.built_in if self.field in PLANNERS[name].takes)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that it can have; empty if it is not a name."""
        return tuple({"unit": UNITS, "planner": PLANNERS, "utility": UTILITIES}.get(self.name, ()))

    @property
    def help(self) -> str:
        """What it does, in a sentence."""
        *others, last = self.users or ("",)
        return self.about.format(planners=f"{', '.join(others)} and {last}" if others else last)

    def check(self, value: Any) -> None:
        """Raise AgentError unless `value` lies in the range."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        inside = low <= value <= high and not (self.is_above and value == low)
        if not inside or (self.kind is int and value % 1 != 0):
            shown = f"{value:g}" if isinstance(value, float) else f"{value}"
            raise AgentError(
                f"{self.name} must be {self.rule}; it is {shown}", field=(self.name,), code="setting-range"
            )

    def reads(self, value: Any) -> bool:
        """Whether `value`, from JSON, has the type of the setting."""
        if value is None:
            return self.may_lack
        if self.kind is float:
            return is_number(value)
        if self.kind is tuple:
            return isinstance(value, list) and all(map(is_number, value))
        return type(value) is self.kind


def is_number(value: Any) -> bool:
    """Whether `value`, read from JSON, is a finite number below LARGEST_NUMBER in size."""
    return type(value) in (int, float) and abs(value) < LARGEST_NUMBER


FINITE = math.nextafter(math.inf, 0.0)

_TABLE = (
    Setting(
        "horizon", int, "Actions to look ahead.", "planner", otherwise="the problem's own", low=1, high=LARGEST_HORIZON,
        rule=f"a whole number from 1 to {LARGEST_HORIZON}",
    ),
    Setting("planner", str, "How to look ahead.", "agent", otherwise="see rhoplan list", may_lack=True),
    Setting(
        "simulations", int, "Simulations per decision of {planners}.", "planner", otherwise=f"{DEFAULT_SIMULATIONS}",
        low=1, most_served=10_000_000, rule="at least 1", is_kept=False,
    ),
    Setting(
        "time", float, "Seconds per decision of {planners}.", "planner", word="seconds", low=0, high=FINITE,
        is_above=True, rule="above 0 seconds and finite", is_kept=False,
    ),
    Setting(
        "exploration", float, "UCB1 constant of {planners}.", "planner", otherwise="by the rewards", low=0, high=FINITE,
        rule="at least 0 and finite", is_kept=False,
    ),
    Setting(
        "precision", float, "Softmax over values with this precision.", "objective", field="inverse_temperature",
        default=math.inf, otherwise="none", low=0, is_above=True, rule="above 0", may_lack=True,
    ),
    Setting(
        "weight", float, "Reward per unit of information.", "objective", field="information_weight",
        otherwise="see rhoplan list", low=0, rule="a number of at least 0",
    ),
    Setting("unit", str, "Unit of information.", "objective", field="information_unit", default="nats"),
    Setting(
        "discount", float, "What the next step's value counts for.", "objective",
        otherwise="the problem's own, mostly 1", low=0, high=1, is_above=True, rule="above 0 and at most 1",
    ),
    Setting(
        "utility", str, "What the weight is for, besides reward.", "objective", otherwise="information", may_lack=True,
    ),
    Setting(
        "target", tuple, "Belief that target-belief aims at: a probability per state, in order.", "objective",
        may_lack=True,
    ),
    Setting(
        "near", float, "Share of the expected loss within which two actions are told to be about as good.", "words",
        default=DEFAULT_NEAR, otherwise=f"{DEFAULT_NEAR:.0%}", low=0, high=1, rule="a share from 0 to 1",
        is_share=True, may_lack=True,
    ),
)  # fmt: skip

SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _TABLE}
"""Every setting, in the order of help and records."""

KEPT = tuple(setting for setting in _TABLE if setting.is_kept)
"""The settings that a case log contains."""


def checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings` of `make_agent` that are not None; AgentError if one is unknown or out of range, used or not."""
    by_word = {setting.word: setting for setting in _TABLE}
    for word, value in settings.items():
        if word not in by_word:
            raise AgentError(f"an agent has no setting '{word}'; it has {in_a_row(by_word)}", field=(word,))
        if value is not None and by_word[word].kind in (int, float):
            by_word[word].check(value)
    return {word: value for word, value in settings.items() if value is not None}


def unused(planner: str, takes: Iterable[str], given: Mapping[str, Any]) -> list[str]:
    """A note for each setting of planners in `given` that `planner`, whose settings are `takes`, does not have."""
    return [
        f"planner {planner} does not use {setting.name}"
        for setting in _TABLE
        if setting.of == "planner" and setting.word in given and setting.field not in takes
    ]


def unlike(has: Mapping[str, Any], given: Mapping[str, Any]) -> list[str]:
    """Names of the settings in `given` whose values are not those in `has`; both by the arguments of `make_agent`."""
    said = (setting for setting in _TABLE if setting.word in given)
    return [one.name for one in said if one.word not in has or given[one.word] != has[one.word]]
