"""Bars that show how far a loop is: what a loop goes over without them."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import called
from ddelint.rewrite.writing.rewrites import Expr, Writer


def values_of(iterated: ast.expr) -> ast.expr:
    """What a bar is given that gives its values; anything else is its own."""
    match iterated:
        case ast.Call(args=[values, *_]) if called(iterated) in knowledge().progress.of_values:
            return values
    return iterated


def is_bar(call: ast.Call) -> bool:
    """Whether a call makes a bar, of whatever it goes over."""
    progress = knowledge().progress
    return called(call) in progress.of_values | progress.of_ranges


def without_bar(write: Writer, bar: ast.expr) -> Expr | None:
    """The values that a bar gives, which are those that it is given; None for what is no bar."""
    if isinstance(bar, ast.Call) and bar.args and called(bar) in knowledge().progress.of_ranges:
        return write.expr("range({})", bar.args)
    values = values_of(bar)
    return write.expression(values) if values is not bar else None


def values_gone_over(write: Writer, iterated: ast.expr) -> Expr:
    """What a loop goes over, its bars left out: `enumerate(tqdm(times))` → `enumerate(times)`."""
    plain = {bar: values for bar in _may_be_bars(iterated) if (values := without_bar(write, bar)) is not None}
    return write.replaced(iterated, plain)


def _may_be_bars(iterated: ast.expr) -> Iterator[ast.expr]:
    yield iterated
    match iterated:
        case ast.Call(func=ast.Name(id="enumerate" | "zip"), args=arguments):
            yield from arguments
