"""Fixes for findings that need no run to be trusted: retired functions, replaced by what says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ddelint.catalog import rule
from ddelint.diagnostics import Applicability, Diagnostic, Edit, Evidence, Fix
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
    "DDE701": Applicability.UNSAFE,  # safe where compiled gradients were run with and without it
}
"""Rules whose fix follows from the text alone, and what it may do."""
NOTHING_PROVEN: Mapping[str, Evidence] = {}


def with_static_fixes(
    findings: Sequence[Diagnostic], sources: Mapping[str, SourceFile], proven: Mapping[str, Evidence] = NOTHING_PROVEN
) -> list[Diagnostic]:
    """The findings, those whose fix follows from the text with their fixes. Loads the moves only where there is one.

    `proven`: rule → what was run to see that its fix is right; such a fix is safe.
    """
    told = [_with_fix(finding, sources) if finding.code in _APPLICABILITY else finding for finding in findings]
    return [_proven(finding, proven[finding.code]) if finding.code in proven else finding for finding in told]


def _proven(finding: Diagnostic, evidence: Evidence) -> Diagnostic:
    if finding.fix is None:
        return finding
    return replace(finding, fix=replace(finding.fix, applicability=Applicability.SAFE), evidence=evidence)


def _with_fix(finding: Diagnostic, sources: Mapping[str, SourceFile]) -> Diagnostic:
    source = sources.get(finding.span.filename)
    site = locate(source, finding.span) if source is not None and finding.fix is None else None
    if source is None or site is None:
        return finding
    load_moves()
    context = Context(site, finding, "static")
    for candidate in (found for name in rule(finding.code).moves for found in MOVES[name](context)):
        try:
            edits: list[Edit] = [*candidate.edits, *import_edits(source, candidate.imports)]
            _ = SourceFile(source.filename, source.apply(edits)).tree
        except (EngineError, SourceError, ValueError):
            continue
        message = "; ".join((candidate.message, *candidate.notes))
        fix = Fix(_APPLICABILITY[finding.code], message, tuple(edits), candidate.move, candidate.claim)
        return replace(finding, fix=fix)
    return finding
