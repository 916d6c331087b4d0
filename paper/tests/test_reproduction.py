"""Reproductions: results are kept at once, runs can be killed and go on, two cannot share a folder, workers may die."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bridge import (
    CONFIRMED,
    CONTRADICTED,
    ONLY_BITS,
    Context,
    Finding,
    FolderInUse,
    Outcome,
    Pending,
    Sheet,
    Store,
    Study,
    build_table,
    cell,
    import_line,
    job,
    on_cluster,
    on_this_machine,
    published,
    reproduce,
    run,
    run_job,
    score_job,
    simulate_job,
    studies,
)
from bridge import PaperJob as Job
from serving import PATIENCE

SMALL = ("testbed", "misspecification-tiger")


class Silent:
    def __init__(self) -> None:
        self.done: list[str] = []

    def wanted(self, jobs: int, done: int) -> None:
        pass

    def finished(self, study: Study, outcome: Outcome) -> None:
        self.done.append(study.id)


def small_studies() -> list[Study]:
    return [study for id, study in studies().items() if id in SMALL]


def comparable(folder: Path) -> dict[str, bytes]:
    """Every file of a reproduction as bytes, but for how long it took."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != ".lock" and "results" not in path.parts:
            content = path.read_bytes()
            if path.name == "report.html":
                content = re.sub(rb"<span id='timing'>.*?</span>", b"", content)
            if path.name == "manifest.json":
                content = json.dumps({**json.loads(content), "timing": None}).encode()
            files[str(path.relative_to(folder))] = content
    return files


def results_in(folder: Path) -> int:
    return len(list((folder / "results").glob("*.json")))


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clean")
    run(small_studies(), folder, full=False, jobs=1, watch=Silent())
    return folder


def test_layout_of_the_folder(clean: Path) -> None:
    made = set(comparable(clean))
    tables = {f"tables/{name}.{ending}" for name in SMALL for ending in ("csv", "md", "tex")}
    assert made == {"report.html", "verdicts.csv", "manifest.json", *tables}
    header = (clean / "verdicts.csv").read_text().splitlines()[0]
    assert header == "id,place,claim,published,simulated,exact,unit,verdict,reason,parts"
    text = (clean / "report.html").read_text()
    assert not re.search(r"(src|href)=['\"]https?:", text)


def test_the_same_whatever_the_number_of_workers(clean: Path, tmp_path: Path) -> None:
    run(small_studies(), tmp_path, full=False, jobs=2, watch=Silent())
    assert comparable(tmp_path) == comparable(clean)
    names = lambda folder: sorted(path.name for path in (folder / "results").iterdir())  # noqa: E731
    assert names(tmp_path) == names(clean)


