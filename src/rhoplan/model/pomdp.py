"""The problem: independent hidden factors, an observable state, and in each observable state a menu of actions.

Shapes: n beliefs, S hidden states of a factor.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from rhoplan.belief_math.transitions import Array as Array
from rhoplan.belief_math.transitions import Ids as Ids
from rhoplan.errors import LimitError, ProblemError
from rhoplan.model.belief import Belief, Evidence, make_belief
from rhoplan.model.limits import MOST_MENUS
from rhoplan.model.records import END as END
from rhoplan.model.records import ROW_SUM_TOLERANCE as ROW_SUM_TOLERANCE
from rhoplan.model.records import Action as Action
from rhoplan.model.records import CachedMenu as CachedMenu
from rhoplan.model.records import EventCount
from rhoplan.model.records import Factor as Factor
from rhoplan.model.records import FixedMenu as FixedMenu
from rhoplan.model.records import Menu as Menu
from rhoplan.model.records import Observable as Observable
from rhoplan.model.records import subtype as subtype

if TYPE_CHECKING:
    from rhoplan.model.diagnostic import FlatMenu

Rule: TypeAlias = Callable[..., str]
"""An agent that does not plan: from problem, belief and weight to the name of an action."""
Leaf: TypeAlias = Callable[[Sequence[Observable], tuple[Array, ...]], Array]

MOST_MENUS_LISTED = 100_000
"""Observable states that are visited to list names."""


@dataclass(frozen=True, eq=False, repr=False)
class POMDP:
    """A decision problem under partial observability.

    factors: the hidden factors; hidden states of different factors are independent.
    start: the initial observable state.
    menu: the actions available in an observable state, always the same tuple for the same state.
    leaf: value (n,) at the end of the look-ahead for n beliefs (n, S) per factor; None: the best terminal action.
    horizon, planner: default depth of the look-ahead, and default planner by name.
    discount: weight of a reward one step later. price: value of a nat of information, if the problem has one.
    looks_first: whether the only action at the start is a free observation that takes no time.
    cap: number of steps after which an episode is truncated.
    tallies: additive criteria of an episode, by name.
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
    tallies: Mapping[str, EventCount] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", tuple(self.factors))

    def __repr__(self) -> str:
        sizes = " x ".join(str(len(factor.states)) for factor in self.factors)
        return f"POMDP({self.name!r}, {sizes} hidden states)"

    def belief(self, prior: Any = None, given: Evidence = ()) -> Belief:
        """The belief after `given`, pairs of action and observation in their order, or a mapping without repeats.

        prior: an array or a mapping of states to probabilities, with several factors by factor; else the problem's own.
        The observation "?" was lost: its action was taken, and the belief stays as it was.
        """
        return make_belief(self, prior, given)

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the hidden states; ProblemError with several hidden `factors`, each of which has its own."""
        if len(self.factors) > 1:
            raise ProblemError(
                f"states needs one hidden factor, and '{self.name}' has several; write "
                "{factor.name: factor.states for factor in problem.factors}",
                field=("factors",),
            )
        return self.factors[0].states

    @property
    def diagnoses(self) -> tuple[str, ...]:
        """Names of the diagnoses of the first factor: its states, unless these are subtypes of diagnoses."""
        return self.factors[0].diagnoses

    @property
    def prior(self) -> Array:
        """Prior probabilities (S,) of the first factor."""
        return self.factors[0].prior

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """Names of all actions in the order in which they become available."""
        return tuple(dict.fromkeys(action.name for menu in self._listed_menus() for action in menu))

    @cached_property
    def observations(self) -> tuple[str, ...]:
        """Names of all observations of actions that do not end the episode, in the order of `actions`."""
        going = (action for menu in self._listed_menus() for action in menu if not action.ends_episode)
        return tuple(dict.fromkeys(name for action in going for name in action.outcomes))

    def _listed_menus(self) -> Iterator[tuple[Action, ...]]:
        """The menus of all observable states; LimitError if there are too many."""
        for seen, (_, menu) in enumerate(self.menus(MOST_MENUS_LISTED + 1)):
            if seen == MOST_MENUS_LISTED:
                raise LimitError(
                    f"names can be listed for at most {MOST_MENUS_LISTED:,} observable states, and '{self.name}' has "
                    "more; belief.actions has those of one"
                )
            yield menu

    def menus(self, most: int = MOST_MENUS) -> Iterator[tuple[Observable, tuple[Action, ...]]]:
        """Observable states with their menus, in order of distance from the start; `most` of them.

        A diagnostic problem yields one menu of all its tests and decisions.
        """
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

    @property
    def commits(self) -> tuple[Action, ...]:
        """The terminal actions at the start; if it `observes_then_commits`, those of every observable state."""
        return tuple(action for action in self.menu(self.start) if action.ends_episode)

    @property
    def listed(self) -> FlatMenu | None:
        """Tests, decisions and rules of a problem that was written as a diagnostic problem; else None."""
        return cast("FlatMenu", self.menu) if hasattr(self.menu, "commits") else None

    @property
    def flat(self) -> FlatMenu:
        """`listed`; ProblemError if it is None."""
        if self.listed is None:
            raise ProblemError(
                f"'{self.name}' is written in general form: this takes lists of tests and commits"
                if self.observes_then_commits
                else f"'{self.name}' is not an observe-then-commit problem with one hidden factor",
                code="not-diagnostic",
            )
        return self.listed

    @cached_property
    def observes_then_commits(self) -> bool:
        """Whether one hidden factor never changes, all tests have a price, and the same terminal actions end it.

        Diagnostic problems do by construction. Of other problems all menus are compared; with more than MOST_MENUS
        observable states the answer is no.
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
        """The time (n,) after `steps` actions from the start, which is the exponent of the discount."""
        time: Ids = np.maximum(np.asarray(steps) - self.looks_first, 0)
        return time

    def __getstate__(self) -> dict[str, Any]:
        """Without what planners attach to the problem, which has a leading underscore."""
        return {key: value for key, value in self.__dict__.items() if not key.startswith("_")}

    @cached_property
    def reward_scale(self) -> float:
        """The largest absolute reward at the start, the unit of the tie rule.

        Terminal actions that another one beats in every state do not count.
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
