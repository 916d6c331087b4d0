"""Machine code that Numba has made, kept in a form that runs without Numba.

To import Numba, and to let it read what it keeps of some thirty kernels, takes a second; a small problem is solved in
milliseconds. What Numba makes of a kernel for Python is a piece of object code with one entrance, a C function that
takes Python's arguments. llvmlite alone can put it into memory, if all that it asks for is known: functions of Python
and of the mathematical library, and Numba's own for reading an array, which needs nothing else of Numba. Kernels that
raise errors, make arrays or need anything else of Numba's are not kept here; Numba loads those itself.

A file is named for all that decides what is in it (`title_of`), so that it is never out of date, and says by a sum of
all that follows whether it is whole. It lies beside the sources or, where that cannot be written to, in the user's
cache.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import importlib.util
import json
import os
import re
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.machinery import ExtensionFileLoader
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rhoplan.errors import MissingExtra

try:
    import llvmlite
    import llvmlite.binding as llvm

    if importlib.util.find_spec("numba") is None:
        raise ModuleNotFoundError(name="numba")
    NUMBA = version("numba")
except ModuleNotFoundError as missing:  # a package of no version is one of which only a folder is left
    if missing.name not in ("numba", "llvmlite"):
        raise
    raise MissingExtra(
        "solving general problems or dozens of tests, and tree search (planners mcts and pomcp),", "numba"
    ) from None

Entrance = Callable[..., Any]

WORKS = sys.platform == "linux" and sys.implementation.name == "cpython" and struct.calcsize("P") == 8
"""Where object code is as it is read here."""

SETTING = re.compile("NUMBA_(?!CACHE_DIR|NUM_THREADS)")
"""Names of variables that may change what Numba makes."""

PYTHON = re.compile(
    "Py(Arg|Bool|Err|Exc|Float|Long|Number|Tuple)_[A-Za-z_]+|PyObject_IsTrue|Py_(Inc|Dec)Ref|_Py_(None|True|False)Struct"
)
LIBRARY = re.compile("mem(set|cpy|move)|(exp|log|pow|sqrt|sin|cos|tan)(2|10|m1|1p)?|f(loor|mod|abs|ma)|ceil|trunc|rint")
ERROR = "PyExc_"
"""How names of errors begin. Numba's code takes them for the errors themselves; in C they are where Python has put down
which error it is."""

READS_ARRAYS = "numba_adapt_ndarray"
"""What object code may ask for: of Python nothing that knows of objects kept beside the code, as Numba's errors and
constants are; of the C library; and of Numba."""

ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names begin under which object code looks for what Numba keeps beside it: it asks whether that is there."""


class Symbols(NamedTuple):
    """Names that object code asks for, and those that it has itself."""

    asked: set[str]
    known: set[str]


def title_of(*made_of: object) -> str:
    """The name under which machine code is kept that is made of these things, with this Numba, for this machine."""
    return hashlib.blake2b(repr((*made_of, _machine())).encode(), digest_size=12).hexdigest()


def load(title: str, beside: Path) -> Entrance | None:
    """The machine code kept under this name for a source in the folder `beside`, if there is any that is whole."""
    for folder in _folders(beside) if WORKS else ():
        with suppress(OSError, ValueError, KeyError, TypeError):  # not there, or not as it was written
            total, _, rest = (folder / _file(title)).read_bytes().partition(b"\n")
            if int(total) != zlib.crc32(rest):
                continue
            head, _, code = rest.partition(b"\n")
            told = json.loads(head)
            if told["title"] == title:
                return ENGINE.enter(told["entrance"], told["environments"], told["asked"], code)
    return None


def keep(title: str, beside: Path, entrance: str, code: bytes) -> None:
    """Keep object code with this entrance, where it needs nothing that is not known here and there is a folder."""
    if not WORKS:
        return
    with suppress(ValueError, struct.error, IndexError):
        asked, known = symbols_of(code)
        if entrance not in known or not all(map(_is_known, asked)):
            return
        told = {
            "title": title,
            "entrance": entrance,
            "environments": sorted(name for name in known if name.startswith(ENVIRONMENT)),
            "asked": sorted(asked),
        }
        rest = json.dumps(told).encode() + b"\n" + code
        for folder in _folders(beside):
            with suppress(OSError):
                return _write(folder / _file(title), b"%d\n" % zlib.crc32(rest) + rest)


