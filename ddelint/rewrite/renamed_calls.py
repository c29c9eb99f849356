"""The fix that a rule file of somebody else's may state: another function, called with the same arguments."""

from __future__ import annotations

import ast

from ddelint.knowledge.catalog import Replacement
from ddelint.knowledge.operators import terminal_name
from ddelint.nouns.diagnostics import Claim, Diagnostic, Edit, Fix
from ddelint.rewrite.candidate import Import
from ddelint.rewrite.writing.imports import EngineError, import_edits
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.sources.sites import locate
from ddelint.sources.source import SourceFile

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
    message = replacement.message or f"call `{new.removeprefix(_ANY)}` instead of `{old.removeprefix(_ANY)}`"
    edits = _edits(source, called, old, new)
    claim = Claim.PROMISE  # the rule file says so, and nothing was run
    return Fix(replacement.applicability, message, tuple(edits), _MOVE, claim) if edits else None


def _edits(source: SourceFile, called: ast.expr, old: str, new: str) -> list[Edit]:
    from ddelint.rewrite.writing.rendering import rendered
    from ddelint.rewrite.writing.writer import writer

    owner, _, word = new.rpartition(".")
    imports: list[Import] = []
    if isinstance(called, ast.Attribute) and owner == old.rpartition(".")[0]:
        built = writer(source).expr("{}.{name}", called.value, name=word)
    elif old.startswith(_ANY) or new.startswith(_ANY):
        return []  # a method has no module to import it from
    else:
        built, imports = writer(source).expression(word), [Import(owner, word)]
    candidate = rendered(source, _MOVE, Rewrite("", {called: built}))
    try:
        return [*candidate.edits, *import_edits(source, imports, candidate.edits)] if candidate is not None else []
    except EngineError:
        return []