def test_nothing_is_done_twice_and_changes_are_noticed(clean: Path) -> None:
    done: list[Job] = []

    def counting(jobs: list[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
        done.extend(jobs)
        yield from on_this_machine(1)(jobs)

    reproduce(small_studies(), Context(), Store(clean), counting, Silent(), lambda study, outcome: None)
    assert done == []
    reproduce(small_studies()[:1], Context(full=True), Store(clean), counting, Silent(), lambda study, outcome: None)
    assert done
    assert all(one.measure == "simulated" for one in done), "the exact results are the same at every size"


def test_a_damaged_result_counts_as_none(tmp_path: Path) -> None:
    store, wanted = Store(tmp_path), score_job("testbed", "efe")
    store.put(wanted, run_job(wanted))
    path = next(store.results.iterdir())
    assert store.get(wanted) is not None
    for damage in (b"", b"{", path.read_bytes()[:-20], b"[]", b"\xff\xfe"):
        path.write_bytes(damage)
        assert store.get(wanted) is None


def test_a_full_disk_leaves_no_half_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, wanted = Store(tmp_path), score_job("testbed", "efe")
    outcome = run_job(wanted)

    def full(self: Path, *_: Any, **__: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        store.put(wanted, outcome)
    monkeypatch.undo()
    assert not list(store.results.iterdir())
    assert store.get(wanted) is None


def test_two_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    store = Store(tmp_path)
    command = [sys.executable, "-m", "rhoplan", "reproduce", "agents", "--out", str(tmp_path)]
    with store.locked():
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        with pytest.raises(FolderInUse), Store(tmp_path).locked():
            pass
    assert second.returncode == 2
    assert second.stderr.strip().count("\n") == 0
    assert "another reproduction" in second.stderr
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_killed_at_random_moments_and_resumed(clean: Path, tmp_path: Path) -> None:
    """A moment is a number of results: the next run gets farther than the last, on a busy machine as well."""
    command = [sys.executable, "-m", "rhoplan", "reproduce", *SMALL, "--out", str(tmp_path), "--jobs", "2"]
    killed = 0
    # `rhoplan bench --kills N` does it more often, and with every command
    for moment in sorted(random.Random(5).sample(range(results_in(clean)), 2)):
        process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and results_in(tmp_path) < moment:
            time.sleep(0.01)
        if process.poll() is None:  # the last moments may be missed
            os.killpg(process.pid, signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    assert killed
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert comparable(tmp_path) == comparable(clean)
    assert not [path for path in tmp_path.rglob(".*") if path.name != ".lock"]


def test_a_dying_worker_takes_nothing_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [score_job("testbed", agent) for agent in ("myopic", "planning", "efe")]
    seen = {}
    executed = on_this_machine(2)(jobs)
    first, outcome = next(executed)
    seen[first] = outcome
    for child in _children(os.getpid()):
        if "loky" in child[1] and "resource_tracker" not in child[1]:
            os.kill(child[0], signal.SIGKILL)
    seen.update(dict(executed))
    assert set(seen) == set(jobs)
    assert seen[jobs[2]]["result"] == run_job(jobs[2])["result"]


def _children(parent: int) -> list[tuple[int, str]]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(fields[1]) == parent:
                    found.append((int(entry.name), (entry / "cmdline").read_text()))
            except (OSError, ValueError):
                continue
    return found


def test_jobs_on_a_dask_cluster_with_a_worker_killed(clean: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    environment = {**os.environ, "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "5"}

    def start(*command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_scheduler", *command]
            if command[0] == "--port"
            else [sys.executable, "-m", "distributed.cli.dask_worker", *command],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True, env=environment, start_new_session=True,
        )  # fmt: skip

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    address = f"tcp://127.0.0.1:{port}"
    scheduler = start("--port", str(port), "--host", "127.0.0.1", "--no-dashboard")
    workers = [
        start(
            address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--no-dashboard",
            "--host",
            "127.0.0.1",
            "--local-directory",
            str(tmp_path / f"w{i}"),
        )
        for i in range(2)
    ]
    try:
        killed = []

        def write(study: Study, outcome: Outcome) -> None:
            pass

        def execute(jobs: list[Job]) -> Iterator[tuple[Job, dict[str, Any]]]:
            for number, pair in enumerate(on_cluster(address)(jobs)):
                if number == 3:
                    os.killpg(workers[0].pid, signal.SIGKILL)
                    killed.append(number)
                yield pair

        store = Store(tmp_path / "out")
        outcomes = reproduce(small_studies(), Context(), store, execute, Silent(), write)
        assert killed
        kept = {path.name: json.loads(path.read_text())["result"] for path in store.results.iterdir()}
        mine = {path.name: json.loads(path.read_text())["result"] for path in (clean / "results").iterdir()}
        assert kept == {name: mine[name] for name in kept}
        assert set(outcomes) == set(SMALL)
    finally:
        for process in (*workers, scheduler):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_a_missing_cluster_is_one_clear_line(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="needs the extra `cluster`")
    soon = f"{import_line('parallel_module')}; parallel_module.ANSWERS_WITHIN = 1; {import_line('main')}; main()"
    command = [sys.executable, "-c", soon, "reproduce", "testbed", "--out", str(tmp_path)]
    done = subprocess.run(
        [*command, "--cluster", "tcp://127.0.0.1:1"], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 2
    assert "no Dask scheduler" in done.stderr
    assert done.stderr.strip().count("\n") == 0


def test_verdicts_follow_the_numbers() -> None:
    """Altered results give other verdicts: nothing is typed in."""
    table = published().tables["testbed"]
    context = Context()
    outcome = _built(table, context)
    verdicts = {finding.id: finding.verdict for finding in outcome.findings}
    key = "testbed/testbed-planning-ig-w=50-H=4/tests"
    assert verdicts[key] == ONLY_BITS
    scores = [
        result
        for known, result in context.known.items()
        if known.measure == "score" and known.settings["agent"] == "planning-ig"
    ]
    for result in scores:
        result["tests"] = 13.99
    assert _verdict(table, context, key) == CONFIRMED
    for result in scores:
        result["tests"] = 20.0
    assert _verdict(table, context, key) == CONTRADICTED


def _built(table: Any, context: Context) -> Outcome:
    while True:
        try:
            return build_table(context, table)
        except Pending as pending:
            context.known.update({one: run_job(one)["result"] for one in pending.jobs})


def _verdict(table: Any, context: Context, key: str) -> str:
    return next(finding.verdict for finding in _built(table, context).findings if finding.id == key)


def test_keys_depend_on_settings_and_nothing_else() -> None:
    assert job("score", problem="tiger", agent="efe") == job("score", agent="efe", problem="tiger", weight=None)
    assert score_job("tiger", "efe").key != score_job("tiger", "efe", unit="bits").key
    assert simulate_job("tiger", "efe", episodes=10).key == simulate_job("tiger", "efe", episodes=10).key


def test_tables_as_text() -> None:
    from bridge import latex, markdown

    sheet = Sheet(("a_b", "x: exact, w per bit", "x: exact, w per nat"), (("50%", "1 ± 2", "|"),), ("note",))
    assert markdown(sheet).splitlines()[2] == "| 50% | 1 ± 2 | / |"
    assert r"a\_b" in latex(sheet)
    assert r"50\% & 1 $\pm$ 2" in latex(sheet)
    assert sheet.in_unit("nats").headings == ("a_b", "x: exact, w per nat")
    with pytest.raises(ValueError, match="no verdict"):
        Finding("", "", "", "", "", "", "", "fine", "")
    assert cell("testbed", "reward", agent="efe").value == 0.39