def symbols_of(code: bytes) -> Symbols:
    """What object code (ELF, 64 bits, low byte first) asks for and has. ValueError where it is another kind."""
    if code[:6] != b"\x7fELF\x02\x01":
        raise ValueError("no object code of 64 bits")
    (begin,), (size, many) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<HH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, begin + size * number) for number in range(many)]
    found = Symbols(set(), set())
    for _, kind, _, _, at, length, names, _, _, each in sections:
        if kind != 2:  # a table of symbols
            continue
        text = code[sections[names][4] : sections[names][4] + sections[names][5]]
        for place in range(at, at + length, each):
            start, bound, _, section, _, _ = struct.unpack_from("<IBBHQQ", code, place)
            name = text[start : text.index(b"\0", start)].decode()
            if name and bound >> 4:  # not of this code alone
                (found.known if section else found.asked).add(name)
    return found


class Engine:
    """Object code in memory, from its first use to the end of the program."""

    def __init__(self) -> None:
        self._engine: Any = None
        self._entered: dict[str, Entrance] = {}
        self._definitions: list[Any] = []

    def enter(self, entrance: str, environments: list[str], asked: list[str], code: bytes) -> Entrance:
        """The function by which Python enters this code. KeyError where it asks for what is not known."""
        if entrance in self._entered:
            return self._entered[entrance]
        if self._engine is None:
            self._engine = _new_engine()
        for name in asked:
            if name.startswith(ERROR) or not llvm.address_of_symbol(name):
                llvm.add_symbol(name, _address(name))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        for name in environments:
            place = self._engine.get_global_value_address(name)
            ctypes.c_void_p.from_address(place).value = id(ENGINE)
        definition = _Definition(entrance.encode(), self._engine.get_function_address(entrance), WITH_NAMES, None)
        self._definitions.append(definition)
        self._entered[entrance] = _new_function(ctypes.byref(definition), None, None)
        return self._entered[entrance]


ENGINE = Engine()

WITH_NAMES = 3
"""Of a function of C: it takes a tuple and a dictionary (METH_VARARGS | METH_KEYWORDS)."""


class _Definition(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int), ("doc", ctypes.c_char_p))


_new_function = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def _new_engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)


def _is_known(name: str) -> bool:
    try:
        return bool(_address(name))
    except KeyError:
        return False


def _address(name: str) -> int:
    """Where a function or value stands that object code may ask for. KeyError where it may not, or there is none."""
    if name == READS_ARRAYS:
        return int(_numba_helpers()["adapt_ndarray"])
    if name.startswith(ERROR) and PYTHON.fullmatch(name):
        error = getattr(builtins, name[len(ERROR) :], None)
        if error is None:
            raise KeyError(name)
        return id(error)
    library = ctypes.pythonapi if PYTHON.fullmatch(name) else _c_library() if LIBRARY.fullmatch(name) else None
    if library is None:
        raise KeyError(name)
    try:
        return ctypes.addressof(ctypes.c_char.in_dll(library, name))
    except ValueError:
        raise KeyError(name) from None


@cache
def _c_library() -> ctypes.CDLL:
    """The mathematical library, and through it the library of C."""
    try:
        return ctypes.CDLL("libm.so.6")
    except OSError:
        return ctypes.CDLL(None)


@cache
def _numba_helpers() -> dict[str, int]:
    """Addresses of what Numba has written in C, from the one file that holds it. KeyError where it is not there."""
    name = "numba._helperlib"
    if name in sys.modules:
        return dict(sys.modules[name].c_helpers)
    spec = importlib.util.find_spec("numba")
    for folder in (spec and spec.submodule_search_locations) or ():
        for path in sorted(Path(folder).glob("_helperlib*.so")):
            with suppress(ImportError, AttributeError):
                loader = ExtensionFileLoader(name, str(path))
                module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))  # type: ignore[arg-type]
                loader.exec_module(module)
                sys.modules.pop(name, None)  # for Numba to import, if it ever is
                return dict(module.c_helpers)
    raise KeyError(name)


@cache
def _machine() -> tuple[object, ...]:
    """What machine code depends on besides its source: Python, Numba and its settings, arrays, the processor."""
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:
        features = ""
    return (
        sys.implementation.cache_tag,
        sys.abiflags,
        np.__version__.split(".")[0],
        NUMBA,
        llvmlite.__version__,
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        features,
        sorted((name, value) for name, value in os.environ.items() if SETTING.match(name)),
    )


def _file(title: str) -> str:
    return f"{title}.machine-code"


def _folders(beside: Path) -> Iterator[Path]:
    """Where code may be kept, best first."""
    if told := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(told) / "rhoplan"
        return
    yield beside / "__pycache__"
    with suppress(RuntimeError):  # nobody's home
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rhoplan"


def _write(path: Path, content: bytes) -> None:
    """The whole file or none: another program may read it at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    place, name = tempfile.mkstemp(prefix=path.stem, dir=path.parent)
    try:
        with os.fdopen(place, "wb") as file:
            file.write(content)
            os.fchmod(place, 0o644)  # others may read it, as they may what Numba keeps
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
