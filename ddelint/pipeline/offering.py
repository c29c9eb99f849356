"""Fixes that need no run, as far as they leave nothing standing of what they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Diagnostic, Fix, Severity
from ddelint.pipeline.gathering import Run, static_reading
from ddelint.sources.source import SourceError, SourceFile

_ASKS_NOTHING = ("DDE6", "DDE7")
"""Rules about what is called, whatever is asked there."""


def offered(
    findings: Sequence[Diagnostic],
    sources: Mapping[str, SourceFile],
    run: Run,
    consulted: dict[str, str | None] | None = None,
) -> list[Diagnostic]:
    """The findings with the fixes that are found by reading, without those that leave standing what they are for.

    `consulted` takes the other files that this rests on, as in a Reading.
    """
    from ddelint.rewrite.static_fixes import with_static_fixes

    rests_on: dict[str, str | None] = {} if consulted is None else consulted
    found = with_static_fixes(findings, sources)
    return [
        d
        if d.fix is None or d.code.startswith(_ASKS_NOTHING) or _clears(d.fix, sources[d.span.filename], run, rests_on)
        else replace(d, fix=None)
        for d in found
    ]


def _clears(fix: Fix, source: SourceFile, run: Run, consulted: dict[str, str | None]) -> bool:
    """Whether nothing is asked any more where a fix has written: `x.shape[0] == 0` asks as much as `len(x) == 0`."""
    from ddelint.rewrite.search.history import History

    name = source.filename
    history = History({name: source}).add(fix.edits, 1)
    fixed = history.current(name)
    if not parses(fixed):
        return False
    try:
        reading = static_reading(name, fixed.encode(), run, parse=False)
    except SourceError:
        return False
    consulted.update(reading.consulted)
    asking = [d.span for d in reading.findings if d.severity is Severity.ERROR]
    return not any(span.overlaps(new) for span in asking for new in history.touched(1))


def parses(source: SourceFile) -> bool:
    """Whether it is Python at all: each of several edits may be right by itself, and together they are none."""
    try:
        _ = source.tree
    except SourceError:
        return False
    return True
