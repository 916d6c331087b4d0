"""A digest of the code that determines results: a saved result is valid as long as the digest is the same."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

SHOWS = ("advice", "app", "present", "gym.py")
"""Packages and modules of rhoplan that present results; all others determine them."""


@cache
def fingerprint(more: tuple[Path, ...] = ()) -> str:
    """A digest of rhoplan's code that determines results, and of the files `more`."""
    library = Path(str(files("rhoplan")))
    engine = [path for path in library.rglob("*.py") if path.relative_to(library).parts[0] not in SHOWS]
    digest = hashlib.sha256()
    for path in sorted([*engine, *more]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
