"""Once a loop would have been left, the tensors that it carries stay as that iteration found them.

The others do the same again: no number of an iteration reaches those tensors. Nothing is computed then that eager never
computes: no quotient of a residual that has come to zero, whose gradient would be NaN.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import integer
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import bound_before, called, draws_random, fresh_name, names_read, names_written
from ddelint.rewrite.reading.regions import changed_in_place, live_behind
from ddelint.rewrite.writing.rewrites import Statements


def staying(
    context: Context, loop: ast.For, exit: ast.If, noted: Statements, left: str, changes: Mapping[ast.AST, Any]
) -> dict[ast.AST, Any]:
    """The changes by which a loop stays at the iteration that leaves by `exit`; nothing where it may not.

    `noted`: what is done at the exit while compiling; `left`: the name of what says that it was left, which is given
    there; `changes`: what is changed where it does not stay.
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
    if changed_in_place(loop.body) - numbers or draws_random(loop):
        return {}
    others_of_it = [statement for statement in loop.body if statement is not exit]
    if reached(others_of_it, numbers | names_written(loop.target)) & set(tensors):
        return {}
    first, last = loop.body[0], loop.body[-1]
    before = {name: fresh_name(source, f"{name}_before") for name in tensors}
    kept = [line for name, known in before.items() for line in write.assigned(known, write.expression(name))]
    put_back = [
        line
        for name, known in before.items()
        for line in write.assigned(name, write.expr("torch.where({}, {}, {})", left, known, name))
    ]
    inside: dict[ast.AST, Any] = {exit: write.beside(noted, [exit])}
    inside[first] = [*write.while_compiling(kept), *inside.get(first, [first])]
    inside[last] = [*inside.get(last, [last]), *write.while_compiling(put_back)]
    begun = write.assigned(left, write.expression("False"))
    return {**changes, **inside, loop: [*begun, *changes[loop]]}


def reached(body: Sequence[ast.stmt], origins: AbstractSet[str]) -> set[str]:
    """The names whose values one iteration, or several, make of `origins`, or where these decide."""
    found = set(origins)
    while True:
        more = {name for statement in body for name in _reached(statement, found)} | found
        if more == found:
            return found
        found = more


def _reached(statement: ast.stmt, origins: AbstractSet[str]) -> set[str]:
    """The names that one statement gives something of `origins`."""
    parts = list(ast.iter_child_nodes(statement))
    inner = [child for child in parts if isinstance(child, ast.stmt)]
    headers = [child for child in parts if child not in inner]
    is_left = any(isinstance(node, ast.Break) for node in ast.walk(statement))
    if not inner or is_left or not names_read(*headers).isdisjoint(origins):
        return set() if names_read(statement).isdisjoint(origins) else names_written(statement)
    return {name for child in inner for name in _reached(child, origins)}


def _may_spread(node: ast.AST) -> bool:
    """Whether something has no gradient, or no value, for some numbers: a quotient, a root, a logarithm."""
    match node:
        case (
            ast.BinOp(op=ast.Div() | ast.FloorDiv() | ast.Mod(), right=divisor)
            | ast.AugAssign(op=ast.Div() | ast.FloorDiv() | ast.Mod(), value=divisor)
        ):
            return not isinstance(divisor, ast.Constant)
        case ast.BinOp(op=ast.Pow(), right=exponent) | ast.AugAssign(op=ast.Pow(), value=exponent):
            return (integer(exponent) or 0) < 1
        case ast.Call(args=[*_, divisor]) if called(node) in knowledge().divisions:
            return not isinstance(divisor, ast.Constant)
        case ast.Call():
            known = knowledge()
            return any(called(node) in names for names in (known.unsafe_gradients, known.divisions, known.solvers))
    return False
