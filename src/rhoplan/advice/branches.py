"""The records of a pathway: steps, the results that lead on from them, and the leaves where a case ends.

Shares are of all cases that enter the pathway. Every leaf says what cases that end there cost and bring in all, so
share x tests, share x cost and share x reward add up over the leaves to what the whole pathway is expected to bring.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from rhoplan.advice.margin import Lead
from rhoplan.advice.outlay import Ahead
from rhoplan.advice.words import words_of


@dataclass(frozen=True)
class Leaf:
    """Where cases leave the pathway.

    kind: `commit`, or `goes on` where the branch is too small to draw, too much, or comes to a situation that is drawn
    elsewhere (`back_to` is the number of that step). action: the commit, or the test that comes next. share: of all
    cases. spent: what was paid on the way here. tests, cost, reward: expected totals of a case that comes here, from
    the start of the pathway to its end, tests included in the reward. right, commits: how such cases end. cut: share
    of them beyond the cap. ends: in how many situations they end, 1 at a commit.
    """

    number: int
    kind: Literal["commit", "goes on"]
    action: str
    belief: dict[str, float]
    share: float
    spent: float
    tests: float
    cost: float
    reward: float
    right: float
    commits: dict[str, float]
    cut: float = 0.0
    back_to: int | None = None
    ends: int = 1

    @property
    def is_folded(self) -> bool:
        """Whether it stands for a branch that is not drawn anywhere."""
        return self.kind == "goes on" and self.back_to is None

    @property
    def loss(self) -> float:
        """Expected loss of the commit alone, without the tests."""
        return -(self.reward + self.cost) + 0.0


@dataclass(frozen=True)
class Folded:
    """What all folded branches of a pathway stand for together: how many they are, and in how many situations their
    cases end; the share of all cases, and means over these: tests, cost of tests, loss of the commit, right."""

    branches: int
    ends: int
    share: float
    tests: float
    cost: float
    loss: float
    right: float


@dataclass(frozen=True)
class Outcome:
    """One result of a test: how likely it is here, and what comes then."""

    outcome: str
    probability: float
    child: Node


@dataclass(frozen=True)
class Step:
    """A test on the pathway. cost: its price here. spent: what was paid before it. share: of all cases."""

    number: int
    kind: Literal["test"]
    action: str
    cost: float
    belief: dict[str, float]
    share: float
    spent: float
    outcomes: tuple[Outcome, ...]


Node: TypeAlias = Step | Leaf


@dataclass(frozen=True)
class Pathway:
    """The recommended pathway as a tree, what following it brings (`ahead`), and what stands beside its first action.

    looked_for: the state of a two-state model that it is about: the one its file calls positive, else the second.
    field: whose words are used (see `words`).
    """

    problem: str
    unit: str
    agent: str
    horizon: int
    weight: float
    information_unit: str
    given: tuple[tuple[str, str], ...]
    unavailable: tuple[str, ...]
    spent: float
    smallest: float
    root: Node
    ahead: Ahead
    lead: Lead
    looked_for: str = ""
    planner: str = "exact"
    field: str = ""

    @property
    def said(self) -> dict[str, str]:
        """What people of its field call things."""
        return words_of(self.field)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """Steps and leaves, each before what follows it: in the order of their numbers."""
        return tuple(_walk(self.root))

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(node for node in self.nodes if isinstance(node, Leaf))

    @property
    def folded(self) -> Folded | None:
        """What is not drawn; None where everything is."""
        leaves = [leaf for leaf in self.leaves if leaf.is_folded]
        share = sum(leaf.share for leaf in leaves)
        if not share:
            return None
        names = ("tests", "cost", "loss", "right")
        means = {name: sum(leaf.share * getattr(leaf, name) for leaf in leaves) / share for name in names}
        return Folded(len(leaves), sum(leaf.ends for leaf in leaves), share, **means)

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain objects, lists, text and numbers, ready for JSON."""
        record = {name: value for name, value in self.__dict__.items() if name not in ("root", "ahead", "lead")}
        record["given"] = [list(pair) for pair in self.given]
        record["unavailable"] = list(self.unavailable)
        tests, cost = self.ahead.bad_case()
        expected = {**asdict(self.ahead), "tests_90": tests, "cost_90": cost}
        expected["by_tests"] = [list(pair) for pair in self.ahead.by_tests]
        expected["by_cost"] = [list(pair) for pair in self.ahead.by_cost]
        return {**record, **asdict(self.lead), "expected": expected, "root": _plain(self.root)}


def _walk(node: Node) -> Iterator[Node]:
    yield node
    for outcome in node.outcomes if isinstance(node, Step) else ():
        yield from _walk(outcome.child)


def _plain(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {**asdict(node), "loss": node.loss}
    record = {name: value for name, value in node.__dict__.items() if name != "outcomes"}
    record["belief"] = dict(node.belief)
    record["outcomes"] = [
        {"outcome": o.outcome, "probability": o.probability, "child": _plain(o.child)} for o in node.outcomes
    ]
    return record
