"""What a test says of the names in it: `isinstance`, `is None`."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ddelint.knowledge.operators import dotted_name
from ddelint.static.domain.state import State
from ddelint.static.domain.values import NONE, UNKNOWN, Optional, Tensor, Value, bare
from ddelint.static.walk import hints
from ddelint.static.walk.switches import switch_of
from ddelint.static.walk.walker import Walker


def narrow(walker: Walker, node: ast.expr, state: State, holds: bool) -> None:
    """What a test says about the types of names."""
    if state.choices and (switch := switch_of(node)):
        state.choose(switch[0], switch[1] is holds)
    match node:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]):
            is_none = isinstance(operator, ast.Is) is holds
            _rebind(walker, left, state, lambda value: NONE if is_none else without_none(value))
        case ast.Call(func=ast.Name(id="isinstance"), args=[subject, kinds]):
            _narrow_type(walker, subject, kinds, state, holds)
        case ast.Compare(left=ast.Call(func=ast.Name(id="type"), args=[subject]), ops=[operator], comparators=[kinds]):
            negated = isinstance(operator, (ast.IsNot, ast.NotEq, ast.NotIn))
            _narrow_type(walker, subject, kinds, state, holds is not negated)
        case ast.Call(func=func, args=[subject]) if walker.index.dotted(func) == "torch.is_tensor":
            _rebind(walker, subject, state, lambda value: _as_tensor(value, holds))
        case ast.Name() | ast.Attribute() if holds:
            _rebind(walker, node, state, without_none)
        case ast.NamedExpr(target=target) if holds:
            _rebind(walker, target, state, without_none)


def _narrow_type(walker: Walker, subject: ast.expr, kinds: ast.expr, state: State, holds: bool) -> None:
    """What it says of `subject` that it is, or isn't, of one of these types."""
    tensor = hints.names_tensor(kinds, walker.value_of(kinds, state))
    if tensor is True:
        _rebind(walker, subject, state, lambda value: _as_tensor(value, holds))
    elif tensor is False and holds:
        _rebind(walker, subject, state, lambda v: UNKNOWN if isinstance(bare(v), Tensor) else v)


def _rebind(walker: Walker, node: ast.expr, state: State, change: Callable[[Value], Value]) -> None:
    if isinstance(node, ast.NamedExpr):
        node = node.target
    if isinstance(node, ast.Name):
        if node.id in state.names:
            state.names[node.id] = change(state.names[node.id])
    elif isinstance(node, ast.Attribute) and (chain := dotted_name(node)):
        value = walker.value_of(node, state)
        changed = change(value)
        if changed is not UNKNOWN or value is not UNKNOWN:
            state.attributes[chain] = changed


def without_none(value: Value) -> Value:
    """What a value is where it is not None."""
    if isinstance(value, Optional):
        return value.inner
    return UNKNOWN if value == NONE else value


def _as_tensor(value: Value, holds: bool) -> Value:
    if holds:
        inner = bare(value)
        return inner if isinstance(inner, Tensor) else Tensor()
    if isinstance(value, Optional):
        return NONE if isinstance(value.inner, Tensor) else value
    return UNKNOWN if isinstance(value, Tensor) else value
