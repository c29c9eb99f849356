"""`if` with its `elif`s, arm by arm, and conditional expressions: what holds behind them, and what each name is where.

A dispatch over two thousand numbers is one `if` in the next one's `else`; it is read in a loop.
"""

from __future__ import annotations

import ast

from ddelint.static.domain.joining import join
from ddelint.static.domain.state import Choice, State, join_states
from ddelint.static.domain.values import NONE, UNKNOWN, Value
from ddelint.static.transfer.truth import asks
from ddelint.static.walk.branching import branch
from ddelint.static.walk.for_people import only_for_people, only_shown_behind
from ddelint.static.walk.switches import Bound, switch_of
from ddelint.static.walk.walker import Walker


def if_statement(walker: Walker, node: ast.If, state: State) -> State | None:
    """The state behind an `if` statement; None where no path gets past it."""
    arms: list[tuple[ast.If, State | None]] = []
    false: State | None = state
    orelse: list[ast.stmt] = [node]
    while false is not None and (arm := _only_if(orelse)) is not None:
        orelse = arm.orelse
        if only_shown_behind(walker, arm, false):
            walker.frames[-1].returned.append((NONE, false))
            false = None
        elif not only_for_people(walker, arm, false):
            true, false = branch(walker, arm.test, false)
            arms.append((arm, walker.block(arm.body, true)))
    after = walker.block(orelse, false)
    bound = Bound(orelse)
    for arm, end in reversed(arms):
        bound.add(arm.body)
        ends = [one for one in (end, after) if one is not None]
        joined = join_states(ends)
        if joined is not None and end is not None and after is not None and (switch := switch_of(arm.test)):
            _remember_choices(walker, switch, end, after, joined, bound)
        after = joined
        bound.add([arm.test])
    return after


def _remember_choices(
    walker: Walker, switch: tuple[str, bool], true: State, false: State, after: State, bound: Bound
) -> None:
    """Which value each name has on which side, where one of them may ask."""
    name_of, positive = switch
    on, off = (true, false) if positive else (false, true)
    chosen: dict[str, Choice] = {}
    for name, joined in after.names.items():
        first, second = on.names.get(name), off.names.get(name)
        if first is not second and (asks(first or UNKNOWN) or asks(second or UNKNOWN)):
            chosen[name] = Choice(name_of, joined, first or UNKNOWN, second or UNKNOWN)
    if chosen and not bound.holds(name_of.partition(" ")[0]):
        after.choices = {**after.choices, **chosen}


def conditional(walker: Walker, node: ast.IfExp, state: State) -> Value:
    """The value of `a if test else b`, where `b` may be the next of its kind."""
    arms: list[tuple[Value | None, State, State]] = []
    current, rest = state, node
    last: Value = UNKNOWN
    while True:
        true, false = branch(walker, rest.test, current.copy())
        value = walker.evaluate(rest.body, true) if true is not None else None
        if false is None:
            if true is not None and value is not None:
                current.take(true)
                last = value
            break
        arms.append((value, current, false))
        current = false
        if not isinstance(rest.orelse, ast.IfExp):
            last = walker.evaluate(rest.orelse, false)
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
