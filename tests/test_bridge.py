"""The tests that outlive a rename reach internal names through the bridge only, and each line of its table is right."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

import pytest

import bridge
import rhoplan
from bridge import NAMES, import_line, path_of

PROJECT = Path(__file__).resolve().parents[1]

PUBLIC = {
    "rhoplan": {*rhoplan.__all__},
    "rhoplan.gym": {"ProblemEnv", "make_env"},
}
"""What may be imported directly, by module. Everything else in rhoplan and rhoplan_paper is internal."""

INTERNAL = re.compile(r"(?:(?:from|import) +|^)(rhoplan(?:_paper)?\.\w+(?:[.:]\w+)*)")
"""A dotted name in a text that may be a path to patch, a module to import or a statement to run."""

FILES = """
tests/advice: test_chain test_margin
tests/adversary: __init__ __main__ advice case crowd engine examine files flips freeze ledger oracle plain scores
tests/app: test_attacks test_axe test_case_start test_cli test_form_page test_hands test_key_page test_learn_api
tests/app: test_learn_page test_page test_promised test_serve test_target_app test_uncertain_app
tests/following: test_worlds
tests/io: test_general_file test_model_file test_pomdp_grammar test_quoted_file test_subtypes_file test_uncertain_file
tests/learning: drawn test_bad_tables
tests/model: test_check test_diagnoses test_panels test_rules
tests/planning: test_bounds_everywhere test_errand_check test_free_circles test_horizon test_policies_travel
tests/planning: test_resting_sets test_solve
tests/problems: test_factored_problems test_factored_toy test_worked_models
tests/present: test_signed
tests/scoring: test_episodes test_plain_episodes test_plain_following test_plain_score
tests: alike halfway oracle parted seeming serving small strategies unsure weak
tests: test_adversary test_against_oracle test_arrays test_docs test_docs_notebooks test_drn_files test_extras
tests: test_fields test_given test_gym test_laws test_pomdp_files test_pomdpx_files test_pymdp
paper/tests: test_published test_reproduction
"""


def listed() -> list[str]:
    rows = [line.split(": ") for line in FILES.strip().splitlines()]
    return [f"{folder}/{name}.py" for folder, names in rows for name in names.split()]


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def is_internal(dotted: str) -> bool:
    """Whether the name exists in rhoplan, or names a module there, and is not public."""
    parts = re.split("[.:]", dotted)
    if dotted in PUBLIC or any(dotted == f"{module}.{name}" for module, names in PUBLIC.items() for name in names):
        return False
    source = PROJECT / ("paper/src" if parts[0] == "rhoplan_paper" else "src") / parts[0] / parts[1]
    return source.is_dir() or source.with_suffix(".py").exists()


def internal_names(tree: ast.Module) -> Iterator[str]:
    """Internal names that a file imports, reads from `rhoplan`, or writes in a text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if "." in name.name and is_internal(name.name))
            yield from (name.name for name in node.names if name.name == "rhoplan_paper")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("rhoplan", "rhoplan_paper"):
            allowed = PUBLIC.get(str(node.module), set())
            yield from (f"{node.module}.{name.name}" for name in node.names if name.name not in allowed)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            if getattr(node.value.value, "id", "") == "rhoplan" and is_internal(ast.unparse(node)):
                yield ast.unparse(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from filter(is_internal, INTERNAL.findall(node.value))


def names_used(tree: ast.Module) -> Iterator[str]:
    """What a file takes from the bridge."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "bridge":
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("path_of", "import_line", "__getattr__"):
            yield from (word.value for word in node.args if isinstance(word, ast.Constant))
        elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "NAMES":
            yield from (word.value for word in [node.slice] if isinstance(word, ast.Constant))


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found(name: str) -> None:
    try:
        getattr(bridge, name)
    except (rhoplan.MissingExtra, ModuleNotFoundError) as missing:
        pytest.skip(str(missing))


def test_no_name_is_unused_or_public() -> None:
    used = {name for file in [*listed(), "tests/bridge.py"] for name in names_used(tree_of(PROJECT / file))}
    assert not NAMES.keys() - used
    assert not NAMES.keys() & {*rhoplan.__all__}


@pytest.mark.parametrize("file", listed())
def test_internal_names_come_through_the_bridge(file: str) -> None:
    assert not list(internal_names(tree_of(PROJECT / file)))


@pytest.mark.parametrize(
    "text",
    [
        "from rhoplan._old.graph import Graph",
        "from rhoplan import graph",
        "from rhoplan.gym import VISIBLE_LIMIT",
        "from rhoplan_paper.study import Study",
        "def f():\n    import rhoplan.app.cli.common as common",
        "rhoplan._old.exact.Plan(graph)",
        "monkeypatch.setattr('rhoplan._old.graph.choose', last)",
        "code = 'import sys; from rhoplan.advice.chain import append'",
        "adds(zebra='rhoplan.app.cli.show:list_command')",
    ],
)
def test_an_internal_name_is_noticed(text: str) -> None:
    assert list(internal_names(ast.parse(text)))


@pytest.mark.parametrize(
    "text",
    ["import rhoplan", "from rhoplan import POMDP, learn", "import rhoplan.gym", "from rhoplan.gym import make_env"],
)
def test_a_public_name_is_allowed(text: str) -> None:
    assert not list(internal_names(ast.parse(text)))


def test_a_line_that_is_wrong_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("rhoplan.nowhere:Graph", "rhoplan.graph.nowhere:Graph", "rhoplan._old.graph:Nothing"):
        monkeypatch.setitem(NAMES, "Graph", target)
        with pytest.raises(ImportError, match=f"'{target}' does not exist: correct the line of 'Graph'"):
            _ = bridge.Graph
    with pytest.raises(AttributeError, match="no name 'Nothing'"):
        _ = bridge.Nothing


def test_a_missing_package_is_not_taken_for_a_wrong_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "has_needs.py").write_text("import package_that_is_not_there")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(NAMES, "Graph", "has_needs:Graph")
    with pytest.raises(ModuleNotFoundError) as caught:
        _ = bridge.Graph
    assert caught.value.name == "package_that_is_not_there"


@pytest.mark.parametrize("name", ["Graph", "parallel_module"])
def test_paths_and_statements_name_the_same_object(name: str) -> None:
    scope: dict[str, object] = {}
    exec(import_line(name), scope)
    assert scope[name] is getattr(bridge, name)
    assert resolve_name(path_of(name)) is getattr(bridge, name)
