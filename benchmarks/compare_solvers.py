"""Measure what rhoplan's solver, or any of its commands, needs, and compare two versions of it.

python benchmarks/compare_solvers.py [FOLDER]             solves every problem file in FOLDER and 300 random POMDPs
python benchmarks/compare_solvers.py --commands FILE      runs the commands of FILE, one `rhoplan ...` per line
python benchmarks/compare_solvers.py ... --against OLD    does the same with another version and compares

A version is used through `python -m rhoplan` alone. Each version has a worker, a process that runs one request after
the other. For `solve`, the worker has rhoplan and its machine code in memory and forks a child for each problem: CPU
seconds and peak memory are what the child needs beyond that, and the time limit is in CPU seconds. A command, in
contrast, runs in a new Python process, and start-up counts. At any time one process works. Linux and macOS only.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import runpy
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]
FILES = (".pomdp", ".pomdpx", ".drn")
WEIGHTS, DISCOUNTS = (0.0, 0.3, 1.0, 5.0), (0.5, 0.95, 0.9999, 1.0)
RANDOM = 300
WARM_UP = range(100_000, 100_012)
"""Seeds of the random POMDPs that a worker solves before it measures: two of each family."""


RENAMED_OPTIONS: dict[str, str] = {}
"""Options that the old version calls by the first name and the new version by the second."""

MEASURED = ("seconds", "compiling")
"""Keys of `--json` that are measurements of a run: they are not compared."""

RELATIVE = 1e-9
"""Numbers are equal if they differ by at most this share of the larger one."""

SMALLEST = {"seconds": 0.01, "megabytes": 1.0, "gap": 1e-12}
"""Measurements below this count as this in a ratio: what is below is the resolution of the measurement."""

PER_MEGABYTE = 1e6 if sys.platform == "darwin" else 1e6 / 1024
"""Units of `ru_maxrss` per MB."""

PATIENCE = 600
"""Wall seconds after which a command is killed; `solve` has ten times its time limit besides."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """A command line of rhoplan without the program's name, and what it is called in results."""

    name: str
    words: tuple[str, ...]


# Running one version


def serve(is_warm: bool) -> None:
    """Worker: read requests, as lines of JSON, from standard input, and write what each run needed to standard output.

    A request without a limit is run in the worker itself, so that later children have the machine code in memory. So is
    one whose child had to compile or load some; it is then measured again.
    """
    measured = run_forked if is_warm else run_new
    for line in sys.stdin:
        words, limit = json.loads(line)
        if limit is None:
            run_here(words)
            answer = {}
        else:
            answer = measured(words, limit)
            if is_warm and (answer["out"] or {}).get("compiling", 0) > SMALLEST["seconds"]:
                run_here(words)
                answer = measured(words, limit)
        print(json.dumps(answer), flush=True)


