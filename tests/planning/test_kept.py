"""Machine code kept from one program to the next runs without Numba, or is not used at all."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

import rhoplan

pytest.importorskip("numba", reason="machine code comes with the extra rhoplan[fast]")

from rhoplan.planning import kept

pytestmark = pytest.mark.skipif(not kept.WORKS, reason="elsewhere Numba loads what it keeps")

KERNELS = """
from typing import NamedTuple
import numpy as np
from rhoplan.planning.machine import compiled, compiled_in_any_order, handed

class Plain(NamedTuple):
    numbers: object
    factor: object

@handed
class Shelf(NamedTuple):
    books: object
    width: object
    full: object

@compiled
def scaled(numbers, factor):
    total = 0.0
    for i in range(len(numbers)):
        total += numbers[i] * FACTOR
    return total * factor

@compiled
def measured(shelf, first=1):
    total = 0.0
    for i in range(first, shelf.books.shape[0]):
        total += np.log(shelf.books[i, 0]) * shelf.width
        shelf.books[i, 0] = -1.0
    return total, shelf.full

@compiled_in_any_order
def of_plain(plain):
    return scaled(plain.numbers, plain.factor)

@compiled
def next_whole(number):
    return number + 1

@compiled
def refuses(number):
    if number < 0.0:
        raise ValueError("below zero")
    return number
"""

USE = """
import sys
import numpy as np
import kernels as k
shelf = k.Shelf(np.full((3, 2), np.e)[::-1], 2.0, True)
print(k.scaled(np.array([1.0, 2.0]), 10.0), k.scaled(np.array([1.5, 2.5], dtype=np.float32), np.float64(10.0)))
print(k.scaled(np.array([1, 2]), 10), k.scaled(np.arange(6.0)[::2], 1.0), k.next_whole(np.int64(41)), k.next_whole(1.5))
print(k.measured(shelf), shelf.books[:, 0].tolist(), k.measured(shelf=shelf._replace(width=1.0, full=False), first=3))
print(k.measured(k.Shelf(np.asfortranarray(np.full((2, 2), np.e)), 3.0, np.bool_(True))))
print(k.of_plain(k.Plain(np.array([1.0, 2.0]), 2.0)))
print("numba" in sys.modules)
"""

ANSWERS = """30.0 40.0
30.0 6.0 42 2.5
(4.0, True) [2.718281828459045, -1.0, -1.0] (0.0, False)
(3.0, True)
6.0
"""


def run(folder: Path, code: str = USE, **variables: str) -> str:
    library = str(Path(rhoplan.__file__).parent.parent)
    dropped = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in dropped} | variables
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), library])
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of kernels that have been run once."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "kernels.py").write_text(KERNELS.replace("FACTOR", "1.0"))
    assert run(folder) == ANSWERS + "True\n"
    return folder


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.machine-code"))


def test_what_was_made_once_gives_the_same_answers_without_numba(made: Path) -> None:
    assert run(made) == ANSWERS + "False\n"
    assert len(files(made)) == 9  # one for each kernel and kinds of arguments that Python called it with


def test_other_arguments_are_made_with_numba_beside_what_is_kept(made: Path) -> None:
    other = "import numpy as np, sys, kernels as k; print(k.scaled(np.array([2.0]), 1.0), end=' '); "
    other += "print('numba' in sys.modules, k.scaled(np.array([[2.0]])[0], 1.0), 'numba' in sys.modules, end=' '); "
    other += "print(k.scaled(np.array([2], dtype=np.int16), 1.0), 'numba' in sys.modules)"
    assert run(made, other) == "2.0 False 2.0 False 2.0 True\n"
    assert run(made, other) == "2.0 False 2.0 False 2.0 False\n"


@pytest.mark.parametrize("harm", ["cut", "flip", "empty", "header", "swap", "entrance", "asked", "nested"])
def test_files_that_are_not_whole_are_not_run(tmp_path: Path, harm: str) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS.replace("FACTOR", "1.0"))
    use = "import sys, kernels as k; print(k.next_whole(41), k.next_whole(1.5), 'numba' in sys.modules)"
    assert run(tmp_path, use) == run(tmp_path, use).replace("False", "True") == "42 2.5 True\n"
    first, second = files(tmp_path)
    whole, other = first.read_bytes(), second.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    harmed = {"cut": whole[:-9], "flip": bytes(flipped), "empty": b"", "header": b"[]\n" + whole, "swap": other}
    harmed |= {"entrance": whole.replace(b'"entrance": "', b'"entrance": "x', 1), "nested": b"1\n" + b"[" * 100_000}
    harmed["asked"] = whole.replace(b'"asked": ["', b'"asked": ["x', 1)
    assert harmed[harm] != whole
    first.write_bytes(harmed[harm])
    assert run(tmp_path, use) == "42 2.5 True\n"
    assert run(tmp_path, use) == "42 2.5 False\n", "made good"


def test_other_sources_are_other_machine_code(tmp_path: Path) -> None:
    use = "import sys, numpy as np, kernels as k; print(k.scaled(np.ones(2), 1.0), 'numba' in sys.modules)"
    for factor in ("1.0", "3.0"):
        (tmp_path / "kernels.py").write_text(KERNELS.replace("FACTOR", factor))
        assert run(tmp_path, use) == f"{2 * float(factor)} True\n"
        assert run(tmp_path, use) == f"{2 * float(factor)} False\n"


def test_other_numbers_from_other_sources_are_other_machine_code(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "kernels.py").write_text("from elsewhere.numbers_ import FACTOR\n" + KERNELS)
    use = "import sys, numpy as np, kernels as k; print(k.of_plain(k.Plain(np.ones(2), 1.0)), 'numba' in sys.modules)"
    for factor in ("1.0", "3.0", "np.array([5.0])[0]"):
        (elsewhere / "numbers_.py").write_text(f"import numpy as np\nFACTOR = {factor}")
        value = {"1.0": 2.0, "3.0": 6.0}.get(factor, 10.0)
        assert run(tmp_path, use, PYTHONDONTWRITEBYTECODE="1") == f"{value} True\n"
        assert run(tmp_path, use, PYTHONDONTWRITEBYTECODE="1") == f"{value} False\n"


CLOSED = """
from typing import NamedTuple
import numpy as np
from rhoplan.planning.machine import compiled, handed

