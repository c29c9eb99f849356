"""A list that a loop fills where data says so, and that is only added up, averaged or counted behind it.

While compiling every iteration appends, a zero where eager appends nothing, and a second list says which count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.harmless import harmless
from ddelint.rewrite.parts.merge import device_of
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.names import asks_compiling, enclosing_block, fresh_name, is_pure, names_written
from ddelint.rewrite.reading.regions import changed_in_place, leaves_a_loop, live_behind, separate_names
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting
from ddelint.sources.sites import Role

_COUNT = "torch.stack({}).sum()"
_COST = "every iteration is computed"


@dataclass(frozen=True, slots=True)
class _Filled:
    """A list's name, the statement that makes it, and the value that an iteration appends."""

    name: str
    born: ast.stmt
    value: ast.expr


@rewriting("counted_list")
def counted_list(context: Context) -> Iterator[Rewrite]:
    """`if c: continue`, `l.append(v)`, then `sum(l) / len(l)`: while compiling, zeros are appended and not counted."""
    site = context.site
    branch, loop = site.statement, site.source.parents.get(site.statement)
    if site.role is not Role.IF_TEST or not isinstance(branch, ast.If) or not isinstance(loop, ast.For):
        return
    if branch not in loop.body or branch.orelse or loop.orelse or asks_compiling(branch.test):
        return
    skips = isinstance(branch.body[0], ast.Continue)
    filling = loop.body[loop.body.index(branch) + 1 :] if skips else branch.body
    filled = _filled(context, loop, filling)
    if filled is None or not is_pure(branch.test):
        return
    kept = fresh_name(site.source, f"{filled.name}_kept")
    uses = _uses(context, loop, filled, kept)
    if uses is None:
        return
    write = context.write
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        with suppress(NotAPredicate):
            counts = ast.copy_location(ast.UnaryOp(ast.Not(), branch.test), branch.test) if skips else branch.test
            truth = Truths(context, device_of(context, branch), assumed).of(counts)
            noted = write.lines("{kept}.append({truth})", kept=kept, truth=truth)
            counted = write.expr("{}[-1]", kept)
            value = harmless(context, filled.value, counted, taken=True) or filled.value
            changes: dict[ast.AST, Any] = {
                filled.born: [filled.born, *write.lines("{kept} = []", kept=kept)],
                filled.value: _while_compiling(
                    context, write.expr("torch.where({}, {}, 0)", counted, value), filled.value
                ),
                **_early_return_at_the_end(context, loop, uses, kept),
                **_kept_harmless(context, filling, counted),
            }
            if skips:
                changes[branch] = write.beside(noted, [branch])
            else:
                changes[branch] = [*write.while_compiling(noted), branch]
                changes[branch.test] = write.expr("torch.compiler.is_compiling() or {}", branch.test)
            message = "while compiling every iteration appends, and what eager would have left out does not count"
            yield restructured(message, changes, _COST, decisions=(branch.test,))


def _kept_harmless(context: Context, filling: Sequence[ast.stmt], counted: Expr) -> dict[ast.AST, Any]:
    """What is computed on the way, where there may be nothing to compute it of."""
    found = dict[ast.AST, Any]()
    for statement in filling:
        if isinstance(statement, ast.Assign):
            new = harmless(context, statement.value, counted, taken=True)
            if new is not None:
                found[statement.value] = _while_compiling(context, new, statement.value)
    return found


def _filled(context: Context, loop: ast.For, filling: Sequence[ast.stmt]) -> _Filled | None:
    """The one list that the statements fill, where they do nothing else that is read behind the loop."""
    function, source = context.site.function, context.site.source
    appended = [
        (statement, call)
        for statement in filling
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    ]
    if function is None or len(appended) != 1 or any(map(leaves_a_loop, filling)):
        return None
    match appended[0]:
        case ast.Expr() as filling_one, ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[value]) as call:
            if filling_one.value is not call:
                return None
        case _:
            return None
    live = live_behind(source, loop) & (names_written(*filling) | changed_in_place(filling))
    if live - {name} or changed_in_place(filling) - {name} - separate_names(list(filling)):
        return None
    block = enclosing_block(source, loop)
    for statement in block[: block.index(loop)]:
        match statement:
            case ast.Assign(targets=[ast.Name(id=given)], value=ast.List(elts=[])) if given == name:
                stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name]
                once = sum(isinstance(node.ctx, ast.Store) for node in stores) == 1
                return _Filled(name, statement, value) if once else None
    return None


