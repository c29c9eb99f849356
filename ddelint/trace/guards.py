"""What a compiled program is guarded on: input sizes that decide, numbers that are specialized, and what recompiles.

Runs in the parent: no torch.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.nouns.protocol import EntryFailure
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose
from ddelint.trace.session import Session

_KINDS = frozenset(("guarded", "specialized"))


def guards(opened: Session | EntryFailure, sources: Mapping[str, SourceFile]) -> list[Diagnostic]:
    """One finding for each line of `sources` that guards, with the number of recompilations that the entry's own inputs
    cost (torch.compile, backend eager). `opened` is the entry with the option `backed`, and closed here. Empty where
    the entry cannot be run: that has been reported elsewhere.
    """
    if isinstance(opened, EntryFailure):
        return []
    with closing(opened) as session:
        trace = session.trace({})
        found = [
            diagnose(question, sources[question.span.filename])
            for question in trace.questions
            if question.kind in _KINDS and question.span.filename in sources
        ]
        if not found:
            return []
        compilation = session.compile({}, ("compile",), session.options.samples, "eager")
    recompiles = next((result.recompiles for result in compilation.results if result.recompiles is not None), None)
    found = [replace(diagnostic, asks=("compile",)) for diagnostic in found]
    if recompiles is None:
        return found
    text = f"{recompiles} recompilation{'' if recompiles == 1 else 's'} for the inputs that the entry gives"
    return [replace(diagnostic, detail=f"{diagnostic.detail}; {text}") for diagnostic in found]
