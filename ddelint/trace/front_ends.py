"""Which front ends ask a question: each is run, its first question answered in the text, and run again.

A front end stops at its first error. Replacing the asking expression by an answer of the same length keeps every
position, so that the next error is blamed where the original text has it. Runs in the parent: no torch.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ddelint.nouns.diagnostics import Question, Span
from ddelint.nouns.protocol import Compilation, Overlay
from ddelint.sources.sites import Block, Role, Site, locate
from ddelint.sources.source import SourceError, SourceFile

MOST_ROUNDS = 24
_ENDING = frozenset((Block.RAISES, Block.WARNS))
"""Blocks behind which no more questions of the data stand: never entered."""
_LEAVING = frozenset((Block.RETURNS, Block.LEAVES_LOOP))


class Compiler(Protocol):
    """What is asked of a worker session (ddelint.trace.session.Session)."""

    def compile(
        self,
        overlay: Overlay,
        targets: tuple[str, ...],
        samples: int,
        backend: str,
        *,
        fakes: Mapping[str, tuple[str, ...]] = ...,
    ) -> Compilation: ...


@dataclass
class Asked:
    """What one front end asked, answer after answer."""

    target: str
    questions: list[Question] = field(default_factory=list)
    """In the order of their errors, on the positions of the original text."""
    ended: str = ""
    """What stopped it in the end and is no question; empty where it went through."""
    complete: bool = True
    """Whether every question was answered: False where one has no answer that fits its place, or time ran out."""


def asked_by(
    compiler: Compiler,
    sources: Mapping[str, SourceFile],
    target: str,
    *,
    traced: Sequence[Question] = (),
    other_sides: bool = False,
) -> Asked:
    """All that `target` (export, strict, compile) asks of the program, its questions answered one by one."""
    steps = asking(sources, target, traced=traced, other_sides=other_sides)
    try:
        arguments = next(steps)
        while True:
            arguments = steps.send(compiler.compile(**arguments))
    except StopIteration as end:
        found: Asked = end.value
        return found


def asking(
    sources: Mapping[str, SourceFile],
    target: str,
    *,
    traced: Sequence[Question] = (),
    other_sides: bool = False,
    seconds: float = math.inf,
) -> Generator[dict[str, Any], Compilation, Asked]:
    """Yields what to compile next to know all that `target` asks; gets what came of it.

    The answers lead on: into loops, past early exits; with `other_sides` they lead the other way. Operators without a
    fake kernel get those that the trace has made for them (`fake` of its questions `traced`). The front end may take
    so many `seconds` altogether.
    """
    asked = Asked(target)
    texts: dict[str, str] = {}
    fakes: dict[str, tuple[str, ...]] = {}
    for _ in range(MOST_ROUNDS):
        if seconds <= 0:
            asked.complete = False
            return asked
        compilation = yield {
            "overlay": dict(texts), "targets": (target,), "samples": 0, "backend": "eager", "fakes": dict(fakes)
        }  # fmt: skip
        result = next(iter(compilation.results), None)
        if result is None or result.ok:
            asked.ended = compilation.failure.message if compilation.failure is not None else ""
            return asked
        seconds -= result.seconds
        question = next((q for q in result.questions if q.span.filename in sources and q.kind != "other"), None)
        if question is None:
            asked.ended = result.error
            return asked
        asked.questions.append(question)
        missing = _fakes_at(question.span, traced)
        if missing.keys() - fakes.keys():
            fakes |= missing
            continue
        text = _answered(sources[question.span.filename], texts, question.span, question.kind, other_sides)
        if text is None:
            asked.complete = False
            return asked
        texts[question.span.filename] = text
    asked.complete = False
    return asked


def front_ends_of(span: Span, asked: Sequence[Asked]) -> tuple[str, ...]:
    """The targets that ask at `span`: at this expression, in it, or in one that holds it."""
    return tuple(
        one.target
        for one in asked
        if any(span.contains(question.span) or question.span.contains(span) for question in one.questions)
    )


def _fakes_at(span: Span, traced: Sequence[Question]) -> dict[str, tuple[str, ...]]:
    """Operator → body of the fake kernel that the trace made for it, of the operators called at `span`."""
    return {q.operator: q.fake for q in traced if q.kind == "operator" and q.fake and q.span.overlaps(span)}


def _answered(original: SourceFile, texts: Mapping[str, str], span: Span, kind: str, other_side: bool) -> str | None:
    """The current text with an answer in place of the question; None where nothing fits there."""
    current = SourceFile(original.filename, texts.get(original.filename, original.text), original.encoding)
    site = locate(current, span)
    if site is None or not isinstance(site.node, ast.expr):
        return None
    answer = _answer(site, kind, other_side)
    place = site.span
    written = current.segment(place)
    filled = _filled(answer, written) if answer is not None else None
    if filled is None or filled == written:
        return None
    start = current.offset(place.row, place.column)
    text = current.text[:start] + filled + current.text[start + len(written) :]
    try:
        _ = SourceFile(original.filename, text, original.encoding).tree
    except SourceError:
        return None
    return text


def _answer(site: Site, kind: str, other_side: bool) -> str | None:
    if site.role is Role.WHILE_TEST:
        return "0"  # a constant truth would never end
    if kind == "truth" or site.decision is not None:
        return "1" if _outcome(site, other_side) is not _is_negated(site) else "0"
    if site.role is Role.ITERATED:
        return "()"
    if kind == "integer":
        return "1" if other_side else "2"
    return None


def _outcome(site: Site, other_side: bool) -> bool:
    """How the whole test is to come out."""
    if site.role is Role.ASSERT_TEST:
        return True
    if site.block in _ENDING:
        return False
    return other_side if site.block in _LEAVING else not other_side


def _is_negated(site: Site) -> bool:
    negated = False
    for parent in site.source.ancestors(site.node):
        if isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            negated = not negated
    return negated


def _filled(answer: str, written: str) -> str | None:
    """`answer` with blanks around it, up to the length and with the line ends of what it replaces."""
    blank = [character if character in "\r\n" else " " for character in written]
    if "\n" not in blank:
        return answer.ljust(len(written)) if len(answer) <= len(written) else None
    inner = f"({answer}"
    if len(inner) > blank.index("\n") or blank[-1] != " ":
        return None
    blank[: len(inner)] = inner
    blank[-1] = ")"
    return "".join(blank)
