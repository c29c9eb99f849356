"""Plain tests of one thing, `self.training` or `mask is None`, and what binds it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddelint.knowledge.operators import dotted_name
from ddelint.sources.source import descend


def switch_of(test: ast.expr) -> tuple[str, bool] | None:
    """What a plain test is about (`walker.training`, `mask is None`), and whether it holds where that does."""
    positive = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]):
            chain = dotted_name(left)
            return (f"{chain} is None", isinstance(operator, ast.Is) is positive) if chain else None
    chain = dotted_name(test)
    return (chain, positive) if chain else None


class Bound:
    """The names and attribute chains that parts of a program bind, looked for when somebody asks."""

    def __init__(walker, parts: Iterable[ast.AST]) -> None:
        walker._waiting = [*parts]
        walker._chains: set[str] = set()

    def add(walker, parts: Iterable[ast.AST]) -> None:
        """More statements, or tests."""
        walker._waiting += parts

    def holds(walker, chain: str) -> bool:
        """Whether one of them binds it."""
        while walker._waiting:
            for part in descend(walker._waiting.pop()):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                    walker._chains.add(dotted_name(part))
        return chain in walker._chains
