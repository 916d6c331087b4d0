"""Learning in jobs: what was kept is not done again while it holds, and where jobs are done makes no difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from drawn import PLAN, plan_of, signal_table
from rhoplan.learning import jobs
from rhoplan.learning.cases import match
from rhoplan.learning.choices import Grid
from rhoplan.learning.folds import Splitting
from rhoplan.learning.jobs import Kept, digest, fold_of, fold_record
from rhoplan.learning.learning import learn
from rhoplan.work.store import FolderInUse

pytest.importorskip("sklearn", reason="learning comes with the extra rhoplan[learn]")

FEW = Grid((4,), (0.5,), (1,), (0.1,), (1,), (1.0,))
SETTINGS = {"folds": 2, "repeats": 1, "grid": FEW}


def test_a_stopped_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table, done, do = signal_table(60), list[int](), jobs.do_part

    def stops(*given: object) -> dict[str, object]:
        if len(done) == 1:
            raise KeyboardInterrupt
        return counting(*given)

    def counting(*given: object) -> dict[str, object]:
        done.append(given[-1].number)
        return do(*given)

    monkeypatch.setattr(jobs, "do_part", stops)
    with pytest.raises(KeyboardInterrupt):
        learn(table, plan_of(), keep=tmp_path, **SETTINGS)
    assert done == [0]
    monkeypatch.setattr(jobs, "do_part", counting)
    told = list[tuple[int, int]]()
    result = learn(table, plan_of(), keep=tmp_path, tell=lambda *counts: told.append(counts), **SETTINGS)
    assert done == [0, 1, jobs.EVERYBODY]
    assert told == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(jobs, "do_part", do)
    assert result.record == learn(table, plan_of(), **SETTINGS).record
    monkeypatch.setattr(jobs, "do_part", counting)
    learn(table, plan_of(), keep=tmp_path, seed=1, **SETTINGS)
    assert len(done) == 6, "another seed is another run"


def test_whatever_a_result_depends_on_changes_the_key() -> None:
    cases, splitting = match(signal_table(60), plan_of()), Splitting(2, 1)
    plain = digest(cases, splitting, seed=0, grid=FEW)
    dearer = match(signal_table(60), plan_of(PLAN.replace("good: {cost: 1}", "good: {cost: 2}")))
    others = [
        digest(cases, splitting, seed=1, grid=FEW),
        digest(cases, Splitting(3, 1), seed=0, grid=FEW),
        digest(cases, splitting, seed=0, grid=Grid()),
        digest(dearer, splitting, seed=0, grid=FEW),
        digest(match(signal_table(60, seed=1), plan_of()), splitting, seed=0, grid=FEW),
    ]
    assert len({plain, *others}) == 6
    assert plain == digest(match(signal_table(60), plan_of()), splitting, seed=0, grid=FEW)


def test_a_split_reads_back_to_the_last_digit() -> None:
    [fold, _] = learn(signal_table(60), plan_of(), **SETTINGS).folds
    again = fold_of(json.loads(json.dumps(fold_record(fold), sort_keys=True)))
    assert fold_record(again) == fold_record(fold)
    assert list(again.held) == list(fold.held), "policies are told in the same order, too"
    assert again.stopped.by_tests.keys() == fold.stopped.by_tests.keys()
    assert again.choice == fold.choice


def test_two_runs_cannot_share_a_folder(tmp_path: Path) -> None:
    with Kept(tmp_path / "learn").locked(), pytest.raises(FolderInUse, match="another run of learn"):
        learn(signal_table(60), plan_of(), keep=tmp_path, **SETTINGS)


def test_a_folder_to_keep_in_may_hold_other_things(tmp_path: Path) -> None:
    mine = tmp_path / ".my-settings"
    mine.write_text("precious")
    learn(signal_table(60), plan_of(), keep=tmp_path, **SETTINGS)
    assert mine.read_text() == "precious"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of a cluster within this process
def test_on_a_cluster_it_is_the_same() -> None:
    distributed = pytest.importorskip("distributed", reason="needs the extra `cluster`")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        there = learn(signal_table(60), plan_of(), cluster=cluster.scheduler_address, **SETTINGS)
    assert there.record == learn(signal_table(60), plan_of(), **SETTINGS).record
