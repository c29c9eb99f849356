"""Fixes of several questions of one trace, applied to one text at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Edit
from ddelint.rewrite.candidate import Candidate
from ddelint.rewrite.search.history import History
from ddelint.sources.source import SourceFile

_NAMES_GIVEN = re.compile(r"(?m)^[ \t]*+(\w++)[ \t]*+(?::[^=\n]++)?=(?!=)|\bdef\s+(\w+)")


def fit_together(chosen: Sequence[Candidate], candidate: Candidate, read: Callable[[str], SourceFile]) -> bool:
    """Whether a candidate changes no line that the chosen ones change, and brings no new name that they bring.

    All edits are against the texts that `read` gives.
    """
    edits = [edit for other in chosen for edit in other.edits]
    if any(_meet(edit, other) for edit in candidate.edits for other in edits):
        return False
    names = _new_names(candidate, read)
    return not any(names & _new_names(other, read) for other in chosen)


def moved(candidate: Candidate, base: History, now: History) -> Candidate:
    """A candidate for the texts of `base`, for those of `now`, which has come from it by changes of other lines."""
    edits = tuple(replace(edit, span=now.moved(edit.span, base)) for edit in candidate.edits)
    return replace(candidate, edits=edits)


def _meet(one: Edit, other: Edit) -> bool:
    same_file = one.span.filename == other.span.filename
    return same_file and one.span.row <= other.span.end_row and other.span.row <= one.span.end_row


def _new_names(candidate: Candidate, read: Callable[[str], SourceFile]) -> set[tuple[str, str]]:
    """(filename, name) of variables and functions in the new text that the old one doesn't know."""
    found: set[tuple[str, str]] = set()
    for edit in candidate.edits:
        filename = edit.span.filename
        for names in _NAMES_GIVEN.findall(edit.content):
            found.update((filename, name) for name in names if name and name not in read(filename).text)
    return found
