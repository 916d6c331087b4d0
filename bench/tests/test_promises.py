"""Promises about time are measured, not asserted: each has a limit and says what it is about."""

from __future__ import annotations

from rhoplan_bench.promises import promise_rows


def test_promises_name_what_is_slowest_and_have_limits():
    rows = list(promise_rows())
    assert len(rows) == 3
    assert all(row["limit"] > 0 and row["seconds"] > 0 for row in rows)
    assert all("the slowest of" in row["detail"] for row in rows[:2])
