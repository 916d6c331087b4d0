"""The exact score of an agent: no episode is simulated, the whole distribution is pushed through the graph.

At each step the probability mass at every node the agent can be in moves along the action it takes, to the nodes its
outcomes lead to; what stops is scored. Beside the mass go mean and variance of what was paid so far, so that the spread
of the reward is exact too. In the agent's own world one column of mass is enough (the belief at a node is the
truth); where the world differs from the model there is one column per true state.

Shapes: n nodes, C columns (1 in the agent's own world, else S), O outcomes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rhoplan.agents.agent import Agent
from rhoplan.agents.policy import Policy
from rhoplan.belief.situation import impossible
from rhoplan.errors import AgentError, ProblemError
from rhoplan.graph.graph import Graph, shared_graph
from rhoplan.graph.merging import distinct, grown
from rhoplan.model.observe_then_commit import Done, best_commits
from rhoplan.model.problem import Array, Ids, Problem
from rhoplan.scoring.worlds import check_world

NEGLIGIBLE = 1e-17
"""Mass at one node at one step below which it is no longer followed, unless so much is at stake there that it matters;
the sum of what was left is in `Score.dropped`."""


@dataclass(frozen=True)
class Score:
    """How good an agent is.

    tests: expected number of tests. success: share of episodes that end with a best commit for the true state.
    truncated: share cut off at the cap; they are not successful and pay what they spent. log_score: expected log, in
    nats, of the probability that the final belief gives the true state. tests_distribution: probability of each
    number of tests from 0 on. dropped: mass too small to follow. nodes: size of the graph. tallies: expected counts
    of what the problem tallies. A column that a problem does not have is NaN.
    """

    reward: float
    reward_sd: float
    tests: float
    success: float
    truncated: float
    log_score: float
    tests_distribution: tuple[float, ...]
    dropped: float
    nodes: int
    tallies: dict[str, float] = field(default_factory=dict)


def evaluate(problem: Problem, agent: Agent, *, world: Problem | None = None, cap: int | None = None) -> Score:
    """Exact score of `agent`, whose model is `problem`, in `world` (its own model by default).

    Not covered: problems with so many places and factors that the reachable graph does not fit (LimitError says so).
    """
    steps = problem.cap if cap is None else cap
    if steps < 1:
        raise AgentError(f"cap must be at least 1; it is {steps}", field=("cap",))
    if agent.searches or agent.seconds is not None:
        budget = "samples" if agent.searches else "is limited by time"
        raise AgentError(
            f"planner {agent.planner} {budget}: its score can be estimated by `rhoplan simulate`, not computed",
            field=("planner",) if agent.searches else ("time",),
        )
    if not problem.is_flat:
        from rhoplan.scoring.pushing import push

        if world is not None and world is not problem:
            check_world(problem, world)
            raise ProblemError(
                f"'{problem.name}' can be scored exactly in its own world only: `rhoplan simulate` takes another",
                field=("world",),
            )
        if not math.isinf(agent.precision):
            raise AgentError(
                f"a finite precision on '{problem.name}' can be simulated, not scored exactly", field=("precision",)
            )
        return push(problem, agent, cap=steps)
    policy = Policy(shared_graph(problem), agent)
    truth = OwnWorld(policy.graph) if world is None or world is problem else OtherWorld(policy.graph, world)
    return score_policy(policy, truth, cap=steps)


class OwnWorld:
    """The world is as the agent believes: one column, and the belief at a node is the distribution of the state."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.rewards, self.best = graph.problem.flat.payoff, graph.problem.flat.right

    @property
    def start(self) -> Array:
        return np.ones(1)

    def outcomes(self, nodes: Ids, slots: Ids) -> Array:
        """Probability (n, O, 1) of each outcome of the actions taken."""
        result: Array = self.graph.probability[nodes, slots][..., None]
        return result

    def paid(self, nodes: Ids, slots: Ids) -> Array:
        """Reward (n,) of the actions taken."""
        result: Array = self.graph.reward[nodes, slots]
        return result

    def endings(self, nodes: Ids, ending: Array) -> tuple[Array, Array, Array]:
        """Mean reward, its variance, and success, each (n, 1), where commits are taken with probability (n, E)."""
        beliefs = self.graph.beliefs(nodes)
        means = np.einsum("ns,ns->n", beliefs, ending @ self.rewards)
        right = np.einsum("ns,ns->n", beliefs, ending @ self.best)
        # One commit at a time: the spread around the mean keeps its digits, however large rewards are elsewhere.
        spread = np.zeros(len(nodes))
        for commit in np.flatnonzero(ending.any(axis=0)):
            apart = self.rewards[commit] - means[:, None]
            spread += ending[:, commit] * np.einsum("ns,ns->n", beliefs, apart**2)
        return means[:, None], spread[:, None], right[:, None]

    def log_scores(self, nodes: Ids) -> Array:
        """Expected log (n, 1) of the probability that the belief at `nodes` gives the true state."""
        result: Array = -self.graph.tables[0].entropy[self.graph.belief[nodes, 0]][:, None]
        return result


