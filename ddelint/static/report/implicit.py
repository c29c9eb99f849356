"""Tensors that are read behind the scenes where a number is expected: one such read is as good as an explicit one.

The compiler makes a new symbol of each, so that the same tensor as a size in two statements is two sizes that nothing
relates. Only that is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from ddelint.knowledge.operators import dotted_name
from ddelint.sources.sites import site_of
from ddelint.sources.source import SourceFile, descend
from ddelint.static.domain.demands import Event

RULE = "DDE204"


def without_single_reads(source: SourceFile, events: Sequence[Event]) -> list[Event]:
    """The events without those of a tensor that only one statement of its function reads."""
    statements: dict[tuple[ast.AST | None, str], set[ast.stmt]] = {}
    for event in events:
        if _is_advice(event):
            site = site_of(source, event.node)
            for name in _names(event):
                statements.setdefault((site.function, name), set()).add(site.statement)
    if not statements:
        return list(events)
    return [event for event in events if not _is_advice(event) or _is_repeated(source, event, statements)]


def _is_repeated(source: SourceFile, event: Event, statements: dict[tuple[ast.AST | None, str], set[ast.stmt]]) -> bool:
    function = site_of(source, event.node).function
    return any(len(statements[function, name]) > 1 for name in _names(event))


def _is_advice(event: Event) -> bool:
    return event.rule == RULE and event.advice


def _names(event: Event) -> set[str]:
    """Names and attribute chains in what is read."""
    node = event.subject if event.subject is not None else event.node
    found = {inner.id for inner in descend(node) if isinstance(inner, ast.Name)}
    chains = {dotted_name(inner) for inner in descend(node) if isinstance(inner, ast.Attribute)}
    return (found | chains) - {"self", ""}
