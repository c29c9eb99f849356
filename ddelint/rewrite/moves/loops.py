"""Loops whose number of iterations hangs on data: run to a known bound, and mask what would not have run."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.arms import NotMergeable
from ddelint.rewrite.parts.exits import leaving, returning
from ddelint.rewrite.parts.harmless import UNPROTECTED
from ddelint.rewrite.parts.merge import Merge, device_of, masked_lines
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.proving.bounds import stated_bound
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.loops import is_read_behind, value_before
from ddelint.rewrite.reading.names import (
    asks_compiling,
    fresh_name,
    is_pure,
    names_read,
    names_written,
)
from ddelint.rewrite.writing.rewrites import Expr, Part, Rewrite, Run, restructured, rewriting
from ddelint.sources.sites import Role

_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Raise, ast.Try, ast.With)
"""What a masked body cannot hold."""


@dataclass(frozen=True, slots=True)
class _Counted:
    """A loop `for index in range(start, stop)`, or the `while` that says the same."""

    statement: ast.For | ast.While
    index: str
    start: Sequence[ast.expr]
    """None where it starts at 0."""
    stop: ast.expr
    body: list[ast.stmt]


@rewriting("masked_loop")
def masked_loop(context: Context) -> Iterator[Rewrite]:
    """`for i in range(int(n))` over `x[i]`: loop to `x.shape[0]`, changed names masked; a `break` becomes a mask."""
    site = context.site
    if site.role is Role.IF_TEST and isinstance(site.statement, ast.If):
        for build in (leaving, _skipping, _updating, returning):
            yield from build(context, site.statement)
        return
    if site.role is Role.WHILE_TEST and isinstance(site.statement, ast.While):
        yield from leaving(context, site.statement)
    loop = _counted(context)
    if loop is None or is_read_behind(context, loop.index, loop.statement):
        return
    if any(isinstance(node, _LEAVING) for statement in loop.body for node in ast.walk(statement)):
        return
    yield from _masked(context, loop)


def _skipping(context: Context, statement: ast.If) -> Iterator[Rewrite]:
    """`if c: continue`: while compiling, what follows in the iteration changes nothing where `c` holds."""
    source, write = context.site.source, context.write
    loop = source.parents.get(statement)
    if not isinstance(loop, (ast.For, ast.While)) or statement not in loop.body or asks_compiling(statement.test):
        return
    behind = loop.body[loop.body.index(statement) + 1 :]
    if not behind or statement.orelse or not isinstance(statement.body[0], ast.Continue):
        return
    if any(isinstance(node, _LEAVING) for other in behind for node in ast.walk(other)):
        return
    kept = fresh_name(source, "kept")
    with suppress(NotMergeable, NotAPredicate):
        not_skipped = ast.copy_location(ast.UnaryOp(ast.Not(), statement.test), statement.test)
        merge = Merge(context, statement, context.diagnostic.code == "DDE105", way=UNPROTECTED)
        goes_on = merge.truths({}).of(not_skipped)
        lines = [
            *write.lines(
                "if not torch.compiler.is_compiling() and {test}:\n    {body}", test=statement.test, body=statement.body
            ),
            *write.assigned(kept, goes_on),
            *masked_lines(context, loop, behind, write.expression(kept)),
        ]
        yield restructured(
            "while compiling, compute the rest of the iteration always and keep the old values where eager skips it",
            {Run([statement, *behind]): lines},
            "the rest of every iteration is computed",
            decisions=(statement.test,),
        )


def _updating(context: Context, statement: ast.If) -> Iterator[Rewrite]:
    """`if c: y[i] = a; continue`, then `y[i] = b`: the same as an `else`, of which both sides are computed."""
    source, write = context.site.source, context.write
    loop = source.parents.get(statement)
    if not isinstance(loop, (ast.For, ast.While)) or statement not in loop.body or asks_compiling(statement.test):
        return
    behind = loop.body[loop.body.index(statement) + 1 :]
    *updates, last = statement.body
    if not (updates and behind) or statement.orelse or not isinstance(last, ast.Continue):
        return
    branch = ast.copy_location(ast.If(test=statement.test, body=updates, orelse=behind), statement)
    for in_place in (True, False):
        with suppress(NotMergeable, NotAPredicate):
            merge = Merge(context, branch, context.diagnostic.code == "DDE105", whole=loop, in_place=in_place)
            named, test, then, otherwise = merge.arms(merge.truths({}).of(statement.test))
            lines = [*named, *merge.assigned(test, then, otherwise)]
            message = "compute both ways of going on and choose with torch.where"
            for new in (lines, write.beside(lines, [statement, *behind])):
                together: dict[ast.AST, Any] = {Run([statement, *behind]): new}
                yield restructured(message, together, "both are computed", decisions=(statement.test,))


# ---------------------------------------------------------------------- what the loop counts


def _counted(context: Context) -> _Counted | None:
    statement = context.site.statement
    match statement:
        case ast.For(
            target=ast.Name(id=index), iter=ast.Call(func=ast.Name(id="range"), args=[*start, stop], keywords=[])
        ) if len(start) < 2:
            if statement.orelse or index in names_written(*statement.body):
                return None
            if index == "_" and "_" not in names_read(*statement.body):
                index = fresh_name(context.site.source, "iteration")
            return _Counted(statement, index, start, stop, statement.body)
        case ast.While(test=ast.Compare(left=ast.Name(id=index), ops=[ast.Lt()], comparators=[stop]), orelse=[]):
            return _counting_while(context, statement, index, stop)
    return None


def _counting_while(context: Context, statement: ast.While, index: str, stop: ast.expr) -> _Counted | None:
    """`i = 0; while i < n: …; i += 1`."""
    *body, last = statement.body
    match last:
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.Constant(value=1)) if name == index:
            pass
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.BinOp(left=ast.Name(id=read), op=ast.Add(), right=ast.Constant(value=1)),
        ) if name == index == read:
            pass
        case _:
            return None
    first = value_before(context, index, statement)
    if not body or index in names_written(*body):
        return None
    match first:
        case ast.Constant(value=int() as value):
            return _Counted(statement, index, [first] if value else [], stop, body)
    return None


def _known_size(context: Context, loop: _Counted) -> Part | None:
    """The size of what the loop indexes: there are no more iterations, which a check has to say."""
    written = names_written(*loop.body)
    for statement in loop.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Subscript) and is_pure(node.value) and not names_read(node.value) & written:
                found = _size_of(context, node, loop.index)
                if found is not None:
                    return found
    return None


def _size_of(context: Context, node: ast.Subscript, index: str) -> Expr | None:
    """The size of the dimension that the loop's number indexes."""
    kinds, write, position = Kinds(context), context.write, _position(node.slice, index)
    if position is None:
        return None
    fact = kinds.fact(node.value)
    if fact is not None and fact.kind in {"list", "tuple"} and position == 0:
        return write.expr("len({})", node.value)
    shape = kinds.shape(node.value)
    unknown = shape is not None and (position >= len(shape) or not shape[position].isdigit())
    if unknown or kinds.of(node.value) not in (Kind.TENSOR, Kind.UNKNOWN):
        return None
    return write.expr("{}.shape[{}]", node.value, position)


