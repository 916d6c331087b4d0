"""rhoplan plans what to observe, when to stop and what to commit to, and says exactly how good that plan is.

    >>> import rhoplan
    >>> tiger = rhoplan.make("tiger")
    >>> efe = rhoplan.make_agent("efe", tiger)
    >>> rhoplan.decide(tiger, efe).choice
    'listen'
    >>> round(rhoplan.evaluate(tiger, efe).reward, 4)
    5.1599

The public names are those of `__init__.pyi`. They are loaded when first used, so that importing rhoplan, or asking the
command line for help, does not wait for the engine.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

from rhoplan.version import __version__

_PUBLIC = ast.parse(Path(__file__).with_name("__init__.pyi").read_text(encoding="utf-8")).body
_HOMES = {name.name: found.module for found in _PUBLIC if isinstance(found, ast.ImportFrom) for name in found.names}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'rhoplan' has no attribute '{name}'")
    value = getattr(import_module(str(_HOMES[name])), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
