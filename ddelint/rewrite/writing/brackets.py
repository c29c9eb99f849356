"""Where an expression needs parentheses to keep its meaning: libcst prints what it is given, and adds none itself.

Python's grammar is the source of the levels (https://docs.python.org/3/reference/expressions.html#operator-precedence);
tests/rewrite/writing/test_brackets.py holds every operator in every place against `ast`.
"""

from __future__ import annotations

import ast
from dataclasses import fields
from enum import IntEnum
from typing import Any, TypeVar

import libcst as cst

from ddelint.sources.source import SourceFile

Node = TypeVar("Node", bound=cst.CSTNode)


class Binding(IntEnum):
    """How tightly an expression binds; a place asks for at least its own level."""

    NAMED = -2
    """Assignment expressions: nowhere without parentheses of their own."""
    LOOSE = -1
    """`yield`, and tuples without parentheses: the whole value of a statement, or an index."""
    ANY = 0
    """An argument of a call, the right side of an assignment."""
    CHOICE = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARED = 5
    BITWISE_OR = 6
    BITWISE_XOR = 7
    BITWISE_AND = 8
    SHIFTED = 9
    ARITHMETIC = 10
    TERM = 11
    SIGNED = 12
    POWER = 13
    AWAITED = 14
    NUMBER = 15
    """A literal number: a dot behind it would belong to it."""
    PRIMARY = 16
    """Something that `.item()` can be appended to."""


_BINARY = {
    "BitOr": Binding.BITWISE_OR,
    "BitXor": Binding.BITWISE_XOR,
    "BitAnd": Binding.BITWISE_AND,
    **dict.fromkeys(("LeftShift", "RightShift", "LShift", "RShift"), Binding.SHIFTED),
    **dict.fromkeys(("Add", "Subtract", "Sub"), Binding.ARITHMETIC),
    **dict.fromkeys(("Power", "Pow"), Binding.POWER),
}
"""Operators by what libcst and `ast` call them; all others are those of terms."""
_LEVELS: dict[type[cst.CSTNode], Binding] = {
    cst.NamedExpr: Binding.NAMED,
    **dict.fromkeys((cst.Yield, cst.Tuple, cst.StarredElement), Binding.LOOSE),
    **dict.fromkeys((cst.Lambda, cst.IfExp), Binding.CHOICE),
    cst.Comparison: Binding.COMPARED,
    cst.Await: Binding.AWAITED,
    **dict.fromkeys((cst.Integer, cst.Float, cst.Imaginary), Binding.NUMBER),
}


def binding(node: cst.CSTNode) -> int:
    """How tightly `node` binds as it stands."""
    return Binding.PRIMARY if getattr(node, "lpar", ()) else _own(node)


def _own(node: cst.CSTNode) -> int:
    """How tightly `node` binds without its parentheses."""
    match node:
        case cst.BooleanOperation(operator=operator):
            return Binding.OR if isinstance(operator, cst.Or) else Binding.AND
        case cst.UnaryOperation(operator=operator):
            return Binding.NOT if isinstance(operator, cst.Not) else Binding.SIGNED
        case cst.BinaryOperation(operator=operator):
            return _BINARY.get(type(operator).__name__, Binding.TERM)
    return _LEVELS.get(type(node), Binding.PRIMARY)


