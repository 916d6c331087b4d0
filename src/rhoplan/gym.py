"""Any Problem as a gymnasium.Env: the world that draws the hidden state and the outcomes, without an agent.

Importing this module registers every registered problem: `gymnasium.make("rhoplan/Diagnosis-v0", n=8)` after
`import rhoplan.gym`, or `gymnasium.make("rhoplan.gym:rhoplan/Diagnosis-v0", n=8)` without it. (Gymnasium 1.0 and later
read no entry points, so an import has to happen somewhere.)

    action        a number; `action_names` says which action it stands for. Actions of every visible state have one, in
                  the order of the problem's menus: tests, then commits, where the problem is observe-then-commit.
    observation   of an observe-then-commit problem: the number of the outcome, 0 for "nothing"; `outcome_names` says
                  which outcome it stands for. Of any other problem: a dict with that number under "outcome" and the
                  visible state under "visible": its number, `visible_states` says which it stands for; or, where there
                  are more than can be listed, its own whole numbers (END is -1 throughout).
    reward        what the action pays in the true hidden state (minus the cost, for a test).
    terminated    the action led to END. truncated: `cap` steps are over without that; never both.
    info          outcome (name, None after reset), actions (names on the menu now), action_mask (int8, one per action,
                  as `action_space.sample(mask)` takes it), visible (the visible state itself). The hidden state is told
                  only with reveal_state=True.

An action that the mask rules out does nothing, as in Gymnasium's own Taxi: nothing is drawn and nothing seen, the step
counts, and it pays the least that anything on the menu could have paid, at most 0. So it is never the cheap way to sit
an episode out. strict=True makes it a ValueError instead.

The draws follow `rhoplan.belief.draws`. The names of an episode's outcomes are what `Belief.update` takes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from rhoplan.belief.draws import draw_outcome, draw_state
from rhoplan.errors import MissingExtra
from rhoplan.model.pomdp import END, Action, Problem, Visible
from rhoplan.model.transitions import paid, row
from rhoplan.problems.registry import PROBLEMS, make, with_parameter

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.error import ResetNeeded
except ModuleNotFoundError:
    raise MissingExtra("rhoplan.gym", "gymnasium") from None

Observation: TypeAlias = np.int64 | dict[str, np.int64 | NDArray[np.int64]]

NOTHING = 0
"""The observation before any action, and after one that was not on the menu."""

VISIBLE_LIMIT = 10_000
"""Visible states that are listed at most when the spaces are built: a second of work."""

DIVE = 2_000
"""Visible states met going deep, for the names of actions that the nearest VISIBLE_LIMIT states do not offer."""

LARGEST_NUMBER = 2**62
"""Most that a number of a visible state may be where states are too many to list; an int64 holds it."""

SPELLING = {"rocksample": "RockSample"}
"""Words of problem names that have a capital inside."""


class ProblemEnv(gymnasium.Env[Observation, np.int64]):
    """The world of `problem` (a Problem, or what `rhoplan.make` takes); see the module's text for what is what.

    cap: steps after which an episode is truncated, the problem's own by default. An action that ends the episode on
    that very step terminates it and does not truncate it.
    reveal_state: puts the names of the hidden state, one per factor, into info["state"].
    strict: refuses an action that is not on the menu, instead of making it cost.
    parameters: of the registered problem that `problem` names.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012 - gymnasium declares it per instance

    def __init__(
        self,
        problem: Problem | str,
        *,
        cap: int | None = None,
        reveal_state: bool = False,
        strict: bool = False,
        render_mode: str | None = None,
        **parameters: object,
    ) -> None:
        self.problem = _problem(problem, parameters)
        self.cap = self.problem.cap if cap is None else cap
        if self.cap < 1:
            raise ValueError(f"cap must be at least 1 step; it is {self.cap}")
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode must be None or 'ansi'; it is {render_mode!r}")
        self.reveal_state = reveal_state
        self.strict = strict
        self.render_mode = render_mode
        self.action_names, self.outcome_names, self.visible_states = _names(self.problem)
        self._action_numbers = {name: number for number, name in enumerate(self.action_names)}
        self._outcome_numbers = {name: number for number, name in enumerate(self.outcome_names, start=1)}
        self._visible_numbers = {visible: number for number, visible in enumerate(self.visible_states or ())}
        self.action_space = spaces.Discrete(len(self.action_names))
        outcome_space = spaces.Discrete(1 + len(self.outcome_names))
        visible_space: spaces.Space[Any] = (
            spaces.Box(-1, LARGEST_NUMBER, _whole_numbers(self.problem).shape, np.int64)
            if self.visible_states is None
            else spaces.Discrete(len(self.visible_states))
        )
        self.observation_space: spaces.Space[Any] = (
            outcome_space
            if self.problem.listed is not None
            else spaces.Dict({"outcome": outcome_space, "visible": visible_space})
        )
        self._menus: dict[Visible, dict[str, Action]] = {}
        self._visible: Visible = END
        self._state: list[int] = []
        self._steps: list[tuple[str, str, float]] = []
        self._verdict = "not started"

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode: draw the hidden state, one factor after the other.

        options: {"state": name, or one name per factor} sets the hidden state instead of drawing it.
        """
        super().reset(seed=seed)
        self._state = self._chosen_state(options or {})
        self._visible = self.problem.start
        self._steps = []
        self._verdict = ""
        return self._observation(None), self._info(None)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take an action; draws its outcome, then the change of the hidden state, each only where it is left open.

        ValueError where there is no such action, ResetNeeded where no episode runs.
        """
        if self._verdict:
            raise ResetNeeded(f"the episode of '{self.problem.name}' is {self._verdict}: call reset() first")
        taken = self._on_menu(action)
        outcome: str | None = None
        if taken is None:  # not on the menu: it shows nothing, and pays the least that the menu could have paid
            reward = min([0.0, *(float(other.worst.min()) for other in self._menu().values())])
        else:
            outcome, reward = self._take(taken)
        self._steps.append((self.action_names[action], outcome or "not on the menu", reward))
        terminated = self._visible is END
        truncated = not terminated and len(self._steps) >= self.cap
        self._verdict = "over" if terminated else "cut off" if truncated else ""
        return self._observation(outcome), reward, terminated, truncated, self._info(outcome)

    def render(self) -> str | None:
        """The episode so far as text, with render_mode="ansi"."""
        if self.render_mode is None:
            gymnasium.logger.warn('render() shows nothing without a render mode: make the environment with "ansi"')
            return None
        lines = [self.problem.spec or self.problem.name]
        lines += [
            f"{number:4d}  {action} -> {outcome}  ({reward:+g})"
            for number, (action, outcome, reward) in enumerate(self._steps, start=1)
        ]
        total = sum(reward for _, _, reward in self._steps)
        lines.append(f"      {total:+g} {self.problem.unit}{f', {self._verdict}' if self._verdict else ''}")
        return "\n".join(lines)

    def _chosen_state(self, options: dict[str, Any]) -> list[int]:
        if unknown := options.keys() - {"state"}:
            raise ValueError(f"reset knows the option 'state' only, not {', '.join(map(repr, sorted(unknown)))}")
        factors = self.problem.factors
        if "state" not in options:
            return [draw_state(self.np_random, factor.prior) for factor in factors]
        given = options["state"]
        names: Sequence[str] = (given,) if isinstance(given, str) else tuple(given)
        if len(names) != len(factors):
            raise ValueError(f"option 'state' must name one state per factor ({len(factors)}); it names {len(names)}")
        for factor, name in zip(factors, names, strict=True):
            if name not in factor.states:
                raise ValueError(f"factor '{factor.name}' has no state '{name}'; it has {', '.join(factor.states)}")
        return [factor.states.index(name) for factor, name in zip(factors, names, strict=True)]

    def _take(self, taken: Action) -> tuple[str, float]:
        """What the world does: the name of the outcome, and the reward."""
        state = self._state[taken.factor]
        reward = float(taken.reward[state])
        outcome = draw_outcome(self.np_random, taken.likelihood[state])
        if taken.transition is not None:
            self._state[taken.factor] = draw_outcome(self.np_random, row(taken.transition, outcome, state))
        if taken.pays is not None:
            reward = float(paid(taken.pays, *(np.array([n]) for n in (outcome, state, self._state[taken.factor])))[0])
        self._visible = taken.leads_to[outcome]
        return taken.outcomes[outcome], reward

    def _menu(self) -> dict[str, Action]:
        if self._visible not in self._menus:
            actions = () if self._visible is END else self.problem.menu(self._visible)
            for action in actions:
                if action.name not in self._action_numbers or not self._outcome_numbers.keys() >= {*action.outcomes}:
                    raise RuntimeError(
                        f"'{self.problem.name}' offers '{action.name}' ({', '.join(action.outcomes)}) only after more "
                        f"than {VISIBLE_LIMIT:,} visible states: it is not in the spaces of the environment"
                    )
            self._menus[self._visible] = {action.name: action for action in actions}
        return self._menus[self._visible]

    def _on_menu(self, action: np.int64 | int) -> Action | None:
        """The action of that number; None where the menu does not have it now."""
        menu, known = self._menu(), self.action_space.contains(action)
        if known and (not self.strict or self.action_names[action] in menu):
            return menu.get(self.action_names[action])
        allowed = ", ".join(f"{name} ({self._action_numbers[name]})" for name in menu)
        if known:
            rule = f"action '{self.action_names[action]}' ({action}) is not on the menu of '{self.problem.name}' now"
            raise ValueError(f"{rule}; allowed are {allowed}")
        rule = f"an action of '{self.problem.name}' must be a whole number from 0 to {len(self.action_names) - 1}"
        raise ValueError(f"{rule}; it is {action!r}; allowed now are {allowed}")

    def _observation(self, outcome: str | None) -> Observation:
        number = np.int64(NOTHING if outcome is None else self._outcome_numbers[outcome])
        if not isinstance(self.observation_space, spaces.Dict):
            return number
        if self.visible_states is not None:
            return {"outcome": number, "visible": np.int64(self._visible_numbers[self._visible])}
        ended = np.full_like(_whole_numbers(self.problem), -1)
        return {"outcome": number, "visible": ended if self._visible is END else np.array(self._visible, np.int64)}

    def _info(self, outcome: str | None) -> dict[str, Any]:
        allowed = tuple(self._menu())
        mask = np.zeros(len(self.action_names), dtype=np.int8)
        mask[[self._action_numbers[name] for name in allowed]] = 1
        info = {"outcome": outcome, "actions": allowed, "action_mask": mask, "visible": self._visible}
        if self.reveal_state:
            held = zip(self.problem.factors, self._state, strict=True)
            info["state"] = tuple(factor.states[state] for factor, state in held)
        return info


