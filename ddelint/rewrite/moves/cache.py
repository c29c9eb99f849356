"""A symbol cannot be a key: a cache is asked only in eager."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import around, is_tensor
from ddelint.rewrite.reading.caches import cached, may_be_passed_by
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import asks_compiling, enclosing_block
from ddelint.rewrite.writing.rewrites import Changes, Rewrite, rewriting
from ddelint.sources.source import SourceFile

_MESSAGE = "a symbol cannot be hashed, so the cache is passed by while compiling; the graph computes the value anyway"

_NO_CACHE = (
    "a symbol cannot be hashed, so what holds numbers is not asked while compiling: as if it did not hold this one"
)
_NOT_STORED = "a symbol cannot be a key, so nothing is stored while compiling"
_UNFILLED = "what is compiled stores nothing there"


@rewriting("bypass_cache")
def bypass_cache(context: Context) -> Iterator[Rewrite]:
    """`ramp(n)` of a cached function → its plain form while compiling; so for a dict that is used as a cache."""
    source, write = context.site.source, context.write
    for node in around(context):
        match node:
            case ast.Call(func=ast.Name(id=name)) if found := cached(source, name, method=False):
                plain = write.either(write.expr("{}.__wrapped__", name), node.func)
                yield Rewrite(_MESSAGE, {node.func: plain}, _claim(found, source))
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if found := cached(
                source, name, method=True
            ):
                plain = write.expr("type(self).{}.__wrapped__({})", name, ["self", *node.args, *node.keywords])
                yield Rewrite(_MESSAGE, {node: write.either(plain, node)}, _claim(found, source))
    yield from _dictionary(context)


def _claim(function: ast.FunctionDef, source: SourceFile) -> Claim:
    return Claim.EQUIVALENT if may_be_passed_by(function, source) else Claim.RESTRUCTURED


def _dictionary(context: Context) -> Iterator[Rewrite]:
    """`if n not in CACHE: CACHE[n] = f(n)` before `return CACHE[n]`, `CACHE.get(n)`, `CACHE[n] = v`."""
    source, statement, write = context.site.source, context.site.statement, context.write
    block = enclosing_block(source, statement)
    following = block[block.index(statement) + 1 :]
    match statement, following:
        case (
            ast.If(
                test=ast.Compare(left=key, ops=[ast.NotIn()], comparators=[store]),
                body=[ast.Assign(targets=[ast.Subscript(value=target, slice=index)], value=value)],
                orelse=[],
            ),
            [ast.Return(value=ast.Subscript(value=returned, slice=last)), *_],
        ) if (
            len({ast.unparse(n) for n in (store, target, returned)}) == 1
            and len({ast.unparse(n) for n in (key, index, last)}) == 1
        ):
            lines = write.lines("if torch.compiler.is_compiling():\n    return {value}", value=value)
            yield Rewrite(_MESSAGE, {statement: [*lines, statement]})
            return
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(attr="get", value=store), args=[_]):
                template = "None if torch.compiler.is_compiling() else {}"
            case ast.Compare(ops=[ast.In()], comparators=[store]):
                template = "not torch.compiler.is_compiling() and {}"
            case ast.Compare(ops=[ast.NotIn()], comparators=[store]):
                template = "torch.compiler.is_compiling() or {}"
            case _:
                continue
        if not _guarded(source, node):
            new: Changes = {node: write.expr(template, node)}
            if _is_cache(context, store):
                yield Rewrite(_MESSAGE, new)
            else:
                yield Rewrite(_NO_CACHE, new, Claim.GENERAL_PATH, decisions=(node,))
    match statement:
        case ast.Assign(targets=[ast.Subscript(value=store)]) if not is_tensor(Kinds(context), store):
            new = {statement: write.in_eager([statement])}
            if _is_cache(context, store):
                yield Rewrite(_MESSAGE, new)
            else:
                yield Rewrite(_NOT_STORED, new, Claim.RESTRUCTURED, doubt=_UNFILLED)


def _is_cache(context: Context, store: ast.expr) -> bool:
    """Whether a function fills what it asks: then what it misses is computed. What others fill (milestones, a table)
    holds what nothing else gives."""
    uses = {
        use
        for node in ast.walk(context.site.function or context.site.source.tree)
        for used, use in _uses_of_stores(node)
        if ast.unparse(used) == ast.unparse(store)
    }
    return uses == {"filled", "asked"}


def _uses_of_stores(node: ast.AST) -> Iterator[tuple[ast.expr, str]]:
    """What a node fills by a key, or asks for one."""
    match node:
        case ast.Subscript(value=store, ctx=ast.Store()) | ast.Call(func=ast.Attribute(attr="setdefault", value=store)):
            yield store, "filled"
        case (
            ast.Subscript(value=store, ctx=ast.Load())
            | ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[store])
            | ast.Call(func=ast.Attribute(attr="get", value=store))
        ):
            yield store, "asked"


def _guarded(source: SourceFile, node: ast.expr) -> bool:
    """Whether the question is asked only in eager already."""
    return any(map(asks_compiling, takewhile(lambda parent: not isinstance(parent, ast.stmt), source.ancestors(node))))
