"""The records every problem is made of: Factor, Action, Problem.

A problem has independent hidden factors, an observable state, and in each observable state a menu of actions. The
reward and the observation of an action depend on the hidden state of one factor, which the action may change; the
observation determines the next observable state, or END (the factored observation POMDP, Definition 1 of the paper).

Shapes: S hidden states of the action's factor, O outcomes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from rhoplan.belief_math.transitions import (
    Array as Array,
)
from rhoplan.belief_math.transitions import (
    Ids as Ids,
)
from rhoplan.belief_math.transitions import (
    Payments,
    Transition,
    Ways,
    canonical,
    is_identity,
    numbers,
    payments,
)
from rhoplan.errors import ProblemError
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.names import action_and_observation_names, short_repr, state_names

if TYPE_CHECKING:
    from rhoplan.model.belief import Belief, Evidence
    from rhoplan.model.diagnostic import FlatMenu
    from rhoplan.model.tally import Tally

Observable: TypeAlias = Hashable

ROW_SUM_TOLERANCE = 1e-9
"""How far a probability row may be from summing to 1: wider than rounding of decimals, narrower than any typo."""


class _End(Enum):
    END = "end"

    def __repr__(self) -> str:
        return "END"


END = _End.END
"""The visible state after the last action of an episode."""


@dataclass(frozen=True, eq=False)
class Factor:
    """One hidden quantity: its states and the belief about them before any evidence, shape (S,).

    joins: the quantities that it stands for, where several belong together (`blocks`): its states are the combinations
    of theirs, the last varying fastest.
    diagnosis_of: where states are subtypes, the diagnosis of each: likelihoods are about the state; what is decided,
    and what people are told, is about the diagnosis. Empty where each state is a diagnosis of its own.
    about_diagnosis: whether information is what is learned about the diagnosis; else it is about the state.
    """

    name: str
    states: tuple[str, ...]
    prior: Array
    joins: tuple[Factor, ...] = ()
    diagnosis_of: tuple[str, ...] = ()
    about_diagnosis: bool = False

    @cached_property
    def diagnoses(self) -> tuple[str, ...]:
        """What people are told about: the states, but for those that are subtypes of one diagnosis."""
        return tuple(dict.fromkeys(self.diagnosis_of)) or self.states

    @cached_property
    def groups(self) -> Ids:
        """The place (S,) of each state's diagnosis in `diagnoses`."""
        place = {name: number for number, name in enumerate(self.diagnoses)}
        return np.array([place[name] for name in self.diagnosis_of or self.states], dtype=np.int64)

    def fold(self, chances: Array) -> Array:
        """Chances (..., D) of diagnoses, given those (..., S) of states."""
        if not self.diagnosis_of:
            return chances
        folded: Array = chances @ np.eye(len(self.diagnoses))[self.groups]
        return folded

    def asked(self, beliefs: Array) -> Array:
        """Chances of what information is about, given beliefs (..., S): of states, or of diagnoses (..., D)."""
        return self.fold(beliefs) if self.about_diagnosis else beliefs

    def by_diagnosis(self, numbers: Array) -> Array:
        """Numbers (..., D) by diagnosis, given those (..., S) by state that are the same in all of its subtypes."""
        picked: Array = numbers[..., np.unique(self.groups, return_index=True)[1]]
        return picked

    @cached_property
    def within(self) -> Array:
        """The share (S,) that each state has in its diagnosis before any evidence; equal where that is ruled out."""
        held, counts = self.fold(self.prior)[self.groups], np.bincount(self.groups)[self.groups]
        result: Array = np.divide(self.prior, held, out=1.0 / counts, where=held > 0)
        return result

    def results(self, likelihood: Array) -> Array:
        """The chance (D, O) of each outcome in each diagnosis before any evidence, given that (S, O) in each state."""
        return self.fold((self.within[:, None] * likelihood).T).T

    def spread(self, chances: Array) -> Array:
        """Chances (S,) of states, given those (D,) of diagnoses, whose subtypes keep their shares."""
        result: Array = chances[self.groups] * self.within
        return result

    def marginals(self, belief: Array) -> list[tuple[Factor, Array]]:
        """The factors that this one joins, else itself, each with the marginal distribution of a belief (S,)."""
        if not self.joins:
            return [(self, belief)]
        table, axes = belief.reshape([len(one.states) for one in self.joins]), range(len(self.joins))
        return [(one, table.sum(axis=tuple(a for a in axes if a != axis))) for axis, one in enumerate(self.joins)]

    def shares(self, belief: Array) -> dict[str, dict[str, float]]:
        """For each quantity that this is, or stands for, the chance of its diagnoses by name, given a belief (S,)."""
        parts = self.marginals(belief)
        return {one.name: dict(zip(one.diagnoses, one.fold(part).tolist(), strict=True)) for one, part in parts}


