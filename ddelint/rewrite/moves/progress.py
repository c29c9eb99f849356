"""A bar that shows how far a loop is, which no compiler looks into: while compiling, the loop goes over the values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.bars import without_bar
from ddelint.rewrite.reading.around import around
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting

_MESSAGE = "show how far the loop is in eager alone: it gives the values that it is given"


@rewriting("without_progress_bar")
def without_progress_bar(context: Context) -> Iterator[Rewrite]:
    """`for t in tqdm(times):` → `for t in times if torch.compiler.is_compiling() else tqdm(times):`."""
    source, write = context.site.source, context.write
    for bar in around(context):
        if not isinstance(bar, ast.Call) or not _is_gone_over(bar, source.parents.get(bar)):
            continue
        plain = without_bar(write, bar)
        if plain is not None:
            yield Rewrite(_MESSAGE, {bar: write.either(plain, bar)})


def _is_gone_over(bar: ast.Call, parent: ast.AST | None) -> bool:
    """Whether a loop, or what counts its turns, takes the values: nobody asks the bar for more."""
    match parent:
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is bar
        case ast.Call(func=ast.Name(id="enumerate" | "zip")):
            return bar in parent.args
    return False
