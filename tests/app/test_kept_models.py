"""Uploaded models that are kept in memory: who is used stays, the longest unused go."""

from __future__ import annotations

from rhoplan.app.serve.sources import Library, Source


def test_a_model_that_is_found_counts_as_used_unless_one_says_otherwise() -> None:
    now = [0.0]
    library = Library(most=2, most_bytes=1000, expiry=10.0, clock=lambda: now[0])
    for name in ("first", "second"):
        library.keep(Source(name, "text"))
    now[0] = 6.0
    assert library.find("first") is not None
    assert library.find("second", use=False) is not None
    now[0] = 10.0
    assert library.find("second", use=False) is not None, "as long as it says"
    now[0] = 11.0
    assert [row["name"] for row in library.listed()] == ["first"]
    assert library.listed()[0]["expires_in"] == 5
    library.keep(Source("third", "text"))
    library.find("first")
    library.keep(Source("fourth", "text"))
    assert [row["name"] for row in library.listed()] == ["first", "fourth"]
