"""`if` with its `elif`s, arm by arm, and conditional expressions: what holds behind them, and what each name is where.

A dispatch over two thousand numbers is one `if` in the next one's `else`; it is read in a loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ddelint.operators import dotted_name
from ddelint.source import descend
from ddelint.static.domain.state import Choice, State, join_states
from ddelint.static.domain.values import UNKNOWN, Value, join

if TYPE_CHECKING:
    from ddelint.static.walk.interpreter import Interpreter


class Arms:
    """Runs the branches of an interpreter's programs."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter

    def run(self, node: ast.If, state: State) -> State | None:
        """The state behind an `if` statement; None where no path gets past it."""
        interpreter = self._interpreter
        arms: list[tuple[ast.If, State | None]] = []
        false: State | None = state
        orelse: list[ast.stmt] = [node]
        while false is not None and (arm := _only_if(orelse)) is not None:
            true, false = interpreter.branch(arm.test, false)
            arms.append((arm, interpreter.block(arm.body, true)))
            orelse = arm.orelse
        after = interpreter.block(orelse, false)
        bound = _Bound(orelse)
        for arm, end in reversed(arms):
            bound.add(arm.body)
            ends = [one for one in (end, after) if one is not None]
            joined = join_states(ends)
            if joined is not None and end is not None and after is not None and (switch := switch_of(arm.test)):
                self._remember_choices(switch, end, after, joined, bound)
            after = joined
            bound.add([arm.test])
        return after

    def _remember_choices(
        self, switch: tuple[str, bool], true: State, false: State, after: State, bound: _Bound
    ) -> None:
        """Which value each name has on which side, where one of them may ask."""
        name_of, positive = switch
        asks = self._interpreter.asks
        on, off = (true, false) if positive else (false, true)
        chosen: dict[str, Choice] = {}
        for name, joined in after.names.items():
            first, second = on.names.get(name), off.names.get(name)
            if first is not second and (asks(first or UNKNOWN) or asks(second or UNKNOWN)):
                chosen[name] = Choice(name_of, joined, first or UNKNOWN, second or UNKNOWN)
        if chosen and not bound.holds(name_of.partition(" ")[0]):
            after.choices = {**after.choices, **chosen}

    def conditional(self, node: ast.IfExp, state: State) -> Value:
        """The value of `a if test else b`, where `b` may be the next of its kind."""
        interpreter = self._interpreter
        arms: list[tuple[Value | None, State, State]] = []
        current, rest = state, node
        last: Value = UNKNOWN
        while True:
            true, false = interpreter.branch(rest.test, current.copy())
            value = interpreter.evaluate(rest.body, true) if true is not None else None
            if false is None:
                if true is not None and value is not None:
                    current.take(true)
                    last = value
                break
            arms.append((value, current, false))
            current = false
            if not isinstance(rest.orelse, ast.IfExp):
                last = interpreter.evaluate(rest.orelse, false)
                break
            rest = rest.orelse
        for value, outer, false in reversed(arms):
            if value is None:
                outer.take(false)
            else:
                last = join(value, last)
        return last


def _only_if(body: list[ast.stmt]) -> ast.If | None:
    """The `if` that a block consists of."""
    return body[0] if len(body) == 1 and isinstance(body[0], ast.If) else None


class _Bound:
    """The names and attribute chains that parts of a program bind, looked for when somebody asks."""

    def __init__(self, parts: Iterable[ast.AST]) -> None:
        self._waiting = [*parts]
        self._chains: set[str] = set()

    def add(self, parts: Iterable[ast.AST]) -> None:
        """More statements, or tests."""
        self._waiting += parts

    def holds(self, chain: str) -> bool:
        """Whether one of them binds it."""
        while self._waiting:
            for part in descend(self._waiting.pop()):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                    self._chains.add(dotted_name(part))
        return chain in self._chains


def switch_of(test: ast.expr) -> tuple[str, bool] | None:
    """What a plain test is about (`self.training`, `mask is None`), and whether it holds where that does."""
    positive = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, positive = test.operand, not positive
    match test:
        case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as operator], comparators=[ast.Constant(value=None)]):
            chain = dotted_name(left)
            return (f"{chain} is None", isinstance(operator, ast.Is) is positive) if chain else None
    chain = dotted_name(test)
    return (chain, positive) if chain else None
