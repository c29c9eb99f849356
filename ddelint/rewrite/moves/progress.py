"""A bar that shows how far a loop is, which no compiler looks into: while compiling, the loop goes over the values."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.bars import is_bar, without_bar
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.reading.effects import says_without_effect
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bindings, places_of_stores, stands_in_eager
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting

_MESSAGE = "show how far the loop is in eager alone: it gives the values that it is given"
_TOLD = "show how far the loop is, and what it comes to, in eager alone"


@rewriting("without_progress_bar")
def without_progress_bar(context: Context) -> Iterator[Rewrite]:
    """`for t in tqdm(times):` → `for t in times if torch.compiler.is_compiling() else tqdm(times):`."""
    source, write = context.site.source, context.write
    for bar in around(context):
        if not isinstance(bar, ast.Call) or not _is_gone_over(bar, source.parents.get(bar)):
            continue
        plain = without_bar(write, bar)
        if plain is not None:
            yield Rewrite(_MESSAGE, {bar: write.either(plain, bar)})
    names = dict.fromkeys(node.id for node in around(context) if isinstance(node, ast.Name))
    for name in names:
        yield from _told(context, name)


def _told(context: Context, name: str) -> Iterator[Rewrite]:
    """`for t in (bar := tqdm(times)): bar.set_postfix(…)`, `bar = tqdm(total=n)`, `bar.update(1)`: named bars."""
    source, write = context.site.source, context.write
    function = context.site.function or source.tree
    if bindings(function, name) != 1 or not (places := places_of_stores(function, name)):
        return
    named = _named_bar(context, places[0])
    if named is None:
        return
    made, values = named
    changes: dict[ast.AST, Any] = {made: write.either(ast.Constant(None) if values is None else values, made)}
    said: list[ast.stmt] = []
    for use in ast.walk(function):
        if not isinstance(use, ast.Name) or use.id != name or use in places or stands_in_eager(source, use):
            continue
        if (statement := _telling(use, source.parents)) is not None:
            said.append(statement)
            changes[statement] = write.in_eager([statement])
        elif values is None or not _is_gone_over(use, source.parents.get(use)):
            return
    heard = all(says_without_effect(statement, source) for statement in said)
    yield Rewrite(_TOLD, changes, Claim.EQUIVALENT if heard else Claim.GENERAL_PATH)


def _named_bar(context: Context, place: ast.AST) -> tuple[ast.expr, Expr | None] | None:
    """What makes the bar that gets its name at a place, and the values that it goes over, if it does; None for what is
    no bar, or is asked for more where it is made."""
    parents = context.site.source.parents
    match parents.get(place):
        case ast.NamedExpr(value=ast.Call() as bar) as given if is_bar(bar):
            values = without_bar(context.write, bar)
            return None if values is None or not _is_gone_over(given, parents.get(given)) else (given, values)
        case ast.Assign(targets=[ast.Name()], value=ast.Call() as bar) if is_bar(bar):
            return bar, without_bar(context.write, bar)
    return None


def _telling(bar: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> ast.stmt | None:
    """The statement that does nothing but tell a bar what to show."""
    match parents.get(bar):
        case ast.Attribute(attr=name) as method if name in knowledge().progress.methods:
            call = parents.get(method)
            statement = parents.get(call) if isinstance(call, ast.Call) and call.func is method else None
            return statement if isinstance(statement, ast.Expr) else None
    return None


def _is_gone_over(bar: ast.expr, parent: ast.AST | None) -> bool:
    """Whether a loop, or what counts its turns, takes the values: nobody asks the bar for more."""
    match parent:
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is bar
        case ast.Call(func=ast.Name(id="enumerate" | "zip")):
            return bar in parent.args
    return False
