"""Reads that wait for a device: of tensors that the function itself puts there. Anything else may be on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.program.regions import FileIndex


def syncs(index: FileIndex, assume_compiled: bool) -> Iterator[ast.expr]:
    """Each read in a compiled function of the file, in no order."""
    if not _names_a_device(index.source.text):
        return
    for root in index.roots(assume_compiled):
        if isinstance(root.node, FunctionNode) and _names_a_device(index.text_of(root.node)):
            yield from _of_function(index, root.node)


def _names_a_device(text: str) -> bool:
    ways = ('"{}', "'{}", ".{}(")
    named = [name for name in operators().regions["accelerators"] if name in text]
    return any(way.format(name) in text for name in named for way in ways)


def _of_function(index: FileIndex, function: FunctionNode) -> Iterator[ast.expr]:
    placed = _placed_names(function)
    reads = operators().regions["device_reads"]
    for node in descend(function):
        subject: ast.expr | None = None
        match node:
            case ast.Call(func=ast.Attribute(value=value, attr=method)) if operators().returns.get(method) in reads:
                subject = node.args[0] if index.dotted(value) and node.args else value
            case ast.Subscript(value=value, slice=ast.Compare() | ast.UnaryOp(op=ast.Invert())):
                subject = value
        if subject is not None and _is_on_device(subject, placed) and not _asked_in_eager(index, node):
            assert isinstance(node, ast.expr)
            yield node


def _placed_names(function: FunctionNode) -> set[str]:
    """Names that are bound once, to a tensor on a device."""
    bound: dict[str, list[ast.expr | None]] = {}
    for node in descend(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                bound.setdefault(name, []).append(value)
            case ast.arg(arg=name):
                bound.setdefault(name, []).append(None)
    # every other way to bind a name makes it a name of which nothing is known
    stores: dict[str, int] = {}
    for node in descend(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            stores[node.id] = stores.get(node.id, 0) + 1
    once = {name: values[0] for name, values in bound.items() if len(values) == 1 and stores.get(name) == 1}
    placed: set[str] = set()
    for _ in once:
        more = {name for name, value in once.items() if value is not None and _is_on_device(value, placed)}
        if more == placed:
            break
        placed = more
    return placed


def _is_on_device(node: ast.expr, placed: set[str]) -> bool:
    waiting = [node]
    while waiting:
        match waiting.pop():
            case ast.Name(id=name):
                if name in placed:
                    return True
            case ast.Call(func=ast.Attribute(value=value, attr=method)) as call:
                if _moved_to_device(call, method):
                    return True
                waiting += _computed_from(call, value, method)
            case ast.Subscript(value=value) | ast.UnaryOp(operand=value):
                waiting.append(value)
            case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
                waiting += [left, right]
    return False


def _devices(call: ast.Call, method: str) -> list[ast.expr]:
    """What a call names as the device of its result."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "device"]
    return named + (call.args[:1] if method == "to" else [])


def _moved_to_device(call: ast.Call, method: str) -> bool:
    return method in operators().regions["accelerators"] or any(map(_names_accelerator, _devices(call, method)))


def _computed_from(call: ast.Call, receiver: ast.expr, method: str) -> list[ast.expr]:
    """What decides by its own device where the result of a call is."""
    leaves = method in operators().regions["device_leaving"] or operators().returns.get(method) is None
    return [] if leaves or _devices(call, method) else [receiver, *call.args[:1]]


def _names_accelerator(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str(text)):
            return text.split(":")[0] in operators().regions["accelerators"]
        case ast.Call(func=func, args=[first, *_]) if terminal_name(func) == "device":
            return _names_accelerator(first)
    return False


def _asked_in_eager(index: FileIndex, node: ast.AST) -> bool:
    """Whether the read stands under a test for being compiled: what it does there is the author's choice."""
    known = operators().while_compiling
    tests = [p.test for p in index.source.ancestors(node) if isinstance(p, (ast.If, ast.IfExp))]
    return any(terminal_name(inner.func) in known for t in tests for inner in descend(t) if isinstance(inner, ast.Call))
