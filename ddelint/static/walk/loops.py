"""Loops, to a fixpoint."""

from __future__ import annotations

import ast

from ddelint.static.domain.state import Loop, State, join_states
from ddelint.static.domain.values import Series, bare
from ddelint.static.domain.widening import MOST_PASSES, WIDENED_FROM, settled, widen
from ddelint.static.transfer.runs import element_of
from ddelint.static.walk.binding import bind, iterated
from ddelint.static.walk.branching import branch
from ddelint.static.walk.walker import Walker


def while_loop(walker: Walker, node: ast.While, state: State) -> State | None:
    exits: list[State] = []
    frame = walker.frames[-1]
    current: State | None = state
    open_ended = True
    for number in range(MOST_PASSES):
        if current is None:
            break
        entry = current.copy()
        true, false = branch(walker, node.test, current)
        if false is not None:
            exits.append(false)
        loop = Loop()
        frame.loops.append(loop)
        end = walker.block(node.body, true)
        frame.loops.pop()
        exits += loop.breaks
        again = [s for s in (end, *loop.continues) if s is not None]
        current = join_states([entry, *again]) if again else None
        if current is None or settled(entry, current, number == 0):
            open_ended = False
            break
        if number >= WIDENED_FROM:
            widen(entry, current)
    if current is not None and open_ended and not isinstance(node.test, ast.Constant):
        walker.quiet += 1
        _, false = branch(walker, node.test, current)
        walker.quiet -= 1
        if false is not None:
            exits.append(false)
    elif current is not None and not exits and not isinstance(node.test, ast.Constant):
        exits.append(current)
    result = join_states(exits)
    return walker.block(node.orelse, result) if node.orelse else result


def for_loop(walker: Walker, node: ast.For | ast.AsyncFor, state: State) -> State | None:
    iterable = bare(walker.evaluate(node.iter, state))
    iterated(walker, node.iter, iterable, state)
    if isinstance(iterable, Series) and iterable.items == ():
        return walker.block(node.orelse, state)
    frame = walker.frames[-1]
    breaks: list[State] = []
    current = state
    for number in range(MOST_PASSES):
        entry = current.copy()
        bind(walker, node.target, element_of(iterable), entry, node.iter)
        loop = Loop()
        frame.loops.append(loop)
        end = walker.block(node.body, entry)
        frame.loops.pop()
        breaks += loop.breaks
        again = [s for s in (end, *loop.continues) if s is not None]
        before = current
        joined = join_states([current, *again])
        assert joined is not None
        current = joined
        if not again or settled(before, current, number == 0):
            break
        if number >= WIDENED_FROM:
            widen(before, current)
    after = walker.block(node.orelse, current) if node.orelse else current
    return join_states([s for s in (after, *breaks) if s is not None])
