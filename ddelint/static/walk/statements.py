"""Statements: what holds behind them."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.state import State, join_states
from ddelint.static.domain.values import NONE, UNKNOWN, Function, Tensor, Unbacked, Value, bare
from ddelint.static.walk import hints
from ddelint.static.walk.arithmetic import computed
from ddelint.static.walk.binding import bind
from ddelint.static.walk.branching import branch, split
from ddelint.static.walk.for_people import only_shown
from ddelint.static.walk.indexing import stored_at
from ddelint.static.walk.walker import Walker


def assign(walker: Walker, node: ast.Assign, state: State) -> State:
    value = walker.evaluate(node.value, state)
    for target in node.targets:
        bind(walker, target, value, state, node.value)
    return state


def annotated_assign(walker: Walker, node: ast.AnnAssign, state: State) -> State:
    if node.value is not None:
        value = walker.evaluate(node.value, state)
        if value == UNKNOWN:
            value = hints.value_of(node.annotation, walker.index)
        bind(walker, node.target, value, state, node.value)
    return state


def augmented(walker: Walker, node: ast.AugAssign, state: State) -> State:
    target = node.target
    load: ast.expr
    if isinstance(target, ast.Name):
        load = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    elif isinstance(target, ast.Attribute):
        load = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    else:
        changed = bare(walker.evaluate(target.value, state))
        walker.evaluate(target.slice, state)
        walker.evaluate(node.value, state)
        if isinstance(changed, Tensor):
            stored_at(walker, target, state)
        if isinstance(target.value, ast.Name):
            owner = state.names.get(target.value.id)
            if isinstance(owner, Tensor):
                state.names[target.value.id] = owner.renewed()
        return state
    left = walker.evaluate(load, state)
    right = walker.evaluate(node.value, state)
    bind(walker, target, computed(walker, type(node.op), left, right, state, node.value), state, node.value)
    return state


def delete(walker: Walker, node: ast.Delete, state: State) -> State:
    for target in node.targets:
        if isinstance(target, ast.Name):
            state.names.pop(target.id, None)
    return state


def expression_statement(walker: Walker, node: ast.Expr, state: State) -> State:
    if not isinstance(node.value, ast.Constant) and not only_shown(walker, node.value, state):
        walker.unused = node.value
        walker.evaluate(node.value, state)
    return state


def define(walker: Walker, node: FunctionNode, state: State) -> State:
    frame = walker.frames[-1]
    state.names[node.name] = Function(node, None, state.names, frame.owner, frame)
    return state


def return_statement(walker: Walker, node: ast.Return, state: State) -> None:
    value = walker.evaluate(node.value, state) if node.value is not None else NONE
    walker.frames[-1].returned.append((value, state))


def break_statement(walker: Walker, node: ast.Break, state: State) -> None:
    if walker.frames[-1].loops:
        walker.frames[-1].loops[-1].breaks.append(state)


def continue_statement(walker: Walker, node: ast.Continue, state: State) -> None:
    if walker.frames[-1].loops:
        walker.frames[-1].loops[-1].continues.append(state)


def assert_statement(walker: Walker, node: ast.Assert, state: State) -> State | None:
    single = isinstance(node.test, (ast.Name, ast.Call, ast.Attribute)) or (
        isinstance(node.test, ast.Compare) and len(node.test.ops) == 1
    )
    if node.msg is None and single:
        # export and Dynamo both turn `assert u > 2` itself into a run-time assertion; with a message, export asks
        value = bare(walker.evaluate(node.test, state))
        if isinstance(value, Unbacked):
            walker.quiet += 1
            true, _ = split(walker, node.test, value, state)
            walker.quiet -= 1
            return true
        return split(walker, node.test, value, state, node.test)[0]
    true, _ = branch(walker, node.test, state, node.test)
    return true


def with_statement(walker: Walker, node: ast.With | ast.AsyncWith, state: State) -> State | None:
    for item in node.items:
        walker.evaluate(item.context_expr, state)
        if item.optional_vars is not None:
            bind(walker, item.optional_vars, UNKNOWN, state)
    return walker.block(node.body, state)


def try_statement(walker: Walker, node: ast.Try, state: State) -> State | None:
    before = state.copy()
    frame = walker.frames[-1]
    returns = len(frame.returned)
    end = walker.block(node.body, state)
    only_after_failure = end is None and len(frame.returned) > returns and not _raises_while_traced(node)
    # an exception may come after any statement of the body
    reached = join_states([before.copy(), end.copy()]) if end is not None else before.copy()
    assert reached is not None
    ends = [walker.block(node.orelse, end)] if end is not None else []
    for handler in node.handlers:
        start = reached.copy()
        if handler.name:
            start.names[handler.name] = UNKNOWN
        ends.append(walker.block(handler.body, start))
    joined = None if only_after_failure else join_states([e for e in ends if e is not None])
    if not node.finalbody:
        return joined
    last = walker.block(node.finalbody, joined if joined is not None else reached)
    return last if joined is not None else None


def _raises_while_traced(node: ast.Try) -> bool:
    """Whether a handler may run though no operator fails: for what the body raises itself, or Python does."""
    raised = operators().regions["raised_while_tracing"]
    for handler in node.handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        if any(kind is not None and terminal_name(kind) in raised for kind in kinds):
            return True
    return any(isinstance(part, ast.Raise) for statement in node.body for part in descend(statement))


def lambda_expression(walker: Walker, node: ast.Lambda, state: State) -> Value:
    """`lambda …: …`, and what it closes over."""
    return Function(node, None, state.names, walker.frames[-1].owner, walker.frames[-1])
