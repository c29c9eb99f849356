"""What the static pass says of a text that fixes have changed, as far as it had said it before."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ddelint.pipeline.choosing import chosen
from ddelint.pipeline.gathering import Run, static_findings, unsilenced

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic
    from ddelint.sources.source import SourceFile


def found_again(
    source: SourceFile, left: Sequence[Diagnostic], run: Run, waiting: Collection[str] = ()
) -> list[Diagnostic]:
    """What the static pass says of a new text, without what a trace knows better.

    `left`: what was found before, where it stands now. `waiting`: rules of which something was found that has moved.
    """
    filename = source.filename
    found = unsilenced(source, static_findings(source, run), run)
    if run.options.diff_base is not None:
        from ddelint.pipeline import changed_lines

        found = changed_lines.only(found, run, {filename: source.text})
    return [
        new
        for new in found
        if chosen(new, run.options)
        and (
            not (filename in run.executed and _needs_a_trace(new.code))
            or any(is_still(old, new) for old in left)
            or new.code in waiting
        )
    ]


def is_still(old: Diagnostic, new: Diagnostic) -> bool:
    """Whether a finding is one that was there before, `old` being moved to where it stands now."""
    return new.code == old.code and new.span.overlaps(old.span)


def _needs_a_trace(code: str) -> bool:
    """Whether a trace may refute such a finding: a question not asked, a comment that silences what is traced."""
    from ddelint.knowledge.catalog import rule
    from ddelint.settings.suppressions import UNUSED

    return rule(code).refutable or code == UNUSED
