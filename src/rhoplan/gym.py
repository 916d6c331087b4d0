"""Any problem as a `gymnasium.Env`: the true model that draws hidden states and observations, without an agent.

Importing this module registers every registered problem: `gymnasium.make("rhoplan/Diagnosis-v0", n=8)` after
`import rhoplan.gym`, or `gymnasium.make("rhoplan.gym:rhoplan/Diagnosis-v0", n=8)` without it.

    action        a number; `action_names` says which action it is. Actions of every observable state have one, in the
                  order of the problem's menus: tests, then terminal actions, if the problem observes, then commits.
    observation   "outcome": the number of the last observation, 0 for none; `outcome_names` has their names. Unless
                  the problem observes, then commits, a dict of that number, "outcome", and the observable state,
                  "visible": its number in `visible_states`; or, if there are more than can be listed, its own whole
                  numbers (END is -1 throughout).
                  "belief": the Bayesian belief, a block of probabilities for each hidden factor. It stays as it
                  was when a terminal action ends the episode.
    reward        what the action pays in the true hidden state (minus the cost, for a test).
    terminated    the action led to END. `make_env` and `gymnasium.make` wrap the environment in a `TimeLimit`, which
                  truncates episodes after `cap` steps.
    info          outcome (name, None after reset), actions (names of those available), action_mask (int8, one per
                  action, as `action_space.sample(mask)` takes it), visible (the observable state). The hidden state is
                  in it only with reveal_state=True.

An action that is not available does nothing, as in Gymnasium's own Taxi: nothing is drawn or observed, the step counts,
and it pays the least that any available action could have paid, at most 0. strict=True makes it a ValueError instead.
"""

from __future__ import annotations

from collections import deque
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief_math.sampling import draw_state
from rhoplan.errors import MissingExtra
from rhoplan.evaluation.environment import Environment
from rhoplan.model.pomdp import END, POMDP, Action, Observable
from rhoplan.problems.registry import PROBLEMS, make, with_parameter

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
    from gymnasium.wrappers import TimeLimit
except ModuleNotFoundError:
    raise MissingExtra("rhoplan.gym", "gymnasium") from None

Observation: TypeAlias = np.int64 | dict[str, np.int64 | NDArray[np.int64]] | NDArray[np.float64]

VISIBLE_LIMIT = 10_000
"""Observable states that are listed at most when the spaces are built: a second of work."""

DIVE = 2_000
"""Observable states that are then visited deepest first, for the names of actions that only they offer."""

LARGEST_NUMBER = 2**62
"""Most that a number of an observable state may be where states are too many to list; an int64 holds it."""

SPELLING = {"rocksample": "RockSample"}
"""Words of problem names that have a capital inside."""


