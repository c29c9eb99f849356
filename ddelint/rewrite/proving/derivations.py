"""What an assignment to a number promises of it, by the operator that it was read from: an index is below the size.

The tables are those of the static pass (`[origins]` in rules/operators.toml). Only what no rounding, wrapping or NaN
can break is said here: indices, positions, counts of rows, what is clamped to integers, unsigned types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.rewrite.proving.relations import elements, less_one, relation, size
from ddelint.rewrite.reading.kinds import Kinds, own_arguments, tensor_argument
from ddelint.rewrite.reading.names import called

Fact = tuple[ast.Compare, str]
"""What is true, and why, in words."""


def facts(name: ast.Name, value: ast.expr, kinds: Kinds) -> Iterator[Fact]:
    """Conditions on `name`, which is bound to `value`, that hold whatever the data."""
    tensor = tensor_read(value)
    picked = _picked(tensor) if tensor is not None else None
    if picked is None:
        return
    if kinds.dtype(picked) in operators().unsigned:
        yield relation(name, ast.GtE(), 0), f"`{name.id}` is read from a tensor of an unsigned type"
    if not isinstance(picked, ast.Call):
        return
    match operators().origins.get(called(picked)):
        case "index":
            yield from _index(name, picked)
        case "positions":
            yield relation(name, ast.GtE(), 0), f"`{name.id}` is a position or a number of rows"
        case "clamped":
            yield from _clamped(name, picked)


def tensor_read(value: ast.expr) -> ast.expr | None:
    """The tensor that a number is read from: `t` of `t.item()`, `int(t)`, `int(t.item())`."""
    match value:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
            return tensor
        case ast.Call(func=ast.Name(id="int"), args=[tensor], keywords=[]):
            return tensor_read(tensor) or tensor
    return None


def _picked(tensor: ast.expr) -> ast.expr:
    """The tensor whose element it is: `t` of `t[0]`, of `t.max()`."""
    while True:
        match tensor:
            case ast.Subscript(value=inner):
                tensor = inner
            case ast.Call() if operators().origins.get(called(tensor)) == "elements":
                inner_tensor = tensor_argument(tensor)
                others = own_arguments(tensor)
                if inner_tensor is None or not all(isinstance(other, ast.Constant) for other in others):
                    return tensor
                tensor = inner_tensor
            case _:
                return tensor


def _index(name: ast.Name, call: ast.Call) -> Iterator[Fact]:
    subject = tensor_argument(call)
    if subject is None:
        return
    yield relation(name, ast.GtE(), 0), f"`{name.id}` is an index"
    own = own_arguments(call)
    given = own[0] if own else next((k.value for k in call.keywords if k.arg in ("dim", "axis")), None)
    said = f"`{name.id}` is an index into `{ast.unparse(subject)}`"
    if given is None and not call.keywords:
        yield relation(name, ast.LtE(), less_one(elements(subject))), said
    elif isinstance(given, ast.Constant) and type(given.value) is int:
        yield relation(name, ast.LtE(), less_one(size(subject, given))), said


def _clamped(name: ast.Name, call: ast.Call) -> Iterator[Fact]:
    places = operators().clamps[called(call)]
    bounds = {**dict(zip(places, own_arguments(call))), **{k.arg: k.value for k in call.keywords if k.arg in places}}
    for keyword, sign in (("min", ast.GtE()), ("max", ast.LtE())):
        match bounds.get(keyword):
            case ast.Constant(value=int() as bound) if not isinstance(bound, bool):
                yield relation(name, sign, bound), f"`{ast.unparse(call)}` is clamped"
