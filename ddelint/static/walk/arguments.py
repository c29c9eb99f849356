"""What a file says of its entry's arguments: `make_inputs(seed)` and its like, and `UNBACKED`.

The function that makes them runs in eager; here it is interpreted, not run.
"""

from __future__ import annotations

import ast

from ddelint.knowledge.operators import operators
from ddelint.static.domain.definitions import Root
from ddelint.static.domain.eager import concrete
from ddelint.static.domain.linear import Linear, fresh_symbol
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    UNKNOWN,
    Constant,
    Function,
    Known,
    Series,
    Step,
    Table,
    Tensor,
    Unbacked,
    Value,
    replace,
)
from ddelint.static.walk.functions import invoke
from ddelint.static.walk.walker import Walker

Arguments = tuple[list[Value], dict[str, Value]]


def of_entry(walker: Walker, root: Root, state: State) -> Arguments:
    """Positional and keyword arguments for a root; empty where the file says nothing of them."""
    index = walker.index
    known = operators().regions
    if root.owner is not None:
        entry = root.owner.name in known["entry_classes"] and getattr(root.node, "name", "") in known["entry_methods"]
    else:
        entry = getattr(root.node, "name", "") in known["entry_functions"]
    if not entry:
        return [], {}
    for name in known["input_functions"]:
        if name in index.functions:
            positional, keywords = _made(walker, name)
            return _marked(walker, positional, state), keywords
    return [], {}


def _made(walker: Walker, name: str) -> Arguments:
    walker.quiet += 1
    try:
        value = invoke(walker, Function(walker.index.functions[name]), [], {}, State(), walker.index.functions[name])
    finally:
        walker.quiet -= 1
    items = value.items if isinstance(value, Series) else None
    if items is None:
        return [], {}
    if len(items) == 2 and isinstance(items[0], Series) and isinstance(items[1], Table):
        named = {key: _argument(item) for key, item in items[1].entries.items() if isinstance(key, str)}
        return [_argument(item) for item in items[0].items or ()], named
    return [_argument(item) for item in items], {}


def _argument(value: Value) -> Value:
    """A value made in eager, as the traced function gets it: sizes are known, and may differ by the next call."""
    value = concrete(value)
    if isinstance(value, Tensor):
        return replace(value, dims=tuple(_size(size) for size in value.dims))
    if isinstance(value, Series) and value.items is not None:
        return replace(value, items=tuple(_argument(item) for item in value.items))
    if isinstance(value, (Constant, Known)):
        return KNOWN
    return value


def _size(size: Value) -> Value:
    if isinstance(size, Constant) and size.value == 1:
        return size
    return Known(Linear.of(fresh_symbol()))


def _marked(walker: Walker, positional: list[Value], state: State) -> list[Value]:
    """The arguments with the dimensions that `UNBACKED = {position: [dimension]}` names turned unbacked."""
    node = next(
        (walker.index.constants[n] for n in operators().regions["unbacked_marks"] if n in walker.index.constants),
        None,
    )
    if node is None:
        return positional
    try:
        marks = ast.literal_eval(node)
        wanted = {int(position): [int(d) for d in dims] for position, dims in dict(marks).items()}
    except (ValueError, TypeError, SyntaxError):
        return positional
    result = list(positional)
    for position, dims in wanted.items():
        if not 0 <= position < len(result):
            continue
        tensor = result[position]
        if not isinstance(tensor, Tensor):
            if tensor not in (UNKNOWN, KNOWN):
                continue
            tensor = Tensor()
        sizes = list(tensor.dims)
        for dimension in dims:
            while not tensor.complete and len(sizes) <= dimension:
                sizes.append(Known(Linear.of(fresh_symbol())))
            if dimension < len(sizes):
                step = Step(node, "this dimension of an input is treated as unbacked", None)
                size = walker.numbers.new_size(node, state.facts, step)
                sizes[dimension] = Unbacked("input", node, size.form, trail=step)
        result[position] = replace(tensor, dims=tuple(sizes))
    return result