def subtype(state: str, diagnosis: str) -> str:
    """The name of the subtype that `state` is of `diagnosis`; empty where it is none."""
    inside = state.removeprefix(f"{diagnosis} (")
    return inside[:-1] if inside != state and inside.endswith(")") else ""


@dataclass(frozen=True, eq=False)
class Action:
    """Something the agent can do.

    reward: (S,) what it pays for each hidden state of its factor (a cost is a negative reward).
    likelihood: (S, O) probability of each outcome given the hidden state before the action.
    leads_to: the visible state after each outcome; END stops the episode.
    transition: None where the hidden state is preserved; else (S, S), or (O, S, S) where it depends on the outcome,
        or a `scipy.sparse.csr_array` of shape (S, S) or (O * S, S) (see `transitions`). The row of an outcome that a
        state cannot give may be empty.
    pays: None where `reward` is what is paid; else what is, by state and outcome (S, O), or by outcome, state and the
        state after it (O, S, S), or sparse (O * S, S). Its mean given the state before is `reward`, which is all that
        plans ask for.
    is_last: whether only a horizon ends the episode after it (`limited`): it is no commit for that.
    """

    name: str
    reward: Array
    likelihood: Array
    outcomes: tuple[str, ...]
    leads_to: tuple[Observable, ...]
    factor: int = 0
    transition: Transition | None = None
    pays: Transition | None = None
    is_last: bool = False

    def __post_init__(self) -> None:
        for name in ("transition", "pays"):
            if (table := getattr(self, name)) is not None:
                object.__setattr__(self, name, canonical(table))

    @classmethod
    def from_ways(cls, name: str, ways: Ways, outcomes: tuple[str, ...], leads_to: tuple[Observable, ...]) -> Action:
        """The action with a joint distribution of observation, next state and payment."""
        reward, pays = ways.reward_and_pays
        return cls(name, reward, ways.likelihood, outcomes, leads_to, transition=ways.transition, pays=pays)

    @cached_property
    def ends_episode(self) -> bool:
        return all(observable is END for observable in self.leads_to) and not self.is_last

    @cached_property
    def same_reward(self) -> float | None:
        """The reward, where it is one and the same in every state; None where it depends on the state."""
        return float(self.reward[0]) if np.all(self.reward == self.reward[0]) else None

    @cached_property
    def least_likelihood(self) -> float:
        """The smallest probability above zero of an outcome, or of a change of state."""
        least = float(np.min(self.likelihood, initial=1.0, where=self.likelihood > 0))
        if self.transition is not None:
            chances = numbers(self.transition)
            least *= float(np.min(chances, initial=1.0, where=chances > 0))
        return least

    @cached_property
    def pays_by_chance(self) -> Payments | None:
        """How payments scatter around `reward`; None where it is what is paid."""
        if self.pays is None:
            return None
        return payments(self.reward, self.likelihood, self.transition, self.pays)

    @property
    def worst(self) -> Array:
        """The least (S,) that can be paid in each state."""
        return self.reward if self.pays_by_chance is None else self.pays_by_chance.worst

    @cached_property
    def preserves_hidden_state(self) -> bool:
        """Whether the condition of Proposition 3 holds: no hidden state can turn into another."""
        return self.transition is None or is_identity(self.transition)

    @property
    def is_test_at_a_price(self) -> bool:
        """Whether it shows something, leaves all as it is, always goes on, and pays nothing but one price."""
        goes_on = len(self.outcomes) > 1 and END not in self.leads_to and self.preserves_hidden_state
        return goes_on and self.pays is None and self.same_reward is not None and self.same_reward <= 0

    @property
    def kind(self) -> str:
        """`commit` ends the episode, `test` has outcomes, `sample` changes the hidden state, `move` does neither."""
        if self.ends_episode:
            return "commit"
        if len(self.outcomes) > 1:
            return "test"
        return "move" if self.preserves_hidden_state else "sample"


