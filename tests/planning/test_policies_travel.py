"""Policies go to other processes, which simulate with them."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import rhoplan
from bridge import _guarded
from bridge import solve_bounds as solve

WAYS: list[tuple[str, dict[str, Any]]] = [
    ("tiger", {"method": "points"}),
    ("tiger", {"horizon": 3}),
    ("tiger", {"method": "many"}),
    ("rocksample:n=3,k=1", {"method": "grids"}),
    ("rocksample:n=3,k=1", {"method": "points"}),
    ("rocksample:n=3,k=2", {"method": "errands"}),
]


@pytest.mark.parametrize(("spec", "asked"), WAYS)
def test_a_policy_is_the_same_on_the_other_side(spec: str, asked: dict[str, Any]) -> None:
    policy = solve(rhoplan.make(spec), gap=0.5, **asked).policy
    assert policy is not None
    start = policy.origin.belief()
    there = pickle.loads(pickle.dumps(policy))
    assert there.action(start) == policy.action(start)
    assert there.value(start) == policy.value(start)


def test_jobs_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = str(tmp_path / "tiger.policy")
    assert _guarded(["solve", "tiger", "--method", "points", "--save", policy, "--json"]) == 0
    capsys.readouterr()
    found = []
    for jobs in ("1", "2"):
        asked = ["simulate", "tiger", "--agent", f"solved:{policy}", "--seeds", "1,2", "--episodes", "20"]
        assert _guarded([*asked, "--jobs", jobs, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
