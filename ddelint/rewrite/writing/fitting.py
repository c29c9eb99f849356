"""Expressions that make their line too long: the whole expression around them is broken, or else they are themselves.

The blanks that go and come around a changed expression are edits of their own, so that two fixes of one line, which
break it alike, do not get into each other's way.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import libcst as cst

from ddelint.nouns.diagnostics import Span
from ddelint.rewrite.writing.layout import broken_as_needed, broken_once
from ddelint.rewrite.writing.pieces import comments, has_false_place
from ddelint.rewrite.writing.rewrites import Changes, Unwritable
from ddelint.rewrite.writing.style import longest_line
from ddelint.rewrite.writing.templates import HOLE
from ddelint.rewrite.writing.writer import Writer, writer
from ddelint.sources.source import SourceFile


@dataclass(frozen=True)
class Fitting:
    """Changes that fit into their lines, and the text that takes the place of blanks around them."""

    changes: Changes
    blanks: Mapping[Span, str] = field(default_factory=dict)


def fitting(source: SourceFile, changes: Changes) -> Fitting:
    """The changes, with what they need to stay within the longest line that the file may have.

    A line that is too long as it stands, or that goes on in the next one, stays as somebody has broken it.
    """
    whole: dict[ast.expr, dict[ast.AST, Any]] = {}
    for old, new in changes.items():
        if isinstance(old, ast.expr) and isinstance(new, cst.BaseExpression):
            whole.setdefault(_whole(source, old), {})[old] = new
    found = dict(changes)
    blanks: dict[Span, str] = {}
    for outer, inner in whole.items():
        if _is_too_long(source, outer, inner):
            fits = _fitted(source, outer, inner)
            found |= fits.changes
            blanks |= fits.blanks
    return Fitting(found, blanks)


def _whole(source: SourceFile, node: ast.expr) -> ast.expr:
    """The outermost expression around an expression, in its statement."""
    outer = node
    for parent in source.ancestors(node):
        if isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.expr):
            outer = parent
    return outer


def _is_too_long(source: SourceFile, outer: ast.expr, inner: Mapping[ast.AST, Any]) -> bool:
    """Whether an expression on one line, which fits and can be broken, may not fit any more with these changes."""
    span, longest = source.span(outer), longest_line(source.filename)
    row = source.lines[span.row - 1].rstrip("\r\n").expandtabs(4)
    if span.row != span.end_row or len(row) > longest:
        return False
    growth = sum(len(_code(new)) + len(_BRACKETS) - len(source.segment(old)) for old, new in inner.items())
    return len(row) + growth > longest and not has_false_place(source, outer) and not comments(row)


_BRACKETS = "()"
"""What a change may get around it."""


def _fitted(source: SourceFile, outer: ast.expr, inner: Mapping[ast.AST, Any]) -> Fitting:
    """The changes within one whole expression of one line, with what they need to fit."""
    write, longest = writer(source), longest_line(source.filename)
    line, span = source.lines[outer.lineno - 1].rstrip("\r\n"), source.span(outer)
    before, behind = line[: span.column - 1].expandtabs(4), line[span.end_column - 1 :]
    indentation = source.indentation(outer).expandtabs(4)

    def fits(node: cst.CSTNode) -> bool:
        """Whether all lines fit, the first and the last beside what else stands there."""
        first, *further = _code(node).splitlines()
        lines = [before + first, *(indentation + each for each in further)]
        lines[-1] += behind
        return all(len(each) <= longest for each in lines)

    try:
        built = write.replaced(outer, inner)
        if fits(built) or "\n" in _code(built):
            return Fitting(inner)
        broken, alone = broken_once(built, write.unit), _alone(inner, write)
        if alone and outer in inner:
            text = write.source.text
            return Fitting({outer: broken_as_needed(inner[outer], write.unit, len(indentation), longest, text)})
        if alone and (broken is None or (not fits(broken) and fits(write.replaced(outer, alone)))):
            return Fitting(alone)
        return Fitting(inner, {} if broken is None or outer in inner else _blanks(source, outer, inner))
    except (Unwritable, cst.ParserSyntaxError):
        return Fitting(inner)


def _alone(inner: Mapping[ast.AST, Any], write: Writer) -> Mapping[ast.AST, Any]:
    """A single change broken by itself; empty where there are several, or it has nothing to break."""
    ((old, new), *further) = inner.items()
    broken = None if further else broken_once(new, write.unit)
    return {} if broken is None else {old: broken}


def _blanks(source: SourceFile, outer: ast.expr, inner: Mapping[ast.AST, Any]) -> Mapping[Span, str]:
    """What breaks the whole expression around the changes."""
    write = writer(source)
    marks = {each: f"{HOLE}{number}" for number, each in enumerate(sorted(inner, key=source.span))}
    broken = broken_once(write.marked(outer, marks), write.unit)
    if broken is None:
        return {}
    statement: Any = cst.SimpleStatementLine([cst.Expr(broken)])
    module = cst.Module([], default_indent=write.unit, default_newline=source.newline)
    around = cst.If(cst.Name("_"), cst.IndentedBlock([statement], indent=source.indentation(outer) or write.unit))
    text = module.code_for_node(around if source.indentation(outer) else statement)
    text = text.removeprefix(f"if _:{source.newline}").strip()
    pieces = re.split(rf"{HOLE}\d+", text)
    found: dict[Span, str] = {}
    start = source.offset(outer.lineno, source.span(outer).column)
    for piece, each in zip(pieces, [*sorted(inner, key=source.span), None], strict=True):
        span = source.span(each or outer)
        end = source.offset(span.row, span.column) if each else source.offset(span.end_row, span.end_column)
        for first, last, new in _differing_blanks(source.text[start:end], piece):
            place = (*source.position(start + first), *source.position(start + last))
            found[Span(source.filename, *place)] = new
        start = source.offset(span.end_row, span.end_column)
    return found


def _differing_blanks(before: str, after: str) -> Iterator[tuple[int, int, str]]:
    """Where blanks of `before`, from one position to another, become blanks, brackets or commas of `after`."""
    old = new = 0
    while old < len(before) or new < len(after):
        first, begin = old, new
        while old < len(before) and before[old].isspace():
            old += 1
        while new < len(after) and (after[new].isspace() or after[new : new + 1] != before[old : old + 1]):
            new += 1
        if before[first:old] != after[begin:new]:
            yield first, old, after[begin:new]
        old, new = old + 1, new + 1


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
