"""What the source around a question says of it: which answer goes on, which one ends the run, and whether it loops."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.trace.provenance import Expression


def preferred(asking: Expression | None) -> bool:
    """The answer that goes on: into a loop's body, past an early exit, through an assertion."""
    if asking is None or asking.source is None or asking.node is None:
        return True
    wanted, child = True, asking.node
    for parent in asking.source.ancestors(asking.node):
        match parent:
            case ast.UnaryOp(op=ast.Not()):
                wanted = not wanted
            case ast.BoolOp():
                pass
            case ast.If(test=test, body=body) if test is child:
                if _leaves(body):
                    return not wanted
                return wanted
            case _:
                return wanted
        child = parent
    return wanted


def writes(node: ast.AST, instruction: str) -> bool:
    """Whether an expression that runs `instruction` makes text: an f-string, `str(n)`, `"…".format(n)`, `"…" % n`."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return operators().python_builtins.get(name) == "DDE208"
        case ast.Call(func=ast.Attribute(attr=name)):
            return name == "format"
        case ast.BinOp(op=ast.Mod()):
            return True
    return instruction.startswith("FORMAT")


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], (ast.Raise, ast.Return, ast.Continue, ast.Break))


def may_end(expression: Expression) -> bool:
    """Whether one of the answers leaves the function at once: `if bad: raise`, `if empty: return`, `assert`."""
    if expression.source is None or not isinstance(expression.node, ast.expr):
        return True
    for parent in expression.source.ancestors(expression.node):
        if isinstance(parent, ast.If):
            arms = (parent.body, parent.orelse)
            return any(arm and isinstance(arm[-1], (ast.Raise, ast.Return)) for arm in arms)
        if isinstance(parent, ast.stmt):
            return isinstance(parent, ast.Assert)
    return False


def in_while(expression: Expression) -> bool:
    if expression.source is None or expression.node is None:
        return False
    for parent in expression.source.ancestors(expression.node):
        if isinstance(parent, ast.While):
            return True
        if isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            return False
    return False
