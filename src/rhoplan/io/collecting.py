"""Reading without pauses: what a file is made into comes in many small pieces, and none of them is rubbish yet."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def nothing_collected() -> Iterator[None]:
    """Keeps Python from looking through all objects again and again for circles of them that nobody needs.

    It does so whenever many were made; while a file is read that takes up to half of the time and finds nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