def run_here(words: Sequence[str]) -> None:
    with (
        contextlib.suppress(SystemExit),
        open(os.devnull, "w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        run_main(words)
    signal.signal(signal.SIGINT, signal.default_int_handler)


def run_main(words: Sequence[str]) -> None:
    """`python -m rhoplan` in this process."""
    sys.argv = ["rhoplan", *words]
    runpy.run_module("rhoplan", run_name="__main__", alter_sys=True)


def run_forked(words: Sequence[str], limit: int) -> Row:
    """What a child needs beyond what it starts with: a child that does nothing tells that.

    Python's clocks count CPU seconds in the child, so a time limit does not depend on what else the machine does.
    """

    def run() -> None:
        time.monotonic = time.perf_counter = time.process_time
        run_main(words)

    start, answer = in_child(lambda: None, limit), in_child(run, limit)
    return answer | {"megabytes": round(max(answer["megabytes"] - start["megabytes"], 0.0), 2)}


def run_new(words: Sequence[str], limit: int) -> Row:
    """What a new Python process needs. Its peak memory is at least this process's, which is why that stays small."""
    command = [sys.executable, "-m", "rhoplan", *words]
    return in_child(lambda: os.execv(command[0], command), limit)


def in_child(act: Callable[[], object], limit: int) -> Row:
    """Exit code, CPU seconds, peak memory, JSON output, and last line of the errors of a child process."""
    with open(os.devnull) as empty, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = os.fork()
        if not process:
            _be_child(act, limit, (empty.fileno(), out.fileno(), err.fileno()))
        _, status, used = os.wait4(process, 0)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    try:
        found = json.loads(texts[0])
    except ValueError:
        found = None
    code = os.waitstatus_to_exitcode(status)
    message = f"killed by signal {-code}" if code < 0 else (texts[1].strip().splitlines() or [""])[-1]
    return {
        "exit": code,
        "seconds": round(used.ru_utime + used.ru_stime, 3),
        "megabytes": round(used.ru_maxrss / PER_MEGABYTE, 2),
        "out": found,
        "message": message.removeprefix("rhoplan: "),
    }


def _be_child(act: Callable[[], object], limit: int, streams: Sequence[int]) -> NoReturn:
    signal.alarm(limit)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
    code = 0
    try:
        act()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    except BaseException as error:
        print(repr(error), file=sys.stderr)
        code = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


class Version:
    """A version of rhoplan, in a checkout with a Python that has its dependencies, and its worker in `folder`."""

    def __init__(self, name: str, tree: Path, python: Path, folder: Path, *, is_warm: bool) -> None:
        self.name = name
        sources = [str(tree / part / "src") for part in (".", "paper", "bench")]
        subprocess.run([str(python), "-m", "compileall", "-qq", *sources])  # so that no run has to
        self._process = subprocess.Popen(
            [str(python), str(Path(__file__).resolve()), "worker", "warm" if is_warm else "new"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sources)},
        )  # fmt: skip

    def __enter__(self) -> Version:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.__exit__(kind, error, at)

    def load(self, tasks: Iterable[Task]) -> None:
        """Run tasks in the worker itself, which then has in memory what they need."""
        for task in tasks:
            self.run([*task.words, "--time-limit", "1"], None)

    def run(self, words: Sequence[str], limit: int | None) -> Row:
        """Measure a command, which is killed after `limit` wall seconds; without a limit, see `serve`."""
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        requests.write(json.dumps([renamed(words, RENAMED_OPTIONS, self.name), limit]) + "\n")
        requests.flush()
        line = answers.readline()
        if not line:
            raise SystemExit(f"the worker of the {self.name} version ended")
        answer: Row = json.loads(line)
        return answer


def renamed(words: Sequence[str], table: Mapping[str, str], version: str) -> list[str]:
    """A command line with the names that the `old` or the `new` version has for its options."""
    names = table if version == "new" else {new: old for old, new in table.items()}
    parts = [word.partition("=") for word in words]
    return ["".join((names.get(name, name), sign, value)) for name, sign, value in parts]


def build(commit: str, folder: Path) -> Path:
    """Check `commit` out in `folder`, unless it is there, and set its environment up; the Python of that."""
    wanted = _git("rev-parse", f"{commit}^{{commit}}")
    if not (folder / ".git").exists():
        _git("worktree", "add", "--detach", str(folder), wanted)
    elif (found := _git("-C", str(folder), "rev-parse", "HEAD")) != wanted:
        raise SystemExit(f"{folder} has commit {found[:9]}, not {wanted[:9]}: name another folder")
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    variables = {"RHOPLAN_VALIDATION": "0", **os.environ}
    variables.pop("PYTHONPATH", None)
    done = subprocess.run([str(base), "run.py", "setup"], cwd=folder, env=variables, stdout=sys.stderr)
    if done.returncode:
        raise SystemExit(f"{commit} could not be set up")
    return folder / ".venv" / "bin" / "python"


def _git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"git {words[0]} failed")
    return done.stdout.strip()


# What is run


