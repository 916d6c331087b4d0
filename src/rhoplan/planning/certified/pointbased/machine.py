"""Machine code for the point-based solver: the decorator, and the few loops that every other kernel is made of.

A vector over the states of one class stands somewhere in a longer array; `at` says where. Kernels make no arrays.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rhoplan.errors import MissingExtra
from rhoplan.model.problem import Array, Ids

try:
    from numba import njit
except ModuleNotFoundError:
    raise MissingExtra("solving general problems", "numba") from None

Function = TypeVar("Function", bound=Callable[..., Any])

_SOURCES = zlib.crc32(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))))


def compiled(function: Function) -> Function:
    """`function` in machine code, made on the first call and kept on disk under a name that tells all sources here.

    Sums may be taken in any order (that is what makes them fast): every bound is rounded outward by more than that.
    """
    function.__qualname__ += f"_{_SOURCES:08x}"
    options: dict[str, Any] = {
        "cache": True,
        "error_model": "numpy",
        "_nrt": False,
        "fastmath": {"reassoc", "contract", "nsz"},
    }
    return cast(Function, njit(**options)(function))


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


@compiled
def entropy(belief: Array, at: int, count: int) -> float:
    """Entropy in nats of the numbers from belief[at] on, which sum to 1."""
    total, rest, largest = 0.0, 0.0, 0.0
    for s in range(at, at + count):
        if belief[s] > 0.5:
            largest = belief[s]
        elif belief[s] > 0.0:
            total -= belief[s] * np.log(belief[s])
            rest += belief[s]
    return total - largest * np.log1p(-rest) if largest > 0.0 else total
