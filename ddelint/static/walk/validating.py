"""Classes that ask whether the tensors they are made of fit: distributions, exported without strict mode."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.knowledge.operators import operators
from ddelint.sources.source import descend
from ddelint.static.domain.call import Call
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.values import Path, Tensor, Value, bare
from ddelint.static.walk.walker import Walker


def validated(walker: Walker, path: Path, call: Call) -> None:
    """Note what such a class asks where it is called, unless it is told whether to, or what is compiled gives it."""
    known = operators().regions
    if path.name.rpartition(".")[2] not in known["validating_classes"]:
        return
    if not any(path.name.startswith(f"{library}.") for library in known["validating_libraries"]):
        return
    if any(keyword.arg is None or keyword.arg in known["validating_arguments"] for keyword in call.node.keywords):
        return
    given: list[tuple[ast.expr, Value]] = [*zip(call.nodes, call.arguments)]
    given += [(keyword.value, call.keywords[keyword.arg]) for keyword in call.node.keywords if keyword.arg]
    tensors = [(node, tensor) for node, value in given if isinstance(tensor := bare(value), Tensor)]
    asking = [(node, tensor) for node, tensor in tensors if not tensor.literal]
    if asking and not _is_given(call.node, walker.frames[0].node):
        walker.record(call.node, "truth", asking[0][1], parts=tuple(asking))


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
