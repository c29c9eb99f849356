"""`x.as_subclass(torch.Tensor)`, of which Dynamo knows no result (torch 2.13): a plain tensor is taken as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.managers import origin
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("plain_while_compiling")
def plain_while_compiling(context: Context) -> Iterator[Rewrite]:
    """`x.as_subclass(torch.Tensor)` → `x` while compiling, where it is a plain tensor already."""
    write, source = context.write, context.site.source
    match context.site.node:
        case ast.Call(func=ast.Attribute(value=tensor, attr=method), args=[kind], keywords=[]) as node if (
            knowledge().made_plain.get(method) == origin(kind, source)
        ):
            new = write.expr("{} if torch.compiler.is_compiling() else {}", tensor, node)
            message = "Dynamo makes no plain tensor of a tensor; while compiling, it is taken as it is"
            yield restructured(message, {node: new}, doubt="a tensor of another class stays one once compiled")
