"""Faults that can be put into the library, for mutation testing: the tests must notice each (`trying`).

A fault is a comparison turned round or moved by a hair, a sign or an operator changed, a number moved, a condition
negated, a function taken for its opposite, a call left out. They are drawn by seed, as many from each area of the
library, whatever its size.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

AREAS: dict[str, tuple[str, ...]] = {
    "core": ("belief_math", "model", "graph", "work"), "planning": ("planning",), "agents": ("agents", "gym"),
    "evaluation": ("evaluation",), "io": ("io",), "advice": ("advice",), "serve": ("app/serve",),
}  # fmt: skip
"""Areas of the library, and their folders."""


@dataclass(frozen=True)
class Mutant:
    """A fault: in which file, function and line, and what the line was and becomes.

    is_kernel: whether it stands in what numba compiles.
    """

    file: str
    function: str
    line: int
    before: str
    after: str
    is_kernel: bool

    @property
    def area(self) -> str:
        return next(
            area for area, rooms in AREAS.items() if any(self.file.startswith(f"src/rhoplan/{room}/") for room in rooms)
        )

    @property
    def id(self) -> tuple[str, str, str, str]:
        """What tells it from others, wherever its line has moved to."""
        return self.file, self.function, self.before, self.after

    def text(self, root: Path) -> str:
        """The text of the whole file with the fault."""
        lines = (root / self.file).read_text(encoding="utf-8").splitlines(keepends=True)
        lines[self.line - 1] = lines[self.line - 1].replace(self.before, self.after)
        return "".join(lines)

    def parses(self, root: Path) -> bool:
        """Whether it is Python still."""
        try:
            ast.parse(self.text(root))
        except (SyntaxError, ValueError):
            return False
        return True


COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}  # fmt: skip
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.MatMult: ast.Mult,
}  # fmt: skip
CALLED = {
    one: other
    for pair in (
        ("min", "max"), ("any", "all"), ("argmax", "argmin"), ("startswith", "endswith"), ("lower", "upper"),
        ("partition", "rpartition"), ("floor", "ceil"), ("minimum", "maximum"), ("union", "intersection"),
    )
    for one, other in (pair, pair[::-1])
}  # fmt: skip
HAIR = 1e-9
"""What a comparison with 0.0 is moved by."""


def changes(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """The faults that can be put at `node`: what is replaced, and by what text."""
    match node:
        case ast.Compare(left=left, ops=operators, comparators=others):
            for place, operator in enumerate(operators):
                for other in COMPARED.get(type(operator), ()):
                    changed = [*operators[:place], other(), *operators[place + 1 :]]
                    yield node, f"({ast.unparse(ast.Compare(left, changed, others))})"
            for constant in others:
                if isinstance(constant, ast.Constant) and repr(constant.value) == "0.0":
                    yield constant, repr(HAIR)
        case ast.BinOp(left, operator, right) if found := COMPUTED.get(type(operator)):
            yield node, f"({ast.unparse(ast.BinOp(left, found(), right))})"
        case ast.AugAssign(target, operator, value) if found := COMPUTED.get(type(operator)):
            yield node, ast.unparse(ast.AugAssign(target, found(), value))
        case ast.BoolOp(op=joined, values=values):
            yield node, f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(joined, ast.And) else ast.And(), values))})"
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            if isinstance(test, ast.Compare | ast.UnaryOp):  # these are changed themselves
                return
            yield test, f"(not ({ast.unparse(test)}))"
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield node, repr(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, repr(value + 1)
        case ast.Call(func=ast.Name(id=name) as called) if name in CALLED:
            yield called, CALLED[name]
        case ast.Call(func=ast.Attribute(value=whose, attr=name) as called) if name in CALLED:
            yield called, f"{ast.unparse(whose)}.{CALLED[name]}"
        case ast.Expr(value=ast.Call()):
            yield node, "None"


def mutants_of(root: Path, file: str) -> Iterator[Mutant]:
    """Every fault that can be put into a file; types, docstrings and texts of errors are left alone."""
    source = (root / file).read_text(encoding="utf-8")
    lines, tree = source.splitlines(keepends=True), ast.parse(source)
    has_kernels = any(_is_kernel(node) for node in ast.walk(tree))
    for function, in_kernel, node in _inside(tree, "", False):
        for place, put in changes(node):
            if not isinstance(place, ast.expr | ast.stmt) or place.lineno != place.end_lineno:
                continue
            line = lines[place.lineno - 1]
            after = line.encode()[: place.col_offset].decode() + put + line.encode()[place.end_col_offset :].decode()
            if after != line:
                is_kernel = in_kernel or (not function and has_kernels)
                yield Mutant(file, function, place.lineno, line.strip(), after.strip(), is_kernel)


def _inside(node: ast.AST, function: str, in_kernel: bool) -> Iterator[tuple[str, bool, ast.AST]]:
    """Nodes that do something, with the function they stand in (empty: the module) and whether that is compiled."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr | ast.Assert):
                continue
            if isinstance(child, ast.If) and getattr(child.test, "id", "") == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.keyword) and child.arg == "strict":  # zip's own check of what is so anyway
                continue
            inner, compiled = function, in_kernel
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner, compiled = f"{function}.{child.name}".lstrip("."), in_kernel or _is_kernel(child)
            yield inner, compiled, child
            yield from _inside(child, inner, compiled)


def _is_kernel(node: ast.AST) -> bool:
    """Whether a function is made machine code (see `rhoplan.planning.machine`)."""
    return isinstance(node, ast.FunctionDef) and any(
        ast.unparse(decorator).startswith("compiled") for decorator in node.decorator_list
    )


def drawn(root: Path, areas: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """So many faults in all, as many from each area, by seed; most stay the same when the library changes a little."""
    found: list[list[Mutant]] = []
    for place, area in enumerate(areas):
        folders = (root / "src" / "rhoplan" / room for room in AREAS[area])
        paths = sorted(chain.from_iterable(folder.rglob("*.py") for folder in folders))
        every = {one.id: one for path in paths for one in mutants_of(root, path.relative_to(root).as_posix())}
        share = count // len(areas) + (place < count % len(areas))
        order = sorted(every.values(), key=lambda one: sha256(repr((seed, one.id)).encode()).digest())
        found.append(list(islice((one for one in order if one.parses(root)), share)))
    return list(chain.from_iterable(found))
