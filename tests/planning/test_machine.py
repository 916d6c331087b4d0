"""Machine code where nothing can be kept: no folder beside the sources, no home, perhaps no temporary folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rhoplan
from rhoplan.model.problem import Array

pytest.importorskip("numba", reason="machine code comes with the extra rhoplan[search]")

from rhoplan.planning.machine import compiled

KERNEL = """
from rhoplan.planning.machine import compiled

@compiled
def twice(number):
    return 2.0 * number
"""

USE = """
import os, sys, tempfile
import rhoplan.planning.machine as machine
if sys.argv[1] == "nowhere":
    def refuse(**given):
        raise PermissionError("no usable temporary folder")
    tempfile.mkdtemp = refuse
import kernel
folder = os.environ.get("NUMBA_CACHE_DIR", "")
print(kernel.twice(21.0), folder, len([name for _, _, names in os.walk(folder) for name in names]) if folder else 0)
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


@compiled
def part(numbers: Array, first: int, scale: float) -> float:
    return scale * numbers[first]


@compiled
def ends(numbers: Array, last: int) -> float:
    return part(numbers, 0, 1.0) + part(numbers, last, numbers[0]) + part(numbers, first=1, scale=2.0)


def test_a_kernel_is_made_once_whether_its_caller_writes_a_number_down_or_not() -> None:
    assert ends(np.array([3.0, 5.0, 7.0]), 2) == 3.0 + 3.0 * 7.0 + 2.0 * 5.0
    assert len(part.inside.signatures) == 1  # type: ignore[attr-defined]


def test_a_kernel_for_kernels_has_no_entrance_from_python_until_python_calls_it() -> None:
    assert ends(np.array([3.0, 5.0, 7.0]), 2) == 34.0
    assert not part.entrance.signatures  # type: ignore[attr-defined]
    assert part(np.array([3.0, 5.0]), 1, 2.0) == 10.0
    assert part.entrance.signatures  # type: ignore[attr-defined]
