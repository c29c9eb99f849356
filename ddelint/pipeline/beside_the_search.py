"""Fixes found by reading, in files that a search has changed: what no entry ran there is fixed in the same call."""

from __future__ import annotations

from collections.abc import Sequence

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import offering
from ddelint.pipeline.found_again import found_again, is_still
from ddelint.pipeline.gathering import Run
from ddelint.pipeline.static_fixing import ROUNDS
from ddelint.sources.source import SourceFile


def write_beside(findings: Sequence[Diagnostic], run: Run) -> None:
    """Add to the run's history what the fixes of static findings change in the files that the search changed.

    A fix may bring to light what another one can fix then: this goes on until a call on the result would write nothing.
    """
    if run.history is None:
        return
    for filename in run.history.overlay:
        left = [d for d in findings if d.span.filename == filename and d.origin == ("static",) and d.fix is not None]
        for _ in range(ROUNDS):
            if not left or not _write_once(filename, left, run):
                break


def _write_once(filename: str, left: Sequence[Diagnostic], run: Run) -> bool:
    """One round in one file; gives whether it changed anything."""
    from ddelint.rewrite.static_fixes import fixed_text, taken
    from ddelint.rewrite.writing.edits import minimal_edits

    history = run.history
    assert history is not None
    moved = [(finding, finding.relocated(history.forward)) for finding in left]
    source = history.current(filename)
    known = [now for _, now in moved]
    again = [new for new in found_again(source, known, run) if any(is_still(now, new) for now in known)]
    fixable = offering.offered(again, {filename: source}, run)
    text = fixed_text(source, fixable, run.options.unsafe_fixes)
    if text == source.text or not offering.parses(SourceFile(filename, text, source.encoding)):
        return False
    for new in taken(fixable, run.options.unsafe_fixes):
        run.written_beside.update((old.span, old.code) for old, now in moved if is_still(now, new))
    step = max((change.step for change in history.changes), default=0) + 1
    run.history = history.add(minimal_edits(source, text), step)
    return True