def times(factor):
    @compiled
    def product(number):
        return number * factor
    return product

def shelf(*fields):
    return handed(NamedTuple("Shelf", [(field, object) for field in fields]))

@compiled
def first_book(shelf):
    return shelf.book

@compiled
def second(numbers):
    return numbers[1]

@handed
class Row(NamedTuple):
    numbers: object

@compiled
def second_of(row):
    return row.numbers[1]
"""


def test_what_only_looks_alike_is_told_apart(tmp_path: Path) -> None:
    (tmp_path / "closed.py").write_text(CLOSED)
    use = """
import copy, pickle, sys
import numpy as np, closed as c
print(c.times(2.0)(1.0), c.times(3.0)(1.0), end=" ")
print(c.first_book(c.shelf("book", "size")(1.0, 2.0)), c.first_book(c.shelf("size", "book")(1.0, 2.0)), end=" ")
strided = c.Row(np.arange(6.0)[::2])
print(c.second_of(strided), c.second_of(copy.deepcopy(strided)), c.second_of(pickle.loads(pickle.dumps(strided))))
"""
    for _ in range(2):
        assert run(tmp_path, use).split() == ["2.0", "3.0", "1.0", "2.0", "2.0", "2.0", "2.0"]
    assert run(tmp_path, "import numpy as np, closed as c; print(c.second(np.arange(6.0)[::2]))") == "2.0\n"


def test_an_error_of_machine_code_itself_is_raised(made: Path) -> None:
    use = """
import numpy as np, kernels as k
k.scaled(np.array([1.0, 2.0]), 10.0)
(entrance,) = k.scaled.ready.values()
try:
    entrance(None, 10.0)
except TypeError as error:
    print("TypeError")
"""
    assert run(made, use) == "TypeError\n"


def test_files_may_be_read_by_all(made: Path) -> None:
    assert all(path.stat().st_mode & 0o444 == 0o444 for path in files(made))


def test_other_settings_of_numba_are_other_machine_code(made: Path) -> None:
    assert run(made, NUMBA_OPT="1") == ANSWERS + "True\n"
    assert run(made, NUMBA_DISABLE_JIT="1").startswith("30.0 40.0\n")


def test_what_needs_more_of_numba_is_left_to_numba(made: Path) -> None:
    count = len(files(made))
    use = """
import kernels as k
print(k.refuses(2.0))
try:
    k.refuses(-1.0)
except ValueError as error:
    print(error)
"""
    for _ in range(2):
        assert run(made, use) == "2.0\nbelow zero\n"
    assert len(files(made)) == count


def test_what_machine_code_cannot_take_is_an_error(made: Path) -> None:
    use = """
import kernels as k
for number in (2**70, "text", None):
    try:
        print(k.next_whole(number))
    except Exception as error:
        print(type(error).__name__)
