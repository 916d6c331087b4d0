"""Machine code for planners: the decorators that make it, and the kernels that they share.

Kernels make no arrays, and without the counting of references to those they are given (_nrt) they run four times as
fast. A vector stands somewhere in a longer array; `at` says where.

What was made once is kept, beside the sources or in the user's cache folder, in a form that runs without Numba
(`kept`), which is imported where something new must be made. Where no folder can be written to, code is kept in one
that lives as long as the program, which the processes it starts share; and where there is none, nowhere.
"""

from __future__ import annotations

import inspect
import os
import threading
import zlib
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from rhoplan.model.pomdp import Array, Ids
from rhoplan.planning import kept
from rhoplan.planning.clock import loading
from rhoplan.planning.kept import keep, load, title_of

__all__ = ["compiled", "compiled_in_any_order", "entropy", "entropy_of_groups", "handed"]

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)


def compiled(function: Function) -> Function:
    """`function` in machine code, made on the first call and kept on disk.

    What a kernel does not say of itself it takes from the kernel that calls it first; so it says in which order sums
    are taken.
    """
    return _made(function, error_model="numpy", _nrt=False, fastmath=False)


def compiled_in_any_order(function: Function) -> Function:
    """The same, with sums taken in any order (that is what makes them fast): for bounds that are rounded outward."""
    return _made(function, error_model="numpy", _nrt=False, fastmath={"reassoc", "contract", "nsz"})


class Record:
    """A named tuple of arrays and numbers that kernels are handed by its place; it knows what it consists of."""

    @cached_property
    def _kind(self) -> str:
        return _tuple_kind(cast("tuple[Any, ...]", self))

    def __getstate__(self) -> None:
        """A copy's arrays may lie in memory in another way."""


def handed(record: Class) -> Class:
    """Let kernels have records of this class (a named tuple) by their place: see `handing`."""
    names = {name: getattr(record, name) for name in ("__module__", "__qualname__", "__doc__")}
    result = type(record.__name__, (Record, record), names)
    KINDS[result] = attrgetter("_kind")
    return cast(Class, result)


SCALARS: dict[type, str] = {
    float: "float64", np.float64: "float64", int: "int64", np.int64: "int64", bool: "bool", np.bool_: "bool"
}  # fmt: skip
"""What machine code takes numbers for."""

LAYOUT = 0x503
"""Bits of an array's flags that machine code depends on: how it lies in memory, aligned or not, and not written to."""


class Kinds(dict[type, Callable[[Any], object]]):
    """How machine code made for one value is told from that made for another, by the class of the value."""

    def __missing__(self, one: type) -> Callable[[Any], object]:
        if not hasattr(one, "_fields"):
            raise KeyError(one)
        return _tuple_kind


def _array_kind(array: Array) -> tuple[object, int, int]:
    return array.dtype, array.ndim, array.flags.num & LAYOUT


KINDS = Kinds({np.ndarray: _array_kind})
TOLD: dict[tuple[object, ...], str] = {}
"""What named tuples consist of, in one word each."""


def _tuple_kind(values: tuple[Any, ...]) -> str:
    kinds = (type(values).__qualname__, cast(Any, values)._fields, *kinds_of(values))
    return TOLD.get(kinds) or TOLD.setdefault(kinds, repr(kinds))


def kinds_of(values: tuple[Any, ...]) -> tuple[object, ...]:
    """What machine code for these values is made for. KeyError where only Numba knows."""
    return tuple([SCALARS.get(type(one)) or KINDS[type(one)](one) for one in values])


def _forget_kinds(values: tuple[Any, ...]) -> None:
    """Look at the arrays of records anew: somebody may have changed how they lie in memory."""
    for one in values:
        if isinstance(one, tuple):
            _forget_kinds(one)
            if isinstance(one, Record):
                vars(one).pop("_kind", None)


