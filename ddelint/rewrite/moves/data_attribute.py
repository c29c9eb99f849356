"""`x.data`, which export takes for a constant: what is read is detached, what is set is copied or left to eager.

So are tensors that an older name makes of others, `Variable(x)`, which Dynamo does not follow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import origin
from ddelint.rewrite.reading.names import SAME_MEMORY, stands_in_eager
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("detached_data")
def detached_data(context: Context) -> Iterator[Rewrite]:
    """`x.data`, `Variable(x)` → `x.detach()`: the same memory, outside of autograd."""
    write, source = context.write, context.site.source
    match context.site.node:
        case ast.Attribute(value=tensor, attr=attribute, ctx=ast.Load()) as node if attribute == SAME_MEMORY:
            message = "export takes `.data` for a constant; `.detach()` is the same memory, outside of autograd"
            yield restructured(message, {node: write.expr("{}.detach()", tensor)})
        case ast.Call(func=name, args=[tensor], keywords=options) as node if _wraps(origin(name, source), options):
            message = "Dynamo doesn't follow this older name; `.detach()` is the same memory, outside of autograd"
            yield restructured(message, {node: write.expr("{}.detach()", tensor)})


def _wraps(name: str, options: list[ast.keyword]) -> bool:
    """Whether a call by its dotted name gives the tensor that it is given, without a gradient."""
    plain = [o.arg == "requires_grad" and isinstance(o.value, ast.Constant) and not o.value.value for o in options]
    return name in knowledge().wrappers and all(plain)


@rewriting("data_in_eager")
def data_in_eager(context: Context) -> Iterator[Rewrite]:
    """`x.data = value` is done only in eager, or copies the value into the tensor while compiling."""
    write, statement = context.write, context.site.statement
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=tensor, attr=attribute)], value=value) if attribute == SAME_MEMORY:
            pass
        case _:
            return
    if stands_in_eager(context.site.source, statement):
        return
    yield Rewrite(
        "set `.data` only in eager: where the tensor has this dtype and device already, nothing changes",
        {statement: write.in_eager([statement])},
        Claim.GENERAL_PATH,
        ("the compiled program takes the tensor as it is",),
    )
    read = [n for n in ast.walk(value) if isinstance(n, ast.Attribute) and n.attr == SAME_MEMORY]
    detached = write.replaced(value, {node: write.expr("{}.detach()", node.value) for node in read})
    copied = write.lines("{tensor}.detach().copy_({value}.detach())", tensor=tensor, value=detached)
    message = "while compiling, copy the value into the tensor: export takes `.data` for a constant"
    yield restructured(message, {statement: write.beside(copied, [statement])})
