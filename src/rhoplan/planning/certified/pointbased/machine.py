"""The few loops that every other kernel of the point-based solver is made of, and how they are compiled."""

from __future__ import annotations

from rhoplan.model.problem import Array, Ids
from rhoplan.planning.machine import compiled_in_any_order, entropy

__all__ = ["compiled", "dot", "entropy", "sparse_dot"]

compiled = compiled_in_any_order


@compiled
def dot(left: Array, at: int, right: Array, to: int, count: int) -> float:
    """Inner product of `count` numbers from left[at] and from right[to]."""
    total = 0.0
    for place in range(count):
        total += left[at + place] * right[to + place]
    return total


@compiled
def sparse_dot(dense: Array, at: int, index: Ids, start: int, value: Array, to: int, count: int) -> float:
    """Inner product of the vector at dense[at] with the `count` entries index[start...], value[to...]."""
    total = 0.0
    for place in range(count):
        total += dense[at + index[start + place]] * value[to + place]
    return total
