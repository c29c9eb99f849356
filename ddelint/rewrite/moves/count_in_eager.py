"""What an object beside the modules counts in Python is counted only in eager, where no result hangs on it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ddelint.nouns.protocol import COUNTED
from ddelint.rewrite.candidate import Context
from ddelint.rewrite.reading.names import stands_in_eager
from ddelint.rewrite.writing.rewrites import Rewrite, restructured, rewriting
from ddelint.sources.sites import Block, classify
from ddelint.sources.source import SourceFile


@rewriting("count_in_eager")
def count_in_eager(context: Context) -> Iterator[Rewrite]:
    """`self.calls += 1` of a meter → `if not torch.compiler.is_compiling(): self.calls += 1`.

    Not where the file decides something by it. Another result that hangs on it shows where calls in a row are compared.
    """
    statement, source = context.site.statement, context.site.source
    if context.kind != COUNTED or stands_in_eager(source, statement):
        return
    match statement:
        case ast.AugAssign(target=place) | ast.Assign(targets=[place]) | ast.AnnAssign(target=place):
            said = ast.unparse(place)
        case _:
            return
    if _decides(context, place):
        return
    yield restructured(
        f"count `{said}` only in eager: what is compiled is one graph, whatever the count",
        {statement: context.write.in_eager([statement])},
        doubt=f"calls of what is compiled are not counted in `{said}`",
    )


def _decides(context: Context, place: ast.expr) -> bool:
    """Whether the file compares what has the name or the key of the count, asks for its truth or keeps it, but to talk
    of it."""
    source, statement = context.site.source, context.site.statement
    for node in ast.walk(source.tree):
        if not _is_alike(node, place) or statement in source.ancestors(node):
            continue
        inner: ast.AST = node
        for outer in source.ancestors(node):
            match outer:
                case ast.Compare() | ast.BinOp(op=ast.Mod()) | ast.BoolOp() | ast.Assert():
                    asks = True
                case ast.Assign() | ast.AnnAssign() | ast.NamedExpr():  # whoever reads the name may ask
                    asks = True
                case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                    asks = test is inner
                case _:
                    asks = False
            if asks and not _only_talks(source, outer):
                return True
            inner = outer
    return False


def _only_talks(source: SourceFile, node: ast.AST) -> bool:
    """Whether what a test stands in does nothing but warn or log."""
    branch = next((one for one in (node, *source.ancestors(node)) if isinstance(one, ast.stmt)), None)
    return isinstance(branch, ast.If) and not branch.orelse and classify(branch.body) is Block.WARNS


def _is_alike(node: ast.AST, place: ast.expr) -> bool:
    """Whether a node reads an attribute of the same name, or a part with the same key."""
    match node, place:
        case ast.Attribute(attr=one, ctx=ast.Load()), ast.Attribute(attr=other):
            return one == other
        case ast.Subscript(slice=one, ctx=ast.Load()), ast.Subscript(slice=other):
            return ast.unparse(one) == ast.unparse(other)
    return False
