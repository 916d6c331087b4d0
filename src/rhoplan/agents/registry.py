"""What can be asked for by name: planners (how to look ahead) and utilities (what is valued besides reward).

A new one is a file and a row here; the command line, the API, records and logs all read these rows. A row names its
home instead of importing it, so that asking for help does not wait for the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rhoplan.errors import AgentError


@dataclass(frozen=True)
class Registered:
    """What there is to know of a planner or a utility before it is loaded.

    home: the class or function that makes it, or where that is, as `module:name`. takes: names of the settings that it
    is made with (see `settings.SETTINGS`). samples: whether decisions come from simulations, so that they have a seed.
    """

    about: str
    home: str | Callable[..., Any]
    takes: tuple[str, ...] = ()
    samples: bool = False

    def load(self) -> Callable[..., Any]:
        """What makes it."""
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.partition(":")
        found: Callable[..., Any] = getattr(import_module(module), name)
        return found


HERE = "rhoplan.agents.planners"
SEARCH = ("horizon", "simulations", "time", "exploration")

PLANNERS: dict[str, Registered] = {
    "exact": Registered(
        "every plan of the horizon, then the problem's own leaf", f"{HERE}.planner:Exact", ("horizon",)
    ),
    "anytime": Registered(
        "every plan of the horizon, then what errands and walks are worth; deeper with --time",
        f"{HERE}.anytime:Anytime",
        ("horizon", "time"),
    ),
    "many": Registered(
        "branch and bound over evidence, with no horizon: for dozens of tests that run once",
        f"{HERE}.many:Many",
        ("horizon", "time"),
    ),
    "mcts": Registered(
        "a UCB1 tree over beliefs, outcomes enumerated, greedy EFE rollouts",
        f"{HERE}.search:Mcts",
        SEARCH,
        samples=True,
    ),
    "pomcp": Registered(
        "a UCB1 tree over histories, sampled states, semi-informed rollouts",
        f"{HERE}.search:Pomcp",
        SEARCH,
        samples=True,
    ),
}
"""How an agent looks ahead."""

UTILITIES: dict[str, Registered] = {
    "information": Registered("expected information of each test", "rhoplan.planning.utility:Information"),
    "negative-entropy": Registered(
        "minus the doubt at every action, commits included", "rhoplan.planning.utility:NegativeEntropy"
    ),
    "target-belief": Registered(
        "minus the divergence of the belief from --target at every action",
        "rhoplan.planning.utility:TargetBelief",
        ("target",),
    ),
}
"""What an agent values besides reward, times the weight."""


def row_of(rows: dict[str, Registered], name: str, what: str) -> Registered:
    """The row `name`; AgentError says which there are."""
    if name not in rows:
        raise AgentError(
            f"there is no {what} '{name}'; there are {', '.join(rows)}", field=(what,), code="unknown-name"
        )
    return rows[name]