def place(parent: cst.CSTNode, field: str) -> int:
    """How tightly an expression must bind to stand in a field of `parent`."""
    match parent, field:
        case ((cst.Attribute() | cst.Subscript()), "value") | (cst.Call(), "func"):
            return Binding.PRIMARY
        case cst.Await(), _:
            return Binding.NUMBER
        case cst.BinaryOperation(operator=cst.Power()), "left":
            return Binding.AWAITED
        case cst.BinaryOperation(operator=cst.Power()), _:
            return Binding.SIGNED
        case cst.BinaryOperation(), _:
            return _own(parent) + (field == "right")
        case ((cst.BooleanOperation() | cst.UnaryOperation()), _):
            # a chain of one operator reads alike however it is grouped, and `ast` has it flat
            return _own(parent)
        case (cst.For(), _) | (cst.CompFor(), "target"):
            return Binding.LOOSE
        case (cst.IfExp(), "test" | "body") | (cst.CompIf() | cst.CompFor(), _):
            return Binding.OR
        case ((cst.IfExp() | cst.Lambda()), _):
            return Binding.CHOICE
        case ((cst.Comparison() | cst.ComparisonTarget() | cst.StarredElement() | cst.StarredDictElement()), _):
            return Binding.BITWISE_OR
        case cst.Arg(star=star), "value" if star == "*":
            return Binding.ANY
        case cst.FormattedStringExpression(), _:
            return Binding.OR
        case ((cst.Assign() | cst.AssignTarget() | cst.Return() | cst.Index() | cst.AugAssign() | cst.Expr()), _):
            return Binding.LOOSE
    return Binding.ANY


def bracketed(node: Node) -> Node:
    """`node` in parentheses."""
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def fitted(parent: Node) -> Node:
    """`parent` with parentheses around those of its expressions that need them where they stand."""
    changes = {}
    for field in fields(parent):
        child = getattr(parent, field.name)
        if isinstance(child, cst.BaseExpression) and binding(child) < place(parent, field.name):
            changes[field.name] = bracketed(child)
    return parent.with_changes(**changes) if changes else parent


def runs_over(node: cst.CSTNode) -> bool:
    """Whether an expression breaks its line outside of all brackets: it can only stand inside some."""
    if isinstance(node, cst.Yield):  # whose text by itself is no expression
        given = node.value.item if isinstance(node.value, cst.From) else node.value
        return given is not None and runs_over(given)
    text = cst.Module([]).code_for_node(node)
    if "\n" not in text:
        return False
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return True
    return False


class Enclosing(cst.CSTTransformer):
    """Puts parentheses around expressions that break their lines where nothing else holds them together."""

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        if not isinstance(updated_node, _HOLDING_NOTHING):
            return updated_node
        inner = {field.name: getattr(updated_node, field.name) for field in fields(updated_node)}
        return updated_node.with_changes(
            **{name: bracketed(e) for name, e in inner.items() if isinstance(e, cst.BaseExpression) and runs_over(e)}
        )


_HOLDING_NOTHING = (
    cst.BaseSmallStatement,
    cst.BaseCompoundStatement,
    cst.AssignTarget,
    cst.Annotation,
    cst.Decorator,
    cst.WithItem,
)


def place_of(source: SourceFile, node: ast.expr) -> int:
    """How tightly what takes the place of a node of the source must bind."""
    match source.parents.get(node):
        case ast.Attribute() | ast.FormattedValue():
            return Binding.PRIMARY
        case ast.Call(func=inner) | ast.Subscript(value=inner) if inner is node:
            return Binding.PRIMARY
        case ast.Await():
            return Binding.NUMBER
        case ast.BinOp(op=ast.Pow(), left=left):
            return Binding.AWAITED if left is node else Binding.SIGNED
        case ast.BinOp(op=operator, right=right):
            return _BINARY.get(type(operator).__name__, Binding.TERM) + (right is node)
        case ast.UnaryOp(op=operator):
            return Binding.NOT if isinstance(operator, ast.Not) else Binding.SIGNED
        case ast.Compare() | ast.Starred():
            return Binding.BITWISE_OR
        case ast.BoolOp(op=operator):
            return Binding.OR + 1 if isinstance(operator, ast.Or) else Binding.AND + 1
        case ast.comprehension(target=target) if target is node:
            return Binding.LOOSE
        case ast.IfExp() | ast.comprehension():
            return Binding.OR
        case ast.Lambda():
            return Binding.CHOICE
    return Binding.ANY
