#!/usr/bin/env python3
"""Set up rhoplan (with the paper and the benchmark) in `.venv` beside this file and run it: needs Python 3.10, no more.

python3 run.py          sets up, then reproduces the paper (the quick size) into out/report.html
python3 run.py test     sets up, then runs the tests
python3 run.py lint     sets up, then runs the linter and the type checker
python3 run.py docs     sets up, then builds the documentation site into docs/_build/html
python3 run.py cli ...  sets up, then runs `rhoplan ...`
python3 run.py adversary --seconds N  sets up, then compares rhoplan with an exact oracle on random models for N seconds
                        (--seed S begins at another model, --jobs J uses more processes; 1 comes back if any differs)

Standard library only. A bare Debian refuses `pip install` outside a virtual environment and ships no
ensurepip, so the environment is made without pip there and filled by the system's pip from outside.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = HERE / ".venv"
STAMP = VENV / "rhoplan-setup"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
EXTRAS = {
    "main": "validation", "cli": "gym,serve", "test": "dev,validation", "lint": "dev", "docs": "docs", "adversary": "",
}  # fmt: skip
"""Extras of rhoplan that each command needs besides what the paper and the benchmark bring."""

BESIDE = ("paper", "bench")
"""Folders of the distributions that add commands to rhoplan."""


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 10):
        print(f"rhoplan needs Python 3.10 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    command = arguments[0] if arguments else "main"
    extras = EXTRAS.get(command)
    if extras is None:
        known = "test, lint, docs, adversary and cli"
        print(f"run.py knows {known}, not '{command}' (python3 run.py --help)", file=sys.stderr)
        return 2
    if os.environ.get("RHOPLAN_VALIDATION") == "0":
        extras = ",".join(extra for extra in extras.split(",") if extra != "validation")
    if command == "docs" and sys.version_info < (3, 11):
        print(f"the documentation site needs Python 3.11 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    set_up(extras)
    rest = arguments[1:]
    if command == "test":
        return run(["-m", "pytest", "-n", "auto", *rest])
    if command == "lint":
        return run(["-m", "ruff", "check", "."]) or run(["-m", "ruff", "format", "--check", "."]) or run(["-m", "mypy"])
    if command == "docs":
        return build_site()
    if command == "adversary":
        return run(["-m", "adversary", *rest], path=HERE / "tests")
    if command == "cli":
        return run(["-m", "rhoplan", *rest])
    return run(["-m", "rhoplan", "reproduce", "--out", "out"])


def set_up(extras: str) -> None:
    """Make `.venv` and install rhoplan with `extras`, unless a stamp says that this was done before."""
    wanted = fingerprint()
    stamp = STAMP.read_text().splitlines() if STAMP.exists() else []
    done = set(filter(None, stamp[1].split(","))) if len(stamp) > 1 and stamp[0] == wanted else set()
    needed = set(filter(None, extras.split(",")))
    if stamp and stamp[0] == wanted and needed <= done and PYTHON.exists():
        return
    installed = sorted(needed | done)
    print(
        f"setting up .venv for Python {sys.version.split()[0]} ({', '.join(installed) or 'no extras'}) ...", flush=True
    )
    if not PYTHON.exists() or (stamp and stamp[0] != wanted and stamp[-1:] != [sys.version]):
        shutil.rmtree(VENV, ignore_errors=True)
        make_environment()
    target = f".[{','.join(installed)}]" if installed else "."
    install(["--quiet", "-c", "constraints.txt", *(part for one in (target, *BESIDE) for part in ("-e", one))])
    STAMP.write_text(f"{wanted}\n{','.join(installed)}\n{sys.version}")


def fingerprint() -> str:
    names = ("constraints.txt", "pyproject.toml", *(f"{folder}/pyproject.toml" for folder in BESIDE))
    parts = [(HERE / name).read_bytes() for name in names]
    return hashlib.sha256(b"\0".join([*parts, sys.version.encode(), str(VENV).encode()])).hexdigest()


def make_environment() -> None:
    try:
        venv.create(VENV, with_pip=True, symlinks=os.name != "nt")
    except (subprocess.CalledProcessError, ImportError, SystemExit):
        shutil.rmtree(VENV, ignore_errors=True)
        venv.create(VENV, with_pip=False, symlinks=os.name != "nt")


def install(arguments: list[str]) -> None:
    """`pip install` into the environment, with its own pip or, where it has none, with the system's."""
    inside = subprocess.run([str(PYTHON), "-m", "pip", "--version"], capture_output=True).returncode == 0
    pip = [str(PYTHON), "-m", "pip"] if inside else [sys.executable, "-m", "pip", "--python", str(PYTHON)]
    command = [*pip, "install", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, cwd=HERE).returncode:
        print(
            "setting up failed: pip could not install what the pyproject.toml files list (its message is above)",
            file=sys.stderr,
        )
        raise SystemExit(1)


def build_site() -> int:
    """Build the documentation from scratch (what is left from before may hide a warning); warnings are errors."""
    failed = run(["-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "docs", "docs/_build/html"])
    if not failed:
        print(HERE / "docs" / "_build" / "html" / "index.html")
    return failed


def run(arguments: list[str], path: Path | None = None) -> int:
    """Run Python in the environment; `path` is one more place to look for modules."""
    places = [str(path)] if path else []
    places += filter(None, [os.environ.get("PYTHONPATH")])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)} if places else None
    try:
        return subprocess.run([str(PYTHON), *arguments], cwd=HERE, env=environment).returncode
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
