"""The paper beside the library: small modules, no circle among them, and a library that knows nothing of them."""

from __future__ import annotations

import ast
import json
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import rhoplan
import rhoplan_bench
import rhoplan_paper
from rhoplan_paper import registry, verdicts, words
from rhoplan_paper.claims import checking, numbers
from rhoplan_paper.context import Context
from rhoplan_paper.published import published
from rhoplan_paper.study import Found

ROOTS = [Path(str(package.__file__)).parent for package in (rhoplan_paper, rhoplan_bench)]
MODULES = [path for root in ROOTS for path in sorted(root.rglob("*.py"))]
README = Path(__file__).resolve().parents[1] / "README.md"


def imported(path: Path, *, lazy: bool) -> set[str]:
    """Modules that a file imports: at its top level, or (lazy) anywhere; not those for type checking only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if lazy else tree.body
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: "/".join(path.parts[-2:]))
def test_module_says_what_it_is_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert len(text.splitlines()) <= 400


@pytest.mark.parametrize("root", ROOTS, ids=lambda root: root.name)
def test_no_circle_among_modules(root: Path) -> None:
    names = {".".join((root.name, *path.relative_to(root).with_suffix("").parts)): path for path in root.rglob("*.py")}
    graph = {name: imported(path, lazy=False) & set(names) - {name} for name, path in names.items()}
    assert list(TopologicalSorter(graph).static_order())


def test_the_library_knows_neither_the_paper_nor_the_benchmark() -> None:
    for path in Path(str(rhoplan.__file__)).parent.rglob("*.py"):
        if not re.search("rhoplan_(paper|bench)", path.read_text(encoding="utf-8")):
            continue
        outside = {name for name in imported(path, lazy=True) if name.startswith(("rhoplan_paper", "rhoplan_bench"))}
        assert not outside, path


def test_no_module_tells_who_wrote_it_when() -> None:
    assert not [path for path in MODULES if re.search(r"_(later|more|new|old|\d)$", path.stem)]


def test_the_recipe_for_a_claim_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's function and sentences, under the id of a claim that there is, on results made up for it."""
    text = README.read_text(encoding="utf-8").replace("the-id-in-published-json", "tiger-parity")
    code, sentences = (re.search(rf"```{kind}\n(.*?)```", text, flags=re.DOTALL) for kind in ("python", "json"))
    assert code
    assert sentences
    told = json.loads(sentences[1])
    monkeypatch.setattr(registry, "reasons", lambda: told)
    shelf: registry.Registry[registry.Check] = registry.Registry("claim")
    monkeypatch.setattr(registry, "CLAIMS", shelf)
    scope = {
        **vars(checking),
        **vars(numbers),
        **vars(verdicts),
        **vars(words),
        "claim": registry.claim,
        "Context": Context,
        "Found": Found,
    }
    exec(code[1], scope)

    class Told(Context):
        def results(self, jobs):  # type: ignore[no-untyped-def]
            return [{"reward": 2.0, "tests": 4.0, "success": 1.0} for _ in jobs]

    finding = shelf.every()["tiger-parity"](Told())
    assert finding.verdict == "holds in part"
    assert [part.holds for part in finding.parts] == ["yes", "no"]
    assert finding.claim == published().claims["tiger-parity"].gist
    assert finding.reason == "EFE is +0.00 ahead in bits."
