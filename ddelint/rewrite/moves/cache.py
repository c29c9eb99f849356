"""A symbol cannot be a key: a cache is asked only in eager."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim, Edit
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    asks_compiling,
    compiling,
    enclosing_block,
    indent_unit,
    insert_before,
    is_elif,
    joined,
    owns_lines,
    text_of,
    torch_name,
)
from ddelint.rewrite.proposals import around, offer
from ddelint.source import SourceFile

_MOVE = "bypass_cache"
_CACHES = frozenset(("lru_cache", "cache"))


@move(_MOVE)
def bypass_cache(context: Context) -> Iterator[Candidate]:
    """`ramp(n)` of a cached function → its plain form while compiling; so for a dict that is used as a cache."""
    source = context.site.source
    for node in around(context):
        match node:
            case ast.Call(func=ast.Name(id=name)) if _is_cached(source, name, method=False):
                plain = f"({name}.__wrapped__ if {compiling(context)} else {name})"
                yield from _offered(context, [Edit(source.span(node.func), plain)])
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if _is_cached(
                source, name, method=True
            ):
                call = source.segment(node)
                function = source.segment(node.func)
                arguments = call[len(function) :].strip()[1:].lstrip()
                separator = "" if arguments.startswith(")") else ", "
                plain = f"type(self).{name}.__wrapped__(self{separator}{arguments}"
                text = f"({plain} if {compiling(context)} else {call})"
                yield from _offered(context, [Edit(source.span(node), text)])
    yield from _dictionary(context)


def _offered(context: Context, edits: list[Edit]) -> Iterator[Candidate]:
    yield from offer(
        context,
        _MOVE,
        Claim.EQUIVALENT,
        "a symbol cannot be hashed, so the cache is passed by while compiling; the graph computes the value anyway",
        edits=edits,
        imports=torch_name(context.site.source)[1],
    )


def _is_cached(source: SourceFile, name: str, *, method: bool) -> bool:
    """Whether a function (or method) of this file is decorated with one of functools' caches."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            inside = isinstance(source.parents.get(node), ast.ClassDef)
            if inside is not method:
                continue
            for decorator in node.decorator_list:
                target = decorator.func if isinstance(decorator, ast.Call) else decorator
                if isinstance(target, (ast.Name, ast.Attribute)) and ast.unparse(target).split(".")[-1] in _CACHES:
                    return True
    return False


def _dictionary(context: Context) -> Iterator[Candidate]:
    """`if n not in CACHE: CACHE[n] = f(n)` before `return CACHE[n]`, `CACHE.get(n)`, `CACHE[n] = v`."""
    site = context.site
    source = site.source
    statement = site.statement
    block = enclosing_block(source, statement)
    index = block.index(statement) if statement in block else 0
    following = block[index + 1] if index + 1 < len(block) else None
    unit = indent_unit(source, statement)
    match statement, following:
        case (
            ast.If(
                test=ast.Compare(left=key, ops=[ast.NotIn()], comparators=[store]),
                body=[ast.Assign(targets=[ast.Subscript(value=target, slice=index_node)], value=value)],
                orelse=[],
            ),
            ast.Return(value=ast.Subscript(value=returned, slice=last)),
        ) if (
            len({ast.unparse(n) for n in (store, target, returned)}) == 1
            and len({ast.unparse(n) for n in (key, index_node, last)}) == 1
        ):
            if not is_elif(source, statement):
                lines = [f"if {compiling(context)}:", f"{unit}return {text_of(source, value)}"]
                yield from _offered(context, [insert_before(source, statement, lines)])
            return
    for node in around(context):
        match node:
            case ast.Call(func=ast.Attribute(attr="get"), args=[_]) if not _guarded(source, node):
                text = f"(None if {compiling(context)} else {source.segment(node)})"
                yield from _offered(context, [Edit(source.span(node), text)])
            case ast.Compare(ops=[ast.In()]) if not _guarded(source, node):
                text = f"(not {compiling(context)} and {source.segment(node)})"
                yield from _offered(context, [Edit(source.span(node), text)])
            case ast.Compare(ops=[ast.NotIn()]) if not _guarded(source, node):
                text = f"({compiling(context)} or {source.segment(node)})"
                yield from _offered(context, [Edit(source.span(node), text)])
    match statement:
        case ast.Assign(targets=[ast.Subscript()]) if owns_lines(source, statement):
            text = source.segment(statement)
            if "\n" not in text:
                lines = [f"if not {compiling(context)}:", f"{unit}{text}"]
                yield from _offered(context, [Edit(source.span(statement), joined(source, statement, lines))])


def _guarded(source: SourceFile, node: ast.expr) -> bool:
    """Whether the question is asked only in eager already."""
    for parent in source.ancestors(node):
        if isinstance(parent, ast.stmt):
            return False
        if asks_compiling(parent):
            return True
    return False