def _uses(context: Context, loop: ast.For, filled: _Filled, kept: str) -> dict[ast.expr, Any] | None:
    """What reads the list behind the loop, and what says the same of the items that count; None for another use."""
    source, write, function = context.site.source, context.write, context.site.function
    assert function is not None
    inside, found = set(ast.walk(loop)), dict[ast.expr, Any]()
    for node in ast.walk(function):
        if (
            not isinstance(node, ast.Name)
            or node.id != filled.name
            or node in inside
            or isinstance(node.ctx, ast.Store)
        ):
            continue
        parent = source.parents.get(node)
        whole, said = parent, None
        match parent:
            case ast.Call(func=ast.Name(id="sum"), args=[_], keywords=[]):
                continue
            case ast.Call(func=ast.Name(id="len")):
                said = write.expr(_COUNT, kept)
            case ast.UnaryOp(op=ast.Not()):
                said = write.expr("~torch.stack({}).any()", kept)
            case ast.If(test=test) | ast.IfExp(test=test) if test is node:
                whole, said = node, write.expr("torch.stack({}).any()", kept)
            case ast.Call(func=ast.Attribute(value=owner, attr="stack"), args=[_], keywords=[]) if is_torch(owner):
                method = source.parents.get(parent)
                whole = source.parents.get(method) if method is not None else None
                match whole:
                    case ast.Call(func=ast.Attribute(attr="sum") as called, args=[], keywords=[]) if called is method:
                        continue
                    case ast.Call(func=ast.Attribute(attr="mean") as called, args=[], keywords=[]) if called is method:
                        said = write.expr("{}.sum() / torch.stack({}).sum()", parent, kept)
        if said is None or not isinstance(whole, ast.expr):
            return None
        found[whole] = said
    return found or None


def _early_return_at_the_end(
    context: Context, loop: ast.For, uses: dict[ast.expr, Any], kept: str
) -> dict[ast.AST, Any]:
    """`if not l: return a`, `return b` behind the loop: while compiling, what is returned is chosen at the end."""
    source, write = context.site.source, context.write
    block = enclosing_block(source, loop)
    for statement in block[block.index(loop) + 1 : -1]:
        match statement, block[-1]:
            case (
                ast.If(test=test, body=[ast.Return(value=ast.expr() as early)], orelse=[]),
                ast.Return(value=ast.expr() as late) as last,
            ) if any(use in set(ast.walk(test)) for use in uses) and is_pure(early) and is_pure(late):
                inside: dict[ast.AST, Any] = {use: new for use, new in uses.items() if use in set(ast.walk(late))}
                rest = {use: new for use, new in uses.items() if use not in set(ast.walk(test)) | set(inside)}
                chosen = write.expr(
                    "torch.where(torch.stack({}).any(), {}, {})", kept, write.replaced(late, inside), early
                )
                only_eager = write.expr("not torch.compiler.is_compiling() and {}", test)
                lines = write.lines("return {value}", value=chosen)
                elsewhere: dict[ast.AST, Any] = {u: _while_compiling(context, new, u) for u, new in rest.items()}
                return {**elsewhere, test: only_eager, last: [*write.while_compiling(lines), last]}
    return {use: _while_compiling(context, new, use) for use, new in uses.items()}


def _while_compiling(context: Context, compiled: Expr, eager: ast.expr) -> Expr:
    return context.write.expr("{} if torch.compiler.is_compiling() else {}", compiled, eager)
