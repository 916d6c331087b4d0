"""Actions that do nothing, where there is no discount: taking one is as good as stopping for good.

Such an action costs nothing, changes nothing and tells nothing. To take it once is of no use; to take it for ever pays
0, like an end. Left as it is, its value at a belief would be the value of that belief, which no backup can lower: so it
leads to an end in the arrays, and the bounds can meet.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rhoplan.model.pomdp import Ids
from rhoplan.planning.certified.pointbased.compiled import Compiled

STOPPED = -1
"""What the state of the end that idle pairs lead to is called: it is none of the problem's."""


def with_stops(problem: Compiled) -> Compiled:
    """`problem` with each pair that does nothing leading to an end, one state that is there once for all of them."""
    model, idle = problem.model, idle_pairs(problem)
    if not len(idle):
        return problem
    branches = model.pair_branch[idle]
    target, column = model.branch_target.copy(), model.column.copy()
    target[branches] = problem.classes
    for pair, branch in zip(idle.tolist(), branches.tolist(), strict=True):
        size = int(problem.sizes[model.pair_class[pair]])
        begin = model.branch_row[branch]
        column[model.row[begin] : model.row[begin + size]] = 0
    return replace(
        problem,
        model=model._replace(
            class_state=np.append(model.class_state, problem.slots + 1),
            class_pair=np.append(model.class_pair, model.class_pair[-1]),
            branch_target=target,
            column=column,
            symbol=np.append(model.symbol, 0),
        ),
        state=np.append(problem.state, STOPPED),
    )


def stopping_pairs(problem: Compiled) -> frozenset[int]:
    """The pairs that lead to such an end, in a problem that has one."""
    model = problem.model
    if problem.state[-1] != STOPPED:
        return frozenset()
    branches = np.flatnonzero(model.branch_target == problem.classes - 1)
    return frozenset((np.searchsorted(model.pair_branch, branches, side="right") - 1).tolist())


def idle_pairs(problem: Compiled) -> Ids:
    """The pairs that pay nothing, have one outcome, and leave every state of their class as it is."""
    model, where = problem.model, problem.entries
    pair = problem.row_pair
    does = np.diff(model.pair_branch) != 1
    does[pair[model.reward != 0]] = True
    does[where.action[problem.row_slot[where.source] != where.target]] = True
    return np.flatnonzero(~does)
