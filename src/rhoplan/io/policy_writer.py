"""A solved policy as a file of SARSOP's: alpha vectors over all states, each with the action it takes.

The states are those of the `.pomdp` file that the problem was read from, in its order; for any other problem those of
the file that `write_pomdp` writes. Our vectors are about one visible class each. Elsewhere they say what no plan can
fall below, the least reward for ever: so each is a lower bound at every belief, also at those that never come up, and
where its class is not the one that is seen another vector is higher.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from rhoplan.errors import AgentError
from rhoplan.io.foreign import check_size
from rhoplan.io.pomdp_writer import written_states
from rhoplan.model.horizon import horizon_of
from rhoplan.model.pomdp import END, POMDP, Array

if TYPE_CHECKING:
    from rhoplan.planning.certified.solved import SolvedPolicy

SCHEMA = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="policyx.xsd"'


def write_policy(policy: SolvedPolicy) -> str:
    """`policy` as the text of a policy file of SARSOP's.

    Not covered: a price on information (the vectors there are not linear), discount 1, a horizon.
    """
    problem = policy.origin
    check_export(weight=policy.settings.weight, discount=policy.settings.discount, horizon=horizon_of(problem))
    states, actions = _states_and_actions(problem)
    rows = list(_rows(policy, states))
    number = {name: place for place, name in enumerate(actions)}
    model = Path(problem.spec or problem.name).name
    lines = [
        '<?xml version="1.0" encoding="ISO-8859-1"?>',
        f'<Policy version="0.1" type="value" model={quoteattr(model)} {SCHEMA}>',
        f'<AlphaVector vectorLength="{len(states)}" numObsValue="1" numVectors="{len(rows)}">',
    ]
    lines += [
        f'<Vector action="{number.get(action, 0)}" obsValue="0">{" ".join(map(repr, row.tolist()))} </Vector>'
        for action, row in rows
    ]
    return "\n".join([*lines, "</AlphaVector> </Policy>", ""])


def check_export(*, weight: float, discount: float, horizon: int | None) -> None:
    """Refuse a policy that no vectors over states can tell."""
    if weight != 0:
        raise AgentError(
            f"a policy for SARSOP must have weight 0; it has {weight:g}: with a price on information values are not "
            "linear in the belief; save it without the ending .policyx",
            field=("weight",),
            code="not-writable",
        )
    if not discount < 1:
        raise AgentError(
            f"a policy for SARSOP must have a discount below 1; it has {discount:g}: solve with --discount",
            field=("discount",),
            code="not-writable",
        )
    if horizon is not None:
        raise AgentError(
            f"a policy for SARSOP must have no horizon; it has {horizon}: its vectors cannot count actions",
            field=("horizon",),
            code="not-writable",
        )


def _states_and_actions(problem: POMDP) -> tuple[list[tuple[object, int]], list[str]]:
    """What each state of the file stands for, a visible state and a joint hidden one, and the file's actions."""
    if Path(problem.spec).suffix.lower() == ".pomdp":
        return [(problem.start, one) for one in range(len(problem.states))], [
            action.name for action in problem.menu(problem.start)
        ]
    states, actions = written_states(problem)
    return list(states), actions


def _rows(policy: SolvedPolicy, states: list[tuple[object, int]]) -> Iterator[tuple[str, Array]]:
    """Every vector over all `states`, with its action; first, where episodes end, 0 for that."""
    compiled, kinds = policy.problem, policy.problem.kinds
    count = int(kinds.max()) + 1
    useful = {home: undominated(alpha) for home, (alpha, _, _) in policy.vectors.items()}
    check_size("a policy file", sum(map(len, useful.values())) * len(states), file=policy.origin.name)
    floor = _least(policy)
    columns: dict[int, list[int]] = {}
    ending: list[int] = []
    for column, (observable, hidden) in enumerate(states):
        if observable is END:
            ending.append(column)
        else:
            columns.setdefault(policy.observables[observable] * count + int(kinds[hidden]), []).append(column)
    members = np.split(compiled.state, compiled.model.class_state[1:-1])
    # A file of others has no END: what ends here is a state there that pays nothing and is never left.
    ended = [state % count for home in np.flatnonzero(compiled.ended) for state in members[home].tolist()]
    if ended:
        row = np.full(len(states), floor)
        row[ending or [column for state in ended for column in columns[state]]] = 0.0
        yield "", row
    for home, (alpha, _, pairs) in sorted(policy.vectors.items()):
        if compiled.ended[home]:
            continue
        to = [columns[state] for state in members[home].tolist()]
        source = np.repeat(np.arange(len(to)), [len(one) for one in to])
        target = [column for one in to for column in one]
        for vector in useful[home]:
            row = np.full(len(states), floor)
            row[target] = alpha[vector][source]
            yield compiled.actions[int(compiled.pair_action[pairs[vector]])], row


def undominated(alpha: Array) -> list[int]:
    """The vectors (V, S) that no other is at least as good as in every state; of equal ones the first."""
    kept: list[int] = []
    best = np.empty_like(alpha)
    for vector in np.argsort(-alpha.sum(axis=1), kind="stable").tolist():
        if not (best[: len(kept)] >= alpha[vector]).all(axis=1).any():
            best[len(kept)] = alpha[vector]
            kept.append(vector)
    return kept


def _least(policy: SolvedPolicy) -> float:
    """What no plan can fall below, in any state: the least reward of all for ever, or nothing."""
    menus = (policy.origin.menu(observable) for observable in policy.observables)
    least = min(float(action.reward.min()) for menu in menus for action in menu)
    return min(least, 0.0) / (1 - policy.settings.discount)
