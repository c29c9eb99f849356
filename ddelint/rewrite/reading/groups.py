"""Which numbers a loop over the groups of some ids goes through, in the spellings that there are for it."""

from __future__ import annotations

import ast

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import read_from
from ddelint.rewrite.reading.kinds import definition, is_torch

_WRAPPERS = frozenset(("list", "set", "sorted", "tuple"))
_CONVERSIONS = frozenset(("tolist", "cpu", "detach", "numpy", "long", "int", "flatten", "view", "reshape", "unbind"))
_DEEPEST = 8


def distinct_ids(context: Context, node: ast.expr) -> ast.expr | None:
    """The ids whose distinct values `node` goes through: `ids.unique()`, `set(ids.tolist())`, `range(ids.max() + 1)`.

    None where it goes through anything else.
    """
    return _distinct(context, node, False, 0)


def _distinct(context: Context, node: ast.expr, once: bool, depth: int) -> ast.expr | None:
    """`once`: what has been read so far of the expression leaves each value only once."""
    if depth > _DEEPEST:
        return None
    match node:
        case ast.Name(id=name):
            defined = definition(context, name)
            return _distinct(context, defined, once, depth + 1) if defined is not None else None
        case ast.Call(func=ast.Name(id="range"), args=[bound], keywords=[]):
            return _largest(context, bound)
        case ast.Call(func=ast.Name(id=wrapper), args=[inner], keywords=[]) if wrapper in _WRAPPERS:
            return _distinct(context, inner, once or wrapper == "set", depth + 1)
        case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id="int"), inner]):
            return _distinct(context, inner, once, depth + 1)
        case ast.Call(func=ast.Attribute(attr="unique" | "unique_consecutive") as function, args=arguments):
            if any(keyword.arg not in {"sorted", "dim"} for keyword in node.keywords):
                return None  # gives a tuple
            return arguments[0] if arguments and not _is_value(function.value) else function.value
        case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _CONVERSIONS and _is_value(inner):
            if attr == "tolist" and once:
                return inner
            return _distinct(context, inner, once, depth + 1)
    return None


def _largest(context: Context, bound: ast.expr) -> ast.expr | None:
    """`ids` of `int(ids.max()) + 1`, in the spellings of a number."""
    match read_from(context, bound):
        case ast.BinOp(left=most, op=ast.Add(), right=ast.Constant(value=1)):
            match read_from(context, most):
                case ast.Call(func=ast.Attribute(value=owner, attr="max" | "amax"), args=given, keywords=[]):
                    values = given if is_torch(owner) else [owner, *given]
                    return values[0] if len(values) == 1 else None
    return None


def _is_value(node: ast.expr) -> bool:
    """Whether a method's owner is a value, no module such as `torch` or `np`."""
    return not (is_torch(node) or (isinstance(node, ast.Name) and node.id in {"np", "numpy"}))