class ProblemEnv(gymnasium.Env[Observation, np.int64]):
    """The true model `problem` (a problem, or what `rhoplan.make` takes) as an environment without a time limit.

    observation: "outcome" or "belief". reveal_state: puts the names of the hidden state, one per factor, into
    info["state"]. strict: refuses an action that is not available, instead of making it cost. parameters: of the
    registered problem that `problem` names.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - gymnasium declares it per instance

    def __init__(
        self,
        problem: POMDP | str,
        *,
        observation: str = "outcome",
        reveal_state: bool = False,
        strict: bool = False,
        render_mode: str | None = None,
        **parameters: object,
    ) -> None:
        self.problem = _problem(problem, parameters)
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or 'ansi'; it is {render_mode!r}")
        if observation not in ("outcome", "belief"):
            raise ValueError(f"observation must be 'outcome' or 'belief'; it is {observation!r}")
        self.observes_belief = observation == "belief"
        self.reveal_state, self.strict, self.render_mode = reveal_state, strict, render_mode
        self.action_names, self.outcome_names, self.visible_states = _names(self.problem)
        self._action_numbers = {name: number for number, name in enumerate(self.action_names)}
        self._outcome_numbers = {name: number for number, name in enumerate(self.outcome_names, start=1)}
        self._visible_numbers = {observable: number for number, observable in enumerate(self.visible_states or ())}
        self.action_space = spaces.Discrete(len(self.action_names))
        self.observation_space = self._space()
        states = np.zeros((1, len(self.problem.factors)), dtype=np.int64)
        self._world = Environment(states, lambda episodes: self.np_random.random(len(episodes)))
        self._visible: Observable = END
        self._menu: dict[str, Action] = {}
        self._belief = self.problem.belief()
        self._steps: list[tuple[str, str, float]] = []
        self._verdict = "not started"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: draw the hidden state, one factor after the other.

        options: {"state": name, or one name per factor} sets the hidden state instead of drawing it.
        """
        super().reset(seed=seed)
        self._world.states[0] = self._chosen_state(options or {})
        self._move_to(self.problem.start)
        self._belief = self.problem.belief()
        self._steps, self._verdict = [], ""
        return self._observation(None), self._info(None)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action; draws its observation, then the change of the hidden state, each only if it is not certain.

        ValueError if there is no such action, ResetNeeded if no episode runs.
        """
        if self._verdict:
            raise ResetNeeded(f"the episode of '{self.problem.name}' is {self._verdict}: call reset() first")
        taken = self._available(action)
        outcome: str | None = None
        if taken is None:
            reward = min([0.0, *(float(other.worst.min()) for other in self._menu.values())])
        else:
            done = self._world.take(taken, taken.factor, np.zeros(1, dtype=np.int64))
            place, reward = int(done.observation[0]), float(done.reward[0])
            outcome = taken.outcomes[place]
            if self.observes_belief and not taken.ends_episode:
                self._belief = self._belief.update(taken.name, outcome)
            self._move_to(taken.leads_to[place])
        self._steps.append((self.action_names[action], outcome or "not on the menu", reward))
        terminated = self._visible is END
        self._verdict = "over" if terminated else ""
        return self._observation(outcome), reward, terminated, False, self._info(outcome)

    def render(self) -> str | None:
        """The episode so far as text, with render_mode="ansi"."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without a render mode: make the environment with "ansi"')
            return None
        lines = [
            f"{number:4d}  {action} -> {outcome}  ({reward:+g})"
            for number, (action, outcome, reward) in enumerate(self._steps, start=1)
        ]
        total = sum(reward for _, _, reward in self._steps)
        last = f"      {total:+g} {self.problem.unit}{f', {self._verdict}' if self._verdict else ''}"
        return "\n".join([self.problem.spec or self.problem.name, *lines, last])

    def _space(self) -> spaces.Space[Any]:
        if self.observes_belief:
            return spaces.Box(0.0, 1.0, (sum(len(factor.states) for factor in self.problem.factors),), np.float64)
        outcome = spaces.Discrete(1 + len(self.outcome_names))
        if self.problem.listed is not None:
            return outcome
        observable: spaces.Space[Any] = spaces.Discrete(max(len(self._visible_numbers), 1))
        if self.visible_states is None:
            start: Any = self.problem.start
            observable = spaces.Box(-1, LARGEST_NUMBER, (len(start),), np.int64)
        return spaces.Dict({"outcome": outcome, "visible": observable})

    def _chosen_state(self, options: dict[str, Any]) -> list[int]:
        if unknown := options.keys() - {"state"}:
            raise ValueError(f"reset knows the option 'state' only, not {', '.join(map(repr, sorted(unknown)))}")
        factors = self.problem.factors
        if "state" not in options:
            return [draw_state(self.np_random, factor.prior) for factor in factors]
        given = options["state"]
        names = (given,) if isinstance(given, str) else tuple(given)
        if len(names) != len(factors):
            raise ValueError(f"option 'state' must name one state per factor ({len(factors)}); it names {len(names)}")
        for factor, name in zip(factors, names, strict=True):
            if name not in factor.states:
                raise ValueError(f"factor '{factor.name}' has no state '{name}'; it has {', '.join(factor.states)}")
        return [factor.states.index(name) for factor, name in zip(factors, names, strict=True)]

    def _move_to(self, observable: Observable) -> None:
        actions = () if observable is END else self.problem.menu(observable)
        for action in actions:
            if action.name not in self._action_numbers or not self._outcome_numbers.keys() >= {*action.outcomes}:
                raise RuntimeError(
                    f"'{self.problem.name}' offers '{action.name}' ({', '.join(action.outcomes)}) only after more "
                    f"than {VISIBLE_LIMIT:,} observable states: it is not in the spaces of the environment"
                )
        self._visible, self._menu = observable, {action.name: action for action in actions}

    def _available(self, action: np.int64 | int) -> Action | None:
        """The action of that number; None if it is not available now."""
        known = self.action_space.contains(action)
        if known and (not self.strict or self.action_names[action] in self._menu):
            return self._menu.get(self.action_names[action])
        allowed = ", ".join(f"{name} ({self._action_numbers[name]})" for name in self._menu)
        if known:
            rule = f"action '{self.action_names[action]}' ({action}) is not on the menu of '{self.problem.name}' now"
            raise ValueError(f"{rule}; allowed are {allowed}")
        rule = f"an action of '{self.problem.name}' must be a whole number from 0 to {len(self.action_names) - 1}"
        raise ValueError(f"{rule}; it is {action!r}; allowed now are {allowed}")

    def _observation(self, outcome: str | None) -> Observation:
        if self.observes_belief:
            return np.concatenate(self._belief.beliefs)
        number = np.int64(0 if outcome is None else self._outcome_numbers[outcome])
        if self.problem.listed is not None:
            return number
        if self.visible_states is not None:
            return {"outcome": number, "visible": np.int64(self._visible_numbers[self._visible])}
        visible: Any = self.problem.start if self._visible is END else self._visible
        return {"outcome": number, "visible": np.array([-1 if self._visible is END else one for one in visible])}

    def _info(self, outcome: str | None) -> dict[str, Any]:
        mask = np.array([name in self._menu for name in self.action_names], dtype=np.int8)
        info = {"outcome": outcome, "actions": tuple(self._menu), "action_mask": mask, "visible": self._visible}
        if self.reveal_state:
            held = zip(self.problem.factors, self._world.states[0], strict=True)
            info["state"] = tuple(factor.states[state] for factor, state in held)
        return info


