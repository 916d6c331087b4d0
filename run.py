#!/usr/bin/env python3
"""Set up rhoplan (with the paper and the benchmark) in `.venv` beside this file and run it: needs Python 3.11, no more.

python3 run.py          sets up, then reproduces the paper (the quick size) into out/report.html
python3 run.py test     sets up, then runs the tests
python3 run.py lint     sets up, then runs the linter, the import contracts and the type checker
python3 run.py docs     sets up, then builds the documentation site into docs/_build/html
python3 run.py dist     sets up, builds wheels and sdists into dist, installs them in a clean environment, tries them
python3 run.py cli ...  sets up, then runs `rhoplan ...`
python3 run.py setup    sets up for all of these at once, and does no more
python3 run.py adversary --seconds N  sets up, then compares rhoplan with an exact oracle on random models for N seconds
                        (--seed S begins at another model, --jobs J uses more processes; 1 comes back if any differs)
python3 run.py golden   sets up, then compares all golden results with what rhoplan answers now (`quick`: some of them)
python3 run.py record   sets up, then records the golden results anew and prints what changed, by kind

A `.venv` that is not this file's own is left alone: the environment is then `.venv-rhoplan` beside it.

What is installed stands in `requirements.lock`, each file with its hash, and nothing else is: wheels, or sources where
this machine has no wheel. RHOPLAN_PINS=0 takes the newest versions that the pyproject.toml files allow instead,
unchecked, and RHOPLAN_VALIDATION=0 leaves out the library that information gains are compared with (it brings JAX).

Standard library only. A bare Debian refuses `pip install` outside a virtual environment and ships no
ensurepip, so the environment is made without pip there and filled by the system's pip from outside.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

HERE = Path(__file__).resolve().parent
VENV, OTHER = HERE / ".venv", HERE / ".venv-rhoplan"
STAMP = "rhoplan-setup"
UNFINISHED = "unfinished"
EXTRAS = {
    "main": "validation", "cli": "gym,serve", "test": "dev,validation", "lint": "dev", "docs": "docs", "adversary": "",
    "golden": "dev,validation", "record": "dev,validation", "dist": "dev", "setup": "dev,docs,validation",
}  # fmt: skip
"""Extras of rhoplan that each command needs besides what the paper and the benchmark bring."""

BESIDE = ("paper", "bench")
"""Folders of the distributions that add commands to rhoplan."""

LOCK = "requirements.lock"
"""Versions and hashes of all that may be installed, each with those it is for; `.ci/lock.py` renews it."""

STARTED = ("numpy", "scipy", "numba", "llvmlite", "click", "rich", "pygments", "yaml", "matplotlib", "fastapi",
           "starlette", "pydantic", "uvicorn", "anyio")  # fmt: skip
"""Packages that commands load: compiled once, with our own. Where it is set that Python keeps no compiled modules, each
command would compile them all, which is half of what a short one takes."""

COMPILED = (["-m", "pytest"], ["-m", "machine_code"])
"""What keeps compiled modules whatever the caller's setting: tests start hundreds of processes that would each compile
every module they import, most of what these cost."""

CONTRACTS = ["-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-logo", "--no-cache"]
"""Checks the import contracts of pyproject.toml; import-linter has no module that can be run."""

TRIED = {
    "core": ("--version", "list", "decide tiger", "show chest-pain --yaml"),
    "fast": ("solve drilling --gap 1 --score",),
}
"""Commands that must work without any extra (core), and then with one."""

FILES = """
from importlib.metadata import entry_points
from importlib.resources import files
assert {one.name for one in entry_points(group="rhoplan.commands")} == {"reproduce", "bench"}
paper = [f"rhoplan_paper/{name}.json" for name in ("published", "reasons", "studies")]
for name in ("rhoplan/py.typed", "rhoplan/app/serve/static/index.html", *paper):
    package, _, inside = name.partition("/")
    assert files(package).joinpath(inside).is_file(), f"{name} is missing"
