"""Which of the names that a site asks about could be texts: those that Python doesn't put in order or compute with."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection

from ddelint.rewrite.reading.kinds import is_torch
from ddelint.sources.sites import Site

_ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def takes_texts(site: Site, asked: Collection[str]) -> frozenset[str]:
    """The asked names, and the parameters that they are read from alone (`row = int(text)`), but those that are put in
    order (`n > 3`), computed with, or compared with texts that are written down: a run gave a text for these."""
    test = getattr(site.statement, "test", None) or site.node
    left_out = {name for node in ast.walk(test) for name in _never(node)}
    found, waiting = set(asked) - left_out, list(set(asked) - left_out)
    while waiting and site.function is not None:
        name = waiting.pop()
        for node in ast.walk(site.function):
            value = _put(node, name)
            names = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)} if value is not None else set()
            read = names - _called(value) - {"self"}
            if len(read) == 1 and not read <= found:
                found |= read
                waiting += read
    return frozenset(found)


def asked_as_python_does(site: Site, names: Collection[str]) -> frozenset[str]:
    """Those of some names that Python itself asks: by a function of its own (`int(row)`), for their truth, or by `==`
    and `in`. A tensor answers that, and so does nearly everything else."""
    test = getattr(site.statement, "test", None) or site.node
    found = {node.id for part in ast.walk(test) for node in _asked(part) if isinstance(node, ast.Name)}
    return frozenset(names) & (found | ({test.id} if isinstance(test, ast.Name) else set()))


def _asked(node: ast.AST) -> list[ast.expr]:
    match node:
        case ast.Call(func=ast.Name(id=name), args=given) if hasattr(builtins, name):
            return given
        case ast.BoolOp(values=sides):
            return sides
        case ast.UnaryOp(op=ast.Not(), operand=side):
            return [side]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
    return []


def _called(value: ast.AST | None) -> set[str]:
    """The plain names that are called in an expression."""
    calls = (part.func for part in ast.walk(value) if isinstance(part, ast.Call)) if value is not None else ()
    return {function.id for function in calls if isinstance(function, ast.Name)}


def _put(node: ast.AST, name: str) -> ast.expr | None:
    """What a statement puts under a name: a value, or what a loop goes over."""
    match node:
        case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
            return value
        case ast.For(target=ast.Name(id=found), iter=value) | ast.comprehension(target=ast.Name(id=found), iter=value):
            return value if found == name else None
    return None


def _never(node: ast.AST) -> list[str]:
    """The names that stand where no text can, or where one was given."""
    match node:
        case ast.Compare(left=left, ops=[*operators], comparators=others) if any(
            isinstance(operator, _ORDERED) for operator in operators
        ):
            return [side.id for side in (left, *others) if isinstance(side, ast.Name)]
        case ast.Compare(left=ast.Name(id=name), comparators=others) if any(map(_is_written_text, others)):
            return [name]
        case ast.BinOp(left=left, right=right):
            return [side.id for side in (left, right) if isinstance(side, ast.Name)]
        case ast.UnaryOp(op=ast.USub() | ast.Invert(), operand=ast.Name(id=name)):
            return [name]
        case ast.Call(func=function, args=given) if is_torch(function):
            return [each.id for each in given if isinstance(each, ast.Name)]
        case ast.Attribute(value=ast.Name(id=name)) | ast.Subscript(slice=ast.Name(id=name)):
            return [name]
    return []


def _is_written_text(node: ast.AST) -> bool:
    return any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(node))
