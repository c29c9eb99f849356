"""Classes that ask whether the tensors they are made of fit: distributions, exported without strict mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from ddelint.knowledge.operators import operators
from ddelint.sources.source import descend
from ddelint.static.domain.call import Call
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.values import Constant, Path, Tensor, Value, bare
from ddelint.static.walk.walker import Walker


def validated(walker: Walker, path: Path, call: Call) -> None:
    """Note what such a class asks where it is called, unless it is told whether to, or what is compiled gives it."""
    if not _validates(path.name, call.node):
        return
    given: list[tuple[ast.expr, Value]] = [*zip(call.nodes, call.arguments)]
    given += [(keyword.value, call.keywords[keyword.arg]) for keyword in call.node.keywords if keyword.arg]
    tensors = [(node, tensor) for node, value in given if isinstance(tensor := bare(value), Tensor)]
    asking = [(node, tensor) for node, tensor in tensors if not tensor.literal]
    if asking and not _is_given(call.node, walker.frames[0].node):
        walker.record(call.node, "truth", asking[0][1], parts=tuple(asking))


def validated_value(walker: Walker, call: Call) -> None:
    """Note what an object of numbers alone, which asked nothing when it was made, asks of a tensor that it is given."""
    function, tensor = call.node.func, bare(call.first)
    if not isinstance(function, ast.Attribute) or function.attr not in operators().regions["validating_methods"]:
        return
    maker = _maker(walker, function.value)
    if maker is None or not isinstance(tensor, Tensor) or not _validates(walker.index.dotted(maker.func), maker):
        return
    parts = (*maker.args, *(keyword.value for keyword in maker.keywords))
    if all(_is_number(bare(walker.value_of(part, call.state))) for part in parts):
        walker.record(call.node, "truth", tensor, parts=((call.nodes[0], tensor),))


def _validates(name: str, call: ast.Call) -> bool:
    """Whether a class of this dotted name asks, as it is called."""
    known = operators().regions
    if name.rpartition(".")[2] not in known["validating_classes"]:
        return False
    if not any(name.startswith(f"{library}.") for library in known["validating_libraries"]):
        return False
    return not any(keyword.arg is None or keyword.arg in known["validating_arguments"] for keyword in call.keywords)


def _is_number(value: Value) -> bool:
    """Whether the compiler knows a value, so that nothing was asked of it."""
    return value.literal if isinstance(value, Tensor) else isinstance(value, Constant)


def _maker(walker: Walker, node: ast.expr) -> ast.Call | None:
    """The call that makes an object, where a function, or the module, makes it once."""
    if not isinstance(node, ast.Name):
        return node if isinstance(node, ast.Call) else None
    bound = [part.value for part in descend(walker.frames[-1].node) if _binds(part, node.id)]
    made = bound[0] if len(bound) == 1 else walker.index.constants.get(node.id) if not bound else None
    return made if isinstance(made, ast.Call) else None


def _binds(node: ast.AST, name: str) -> TypeGuard[ast.Assign]:
    return isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets)


def _is_given(call: ast.Call, root: ast.AST) -> bool:
    """Whether what is compiled gives the object to its caller, and so is no graph: by a name, or among other things."""
    if not isinstance(root, FunctionNode):
        return False
    statements = list(descend(root))
    given = {part for node in statements if isinstance(node, ast.Return) for part in _handed_on(node.value)}
    names = {part.id for part in given if isinstance(part, ast.Name)}
    bound = [node for node in statements if isinstance(node, ast.Assign)]
    while True:
        more = [node for node in bound if any(isinstance(t, ast.Name) and t.id in names for t in node.targets)]
        if not more:
            return call in given
        bound = [node for node in bound if node not in more]
        parts = {part for node in more for part in _handed_on(node.value)}
        given |= parts
        names |= {part.id for part in parts if isinstance(part, ast.Name)}


def _handed_on(node: ast.expr | None) -> Iterator[ast.expr]:
    """What an expression gives, or holds: not what it asks a method of, or computes with."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _handed_on(part)
        case ast.Dict(values=parts):
            for part in parts:
                yield from _handed_on(part)
        case ast.IfExp(body=body, orelse=orelse):
            yield from _handed_on(body)
            yield from _handed_on(orelse)
        case ast.Call(func=function, args=args, keywords=keywords):
            yield node
            if not isinstance(function, ast.Attribute):  # `dict(q=q)`, `Independent(q, 1)`, a record
                for part in (*args, *(keyword.value for keyword in keywords)):
                    yield from _handed_on(part)
        case ast.expr():
            yield node
