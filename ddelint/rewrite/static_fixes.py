"""Fixes for findings that need no run to be trusted: retired functions, replaced by what says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddelint.diagnostics import Applicability, Diagnostic, Edit, Fix
from ddelint.rewrite.candidate import MOVES, Context
from ddelint.rewrite.engine import EngineError, import_edits
from ddelint.rewrite.moves import load_moves
from ddelint.sites import locate
from ddelint.source import SourceError, SourceFile

_APPLICABILITY = {
    "DDE601": Applicability.SAFE,
    "DDE602": Applicability.SAFE,
    "DDE603": Applicability.SAFE,
    "DDE604": Applicability.DISPLAY,  # the successors need torch 2.13
    "DDE605": Applicability.SAFE,
}
"""Rules whose fix follows from the text alone, and what it may do."""
_MOVE = "retired_api"


def with_static_fixes(findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile]) -> list[Diagnostic]:
    """The findings, those of retired functions with their fixes. Loads the moves only where there is one."""
    return [_with_fix(finding, sources) if finding.code in _APPLICABILITY else finding for finding in findings]


def _with_fix(finding: Diagnostic, sources: Mapping[str, SourceFile]) -> Diagnostic:
    source = sources.get(finding.span.filename)
    site = locate(source, finding.span) if source is not None and finding.fix is None else None
    if source is None or site is None:
        return finding
    load_moves()
    context = Context(site, finding, "static")
    for candidate in MOVES[_MOVE](context):
        try:
            edits: list[Edit] = [*candidate.edits, *import_edits(source, candidate.imports)]
            _ = SourceFile(source.filename, source.apply(edits)).tree
        except (EngineError, SourceError, ValueError):
            continue
        message = "; ".join((candidate.message, *candidate.notes))
        fix = Fix(_APPLICABILITY[finding.code], message, tuple(edits), candidate.move, candidate.claim)
        return replace(finding, fix=fix)
    return finding
