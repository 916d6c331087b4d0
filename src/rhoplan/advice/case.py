"""Advice on one case: what to do next, why, what it costs, how sure we are, and how much longer it will take.

An `Adviser` works the parts out one by one, each when it is asked for, with limits of its own; `advise` returns all.
The planner asked for plans where it fits the memory, and what takes its place says so (see `agents.fitting`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace

from rhoplan._old.followed import Plans
from rhoplan._old.graph import Graph
from rhoplan._old.policy import GraphPolicy, action_values, preferred
from rhoplan.advice.first import Evidence, First, tell_first
from rhoplan.advice.outlay import Ahead, outlook, sample_ahead
from rhoplan.advice.part import Bounds, Kind, Part, Sampled, missing
from rhoplan.advice.words import money
from rhoplan.agents.agent import BoundAgent, make_agent
from rhoplan.agents.fitting import MEMORY, Fit, fitting
from rhoplan.agents.planners import Lookahead
from rhoplan.errors import AgentError, EvidenceError, LimitError
from rhoplan.model.belief import Belief
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP

__all__ = ["Advice", "Adviser", "Evidence", "First", "advise", "check_fixed", "follow", "without"]


@dataclass(frozen=True)
class Advice(First):
    """Everything a person must see within five seconds, and the table behind it.

    ahead, cost_only: what is still to come, and what one would do by cost alone; None where that was not worked out.
    kinds, words: of each part, what kind of number it is, and that in words (see `part`). sampled: where `ahead` is
    estimated.
    """

    ahead: Ahead | None = None
    cost_only: str | None = None
    kinds: dict[str, Kind] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    sampled: Sampled | None = None


class Adviser:
    """Advice by `agent` on a case of `problem` in which `given` was seen, part by part; what was worked out is kept.

    unavailable: tests that cannot be had from now on. graph: one to use again between cases with the same tests; plans:
    followed on it already. memory: bytes that planning may take. agent: who plans, once the first part is there; nodes:
    how many the graph may hold.
    """

    def __init__(
        self,
        problem: POMDP,
        agent: BoundAgent,
        given: Evidence = (),
        *,
        unavailable: Iterable[str] = (),
        graph: Graph | None = None,
        plans: Plans | None = None,
        memory: float = MEMORY,
    ) -> None:
        check_fixed(agent)
        self.problem, self.agent, self.given, self.memory = problem, agent, tuple(given), memory
        self.situation, self.spent = follow(problem, given)
        self.left = tuple(dict.fromkeys(unavailable))
        self.model = without(problem, self.left)
        self.plans = plans or Plans(self.model, graph=graph)
        self.nodes = math.inf
        self._parts: dict[str, Part] = {}

    def part(self, name: str, *, seconds: float = math.inf) -> Part:
        """The part called `name` (`first`, `ahead` or `cost-only`), worked out within `seconds` unless it is there."""
        if name != "first":
            self.part("first")
        if name not in self._parts:
            make = {"first": self._first, "ahead": self._ahead, "cost-only": self._cost_only}[name]
            self._parts[name] = make(seconds)
        return self._parts[name]

    @property
    def first(self) -> First:
        """What to do next."""
        found: First = self.part("first").content
        return found

    def advice(self, *, seconds: float = math.inf) -> Advice:
        """All three parts in one, each of the last two within `seconds`."""
        parts = {name: self.part(name, seconds=seconds) for name in ("first", "ahead", "cost-only")}
        return Advice(
            **{one.name: getattr(self.first, one.name) for one in fields(First)},
            ahead=parts["ahead"].content,
            cost_only=parts["cost-only"].content,
            kinds={name: part.kind for name, part in parts.items()},
            words={name: part.words for name, part in parts.items()},
            sampled=parts["ahead"].sampled,
        )

    @property
    def node(self) -> int:
        """Where the case stands on the graph."""
        return self.plans.graph.node(self.situation)

    def _first(self, seconds: float) -> Part:
        done = self.situation.observable
        assert isinstance(done, Done)
        fault: Exception | None = None
        for fit in fitting(self.model, self.agent.planner, self.agent.objective, done=done, memory=self.memory):
            try:
                return self._planned(fit)
            except (LimitError, MemoryError) as error:
                fault = error
                self.plans = Plans(self.model, node_limit=self.plans.graph.node_limit)
        raise fault or LimitError(f"no planner fits '{self.problem.name}'")

    def _planned(self, fit: Fit) -> Part:
        """The first part as the planner of `fit` has it."""
        agent = self.agent.changed(planner=fit.planner)
        self.nodes = fit.size.most_nodes(self.memory) if fit.size else math.inf
        with self.plans.graph.limited(self.nodes):
            found = tell_first(
                self.plans.policy(agent), self.node, self.given, unavailable=self.left, spent=self.spent,
                planned=fit.words,
            )  # fmt: skip
        self.agent = agent
        if found.value_bounds is None:
            return Part("first", "exact", found, fit.words)
        kind, words = bounded_words(self.model, found.value_bounds)
        return Part("first", kind, found, "; ".join(filter(None, [fit.words, words])), found.value_bounds)

    def _ahead(self, seconds: float) -> Part:
        policy, node = self.plans.policy(self.agent), self.node
        found = policy.chooser.bounded(node)
        try:
            with self.plans.graph.limited(self.nodes, seconds, share=0.5):  # the rest is for sampled cases
                ahead = outlook(self.plans, self.agent, node)
        except (LimitError, MemoryError) as error:
            return self._sampled(str(error) or "it needs too much memory", seconds)
        if found is None:
            return Part("ahead", "exact", ahead)
        bounds = found.lower, found.upper
        kind, words = bounded_words(self.model, bounds)
        return Part("ahead", kind, ahead, words, bounds)

    def _sampled(self, reason: str, seconds: float) -> Part:
        """What is still to come from sampled cases, because of `reason`."""
        graph = Graph(self.model, node_limit=int(min(self.nodes, self.plans.graph.node_limit)))
        try:
            with graph.limited(math.inf, seconds, share=0.5):
                ahead, sampled = sample_ahead(GraphPolicy(graph, self.agent), graph.node(self.situation))
        except (LimitError, MemoryError):
            return missing("ahead", reason)
        words = f"estimated from {sampled.episodes} sampled cases: following every case is too much"
        return Part("ahead", "estimated", ahead, words, sampled=sampled)

    def _cost_only(self, seconds: float) -> Part:
        agent = self.agent
        how = None if isinstance(agent.planner, Lookahead) or not agent.planner.plans else agent.planner
        plain = make_agent("planning", self.model, horizon=agent.horizon, discount=agent.discount, planner=how)
        policy, node = self.plans.policy(plain), self.node
        try:
            with self.plans.graph.limited(self.nodes, seconds):
                do = preferred(policy, node, action_values(policy, node)).name
        except (LimitError, MemoryError) as error:
            return missing("cost-only", str(error) or "it needs too much memory")
        found = policy.chooser.bounded(node)
        return Part("cost-only", "exact" if found is None or found.proven == do else "bounded", do)


def advise(
    problem: POMDP,
    agent: BoundAgent,
    given: Evidence = (),
    *,
    unavailable: Iterable[str] = (),
    graph: Graph | None = None,
    plans: Plans | None = None,
    memory: float = MEMORY,
) -> Advice:
    """Advice by `agent` on a case of `problem` in which `given` was seen, pairs of test and outcome in order.

    The settings are those of `Adviser`.
    """
    return Adviser(problem, agent, given, unavailable=unavailable, graph=graph, plans=plans, memory=memory).advice()


def bounded_words(problem: POMDP, bounds: Bounds) -> tuple[Kind, str]:
    """What kind of numbers those of a plan are that was found by its bounds, and that in words."""
    low, high = bounds
    if high - low <= 1e-9 * problem.reward_scale:
        return "exact", ""
    worth = f"{money(low)} and {money(high, problem.unit)}, information counted by its weight"
    return "bounded", f"by branch and bound: numbers of a plan that was found; the best is worth between {worth}"


def check_fixed(agent: BoundAgent) -> None:
    """Raise AgentError unless what `agent` does depends on the situation alone, so that it can be followed."""
    faults = {
        "planner": (f"planner {agent.planner.name} samples", agent.planner.samples),
        "time": ("time limits the planning", agent.planner.is_timed),
        "precision": ("precision lets the agent act at random", not math.isinf(agent.precision)),
    }
    for setting, (fault, there) in faults.items():
        if there:
            raise AgentError(
                f"{fault}; advice needs an agent that always does the same in the same case", field=(setting,)
            )


def without(problem: POMDP, unavailable: Iterable[str]) -> POMDP:
    """`problem` with tests left out that cannot be had in this case."""
    left_out = set(unavailable)
    menu = problem.flat
    unknown = left_out - {test.name for test in menu.tests}
    if unknown:
        raise EvidenceError(
            f"'{problem.name}' has no test '{min(unknown)}' that could be unavailable", field=("unavailable",)
        )
    if not left_out:
        return problem
    return replace(problem, menu=menu.without(left_out))


def follow(problem: POMDP, given: Evidence) -> tuple[Belief, float]:
    """The situation after `given`, and what the tests cost."""
    situation, spent = problem.belief(given=[]), 0.0
    for number in range(len(given)):
        before, situation = situation, problem.belief(given=given[: number + 1])
        action = next(a for a in problem.menu(before.observable) if a.name == given[number][0])
        spent -= float(before.beliefs[0] @ action.reward)
    return situation, spent
