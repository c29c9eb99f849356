"""Lists that a loop fills where data says so, and that are only added up, averaged, counted or stacked behind it.

While compiling every iteration appends, and a further list says which count: what is added up has zeros for the others,
what is stacked is selected by it.
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
from ddelint.rewrite.reading.loops import made_empty
from ddelint.rewrite.reading.names import asks_compiling, enclosing_block, fresh_name, is_pure, names_written
from ddelint.rewrite.reading.regions import changed_in_place, leaves_a_loop, live_behind, separate_names
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, restructured, rewriting
from ddelint.sources.sites import Role

_COUNT = "torch.stack({}).sum()"
_COST = "every iteration is computed"


@dataclass(frozen=True, slots=True)
class _Filled:
    """A list's name, the statement that makes it, the value that an iteration appends, and what reads it."""

    name: str
    born: ast.stmt
    value: ast.expr


@dataclass(frozen=True, slots=True)
class _Uses:
    """What reads the lists behind the loop, and what says the same of the items that count."""

    said: dict[ast.expr, Any]
    stacked: frozenset[str]
    """The lists that are only stacked and counted."""


@rewriting("counted_list")
def counted_list(context: Context) -> Iterator[Rewrite]:
    """`if c: continue`, `l.append(v)`, then `sum(l) / len(l)`: while compiling, zeros are appended and not counted."""
    site = context.site
    branch, loop = site.statement, site.source.parents.get(site.statement)
    if site.role is not Role.IF_TEST or not isinstance(branch, ast.If) or not isinstance(loop, ast.For):
        return
    if branch not in loop.body or branch.orelse or loop.orelse or asks_compiling(branch.test):
        return
    skips = _skips(branch)
    skipping = [other for other in loop.body if isinstance(other, ast.If) and _skips(other)] if skips else [branch]
    filling = loop.body[loop.body.index(skipping[0]) + 1 :] if skips else branch.body
    filling = [statement for statement in filling if statement not in skipping]
    filled = _filled(context, loop, filling)
    if not filled or not all(is_pure(other.test) and not asks_compiling(other.test) for other in skipping):
        return
    kept = fresh_name(site.source, f"{filled[0].name}_kept")
    uses = _uses(context, loop, filled, kept)
    if uses is None:
        return
    write = context.write
    for assumed in (context.diagnostic.code == "DDE105", context.diagnostic.code != "DDE105"):
        with suppress(NotAPredicate):
            counted = write.expr("{}[-1]", kept)
            changes: dict[ast.AST, Any] = {
                **_early_return_at_the_end(context, loop, uses, kept),
                **_kept_harmless(context, filling, counted),
            }
            for one in filled:
                value = harmless(context, one.value, counted, taken=True)
                if one.name not in uses.stacked:
                    value = write.expr("torch.where({}, {}, 0)", counted, value or one.value)
                if value is not None:
                    changes[one.value] = context.write.either(value, one.value)
            changes[filled[0].born] = [filled[0].born, *write.lines("{kept} = []", kept=kept)]
            for number, branch in enumerate(skipping):
                counts = ast.copy_location(ast.UnaryOp(ast.Not(), branch.test), branch.test) if skips else branch.test
                truth = Truths(context, device_of(context, branch), assumed).of(counts)
                template = "{kept}[-1] = {kept}[-1] & {truth}" if number else "{kept}.append({truth})"
                noted = write.lines(template, kept=kept, truth=truth)
                if skips:
                    changes[branch] = write.beside(noted, [branch])
                else:
                    changes[branch] = [*write.while_compiling(noted), branch]
                    changes[branch.test] = write.expr("torch.compiler.is_compiling() or {}", branch.test)
            message = "while compiling every iteration appends, and what eager would have left out does not count"
            yield restructured(message, changes, _COST, decisions=tuple(branch.test for branch in skipping))


def _skips(branch: ast.If) -> bool:
    return isinstance(branch.body[0], ast.Continue) and not branch.orelse


def _kept_harmless(context: Context, filling: Sequence[ast.stmt], counted: Expr) -> dict[ast.AST, Any]:
    """What is computed on the way, where there may be nothing to compute it of."""
    found = dict[ast.AST, Any]()
    for statement in filling:
        if isinstance(statement, ast.Assign):
            new = harmless(context, statement.value, counted, taken=True)
            if new is not None:
                found[statement.value] = context.write.either(new, statement.value)
    return found


