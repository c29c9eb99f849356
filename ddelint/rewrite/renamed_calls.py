"""The fix that a rule file of somebody else's may state: another function, called with the same arguments."""

from __future__ import annotations

import ast

from ddelint.catalog import Replacement
from ddelint.diagnostics import Claim, Diagnostic, Edit, Fix, Span
from ddelint.operators import terminal_name
from ddelint.rewrite.candidate import Import
from ddelint.rewrite.engine import EngineError, import_edits
from ddelint.sites import locate
from ddelint.source import SourceError, SourceFile

_ANY = "*."
_MOVE = "renamed_call"


def renamed_call(finding: Diagnostic, source: SourceFile, replacement: Replacement) -> Fix | None:
    """The fix; None where the call is written in a way that the names do not fit."""
    site = locate(source, finding.span)
    if site is None or not isinstance(site.node, ast.Call):
        return None
    called = site.node.func
    word = terminal_name(called)
    fitting = [(old, new) for old, new in replacement.names.items() if old.rsplit(".", 1)[-1] == word]
    if len(fitting) != 1:
        return None
    ((old, new),) = fitting
    edits = _edits(source, called, old, new)
    if edits is None:
        return None
    try:
        _ = SourceFile(source.filename, source.apply(edits)).tree
    except (SourceError, ValueError):
        return None
    message = replacement.message or f"call `{new.removeprefix(_ANY)}` instead of `{old.removeprefix(_ANY)}`"
    claim = Claim.PROMISE  # the rule file says so, and nothing was run
    return Fix(replacement.applicability, message, tuple(edits), _MOVE, claim)


def _edits(source: SourceFile, called: ast.expr, old: str, new: str) -> list[Edit] | None:
    owner, _, word = new.rpartition(".")
    if isinstance(called, ast.Attribute) and owner == old.rpartition(".")[0]:
        span = source.span(called)
        start = span.end_column - len(called.attr)
        return [Edit(Span(span.filename, span.end_row, start, span.end_row, span.end_column), word)]
    if old.startswith(_ANY) or new.startswith(_ANY):
        return None  # a method has no module to import it from
    try:
        edit = Edit(source.span(called), word)
        return [edit, *import_edits(source, [Import(owner, word)], [edit])]
    except EngineError:
        return None