def make_env(problem: POMDP | str, *, cap: int | None = None, **settings: Any) -> gymnasium.Env[Observation, np.int64]:
    """The environment of `problem`, or of what it names: `diagnosis:n=8` or a model file; with a time limit.

    cap: steps after which an episode is truncated, the problem's own by default. settings: those of `ProblemEnv`.
    """
    env = ProblemEnv(problem, **settings)
    if cap is not None and cap < 1:
        raise ValueError(f"cap must be at least 1 step; it is {cap}")
    return TimeLimit(env, env.problem.cap if cap is None else cap)


def environment_id(name: str) -> str:
    """The id under which the registered problem `name` is known to gymnasium: `rhoplan/Tiger-v0`."""
    return f"rhoplan/{''.join(SPELLING.get(word, word.title()) for word in name.split('-'))}-v0"


def register_environments() -> None:
    """Make every registered problem known to gymnasium, unless it is already. No problem is built for that."""
    for name in PROBLEMS:
        if environment_id(name) not in gymnasium.registry:
            gymnasium.register(environment_id(name), entry_point="rhoplan.gym:make_env", kwargs={"problem": name})


def _problem(problem: POMDP | str, parameters: dict[str, object]) -> POMDP:
    if isinstance(problem, str):
        for name, value in parameters.items():
            if value is not None:
                problem = with_parameter(problem, name, str(value))
        return make(problem)
    if not isinstance(problem, POMDP):
        raise TypeError(f"problem must be a Problem or the name of one; it is {problem!r}")
    if parameters:
        raise ValueError(f"'{problem.name}' is built already and takes no parameters ({', '.join(parameters)})")
    return problem


def _names(problem: POMDP) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Observable, ...] | None]:
    """Names of all actions and of all outcomes, and the observable states that can be reached, END the last of them.

    If there are more than VISIBLE_LIMIT states, None for them; the names are those of the nearest states and of some
    of the deepest ones. Where actions are listed, every menu holds some of them: no state need be visited.
    """
    found, known = deque([problem.start]), {problem.start, END}
    observables: list[Observable] = []
    actions: dict[tuple[str, ...], Action] = {}
    if problem.listed is not None:
        actions, observables = {(one.name,): one for one in problem.listed.everything}, [found.pop()]
    while found and len(observables) < VISIBLE_LIMIT + DIVE:
        observable = found.popleft() if len(observables) < VISIBLE_LIMIT else found.pop()
        observables.append(observable)
        for action in problem.menu(observable):
            actions.setdefault((action.name, *action.outcomes), action)
            columns = zip(action.leads_to, action.likelihood.T, strict=True)
            fresh = dict.fromkeys(after for after, chances in columns if after not in known and chances.any())
            found += fresh
            known.update(fresh)
    is_listed = not found and len(observables) <= VISIBLE_LIMIT
    start = problem.start
    if not is_listed and not (isinstance(start, tuple) and start and all(isinstance(part, int) for part in start)):
        raise ValueError(
            f"'{problem.name}' has more than {VISIBLE_LIMIT:,} observable states, too many for a table, and they are "
            "not tuples of whole numbers, which could stand for themselves"
        )
    outcomes = dict.fromkeys(outcome for action in actions.values() for outcome in action.outcomes)
    names = tuple(dict.fromkeys(action.name for action in actions.values()))
    return names, tuple(outcomes), (*observables, END) if is_listed else None


register_environments()
