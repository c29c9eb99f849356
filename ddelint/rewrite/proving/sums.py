"""An integer as a sum of what its text names: names stand for what they were given, sizes have one spelling."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.proving.linear import Sum, name, number
from ddelint.rewrite.proving.relations import parsed, size
from ddelint.rewrite.reading.kinds import definition
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bindings, is_pure, names_read

_DEEPEST = 8


@dataclass(frozen=True)
class Sums:
    """Sums in one function. `given`: what further names stand for."""

    context: Context
    given: Mapping[str, ast.expr]

    def of(self, node: ast.expr, depth: int = 0) -> Sum:
        """`node` as a sum; by its own text where it is no sum of anything else."""
        match node:
            case ast.Constant(value=int() as value) if not isinstance(value, bool):
                return number(value)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.of(operand, depth).times(Fraction(-1))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.of(left, depth) + self.of(right, depth)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return self.of(left, depth) - self.of(right, depth)
            case ast.Name(id=called) if depth < _DEEPEST:
                given = self.given.get(called) or definition(self.context, called)
                if given is not None and (called in self.given or self._stays(given)) and _is_sum(given):
                    return self.of(given, depth + 1)
            case ast.Call(func=ast.Attribute(value=tensor, attr="size"), args=[dimension], keywords=[]):
                return self._size(tensor, dimension)
            case ast.Call(func=ast.Name(id="len"), args=[tensor], keywords=[]):
                return self._size(tensor, ast.Constant(0))
            case ast.Subscript(value=ast.Attribute(value=tensor, attr="shape"), slice=dimension):
                return self._size(tensor, dimension)
        return name(ast.unparse(node))

    def size(self, tensor: ast.expr, dimension: int) -> Sum:
        """How long a tensor is."""
        return self._size(tensor, ast.Constant(dimension))

    def _size(self, tensor: ast.expr, dimension: ast.expr) -> Sum:
        while True:
            match tensor:
                case ast.Call(func=ast.Attribute(value=inner, attr=attr), args=[], keywords=[]) if (
                    attr in knowledge().elementwise
                ):
                    tensor = inner
                case _:
                    return name(ast.unparse(size(tensor, dimension)))

    def _stays(self, value: ast.expr) -> bool:
        """Whether what a value is made of is the same throughout the function."""
        function = self.context.site.function
        if function is None or not is_pure(value):
            return False
        attributes = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
        return all(bindings(function, text) <= 1 for text in names_read(value)) and not any(
            isinstance(node, ast.Attribute) and node.attr in attributes and not isinstance(node.ctx, ast.Load)
            for node in ast.walk(function)
        )


def alone(found: Sum) -> ast.expr | None:
    """The one thing, or the number, that a sum comes to; None where it is several."""
    match [*found.factors.items()]:
        case []:
            return ast.Constant(int(found.constant))
        case [(text, factor)] if factor == 1 and not found.constant:
            return parsed(text)
    return None


def _is_sum(value: ast.expr) -> bool:
    """Whether a value says more of a number than its name does: not what is read from data, which has one name."""
    match value:
        case ast.Constant(value=int()) | ast.BinOp(op=ast.Add() | ast.Sub()) | ast.Name() | ast.Attribute():
            return True
        case ast.UnaryOp(op=ast.USub()) | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case ast.Call(func=ast.Attribute(attr="size"), args=[_]) | ast.Call(func=ast.Name(id="len"), args=[_]):
            return True
    return False