"""
"""What distributions must bring besides code."""


def main(arguments: list[str]) -> int:
    if sys.version_info < (3, 11):
        print(f"rhoplan needs Python 3.11 or newer; this is {sys.version.split()[0]}", file=sys.stderr)
        return 2
    if arguments[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    command = arguments[0] if arguments else "main"
    extras = EXTRAS.get(command)
    if extras is None:
        known = "test, lint, docs, dist, adversary, golden, record, cli and setup"
        print(f"run.py knows {known}, not '{command}' (python3 run.py --help)", file=sys.stderr)
        return 2
    if os.environ.get("RHOPLAN_VALIDATION") == "0":
        extras = ",".join(extra for extra in extras.split(",") if extra != "validation")
    set_up(extras)
    rest = arguments[1:]
    if command == "setup":
        return 0
    if command == "test":
        if not rest:
            make_machine_code()
        workers = (os.cpu_count() or 1) + 1  # some wait for browsers and servers
        return run(["-m", "pytest", "-n", str(workers), "--dist", "worksteal", *rest])
    if command == "lint":
        checks = (["-m", "ruff", "check", "."], ["-m", "ruff", "format", "--check", "."], CONTRACTS, ["-m", "mypy"])
        return next(filter(None, map(run, checks)), 0)
    if command == "docs":
        return build_site()
    if command == "dist":
        return try_distributions()
    if command == "adversary":
        return run(["-m", "adversary", *rest], path=HERE / "tests")
    if command in ("golden", "record"):
        return run(["-m", "contract", command, *rest], path=HERE / "tests")
    if command == "cli":
        return run(["-m", "rhoplan", *rest])
    return run(["-m", "rhoplan", "reproduce", "--out", "out"])


def make_machine_code() -> None:
    """Make what the tests need of it in two processes, before each of their workers would make all of it."""
    with ThreadPoolExecutor(2) as both:
        list(both.map(lambda half: run(["-m", "machine_code", half], path=HERE / "tests"), ("0", "1")))


def set_up(extras: str) -> None:
    """Make the environment and install rhoplan with `extras`, unless a stamp says that this was done before."""
    place, wanted = environment(), fingerprint()
    stamp = read_stamp(place)
    done = set(filter(None, stamp[1].split(","))) if len(stamp) > 1 and stamp[0] == wanted else set()
    needed = set(filter(None, extras.split(",")))
    if stamp and stamp[0] == wanted and needed <= done and python(place).exists():
        return
    installed = sorted(needed | done)
    if place != VENV:
        print(f"{VENV.name} was not made by run.py and is left alone; {place.name} is used instead", flush=True)
    what = ", ".join(installed) or "no extras"
    print(f"setting up {place.name} for Python {sys.version.split()[0]} ({what}) ...", flush=True)
    try:
        if not python(place).exists() or (stamp[:1] != [wanted] and stamp[-1:] != [sys.version]):
            make_environment(place)
        target = f".[{','.join(installed)}]" if installed else "."
        ours = [part for one in (target, *BESIDE) for part in ("-e", one)]
        if pins():
            install_locked({"core", "build", *BESIDE, *installed}, place)
            ours = ["--no-index", "--no-build-isolation", *ours]  # pip refuses where the lock has not all they ask for
        if pip_install(ours, place):
            fail("pip could not install what the pyproject.toml files list")
        compile_modules(place)
        (place / STAMP).write_text(f"{wanted}\n{','.join(installed)}\n{sys.version}", encoding="utf-8")
    except OSError as error:
        print(f"setting up failed: '{place}' cannot be written to ({error.strerror or error})", file=sys.stderr)
        raise SystemExit(1) from None


def compile_modules(place: Path) -> None:
    """Keep compiled what commands load. Nothing depends on it: what cannot be compiled or kept is not."""
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(subprocess.run([str(python(place)), "-c", ask], capture_output=True, text=True).stdout.strip())
    folders = [*(site / name for name in STARTED), *(HERE / folder / "src" for folder in (".", *BESIDE))]
    command = [str(python(place)), "-m", "compileall", "-qq", "-j", "0", "-x", r"[/\\]tests?[/\\]"]
    subprocess.run([*command, *(str(folder) for folder in folders if folder.is_dir())], capture_output=True)


def environment() -> Path:
    """The folder of the environment: `.venv`, or one beside it where another tool made that."""
    if not os.path.lexists(VENV) or (VENV / STAMP).exists():
        return VENV
    return VENV if VENV.is_dir() and not any(VENV.iterdir()) else OTHER


def read_stamp(place: Path) -> list[str]:
    """Digest, extras and Python of what was set up in `place`; empty where nothing was."""
    try:
        return (place / STAMP).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return []


def python(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def fingerprint() -> str:
    names = (LOCK, "pyproject.toml", *(f"{folder}/pyproject.toml" for folder in BESIDE))
    parts = [(HERE / name).read_bytes() for name in names]
    parts += [one.encode() for one in (sys.version, str(environment()), "pinned" if pins() else "newest")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def pins() -> bool:
    return os.environ.get("RHOPLAN_PINS") != "0"


def make_environment(place: Path) -> None:
    """An empty environment in `place`, stamped from the first moment: one that is half made is known as ours."""
    for with_pip in (True, False):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True, exist_ok=True)
        (place / STAMP).write_text(UNFINISHED, encoding="utf-8")
        try:
            venv.create(place, with_pip=with_pip, symlinks=os.name != "nt")
            return
        except (subprocess.CalledProcessError, ImportError, SystemExit):
            if not with_pip:
                raise


def install_locked(groups: set[str], place: Path) -> None:
    """Install what the lock has for `groups`, checked by hash: wheels, or sources where this machine has no wheel."""
    chosen = place / f"{STAMP}.txt"
    chosen.write_text(locked((HERE / LOCK).read_text(encoding="utf-8"), groups), encoding="utf-8")
    checked = ["--require-hashes", "-r", str(chosen)]
    if not pip_install(["--only-binary", ":all:", *checked], place):
        return
    print("not everything can be had as a wheel here (pip's message is above); sources are tried: their hashes are "
          "checked, too, but what builds them is not pinned", flush=True)  # fmt: skip
    if pip_install(checked, place):
        fail(f"pip could not install what {LOCK} lists; RHOPLAN_PINS=0 takes the newest versions instead, unchecked")


def locked(text: str, groups: set[str]) -> str:
    """The part of a lock that is for any of `groups`: above each version a line says whom it is for."""
    parts = [part.partition("\n") for part in text.split("# for ")[1:]]
    return "".join(lines for users, _, lines in parts if groups & set(users.split(", ")))


def pip_install(arguments: list[str], place: Path) -> int:
    """`pip install` into `place`, with its own pip or, where it has none, with the system's; its exit code."""
    inside = subprocess.run([str(python(place)), "-m", "pip", "--version"], capture_output=True).returncode == 0
    pip = [str(python(place)), "-m", "pip"] if inside else [sys.executable, "-m", "pip", "--python", str(python(place))]
    command = [*pip, "install", "--quiet", "--disable-pip-version-check", "--no-compile", *arguments]
    return subprocess.run(command, cwd=HERE).returncode