"""
    assert run(made, use).split() == ["OverflowError", "TypingError", "TypingError"]


def test_several_programs_may_make_the_same_at_once(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS.replace("FACTOR", "1.0"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(rhoplan.__file__).parents[1])])}
    told = [
        subprocess.Popen([sys.executable, "-c", USE], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [one.communicate()[0] for one in told] == [ANSWERS + "True\n"] * 3
    kept_here = [path for path in tmp_path.rglob("*") if "machine-code" in path.name]
    assert [path.suffix for path in kept_here] == [".machine-code"] * 9
    assert run(tmp_path) == ANSWERS + "False\n"


def test_it_is_kept_elsewhere_where_nothing_can_be_written_beside_the_sources(tmp_path: Path) -> None:
    sources, cache = tmp_path / "sources", tmp_path / "cache"
    sources.mkdir()
    (sources / "kernels.py").write_text(KERNELS.replace("FACTOR", "1.0"))
    (sources / "__pycache__").write_text("a file, so that no folder of this name can be made: not even by root")
    for loaded in ("True", "False"):
        assert run(sources, XDG_CACHE_HOME=str(cache), PYTHONDONTWRITEBYTECODE="1") == f"{ANSWERS}{loaded}\n"
    assert len(files(cache)) == 9


def test_only_object_code_of_this_kind_is_read() -> None:
    for code in (b"", b"MZ" + bytes(100), b"\x7fELF\x01\x01" + bytes(100), b"\x7fELF\x02\x02" + bytes(100)):
        with pytest.raises(ValueError, match="64 bits"):
            kept.symbols_of(code)
    with pytest.raises(struct.error):
        kept.symbols_of(b"\x7fELF\x02\x01" + bytes(20))


def test_nothing_is_asked_for_that_is_not_known() -> None:
    for name in ("PyErr_SetString", "PyExc_TypeError", "log", "memset", kept.READS_ARRAYS):
        assert kept._is_known(name), name
    for name in ("system", "PyList_GetItem", "PyRun_SimpleString", "NRT_incref", "numba_unpickle", "logarithm"):
        assert not kept._is_known(name), name


def test_a_program_solves_with_what_another_has_made() -> None:
    use = """
import sys, rhoplan
for weight in (0.0, 1.0):
    goal = rhoplan.Objective(information_weight=weight)
    found = rhoplan.solve("drilling", goal, method="points", gap=0.1, check=True)
print(found.upper - found.lower <= 0.1, {"numba", "scipy"} & set(sys.modules))
"""
    library = str(Path(rhoplan.__file__).parent.parent)
    for _ in range(2):
        environment = {**os.environ, "PYTHONPATH": library}
        done = subprocess.run([sys.executable, "-c", use], env=environment, capture_output=True, text=True)
    assert done.stdout == "True set()\n", done.stderr


SLOW = """
import sys, numpy as np, kernels as k
from rhoplan.planning import clock, dispatchers, kept
kept.WORKS = {works}
passed = [0.0]
clock.time.monotonic = lambda: passed[0]  # seconds pass only where object code is produced
produce = dispatchers.object_code
def slowly(*given):
    passed[0] += 1000.0
    return produce(*given)
dispatchers.object_code = slowly
k.scaled(np.array([1.0, 2.0]), 10.0)
print(passed[0], clock.now())
"""


@pytest.mark.parametrize(("works", "passed"), [(True, 1000.0), (False, 0.0)])
def test_producing_object_code_is_not_work_and_is_left_out_where_none_can_be_kept(
    tmp_path: Path, works: bool, passed: float
) -> None:
    (tmp_path / "kernels.py").write_text(KERNELS.replace("FACTOR", "1.0"))
    assert run(tmp_path, SLOW.format(works=works)) == f"{passed} 0.0\n"


def test_a_time_limit_does_not_run_out_where_no_object_code_can_be_kept() -> None:
    """As with another operating system: Numba loads what it keeps. Object code of a kernel takes 1000 s here."""
    use = """
import rhoplan
from rhoplan.planning import clock, dispatchers, kept
kept.WORKS = False
dispatchers.object_code = lambda *given: clock.COMPILING.leap(1000.0)
found = rhoplan.solve(rhoplan.make("tiger"), method="points", seconds=5)
print(found.status, found.upper - found.lower <= 1e-3)
"""
    library = str(Path(rhoplan.__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": library}
    done = subprocess.run([sys.executable, "-c", use], env=environment, capture_output=True, text=True)
    assert done.stdout == "gap True\n", done.stderr
