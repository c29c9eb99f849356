"""Loops, to a fixpoint: the body is run until nothing is new at its head."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from ddelint.static.domain.state import Loop, State, join_states
from ddelint.static.domain.values import Series, bare
from ddelint.static.domain.widening import MOST_PASSES, WIDENED_FROM, settled, widen
from ddelint.static.transfer.runs import element_of
from ddelint.static.walk.binding import bind, iterated
from ddelint.static.walk.branching import branch
from ddelint.static.walk.walker import Walker


@dataclass(slots=True)
class _Passes:
    """What is known once a body was run so often that nothing is new."""

    head: State
    """What holds where the loop begins its next pass, or would."""
    returns: bool = True
    """Whether a path leads from the end of the body back to the head."""
    settled: bool = False
    """Whether another pass would see nothing new; else there were too many."""
    breaks: list[State] = field(default_factory=list)


def _to_fixpoint(walker: Walker, body: list[ast.stmt], state: State, enter: Callable[[State], State | None]) -> _Passes:
    """Run a body; `enter` gives what holds at its first line, of what holds at the head."""
    frame = walker.frames[-1]
    passes = _Passes(state)
    for number in range(MOST_PASSES):
        loop = Loop()
        begin = enter(passes.head.copy())
        frame.loops.append(loop)
        end = walker.block(body, begin)
        frame.loops.pop()
        passes.breaks += loop.breaks
        before, again = passes.head, [s for s in (end, *loop.continues) if s is not None]
        joined = join_states([before, *again])
        assert joined is not None
        passes.head, passes.returns = joined, bool(again)
        passes.settled = not again or settled(before, joined, number == 0)
        if passes.settled:
            break
        if number >= WIDENED_FROM:
            widen(before, joined)
    return passes


def while_loop(walker: Walker, node: ast.While, state: State) -> State | None:
    """`while`: it ends where its test is false, or with `break`."""
    exits: list[State] = []

    def enter(head: State) -> State | None:
        true, false = branch(walker, node.test, head)
        if false is not None:
            exits.append(false)
        return true

    passes = _to_fixpoint(walker, node.body, state, enter)
    exits += passes.breaks
    endless = isinstance(node.test, ast.Constant)
    if not passes.settled and not endless:
        walker.quiet += 1
        _, false = branch(walker, node.test, passes.head)
        walker.quiet -= 1
        if false is not None:
            exits.append(false)
    elif passes.returns and not exits and not endless:
        exits.append(passes.head)
    result = join_states(exits)
    return walker.block(node.orelse, result) if node.orelse else result


def for_loop(walker: Walker, node: ast.For | ast.AsyncFor, state: State) -> State | None:
    """`for`: it ends after the last element, or with `break`."""
    iterable = bare(walker.evaluate(node.iter, state))
    iterated(walker, node.iter, iterable, state)
    if isinstance(iterable, Series) and iterable.items == ():
        return walker.block(node.orelse, state)

    def enter(head: State) -> State:
        bind(walker, node.target, element_of(iterable), head, node.iter)
        return head

    passes = _to_fixpoint(walker, node.body, state, enter)
    after = walker.block(node.orelse, passes.head) if node.orelse else passes.head
    return join_states([s for s in (after, *passes.breaks) if s is not None])
