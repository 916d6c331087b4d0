"""Whether the tests notice the faults that are put into the library (`mutants`), one at a time.

One run of the tests beforehand (`traced`) tells which tests call which function; a fault is tried with the tests that
call its function, until one fails: the quickest of its own room first, then some of every file; then with the other
tests of its room. Tests that fail without a fault are left out. Faults in what numba compiles are tried first as plain
Python, which needs no compiling, and where that takes too long, compiled anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from signal import SIGALRM, SIGPROF
from types import TracebackType

from rhoplan_bench.fault.sitecustomize import FILE, TEXT
from rhoplan_bench.mutants import AREAS, Mutant

FIRST_TESTS = 12
"""Tests of a first run; most faults go no further, and few files of tests are read."""

MOST_TESTS, MOST_SECONDS = 250, 60.0
"""Tests of a second run: so many, and as many as take so long in all where nothing else is running."""

PLAIN_SECONDS = 60.0
"""What kernels may work as plain Python before they are compiled after all."""

COMPILING = 300.0
"""Seconds of work that compiling the kernels of a package may take, on top."""

MOST_UNSOUND = 5
"""Tests that fail with plain kernels without a fault too, after which no more are tried."""

PATIENCE, SLOWER = 30.0, 3.0
"""A run that works for so many seconds, and so many times as long as its tests took before, does not end."""

PLAIN = {"NUMBA_DISABLE_JIT": "1", "PYTEST_ADDOPTS": "-W ignore::RuntimeWarning"}
"""Environment in which kernels are plain Python; numpy then warns of hashes that are meant to go beyond 64 bits."""
EARLY = "ignore::pytest.PytestAssertRewriteWarning"
"""What pytest says of plugins that are imported before it runs."""

ENDLESS = "it does not end"


@dataclass(frozen=True)
class Verdict:
    """What became of a fault. noticed: by which test, or how; None where no test noticed."""

    mutant: Mutant
    noticed: str | None
    tests: int


class Calls:
    """Which tests call which function, and how long they take: what the plugin `traced` wrote."""

    def __init__(self, path: Path) -> None:
        kept = json.loads(path.read_text(encoding="utf-8"))
        self.seconds: dict[str, float] = kept["seconds"]
        self._by: dict[str, list[str]] = kept["calls"]

    def of(self, mutant: Mutant) -> list[str]:
        """The tests to try, in order: those that call the function, else the file; then the others of its room, which
        may call it in another process."""
        file = mutant.file.removeprefix("src/")
        room = f"tests/{file.split('/')[1]}/"
        calling = set(self._by.get(f"{file}:{mutant.function}", ())) or {
            test for key, tests in self._by.items() if key.startswith(f"{file}:") for test in tests
        }
        others = {test for test in self.seconds if test.startswith(room)} - calling
        near = sorted(calling, key=lambda test: (not test.startswith(room), self.seconds[test]))
        return self._first([*near[:FIRST_TESTS], *self._mixed(near[FIRST_TESTS:]), *self._mixed(others)])

    def _mixed(self, tests: Iterable[str]) -> list[str]:
        """The quickest of each file, the next of each file, and so on: those of one file try much the same."""
        turn: Counter[str] = Counter()
        found = []
        for test in sorted(tests, key=self.seconds.__getitem__):
            file = test.partition("::")[0]
            turn[file] += 1
            found.append((turn[file], self.seconds[test], test))
        return [test for *_, test in sorted(found)]

    def _first(self, tests: Sequence[str]) -> list[str]:
        chosen: list[str] = []
        spent = 0.0
        for test in tests:
            spent += self.seconds[test]
            if chosen and (spent > MOST_SECONDS or len(chosen) == MOST_TESTS):
                break
            chosen.append(test)
        return chosen


def trace(root: Path, out: Path, tests: Sequence[str] = (), *, jobs: int = 1) -> None:
    """Run the tests once, and write down what each calls; what `out` has of other tests stays."""
    environment = {**os.environ, "RHOPLAN_TRACED": str(out), "PYTHONPATH": _paths(root)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(jobs), "-p", "rhoplan_bench.traced", *tests]
    subprocess.run(command, cwd=root, env=environment, check=False)


def tried(root: Path, mutants: Sequence[Mutant], calls: Calls, *, jobs: int = 1) -> Iterator[Verdict]:
    """What becomes of each fault, as it is known. The tree is read, not written to."""
    free: Queue[Runner] = Queue()

    def one(mutant: Mutant) -> Verdict:
        runner = free.get()
        try:
            return runner.verdict(mutant, calls)
        finally:
            free.put(runner)

    runners = [Runner(root) for _ in range(jobs)]
    try:
        for runner in runners:
            free.put(runner)
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, mutants)
    finally:
        for runner in runners:
            runner.close()


class Runner:
    """Runs tests with a fault, in forks of one process that has all but the library imported (`fault.warm`)."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._folder = tempfile.TemporaryDirectory(prefix="faults-")
        self._warm = subprocess.Popen(
            [sys.executable, "-m", "warm"], cwd=self.root, env={**os.environ, "PYTHONPATH": _paths(root)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._passes: dict[str, bool] = {}

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._warm.terminate()
        self._warm.communicate()
        self._folder.cleanup()

    def verdict(self, mutant: Mutant, calls: Calls) -> Verdict:
        tests = {test: calls.seconds[test] for test in calls.of(mutant)}
        path = Path(self._folder.name, "faulty.py")
        path.write_text(mutant.text(self.root), encoding="utf-8")
        fault = {FILE: str(self.root / mutant.file), TEXT: str(path)}
        if not mutant.is_kernel:
            return Verdict(mutant, self._noticed(tests, fault), len(tests))
        noticed = self._noticed(tests, {**fault, **PLAIN})
        if noticed == ENDLESS:
            with tempfile.TemporaryDirectory(prefix="kernels-") as cache:
                noticed = self._noticed(tests, {**fault, "NUMBA_CACHE_DIR": cache}, COMPILING)
        return Verdict(mutant, noticed, len(tests))

    def _noticed(self, tests: Mapping[str, float], fault: Mapping[str, str], more: float = 0.0) -> str | None:
        """The first of `tests` that fails with the fault, or how else the fault showed."""
        waiting, unsound = list(tests), 0
        count = FIRST_TESTS
        while waiting and unsound < MOST_UNSOUND:
            group, rest = waiting[:count], waiting[count:]
            patience = more + PATIENCE + SLOWER * sum(tests[test] for test in group)
            code, failed = self._run(group, fault, PLAIN_SECONDS if _is_plain(fault) else patience)
            if code in (-SIGALRM, -SIGPROF):
                return ENDLESS
            if code != 0 and not failed:
                clean, _ = self._run(group, PLAIN if _is_plain(fault) else {}, patience)
                if clean == 0:
                    return f"pytest ended with {code}"
            if failed and (not _is_plain(fault) or self._passes_as_plain(failed)):
                return failed
            unsound += bool(failed)
            waiting = group[group.index(failed) + 1 :] + rest if failed in group else rest
            count = MOST_TESTS
        return None

    def _passes_as_plain(self, test: str) -> bool:
        """Whether `test`, which passes with compiled kernels, passes with plain ones too."""
        if test not in self._passes:
            self._passes[test] = self._run([test], PLAIN, PLAIN_SECONDS)[0] == 0
        return self._passes[test]

    def _run(self, tests: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[int, str]:
        """How pytest ended, and the test that failed."""
        out = Path(self._folder.name, "out")
        told = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-W", EARLY, *tests]
        asked = {"tests": told, "folder": str(self.root), "environment": dict(environment), "seconds": seconds}
        assert self._warm.stdin is not None
        assert self._warm.stdout is not None
        print(json.dumps({**asked, "out": str(out)}), file=self._warm.stdin, flush=True)
        code = int(self._warm.stdout.readline())
        lines = out.read_text(encoding="utf-8", errors="replace").splitlines()
        failed = [line.partition(" ")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
        return code, failed[0].partition(" - ")[0] if failed else ""


def _is_plain(environment: Mapping[str, str]) -> bool:
    return environment.keys() >= PLAIN.keys()


def _paths(root: Path) -> str:
    places = ("src", "paper/src", "bench/src", "tests")
    return os.pathsep.join([str(Path(__file__).parent / "fault"), *(str(root / place) for place in places)])


@dataclass(frozen=True)
class Score:
    """How many faults there were, and how many of them the tests notice; explained: those that change no answer."""

    faults: int
    noticed: int
    explained: int

    @property
    def missed(self) -> int:
        return self.faults - self.noticed - self.explained

    @property
    def share(self) -> float:
        """The share noticed of those that can change an answer; 1 where none can."""
        return self.noticed / (self.noticed + self.missed) if self.noticed + self.missed else 1.0


def score(verdicts: Iterable[Verdict]) -> dict[str, Score]:
    """The score of each area, and of all together."""
    given, why = list(verdicts), explained()
    found: dict[str, Score] = {}
    for area in (*AREAS, "all"):
        its = [verdict for verdict in given if area in (verdict.mutant.area, "all")]
        unnoticed = [verdict.mutant for verdict in its if verdict.noticed is None]
        if its:
            known = sum(mutant.id in why for mutant in unnoticed)
            found[area] = Score(len(its), len(its) - len(unnoticed), known)
    return found


def explained() -> dict[tuple[str, str, str, str], str]:
    """Why a fault need not be noticed, by its id: faults that were looked at one by one (`explained.json`)."""
    rows = json.loads(Path(__file__).with_name("explained.json").read_text(encoding="utf-8"))
    return {(row["file"], row["function"], row["before"], row["after"]): row["why"] for row in rows}
