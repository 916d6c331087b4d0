"""What to do next at a belief and why: the recommended action, the terms of every action's value, the margin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rhoplan.belief_math.information import coupling, entropy
from rhoplan.errors import NotAvailable
from rhoplan.graph.ties import best_first
from rhoplan.model.belief import Belief
from rhoplan.model.pomdp import Action
from rhoplan.planning.lookahead import LookaheadPolicy
from rhoplan.planning.objective import Objective
from rhoplan.planning.policy import ActionValues, Policy, ValueTerms, frame, html_table

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped, unused-ignore]

TERMS = ("name", "reward", "information", "weighted_information", "continuation", "value")
"""Columns of the table of a recommendation."""


@dataclass(frozen=True)
class ActionValue:
    """What one action is worth: reward + weighted_information + continuation = value.

    information is in nats; weighted_information is what the utility adds, w * information by default. coupling is the
    term of Proposition 3, in nats: 0 if the action preserves the hidden state, as the EFE equivalence requires.
    """

    name: str
    kind: str
    reward: float
    information: float
    weighted_information: float
    continuation: float
    value: float
    probability: float
    preserves_hidden_state: bool
    coupling: float


@dataclass(frozen=True, repr=False)
class Recommendation:
    """The recommended action at a belief, the value of every action, and the margin over the runner-up.

    beliefs: for each hidden factor the probabilities of its states; belief: those of the first factor. turnover: the
    expected sum of absolute rewards of the choice, to compare the margin with. If the planner returns bounds,
    bounds: on the value of every action, and proven: the action that they prove best.
    """

    belief: dict[str, float]
    beliefs: dict[str, dict[str, float]]
    entropy: float
    choice: str
    margin: float
    runner_up: str | None
    turnover: float
    actions: tuple[ActionValue, ...]
    bounds: dict[str, tuple[float, float]] | None = None
    proven: str | None = None

    @property
    def ranking(self) -> tuple[ActionValue, ...]:
        """The actions from the best to the worst; those that tie stay in their order."""
        values = np.array([action.value for action in self.actions])
        return tuple(self.actions[place] for place in best_first(values, np.abs(values)))

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with one row per action, best first, and a column for each term and the value."""
        return frame([[getattr(row, term) for term in TERMS] for row in self.ranking], TERMS, "name")

    def __repr__(self) -> str:
        lead = "" if self.runner_up is None else f", {self.margin:.6g} ahead of {self.runner_up}"
        return f"Recommendation({self.choice}{lead})"

    def _repr_html_(self) -> str:
        rows = [[row.name, *(f"{getattr(row, term):.6g}" for term in TERMS[1:])] for row in self.ranking]
        return html_table(TERMS, rows)


def recommend(policy: Policy, belief: Belief, *, objective: Objective | None = None) -> Recommendation:
    """What `policy` does at `belief`, and why. Of a randomised policy the choice is the most probable action.

    objective: explains policies without action values by one step of look-ahead; by default the expected reward.
    """
    problem = belief.problem
    values = values_of(policy, belief, objective=objective)
    probabilities = policy.probabilities(belief)
    choice = policy.action(belief)
    order = ranking(belief, values)
    runner_up = next((name for name in order if name != choice), None)
    by_name = {action.name: action for action in belief.menu}
    rows = tuple(_row(belief, by_name[row.action], row, probabilities[row.action]) for row in values.rows)
    chosen, beliefs = values[choice], belief.diagnoses()
    pairs = zip(problem.factors, belief.beliefs, strict=True)
    return Recommendation(
        belief=next(iter(beliefs.values())),
        beliefs=beliefs,
        entropy=float(sum(entropy(factor.about(held)) for factor, held in pairs)),
        choice=choice,
        margin=math.inf if runner_up is None else max(chosen.value - values[runner_up].value, 0.0),
        runner_up=runner_up,
        turnover=_size(chosen),
        actions=rows,
        bounds=policy.action_bounds(belief),
        proven=policy.proven(belief),
    )


def values_of(policy: Policy, belief: Belief, *, objective: Objective | None = None) -> ActionValues:
    """The action values of `policy`, or where it has none those of one step of look-ahead."""
    try:
        return policy.action_values(belief)
    except NotAvailable:
        aim = objective or Objective(discount=belief.problem.discount)
        return LookaheadPolicy(belief.problem, aim, 1).action_values(belief)


def ranking(belief: Belief, values: ActionValues) -> list[str]:
    """Names of the actions from the best to the worst by the tie rule: terminal actions win ties, then the first."""
    ends = {action.name: action.ends_episode for action in belief.menu}
    rows = sorted(values.rows, key=lambda row: not ends[row.action])
    # Nothing is rounded like information where there is none.
    informs = [not ends[row.action] or row.weighted_information != 0 for row in rows]
    sizes = np.array([_size(row) for row in rows]) + values.rounding * np.array(informs)
    return [rows[place].action for place in best_first(np.array([row.value for row in rows]), sizes)]


def _size(row: ValueTerms) -> float:
    """The absolute return of an action, or about that."""
    if row.absolute is not None:
        return row.absolute
    return abs(row.reward) + (abs(row.continuation) if math.isfinite(row.continuation) else 0.0)


def _row(belief: Belief, action: Action, row: ValueTerms, probability: float) -> ActionValue:
    held = belief.beliefs[action.factor][None, :]
    terms = (row.reward, row.information, row.weighted_information, row.continuation, row.value, probability)
    return ActionValue(
        action.name, action.kind, *terms, action.preserves_hidden_state, float(coupling(held, action)[0])
    )
