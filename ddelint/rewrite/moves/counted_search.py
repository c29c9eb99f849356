"""A loop that counts up to where a tensor holds something, or down to it: while compiling, what it counts is a sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.parts.searched import NotSearched, Search, asked_along
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.names import asks_compiling, is_pure, names_read
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting

_MESSAGE = "while compiling, count how many places in a row the loop goes past; eager keeps the loop"
_COST = "every place up to the bound is looked at"
_LENGTHS = ("len({})", "{}.shape[0]", "{}.size(0)", "{}.numel()")
_TURNED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE}


@rewriting("counted_search")
def counted_search(context: Context) -> Iterator[Rewrite]:
    """`while i < n and not hit[i]: i += 1` → while compiling, the places before the first hit are counted."""
    statement, write = context.site.statement, context.write
    if not isinstance(statement, ast.While) or statement.orelse or asks_compiling(statement.test):
        return
    with suppress(NotSearched):
        search = _search(context, statement)
        passed = [asked_along(context, search, node) for node in search.asked]
        held = write.joined(ast.BitAnd(), passed)
        in_order = write.expr("{}.flip(0)", held) if search.backwards else held
        count = write.expr("{}.to(torch.int64).cumprod(0).sum().item()", in_order)
        lines = write.assigned(search.index, count, ast.Sub() if search.backwards else ast.Add())
        beside = write.beside(lines, [statement])
        yield restructured(_MESSAGE, {statement: beside}, _COST, decisions=(statement.test,))


def _search(context: Context, statement: ast.While) -> Search:
    """The loop, where it does nothing but count. Raises NotSearched."""
    match statement.body, statement.test:
        case (
            [ast.AugAssign(target=ast.Name(id=index), op=ast.Add() | ast.Sub() as way, value=ast.Constant(value=1))],
            ast.BoolOp(op=ast.And(), values=parts),
        ):
            backwards = isinstance(way, ast.Sub)
        case _:
            raise NotSearched
    given = {part: bound for part in parts if (bound := _bound(context, statement.test, part, index)) is not None}
    bounds, asked = list(given.values()), [part for part in parts if part not in given]
    if len(bounds) != 1 or not asked or not all(map(is_pure, parts)) or isinstance(bounds[0], int) is not backwards:
        raise NotSearched
    return Search(index, backwards, bounds[0], asked)


def _bound(context: Context, test: ast.expr, part: ast.expr, index: str) -> Expr | int | None:
    """The bound that a part of the test says of the index: `i < n`, `n > i`, `i <= n`; a number for `i > 0`."""
    match part:
        case ast.Compare(left=ast.Name(id=name), ops=[operator], comparators=[bound]) if name == index:
            relation = type(operator)
        case ast.Compare(left=bound, ops=[operator], comparators=[ast.Name(id=name)]) if name == index:
            relation = _TURNED.get(type(operator), type(operator))
        case _:
            return None
    if index in names_read(bound) or Kinds(context).of(bound) is Kind.TENSOR:
        return None
    write, number = context.write, integer(bound)
    if relation in (ast.Gt, ast.GtE):
        return number if number is None or relation is ast.Gt else number - 1
    if relation is ast.LtE:
        return write.expr("torch.sym_max({} + 1, 0)", bound)
    if relation is not ast.Lt:
        return None
    return write.expr("torch.sym_max({}, 0)" if _may_be_negative(test, bound, index) else "{}", bound)


def _may_be_negative(test: ast.expr, bound: ast.expr, index: str) -> bool:
    """Whether a slice that ends there might count from the end: not for one less than the length of what is read."""
    match bound:
        case ast.BinOp(left=length, op=ast.Sub(), right=ast.Constant(value=1)):
            read = {ast.unparse(n.value) for n in ast.walk(test) if isinstance(n, ast.Subscript) and _is_at(n, index)}
            return any(ast.unparse(length) not in {form.format(text) for form in _LENGTHS} for text in read)
    return isinstance(bound, (ast.BinOp, ast.UnaryOp, ast.Name, ast.Attribute))


def _is_at(node: ast.Subscript, index: str) -> bool:
    return index in names_read(node.slice)
