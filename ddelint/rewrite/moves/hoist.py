"""The same value read twice is two symbols; read once and named, it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import (
    called,
    draws_random,
    enclosing_block,
    fresh_name,
    is_pure,
    names_read,
    targets_written,
    text_of,
)
from ddelint.rewrite.proposals import function_statements, headers, lines_before, offer, statement_of

_READS = frozenset(("item", "tolist", "nonzero", "masked_select", "unique", "argwhere"))


@move("hoist_item")
def hoist_item(context: Context) -> Iterator[Candidate]:
    """`mask.sum().item()` in several places of a function → read once into a name."""
    function = context.site.function
    if function is None:
        return
    source = context.site.source
    for text, nodes in _repeated(context, function).items():
        first = statement_of(source, nodes[0])
        if first is None or not _reaches_all(context, first, nodes):
            continue
        message = f"`{text}` is read {len(nodes)} times, which makes unrelated symbols; read once, it is one"
        match first:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is nodes[0]:
                if _assigned_once(function, name):
                    changes = [(node, name) for node in nodes[1:]]
                    yield from offer(context, "hoist_item", Claim.EQUIVALENT, message, changes)
                continue
        name = fresh_name(source, _name_for(nodes[0]))
        line = lines_before(source, first, [f"{name} = {text_of(source, nodes[0])}"])
        if line is not None:
            changes = [(node, name) for node in nodes]
            yield from offer(context, "hoist_item", Claim.EQUIVALENT, message, changes, edits=[line])


def _repeated(context: Context, function: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, list[ast.expr]]:
    """Reads that stand at least twice in a function, outermost ones only, in source order."""
    found: dict[str, list[ast.expr]] = {}
    for statement in function_statements(function):
        for header in headers(statement):
            for node in _outermost_reads(context, header):
                found.setdefault(ast.unparse(node), []).append(node)
    repeated = {text: nodes for text, nodes in found.items() if len(nodes) > 1}
    for nodes in repeated.values():
        nodes.sort(key=lambda node: (node.lineno, node.col_offset))
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
    functions = [
        node
        for node in ast.walk(context.site.source.tree)
        if isinstance(node, ast.FunctionDef) and node.name == name and node is not context.site.function
    ]
    if len(functions) != 1:
        return False
    function = functions[0]
    reads = any(isinstance(node, ast.Call) and called(node) in _READS for node in ast.walk(function))
    parameters = {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
    changed = {text for statement in function_statements(function) for text in targets_written(statement)}
    local = {text for text in changed if text.isidentifier()} - parameters
    return reads and is_pure(function) and not (changed - local) and not draws_random(function)


def _reaches_all(context: Context, first: ast.stmt, nodes: list[ast.expr]) -> bool:
    """Whether the first statement runs before all others, and nothing it reads is changed in between."""
    source = context.site.source
    block = enclosing_block(source, first)
    loops = (ast.For, ast.While, ast.AsyncFor)
    behind = block[block.index(first) :]
    for node in nodes:
        chain = [node, *source.ancestors(node)]
        if not any(statement in chain for statement in behind):
            return False
    if isinstance(first, (ast.While,)):
        return False
    last = max(index for index, s in enumerate(behind) if any(s in [n, *source.ancestors(n)] for n in nodes))
    used = names_read(nodes[0])
    chains = {ast.unparse(n) for n in ast.walk(nodes[0]) if isinstance(n, (ast.Name, ast.Attribute))}
    for index, statement in enumerate(behind[: last + 1]):
        final = index == last and not isinstance(statement, loops)
        written = set() if final and not _blocks(statement) else targets_written(statement)
        if written & (used | chains):
            return False
    return True


def _blocks(statement: ast.stmt) -> bool:
    return isinstance(getattr(statement, "body", None), list)


def _assigned_once(function: ast.AST, name: str) -> bool:
    stores = [
        n for n in ast.walk(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    return len(stores) == 1


def _name_for(node: ast.expr) -> str:
    """A name for the value: `count` for sums, else what it is read from."""
    text = ast.unparse(node)
    if ".sum()" in text or "count" in text:
        return "count"
    if ".max(" in text:
        return "largest"
    if ".min(" in text:
        return "smallest"
    for inner in ast.walk(node):
        if isinstance(inner, ast.Attribute) and inner.attr in _READS and isinstance(inner.value, ast.Name):
            return f"{inner.value.id}_value"
    return "value"
