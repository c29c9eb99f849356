"""A tensor stands where a number is expected: read it once, explicitly."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import below
from ddelint.rewrite.reading.around import AS_EITHER, around, headers, is_int_in_eager, is_tensor, statement_of
from ddelint.rewrite.reading.kinds import Kind, Kinds, definition, is_whole
from ddelint.rewrite.reading.names import bindings, fresh_name, is_pure, names_read
from ddelint.rewrite.reading.number_uses import number_uses, uses_as_number
from ddelint.rewrite.reading.regions import bound_inside
from ddelint.rewrite.writing.rewrites import Expr, Rewrite, rewriting

_READ_BY_ITSELF = "DDE803"
"""The rule of symbols that no output carries: an operator was given a tensor, and took the number in it."""


@rewriting("explicit_item")
def explicit_item(context: Context) -> Iterator[Rewrite]:
    """`x.expand(-1, n)` with a tensor `n` → `n.item()`; `h, w = size` → `size.tolist()`."""
    kinds = Kinds(context)
    yield from _unpacked(context, kinds)
    yield from _iterated(context, kinds)
    places = list(_number_places(context, kinds))
    if not places:
        return
    yield from _at_definition(context, kinds, places, only_numbers=True)
    yield from _once_before(context, places)
    yield from _in_place(context, places)
    yield from _at_definition(context, kinds, places, only_numbers=False)


def _number_places(context: Context, kinds: Kinds) -> Iterator[ast.expr]:
    """One-element tensors of the statement that stand where Python wants a number."""
    source = context.site.source
    for node in around(context):
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
            continue
        if isinstance(getattr(node, "ctx", None), ast.Store) or not _one_element(kinds, node):
            continue
        if _wants_number(kinds, source.parents.get(node), node):
            yield node


def _one_element(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor of one number, as far as anything says; without a run, one that the finding names."""
    if kinds.context.kind == "static" and kinds.fact(node) is None:
        return False
    shape, dtype = kinds.shape(node), kinds.dtype(node)
    single = shape is None or all(size == "1" for size in shape)
    # what a tracer has read from a tensor by itself may be a float, too
    numeric = not dtype or is_whole(dtype) or (kinds.context.diagnostic.code == _READ_BY_ITSELF and shape == ())
    return single and numeric and is_tensor(kinds, node)


def _wants_number(kinds: Kinds, parent: ast.AST | None, node: ast.expr) -> bool:
    """Whether a call, slice or index takes `node` as a number: by its place, since operators take tensors elsewhere."""
    source = kinds.context.site.source
    match parent:
        case ast.Slice():
            return True
        case ast.BinOp() | ast.UnaryOp():
            return _wants_number(kinds, source.parents.get(parent), parent)
        case ast.Subscript(slice=index, value=value) if index is node:
            return kinds.of(value) is not Kind.STATIC or kinds.fact(value) is not None
        case ast.Call(func=ast.Name(id="range"), args=args):
            return node in args
        case ast.Tuple() | ast.List():
            outer = source.parents.get(parent)
            if isinstance(outer, ast.keyword):
                outer = source.parents.get(outer)
            return isinstance(outer, ast.Call) and outer.func is not parent
        case ast.Call(args=args, func=function) if node in args:
            # the first argument of a torch function is mostly the tensor that it works on
            method = isinstance(function, ast.Attribute) and is_tensor(kinds, function.value)
            return method or kinds.context.kind != "static"
        case ast.keyword():
            return True
    return False


def _message(text: str) -> str:
    return f"`{text}` is a tensor where a number is expected; one explicit `.item()` gives the compiler one symbol"


def _read(context: Context, node: ast.expr) -> Expr:
    """The number in a tensor; of what is a number already in eager, where the compiler has a tensor, that number."""
    return context.write.expr(AS_EITHER if is_int_in_eager(context, node) else "{}.item()", node)


def _in_place(context: Context, places: list[ast.expr]) -> Iterator[Rewrite]:
    segment = context.site.source.segment
    outer = [node for node in places if not any(node is not other and node in ast.walk(other) for other in places)]
    changes: dict[ast.AST, Any] = {node: _read(context, node) for node in outer}
    yield Rewrite(_message(segment(outer[0])), changes)
    if len(outer) > 1:
        for node in outer:
            yield Rewrite(_message(segment(node)), {node: changes[node]})


def _once_before(context: Context, places: list[ast.expr]) -> Iterator[Rewrite]:
    """Used several times in the statement: read before it, into a name."""
    source, write = context.site.source, context.write
    for text in dict.fromkeys(map(ast.unparse, places)):
        same = [node for node in places if ast.unparse(node) == text]
        if len(same) < 2 or not is_pure(same[0]) or names_read(same[0]) & bound_inside(headers(context.site.statement)):
            continue
        base = same[0].id if isinstance(same[0], ast.Name) else "count"
        name = fresh_name(source, f"{base}_value")
        lines = write.assigned(name, _read(context, same[0]))
        changes = below(context, lines, {node: write.expression(name) for node in same})
        yield Rewrite(_message(source.segment(same[0])), changes)


