"""What is cut to the longest of several rows is padding: while compiling it is left on, and no length is unknown."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.structures import structure_of
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.named import calls_of
from ddelint.rewrite.reading.names import asks_compiling, bound_before, called, fresh_name, names_read, position
from ddelint.rewrite.reading.plainly import values_of
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, Writer, rewriting
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile

_MESSAGE = "while compiling, leave the padding on: what is masked changes no result, and no length depends on data"
_MESSAGE_CUT = (
    "while compiling, leave the padding on, and cut it off what is returned: no length on the way depends on data"
)
_CUTS = ("{}[:{}]", "{}[:, :{}]", "{}[:, :, :{}]", "{}[:, :, :, :{}]")
_COST = "compiled code computes the padding, too"


@rewriting("padding_stays")
def padding_stays(context: Context) -> Iterator[Rewrite]:
    """`longest = int(mask.sum(1).max())`, then `x[:, :longest]` → `longest = x.shape[1]` while compiling."""
    write, source = context.write, context.site.source
    for statement in dict.fromkeys(_statements(context)):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_greatest(value):
                pass
            case _:
                continue
        cut = next(_cut(source, statement, name), None)
        if cut is None or asks_compiling(value):
            continue
        whole, dimension = cut
        size = write.expr("{}.shape[{}]", whole, dimension)
        new = write.either(size, value)
        yield Rewrite(_MESSAGE, {value: new}, Claim.GENERAL_PATH, (_COST,), preferred=True)
        cut_results = _results_cut(context, statement, value, dimension)
        if cut_results:
            yield Rewrite(_MESSAGE_CUT, {value: new, **cut_results}, Claim.GENERAL_PATH, (_COST,), preferred=True)


def _statements(context: Context) -> Iterator[ast.stmt]:
    """The site's statement, and those that made the numbers in question, as far as they stand in its file."""
    source = context.site.source
    yield context.site.statement
    for symbol in context.diagnostic.symbols:
        if symbol.created is not None and symbol.created.filename == source.filename:
            found = source.at(symbol.created)
            if found is not None:
                yield from _maker(source, site_of(source, found).statement)


def _maker(source: SourceFile, statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement, and those that gave the names in it their values."""
    yield statement
    function = next((n for n in source.ancestors(statement) if isinstance(n, ast.FunctionDef)), None)
    read = names_read(statement)
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in read:
                yield node


def _is_greatest(value: ast.expr) -> bool:
    """Whether a number is the greatest of several."""
    picks = knowledge().segments.reductions
    return any(isinstance(node, ast.Call) and picks.get(called(node)) == "amax" for node in ast.walk(value))


def _cut(source: SourceFile, statement: ast.Assign, name: str) -> Iterator[tuple[ast.expr, int]]:
    """What the number cuts further on, `x[:, :name]`, and in which dimension; first what has a value before."""
    function = next((n for n in source.ancestors(statement) if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        return
    before = bound_before(function, statement)
    reads = [n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    for read in sorted(reads, key=position):
        end = source.parents.get(read)
        parent = source.parents.get(end) if end is not None else None
        indices = [end]
        if isinstance(parent, ast.Tuple):
            indices, parent = [*parent.elts], source.parents.get(parent)
        match end, parent:
            case ast.Slice(lower=None, upper=upper, step=None), ast.Subscript(value=whole) if upper is read:
                plain = all(isinstance(index, ast.Slice) for index in indices[: indices.index(end)])
                if plain and names_read(whole) <= before:
                    yield whole, indices.index(end)


# ---------------------------------------------------------------------- results


def _results_cut(context: Context, statement: ast.stmt, value: ast.expr, dimension: int) -> dict[ast.AST, Any]:
    """Returns of what is as long as the longest, cut to that while compiling: here, or where a helper is called."""
    source, write = context.site.source, context.write
    function = next((n for n in source.ancestors(statement) if isinstance(n, ast.FunctionDef)), None)
    if function is None:
        return {}
    place, length = value, write.expression(_number(value))
    calls = list(calls_of(source, function.name))
    if len(calls) == 1 and _returns_slices(function):
        caller = next((n for n in source.ancestors(calls[0]) if isinstance(n, ast.FunctionDef)), None)
        if caller is not None:
            given = dict(zip([a.arg for a in function.args.args if a.arg != "self"], calls[0].args))
            length, place = _said_by_caller(context, _number(value), given), calls[0]
            function = caller
    types = context.types if function is context.site.function else context.types_in(function)
    kinds = Kinds(replace(context, site=site_of(source, function.body[0]), types=types))
    name = fresh_name(source, "longest")
    changes: dict[ast.AST, Any] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None and position(node) > position(place):
            structure = structure_of(node.value)
            cut = [_cut_to(write, kinds, part, dimension, name) for part in structure.parts]
            if any(cut) and _has_all(context, length, function, node):
                parts = [new or write.expression(part) for new, part in zip(cut, structure.parts)]
                lines = [
                    *write.assigned(name, write.expr("{}.item()", length)),
                    *write.lines("return {value}", value=structure.of(write, parts)),
                ]
                changes[node] = [*write.while_compiling(lines), node]
    return changes


def _returns_slices(function: ast.FunctionDef) -> bool:
    """Whether all that a function does is to cut: it returns nothing else than slices and names."""
    returned = [node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value is not None]
    parts = [part for value in returned for part in structure_of(value).parts]
    return bool(parts) and all(isinstance(part, (ast.Name, ast.Subscript)) for part in parts)


def _said_by_caller(context: Context, node: ast.expr, given: Mapping[str, ast.expr]) -> Expr:
    """An expression of a function in its caller's words: arguments for parameters, values for other names."""
    write = context.write
    changes: dict[ast.AST, Expr] = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name) and inner.id in given:
            changes[inner] = write.expression(given[inner.id])
        elif isinstance(inner, ast.Name):
            match list(values_of(context.site.source, inner, inner.id)):
                case [ast.expr() as value] if value is not node:
                    changes[inner] = _said_by_caller(context, value, given)
    return write.replaced(node, changes) if changes else write.expression(node)


def _has_all(context: Context, length: Expr, function: ast.FunctionDef, place: ast.stmt) -> bool:
    """Whether the names that a length is made of have their values at a place."""
    bound = bound_before(function, place)
    local = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return all(name in bound or name not in local for name in context.write.reads(length))


def _number(value: ast.expr) -> ast.expr:
    """The tensor that a number is read from: `t` of `int(t)` and `t.item()`."""
    match value:
        case ast.Call(func=ast.Name(id="int"), args=[inner], keywords=[]):
            return _number(inner)
        case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[], keywords=[]):
            return inner
    return value


def _cut_to(write: Writer, kinds: Kinds, part: ast.expr, dimension: int, name: str) -> Expr | None:
    """A part of a result cut to a length, where it is of another size in that dimension from run to run."""
    shape = kinds.shape(part)
    if shape is None or not dimension < min(len(shape), len(_CUTS)) or shape[dimension].isdecimal():
        return None
    return write.expr(_CUTS[dimension], part, name)
