"""Blocks: what a small class has of points or vectors stands side by side, one number after another, for all at once.

A block that is full moves to the end of its array, to twice the room; what it leaves behind is less than all that is in
use, and is not used again.
"""

from __future__ import annotations

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.certified.pointbased.graph import BEGIN, FILLED, WIDE, WIDEST, Graph
from rhoplan.planning.certified.pointbased.machine import compiled

LEAST_BLOCK = 16
"""Room of a new block."""


@compiled
def next_place(graph: Graph, home: int, block: int, counted: int, numbers: Array, owner: Ids) -> int:
    """One more place in a block of class `home`, counted from its beginning.

    block: its columns in graph.chain. counted: the place in graph.used that counts for `numbers` (rows, places) and
    `owner` (places), which have room for twice the largest block and LEAST_BLOCK.
    """
    chain = graph.chain[home]
    begin, count = chain[block + BEGIN], chain[block + FILLED]
    if count == chain[block + WIDE]:
        end = graph.used[counted]
        for row in range(numbers.shape[0]):
            for place in range(count):
                numbers[row, end + place] = numbers[row, begin + place]
        for place in range(count):
            owner[end + place] = owner[begin + place]
        chain[block + BEGIN], chain[block + WIDE] = end, max(2 * count, LEAST_BLOCK)
        graph.used[counted] += chain[block + WIDE]
        graph.used[WIDEST] = max(graph.used[WIDEST], chain[block + WIDE])
    chain[block + FILLED] += 1
    return int(count)
