"""The server under load: clients step through cases at the same time and nobody is refused."""

from __future__ import annotations

import pytest

pytest.importorskip("uvicorn", reason="the server is an extra")

from rhoplan_bench.load import serve_rows


def test_clients_step_through_cases_side_by_side():
    (row,) = serve_rows(seconds=6, clients=12)
    assert row["errors"] == 0
    assert row["replies"] >= row["cases"] >= 12, "every client was served, however busy the machine"
