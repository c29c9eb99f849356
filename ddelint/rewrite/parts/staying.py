"""Once a loop would have been left, what it carries stays as that iteration found it: the others do the same again.

Nothing is computed then that eager never computes: no quotient of a residual that has come to zero, whose gradient
would be NaN.
"""

from __future__ import annotations

import ast
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bound_before, called, fresh_name, names_written
from ddelint.rewrite.reading.regions import changed_in_place, live_behind
from ddelint.rewrite.writing.rewrites import Statements


def staying(context: Context, loop: ast.For, exit: ast.If, noted: Statements, left: str) -> dict[ast.AST, Any]:
    """The changes inside of a loop by which it stays at the iteration that leaves by `exit`; nothing where it may not.

    `noted`: what is done at the exit while compiling; `left`: the name of its test, given there.
    """
    write, source, function = context.write, context.site.source, context.site.function
    nodes = list(ast.walk(loop))
    if exit not in loop.body or function is None or any(isinstance(node, ast.Continue) for node in nodes):
        return {}
    if not any(map(_may_spread, nodes)):
        return {}
    carried = sorted(live_behind(source, loop.body[-1]) & names_written(*loop.body))
    kinds = Kinds(context)
    tensors = [name for name in carried if kinds.of(ast.Name(name, ast.Load())) is Kind.TENSOR]
    others = set(carried) - set(tensors)
    numbers = {name for name in others if kinds.of(ast.Name(name, ast.Load())) in (Kind.NUMBER, Kind.BOOL)}
    if not tensors or others != numbers or not set(tensors) <= bound_before(function, loop):
        return {}
    if changed_in_place(loop.body) - numbers:
        return {}
    first, last = loop.body[0], loop.body[-1]
    before = {name: fresh_name(source, f"{name}_before") for name in tensors}
    kept = [line for name, known in before.items() for line in write.assigned(known, write.expression(name))]
    put_back = [
        line
        for name, known in before.items()
        for line in write.assigned(name, write.expr("torch.where({}, {}, {})", left, known, name))
    ]
    changes: dict[ast.AST, Any] = {exit: write.beside(noted, [exit])}
    changes[first] = [*write.while_compiling(kept), *changes.get(first, [first])]
    changes[last] = [*changes.get(last, [last]), *write.while_compiling(put_back)]
    return changes


def _may_spread(node: ast.AST) -> bool:
    """Whether something has no gradient, or no value, for some numbers: a quotient, a root, a logarithm."""
    match node:
        case ast.BinOp(op=ast.Div(), right=divisor) | ast.AugAssign(op=ast.Div(), value=divisor):
            return not isinstance(divisor, ast.Constant)
    return isinstance(node, ast.Call) and called(node) in knowledge().unsafe_gradients
