"""Rows where there is nothing: what stands behind an emptiness test runs of zeros, whose result nobody chooses.

Unlike one element more, which only a reduction can be given, this is right for whatever comes behind the test.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import fresh_name, names_written, position
from ddelint.rewrite.writing.rewrites import Expr, Statements

_MOST_ROWS = 8
_LEAST: dict[type[ast.cmpop], int] = {ast.Eq: 1, ast.NotEq: 1, ast.Lt: 0, ast.GtE: 0, ast.LtE: 1, ast.Gt: 1}
"""What a comparison of a size with a number lets pass at least: that number, or one more."""


def rows_for_nothing(context: Context, test: ast.expr, path: Sequence[ast.AST]) -> dict[ast.AST, Any]:
    """On a path behind a test, the tensors whose rows it counts, and those of the same rows, with as many as it wants.

    Empty where the test counts no rows of a name, or the path is no run of statements.
    """
    counted = _counted(test)
    statements = [node for node in path if isinstance(node, ast.stmt)]
    if counted is None or not statements or len(statements) < len(path):
        return {}
    name, rows = counted
    names = [one for one in _of_the_same_rows(context, name) if _is_read(statements, one)]
    if name not in names:
        return {}
    lines: Statements = []
    changes: dict[ast.AST, Any] = {}
    for one in names:
        value = _with_rows(context, one, rows)
        if one in names_written(*statements):
            lines += context.write.assigned(one, value)
            continue
        filled = fresh_name(context.site.source, f"{one}_or_zeros")
        lines += context.write.assigned(filled, value)
        inside = (node for statement in statements for node in ast.walk(statement))
        changes |= {node: context.write.expression(filled) for node in inside if _reads(node, one)}
    first, statement = statements[0], context.site.statement
    if first in set(ast.walk(statement)):
        return {first: [*lines, first], **changes}
    return {statement: [statement, *lines], **changes}


def _counted(test: ast.expr) -> tuple[str, int] | None:
    """The name whose rows a test counts, and how many it lets pass at least."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _counted(operand)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            name, bound = _rows_of(left), integer(right)
            if name and bound is not None and type(operator) in _LEAST:
                rows = bound + _LEAST[type(operator)]
                return (name, rows) if 0 < rows <= _MOST_ROWS else None
        case ast.expr() if name := _rows_of(test):
            return name, 1
    return None


def _rows_of(node: ast.expr) -> str:
    """`x` of `x.shape[0]`, `len(x)`, `x.size(0)`, `x.numel()`; empty where it is none of these."""
    match node:
        case (
            ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=ast.Constant(value=0))
            | ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[ast.Constant(value=0)])
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="numel" | "nelement"), args=[])
        ):
            return name
    return ""


def _of_the_same_rows(context: Context, name: str) -> Iterator[str]:
    """A name, and others that what it is selected by (`x[mask]`) selects before the site."""
    yield name
    function = context.site.function
    selections = dict(_selections(context, function)) if function is not None else {}
    if name in selections:
        yield from (other for other, by in selections.items() if other != name and by == selections[name])


def _selections(context: Context, function: ast.AST) -> Iterator[tuple[str, str]]:
    """Names that are given `x[mask]` before the site, and the text of the mask."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and position(node) < position(context.site.statement):
            match node.targets, node.value:
                case [ast.Name(id=name)], value:
                    pairs = [(name, value)]
                case [ast.Tuple(elts=targets)], ast.Tuple(elts=values):
                    pairs = [(t.id, value) for t, value in zip(targets, values) if isinstance(t, ast.Name)]
                case _:
                    continue
            for name, value in pairs:
                if isinstance(value, ast.Subscript) and not isinstance(value.slice, (ast.Slice, ast.Constant)):
                    yield name, ast.unparse(value.slice)


def _with_rows(context: Context, name: str, rows: int) -> Expr:
    """`name`, with zeros for the rows that are missing while compiling."""
    shape = Kinds(context).shape(ast.Name(name, ast.Load()))
    template = "{x}.new_zeros({n})" if shape is not None and len(shape) == 1 else "{x}.new_zeros(({n}, *{x}.shape[1:]))"
    zeros = context.write.expr(template, x=name, n=rows)
    filled = context.write.expr(
        "torch.cat([{x}, {zeros}])[: torch.sym_max({x}.shape[0], {n})]", x=name, zeros=zeros, n=rows
    )
    return context.write.expr("{} if torch.compiler.is_compiling() else {}", filled, name)


def _is_read(statements: Sequence[ast.stmt], name: str) -> bool:
    return any(_reads(node, name) for statement in statements for node in ast.walk(statement))


def _reads(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
