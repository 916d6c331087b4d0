"""The few loops that every other kernel of the point-based solver is made of, and how they are compiled.

They count places by numbers without sign. Below 0 a place would count from the end of an array, so with signs what is
next in a loop need not be next in memory, and machine code that takes several at once has to collect them one by one:
dense sums took 2 to 12 times as long.
"""

from __future__ import annotations

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning.machine import compiled as compiled_in_order
from rhoplan.planning.machine import compiled_in_any_order, entropy

__all__ = ["compiled", "dot", "entropy", "least_of_eight", "lowest_place", "most_of_eight", "sparse_dot"]

compiled = compiled_in_any_order


@compiled
def dot(left: Array, at: int, right: Array, to: int, count: int) -> float:
    """Inner product of `count` numbers from left[at] and from right[to]."""
    first, second, total = np.uint64(at), np.uint64(to), 0.0
    for place in range(np.uint64(count)):
        total += left[first + place] * right[second + place]
    return total


@compiled_in_order
def sparse_dot(dense: Array, at: int, index: Ids, start: int, value: Array, to: int, count: int) -> float:
    """Inner product of the vector at dense[at] with the `count` entries index[start...], value[to...].

    Two sums, each in its order: in any order, machine code would collect four numbers or eight to add them side by
    side, and to collect them takes longer than to add them.
    """
    base, first, second, one = np.uint64(at), np.uint64(start), np.uint64(to), np.uint64(1)
    even = odd = 0.0
    for half in range(np.uint64(count) // np.uint64(2)):
        place = half + half
        even += dense[base + np.uint64(index[first + place])] * value[second + place]
        odd += dense[base + np.uint64(index[first + place + one])] * value[second + place + one]
    if count % 2 == 1:
        last = np.uint64(count - 1)
        even += dense[base + np.uint64(index[first + last])] * value[second + last]
    return even + odd


@compiled
def lesser(one: float, other: float) -> float:
    return one if one < other else other


@compiled
def greater(one: float, other: float) -> float:
    return one if one > other else other


@compiled
def least_of_eight(numbers: Array, at: int) -> float:
    """The least of the numbers at `at` and the seven after it: three steps, where one after the other takes eight."""
    some = numbers[at : at + 8]
    left = lesser(lesser(some[0], some[1]), lesser(some[2], some[3]))
    return lesser(left, lesser(lesser(some[4], some[5]), lesser(some[6], some[7])))


@compiled
def most_of_eight(numbers: Array, at: int) -> float:
    """The same for the largest."""
    some = numbers[at : at + 8]
    left = greater(greater(some[0], some[1]), greater(some[2], some[3]))
    return greater(left, greater(greater(some[4], some[5]), greater(some[6], some[7])))


@compiled
def lowest_place(numbers: Array, count: int, least: float) -> int:
    """The place of the least of the first `count` numbers if it is below `least`, else -1."""
    found, whole = -1, count - count % 8
    for at in range(0, whole, 8):
        low = least_of_eight(numbers, at)
        if low < least:
            found, least = at, low
    for place in range(whole, count):
        if numbers[place] < least:
            found, least = place, numbers[place]
    if 0 <= found < whole:
        while numbers[found] > least:
            found += 1
    return found