class OtherWorld:
    """The world draws from its own model, whose names are those of the agent's model; one column per true state."""

    def __init__(self, graph: Graph, world: Problem) -> None:
        problem = graph.problem
        check_world(problem, world)
        self.graph = graph
        order = [world.states.index(state) for state in problem.states]
        self.start: Array = world.prior[order]
        commits = {commit.name: commit.reward[order] for commit in world.flat.commits}
        self.rewards = np.stack([commits[commit.name] for commit in problem.flat.commits])
        self.best = best_commits(self.rewards)
        self._order = order
        self._menu = world.flat
        self._tests = {test.name: test for test in world.flat.tests}
        self._cache: dict[int, tuple[Array, Array]] = {}

    def outcomes(self, nodes: Ids, slots: Ids) -> Array:
        """Probability (n, O, S) of each outcome of the actions taken, for each true state."""
        result = np.empty((len(nodes), self.graph.next.shape[2], len(self.start)))
        for visible, positions in self.graph.by_visible(nodes):
            result[positions] = self._arrays(visible)[0][slots[positions]]
        return result

    def paid(self, nodes: Ids, slots: Ids) -> Array:
        result = np.empty(len(nodes))
        for visible, positions in self.graph.by_visible(nodes):
            result[positions] = self._arrays(visible)[1][slots[positions]]
        return result

    def endings(self, nodes: Ids, ending: Array) -> tuple[Array, Array, Array]:
        means = ending @ self.rewards
        spread = np.zeros_like(means)
        for commit in np.flatnonzero(ending.any(axis=0)):
            spread += ending[:, [commit]] * (self.rewards[commit] - means) ** 2
        return means, spread, ending @ self.best

    def log_scores(self, nodes: Ids) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.graph.beliefs(nodes))

    def _arrays(self, visible: int) -> tuple[Array, Array]:
        """Likelihoods (M, O, S) and rewards (M,) of the world's tests in the slots of one visible state."""
        if visible not in self._cache:
            menu = self.graph.menus[visible].going
            likelihood = np.zeros((self.graph.known.shape[1], self.graph.next.shape[2], len(self.start)))
            cost = np.zeros(self.graph.known.shape[1])
            for slot, action in enumerate(menu):
                test = self._tests[action.name]
                columns = [test.outcomes.index(outcome) for outcome in action.outcomes]
                likelihood[slot, : len(columns)] = test.likelihood[self._order][:, columns].T
                done = self.graph.visibles[visible]
                assert isinstance(done, Done)
                cost[slot] = -self._menu.price(test, done)
            self._cache[visible] = likelihood, cost
        return self._cache[visible]


def score_policy(policy: Policy, truth: OwnWorld | OtherWorld, *, cap: int) -> Score:
    """Push the distribution of `truth` through the choices of `policy` for at most `cap` steps."""
    graph, memory = policy.graph, Endings(policy, truth)
    nodes, flow = np.array([graph.root]), Flow.begin(truth.start)
    ended: list[Flow] = []
    success = log_score = dropped = truncated = 0.0
    distribution = []
    for step in range(cap + 1):
        if step == cap:
            truncated = float(flow.mass.sum())
            distribution.append(truncated)
            ended.append(flow)
            log_score += _weighted(truth.log_scores(nodes), flow.mass)
            break
        memory.settle(nodes)
        ends = flow.thinned(memory.stop[nodes]).paid(memory.reward[nodes], memory.variance[nodes])
        ended.append(ends)
        distribution.append(float(ends.mass.sum()))
        success += float((ends.mass * memory.success[nodes]).sum())
        log_score += _weighted(truth.log_scores(nodes), ends.mass)
        nodes, flow, lost = advance(policy, truth, memory, nodes, flow)
        dropped += lost
        if not nodes.size:
            break
    reward, variance = Flow.total(ended)
    return Score(
        reward=reward,
        reward_sd=math.sqrt(variance),
        tests=float(np.dot(distribution, np.arange(len(distribution)))),
        success=success,
        truncated=truncated,
        log_score=log_score,
        tests_distribution=tuple(distribution),
        dropped=dropped,
        nodes=graph.size,
    )


