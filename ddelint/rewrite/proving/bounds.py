"""A number that another never exceeds, as the program itself states it: `clamp`, `min`, a remainder, a check."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.relations import less_one
from ddelint.rewrite.reading.kinds import Kinds, definition, own_arguments, tensor_argument
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called, is_pure

_DEEPEST = 8


def stated_bound(context: Context, node: ast.expr) -> ast.expr | None:
    """A static integer that `node` (a number, or a tensor of one) never exceeds; None where none is said.

    `K` of `x.clamp(max=K).item()`, `min(n, K)`, `n % (K + 1)`, and of a `torch._check(n <= K)` before the site.
    """
    return next(_bounds(context, node, 0), None)


def _bounds(context: Context, node: ast.expr, depth: int) -> Iterator[ast.expr]:
    if depth > _DEEPEST:
        return
    match node:
        case ast.Name(id=name):
            defined = definition(context, name)
            if defined is not None:
                yield from _bounds(context, defined, depth + 1)
            yield from _checked(context, name)
        case ast.BinOp(op=ast.Mod(), right=modulus) if _is_static(context, modulus):
            yield less_one(modulus)
        case ast.Call():
            yield from _of_call(context, node, depth)


def _of_call(context: Context, node: ast.Call, depth: int) -> Iterator[ast.expr]:
    table, name = knowledge().bounds, called(node)
    subject = tensor_argument(node)
    arguments = [*([subject] if subject is not None else []), *own_arguments(node)]
    if arguments and (name in table.keeps or (name in table.picks and len(arguments) == 1 and not node.keywords)):
        yield from _bounds(context, arguments[0], depth + 1)
    elif name in table.least and len(arguments) > 1 and not node.keywords:
        yield from (argument for argument in arguments if _is_static(context, argument))
        for argument in arguments:
            yield from _bounds(context, argument, depth + 1)
    elif name in table.upper:
        limits = [*arguments[table.upper[name] :][:1], *(k.value for k in node.keywords if k.arg == "max")]
        yield from (limit for limit in limits if _is_static(context, limit))


def _is_static(context: Context, node: ast.expr) -> bool:
    """Whether a run saw a plain integer here: a constant, a static size, an attribute, or arithmetic of these."""
    kinds = Kinds(context)
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.BinOp(left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv()):
            return _is_static(context, left) and _is_static(context, right)
        case (
            ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=index)
            | ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[index])
        ):
            return _is_static_size(kinds.shape(tensor), index)
    fact = kinds.fact(node)
    return fact is not None and fact.kind == "int" and is_pure(node)


def _is_static_size(shape: tuple[str, ...] | None, index: ast.expr) -> bool:
    try:
        position = ast.literal_eval(index)
    except ValueError:
        return False
    return shape is not None and type(position) is int and position < len(shape) and shape[position].isdigit()


def _checked(context: Context, name: str) -> Iterator[ast.expr]:
    """`K` of a `torch._check(name <= K)` before the site."""
    function, checks = context.site.function, set(knowledge().checks.values())
    for node in ast.walk(function) if function is not None else ():
        match node:
            case ast.Call(args=[ast.Compare(left=left, ops=[ast.LtE() | ast.Lt()], comparators=[limit]), *_]):
                said = called(node) in checks and node.lineno < context.site.statement.lineno
                if said and isinstance(left, ast.Name) and left.id == name and _is_static(context, limit):
                    yield limit
