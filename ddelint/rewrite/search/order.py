"""In which order questions are gone through: that of a loop before those in its body, where one rewrite takes all."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ddelint.nouns.diagnostics import Question, Span
from ddelint.rewrite.search.asking import Asking
from ddelint.rewrite.search.history import History
from ddelint.sources.source import SourceFile


def loops_first(asking: Asking, history: History, questions: Sequence[Question]) -> list[Question]:
    """The questions, that of a loop's header before those in its body where a rewrite of the loop takes these along.

    A fix of one iteration would stand in the way of one of them all.
    """
    ordered = list[Question]()
    for question in questions:
        if question in ordered:
            continue
        ordered += [outer for outer in _around(asking, history, question, questions) if outer not in ordered]
        ordered.append(question)
    return ordered


def _around(asking: Asking, history: History, inner: Question, questions: Sequence[Question]) -> Iterator[Question]:
    """The questions of loops around another one that is settled with them, outermost first."""
    filename = inner.span.filename
    others = [other for other in questions if other is not inner and other.span.filename == filename]
    if not others or filename not in asking.originals:
        return
    source = history.current(filename)
    for header in _headers(source, inner):
        for outer in others:
            if header.contains(outer.span) and _is_taken_along(asking, history, outer, inner):
                yield outer


def _headers(source: SourceFile, question: Question) -> Iterator[Span]:
    node = source.at(question.span)
    loops = [n for n in source.ancestors(node) if isinstance(n, ast.For)] if node is not None else []
    for loop in reversed(loops):
        header = source.span(loop.iter)
        if not header.contains(question.span):
            yield header


def _is_taken_along(asking: Asking, history: History, outer: Question, inner: Question) -> bool:
    """Whether a rewrite of the outer question, tried before others, changes the lines of the inner one."""
    diagnostic = asking.diagnosed(history, outer)
    return any(
        edit.span.row <= inner.span.row <= edit.span.end_row
        for candidate in asking.candidates(history, outer, diagnostic)
        if candidate.preferred
        for edit in candidate.edits
    )
