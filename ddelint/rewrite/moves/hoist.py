"""The same value read twice is two symbols; read once and named, it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import function_statements, headers, statement_of
from ddelint.rewrite.reading.kinds import Kinds
from ddelint.rewrite.reading.names import (
    blocks,
    called,
    draws_random,
    enclosing_block,
    fresh_name,
    is_pure,
    parameters,
    position,
    stores,
    targets_written,
)
from ddelint.rewrite.reading.number_uses import number_uses
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.sources.source import SourceFile

_NAMES = {".sum()": "count", "count": "count", ".max(": "largest", ".min(": "smallest"}
_READS = frozenset(("item", "tolist", "nonzero", "masked_select", "unique", "argwhere"))


@rewriting("hoist_item")
def hoist_item(context: Context) -> Iterator[Rewrite]:
    """`mask.sum().item()` in several places of a function → read once into a name."""
    function = context.site.function
    if function is None:
        return
    source, write = context.site.source, context.write
    for text, nodes in _repeated(context, function).items():
        first = statement_of(source, nodes[0])
        if first is None or not _reaches_all(context, first, nodes):
            continue
        message = f"`{text}` is read {len(nodes)} times, which makes unrelated symbols; read once, it is one"
        match nodes[0]:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="item")):
                yield from _at_definition(context, name, message)
        match first:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is nodes[0]:
                if stores(function, name) == 1:
                    yield Rewrite(message, {node: write.expression(name) for node in nodes[1:]})
                continue
        name = fresh_name(source, _name_for(nodes[0]))
        lines = write.lines("{name} = {value}", name=name, value=nodes[0])
        yield Rewrite(message, {first: [*lines, first], **{node: write.expression(name) for node in nodes}})


def _at_definition(context: Context, name: str, message: str) -> Iterator[Rewrite]:
    """`n = mask.sum()` → `n = mask.sum().item()`, and `n.item()` → `n`, where `n` is used as nothing but a number."""
    uses, write = number_uses(Kinds(context), name), context.write
    if uses is not None:
        changes: dict[ast.AST, Any] = {read: write.expression(name) for read in (*uses.reads, *uses.casts)}
        yield Rewrite(message, {uses.value: write.expr("{}.item()", uses.value), **changes})


def _repeated(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """Reads that stand at least twice in a function, outermost ones only, in source order."""
    found: dict[str, list[ast.expr]] = {}
    for statement in function_statements(function):
        for header in headers(statement):
            for node in _outermost_reads(context, header):
                found.setdefault(ast.unparse(node), []).append(node)
    repeated = {text: nodes for text, nodes in found.items() if len(nodes) > 1}
    for nodes in repeated.values():
        nodes.sort(key=position)
    return repeated


def _outermost_reads(context: Context, node: ast.expr) -> Iterator[ast.expr]:
    """The largest expressions of reads: a call of `item` or of a function of this file that reads."""
    if isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
        return
    if isinstance(node, ast.Call) and is_pure(node) and not draws_random(node) and _is_read(context, node):
        yield node
        return
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword):
            child = child.value
        if isinstance(child, ast.expr):
            yield from _outermost_reads(context, child)


def _is_read(context: Context, node: ast.Call) -> bool:
    if called(node) in _READS:
        return True
    match node:
        case ast.Call(func=ast.Name(id="int" | "float" | "bool"), args=[argument]):
            return isinstance(argument, ast.Call)
        case ast.Call(func=ast.Name(id=name)):
            return _helper_reads(context, name)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)):
            return _helper_reads(context, name)
    return False


def _helper_reads(context: Context, name: str) -> bool:
    """Whether a function of this file is a plain read: it returns something that calls `item` and has no effect."""
    functions = [node for node in _functions(context.site.source, name) if node is not context.site.function]
    if len(functions) != 1:
        return False
    function = functions[0]
    reads = any(isinstance(node, ast.Call) and called(node) in _READS for node in ast.walk(function))
    changed = {text for statement in function_statements(function) for text in targets_written(statement)}
    local = {text for text in changed if text.isidentifier()} - parameters(function)
    return reads and is_pure(function) and not (changed - local) and not draws_random(function)


@lru_cache(maxsize=64)
def _functions(source: SourceFile, name: str) -> list[ast.FunctionDef]:
    """The functions of a file that are called so: a statement has many calls, and each is looked up."""
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef) and node.name == name]


def _reaches_all(context: Context, first: ast.stmt, nodes: list[ast.expr]) -> bool:
    """Whether the first statement runs before all others, and nothing it reads is changed in between."""
    source = context.site.source
    block = enclosing_block(source, first)
    behind = block[block.index(first) :]
    places = [[index for index, one in enumerate(behind) if one in source.ancestors(node)] for node in nodes]
    if not all(places) or isinstance(first, ast.While):
        return False
    last = max(max(place) for place in places)
    used = {ast.unparse(n) for n in ast.walk(nodes[0]) if isinstance(n, (ast.Name, ast.Attribute))}
    # a statement without a block has read all before it writes
    before = [s for index, s in enumerate(behind[: last + 1]) if index < last or any(blocks(s))]
    return not any(targets_written(statement) & used for statement in before)


def _name_for(node: ast.expr) -> str:
    """A name for the value: `count` for sums, else what it is read from."""
    text = ast.unparse(node)
    for part, name in _NAMES.items():
        if part in text:
            return name
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr in _READS and isinstance(inner.value, ast.Name):
            return f"{inner.value.id}_value"
    return "value"