MAKING = threading.RLock()
"""Held while machine code is loaded or made."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=MAKING.acquire, after_in_parent=MAKING.release, after_in_child=MAKING.release)


class Kernel:
    """A function in machine code: `entrance` is what Python calls, `inside` what other kernels do; each is made on use.

    Kernels need no entrance from Python, and most take less time to make than their entrance, which unpacks every
    array of every record they are given. And to kernels a number that their caller has written down (`f(x, 0)`) is a
    number like any other; to Numba it is a type of its own, for which it would make all that is called once more.

    ready: entrances that are in memory, by what they are made for.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options
        self.ready: dict[tuple[object, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if named or self.function.__defaults__:
            bound = self._signature.bind(*arguments, **named)
            bound.apply_defaults()
            arguments = bound.args
        try:
            kinds = kinds_of(arguments)
        except KeyError:
            return self.entrance(*arguments)
        run = self.ready.get(kinds)
        return run(*arguments) if run else self._enter(kinds, arguments)

    def _enter(self, kinds: tuple[object, ...], arguments: tuple[Any, ...]) -> Any:
        """The first call for arguments of these kinds."""
        _forget_kinds(arguments)
        if kinds != kinds_of(arguments):  # an array was changed in place
            return self.entrance(*arguments)
        title = title_of(self.function.__module__, self._name, self.function.__code__.co_code, kinds)
        with loading(), MAKING:
            run = load(title, self._folder)
        if run is not None:
            self.ready[kinds] = run
            return run(*arguments)
        result = self.entrance(*arguments)
        self.ready[kinds] = self.entrance
        if kept.WORKS:
            with loading(), MAKING:
                if made := _numba().object_code(self.entrance, arguments):
                    keep(title, self._folder, *made)
        return result

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @property
    def _folder(self) -> Path:
        return Path(self.function.__code__.co_filename).parent

    @property
    def _name(self) -> str:
        """The function's name, and a number that tells its sources: Numba notices a change in the file of a function,
        but not in what it calls elsewhere; so it is the sources of its whole package, and of what makes kernels. One
        more tells what numbers it finds, which other sources may decide."""
        reads = zlib.crc32(repr(self._reads(set())).encode())
        return f"{self.function.__qualname__}_{_sources(self._folder):08x}_{reads:08x}"

    def _reads(self, known: set[int]) -> list[Any]:
        """What this and the kernels that it calls find outside themselves."""
        if id(self) in known:
            return []
        known.add(id(self))
        code, places = self.function.__code__, self.function.__globals__
        found = [code.co_firstlineno, sorted(self.options["fastmath"] or ())]
        met = [cell.cell_contents for cell in self.function.__closure__ or ()]
        met += [places[name] for name in code.co_names if name in places]
        for one in met:
            if isinstance(one, Kernel):
                found.append(one._reads(known))
            elif isinstance(one, np.ndarray):
                found.append((one.dtype, one.shape, zlib.crc32(one.tobytes())))
            elif isinstance(one, (bool, int, float, complex, str, tuple, np.generic)):
                found.append(one)
        return found

    @cached_property
    def entrance(self) -> Any:
        return _numba().dispatcher(self.function, self._name, self.options, whole=True)

    @cached_property
    def inside(self) -> Any:
        return _numba().dispatcher(self.function, self._name, self.options, whole=False)

    @cached_property
    def _numba_type_(self) -> Any:
        """What Numba takes this for where a kernel calls it."""
        return _numba().Dispatcher(self.inside)


def _numba() -> Any:
    """What gives kernels to Numba, which takes some time to import."""
    with loading():
        from rhoplan.planning import dispatchers
    return dispatchers


def _made(function: Function, **options: Any) -> Function:
    plain = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    return function if plain else cast(Function, Kernel(function, options))


@cache
def _sources(folder: Path) -> int:
    """A number that tells the Python files in `folder`, and those that make machine code, from others."""
    names = ("machine.py", "dispatchers.py", "making.py", "handing.py", "kept.py")
    makers = [Path(__file__).with_name(name) for name in names]
    return zlib.crc32(b"".join(path.read_bytes() for path in (*makers, *sorted(folder.glob("*.py")))))


@compiled
def entropy_of_groups(belief: Array, group: Ids) -> float:
    """Entropy in nats of the sums of `belief` (S,), which is 1 in all, over groups (S,) that stand side by side."""
    total, rest, largest, held = 0.0, 0.0, 0.0, 0.0
    for s in range(len(belief)):
        held += belief[s]
        if s + 1 < len(belief) and group[s + 1] == group[s]:
            continue
        if held > 0.5 and largest == 0.0:  # by rounding a second one may be more than half
            largest = held
        elif held > 0.0:
            total -= held * np.log(held)
            rest += held
        held = 0.0
    return total - largest * np.log1p(-rest) if largest > 0.0 else total


@compiled
def entropy(belief: Array, at: int, count: int) -> float:
    """Entropy in nats of the numbers from belief[at] on, which sum to 1."""
    total, rest, largest = 0.0, 0.0, 0.0
    for s in range(at, at + count):
        if belief[s] > 0.5 and largest == 0.0:  # by rounding a second one may be more than half
            largest = belief[s]
        elif belief[s] > 0.0:
            total -= belief[s] * np.log(belief[s])
            rest += belief[s]
    return total - largest * np.log1p(-rest) if largest > 0.0 else total
