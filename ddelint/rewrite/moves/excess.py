"""What makes up for a difference (padding, cutting, counting what is over) does nothing for a difference of zero."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.around import is_tensor, number_kind
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, is_pure, names_read, names_written
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.sites import Role

_MESSAGE = "the block makes up for a difference: while compiling it runs always, with a difference of at least zero"


@rewriting("clamped_difference")
def clamped_difference(context: Context) -> Iterator[Rewrite]:
    """`if n < most: x = F.pad(x, (0, most - n))` → the block runs always, with `torch.sym_max(most - n, 0)`."""
    site, write, kinds = context.site, context.write, Kinds(context)
    statement = site.statement
    if site.role is not Role.IF_TEST or not isinstance(statement, ast.If) or statement.orelse:
        return
    if site.decision is not statement.test or asks_compiling(statement.test):
        return
    sides = _ordered(statement.test)
    if sides is None or not all(map(is_pure, sides)) or any(is_tensor(kinds, side) for side in sides):
        return
    if "float" in {number_kind(kinds, side) for side in sides}:
        return
    smaller, larger = sides
    changes: dict[ast.AST, Any] = {}
    changed: set[str] = set()
    for inner in statement.body:
        for node in _differences(inner, smaller, larger):
            if names_read(smaller, larger) & changed:
                return  # the block has given one of them another value before it takes the difference
            changes[node] = write.expr("torch.sym_max({}, 0)", node)
        changed |= names_written(inner)
    if changes:
        changes[statement.test] = write.expr("torch.compiler.is_compiling() or {}", statement.test)
        yield Rewrite(_MESSAGE, changes, Claim.GENERAL_PATH, decisions=(statement.test,), preferred=True)


def _ordered(test: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """The smaller and the larger side of a comparison that is true."""
    match test:
        case ast.Compare(left=left, ops=[ast.Lt() | ast.LtE()], comparators=[right]):
            return left, right
        case ast.Compare(left=left, ops=[ast.Gt() | ast.GtE()], comparators=[right]):
            return right, left
    return None


def _differences(statement: ast.stmt, smaller: ast.expr, larger: ast.expr) -> Iterator[ast.expr]:
    """Where a statement takes `larger - smaller`, or reads `larger` itself where `smaller` is zero."""
    low, high = ast.dump(smaller), ast.dump(larger)
    for node in ast.walk(statement):
        match node:
            case ast.BinOp(left=left, op=ast.Sub(), right=right) if (ast.dump(left), ast.dump(right)) == (high, low):
                yield node
            case ast.Name(ctx=ast.Load()) if integer(smaller) == 0 and ast.dump(node) == high:
                yield node
