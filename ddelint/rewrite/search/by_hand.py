"""What a refused rewrite would make of the user's own lines, for whoever knows more than could be run."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Sequence

from ddelint.nouns.diagnostics import Edit
from ddelint.sources.source import SourceError, SourceFile, bare_lines

_MOST_LINES = 12
"""Of code that is shown beside a finding: more is no small rewrite."""
_LEFT_OUT = "..."


def rewritten_lines(source: SourceFile, edits: Sequence[Edit]) -> str:
    """The lines that `edits` write, as they would read; empty where these are many, or in another file, too."""
    if not edits or any(edit.span.filename != source.filename for edit in edits):
        return ""
    try:
        before, after = bare_lines(source.text), bare_lines(source.apply(edits))
    except (SourceError, ValueError):
        return ""
    compared = difflib.SequenceMatcher(None, before, after, autojunk=False)
    written = [after[first:last] for tag, _, _, first, last in compared.get_opcodes() if tag in ("replace", "insert")]
    if not 0 < sum(map(len, written)) <= _MOST_LINES:
        return ""
    return f"\n{_LEFT_OUT}\n".join(textwrap.dedent("\n".join(lines)).strip("\n") for lines in written)
