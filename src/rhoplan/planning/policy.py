"""The policy protocol: which action to take at a belief, and optionally action values, a value and a file.

Every planner returns a `Policy`, `FunctionPolicy` makes one of a function, and everything that follows a policy
(evaluation, simulation, recommendations) needs nothing else. Evaluation and simulation ask for many beliefs at once:
`Policy.on` gives the policy at the nodes of a belief graph.

Shapes: n nodes of a batch, k pairs of a node and an action that is taken there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from rhoplan.belief_math.information import information
from rhoplan.errors import AgentError, EvidenceError, MissingExtra, NotAvailable, in_a_row
from rhoplan.graph.belief_graph import BeliefGraph
from rhoplan.model.belief import Belief, as_belief, names_of
from rhoplan.model.horizon import Left
from rhoplan.model.pomdp import END, POMDP, Action, Array, Ids

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

BeliefLike: TypeAlias = Any
"""A Belief, an array of probabilities, or a mapping of states to probabilities: see `belief.as_belief`."""

Seed: TypeAlias = tuple[int, ...]
"""Whole numbers that determine the random numbers of one decision."""

LOOKAHEAD, LOWER_BOUND = "lookahead", "lower bound"
"""Kinds of values: of a plan of H steps; a lower bound on the value of following the policy."""

COLUMNS = ("action", "reward", "information", "weighted_information", "continuation", "value")


@dataclass(frozen=True)
class ValueTerms:
    """The terms of one action's value: reward + weighted_information + continuation = value.

    information: expected information gain in nats. weighted_information: what the objective adds for it. absolute:
    the expected sum of absolute rewards of the action and the plan afterwards, the scale of ties; None if unknown.
    """

    action: str
    reward: float
    information: float
    weighted_information: float
    continuation: float
    absolute: float | None = field(default=None, compare=False)

    @property
    def value(self) -> float:
        """The sum of the terms."""
        return self.reward + self.weighted_information + self.continuation


@dataclass(frozen=True, repr=False)
class ActionValues(Mapping[str, ValueTerms]):
    """The value of each available action at a belief, by name.

    kind: as `Policy.value_kind`, or `estimated`. rounding: size of the weighted information that can still be gained,
    for ties.
    """

    rows: tuple[ValueTerms, ...]
    kind: str = "exact"
    rounding: float = field(default=0.0, compare=False)

    def __getitem__(self, action: str) -> ValueTerms:
        for row in self.rows:
            if row.action == action:
                return row
        raise KeyError(action)

    def __iter__(self) -> Iterator[str]:
        return (row.action for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per action and a column for each term and the value."""
        return frame([_cells(row) for row in self.rows], COLUMNS, "action")

    def __repr__(self) -> str:
        ordered = sorted(self.rows, key=lambda row: -row.value)
        return f"ActionValues({', '.join(f'{row.action} {row.value:.6g}' for row in ordered)}; {self.kind})"

    def _repr_html_(self) -> str:
        return html_table(COLUMNS, [[row.action, *(f"{cell:.6g}" for cell in _cells(row)[1:])] for row in self.rows])


def _cells(row: ValueTerms) -> list[Any]:
    return [getattr(row, column) for column in COLUMNS]


class PolicyOnGraph(Protocol):
    """A policy at the nodes of a belief graph."""

    graph: BeliefGraph

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        """What is done at `nodes`: position of the node (in order), place of the action and probability, all (k,).

        seeds: one for each node, for policies that sample.
        """


class Policy(ABC):
    """What to do at each belief of `problem`.

    value_kind: what `value` returns: `exact` or `lower bound` (of the value of following the policy), `lookahead` (the
    value of the plan of H steps), or None where there is no value. samples: whether actions depend on random numbers.
    is_timed: whether a limit of time may change actions.
    """

    problem: POMDP
    value_kind: str | None = None
    samples: bool = False
    is_timed: bool = False

    @abstractmethod
    def action(self, belief: BeliefLike) -> str:
        """The name of the action taken at `belief`; the most probable one if the policy is randomised."""

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        """The probability of each available action at `belief`."""
        held = self.belief(belief)
        taken = self.action(held)
        return {name: float(name == taken) for name in held.actions}

    def action_values(self, belief: BeliefLike) -> ActionValues:
        """The value of each available action at `belief`, in terms that add up."""
        raise NotAvailable(f"{self.name} has no action values: it only selects actions", field=("policy",))

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]] | None:
        """Certified bounds on the value of each action, with the best plan afterwards; None if there are none."""
        return None

    def proven(self, belief: BeliefLike) -> str | None:
        """The action that bounds prove to be optimal at `belief`, if they prove one."""
        return None

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        """The policy at the nodes of `graph`, whose problem has the names of the policy's. It may expand the graph."""
        return AskedOnGraph(self, graph)

    def value(self, belief: BeliefLike) -> float:
        """The value at `belief`; `value_kind` says of what."""
        raise NotAvailable(
            f"{self.name} has no value: estimate it with rhoplan.simulate, or compute it with rhoplan.evaluate",
            field=("policy",),
        )

    def save(self, path: Path | str) -> None:
        """Write the policy to a file that `rhoplan.load_policy` reads."""
        raise NotAvailable(f"{self.name} cannot be saved: it is code, not data", field=("policy",))

    @property
    def name(self) -> str:
        """How messages and tables refer to it."""
        return type(self).__name__

    def belief(self, belief: BeliefLike) -> Belief:
        """`belief` as a Belief of the policy's problem, at which an action can be taken.

        If that has a horizon, the initial belief of the problem without one is at the first step; a later one is
        refused, because it does not say how many actions are left.
        """
        start = self.problem.start
        if (
            isinstance(start, Left)
            and isinstance(belief, Belief)
            and not isinstance(belief.observable, Left)
            and names_of(belief.problem) == names_of(self.problem)
            and belief == belief.problem.belief()
        ):
            belief = Belief(self.problem, start, belief.beliefs)
        found = as_belief(self.problem, belief)
        if found.observable is END:
            raise EvidenceError(
                f"the episode of '{self.problem.name}' has ended: there is nothing left to decide", code="episode-ended"
            )
        return found


