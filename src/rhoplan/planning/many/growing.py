"""The arrays of a search on the Python side: made at the start, and enlarged when they are full."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rhoplan.planning.many.bounds import Standing
from rhoplan.planning.many.evidence import Kinds
from rhoplan.planning.many.graph import ARMS, CHILDREN, NODES, Graph, Settings, fill_table

FIRST_ROOM = 4096

LONGEST_WALK = 2000
"""Tests after which a walk turns back in any case."""

ROOM: dict[int, tuple[str, ...]] = {
    NODES: ("key", "belief", "bound", "arms"),
    ARMS: ("kind", "worth", "child"),
    CHILDREN: ("node", "chance"),
}
"""Which arrays each place in Graph.used counts for."""

SHARE_OF_MEMORY = 0.45
"""Of the memory allowed, what the graph may take: while an array is doubled, old and new are there at once."""


def make_graph(kinds: Kinds, settings: Settings) -> Graph:
    """An empty graph."""
    room, states = FIRST_ROOM + 2 * settings.most_children, len(kinds.belief)
    return Graph(
        key=np.zeros((room, kinds.words), dtype=np.int64),
        belief=np.zeros((room, states)),
        bound=np.zeros((room, 3)),
        arms=np.zeros((room, 2), dtype=np.int32),
        kind=np.zeros(room, dtype=np.int32),
        worth=np.zeros((room, 3)),
        child=np.zeros(room, dtype=np.int32),
        node=np.zeros(room, dtype=np.int32),
        chance=np.zeros(room),
        table=np.full(_table_size(room), -1, dtype=np.int32),
        used=np.zeros(6, dtype=np.int64),
        path=np.zeros((LONGEST_WALK, 2), dtype=np.int64),
        after=np.zeros(states),
        fresh=np.zeros(kinds.words, dtype=np.int64),
    )


def make_standing(kinds: Kinds, pairs: int) -> Standing:
    """Scratch for a problem with so many pairs of states."""
    tests, groups = len(kinds.model.price), len(kinds.model.entry)
    return Standing(
        runs=_zeros(tests),
        left=_zeros(tests),
        paid=_zeros(groups),
        so_far=_zeros(3),
        free=np.zeros(pairs),
        within=np.zeros((pairs, groups)),
        allows=np.zeros(pairs),
        chosen=_zeros(pairs),
        using=_zeros(1),
        reliefs=np.zeros(pairs),
        taken=_zeros(len(kinds.belief)),
    )


def enlarged(graph: Graph, settings: Settings) -> Graph:
    """`graph` with twice the room wherever one more node might not fit."""
    needs = {NODES: settings.most_children, ARMS: settings.most_arms, CHILDREN: settings.most_children}
    for counted, names in ROOM.items():
        if graph.used[counted] + needs[counted] >= len(getattr(graph, names[0])):
            bigger: dict[str, Any] = {name: _doubled(getattr(graph, name)) for name in names}
            graph = graph._replace(**bigger)
    if len(graph.table) < _table_size(len(graph.key)):
        graph = graph._replace(table=np.full(_table_size(len(graph.key)), -1, dtype=np.int32))
        fill_table(graph)
    return graph


def size_in_bytes(graph: Graph) -> int:
    """Memory of all arrays."""
    return sum(array.nbytes for array in graph)


def _table_size(nodes: int) -> int:
    """A power of two that leaves the table at most half full."""
    return 1 << (2 * nodes - 1).bit_length()


def _doubled(array: NDArray[Any]) -> NDArray[Any]:
    bigger = np.empty((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    bigger[: len(array)] = array
    return bigger


def _zeros(size: int) -> NDArray[np.int64]:
    return np.zeros(size, dtype=np.int64)
