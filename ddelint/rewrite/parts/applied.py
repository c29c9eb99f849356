"""Calls of tensor operators, as a method or as a function, and what the code in their place needs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import is_torch
from ddelint.rewrite.reading.names import fresh_name
from ddelint.rewrite.writing.rewrites import Part, Statements


@dataclass(frozen=True, slots=True)
class Applied:
    """A call of a tensor method, or of the function of the same name."""

    node: ast.Call
    tensor: ast.expr
    arguments: tuple[ast.expr, ...]
    named: dict[str, ast.expr]

    def argument(self, position: int, name: str) -> ast.expr | None:
        """The argument at a position after the tensor, or by its name."""
        return self.arguments[position] if len(self.arguments) > position else self.named.get(name)

    def axis(self, position: int) -> int | None:
        """The dimension at a position after the tensor, or by its name: 0 where none is given, None for one unknown."""
        given = self.argument(position, "dim")
        return 0 if given is None else integer(given)


def applied(node: ast.Call) -> Applied | None:
    """`x.chunk(2)` and `torch.chunk(x, 2)` alike; None for starred arguments."""
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg is not None}
    if len(named) != len(node.keywords) or any(isinstance(argument, ast.Starred) for argument in node.args):
        return None
    if isinstance(node.func, ast.Attribute) and not is_torch(node.func.value):
        return Applied(node, node.func.value, tuple(node.args), named)
    tensor = node.args[0] if node.args else named.pop("input", None)
    return Applied(node, tensor, tuple(node.args[1:]), named) if tensor is not None else None


def integer(node: ast.expr | None) -> int | None:
    """The value of a literal integer."""
    match node:
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def is_plain(node: ast.expr) -> bool:
    """Whether an expression may stand several times: a name or an attribute."""
    return isinstance(node, (ast.Name, ast.Attribute))


def named(context: Context, node: ast.expr, base: str) -> tuple[Part, Statements]:
    """What stands for an expression that is said several times: itself, or a new name and the line that binds it."""
    if is_plain(node):
        return node, []
    name = fresh_name(context.site.source, base)
    return name, context.write.lines("{name} = {value}", name=name, value=node)


def below(context: Context, lines: Statements, changes: dict[ast.AST, Any]) -> dict[ast.AST, Any]:
    """The changes, with lines before the site's statement where there are any."""
    statement = context.site.statement
    return {statement: [*lines, statement], **changes} if lines else changes
