"""`len(t)` demands a concrete number; `t.shape[0]` does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.diagnostics import Claim
from ddelint.rewrite.candidate import Candidate, Context, move
from ddelint.rewrite.expressions import Binding, text_of
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.proposals import is_tensor, offer, origins


@move("shape_instead_of_len")
def shape_instead_of_len(context: Context) -> Iterator[Candidate]:
    """`len(t)` → `t.shape[0]` for every tensor of the statement; a list keeps its `len`."""
    source = context.site.source
    kinds = Kinds(context)
    calls: list[tuple[ast.expr, ast.expr]] = []
    for node in origins(context, 1):
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[argument], keywords=[]):
                if _may_be_tensor(kinds, argument):
                    calls.append((node, argument))
    if not calls:
        return
    changes = [(call, f"{text_of(source, argument, Binding.PRIMARY)}.shape[0]") for call, argument in calls]
    inner = [change for change in changes if not any(_inside(change[0], other) for other, _ in changes)]
    yield from offer(
        context,
        "shape_instead_of_len",
        Claim.EQUIVALENT,
        f"`{source.segment(calls[0][0])}` demands a concrete number while tracing; the size itself stays symbolic",
        inner,
    )


def _inside(node: ast.expr, other: ast.expr) -> bool:
    """Whether `node` stands strictly inside `other`."""
    return node is not other and any(inner is node for inner in ast.walk(other))


def _may_be_tensor(kinds: Kinds, node: ast.expr) -> bool:
    if is_tensor(kinds, node):
        return True
    # nothing tells: a run blamed this very call, or verification will refuse it
    if isinstance(node, ast.Name) and kinds.fact(node) is not None:
        return False
    return kinds.of(node) is Kind.UNKNOWN and kinds.context.kind != "static"
