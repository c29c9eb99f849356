"""Where the text says a dtype: in an argument, in a method's name, in a literal, where a buffer is registered."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called

DTYPES_OF_NUMBERS = {"int": "int64", "bool": "bool"}
"""What a tensor is of that is made of such numbers. Of floats it is of the default dtype, which programs may change."""
_CONVERSIONS = frozenset(("to", "type"))


def named_dtype(node: ast.AST) -> str:
    """`int64` for `torch.long`; empty for what names no dtype."""
    return knowledge().dtypes.get(node.attr, "") if isinstance(node, ast.Attribute) else ""


def dtype_argument(node: ast.Call) -> ast.expr | None:
    """What says the result's dtype: `dtype=`, or an argument of `to` and `type` that is none of a device."""
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            return keyword.value
    if called(node) in _CONVERSIONS:
        named = [argument for argument in node.args if named_dtype(argument)]
        return next(iter(named or [argument for argument in node.args if not _is_device(argument)]), None)
    return None


def _is_device(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name == "device"
    return False


def literal_dtype(node: ast.expr) -> str:
    """The dtype of a tensor that is made of literal numbers, all of one kind; empty where they are floats."""
    kinds = {*_kinds(node)}
    return DTYPES_OF_NUMBERS.get(kinds.pop(), "") if len(kinds) == 1 else ""


def _kinds(node: ast.expr) -> Iterator[str]:
    """What Python calls the kinds of the numbers in a literal; empty for what is none."""
    match node:
        case ast.List(elts=inside) | ast.Tuple(elts=inside):
            for each in inside:
                yield from _kinds(each)
        case ast.UnaryOp(op=ast.Not()):
            yield "bool"
        case ast.UnaryOp(operand=operand):  # `-True` is an integer
            yield from ("int" if kind == "bool" else kind for kind in _kinds(operand))
        case ast.Constant(value=value):
            yield type(value).__name__
        case _:
            yield ""


def class_around(context: Context) -> ast.ClassDef | None:
    """The class whose method the site stands in."""
    source, function = context.site.source, context.site.function
    return next((n for n in source.ancestors(function) if isinstance(n, ast.ClassDef)), None) if function else None


def registered_buffer(context: Context, name: str) -> tuple[Context, ast.expr] | None:
    """What the class around the site registers as its buffer `name`, and the context that this stands in."""
    owner = class_around(context)
    if owner is None:
        return None
    found = []
    for method in (statement for statement in owner.body if isinstance(statement, ast.FunctionDef)):
        for node in ast.walk(method):
            match node:
                case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=first), value, *_]):
                    if first == name:
                        found.append((replace(context, site=replace(context.site, function=method), types={}), value))
                case ast.Attribute(attr=attr, ctx=ast.Store()) if attr == name:
                    return None
    return found[0] if len(found) == 1 else None