class DelegatingPolicy(Policy):
    """A policy that acts as another policy of the same problem."""

    @cached_property
    @abstractmethod
    def policy(self) -> Policy:
        """The policy that selects actions."""

    def action(self, belief: BeliefLike) -> str:
        return self.policy.action(self.belief(belief))

    def probabilities(self, belief: BeliefLike) -> dict[str, float]:
        return self.policy.probabilities(self.belief(belief))

    def action_values(self, belief: BeliefLike) -> ActionValues:
        return self.policy.action_values(self.belief(belief))

    def action_bounds(self, belief: BeliefLike) -> dict[str, tuple[float, float]] | None:
        return self.policy.action_bounds(self.belief(belief))

    def proven(self, belief: BeliefLike) -> str | None:
        return self.policy.proven(self.belief(belief))

    def value(self, belief: BeliefLike) -> float:
        return self.policy.value(self.belief(belief))

    def on(self, graph: BeliefGraph) -> PolicyOnGraph:
        return self.policy.on(graph)

    def save(self, path: Path | str) -> None:
        self.policy.save(path)


class AskedOnGraph:
    """A policy applied to one belief after the other; its actions at a node are kept."""

    def __init__(self, policy: Policy, graph: BeliefGraph) -> None:
        self.graph, self._policy = graph, policy
        self._kept: dict[int, tuple[list[int], list[float]]] = {}

    def choose(self, nodes: Ids, seeds: Sequence[Seed] = ()) -> tuple[Ids, Ids, Array]:
        found = [self._at(node) for node in nodes.tolist()]
        row = np.repeat(np.arange(len(nodes)), [len(places) for places, _ in found])
        place = np.array([place for places, _ in found for place in places], dtype=np.int64)
        return row, place, np.array([share for _, shares in found for share in shares])

    def _at(self, node: int) -> tuple[list[int], list[float]]:
        """Places and probabilities of the actions that are taken at `node`."""
        if node not in self._kept:
            self.graph.budget.check(self.graph.size, self.graph.nbytes)
            names = self.graph.table.names(int(self.graph.observable[node]))
            belief = self.graph.situation(node)
            shares = {name: share for name, share in self._policy.probabilities(belief).items() if share > 0}
            places = [names.index(checked_action(belief, name, self._policy.name)) for name in shares]
            self._kept[node] = places, list(shares.values())
        return self._kept[node]


class FunctionPolicy(Policy):
    """A policy given by a function from a Belief to the name of an action."""

    def __init__(self, problem: POMDP, function: Callable[[Belief], str]) -> None:
        if not callable(function):
            raise AgentError(f"a policy must be a function of the belief; it is {function!r}", field=("policy",))
        self.problem, self.function = problem, function

    @property
    def name(self) -> str:
        """The name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def action(self, belief: BeliefLike) -> str:
        """What the function returns at `belief`."""
        held = self.belief(belief)
        return checked_action(held, self.function(held), self.name)

    def __repr__(self) -> str:
        return f"FunctionPolicy({self.problem.name}, {self.name})"


def checked_action(belief: Belief, name: Any, policy: str) -> str:
    """`name`, if it is an action that is available at `belief`."""
    if name not in belief.actions:
        raise AgentError(
            f"a policy must return the name of an available action, {in_a_row(belief.actions)}; {policy} returned "
            f"{name!r} at {belief}",
            field=("policy",),
        )
    return str(name)


def action_named(belief: Belief, name: str) -> Action:
    """The available action called `name`."""
    return next(action for action in belief.menu if action.name == name)


def immediate_terms(belief: Belief, action: Action) -> tuple[float, float]:
    """Expected reward of `action` at `belief`, and its expected information in nats (0 where it ends the episode)."""
    held = belief.beliefs[action.factor][None, :]
    factor = belief.problem.factors[action.factor]
    gained = 0.0 if action.ends_episode else float(information(held, action, factor)[0])
    return float(held[0] @ action.reward), gained


def frame(rows: list[list[Any]], columns: tuple[str, ...], index: str) -> pd.DataFrame:
    """Rows as a pandas DataFrame; MissingExtra where pandas is not installed."""
    try:
        import pandas as pd
    except ModuleNotFoundError:
        raise MissingExtra("a DataFrame", "pandas") from None
    return pd.DataFrame(rows, columns=list(columns)).set_index(index)


def html_table(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """A plain HTML table."""
    body = "".join(f"<tr><td>{'</td><td>'.join(escape(cell) for cell in row)}</td></tr>" for row in rows)
    names = "</th><th>".join(escape(head) for head in heads)
    return f"<table><thead><tr><th>{names}</th></tr></thead><tbody>{body}</tbody></table>"
