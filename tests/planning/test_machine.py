"""Machine code where nothing can be kept: no folder beside the sources, no home, perhaps no temporary folder."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rhoplan

pytest.importorskip("numba", reason="machine code comes with the extra rhoplan[fast]")

from numba.core.errors import TypingError

KERNEL = """
from rhoplan.planning.machine import compiled

@compiled
def twice(number):
    return 2.0 * number
"""

PARTS = """
from typing import NamedTuple
from rhoplan.planning.machine import compiled, handed

@handed
class Shelf(NamedTuple):
    books: object
    places: object
    width: float
    first: int
    full: bool

@compiled
def put(shelf, place, book):
    shelf.books[shelf.first + place, 0] = book * shelf.width
    shelf.places[0] += 1

@compiled
def put_all(shelf, books):
    for place in range(len(books)):
        if not shelf.full:
            put(shelf, place, books[place])
    return shelf.books.shape[0] + shelf.places[0]

@compiled
def part(numbers, first, scale):
    return scale * numbers[first]

@compiled
def root(number):
    if number < 0.0:
        raise ValueError("no root of less than 0")
    return number ** 0.5

@compiled
def roots(numbers):
    return root(numbers[0]) + root(numbers[1])

@compiled
def fourth(number):
    return root(root(number))

@compiled
def ends(numbers, last):
    return part(numbers, 0, 1.0) + part(numbers, last, numbers[0]) + part(numbers, first=1, scale=2.0)
"""

USE = """
import os, sys, tempfile
import rhoplan.planning.machine as machine
if sys.argv[1] == "nowhere":
    def refuse(**given):
        raise PermissionError("no usable temporary folder")
    tempfile.mkdtemp = refuse
import kernel
answer, folder = kernel.twice(21.0), os.environ.get("NUMBA_CACHE_DIR", "")
print(answer, folder, len([name for _, _, names in os.walk(folder) for name in names]) if folder else 0)
"""


@pytest.mark.parametrize("place", ["temporary", "nowhere"])
def test_kernels_run_where_no_cache_folder_can_be_made(tmp_path: Path, place: str) -> None:
    sources, temporary = tmp_path / "sources", tmp_path / "temporary"
    sources.mkdir()
    temporary.mkdir()
    (sources / "kernel.py").write_text(KERNEL)
    (sources / "__pycache__").write_text("a file, so that no folder of this name can be made: not even by root")
    library = str(Path(rhoplan.__file__).parent.parent)
    dropped = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in dropped} | {
        "HOME": os.devnull,
        "TMPDIR": str(temporary),
        "PYTHONPATH": os.pathsep.join([str(sources), library]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run = subprocess.run([sys.executable, "-c", USE, place], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    answer, *folder, files = run.stdout.split()
    assert answer == "42.0"
    assert bool(folder) == (place == "temporary")
    assert (int(files) > 0) == (place == "temporary"), "what was made is kept while the program runs"
    assert not list(temporary.iterdir()), "and goes with it"


OTHER_INSIDE = """
import sys, warnings
import numpy as np, numba.core.codegen as codegen
exec(sys.argv[1])
with warnings.catch_warnings(record=True) as told:
    import two_kernels as k
    try:
        k.roots(np.array([4.0, -9.0]))
    except ValueError:
        print(*[one.message for one in told])
print(k.roots(np.array([4.0, 9.0])), k.put_all(k.Shelf(np.ones((3, 1)), np.ones(1), 1.0, 0, False), np.ones(2)))
"""


@pytest.mark.parametrize(
    ("change", "lacks"),
    [
        ("del codegen.JITCodeLibrary", "JITCodeLibrary"),
        ("codegen.JITCodeLibrary = type('Other', (), {'enable_object_caching': 1})", "serialize_using_bitcode"),
    ],
)
def test_kernels_run_with_a_numba_that_is_another_inside(tmp_path: Path, change: str, lacks: str) -> None:
    (tmp_path / "two_kernels.py").write_text(PARTS)
    library = str(Path(rhoplan.__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), library])}
    run = subprocess.run([sys.executable, "-c", OTHER_INSIDE, change], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    told, answers = run.stdout.splitlines()
    assert "takes longer to make" in told
    assert lacks in told
    assert answers == "5.0 6.0"


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two kernels, of which one calls the other, in a folder where nothing is kept from an earlier run."""
    (tmp_path / "two_kernels.py").write_text(PARTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("two_kernels")
    del sys.modules["two_kernels"]


def test_a_kernel_is_made_once_whether_its_caller_writes_a_number_down_or_not(kernels: Any) -> None:
    assert kernels.ends(np.array([3.0, 5.0, 7.0]), 2) == 3.0 + 3.0 * 7.0 + 2.0 * 5.0
    assert len(kernels.part.inside.signatures) == 1


def test_a_kernel_for_kernels_has_no_entrance_from_python_until_python_calls_it(kernels: Any) -> None:
    assert kernels.ends(np.array([3.0, 5.0, 7.0]), 2) == 34.0
    assert not kernels.part.entrance.signatures
    assert kernels.part(np.array([3.0, 5.0]), 1, 2.0) == 10.0
    assert kernels.part.entrance.signatures


def test_a_fault_in_a_kernel_that_kernels_call_comes_to_python(kernels: Any) -> None:
    assert kernels.roots(np.array([4.0, 9.0])) == 5.0
    with pytest.raises(ValueError, match="no root of less than 0"):
        kernels.roots(np.array([4.0, -9.0]))


def test_a_kernel_made_by_another_program_serves_new_entrances(tmp_path: Path, kernels: Any) -> None:
    assert kernels.roots(np.array([4.0, 9.0])) == 5.0
    library = str(Path(rhoplan.__file__).parent.parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), library])}
    use = "import two_kernels as k; print(k.fourth(81.0), len(k.root.inside.stats.cache_hits))"
    run = subprocess.run([sys.executable, "-c", use], env=environment, capture_output=True, text=True)
    assert run.stdout.split() == ["3.0", "1"], run.stderr


def test_kernels_read_and_write_records_that_are_handed_over(kernels: Any) -> None:
    books, places = np.zeros((5, 2)), np.zeros(1, dtype=np.int64)
    shelf = kernels.Shelf(books[::-1], places, 2.5, 1, False)  # an array that does not stand in one piece, too
    assert kernels.put_all(shelf, np.array([1.0, 2.0, 3.0])) == 5 + 3
    assert books.tolist() == [[0, 0], [7.5, 0], [5, 0], [2.5, 0], [0, 0]]
    assert kernels.put_all(shelf._replace(full=True), np.array([4.0])) == 5 + 3
    small = kernels.Shelf(np.zeros((2, 1), dtype=np.float32), places, 1.0, 0, False)  # another type of array
    assert kernels.put_all(small, np.array([8.0])) == 2 + 4
    assert small.books[0, 0] == 8.0
    assert len(kernels.put_all.entrance.signatures) == 2


def test_a_record_with_a_field_of_no_use_to_kernels_is_refused(kernels: Any) -> None:
    numbers = np.zeros(1)
    with pytest.raises(TypingError, match="Shelf"):
        kernels.put_all(kernels.Shelf(numbers, numbers, object(), 0, False), numbers)
