"""Lists, tuples, dicts, comprehensions, f-strings."""

from __future__ import annotations

import ast

from ddelint.static.domain.joining import each_of, join, part_known
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Series,
    Several,
    Table,
    Unbacked,
    Value,
    bare,
    ends,
    series,
    spread,
)
from ddelint.static.transfer.runs import element_of, listed_length
from ddelint.static.walk.binding import bind, iterated
from ddelint.static.walk.branching import branch
from ddelint.static.walk.walker import Walker

MOST_ITEMS = 4
"""A comprehension over so many different things is interpreted for each of them."""


def display(walker: Walker, node: ast.List | ast.Tuple | ast.Set, state: State) -> Value:
    kind = "tuple" if isinstance(node, ast.Tuple) else "list"
    items: list[Value] = []
    between: Value | None = None
    for element in node.elts:
        value = walker.evaluate(element, state)
        if isinstance(element, ast.Starred):
            values = spread(value)
            items += values
            if any(isinstance(one, Several) for one in values):
                each = element_of(bare(value))
                between = each if between is None else join(between, each)
            continue
        if isinstance(node, ast.Set) and isinstance(bare(value), Unbacked):
            walker.record(element, "failure", bare(value), parts=walker.parts(element, state), rule="DDE208")
        items.append(value)
    if between is None:
        return series(tuple(items), kind)
    head, tail = ends(items)
    return part_known(head, between, tail or (), kind)


def dict_display(walker: Walker, node: ast.Dict, state: State) -> Value:
    entries: dict[object, Value] = {}
    other: Value | None = None
    for key, item in zip(node.keys, node.values, strict=True):
        value = walker.evaluate(item, state)
        name = bare(walker.evaluate(key, state)) if key is not None else UNKNOWN
        if isinstance(name, Constant):
            entries[name.value] = value
        else:
            other = value if other is None else join(other, value)
        if key is not None and isinstance(name, Unbacked):
            walker.record(key, "failure", name, parts=walker.parts(key, state), rule="DDE208")
    return Table(entries, UNKNOWN if other is None else other)


def comprehension(
    walker: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, state: State
) -> Value:
    inner = state.copy()
    walker.scopes.append((walker.frames[-1], state))
    try:
        return _comprehended(walker, node, inner)
    finally:
        walker.scopes.pop()


def _comprehended(
    walker: Walker, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp, inner: State
) -> Value:
    length: Value = KNOWN
    iterable: Value = UNKNOWN
    reachable: State | None = inner
    for position, generator in enumerate(node.generators):
        iterable = bare(walker.evaluate(generator.iter, inner))
        iterated(walker, generator.iter, iterable, inner)
        if position == 0:
            length = listed_length(iterable)
        bind(walker, generator.target, element_of(iterable), inner, generator.iter)
        for test in generator.ifs:
            length = KNOWN
            if reachable is not None:
                reachable, _ = branch(walker, test, reachable)
        if reachable is None:
            return Series("list", (), UNKNOWN, Constant(0))
        inner = reachable
    if len(node.generators) > 1:
        length = KNOWN
    if isinstance(node, ast.DictComp):
        walker.evaluate(node.key, inner)
        return Table({}, walker.evaluate(node.value, inner))
    kind = "generator" if isinstance(node, ast.GeneratorExp) else "list"
    if iterable_items := _one_by_one(node, iterable):
        # functions, say: what all of them may be together would be unknown
        only = node.generators[0]
        results: list[Value] = []
        for item in iterable_items:
            bind(walker, only.target, item, inner, only.iter)
            results.append(walker.evaluate(node.elt, inner))
        return series(tuple(results), kind)
    element = walker.evaluate(node.elt, inner)
    return Series(kind, None, element, length)


def _one_by_one(node: ast.ListComp | ast.SetComp | ast.GeneratorExp, iterable: Value) -> tuple[Value, ...] | None:
    """The few values that a comprehension goes over, where nothing can be said of them together."""
    if len(node.generators) > 1 or node.generators[0].ifs or not isinstance(iterable, Series):
        return None
    items = iterable.items
    if items is None or not 1 < len(items) <= MOST_ITEMS or UNKNOWN in items or each_of(iterable) != UNKNOWN:
        return None
    return items


def formatted(walker: Walker, node: ast.JoinedStr, state: State) -> Value:
    text: str | None = ""
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            value = bare(walker.evaluate(part.value, state))
            if isinstance(value, Unbacked):
                walker.record(part.value, "failure", value, parts=walker.parts(part.value, state), rule="DDE208")
            known = (
                value.value if isinstance(value, Constant) and part.conversion < 0 and not part.format_spec else None
            )
        else:
            known = part.value if isinstance(part, ast.Constant) else None
        text = text + known if text is not None and isinstance(known, str) else None
    return KNOWN if text is None else Constant(text)


def named_expression(walker: Walker, node: ast.NamedExpr, state: State) -> Value:
    value = walker.evaluate(node.value, state)
    bind(walker, node.target, value, state, node.value)
    for frame, outside in walker.scopes:
        if frame is walker.frames[-1]:
            # in a comprehension, the name belongs to the function around it
            outside.names[node.target.id] = state.names[node.target.id]
    return value


def yielded(walker: Walker, node: ast.Yield | ast.YieldFrom, state: State) -> Value:
    walker.frames[-1].generator = True
    if node.value is not None:
        walker.evaluate(node.value, state)
    return UNKNOWN


def constant(walker: Walker, node: ast.Constant, state: State) -> Value:
    """A literal."""
    return Constant(node.value)


def starred(walker: Walker, node: ast.Starred, state: State) -> Value:
    """`*values`, as the values."""
    return walker.evaluate(node.value, state)
