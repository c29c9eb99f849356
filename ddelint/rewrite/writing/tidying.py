"""Fixes that stand side by side read as one: two `if torch.compiler.is_compiling():` in a row become one, with `not` or
without."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeGuard

import libcst as cst

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.rewrite.reading.names import blocks
from ddelint.rewrite.writing.rendering import rendered
from ddelint.rewrite.writing.rewrites import Rewrite, Run
from ddelint.rewrite.writing.writer import writer
from ddelint.sources.source import SourceError, SourceFile

_NAME = "tidied"
_COMPILING = "compiler.is_compiling()"


def tidying_edits(source: SourceFile, touched: Sequence[Span]) -> tuple[Edit, ...]:
    """The edits that merge the first two neighbours of which a fix has `touched` one; none where all is tidy.

    Both are asked of the same constant, so that one after the other and both at once are the same program.
    """
    for first, second in _neighbours(source, touched):
        write = writer(source)
        compiled, eager = [*write.body(_arm(first, True))], [*write.body(_arm(first, False))]
        compiled += write.body(_arm(second, True))
        further = write.body(_arm(second, False))
        eager += _as_apart(source, first, second, further) if eager else further
        if compiled and eager:
            lines = write.beside(compiled, eager)
        else:
            lines = write.while_compiling(compiled) if compiled else write.in_eager(eager)
        candidate = rendered(source, _NAME, Rewrite(_NAME, {Run([first, second]): lines}))
        if candidate is not None:
            return candidate.edits
    return ()


def tidied(source: SourceFile, before: str) -> str:
    """The text with all such neighbours merged but for those that `before`, the text without the fixes, had, too."""
    known = set(before.splitlines())
    while True:
        try:
            touched = [
                Span(source.filename, row, 1, row, len(line) + 1)
                for row, line in enumerate(source.lines, start=1)
                if line.rstrip("\r\n") not in known
            ]
            edits = tidying_edits(source, touched)
        except SourceError:
            return source.text
        if not edits:
            return source.text
        source = SourceFile(source.filename, source.apply(edits), source.encoding)


def _as_apart(source: SourceFile, first: ast.If, second: ast.If, eager: Sequence[Any]) -> list[Any]:
    """What eager keeps of the second, behind a blank line where one stood between the two."""
    if not eager or second.lineno - (first.end_lineno or first.lineno) < 2:
        return list(eager)
    start, *rest = eager
    return [start.with_changes(leading_lines=[cst.EmptyLine(indent=False), *start.leading_lines]), *rest]


def _neighbours(source: SourceFile, touched: Sequence[Span]) -> Iterator[tuple[ast.If, ast.If]]:
    """Pairs of `if torch.compiler.is_compiling()` in one block with nothing but blank lines between."""
    for node in ast.walk(source.tree):
        for block in blocks(node):
            for first, second in pairwise(block):
                if not (_asks_compiling(first) and _asks_compiling(second)):
                    continue
                between = source.lines[(first.end_lineno or first.lineno) : second.lineno - 1]
                both = (source.span(first), source.span(second))
                if not any(map(str.strip, between)) and any(a.overlaps(b) for a in both for b in touched):
                    yield first, second


def _arm(node: ast.If, compiling: bool) -> list[ast.stmt]:
    """What is run while compiling, or else."""
    return node.orelse if isinstance(node.test, ast.UnaryOp) is compiling else node.body


def _asks_compiling(node: ast.stmt) -> TypeGuard[ast.If]:
    """Whether a statement is `if torch.compiler.is_compiling():`, or the same with `not`."""
    match node:
        case ast.If(test=ast.Call() as asked) | ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Call() as asked)):
            return ast.unparse(asked).endswith(_COMPILING)
    return False
