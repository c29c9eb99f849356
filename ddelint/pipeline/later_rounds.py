"""What fixes of later rounds change, reported in the fixes of the findings that are shown.

A fix may bring a piece of text to a new place, where it is fixed again. Somebody who applies the edits of a report is
to get what `--fix` writes, so what the rounds have made of a place stands in the fix of the finding that was there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Diagnostic, Edit
from ddelint.rewrite.static_fixes import is_allowed
from ddelint.rewrite.writing.edits import minimal_edits, without_repeats
from ddelint.sources.source import SourceFile


def with_all_edits(findings: Sequence[Diagnostic], source: SourceFile, text: str, unsafe: bool) -> list[Diagnostic]:
    """Findings of one file, the fixes that are written such that all of them together make `text`."""
    written = [d for d in findings if d.fix is not None and is_allowed(d.fix, unsafe)]
    if not written or _applied(written, source) == text:
        return list(findings)
    edits = minimal_edits(source, text)
    shares = {id(d): [edit for edit in edits if _meets(d, edit)] for d in written}
    reported = {edit for share in shares.values() for edit in share}
    for edit in edits:
        if (
            edit not in reported
        ):  # an import, a statement that became one with another: it belongs to what stands before it
            before = [d for d in written if d.span.row <= edit.span.row]
            shares[id(max(before, key=lambda d: d.span) if before else written[0])].append(edit)
    return [_with_edits(d, shares.get(id(d), ())) for d in findings]


def _with_edits(finding: Diagnostic, edits: Sequence[Edit]) -> Diagnostic:
    if finding.fix is None or not edits:
        return finding
    elsewhere = [edit for edit in finding.fix.edits if edit.span.filename != finding.span.filename]
    return replace(finding, fix=replace(finding.fix, edits=(*sorted(edits, key=lambda e: e.span), *elsewhere)))


def _applied(findings: Sequence[Diagnostic], source: SourceFile) -> str | None:
    """The text after the findings' own edits; None where they cannot all be applied."""
    try:
        return source.apply(without_repeats([edit for d in findings if d.fix is not None for edit in d.fix.edits]))
    except ValueError:
        return None


def _meets(finding: Diagnostic, edit: Edit) -> bool:
    """Whether an edit changes a row that the finding's own fix would change."""
    spans = [own.span for own in finding.fix.edits] if finding.fix is not None else []
    return any(own.row <= edit.span.end_row and edit.span.row <= own.end_row for own in spans)
