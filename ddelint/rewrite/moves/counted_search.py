"""A loop that counts up to where a tensor holds something, or down to it: while compiling, what it counts is a sum."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.search_bounds import NotSearched, bound_of
from ddelint.rewrite.parts.searched import Search, asked_along, fitting, reads
from ddelint.rewrite.reading.names import asks_compiling, is_pure
from ddelint.rewrite.writing.rewrites import Rewrite, Statements, restructured, rewriting

_MESSAGE = "while compiling, count how many places in a row the loop goes past; eager keeps the loop"
_COST = "every place up to the bound is looked at"


@rewriting("counted_search")
def counted_search(context: Context) -> Iterator[Rewrite]:
    """`while i < n and not hit[i]: i += 1` → while compiling, the places before the first hit are counted."""
    statement, write = context.site.statement, context.write
    if not isinstance(statement, ast.While) or statement.orelse or asks_compiling(statement.test):
        return
    with suppress(NotSearched):
        search = _search(context, statement)
        named: Statements = []
        fitting(context, search)
        if len(list(reads(search))) > 1:
            bound, named = search.bound.named(context)
            search = replace(search, bound=bound)
        passed = [asked_along(context, search, node) for node in search.asked]
        held = write.joined(ast.BitAnd(), passed)
        in_order = write.expr("{}.flip(0)", held) if search.backwards else held
        count = write.expr("{}.to(torch.int64).cumprod(0).sum().item()", in_order)
        lines = [*named, *write.assigned(search.index, count, ast.Sub() if search.backwards else ast.Add())]
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
    given = {part: bound for part in parts if (bound := bound_of(context, part, index, backwards=backwards))}
    bounds, asked = list(given.values()), [part for part in parts if part not in given]
    if len(bounds) != 1 or not asked or not all(map(is_pure, parts)):
        raise NotSearched
    return Search(index, backwards, bounds[0], asked)