def _at_definition(context: Context, kinds: Kinds, places: list[ast.expr], *, only_numbers: bool) -> Iterator[Rewrite]:
    """`n = mask.sum()` → `n = mask.sum().item()`: first where `n` is a number at all of its several uses."""
    write = context.write
    for name in dict.fromkeys(node.id for node in places if isinstance(node, ast.Name)):
        value, uses = definition(context, name), number_uses(kinds, name)
        if value is None or not is_tensor(kinds, value) or is_int_in_eager(context, ast.Name(name)):
            continue
        changes: dict[ast.AST, Any] = {value: write.expr("{}.item()", value)}
        if only_numbers:
            if uses is None or uses.count < 2:
                continue
            needless = uses.reads if context.kind == "static" else [*uses.reads, *uses.casts]
            changes |= {node: write.expression(name) for node in needless}
        message = f"`{name}` is used as a number: reading it where it is made gives the compiler one symbol"
        yield Rewrite(message, changes)


def _unpacked(context: Context, kinds: Kinds) -> Iterator[Rewrite]:
    """`h, w = size` with a tensor of integers."""
    source = context.site.source
    statements = [context.site.statement]
    for node in around(context):
        if isinstance(node, ast.Name) and (value := _unpacked_into(context, node.id)) is not None:
            found = statement_of(source, value)
            if found is not None and found not in statements:
                statements.append(found)
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Tuple() | ast.List() as target], value=value) if _integers(kinds, value):
                reads = _reads_of_numbers(kinds, target.elts)
                if reads is not None:
                    shown = source.segment(value)
                    message = f"`{shown}` is unpacked into numbers: `.tolist()` makes one symbol of each"
                    yield Rewrite(message, {value: context.write.expr("{}.tolist()", value)} | reads)


def _unpacked_into(context: Context, name: str) -> ast.expr | None:
    """The value of the assignment that unpacks into `name`, where there is just one."""
    function = context.site.function
    if function is None:
        return None
    values = [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, (ast.Tuple, ast.List))
        and any(isinstance(inner, ast.Name) and inner.id == name for inner in ast.walk(target))
    ]
    return values[0] if len(values) == 1 else None


def _reads_of_numbers(kinds: Kinds, targets: Sequence[ast.expr]) -> dict[ast.AST, Any] | None:
    """What `n.item()` becomes once each of the names is a number: `n`.

    None where one is used as more than a number; with a run, that is for the run to show.
    """
    write, function = kinds.context.write, kinds.context.site.function
    changes: dict[ast.AST, Any] = {}
    for target in targets:
        name = target.id if isinstance(target, ast.Name) else ""
        uses = uses_as_number(kinds, name) if name and function and bindings(function, name) == 1 else None
        if uses is None and kinds.context.kind == "static":
            return None
        changes |= {read: write.expression(name) for read in uses.reads} if uses is not None else {}
    return changes


def _iterated(context: Context, kinds: Kinds) -> Iterator[Rewrite]:
    """`for n in sizes:` over a tensor, where `n` is then used as a number."""
    source = context.site.source
    function = context.site.function
    names = {node.id for node in around(context) if isinstance(node, ast.Name)}
    if function is None:
        return
    for node in ast.walk(function):
        if not isinstance(node, (ast.For, ast.comprehension)):
            continue
        bound = {inner.id for inner in ast.walk(node.target) if isinstance(inner, ast.Name)}
        if not bound & names and node is not context.site.statement:
            continue
        iterated, target = _elements(kinds, node)
        reads = _reads_of_numbers(kinds, [target]) if _integers(kinds, iterated) else None
        if reads is not None:
            message = f"the loop reads numbers from `{source.segment(iterated)}`: `.tolist()` makes one symbol of each"
            yield Rewrite(message, {iterated: context.write.expr("{}.tolist()", iterated)} | reads)


def _elements(kinds: Kinds, loop: ast.For | ast.comprehension) -> tuple[ast.expr, ast.expr]:
    """What a loop goes through, and what an element of it is called: behind `enumerate`, among others in a `zip`."""
    match loop.iter, loop.target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]), ast.Tuple(elts=[_, element]):
            return inner, element
        case ast.Call(func=ast.Name(id="zip"), args=args), ast.Tuple(elts=elements) if len(args) == len(elements):
            tensors = [pair for pair in zip(args, elements) if _integers(kinds, pair[0])]
            if len(tensors) == 1:
                return tensors[0]
    return loop.iter, loop.target


def _integers(kinds: Kinds, node: ast.expr) -> bool:
    """Whether `node` is a tensor of one dimension that holds integers."""
    shape = kinds.shape(node)
    return (shape is None or len(shape) == 1) and is_whole(kinds.dtype(node)) and is_tensor(kinds, node)