def _position(index: ast.expr, name: str) -> int | None:
    """The dimension that `name` alone indexes."""
    for position, part in enumerate(index.elts if isinstance(index, ast.Tuple) else [index]):
        match part:
            case ast.Name(id=read) if read == name:
                return position
            case ast.Constant(value=int()) | ast.Slice() | ast.Name():
                continue
            case _:
                return None
    return None


def _limit(context: Context, stop: ast.expr) -> tuple[ast.expr, bool]:
    """The number of iterations without a cast, and whether it is a tensor."""
    kinds = Kinds(context)
    match stop:
        case ast.Call(func=ast.Name(id="int"), args=[inner]):
            limit, tensor = _limit(context, inner)
            return limit, tensor or kinds.of(inner) is Kind.UNKNOWN
        case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]):
            return value, True
    return stop, kinds.of(stop) is Kind.TENSOR


# ---------------------------------------------------------------------- what is written


def _masked(context: Context, loop: _Counted) -> Iterator[Rewrite]:
    write, (limit, tensor) = context.write, _limit(context, loop.stop)
    size, checked = _known_size(context, loop), True
    if size is None:
        size, checked = stated_bound(context, loop.stop), False
    if size is None:
        return
    runs = write.expr("{} < {}", loop.index, limit)
    if not tensor:
        runs = Truths(context, device_of(context, *loop.body)).number(runs)
    count = write.expr("{}.item()" if tensor else "{}", limit)
    check = write.lines("torch._check_index({count} <= {size})", count=count, size=size) if checked else []
    with suppress(NotMergeable):
        body = masked_lines(context, loop.statement, loop.body, runs, loop.index)
        template = "for {index} in range({numbers}):\n    {body}"
        lines = write.lines(template, index=loop.index, numbers=[*loop.start, size], body=body)
        yield restructured(
            "loop to the known bound, and keep the old values in the iterations beyond",
            {loop.statement: [*check, *lines]},
            "every iteration up to the bound is computed",
        )
