"""Buffers of modules, by the syntax alone: which of them never change after construction, and where those are read."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from ddelint.sources.source import SourceFile

_LISTS = "tolist"
_NUMBERS = frozenset(("item", "__bool__", "__int__", "__float__"))
_CASTS = frozenset(("int", "float", "bool"))


@dataclass(frozen=True, slots=True)
class ConstantBuffer:
    """`self.NAME` of one class."""

    name: str
    made: ast.stmt
    """The statement of the constructor that makes it."""
    saved: bool
    """Whether it is part of the state dict: loading one may change it."""


@dataclass(frozen=True, slots=True)
class Read:
    """An expression whose value is known once the module is constructed."""

    buffer: ConstantBuffer
    node: ast.expr
    """What a Python constant can stand for."""
    listed: bool
    """Whether all values are wanted, as `tolist()` gives them, not the one."""
    index: ast.expr | None = None
    """Which of the values (`self.sizes[i].item()`)."""


def constant_reads(source: SourceFile, node: ast.AST) -> list[Read]:
    """The reads of constant buffers in an expression, outermost first; [] where it reads none."""
    return [read for inner in ast.walk(node) if (read := _read(source, inner)) is not None]


def is_buffer(source: SourceFile, node: ast.AST, text: str) -> bool:
    """Whether `text` is `self.NAME` of a buffer that the class around `node` registers."""
    around = next((parent for parent in source.ancestors(node) if isinstance(parent, ast.ClassDef)), None)
    name = text.removeprefix("self.")
    if around is None or name == text:
        return False
    return any(_made(statement, name) is not None for statement in ast.walk(around) if isinstance(statement, ast.Expr))


def made_of_constants(source: SourceFile, node: ast.AST | None) -> bool:
    """Whether what an expression gives hangs on constant buffers alone."""
    if node is None:
        return False
    reads = constant_reads(source, node)
    if not reads:
        return False
    known = {inner for read in reads for inner in ast.walk(read.node)}
    others = [n for n in ast.walk(node) if isinstance(n, (ast.Name, ast.Attribute, ast.Call)) and n not in known]
    return all((isinstance(n, ast.Name) and hasattr(builtins, n.id)) or _is_cast(n) for n in others)


def _is_cast(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CASTS


def _read(source: SourceFile, node: ast.AST) -> Read | None:
    """The read that begins at `self.NAME` of a constant buffer."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()):
            buffer = _buffer(source, node, name)
        case _:
            return None
    if buffer is None:
        return None
    taken: ast.expr = node
    index: ast.expr | None = None
    parent = source.parents.get(taken)
    if isinstance(parent, ast.Subscript) and parent.value is taken and _is_plain(parent.slice):
        taken, index = parent, parent.slice
        parent = source.parents.get(taken)
    if isinstance(parent, ast.Attribute) and isinstance(call := source.parents.get(parent), ast.Call):
        if parent.attr == _LISTS and index is None:
            return Read(buffer, call, listed=True)
        return Read(buffer, call, False, index) if parent.attr in _NUMBERS else None
    if (parent is not None and _is_cast(parent)) or _is_tested(source, taken):
        return Read(buffer, taken, False, index)
    return None


def _is_plain(index: ast.expr) -> bool:
    """Whether an index picks one value of a one-dimensional tensor, as it would of a list."""
    return isinstance(index, (ast.Constant, ast.Name, ast.UnaryOp, ast.BinOp))


def _is_tested(source: SourceFile, node: ast.expr) -> bool:
    """Whether the truth of `node` is asked for, alone or within a condition."""
    child: ast.AST = node
    for parent in source.ancestors(node):
        match parent:
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
                return test is child
            case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Compare():
                child = parent
            case _:
                return False
    return False


def _buffer(source: SourceFile, node: ast.AST, name: str) -> ConstantBuffer | None:
    """`self.name` as the class around `node` makes it; None where it isn't one, or is written elsewhere."""
    chain = list(source.ancestors(node))
    around = next((parent for parent in chain if isinstance(parent, ast.ClassDef)), None)
    function = next((parent for parent in chain if isinstance(parent, ast.FunctionDef)), None)
    if around is None or function is None or function.name == "__init__":
        return None
    constructor = next((s for s in around.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"), None)
    if constructor is None:
        return None
    made = [(s, saved) for s in constructor.body if (saved := _made(s, name)) is not None]
    if len(made) != 1 or _writes(source.tree, name) != _writes(made[0][0], name):
        return None
    return ConstantBuffer(name, *made[0])


def _made(statement: ast.stmt, name: str) -> bool | None:
    """Whether a statement makes a buffer called `name` that is saved; None where it makes none."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer")) as call):
            first = call.args[0] if call.args else None
            if not (isinstance(first, ast.Constant) and first.value == name):
                return None
            given = [*call.args[2:3], *(k.value for k in call.keywords if k.arg == "persistent")]
            return not (given and isinstance(given[0], ast.Constant) and given[0].value is False)
        case ast.Assign(
            targets=[ast.Attribute(value=ast.Name(id="self"), attr=target)],
            value=ast.Call(func=ast.Attribute(value=ast.Name(id="torch"))),
        ) if target == name:
            return False
    return None


def _writes(tree: ast.AST, name: str) -> int:
    """How often something called `name` is written, as an attribute of whatever."""
    return sum(1 for node in ast.walk(tree) for _ in _written(node, name))


def _written(node: ast.AST, name: str) -> Iterator[ast.AST]:
    match node:
        case ast.Attribute(attr=attr, ctx=ast.Store() | ast.Del()) if attr == name:
            yield node
        case ast.Subscript(value=ast.Attribute(attr=attr), ctx=ast.Store() | ast.Del()) if attr == name:
            yield node
        case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=attr), attr=method)) if attr == name:
            if method.endswith("_") and not method.endswith("__"):
                yield node
        case ast.Call(func=ast.Attribute(attr="register_buffer" | "register_parameter"), args=[ast.Constant(), *_]):
            if isinstance(node.args[0], ast.Constant) and node.args[0].value == name:
                yield node
        case ast.keyword(arg="out", value=ast.Attribute(attr=attr)) if attr == name:
            yield node