class CachedMenu:
    """A menu that is built once per visible state: subclasses say how in `build`."""

    def build(self, observable: Any) -> tuple[Action, ...]:
        """The actions available in `visible`."""
        raise NotImplementedError

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        known = self._menus.get(observable)
        if known is None:
            known = self._menus[observable] = self.build(observable)
        return known

    @cached_property
    def _menus(self) -> dict[Observable, tuple[Action, ...]]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: the numbers, not the menus made from them."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class FixedMenu:
    """The same actions everywhere."""

    actions: tuple[Action, ...]

    def __call__(self, observable: Observable) -> tuple[Action, ...]:
        return self.actions


Menu: TypeAlias = Callable[[Observable], tuple[Action, ...]]
Rule: TypeAlias = Callable[..., str]
"""An agent that does not plan: problem, situation and weight to the name of an action."""
Leaf: TypeAlias = Callable[[Sequence[Observable], tuple[Array, ...]], Array]


@dataclass(frozen=True, eq=False, repr=False)
class POMDP:
    """A decision problem under partial observability whose tests can be planned.

    menu: the actions available in a visible state, always the same tuple for the same state.
    leaf: value (n,) at the end of the look-ahead for n beliefs (n, S) per factor; None is the best ending action.
    tallies: what is worth counting in an episode.
    horizon: the look-ahead used when nobody asks for another. cap: steps after which an episode is cut off.
    planner: default planner, by name. discount: weight of a reward one step later. price: value of a nat of
        information, if given. looks_first: whether the only action at the start is a free observation in no time.
    """

    name: str
    factors: tuple[Factor, ...]
    start: Observable
    menu: Menu
    unit: str = "points"
    leaf: Leaf | None = None
    horizon: int = 3
    planner: str = "exact"
    discount: float = 1.0
    price: float | None = None
    looks_first: bool = False
    cap: int = 200
    note: str = ""
    spec: str = ""
    tallies: Mapping[str, Tally] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    __repr__ = short_repr

    @cached_property
    def observes_then_commits(self) -> bool:
        """Whether one hidden factor stays as it is, tests at a price go on, and the same commits end it everywhere.

        Then evidence counts in any order, so that few beliefs come up; each step is a test or the commit; the best
        commit will do for a leaf; and there is a final belief to score. So it is by construction where tests and
        commits are `listed`. Of other problems menus are looked at: where MOST_MENUS are not all, nobody can tell.
        """
        if self.listed is not None or len(self.factors) > 1:
            return self.listed is not None
        always = [(one.name, one.reward.tolist()) for one in self.commits]
        for seen, (_, actions) in enumerate(self.menus(MOST_MENUS + 1)):
            commits = [(one.name, one.reward.tolist()) for one in actions if one.ends_episode]
            tests = all(one.ends_episode or one.is_test_at_a_price for one in actions)
            if not commits or commits != always or not tests or seen == MOST_MENUS:
                return False
        return True

    def time_taken(self, steps: Ids | int) -> Ids:
        """The time (n,) that `steps` actions from the start on have taken: what comes then is discounted so often."""
        time: Ids = np.maximum(np.asarray(steps) - self.looks_first, 0)
        return time

    @property
    def commits(self) -> tuple[Action, ...]:
        """What ends the episode at the start; where it `observes_then_commits`, anywhere."""
        return tuple(action for action in self.menu(self.start) if action.ends_episode)

    @property
    def listed(self) -> FlatMenu | None:
        """Tests, commits and rules, where these are what was written down: what files, forms and reports show."""
        return cast("FlatMenu", self.menu) if hasattr(self.menu, "commits") else None

    @property
    def flat(self) -> FlatMenu:
        """What is `listed`; ProblemError where nothing is."""
        if self.listed is None:
            raise ProblemError(
                f"'{self.name}' is written in general form: this takes lists of tests and commits"
                if self.observes_then_commits
                else f"'{self.name}' is not an observe-then-commit problem with one hidden factor",
                code="not-diagnostic",
            )
        return self.listed

    def menus(self, most: int = MOST_MENUS) -> Iterator[tuple[Observable, tuple[Action, ...]]]:
        """Visible states with their menus, the nearest to the start first. Those of lists are all made of one."""
        if self.listed is not None:
            yield self.start, self.listed.everything
            return
        seen: set[Observable] = {self.start}
        waiting = deque(seen)
        for _ in range(most):
            if not waiting:
                return
            observable = waiting.popleft()
            actions = self.menu(observable)
            yield observable, actions
            for following in (after for action in actions for after in action.leads_to):
                if following is not END and following not in seen:
                    seen.add(following)
                    waiting.append(following)

    def belief(self, prior: Any = None, given: Evidence = ()) -> Belief:
        """The belief after `given`, pairs of action and observation in their order, or a mapping without repeats.

        prior: an array or a mapping of states to probabilities, with several factors by factor; else the problem's own.
        An observation "?" was lost: its action was taken, and the belief stays as it was.
        """
        from rhoplan.model.belief import make_belief

        return make_belief(self, prior, given)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the hidden states; ProblemError with several hidden `factors`, each of which has its own."""
        return state_names(self)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Names of all actions in the order in which they become available."""
        return action_and_observation_names(self)[0]

    @cached_property
    def observations(self) -> tuple[str, ...]:
        """Names of all observations of actions that do not end the episode, in the order of `actions`."""
        return action_and_observation_names(self)[1]

    @property
    def diagnoses(self) -> tuple[str, ...]:
        """What people are told about the first factor: its states, but for subtypes of one diagnosis."""
        return self.factors[0].diagnoses

    @property
    def prior(self) -> Array:
        return self.factors[0].prior

    @cached_property
    def gains(self) -> Array | None:
        """The most (S,) that an episode can gain in each state of the one hidden factor, or the menu says; else None.

        What commits gain, where it `observes_then_commits`; what is lost counts as nothing.
        """
        if hasattr(self.menu, "gains") or not self.observes_then_commits:
            return getattr(self.menu, "gains", None)
        best: Array = np.maximum(np.max([commit.reward for commit in self.commits], axis=0), 0.0)
        return best

    def __getstate__(self) -> dict[str, Any]:
        """What travels to another process: everything but what planners keep on the problem."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @cached_property
    def reward_scale(self) -> float:
        """Largest reward or cost in sight at the start, the yardstick of the tie rule.

        Ending actions that another one beats in every state do not count: nobody would take them.
        """
        actions = self.menu(self.start)
        if self.looks_first:
            actions = tuple(one for place in actions[0].leads_to if place is not END for one in self.menu(place))
        sizes = [float(np.max(np.abs(action.reward))) for action in actions if not action.ends_episode]
        for factor in {action.factor for action in actions if action.ends_episode}:
            rewards = np.stack([a.reward for a in actions if a.ends_episode and a.factor == factor])
            rewards = rewards[~(rewards[rewards.min(axis=1).argmax()] > rewards).all(axis=1)]  # most of them, as a rule
            largest = np.abs(rewards).max(axis=1)
            order = np.argsort(-largest, kind="stable").tolist()
            sizes.append(next(float(largest[n]) for n in order if not (rewards > rewards[n]).all(axis=1).any()))
        return max([*sizes, 0.0]) or 1.0