@dataclass(frozen=True, eq=False)
class Flow:
    """Probability mass on its way, each array (n, C), with the mean and the variance of what it has been paid so far.

    Means and variances are kept, not sums of powers: where parts meet, only differences between them are squared, so
    neither a large common part nor a giant reward of no probability costs a digit.
    """

    mass: Array
    mean: Array
    variance: Array

    @staticmethod
    def begin(start: Array) -> Flow:
        return Flow(start[None, :], np.zeros((1, len(start))), np.zeros((1, len(start))))

    def thinned(self, share: Array) -> Flow:
        """The part of the mass that `share` says."""
        return Flow(self.mass * share, self.mean, self.variance)

    def paid(self, reward: Array, variance: float | Array = 0.0) -> Flow:
        """The same mass after a payment of mean `reward` with a variance of its own."""
        return Flow(self.mass, self.mean + reward, self.variance + variance)

    def gathered(self, rows: Ids, share: Array, places: Ids, size: int) -> Flow:
        """The flow at `size` places where the parts `share` (m, C) of the mass in `rows` (m,) meet at places (m,)."""
        parts = self.mass[rows] * share
        mass = _sums(places, parts, size)
        whole = np.where(mass > 0, mass, 1.0)
        mean = _sums(places, parts * self.mean[rows], size) / whole
        apart = self.mean[rows] - mean[places]
        return Flow(mass, mean, _sums(places, parts * (self.variance[rows] + apart**2), size) / whole)

    def at(self, places: Ids | NDArray[np.bool_]) -> Flow:
        return Flow(self.mass[places], self.mean[places], self.variance[places])

    @staticmethod
    def total(parts: list[Flow]) -> tuple[float, float]:
        """Mean and variance over all of `parts`, whose mass is 1 together."""
        mass, mean, variance = (
            np.concatenate([getattr(part, name).ravel() for part in parts]) for name in ("mass", "mean", "variance")
        )
        centre = math.fsum(mass * mean)
        return centre, math.fsum(mass * (variance + (mean - centre) ** 2))


class Endings:
    """What stopping at a node contributes, kept per node: probability of stopping, and per column the expected reward,
    its variance and success on the part that stops; and the probabilities of the actions that go on."""

    def __init__(self, policy: Policy, truth: OwnWorld | OtherWorld) -> None:
        self.policy, self.truth = policy, truth
        columns = len(truth.start)
        self.settled: NDArray[np.bool_] = np.empty(0, dtype=bool)
        self.stop = np.empty((0, 1))
        self.reward, self.variance, self.success = (np.empty((0, columns)) for _ in range(3))
        self.going: Array = np.empty((0, 0))

    def settle(self, nodes: Ids) -> None:
        size = self.policy.graph.size
        self.settled = grown(self.settled, size, False)
        fresh = nodes[~self.settled[nodes]]
        if not fresh.size:
            return
        ending, going = self.policy.probabilities(fresh)
        size = self.policy.graph.size
        if not len(self.going):
            self.going = np.empty((0, going.shape[1]))
        for name in ("stop", "reward", "variance", "success", "going"):
            setattr(self, name, grown(getattr(self, name), size, 0.0))
        self.settled = grown(self.settled, size, False)
        stops = np.flatnonzero(ending.any(axis=1))
        self.stop[fresh] = ending.sum(axis=1, keepdims=True)
        self.going[fresh, : going.shape[1]] = going
        chosen = fresh[stops]
        shares = ending[stops] / self.stop[chosen]
        self.reward[chosen], self.variance[chosen], self.success[chosen] = self.truth.endings(chosen, shares)
        self.settled[fresh] = True


def advance(
    policy: Policy, truth: OwnWorld | OtherWorld, memory: Endings, nodes: Ids, flow: Flow
) -> tuple[Ids, Flow, float]:
    """The nodes reached one step later, the flow there, and the mass dropped as negligible."""
    graph = policy.graph
    rows, slots = np.nonzero(memory.going[nodes])
    sources = nodes[rows]
    chance = truth.outcomes(sources, slots) * memory.going[sources, slots][:, None, None]
    targets = graph.next[sources, slots]
    _refuse_impossible(policy, sources, slots, flow.mass[rows][:, None, :] * chance, targets)
    parts, outcomes = np.nonzero((targets >= 0) & chance.any(axis=2))
    reached = targets[parts, outcomes]
    arrived = distinct(reached, graph.size)
    paid = flow.at(rows).paid(truth.paid(sources, slots)[:, None])
    after = paid.gathered(parts, chance[parts, outcomes], np.searchsorted(arrived, reached), len(arrived))
    mass = after.mass.sum(axis=1)
    kept = graph.matters(arrived, mass, NEGLIGIBLE)
    return arrived[kept], after.at(kept), float(mass[~kept].sum())


def _sums(targets: Ids, values: Array, size: int) -> Array:
    """Sum (size, C) of the rows of values (m, C) with the same target (m,)."""
    result = np.empty((size, values.shape[1]))
    for column in range(values.shape[1]):
        result[:, column] = np.bincount(targets, weights=values[:, column], minlength=size)
    return result


def _refuse_impossible(policy: Policy, sources: Ids, slots: Ids, flow: Array, targets: NDArray[np.int32]) -> None:
    lost = (flow.sum(axis=2) > 0) & (targets < 0)
    if lost.any():
        row, outcome = (int(axis[0]) for axis in np.nonzero(lost))
        graph = policy.graph
        action = graph.menus[int(graph.visible[sources[row]])].going[int(slots[row])]
        raise impossible(graph.problem, graph.beliefs(sources[row : row + 1])[0], action, action.outcomes[outcome])


def _weighted(values: Array, mass: Array) -> float:
    """Sum of mass * value, where value may be minus infinity only if its mass is not zero."""
    counted = mass > 0
    return float((values[counted] * mass[counted]).sum())
