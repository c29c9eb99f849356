"""What the tests say on the way to a place: behind `if x is None: return`, `x` is not None."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddelint.sources.source import SourceFile

Says = Callable[[ast.expr, str, bool], bool]
"""Whether a test with this outcome says something of a value, which is given as `ast.dump` writes it.

Of tests without `and`, `or` and `not`."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_told_apart(source: SourceFile, node: ast.expr, says: Says) -> bool:
    """Whether `node` is only reached where a test has said the like of it, by `says`."""
    wanted = ast.dump(node)
    child: ast.AST = node
    for parent in source.ancestors(node):
        match parent:
            case ast.BoolOp(op=ast.And(), values=values):
                if any(_says(says, value, wanted, True) for value in values[: _index(values, child)]):
                    return True
            case ast.BoolOp(op=ast.Or(), values=values):
                if any(_says(says, value, wanted, False) for value in values[: _index(values, child)]):
                    return True
            case ast.If(test=test, body=body) | ast.While(test=test, body=body):
                if child is not test and _says(says, test, wanted, child in body):
                    return True
            case ast.IfExp(test=test, body=body):
                if child is not test and _says(says, test, wanted, child is body):
                    return True
        if isinstance(child, ast.stmt) and any(_excludes(before, wanted, says) for before in _siblings(parent, child)):
            return True
        if isinstance(parent, _Function):
            return False
        child = parent
    return False


def _index(values: list[ast.expr], child: ast.AST) -> int:
    return next(number for number, value in enumerate(values) if value is child)


def _siblings(parent: ast.AST, statement: ast.stmt) -> list[ast.stmt]:
    """The statements in front of one, in its block."""
    blocks = (getattr(parent, name, None) for name in ("body", "orelse", "finalbody"))
    block = next((found for found in blocks if isinstance(found, list) and statement in found), [])
    return block[: block.index(statement)] if block else []


def _excludes(statement: ast.stmt, wanted: str, says: Says) -> bool:
    """Whether nothing else gets past a statement."""
    match statement:
        case ast.Assert(test=test):
            return _says(says, test, wanted, True)
        case ast.If(test=test, body=[*_, last] as body) if _says(says, test, wanted, False):
            stores = (inner.targets for part in body for inner in ast.walk(part) if isinstance(inner, ast.Assign))
            is_given = any(
                ast.dump(target).replace("Store()", "Load()") == wanted for targets in stores for target in targets
            )
            return is_given or isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break))
    return False


def _says(says: Says, test: ast.expr, wanted: str, outcome: bool) -> bool:
    """Whether any test with this outcome says it, by what its parts say."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return outcome and any(_says(says, value, wanted, True) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return not outcome and any(_says(says, value, wanted, False) for value in values)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _says(says, operand, wanted, not outcome)
    return says(test, wanted, outcome)