def make_env(spec: str, **settings: Any) -> ProblemEnv:
    """The environment of the problem that `spec` names, e.g. `diagnosis:n=8` or a model file, without any wrapper.

    settings: those of `ProblemEnv`.
    """
    return ProblemEnv(make(spec), **settings)


def environment_id(name: str) -> str:
    """The id under which the registered problem `name` is known to gymnasium: `rhoplan/Tiger-v0`."""
    return f"rhoplan/{''.join(SPELLING.get(word, word.title()) for word in name.split('-'))}-v0"


def register_environments() -> None:
    """Make every registered problem known to gymnasium, unless it is already. No problem is built for that."""
    for name in PROBLEMS:
        if environment_id(name) not in gymnasium.registry:
            gymnasium.register(environment_id(name), entry_point="rhoplan.gym:ProblemEnv", kwargs={"problem": name})


def _problem(problem: Problem | str, parameters: dict[str, object]) -> Problem:
    if isinstance(problem, str):
        for name, value in parameters.items():
            if value is not None:
                problem = with_parameter(problem, name, str(value))
        return make(problem)
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a Problem or the name of one; it is {problem!r}")
    if parameters:
        raise ValueError(f"'{problem.name}' is built already and takes no parameters ({', '.join(parameters)})")
    return problem


