"""Runs the notebooks of the documentation and keeps what they show.

    python docs/notebooks.py [NAME.ipynb ...]

A notebook is read, its cells are run in order in one namespace, and what each shows is written back: what was printed,
and the last expression as text, HTML and picture, as a notebook would show it. A test compares the text with what is
committed. It needs no Jupyter; people who have it open the same files.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with what its cells show now."""
    scope: dict[str, Any] = {"__name__": "notebook"}
    cells, count = [], 0
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in notebook["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    shown = shown_by("".join(cell["source"]), scope)
                    cell = {**cell, "execution_count": count, "outputs": outputs(shown, count)}
                cells.append(cell)
        finally:
            os.chdir(home)
    return {**notebook, "cells": cells}


def shown_by(code: str, scope: dict[str, Any]) -> tuple[str, Any]:
    """What `code` prints, and the value of its last line where that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), scope)
    return printed.getvalue(), value


def outputs(shown: tuple[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell showed, as a notebook file has it."""
    printed, value = shown
    found: list[dict[str, Any]] = []
    if printed:
        found.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        if hasattr(value, "_repr_png_"):
            data["image/png"] = base64.b64encode(value._repr_png_()).decode()
        found.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return found


def said(notebook: dict[str, Any]) -> list[str]:
    """The text that each code cell shows; pictures are left out, whose bytes depend on fonts and versions."""
    told = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            parts = ["".join(one.get("text", one.get("data", {}).get("text/plain", ""))) for one in cell["outputs"]]
            told.append("".join(part for part in parts if not part.startswith("a picture of ")))
    return told


def main(names: list[str]) -> None:
    """Run the notebooks named, all without names, and write them back."""
    for path in [FOLDER / name for name in names] or NOTEBOOKS:
        found = run(json.loads(path.read_text(encoding="utf-8")))
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
