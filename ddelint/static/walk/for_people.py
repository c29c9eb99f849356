"""What runs only while people look on, `if self.verbose: print(loss)`: nobody compiles with that switched on."""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import dotted_name, operators, terminal_name
from ddelint.sources.source import descend
from ddelint.static.domain.definitions import FunctionNode
from ddelint.static.domain.state import State
from ddelint.static.program.eagerness import words_in
from ddelint.static.transfer.truth import asks, decide
from ddelint.static.walk.branching import branch
from ddelint.static.walk.walker import Walker


def only_for_people(walker: Walker, node: ast.If, state: State) -> bool:
    """Whether an `if` waits for such a switch, which is not on by default, and changes nothing that others see."""
    operands = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    switches = [place for place, operand in enumerate(operands) if _is_switch(operand)]
    alternatives = isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.Or)
    if not switches or alternatives or not _only_shows(node.body, state):
        return False
    switch = operands[switches[0]]
    value = walker.evaluate(switch, state)
    if asks(value) or decide(value, state.facts) is not None or _is_on(walker, switch):
        return False
    current: State | None = state.copy()
    for operand in operands[: switches[0]]:  # which are asked in any case
        if current is not None:
            current, _ = branch(walker, operand, current)
    return True


def _is_switch(test: ast.expr) -> bool:
    known = operators().regions
    if isinstance(test, ast.Call):
        return terminal_name(test.func) in known["listening_calls"]
    return bool(words_in(_switched(test)) & known["listening_words"])


def _switched(test: ast.expr) -> str:
    """The name of what a test is about: `verbose`, `self.verbosity > 1`."""
    match test:
        case ast.Compare(left=switch, ops=[ast.Gt() | ast.GtE()]) | (ast.Name() | ast.Attribute() as switch):
            return terminal_name(switch)
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


def _is_on(walker: Walker, switch: ast.expr) -> bool:
    """Whether a switch is on by default: as an argument of the function, or of its class's constructor."""
    frame = walker.frames[-1]
    constructors = operators().regions["constructors"]
    methods = frame.owner.methods.items() if frame.owner is not None else ()
    functions = [frame.node, *(method for name, method in methods if name in constructors)]
    name = _switched(switch)
    given = any(_is_given(function.args, name) for function in functions if isinstance(function, FunctionNode))
    return given or _is_global(walker, switch)


def _is_given(arguments: ast.arguments, name: str) -> bool:
    """Whether an argument is a constant that is true where nobody gives it."""
    names = [*arguments.posonlyargs, *arguments.args]
    defaults = [*zip(reversed(names), reversed(arguments.defaults)), *zip(arguments.kwonlyargs, arguments.kw_defaults)]
    return any(isinstance(value, ast.Constant) and value.value for argument, value in defaults if argument.arg == name)


def _is_global(walker: Walker, switch: ast.expr) -> bool:
    """Whether it is a name of the module that is bound to something true."""
    value = walker.index.constants.get(dotted_name(switch))
    return isinstance(value, ast.Constant) and bool(value.value)
