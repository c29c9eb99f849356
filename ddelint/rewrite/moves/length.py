"""`len(t)` demands a concrete number; `t.shape[0]` does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.around import is_tensor, origins
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting


@rewriting("shape_instead_of_len")
def shape_instead_of_len(context: Context) -> Iterator[Rewrite]:
    """`len(t)` → `t.shape[0]` for every tensor of the statement; a list keeps its `len`."""
    kinds = Kinds(context)
    changes: dict[ast.AST, Any] = {}
    for node in origins(context, 1):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]) if _may_be_tensor(kinds, argument):
                changes[node] = context.write.expr("{}.shape[0]", argument)
    if changes:
        asked = context.site.source.segment(next(iter(changes)))
        yield Rewrite(f"`{asked}` demands a concrete number while tracing; the size itself stays symbolic", changes)


def _may_be_tensor(kinds: Kinds, node: ast.expr) -> bool:
    if is_tensor(kinds, node):
        return True
    # nothing says: a run blamed this very call, or verification will refuse it
    if isinstance(node, ast.Name) and kinds.fact(node) is not None:
        return False
    return kinds.of(node) is Kind.UNKNOWN and kinds.context.kind != "static"
