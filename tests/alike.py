"""Records that say the same."""

from __future__ import annotations

from typing import Any

import pytest


def close(one: Any, other: Any, where: str = "") -> None:
    """Two records with the same words and, but for rounding, the same numbers."""
    assert type(one) is type(other), where
    if isinstance(one, dict):
        assert one.keys() == other.keys(), where
        for key in one:
            close(one[key], other[key], f"{where}.{key}")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            close(mine, theirs, f"{where}.{place}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-9, nan_ok=True), where
    else:
        assert one == other, where
