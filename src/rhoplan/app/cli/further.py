"""Entry points that installed distributions declare, read from the files that installers write.

`importlib.metadata` tells the same and more; importing it takes longer than all else that `rhoplan --help` does.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator


def declared(group: str, folders: Iterable[str]) -> dict[str, str]:
    """The entry points of `group` in distributions installed in `folders`: `module:attribute` by name.

    Of two with one name the first folder's counts. Not covered: distributions inside archives.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(folders):
        for name, where in _lines(group, folder or os.curdir):
            found.setdefault(name, where)
    return found


def _lines(group: str, folder: str) -> Iterator[tuple[str, str]]:
    try:
        inside = sorted(os.listdir(folder))
    except OSError:
        return
    for name in inside:
        if not name.endswith((".dist-info", ".egg-info")):
            continue
        try:
            with open(os.path.join(folder, name, "entry_points.txt"), encoding="utf-8") as file:
                text = file.read()
        except OSError:
            continue
        section = ""
        for line in map(str.strip, text.splitlines() if group in text else ()):
            if line.startswith("["):
                section = line.strip("[]").strip()
            elif section == group and "=" in line and not line.startswith(("#", ";")):
                word, _, where = line.partition("=")
                yield word.strip(), where.partition("[")[0].strip()
