"""The settings of an agent in one table: what each is called, what it may be, and what it does.

Options of the command line, fields of the API, keys of records and logs, and the notes on settings that are not used
are all read from here. Light on purpose: the command line reads it to print its help.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from rhoplan.agents.registry import PLANNERS, UTILITIES
from rhoplan.errors import AgentError
from rhoplan.model.limits import LARGEST_HORIZON, UNITS

DEFAULT_SIMULATIONS = 1000

DEFAULT_NEAR = 0.01
"""Models are seldom known to within a hundredth: a smaller difference is no reason to prefer one action."""

LARGEST_NUMBER = 1e300
"""Far beyond any money; JSON may hold whole numbers that are no floats any more, infinity and what is no number."""


@dataclass(frozen=True)
class Setting:
    """One setting of an agent.

    name: as options, fields, records and logs call it; keyword: as Python calls it where that is another word. kind:
    int, float, str, or tuple for numbers in a row. about: what it does; `{planners}` stands for those that take it.
    otherwise: what holds where nobody says, in words; None where `default` tells. low, high: the range, without low
    itself where is_above; most_served: the most that a server takes. rule: the range in words. is_share: whether it may
    be written as a percentage. choices: the names that it may be. of: what it is a setting of. is_kept: whether a case
    log keeps it; may_lack: whether a log may lack it.
    """

    name: str
    kind: type
    about: str
    of: str
    keyword: str = ""
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

    @property
    def word(self) -> str:
        """The name of the argument in Python."""
        return self.keyword or self.name

    @property
    def users(self) -> tuple[str, ...]:
        """The planners that take this setting, where some do not."""
        return tuple(name for name in PLANNERS.built_in if self.name in PLANNERS[name].takes)

    @property
    def choices(self) -> tuple[str, ...]:
        """The names that it may be; empty where it is no name."""
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
    """Whether `value`, read from JSON, is a number that one can compute with."""
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
        "time", float, "Seconds per decision of {planners}.", "planner", keyword="seconds", low=0, high=FINITE,
        is_above=True, rule="above 0 seconds and finite", is_kept=False,
    ),
    Setting(
        "exploration", float, "UCB1 constant of {planners}.", "planner", otherwise="by the rewards", low=0, high=FINITE,
        rule="at least 0 and finite", is_kept=False,
    ),
    Setting(
        "precision", float, "Softmax over values with this precision.", "objective", default=math.inf, otherwise="none",
        low=0, is_above=True, rule="above 0", may_lack=True,
    ),
    Setting(
        "weight", float, "Reward per unit of information.", "objective", otherwise="see rhoplan list", low=0,
        rule="a number of at least 0",
    ),
    Setting("unit", str, "Unit of information.", "objective", default="nats"),
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
"""Every setting, in the order in which help and records have them."""

KEPT = tuple(setting for setting in _TABLE if setting.is_kept)
"""What a case log keeps of an agent."""


def unused(planner: str, takes: tuple[str, ...], given: dict[str, Any]) -> list[str]:
    """A note for each planner setting in `given` (by its Python name, None where nobody said) that is not taken."""
    return [
        f"planner {planner} does not use {setting.name}"
        for setting in _TABLE
        if setting.of == "planner" and given.get(setting.word) is not None and setting.name not in takes
    ]


def unlike(has: dict[str, Any], given: dict[str, Any]) -> list[str]:
    """Names of the settings in `given` (by Python names, None where nobody said) that are others than those in `has`.

    Numbers out of range are refused, as wherever they are used.
    """
    said = [setting for setting in _TABLE if given.get(setting.word) is not None]
    for setting in said:
        if setting.kind in (int, float):
            setting.check(given[setting.word])
    return [one.name for one in said if one.word not in has or given[one.word] != has[one.word]]
