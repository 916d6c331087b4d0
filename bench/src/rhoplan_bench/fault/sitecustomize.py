"""Puts a fault into a file of the library as it is imported; the file itself is not touched.

Python imports a module of this name when it starts. While a fault is tried this folder stands on the path of modules,
so that processes which a test starts have the fault too.
"""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

FILE, TEXT = "RHOPLAN_FAULT_FILE", "RHOPLAN_FAULT_TEXT"
"""Environment: the file that has the fault, and where its text with the fault is."""


def put_in() -> None:
    """From now on, importing the file reads the text with the fault."""
    file, text = os.environ.get(FILE), os.environ.get(TEXT)
    if not file or not text:
        return
    plain = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, name: str) -> CodeType | None:
        if os.path.realpath(self.path) == file:
            return compile(Path(text).read_bytes(), self.path, "exec", dont_inherit=True)
        return plain(self, name)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]


put_in()
