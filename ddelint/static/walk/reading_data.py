"""Numbers that are read from tensors, once or again."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.static.domain.state import State
from ddelint.static.domain.values import Step, Tensor, Unbacked, Value
from ddelint.static.transfer.reads import is_read, number
from ddelint.static.walk.walker import Walker


def noted_read(walker: Walker, node: ast.expr, tensor: Tensor, state: State) -> None:
    """A number was read from a tensor that the expression computes: the second time it is another symbol."""
    if walker.quiet:
        return
    source = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    if source is None and isinstance(node, ast.Call) and len(node.args) == 1:
        source = node.args[0]
    if not isinstance(source, (ast.Call, ast.Subscript, ast.BinOp)):
        return
    text = walker.source.segment(source)
    names: list[tuple[str, int]] = []
    for part in ast.walk(source):
        if isinstance(part, ast.Name) and part.id in state.names:
            value = state.names[part.id]
            walker.kept.append(value)
            names.append((part.id, id(value)))
        elif isinstance(part, ast.Call) and terminal_name(part.func) in operators().random:
            return
    key = (text, tuple(names), id(walker.frames[-1]))
    walker.kept.append(walker.frames[-1])
    first = state.reads.get(key)
    if first is None:
        state.reads[key] = node
    elif first is not node:
        value = Unbacked("number", first, None, trail=Step(first, "the same value is read here", None))
        walker.record(node, "other", value, rule="DDE205", parts=((source, value),))


def read_number(walker: Walker, node: ast.expr, tensor: Tensor, state: State, says: str) -> Value:
    """The number that is read from a tensor of one element."""
    known = is_read(tensor, walker.numbers)
    value = number(node, tensor, walker.numbers, walker.invariants, says)
    if not known:
        noted_read(walker, node, tensor, state)
    return value
