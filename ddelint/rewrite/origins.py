"""What an assignment to a number promises of it, by the operator that it was read from: an index is below the size.

The tables are those of the static pass (`[origins]` in rules/operators.toml). Only what no rounding, wrapping or NaN
can break is said here: indices, positions, counts of rows, what is clamped to integers, unsigned types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.operators import operators
from ddelint.rewrite.expressions import called
from ddelint.rewrite.kinds import Kinds, tensor_argument

Fact = tuple[str, str]
"""What is true, as a condition, and why, in words."""


def facts(name: str, value: ast.expr, kinds: Kinds) -> Iterator[Fact]:
    """Conditions on `name`, which is bound to `value`, that hold whatever the data."""
    tensor = _read(value)
    picked = _picked(tensor) if tensor is not None else None
    if picked is None:
        return
    if kinds.dtype(picked) in operators().unsigned:
        yield f"{name} >= 0", f"`{name}` is read from a tensor of an unsigned type"
    if not isinstance(picked, ast.Call):
        return
    match operators().origins.get(called(picked)):
        case "index":
            yield from _index(name, picked)
        case "positions":
            yield f"{name} >= 0", f"`{name}` is a position or a number of rows"
        case "clamped":
            yield from _clamped(name, picked)


def _read(value: ast.expr) -> ast.expr | None:
    """The tensor that a number is read from."""
    match value:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[], keywords=[]):
            return tensor
        case ast.Call(func=ast.Name(id="int"), args=[tensor], keywords=[]):
            return _read(tensor) or tensor
    return None


def _picked(tensor: ast.expr) -> ast.expr:
    """The tensor whose element it is: `t` of `t[0]`, of `t.max()`."""
    while True:
        match tensor:
            case ast.Subscript(value=inner):
                tensor = inner
            case ast.Call() if operators().origins.get(called(tensor)) == "elements":
                inner_tensor = tensor_argument(tensor)
                others = [argument for argument in tensor.args if argument is not inner_tensor]
                if inner_tensor is None or any(not isinstance(other, ast.Constant) for other in others):
                    return tensor
                tensor = inner_tensor
            case _:
                return tensor


def _index(name: str, call: ast.Call) -> Iterator[Fact]:
    subject = tensor_argument(call)
    if subject is None:
        return
    text = ast.unparse(subject)
    yield f"{name} >= 0", f"`{name}` is an index"
    own = [argument for argument in call.args if argument is not subject]
    given = own[0] if own else next((k.value for k in call.keywords if k.arg in ("dim", "axis")), None)
    said = f"`{name}` is an index into `{text}`"
    if given is None and not call.keywords:
        yield f"{name} <= ({text}).numel() - 1", said
    elif isinstance(given, ast.Constant) and type(given.value) is int:
        yield f"{name} <= ({text}).shape[{given.value}] - 1", said


def _clamped(name: str, call: ast.Call) -> Iterator[Fact]:
    subject = tensor_argument(call)
    own = [argument for argument in call.args if argument is not subject]
    places = operators().clamps[called(call)]
    bounds = {**dict(zip(places, own)), **{k.arg: k.value for k in call.keywords if k.arg in places}}
    for keyword, sign in (("min", ">="), ("max", "<=")):
        match bounds.get(keyword):
            case ast.Constant(value=int() as bound) if not isinstance(bound, bool):
                yield f"{name} {sign} {bound}", f"`{ast.unparse(call)}` is clamped"