def random_tasks(seeds: Iterable[int], folder: Path) -> Iterator[Task]:
    """Write random POMDPs into `folder`. In 96 of them, each family meets each weight and each discount once."""
    sys.path.insert(0, str(ROOT / "tests"))
    from contract.drawn_files import pomdp

    pairs = list(product(WEIGHTS, DISCOUNTS))
    for seed in seeds:
        weight, discount = pairs[(seed + seed // 48) % len(pairs)]
        drawn = pomdp(seed, weight=weight, discount=discount)
        (folder / drawn.name).write_text(drawn.text, encoding="utf-8")
        yield Task(f"random-{seed:03} weight {weight:g} discount {discount:g}", ("solve", drawn.name, *drawn.options))


def file_tasks(folder: Path) -> Iterator[Task]:
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in FILES:
            yield Task(path.relative_to(folder).as_posix(), ("solve", str(path.resolve())))


def command_tasks(file: Path) -> Iterator[Task]:
    for line in file.read_text(encoding="utf-8").splitlines():
        words = shlex.split(line, comments=True)
        if words:
            yield Task(shlex.join(words), tuple(words[1:] if words[0] == "rhoplan" else words))


def solve_row(name: str, answer: Row) -> Row:
    """What is kept of a run of `solve`."""
    record, code = answer["out"], answer["exit"]
    status = record["stopped_by"] if record else "refused" if code == 2 else "failed"
    row = {"name": name, "status": status, "lower": record and record["lower"], "upper": record and record["upper"]}
    row |= {"seconds": answer["seconds"], "megabytes": answer["megabytes"]}
    return row if record else row | {"message": answer["message"]}


def measure(tasks: Sequence[Task], versions: Sequence[Version], options: argparse.Namespace) -> dict[str, list[Row]]:
    """Rows of each version. The versions take turns; of repeated runs, the one with the least CPU seconds counts."""
    rows: dict[str, list[Row]] = {version.name: [] for version in versions}
    for place, task in enumerate(tasks, 1):
        words, limit = task.words, PATIENCE
        if not options.commands:
            rules = ["--time-limit", str(options.seconds), "--json"]
            limit += math.ceil(10 * options.seconds)
            gap = options.gap
            if options.relative:  # relative to the value: first bounds tell its size, and all versions get that gap
                first = versions[-1].run([*words, "--gap", "1e300", *rules], limit)["out"] or {}
                gap *= max(abs(first.get("lower") or 0), abs(first.get("upper") or 0)) or 1
            words = (*words, "--gap", repr(gap), *rules)
        runs: dict[str, list[Row]] = {version.name: [] for version in versions}
        for _ in range(options.repeat):
            for version in versions:
                runs[version.name].append(version.run(words, limit))
        for name, answers in runs.items():
            best = min(answers, key=lambda answer: float(answer["seconds"]))
            rows[name].append({"name": task.name, **best} if options.commands else solve_row(task.name, best))
        told = ", ".join(f"{name} {its[-1]['seconds']:.2f} s" for name, its in rows.items())
        print(f"{place}/{len(tasks)} {task.name}: {told}", file=sys.stderr, flush=True)
    return rows


# Comparing


def overlap(old: Row, new: Row) -> bool:
    """Whether two intervals, each of which should hold the optimal value, have a point in common."""
    bounds = [(row[end] if row[end] is not None else far) for row in (old, new)
              for end, far in (("lower", -math.inf), ("upper", math.inf))]  # fmt: skip
    lower, upper = max(bounds[::2]), min(bounds[1::2])
    return bool(lower <= upper or lower - upper <= RELATIVE * max(abs(lower), abs(upper)))


def ratio(old: Row, new: Row, key: str) -> float:
    one, other = (row["upper"] - row["lower"] if key == "gap" else row[key] for row in (old, new))
    return float(max(other, SMALLEST[key]) / max(one, SMALLEST[key]))


def paired(old: Sequence[Row], new: Sequence[Row]) -> list[tuple[Row, Row]]:
    known = {row["name"]: row for row in old}
    return [(known[row["name"]], row) for row in new if row["name"] in known]


def ratio_table(pairs: Sequence[tuple[Row, Row]]) -> Iterator[str]:
    """Median and worst ratio, new to old, of CPU seconds, peak memory and gaps."""
    solved = [pair for pair in pairs if all(row["lower"] is not None and row["upper"] is not None for row in pair)]
    wide = [pair for pair in solved if any(row["status"] != "gap" for row in pair)]
    yield f"{'new / old':<44} {'problems':>8} {'median':>8} {'worst':>8}"
    for title, key, its in (("CPU seconds", "seconds", solved), ("peak memory", "megabytes", solved),
                            ("gap, where not both reach the one asked for", "gap", wide)):  # fmt: skip
        found = [(ratio(*pair, key), pair[1]["name"]) for pair in its]
        if found:
            worst, where = max(found)
            median = statistics.median(one for one, _ in found)
            yield f"{title:<44} {len(found):>8} {median:>8.3f} {worst:>8.3f}  {where}"


def compare_solved(old: Sequence[Row], new: Sequence[Row]) -> tuple[list[str], bool]:
    """What to print about two lists of rows of `solve`, and whether all intervals overlap."""
    pairs = paired(old, new)
    lines = list(ratio_table(pairs))
    lines += [f"{b['name']}: {a['status']} became {b['status']}" for a, b in pairs if a["status"] != b["status"]]
    apart = [pair for pair in pairs if not overlap(*pair)]
    lines += [
        f"{b['name']}: [{a['lower']}, {a['upper']}] and [{b['lower']}, {b['upper']}] do not overlap" for a, b in apart
    ]
    lines.append(f"{len(pairs) - len(apart)} of {len(pairs)} pairs of intervals overlap")
    return lines, not apart


def numbers(value: Any, where: str = "") -> Iterator[tuple[str, float]]:
    """Place and value of every number in a result."""
    if isinstance(value, dict):
        for key in value.keys() - set(MEASURED):
            yield from numbers(value[key], f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for place, one in enumerate(value):
            yield from numbers(one, f"{where}[{place}]")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield where, value


def number_differences(old: Any, new: Any) -> Iterator[str]:
    """Every number that differs or that only one of two results has, in the order of their places."""
    one, other = dict(numbers(old)), dict(numbers(new))
    for where in sorted(one.keys() | other.keys()):
        a, b = one.get(where), other.get(where)
        if a is None or b is None or not (a == b or abs(a - b) <= RELATIVE * max(abs(a), abs(b))):
            yield f"{where}: {a} became {b}"


def compare_commands(old: Sequence[Row], new: Sequence[Row]) -> tuple[list[str], bool]:
    """What to print about two lists of runs of commands, and whether exit codes and numbers are the same."""
    lines = [f"{'old s':>8} {'new s':>8} {'ratio':>6} {'old MB':>8} {'new MB':>8} {'ratio':>6}  command"]
    alike = True
    for a, b in paired(old, new):
        cells = [f"{a[key]:>8.2f} {b[key]:>8.2f} {ratio(a, b, key):>6.2f}" for key in ("seconds", "megabytes")]
        lines.append(f"{' '.join(cells)}  {b['name']}")
        found = list(number_differences(a["out"], b["out"]))
        if a["exit"] != b["exit"]:
            found.insert(0, f"exit code {a['exit']} became {b['exit']}: {b['message'] or a['message']}")
        lines += [f"    {one}" for one in found]
        alike = alike and not found
    return lines, alike


def save(path: Path, about: Row, rows: Mapping[str, Sequence[Row]]) -> None:
    """JSON with one line for each row."""
    parts = [f'"about": {json.dumps(about)}']
    parts += [f'"{name}": [\n' + ",\n".join(map(json.dumps, its)) + "\n]" for name, its in rows.items()]
    path.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def totals(rows: Sequence[Row], what: str) -> str:
    """One line about the rows of one version."""
    counts = Counter(str(row[what]) for row in rows)
    found = ", ".join(f"{count} {one}" for one, count in counts.most_common())
    return f"{len(rows)} in {sum(row['seconds'] for row in rows):.1f} CPU seconds, by {what}: {found}"


# The command line


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parsed(arguments)
    is_warm = not options.commands
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="compare-")))
        if options.commands:
            shutil.copytree(ROOT / "examples", folder / "examples")
            tasks = list(command_tasks(options.commands))
        else:
            tasks = [
                *(file_tasks(options.folder) if options.folder else ()),
                *random_tasks(range(options.random), folder),
            ]
        places, before = [("new", ROOT, Path(sys.executable))], None
        if options.against and Path(options.against).is_file():
            before = json.loads(Path(options.against).read_text(encoding="utf-8"))["new"]
        elif options.against:
            tree = options.worktree.resolve() if options.worktree else folder / "worktree"
            if not options.worktree:
                remove = ["git", "-C", str(ROOT), "worktree", "remove", "--force", str(tree)]
                stack.callback(subprocess.run, remove, stderr=subprocess.DEVNULL)
            places.insert(0, ("old", tree, build(options.against, tree)))
        warm_up = list(random_tasks(WARM_UP, folder)) if is_warm else []
        for place in places if is_warm else ():  # machine code is made here: a process that makes it becomes large
            with Version(*place, folder, is_warm=True) as version:
                version.load(warm_up)
        versions = [stack.enter_context(Version(*place, folder, is_warm=is_warm)) for place in places]
        for version in versions:
            version.load(warm_up)
        rows = measure(tasks, versions, options)
    if options.out:
        about = {name: getattr(options, name) for name in ("gap", "relative", "seconds", "repeat")}
        save(options.out, about, rows)
    before = before or rows.get("old")
    if not before:
        print(totals(rows["new"], "exit" if options.commands else "status"))
        return 0
    lines, is_fine = (compare_commands if options.commands else compare_solved)(before, rows["new"])
    print("\n".join(lines))
    return 0 if is_fine else 1


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="folder of problem files (.pomdp, .pomdpx, .drn)")
    parser.add_argument("--random", type=int, default=RANDOM, metavar="N", help=f"random POMDPs ({RANDOM})")
    parser.add_argument("--gap", type=float, default=1e-3, help="gap between the bounds at which to stop (0.001)")
    parser.add_argument("--relative", action="store_true", help="the gap is a share of the first bounds' size")
    parser.add_argument("--seconds", type=float, default=5.0, help="CPU seconds for each problem (5)")
    parser.add_argument("--repeat", type=int, help="runs, of which the fastest counts (1; 2 with --commands)")
    parser.add_argument("--commands", type=Path, metavar="FILE", help="run the commands in FILE instead")
    parser.add_argument("--against", metavar="OLD", help="commit, or result file, to compare with; 1 if results differ")
    parser.add_argument("--worktree", type=Path, metavar="FOLDER", help="where to keep the worktree of that commit")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows to FILE as JSON")
    options = parser.parse_args(arguments)
    options.repeat = options.repeat or (2 if options.commands else 1)
    for path in (options.folder, options.commands):
        if path and not path.exists():
            parser.error(f"{path} does not exist")
    return options


if __name__ == "__main__":
    if sys.argv[1:2] == ["worker"]:
        serve(is_warm=sys.argv[2] == "warm")
    else:
        sys.exit(main())