def _filled(context: Context, loop: ast.For, filling: Sequence[ast.stmt]) -> list[_Filled]:
    """The lists that the statements fill, where they do nothing else that is read behind the loop; else none."""
    source, found = context.site.source, list[_Filled]()
    appended = [
        (statement, call)
        for statement in filling
        for call in ast.walk(statement)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    ]
    if any(map(leaves_a_loop, filling)):
        return []
    for statement, call in appended:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name)), args=[value]):
                born = made_empty(context, loop, name)
            case _:
                return []
        if not isinstance(statement, ast.Expr) or statement.value is not call or born is None:
            return []
        found.append(_Filled(name, born, value))
    names = {one.name for one in found}
    live = live_behind(source, loop) & (names_written(*filling) | changed_in_place(filling))
    if len(names) < len(found) or live - names or changed_in_place(filling) - names - separate_names(list(filling)):
        return []
    return found


def _uses(context: Context, loop: ast.For, filled: Sequence[_Filled], kept: str) -> _Uses | None:
    """What reads the lists behind the loop; None for another use than those known here."""
    source, write, function = context.site.source, context.write, context.site.function
    assert function is not None
    inside, found, names = set(ast.walk(loop)), dict[ast.expr, Any](), {one.name for one in filled}
    stacked, added, counted = set[str](), set[str](), dict[ast.expr, str]()
    for node in ast.walk(function):
        if not isinstance(node, ast.Name) or node.id not in names or node in inside or isinstance(node.ctx, ast.Store):
            continue
        parent = source.parents.get(node)
        whole, said = parent, None
        match parent:
            case ast.Call(func=ast.Name(id="sum"), args=[_], keywords=[]):
                added.add(node.id)
                continue
            case ast.Call(func=ast.Name(id="len")):
                counted, said = {**counted, parent: node.id}, write.expr(_COUNT, kept)
            case ast.UnaryOp(op=ast.Not()):
                said = write.expr("~torch.stack({}).any()", kept)
            case ast.If(test=test) | ast.IfExp(test=test) if test is node:
                whole, said = node, write.expr("torch.stack({}).any()", kept)
            case ast.Call(func=ast.Attribute(value=owner, attr="stack"), args=[_], keywords=[]) if is_torch(owner):
                method = source.parents.get(parent)
                whole = source.parents.get(method) if method is not None else None
                match whole:
                    case ast.Call(func=ast.Attribute(attr="sum") as called, args=[], keywords=[]) if called is method:
                        added.add(node.id)
                        continue
                    case ast.Call(func=ast.Attribute(attr="mean") as called, args=[], keywords=[]) if called is method:
                        said = write.expr("{}.sum() / torch.stack({}).sum()", parent, kept)
                        added.add(node.id)
                    case _:
                        whole, said = parent, write.expr("{}[torch.stack({})]", parent, kept)
                        stacked.add(node.id)
        if said is None or not isinstance(whole, ast.expr):
            return None
        found[whole] = said
    for length, name in counted.items():
        if name in stacked - added:  # what is only stacked may be counted for anything
            found[length] = write.expr("{}.item()", found[length])
    return _Uses(found, frozenset(stacked - added)) if found else None


def _early_return_at_the_end(context: Context, loop: ast.For, found: _Uses, kept: str) -> dict[ast.AST, Any]:
    """`if not l: return a`, `return b` behind the loop: while compiling, what is returned is chosen at the end.

    What is stacked is of nothing then, which is what most return early for it.
    """
    source, write, uses = context.site.source, context.write, found.said
    block = enclosing_block(source, loop)
    for statement in block[block.index(loop) + 1 : -1]:
        match statement, block[-1]:
            case (
                ast.If(test=test, body=[ast.Return(value=ast.expr() as early)], orelse=[]),
                ast.Return(value=ast.expr() as late) as last,
            ) if any(use in set(ast.walk(test)) for use in uses) and is_pure(early) and is_pure(late):
                answered = write.expr("not torch.compiler.is_compiling() and {}", test)
                if found.stacked:
                    said = {use: new for use, new in uses.items() if use not in set(ast.walk(test))}
                    if any(use in set(ast.walk(early)) for use in said):
                        answered = write.expr("torch.compiler.is_compiling() or {}", test)
                    return {test: answered, **{use: context.write.either(new, use) for use, new in said.items()}}
                inside: dict[ast.AST, Any] = {use: new for use, new in uses.items() if use in set(ast.walk(late))}
                rest = {use: new for use, new in uses.items() if use not in set(ast.walk(test)) | set(inside)}
                chosen = write.expr(
                    "torch.where(torch.stack({}).any(), {}, {})", kept, write.replaced(late, inside), early
                )
                lines = write.lines("return {value}", value=chosen)
                elsewhere: dict[ast.AST, Any] = {u: context.write.either(new, u) for u, new in rest.items()}
                return {**elsewhere, test: answered, last: [*write.while_compiling(lines), last]}
    return {use: context.write.either(new, use) for use, new in uses.items()}
