"""The folder of a reproduction: results of jobs beside what is made of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rhoplan.work import store
from rhoplan.work.store import FolderInUse

__all__ = ["FolderInUse", "Store"]


class Store(store.Store):
    """Results of jobs under `folder`/results; the folder is the reproduction's own."""

    what, option = "reproduction", "--out"

    @contextmanager
    def locked(self) -> Iterator[None]:
        with super().locked():
            self.sweep(self.folder)
            yield
