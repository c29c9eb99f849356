"""What is taken out of a program runs as it was: nothing in it is asked, and a fix inside could only be wrong."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.rewrite.search.history import History
from ddelint.rewrite.search.steps import State, going_on, without
from ddelint.sources.sites import locate


def as_it_was(state: State, open_findings: Iterable[Diagnostic]) -> State:
    """The state to go on from without the fixes inside of loops and branches whose headers are what nothing clears."""
    bodies = [body for finding in open_findings for body in _bodies(state.history, finding.span)]
    inside = [step for step in state.steps if any(body.contains(step.diagnostic.span) for body in bodies)]
    shorter = without(state, inside)
    return going_on(State(shorter.history, shorter.steps, {}, dict(state.others)))


def _bodies(history: History, header: Span) -> list[Span]:
    """What a loop or a branch does whose header stands at a place of the original text."""
    try:
        source = history.original(header.filename)
    except KeyError:
        return []
    site = locate(source, header)
    match site.statement if site is not None else None:
        case ast.For(body=body, orelse=rest) | ast.While(body=body, orelse=rest) | ast.If(body=body, orelse=rest):
            spans = [source.span(statement) for statement in (*body, *rest)]
            return [] if any(span.contains(header) for span in spans) else spans
    return []
