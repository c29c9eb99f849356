"""A list of a tensor's numbers, which Dynamo makes of integers alone: each element, read by itself, has any dtype."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import fresh_name, is_pure
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_MESSAGE = "Dynamo lists the numbers of integer tensors alone; each element, read by itself, is the same number"
_TEMPLATES = (
    "{tensor}.item()",
    "[{one}.item() for {one} in {tensor}]",
    "[[{one}.item() for {one} in {row}] for {row} in {tensor}]",
)
"""By the number of dimensions."""


@rewriting("read_one_by_one")
def read_one_by_one(context: Context) -> Iterator[Rewrite]:
    """`mask.tolist()` → `[value.item() for value in mask]`."""
    method = next((method for said, method in knowledge().read_apart.items() if said in context.detail), None)
    match context.site.node:
        case ast.Call(func=ast.Attribute(value=tensor, attr=called), args=[], keywords=[]) as call if called == method:
            pass
        case _:
            return
    fact = context.type_of(ast.unparse(tensor))
    rank = len(fact.shape) if fact is not None and fact.shape is not None else 1
    if rank >= len(_TEMPLATES) or not is_pure(tensor):
        return
    names = {name: fresh_name(context.site.source, text) for name, text in (("one", "value"), ("row", "row"))}
    template = _TEMPLATES[rank]
    used = {name: ast.Name(text) for name, text in names.items() if f"{{{name}}}" in template}
    yield Rewrite(_MESSAGE, {call: context.write.expr(template, tensor=tensor, **used)})
