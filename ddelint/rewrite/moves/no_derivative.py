"""A call that torch has no derivative of, over something learned: what it is given has no gradient while compiling."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.applied import applied
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting


@rewriting("detach_while_compiling")
def detach_while_compiling(context: Context) -> Iterator[Rewrite]:
    """`x.unique()` → `(x.detach() if torch.compiler.is_compiling() else x).unique()`."""
    node = context.site.node
    call = applied(node) if isinstance(node, ast.Call) and context.diagnostic.asks == ("joint",) else None
    if call is not None:
        yield restructured(
            "while compiling, no gradient flows to what torch has no derivative of",
            {call.tensor: context.write.either(context.write.expr("{}.detach()", call.tensor), call.tensor)},
            doubt="compiled, its result has no gradient, where eager raises as soon as one is asked for",
        )
