"""The server under load: clients step through cases at the same time and nobody is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("uvicorn", reason="the server is an extra")

from rhoplan_bench.load import serve_rows


def test_clients_step_through_cases_side_by_side():
    *promises, row, beside = serve_rows(clients=12, cases=2)
    assert [one["detail"] for one in promises] == ["", "", ""]
    assert row["errors"] == beside["errors"] == 0
    assert row["cases"] == 24
    assert row["replies"] > row["cases"]
    assert "step through 2 cases each" in row["what"]
