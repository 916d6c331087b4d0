"""Machine code for planners: the decorators that make it, and the kernels that they share.

Kernels make no arrays, and without the counting of references to those they are given (_nrt) they run four times as
fast. A vector stands somewhere in a longer array; `at` says where.

Machine code is kept beside the sources or in the user's cache folder. Where neither can be written to it is kept in a
folder that lives as long as the program, which the processes it starts share; and where there is none, nowhere.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
import zlib
from collections.abc import Callable
from functools import cache, cached_property, update_wrapper
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numpy as np

from rhoplan.errors import MissingExtra
from rhoplan.model.problem import Array, Ids
from rhoplan.planning.clock import COMPILING

try:
    from numba import __version__ as numba_version
    from numba import config, njit
    from numba.core import event
    from numba.core.types import Dispatcher
    from numba.core.types.misc import unliteral

    from rhoplan.planning.handing import handed
except ModuleNotFoundError as missing:
    if missing.name != "numba":
        raise
    raise MissingExtra(
        "solving general problems or dozens of tests, and tree search (planners mcts and pomcp),", "numba"
    ) from None

WHOLE: dict[str, Any] = {}
PART: dict[str, Any] = {}
"""How a kernel is made for Python, and for kernels: as `making` says, or else as Numba would by itself."""

try:
    from rhoplan.planning.making import MakePart, MakeWhole

    WHOLE["pipeline_class"], PART["pipeline_class"] = MakeWhole, MakePart
except ImportError as unknown:
    warnings.warn(f"machine code takes longer to make, as Numba {numba_version} is not known: {unknown}", stacklevel=2)

__all__ = ["compiled", "compiled_in_any_order", "compiled_with_arrays", "entropy", "entropy_of_groups", "handed"]

Function = TypeVar("Function", bound=Callable[..., Any])


class Watch(event.Listener):  # type: ignore[misc]
    """Reports to the clock of planners that machine code is made or loaded."""

    def on_start(self, told: event.Event) -> None:
        COMPILING.begins() if told.kind == LOCK else COMPILING.makes_anew()

    def on_end(self, told: event.Event) -> None:
        if told.kind == LOCK:
            COMPILING.ends()


LOCK, MADE = "numba:compiler_lock", "numba:compile"
"""Numba's names for: machine code is looked for, made or not; and it is made."""

WATCH = Watch()
for _kind in (LOCK, MADE):
    event.register(_kind, WATCH)


def compiled(function: Function) -> Function:
    """`function` in machine code, made on the first call and kept on disk.

    Numba's cache notices a change in the file of a function, but not in what it calls elsewhere; so the name under
    which it is kept tells the sources of its whole package, and of this module. What a kernel does not say of itself it
    takes from the kernel that calls it first; so it says in which order sums are taken.
    """
    return _made(function, error_model="numpy", _nrt=False, fastmath=False)


def compiled_in_any_order(function: Function) -> Function:
    """The same, with sums taken in any order (that is what makes them fast): for bounds that are rounded outward."""
    return _made(function, error_model="numpy", _nrt=False, fastmath={"reassoc", "contract", "nsz"})


def compiled_with_arrays(function: Function) -> Function:
    """The same for a function that makes arrays of its own."""
    return _made(function)


class Kernel:
    """A function in machine code: `entrance` is what Python calls, `inside` what other kernels do; each is made on use.

    Kernels need no entrance from Python, and most take less time to make than their entrance, which unpacks every
    array of every record they are given. And to kernels a number that their caller has written down (`f(x, 0)`) is a
    number like any other; to Numba it is a type of its own, for which it would make all that is called once more.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options
        self.entrance = _dispatcher(function, "", {**options, **WHOLE})

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.entrance(*arguments, **named)

    @cached_property
    def inside(self) -> Any:
        options = {**self.options, "no_cpython_wrapper": True, **PART}
        kernel = _dispatcher(self.function, "_inside", options)
        usual = kernel.get_call_template

        def of_types(args: Any, kws: Any) -> Any:
            return usual(tuple(map(unliteral, args)), {name: unliteral(one) for name, one in kws.items()})

        kernel.get_call_template = of_types
        return kernel

    @cached_property
    def _numba_type_(self) -> Any:
        """What Numba takes this for where a kernel calls it."""
        return Dispatcher(self.inside)


def _made(function: Function, **options: Any) -> Function:
    return function if config.DISABLE_JIT else cast(Function, Kernel(function, options))


def _dispatcher(function: Callable[..., Any], mark: str, options: dict[str, Any]) -> Any:
    """`function` as Numba makes and keeps it, under a name that tells it from others made of the same function."""
    code = cast(Any, function)
    copy = FunctionType(code.__code__, code.__globals__, code.__name__, code.__defaults__, code.__closure__)
    copy.__qualname__ = f"{code.__qualname__}_{_sources(Path(code.__code__.co_filename).parent):08x}{mark}"
    options = {**options, "no_cfunc_wrapper": True}  # an entrance for C, which nobody calls
    for _ in range(2):
        try:
            return njit(cache=True, **options)(copy)
        except RuntimeError:  # no folder to keep it in
            if not _has_folder_of_its_own():
                break
    return njit(**options)(copy)


@cache
def _has_folder_of_its_own() -> bool:
    """Whether machine code is from now on kept in a folder that goes when the program ends; it is made on first use."""
    try:
        folder = tempfile.mkdtemp(prefix="rhoplan-")
    except OSError:
        return False
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = config.CACHE_DIR = folder  # the first is for processes that this one starts
    return True


@cache
def _sources(folder: Path) -> int:
    """A number that tells the Python files in `folder`, and those that make machine code, from others."""
    makers = [Path(__file__).with_name(name) for name in ("machine.py", "making.py", "handing.py")]
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