def _names(problem: Problem) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Visible, ...] | None]:
    """Names of all actions and of all outcomes, and the visible states that can be reached, END the last of them.

    None for the visible states where there are too many; the names are then those of the nearest, and of a dive.
    """
    if problem.listed is not None:
        # Whatever has been done, the menu holds some of the tests and all commits: no need to list what can be done.
        visibles: list[Visible] = [problem.start]
        actions, listed = list(problem.listed.everything), True
    else:
        visibles, actions, listed = _explore(problem, VISIBLE_LIMIT, deep=False)
    if not listed:
        _whole_numbers(problem)
        actions += _explore(problem, DIVE, deep=True)[1]
    outcomes = dict.fromkeys(outcome for action in actions for outcome in action.outcomes)
    names = tuple(dict.fromkeys(action.name for action in actions))
    return names, tuple(outcomes), (*visibles, END) if listed else None


def _explore(problem: Problem, most: int, *, deep: bool) -> tuple[list[Visible], list[Action], bool]:
    """Up to `most` visible states from the start on, the nearest or the last found first; one action per name and
    outcomes on their menus; and whether these are all states there are."""
    found, known = deque([problem.start]), {problem.start, END}
    visibles: list[Visible] = []
    actions: dict[tuple[str, ...], Action] = {}
    while found and len(visibles) < most:
        visible = found.pop() if deep else found.popleft()
        visibles.append(visible)
        for action in problem.menu(visible):
            actions.setdefault((action.name, *action.outcomes), action)
            columns = zip(action.leads_to, action.likelihood.T, strict=True)
            fresh = [v for v, chances in columns if v not in known and chances.any()]
            found += dict.fromkeys(fresh)
            known.update(fresh)
    return visibles, list(actions.values()), not found


def _whole_numbers(problem: Problem) -> NDArray[np.int64]:
    """The start of `problem` as an array, where visible states can stand for themselves."""
    start = problem.start
    if not isinstance(start, tuple) or not start or not all(isinstance(part, int) for part in start):
        raise ValueError(
            f"'{problem.name}' has more than {VISIBLE_LIMIT:,} visible states, too many for a table, and they are not "
            "tuples of whole numbers, which could stand for themselves"
        )
    return np.array(start, dtype=np.int64)


register_environments()