def fail(what: str) -> NoReturn:
    print(f"setting up failed: {what} (its message is above)", file=sys.stderr)
    raise SystemExit(1)


def try_distributions() -> int:
    """Build wheel and sdist of every distribution, install them where nothing else is, and use what they bring."""
    out = HERE / "dist"
    shutil.rmtree(out, ignore_errors=True)
    for folder in (".", *BESIDE):
        if run(["-m", "hatchling", "build", "-d", str(out)], folder=HERE / folder):
            return 1
    with tempfile.TemporaryDirectory(prefix="rhoplan-dist-") as name:
        clean, wheels = Path(name) / "clean", Path(name) / "wheels"
        venv.create(clean, with_pip=False, symlinks=os.name != "nt")
        library = next(out.glob("rhoplan-*.tar.gz"))  # from the sdist, so that this is whole, too
        shutil.unpack_archive(library, name)
        if run(["-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)], folder=Path(name) / library.name[:-7]):
            return 1
        install_locked({"core"}, clean)
        others = sorted(str(path) for path in out.glob("rhoplan_*.whl"))
        if pip_install(["--no-index", *map(str, wheels.iterdir())], clean):
            fail("pip could not install the built rhoplan")
        if pip_install(["--no-index", "--no-deps", *others], clean):
            fail("pip could not install the built paper and benchmark")
        for group, lines in TRIED.items():
            if group != "core":
                install_locked({group}, clean)
            for line in lines:
                tried = subprocess.run([str(python(clean)), "-I", "-m", "rhoplan", *line.split()], cwd=name, text=True,
                                       capture_output=True)  # fmt: skip
                if tried.returncode:
                    said = tried.stderr or tried.stdout
                    print(f"`rhoplan {line}` failed in a clean environment ({group}): {said}", file=sys.stderr)
                    return 1
        files = subprocess.run([str(python(clean)), "-I", "-c", FILES], cwd=name)
    print("built, installed and tried: " + ", ".join(sorted(path.name for path in out.iterdir() if path.is_file())))
    return files.returncode


def build_site() -> int:
    """Build the documentation from scratch (what is left from before may hide a warning); warnings are errors."""
    failed = run(["-m", "sphinx", "-W", "--keep-going", "-q", "-E", "-b", "html", "docs", "docs/_build/html"])
    if not failed:
        print(HERE / "docs" / "_build" / "html" / "index.html")
    return failed


def run(arguments: list[str], path: Path | None = None, folder: Path = HERE) -> int:
    """Run Python in the environment, in `folder`; `path` is one more place to look for modules."""
    places = [str(path)] if path else []
    places += filter(None, [os.environ.get("PYTHONPATH")])
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(places)} if places else {**os.environ}
    if arguments[:2] in COMPILED:
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        return subprocess.run([str(python(environment())), *arguments], cwd=folder, env=variables).returncode
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
