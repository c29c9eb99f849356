"""What runs only while people look on, `if self.verbose: print(loss)`: nobody compiles with that switched on."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.state import State
from ddelint.static.program.eagerness import words_in
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk.branching import branch
from ddelint.static.walk.defaults import by_default
from ddelint.static.walk.walker import Walker


def only_for_people(walker: Walker, node: ast.If, state: State) -> bool:
    """Whether an `if` waits for such a switch, which is not on by default, and changes nothing that others see."""
    operands = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    alternatives = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
    return not alternatives and _shows_on_demand(walker, operands, node.body, state)


def only_shown(walker: Walker, node: ast.expr, state: State) -> bool:
    """Likewise for an expression that stands as a statement: `verbose and print(loss)`."""
    match node:
        case ast.BoolOp(op=ast.And(), values=[*operands, last]):
            return _shows_on_demand(walker, operands, [ast.Expr(last)], state)
    return False


def only_shown_behind(walker: Walker, node: ast.If, state: State) -> bool:
    """Whether a function is left where such a switch is off, and all that it does behind that shows something."""
    match node:
        case ast.If(
            test=ast.UnaryOp(op=ast.Not(), operand=switch),
            body=[ast.Return(value=None | ast.Constant(value=None))],
            orelse=[],
        ) if _is_switch(switch):
            function = walker.frames[-1].node
            body = [*function.body] if isinstance(function, FunctionNode) else []
            return node in body and _shows_on_demand(walker, [switch], body[body.index(node) + 1 :], state)
    return False


def _shows_on_demand(walker: Walker, operands: list[ast.expr], body: list[ast.stmt], state: State) -> bool:
    """Whether statements only show something, and wait for such a switch, which is off by default.

    That is one of the operands, which are asked in turn; those before it are asked in any case.
    """
    place = next((place for place, operand in enumerate(operands) if _is_switch(operand)), None)
    if place is None or not _only_shows(body, state):
        return False
    switch = operands[place]
    value = walker.evaluate(switch, state)
    if asks(value) or decide(value, state.facts) is not None or by_default(walker, switch):
        return False
    current: State | None = state.copy()
    for operand in operands[:place]:
        if current is not None:
            current, _ = branch(walker, operand, current)
    return True


def _is_switch(test: ast.expr) -> bool:
    known = operators().regions
    if isinstance(test, ast.Call) and terminal_name(test.func) in known["listening_calls"]:
        return len(test.args) == 1 and _level(test.args[0]) in known["listening_levels"]
    return bool(words_in(_switched(test)) & known["listening_words"])


def _level(node: ast.expr) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else terminal_name(node)


def _switched(test: ast.expr) -> str:
    """The name of what a test is about: `verbose`, `self.verbosity > 1`, `verbose is True`."""
    match test:
        case (
            ast.Compare(left=switch, ops=[ast.Gt() | ast.GtE()])
            | ast.Compare(left=ast.Constant(), ops=[ast.Lt() | ast.LtE()], comparators=[switch])
            | ast.Call(func=ast.Name(id="bool"), args=[switch], keywords=[])
        ):
            return terminal_name(switch)
        case ast.Compare(left=switch, ops=[ast.Eq() | ast.Is()], comparators=[ast.Constant(value=value)]) if value:
            return terminal_name(switch)
        case ast.Name() | ast.Attribute():
            return terminal_name(test)
    return ""


def _only_shows(body: list[ast.stmt], state: State) -> bool:
    """Whether statements neither leave nor bind what was known before."""
    for statement in body:
        for part in descend(statement):
            if isinstance(part, (ast.Return, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)):
                return False
            if isinstance(part, (ast.Attribute, ast.Subscript)) and isinstance(part.ctx, ast.Store):
                return False
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store) and part.id in state.names:
                return False
    return True
