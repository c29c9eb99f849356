"""Conditions over input sizes, as text (`tokens.shape[0] == mask.shape[0]`): read, evaluated, negated, put simply.

They are text because they cross processes and are printed; only what `read` knows is ever evaluated.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.nouns.comparisons import OPPOSITE
from ddelint.shapes.places import identifier, is_place

Sizes = Mapping[str, int]
"""The name of an input dimension (`tokens.shape[0]`) → its size."""
Evaluate = Callable[[Sizes], Any]

_MOST_POWER = 8
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a / b,
    ast.Mod: lambda a, b: a % b,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
}
_CALLS: dict[str, Callable[..., Any]] = {
    "max": max,
    "min": min,
    "abs": abs,
    "int": int,
    "round": round,
    "floor": math.floor,
    "ceil": math.ceil,
}


class Unreadable(Exception):
    """A condition that is no arithmetic over input sizes."""


@dataclass(frozen=True, slots=True, eq=False)
class Fact:
    """A condition that has been read."""

    text: str
    node: ast.expr
    names: frozenset[str]
    """The input dimensions in it."""
    evaluate: Evaluate

    def holds(self, sizes: Sizes) -> bool | None:
        """Whether it is true of these sizes; None where it has no value for them (a division by zero)."""
        try:
            return bool(self.evaluate(sizes))
        except (ArithmeticError, KeyError, ValueError):
            return None


@cache
def read(text: str) -> Fact:
    """The condition or number behind a text. Raises Unreadable."""
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise Unreadable(text) from error
    names: set[str] = set()
    evaluate = _compiled(node, names)
    return Fact(text, node, frozenset(names), evaluate)


def is_readable(text: str) -> bool:
    """Whether `read` knows what a text says."""
    try:
        read(text)
    except Unreadable:
        return False
    return True


def size_name(node: ast.expr) -> str | None:
    """`tokens.shape[0]` where a node says that; None for anything else."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=place, attr="shape"), slice=ast.Constant(value=int(index))):
            return f"{ast.unparse(place)}.shape[{index}]" if is_place(place) else None
    return None


def with_words(text: str, words: Mapping[str, str]) -> str:
    """A condition with another expression for each size that `words` has one for."""

    class Said(ast.NodeTransformer):
        def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
            name = size_name(node)
            return node if name is None or name not in words else ast.parse(words[name], mode="eval").body

    return ast.unparse(Said().visit(ast.parse(text, mode="eval").body))


def unused(wanted: str, taken: Mapping[str, object]) -> str:
    """`wanted`, with a number where that name is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name


def dimension_of(name: str) -> tuple[str, int]:
    """`tokens.shape[0]` → (`tokens`, 0): where the tensor stands, and which of its dimensions."""
    parameter, _, index = name.rpartition(".shape[")
    return parameter, int(index[:-1])


def variable_for(name: str) -> str:
    """What a size is called that the program has no name for: `tokens.shape[0]` → `tokens_0`."""
    place, index = dimension_of(name)
    return f"{identifier(place)}_{index}"


def _compiled(node: ast.expr, names: set[str]) -> Evaluate:
    name = size_name(node)
    if name is not None:
        names.add(name)
        return lambda sizes: sizes[name]
    match node:
        case ast.Constant(value=int(value) | float(value)):
            return lambda sizes: value
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            operand = _compiled(inner, names)
            return lambda sizes: -operand(sizes)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            operand = _compiled(inner, names)
            return lambda sizes: not operand(sizes)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if 0 <= power <= _MOST_POWER:
            base = _compiled(left, names)
            return lambda sizes: base(sizes) ** power
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATIONS:
            operation, first, second = OPERATIONS[type(op)], _compiled(left, names), _compiled(right, names)
            return lambda sizes: operation(first(sizes), second(sizes))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            comparison, first, second = COMPARISONS[type(op)], _compiled(left, names), _compiled(right, names)
            return lambda sizes: comparison(first(sizes), second(sizes))
        case ast.BoolOp(op=op, values=values):
            parts = [_compiled(value, names) for value in values]
            combine = all if isinstance(op, ast.And) else any
            return lambda sizes: combine(part(sizes) for part in parts)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=arguments, keywords=[]):
            if called in _CALLS and arguments:
                function, given = _CALLS[called], [_compiled(argument, names) for argument in arguments]
                return lambda sizes: function(*(one(sizes) for one in given))
    raise Unreadable(ast.unparse(node))


def negated(text: str) -> str:
    """The opposite of a condition."""
    return ast.unparse(_negated(read(text).node))


def _negated(node: ast.expr) -> ast.expr:
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return ast.Compare(left, [OPPOSITE[type(op)]()], [right])
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return inner
        case ast.Constant(value=value):
            return ast.Constant(not value)
        case ast.BoolOp(op=ast.And(), values=values):
            return ast.BoolOp(ast.Or(), [_negated(value) for value in values])
        case ast.BoolOp(op=ast.Or(), values=values):
            return ast.BoolOp(ast.And(), [_negated(value) for value in values])
    return ast.UnaryOp(ast.Not(), node)


def as_true(text: str, truth: bool) -> str:
    """What holds where a condition has come out as `truth`."""
    return text if truth else negated(text)


def numbers_in(facts: Iterable[Fact]) -> set[int]:
    """The integers that conditions mention."""
    return {
        node.value
        for fact in facts
        for node in ast.walk(fact.node)
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and _is_number(node, fact)
    }


def _is_number(node: ast.Constant, fact: Fact) -> bool:
    """Whether a constant is a number of its own, not the index in `x.shape[1]`."""
    return not any(isinstance(parent, ast.Subscript) and parent.slice is node for parent in ast.walk(fact.node))


def moduli_in(facts: Iterable[Fact]) -> set[int]:
    """The integers that conditions divide by."""
    return {
        node.right.value
        for fact in facts
        for node in ast.walk(fact.node)
        if isinstance(node, ast.BinOp)
        and isinstance(node.op, (ast.Mod, ast.FloorDiv))
        and isinstance(node.right, ast.Constant)
        and isinstance(node.right.value, int)
        and node.right.value > 0
    }
