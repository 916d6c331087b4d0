"""Branch and bound over evidence: certified bounds on the best plan of an observe-then-commit problem with many tests.

    problem, situation  ->  Kinds (what can be run, as counts)        evidence, machine
                        ->  Ceilings (upper bounds, looked up)        pairs, pricing, ceilings, tables, bounds
                        ->  Graph of evidence, grown by walks         graph, trials, growing
                        ->  plan, its score, and a policy             plan, policy

Both bounds hold at every moment. In turns, walks make the graph larger where the bounds are furthest apart, and tables
are filled that count more of the tests: they hold a row for each set of tests that may be left, and two states with 15
tests have 32,768 of these, but 14 million sets of results.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from rhoplan._old.ties import choose
from rhoplan.model.belief import Belief as Situation
from rhoplan.model.diagnostic import Done
from rhoplan.model.pomdp import POMDP, Array
from rhoplan.planning import clock
from rhoplan.planning.asked import Asked, check_asked
from rhoplan.planning.many.evidence import kinds_of, remembered
from rhoplan.planning.many.graph import (
    ABOVE,
    BELOW,
    COUNT,
    FIRST,
    LOWER,
    NODES,
    ROOT,
    TRIALS,
    UPPER,
    WORK,
    Settings,
    add_node,
    expand,
    refresh_node,
)
from rhoplan.planning.many.growing import SHARE_OF_MEMORY, enlarged, make_graph, make_standing, size_in_bytes
from rhoplan.planning.many.machine import best_commit
from rhoplan.planning.many.plan import REWARD, SUCCESS, TESTS, TRUNCATED, Followed, follow_plan, leading_arm, score_plan
from rhoplan.planning.many.scouting import at_stake, make_frontier, scout
from rhoplan.planning.many.solution import End, ManyPolicy, ManySolution, Step, by_trace
from rhoplan.planning.many.tables import CeilingMaker
from rhoplan.planning.many.trials import DONE, FULL, PROVEN, back_up_all, first_arm, has_room, run_trials

SLICE = 20_000
"""Beliefs worked out between two looks at the clock: some hundredths of a second."""

HAIR = 1e-12
"""Rounding of bounds, relative to the largest value that a plan may have (`largest_value`)."""

WORTH_SCOUTING, SCOUTING_WORK = 0.05, 200_000
"""Share of what is at stake that the bounds must leave open for scouts to be sent, and beliefs that they work out."""

SMALL = 80
"""States times commits up to which a belief counts as one. Where there are more it counts as the root of how many
times more: that keeps dozens of states within a second, a hundred within two, and leaves enough to find a plan."""

SHARE_OF_TABLES = 0.3
"""Of the memory allowed, what tables may take."""

WORK_ANEW = 200_000
"""Beliefs worked out by a policy where its plan does not come: some tenths of a second, the same on every machine."""

Progress = Callable[[float, float, int], None]


def search(
    problem: POMDP,
    situation: Situation | None = None,
    *,
    weight: float = 0.0,
    discount: float | None = None,
    gap: float = 1e-3,
    seconds: float = 600.0,
    memory: float = 4e9,
    work: float = np.inf,
    until_proven: bool = False,
    progress: Progress | None = None,
) -> ManySolution:
    """Bounds within `gap` of each other on the best plan for reward + weight * information (weight per nat).

    From `situation` on, the start by default. Stops early, with the bounds it has, after `seconds`, when arrays would
    take more than `memory` bytes, after `work` beliefs (the same on every machine; those of many states count more),
    when interrupted from the keyboard, or with until_proven once no other first action can be better. `progress` is
    told lower, upper and number of nodes.
    Not covered: weights below 0, and problems that are not observe-then-commit.
    """
    discount = problem.discount if discount is None else discount
    check_asked(weight, discount, gap)
    found = Search(problem, situation or problem.belief(), weight=weight, discount=discount, memory=memory)
    return found.solution(gap, found.run(gap, seconds=seconds, work=work, until_proven=until_proven, progress=progress))


class Search:
    """A search under way: both bounds hold after every call."""

    def __init__(self, problem: POMDP, situation: Situation, *, weight: float, discount: float, memory: float) -> None:
        self.begin, self.memory, self._is_scouted = clock.now(), memory, False
        self.each = max(1.0, problem.flat.payoff.size / SMALL) ** 0.5
        self.problem, self.situation = problem, situation
        self.kinds = kinds_of(problem, situation)
        weight, discount = float(weight), float(discount)  # kernels are compiled once per type
        model = self.model = self.kinds.model
        self.maker = CeilingMaker(
            model, self.kinds.belief, weight=weight, discount=discount, memory=SHARE_OF_TABLES * memory
        )
        self.standing = make_standing(self.kinds, len(self.maker.states))
        hair = HAIR * largest_value(model.payoff, weight)
        self.settings = Settings(weight, discount, hair, len(model.price) + 1, len(model.likelihood) + 2)
        self.graph = make_graph(self.kinds, self.settings)
        stop = best_commit(model.payoff, self.kinds.belief)
        add_node(self.graph, np.zeros(self.kinds.words, dtype=np.int64), self.kinds.belief, np.inf, stop)
        expand(model, self.maker.ceilings, self.standing, self.graph, self.settings, ROOT)
        refresh_node(self.graph, ROOT)

    @property
    def bounds(self) -> tuple[float, float]:
        """Lower and upper bound on the value of the situation."""
        return float(self.graph.bound[ROOT, LOWER]), float(self.graph.bound[ROOT, UPPER])

    def run(self, gap: float, *, seconds: float, work: float, until_proven: bool, progress: Progress | None) -> str:
        """Walks and better ceilings in turns until something stops them; what did."""
        ended = {DONE: "gap", PROVEN: "proven"}
        try:
            while True:
                code = run_trials(
                    self.model, self.maker.ceilings, self.standing, self.graph, self.settings, float(gap), until_proven,
                    int(SLICE / self.each),
                )  # fmt: skip
                if progress:
                    progress(*self.bounds, int(self.graph.used[NODES]))
                if code in ended:
                    return ended[code]
                if not self._is_scouted:
                    self._scout()
                if clock.now() - self.begin > seconds:
                    return "time"
                if self.each * self.graph.used[WORK] >= work:
                    return "work"
                if code == FULL and not self._make_room():
                    return "memory"
                self.maker.improve()
        except KeyboardInterrupt:
            return "interrupted"

    def _scout(self) -> None:
        """Look for a plan of many tests, once, where the bounds are far apart after the first walks."""
        self._is_scouted = True
        stake, (lower, upper) = at_stake(self.model, self.graph, ROOT), self.bounds
        if upper - lower <= WORTH_SCOUTING * stake:
            return
        scouting = int(SCOUTING_WORK / self.each)
        frontier = make_frontier(2 * SCOUTING_WORK, self.settings.most_arms)
        most, least = int(self.graph.used[WORK]) + scouting, 0.02 * stake
        while self.graph.used[WORK] < most and least > 1e-6 * stake:
            left = int(most - self.graph.used[WORK])
            if scout(
                self.model, self.maker.ceilings, self.standing, self.graph, self.settings, frontier, least, left
            ):  # fmt: skip
                least /= 2
            elif has_room(self.graph, self.settings) or not self._make_room():
                break
        back_up_all(self.model, self.graph)

    def solution(self, gap: float, stopped_by: str) -> ManySolution:
        """What has been found so far."""
        policy, ends, score = self._plan()
        lower, upper = self.bounds
        actions = self._actions()
        named = leading_arm(self.graph, ROOT, self.settings.hair)
        proven = first_arm(self.model, self.graph, self.settings.hair)
        return ManySolution(
            lower,
            upper,
            gap,
            "gap" if upper - lower <= gap else stopped_by,
            self._name(named),
            actions,
            self._name(proven) if proven >= -1 else None,
            *score,
            int(self.graph.used[NODES]),
            int(self.graph.used[TRIALS]),
            clock.now() - self.begin,
            policy,
            ends,
        )

    def _make_room(self) -> bool:
        """Enlarge what is full; whether the memory allows it."""
        bigger = enlarged(self.graph, self.settings)
        if size_in_bytes(bigger) > SHARE_OF_MEMORY * self.memory:
            return False
        self.graph = bigger
        return True

    def _name(self, arm: int) -> str:
        """The action of an arm of the root, or the best commit for -1."""
        done = self.situation.observable
        assert isinstance(done, Done)
        if arm >= 0:
            return self.kinds.test(int(self.graph.kind[arm]), done)
        return self._commits(self.kinds.belief[None, :])[1][0]

    def _commits(self, beliefs: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Reward and success (n, 2) of the best commit at `beliefs` (n, S), and its name; ties by the one rule."""
        menu = self.problem.flat
        rewards = beliefs @ menu.payoff.T
        best = choose(rewards, beliefs @ menu.gains)
        ends = np.stack([rewards.max(axis=1), (beliefs * menu.right[best]).sum(axis=1)], axis=1)
        return ends, [menu.commits[commit].name for commit in best.tolist()]

    def _actions(self) -> dict[str, tuple[float, float]]:
        """Bounds on every action of the situation, in the order of its menu."""
        menu, graph, done = self.problem.flat, self.graph, self.situation.observable
        assert isinstance(done, Done)
        first, count = graph.arms[ROOT, FIRST], graph.arms[ROOT, COUNT]
        arms = {int(graph.kind[arm]): arm for arm in range(first, first + count)}
        kind_of = {name: kind for kind, names in enumerate(self.kinds.members) for name in names}
        found = {}
        for test in menu.tests:
            if menu.allowed(test, done):
                low, high = graph.worth[arms[kind_of[test.name]], [BELOW, ABOVE]].tolist()
                found[test.name] = low, max(low, min(high, self.bounds[1]))
        values = menu.payoff @ self.kinds.belief
        return found | {
            commit.name: (value, value) for commit, value in zip(menu.commits, values.tolist(), strict=True)
        }

    def _plan(self) -> tuple[ManyPolicy, tuple[End, ...], tuple[float, float, float, float]]:
        """The plan behind the lower bound as a policy, how cases end that follow it, and its score."""
        while True:
            graph, room = self.graph, len(self.graph.key)
            followed = Followed(
                order=np.empty(room, dtype=np.int64), arm=np.empty(room, dtype=np.int64),
                depth=np.zeros(room, dtype=np.int64), place=np.full(room, -1), price=np.zeros(room),
                score=np.zeros((room, 4)), reached=np.zeros(1, dtype=np.int64),
            )  # fmt: skip
            if follow_plan(self.model, self.maker.ceilings, self.standing, graph, self.settings, followed):
                break
            self.graph = enlarged(self.graph, self.settings)
        order = followed.order[: int(followed.reached[0])]
        ends, commits = self._commits(graph.belief[order])
        score_plan(self.model, graph, self.settings, followed, ends, self.problem.cap)
        score = followed.score[0, [REWARD, TESTS, SUCCESS, TRUNCATED]].tolist()
        steps, ended = self._steps(followed, commits, ends[:, 1])
        traces = remembered(self.problem.flat, self.kinds.members)
        settings = Asked(self.settings.weight, self.settings.discount)
        policy = ManyPolicy(self.problem, settings, anew(self.problem, settings), traces, by_trace(steps, traces))
        return policy, tuple(ended), tuple(score)

    def _steps(self, plan: Followed, commits: list[str], right: Array) -> tuple[list[Step], list[End]]:
        """What `plan` does in each situation that it comes to, and how cases end; right (n,): chances of its commits.

        Nodes of fewer tests come first, so shares of cases have all arrived where a node's turn comes.
        """
        graph, menu, done = self.graph, self.problem.flat, self.situation.observable
        assert isinstance(done, Done)
        tests, outcomes = {test.name: test for test in menu.tests}, np.diff(self.model.first).tolist()
        came, shares = {int(ROOT): (done, 0)}, {int(ROOT): 1.0}
        steps, ended = list[Step](), list[End]()
        for place, node in enumerate(plan.order[: int(plan.reached[0])].tolist()):
            arm, share, depth = int(plan.arm[place]), shares.get(node, 0.0), int(plan.depth[place])
            here, paid = came[node]
            name = commits[place]
            if arm >= 0:
                kind, first = int(graph.kind[arm]), int(graph.child[arm])
                name = self.kinds.test(kind, here)
                then = menu.after(tests[name], here), paid + menu.in_minor_units(menu.price(tests[name], here))
                for at in range(first, first + outcomes[kind]):
                    other = int(graph.node[at])
                    if other >= 0:
                        came.setdefault(other, then)
                        chance = float(graph.chance[at]) / self.settings.discount
                        shares[other] = shares.get(other, 0.0) + (share * chance if depth < self.problem.cap else 0.0)
            if share and (arm < 0 or depth >= self.problem.cap):
                commit = name if arm < 0 else None
                ended.append(End(share, depth, paid / menu.minor_units, commit, float(right[place]) if commit else 0.0))
            steps.append(Step(here, graph.belief[node].copy(), name, *graph.bound[node, [LOWER, UPPER]].tolist()))
        return steps, ended


def largest_value(payoff: Array, weight: float) -> float:
    """The largest value of a plan that is no worse than the commit whose worst payoff is best, up to a small factor.

    payoff: (commits, S). Larger rewards belong to actions that no such plan takes; they do not enter its rounding.
    """
    safest = float(payoff.min(axis=1).max())
    return max(abs(safest), abs(float(payoff.max())), weight)


def anew(problem: POMDP, settings: Asked) -> Callable[[Situation], ManySolution]:
    """A search for the same from any situation."""
    weight, discount = settings.weight, settings.discount
    return partial(search, problem, weight=weight, discount=discount, work=WORK_ANEW)  # other processes can have it
