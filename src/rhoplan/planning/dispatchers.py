"""Kernels given to Numba, which makes machine code of them: imported only where there is something to make.

Numba keeps what it makes beside the sources or in the user's cache folder, where parts serve new entrances. Where no
folder can be written to it is kept in one that lives as long as the program, which the processes it starts share; and
where there is none, nowhere.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, cast

from numba import __version__ as numba_version
from numba import config, njit
from numba.core import event
from numba.core.types import Dispatcher
from numba.core.types.misc import unliteral

from rhoplan.planning import handing
from rhoplan.planning.clock import COMPILING

__all__ = ["Dispatcher", "dispatcher", "handing", "object_code"]

WHOLE: dict[str, Any] = {}
PART: dict[str, Any] = {"no_cpython_wrapper": True}
"""How a kernel is made for Python, and for kernels: as `making` says, or else as Numba would by itself."""

try:
    from rhoplan.planning.making import MakePart, MakeWhole

    WHOLE["pipeline_class"], PART["pipeline_class"] = MakeWhole, MakePart
except ImportError as unknown:
    warnings.warn(f"machine code takes longer to make, as Numba {numba_version} is not known: {unknown}", stacklevel=2)


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


def dispatcher(function: Callable[..., Any], name: str, options: dict[str, Any], *, whole: bool) -> Any:
    """`function` as Numba makes and keeps it, under a name that tells it from others made of the same function: for
    Python to call, as a whole, or for kernels."""
    if whole:
        return _dispatcher(function, name, {**options, **WHOLE})
    kernel = _dispatcher(function, f"{name}_inside", {**options, **PART})
    usual = kernel.get_call_template

    def of_types(args: Any, kws: Any) -> Any:
        return usual(tuple(map(unliteral, args)), {name: unliteral(one) for name, one in kws.items()})

    kernel.get_call_template = of_types
    return kernel


def object_code(kernel: Any, arguments: tuple[Any, ...]) -> tuple[str, bytes] | None:
    """The machine code that Numba has made of `kernel` for these arguments, after the name of its entrance; None where
    Numba is another inside."""
    try:
        made = kernel.overloads[tuple(kernel.typeof_pyval(one) for one in arguments)]
        if made.library.has_dynamic_globals:  # it holds addresses of this program
            return None
        return made.fndesc.llvm_cpython_wrapper_name, _code_in(made.library)
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def _code_in(library: Any) -> bytes:
    """Of a library that was kept Numba gives its code away as it is loaded, and holds what it was made of."""
    try:
        return bytes(library._get_compiled_object())
    except RuntimeError:
        return bytes(library.codegen._tm.emit_object(library._get_module_for_linking().clone()))


def _dispatcher(function: Callable[..., Any], name: str, options: dict[str, Any]) -> Any:
    code = cast(Any, function)
    copy = FunctionType(code.__code__, code.__globals__, code.__name__, code.__defaults__, code.__closure__)
    copy.__qualname__ = name
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
