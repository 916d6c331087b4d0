"""Many episodes at once: an agent walks its graph in step with a world that draws states and outcomes.

The agent decides at graph nodes, once per node. The world holds the hidden state of every factor, pays rewards, draws
outcomes and changes states; it may be another problem than the agent's model, as long as names agree. Visible states
are seen by both.

Shapes: n episodes, F factors, M slots, S states (the most any factor has), O outcomes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rhoplan.agents.agent import BoundAgent
from rhoplan.agents.policy import GraphPolicy
from rhoplan.belief.draws import outcome_order, state_after_drawer
from rhoplan.belief.situation import impossible
from rhoplan.following.flow import information_of
from rhoplan.following.worlds import check_menu
from rhoplan.graph.graph import Graph, shared_graph
from rhoplan.model.diagnostic import best_commits
from rhoplan.model.horizon import has_commits
from rhoplan.model.pomdp import Action, Array, Ids, Problem
from rhoplan.model.transitions import Transition, has_observation_axis, paid
from rhoplan.scoring.episode_table import Episodes
from rhoplan.scoring.streams import Streams

LARGEST_GRAPH = 400_000
"""Nodes that a graph may come to before walkers move to a new one: long simulations of large problems keep their
memory."""

LARGEST_BYTES = 300_000_000
"""The same in bytes, for problems whose actions have many outcomes; arrays double, so twice that may be held."""

SHARE_KEPT = 4
"""Where beliefs are long, walkers move on when a graph is one part in so many full: the rest is for the next step."""

HALF = 2
"""The largest graph is so many times what walkers carry along, and what one step of those that walk together adds."""

NEGLIGIBLE = 1e-12
"""Probability below which a state does not count as possible when the worst that an action can pay is looked for."""


class Walk:
    """An agent walking its graph while a world draws the outcomes."""

    def __init__(self, problem: Problem, agent: BoundAgent, world: Problem, cap: int) -> None:
        self.problem, self.agent, self.world, self.cap = problem, agent, world, cap
        self._use(shared_graph(problem))
        self._added = 0.0  # the most nodes that deciding at one has added to the graph
        places = zip(world.factors, problem.factors, strict=True)
        self.state_places = [_places(mine.states, theirs.states) for theirs, mine in places]

    def chunk(self, seed: int, first: int, last: int) -> Episodes:
        """Episodes `first` to `last` (not included) of `seed`."""
        priors = tuple(factor.prior for factor in self.world.factors)
        streams = Streams(
            priors, seed, first, last, own=not (self.policy.is_deterministic or self.agent.planner.samples)
        )
        count = last - first
        log = Log(count, self.world)
        states, drawn = streams.states.copy(), np.zeros(count, dtype=np.int64)
        nodes = np.full(count, self.graph.root)
        waiting = [(np.arange(count), 0)]
        while waiting:
            active, begin = waiting.pop()
            for step in range(begin, self.cap):
                if self.graph.size > self._largest / HALF:
                    fresh, nodes = self.graph.continued(nodes)
                    self._use(fresh)
                active, later = self._fitting(active, nodes)
                if later.size:
                    waiting.append((later, step))
                active = active[self._advance(log, streams, active, step, nodes, states, drawn)]
                if not active.size:
                    break
            log.truncated[active] = True
        return log.episodes(self._log_scores(nodes, states))

    def _fitting(self, active: Ids, nodes: Ids) -> tuple[Ids, Ids]:
        """The episodes of `active` whose next step the graph has room for, by what steps added so far; the others."""
        distinct, place = np.unique(nodes[active], return_inverse=True)
        room = max(self._largest / HALF / max(self._added, 1.0), 1.0)
        if len(distinct) <= room:
            return active, active[:0]
        return active[place < int(room)], active[place >= int(room)]

    def _advance(
        self, log: Log, streams: Streams, active: Ids, step: int, nodes: Ids, states: Ids, drawn: Ids
    ) -> NDArray[np.bool_]:
        """Let the episodes `active` take one action each; whether (n,) they go on."""
        before = self.graph.size
        slots, commits = self._act(nodes[active], streams, active, step)
        self._added = max(self._added, (self.graph.size - before) / len(np.unique(nodes[active])))
        log.learn(active, information_of(self.graph, nodes[active], slots, commits))
        uniforms = streams.uniforms(active, drawn[active])
        still = np.ones(len(active), dtype=bool)
        for visible, positions in self.graph.by_visible(nodes[active]):
            menu = self._menu(visible)
            ends = positions[slots[positions] < 0]
            self._commit(log, menu, active[ends], commits[ends], nodes, states)
            still[ends] = False
            going = positions[slots[positions] >= 0]
            ended = self._step(log, menu, active[going], slots[going], uniforms[going], nodes, states, drawn, streams)
            still[going[ended]] = False
        return still

    @property
    def _largest(self) -> float:
        """Nodes that a graph may come to; no limit where tests are all there is: walkers meet again, and stay."""
        room = self.graph.node_limit // SHARE_KEPT
        stay = self.problem.observes_then_commits and room >= LARGEST_GRAPH
        return np.inf if stay else min(LARGEST_GRAPH, room, LARGEST_BYTES // self.graph.node_bytes)

    def _use(self, graph: Graph) -> None:
        self.graph, self.policy = graph, GraphPolicy(graph, self.agent)
        self._menus: dict[int, WorldMenu] = {}

    def _act(self, nodes: Ids, streams: Streams, walkers: Ids, step: int) -> tuple[Ids, Ids]:
        """Slot taken (n,), -1 to end, and the ending action (n,) it would be."""
        if self.policy.is_deterministic:
            self.policy.settle(np.unique(nodes))
            return self.policy.choice[nodes], self.policy.ending[nodes]
        if self.agent.planner.samples:  # each episode with a search of its own
            seeds = [(seed, 1, step) for seed in streams.entropy[walkers].tolist()]
            return self.policy.chooser.choose(nodes, seeds)
        slots, endings = np.empty(len(nodes), dtype=np.int64), np.empty(len(nodes), dtype=np.int64)
        uniforms = streams.own_uniforms(walkers, step)
        for _, positions in self.graph.by_endings(nodes):
            distinct, place = np.unique(nodes[positions], return_inverse=True)
            ending, going = self.policy.probabilities(distinct)
            cumulative = np.cumsum(np.concatenate([ending, going], axis=1), axis=1)[place]
            drawn = (uniforms[positions, None] >= cumulative / cumulative[:, -1:]).sum(axis=1)
            commits = ending.shape[1]
            slots[positions] = np.where(drawn < commits, -1, drawn - commits)
            endings[positions] = np.minimum(drawn, commits - 1)
        return slots, endings

    def _commit(self, log: Log, menu: WorldMenu, walkers: Ids, commits: Ids, nodes: Ids, states: Ids) -> None:
        if walkers.size:
            held = states[walkers, menu.ending_factor[commits]]
            rewards = menu.ending_reward[commits]
            self._fear(log, walkers, nodes, menu.ending_factor[commits], rewards, np.ones_like(rewards))
            log.pay(walkers, menu.ending_reward[commits, held])
            log.count(walkers, menu.ending_tallies[:, commits, held])
            if len(self.world.factors) == 1:
                log.success[walkers] = menu.ending_best[commits, held]

    def _step(
        self,
        log: Log,
        menu: WorldMenu,
        walkers: Ids,
        slots: Ids,
        uniforms: Array,
        nodes: Ids,
        states: Ids,
        drawn: Ids,
        streams: Streams,
    ) -> Ids:
        """Take `slots`; positions within `walkers` of those whose outcome ended the episode."""
        factors = menu.factor[slots]
        held = states[walkers, factors]
        row = menu.cumulative[slots, held]
        risky = np.flatnonzero(menu.is_risky[slots])
        self._fear(log, walkers[risky], nodes, factors[risky], menu.worst[slots[risky]], menu.chance[slots[risky]])
        outcomes = menu.order[slots, held, (uniforms[:, None] >= row).sum(axis=1)]
        drawn[walkers] += row[:, 0] < 1.0
        paid_now = menu.reward[slots, held]
        log.tests[walkers] += menu.is_test[slots]
        log.count(walkers, menu.tallies[:, slots, held, outcomes])
        for slot, change in menu.changes.items():
            taken = np.flatnonzero(slots == slot)
            if taken.size:
                chosen = walkers[taken]
                after, was_drawn = change(outcomes[taken], held[taken], streams.uniforms(chosen, drawn[chosen]))
                states[chosen, factors[taken]] = after
                drawn[chosen] += was_drawn
        for slot, pays in menu.pays.items():
            taken = np.flatnonzero(slots == slot)
            paid_now[taken] = pays(outcomes[taken], held[taken], states[walkers[taken], factors[taken]])
        log.pay(walkers, paid_now)
        targets = self.graph.next[nodes[walkers], slots, outcomes]
        impossibles = np.flatnonzero((targets < 0) & (self.graph.probability[nodes[walkers], slots, outcomes] <= 0))
        if impossibles.size:
            first = impossibles[0]
            node, action = int(nodes[walkers[first]]), menu.going[slots[first]]
            belief = self.graph.situation(node).beliefs[action.factor]
            raise impossible(self.problem, belief, action, action.outcomes[outcomes[first]])
        nodes[walkers[targets >= 0]] = targets[targets >= 0]
        return np.flatnonzero(targets < 0)

    def _fear(self, log: Log, walkers: Ids, nodes: Ids, factors: Ids, rewards: Array, chance: Array) -> None:
        """Tell `log` that actions may pay `rewards` (n, S), with `chance` (n, S), by the state of `factors` (n,)."""
        for factor in np.unique(factors):
            chosen, places = np.flatnonzero(factors == factor), self.state_places[factor]
            beliefs = self.graph.beliefs(nodes[walkers[chosen]], int(factor))[:, places]
            log.fear(walkers[chosen], rewards[chosen, : len(places)], beliefs * chance[chosen, : len(places)])

    def _log_scores(self, nodes: Ids, states: Ids) -> Array:
        if not self.problem.observes_then_commits:
            return np.full(len(nodes), np.nan)
        with np.errstate(divide="ignore"):
            factor, true = self.problem.factors[0], self.state_places[0][states[:, 0]]
            held = factor.fold(self.graph.beliefs(nodes))[np.arange(len(nodes)), factor.groups[true]]
            scores: Array = np.log(held)
        return scores

    def _menu(self, visible: int) -> WorldMenu:
        if visible not in self._menus:
            mine = self.graph.menus[visible]
            if self.world is not self.problem:
                check_menu(self.problem, self.world, self.graph.visibles[visible])
            theirs = {action.name: action for action in self.world.menu(self.graph.visibles[visible])}
            self._menus[visible] = WorldMenu(self.world, mine.going, mine.ending, theirs)
        return self._menus[visible]


class WorldMenu:
    """The world's side of the agent's menu in one visible state, as arrays over slots and the world's states.

    factor (M,), reward (M, S), cumulative and order (M, S, O): outcomes, as the agent numbers them, in the order in
    which `draws` takes them. worst, chance (M, S): the least that may be paid in a state, and how probable that is.
    is_risky (M,): whether the payment depends on the state, or on chance. changes: for slots that change the state, how
    it is drawn (`Drawing`). pays: for slots that pay by more than the state, what they do. tallies (T, M, S, O). For
    ending actions:
    ending_factor (E,), ending_reward and ending_best (E, S), ending_tallies (T, E, S).
    """

    def __init__(
        self, world: Problem, going: tuple[Action, ...], ending: tuple[Action, ...], theirs: dict[str, Action]
    ) -> None:
        states = max(len(factor.states) for factor in world.factors)
        outcomes = max([len(action.outcomes) for action in going], default=1)
        self.going = going
        self.factor = np.array([theirs[action.name].factor for action in going], dtype=np.int64)
        self.reward = np.zeros((len(going), states))
        self.cumulative = np.ones((len(going), states, outcomes))
        self.order = np.zeros((len(going), states, outcomes), dtype=np.int64)
        self.worst, self.chance = np.zeros((len(going), states)), np.ones((len(going), states))
        self.changes: dict[int, Drawing] = {}
        self.pays: dict[int, Callable[[Ids, Ids, Ids], Array]] = {}
        self.is_test = np.array([action.kind == "test" for action in going], dtype=np.int64)
        self.tallies = np.zeros((len(world.tallies), len(going), states, outcomes))
        for slot, action in enumerate(going):
            self._fill(slot, action, theirs[action.name], world)
        self.is_risky = np.array([_is_risky(theirs[action.name]) for action in going], dtype=bool)
        self.ending_factor = np.array([theirs[action.name].factor for action in ending], dtype=np.int64)
        self.ending_reward = np.full((len(ending), states), -np.inf)
        self.ending_tallies = np.zeros((len(world.tallies), len(ending), states))
        for place, action in enumerate(ending):
            reward = theirs[action.name].reward
            self.ending_reward[place, : len(reward)] = reward
            for row, tally in enumerate(world.tallies.values()):
                names = world.factors[action.factor].states
                self.ending_tallies[row, place, : len(names)] = tally.counts(theirs[action.name], names)[:, 0]
        self.ending_best = best_commits(self.ending_reward) if len(ending) else self.ending_reward

    def _fill(self, slot: int, mine: Action, theirs: Action, world: Problem) -> None:
        states, outcomes = theirs.likelihood.shape
        names = world.factors[theirs.factor].states
        place = np.array([mine.outcomes.index(outcome) for outcome in theirs.outcomes])
        order, cumulative = outcome_order(theirs.likelihood)
        self.reward[slot, :states] = theirs.reward
        self.cumulative[slot, :states, :outcomes] = cumulative
        self.order[slot, :states, :outcomes] = place[order]
        self.worst[slot, :states] = theirs.worst
        number = np.argsort(place)  # the world's number of an outcome, by the agent's
        if theirs.transition is not None:
            self.changes[slot] = Drawing(theirs.transition, number)
        if theirs.pays is not None:
            scatter, pays = theirs.pays_by_chance, theirs.pays
            assert scatter is not None
            self.chance[slot, :states] = scatter.worst_chance
            self.pays[slot] = lambda outcome, before, after: paid(pays, number[outcome], before, after)
        for row, tally in enumerate(world.tallies.values()):
            counts = tally.counts(theirs, names)
            self.tallies[row, slot, :states, place] = counts.T


class Drawing:
    """How states after an action are drawn. number (O,): the world's number of an outcome, by the agent's."""

    def __init__(self, change: Transition, number: Ids) -> None:
        self.change, self.number = change, number
        self._drawer = state_after_drawer(change)

    def __call__(self, outcome: Ids, before: Ids, uniforms: Array) -> tuple[Ids, NDArray[np.bool_]]:
        """States (k,) after those `before` (k,), and whether a number (k,) was needed to draw them."""
        has_axis = has_observation_axis(self.change)
        row = self.number[outcome] * self.change.shape[-1] + before if has_axis else before
        return self._drawer(row, uniforms)


class Log:
    """What has happened so far in each episode."""

    def __init__(self, count: int, world: Problem) -> None:
        self.world = world
        self.reward = np.zeros(count)
        self.discounted = np.zeros(count)
        self.information = np.zeros(count)
        self.tests = np.zeros(count, dtype=np.int64)
        self.steps = np.zeros(count, dtype=np.int64)
        self.success = np.zeros(count)
        self.truncated = np.zeros(count, dtype=bool)
        self.tallies = np.zeros((len(world.tallies), count))
        self.worst_paid = np.full(count, np.inf)
        self.worst_possible = np.full(count, np.inf)
        self.worst_chance = np.zeros(count)

    def learn(self, walkers: Ids, information: Array) -> None:
        """What the step that comes is expected to tell the episodes `walkers`."""
        self.information[walkers] += self._fade(walkers) * information

    def pay(self, walkers: Ids, reward: Array) -> None:
        """One more step of the episodes `walkers`, and what it pays."""
        self.reward[walkers] += reward
        self.discounted[walkers] += self._fade(walkers) * reward
        self.steps[walkers] += 1
        self.worst_paid[walkers] = np.minimum(self.worst_paid[walkers], reward)

    def _fade(self, walkers: Ids) -> Array:
        return np.power(float(self.world.discount), self.world.time_taken(self.steps[walkers]))

    def fear(self, walkers: Ids, rewards: Array, beliefs: Array) -> None:
        """What the step that comes may pay the episodes `walkers`, by state, and how probable (n, S) these are."""
        least = np.where(beliefs > NEGLIGIBLE, rewards, np.inf).min(axis=1)
        chance = np.where(rewards <= least[:, None], beliefs, 0.0).sum(axis=1)
        before = self.worst_possible[walkers]
        self.worst_chance[walkers] = chance * (least <= before) + self.worst_chance[walkers] * (before <= least)
        self.worst_possible[walkers] = np.minimum(before, least)

    def count(self, walkers: Ids, tallies: Array) -> None:
        self.tallies[:, walkers] += tallies

    def episodes(self, log_score: Array) -> Episodes:
        tallies = dict(zip(self.world.tallies, self.tallies, strict=True))
        if "success" in tallies:
            self.success = (tallies.pop("success") > 0).astype(float)
        elif len(self.world.factors) > 1 or not has_commits(self.world):
            self.success = np.full(len(self.reward), np.nan)
        self.worst_possible = np.minimum(self.worst_possible, self.worst_paid)
        columns = {name: getattr(self, name) for name in Episodes.__dataclass_fields__ if name != "log_score"}
        return Episodes(**{**columns, "log_score": log_score, "tallies": tallies})


def _is_risky(action: Action) -> bool:
    return action.pays is not None or bool(np.ptp(action.reward) > 0)


def _places(mine: tuple[str, ...], theirs: tuple[str, ...]) -> Ids:
    """Where each of the world's states is among the agent's."""
    place = {state: number for number, state in enumerate(mine)}
    return np.array([place[state] for state in theirs])
