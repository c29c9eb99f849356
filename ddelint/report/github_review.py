"""The `github-review` format: fixes on changed lines as suggestions, as GitHub's API takes a review of a pull request.

The body of `POST /repos/OWNER/REPO/pulls/NUMBER/reviews`. GitHub refuses a review of which one comment stands on a
line that the pull request does not show, so only fixes on such lines are suggestions; the review's text has the others.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ddelint.report.console import is_fixable
from ddelint.report.diff import path_in_repository
from ddelint.report.evidence import name_of, risk_of, verified_line
from ddelint.report.markdown import fenced
from ddelint.report.model import Report
from ddelint.sources.source import bare_lines

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic

SHOWN_AROUND = 3
"""Unchanged lines that GitHub shows on either side of a change."""
MARK = "<!-- ddelint:{} -->"
"""Ends a comment, so that the next run knows what has been said."""


@dataclass(frozen=True, slots=True)
class Change:
    """Lines `first` to `last` (from 1) of a file become `new`; which fixes that is part of."""

    filename: str
    first: int
    last: int
    new: tuple[str, ...]
    fixes: tuple[Diagnostic, ...]


def render_report(report: Report, unsafe_fixes: bool) -> str:
    """The review as JSON; without comments and text where there is nothing to suggest."""
    changes = [change for name in sorted(report.rewritten) for change in _changes(name, report, unsafe_fixes)]
    shown = [change for change in changes if _is_shown(change, report)]
    hidden = [change for change in changes if change not in shown]
    review = {
        "event": "COMMENT",
        "body": "\n".join(_outside(hidden)),
        "comments": [_comment(change, changes) for change in shown],
    }
    return json.dumps(review, indent=2) + "\n"


def _changes(filename: str, report: Report, unsafe_fixes: bool) -> Iterator[Change]:
    old = bare_lines(report.originals.get(filename, report.texts.get(filename, "")))
    new = bare_lines(report.rewritten[filename])
    fixes = [*report.fixed, *(found for found in report.remaining if is_fixable(found, unsafe_fixes))]
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        first, last, text, rows = a + 1, b, new[c:d], range(a + 1, b + 1)
        if a == b:  # nothing can be put between lines: the line before stays, and what is new follows
            first, last, text = (a, a, [old[a - 1], *text]) if a else (1, 1, [*text, *old[:1]])
            rows = range(a, a + 2)
        own = tuple(fix for fix in fixes if any(row in rows for row in _rows(fix, filename)))
        yield Change(filename, first, last, tuple(text), own)


def _rows(diagnostic: Diagnostic, filename: str) -> Iterator[int]:
    """The rows that a fix's edits touch in a file."""
    for edit in diagnostic.fix.edits if diagnostic.fix is not None else ():
        if edit.span.filename == filename:
            yield from range(edit.span.row, edit.span.end_row + 1)


def _is_shown(change: Change, report: Report) -> bool:
    """Whether the pull request shows all lines that are to be replaced."""
    changed = report.changed_rows.get(change.filename, frozenset())
    return all(
        any(near in changed for near in range(row - SHOWN_AROUND, row + SHOWN_AROUND + 1))
        for row in range(change.first, change.last + 1)
    )


def _comment(change: Change, changes: Sequence[Change]) -> dict[str, Any]:
    path = path_in_repository(change.filename)
    place: dict[str, Any] = {"path": path, "side": "RIGHT", "line": change.last}
    if change.first < change.last:
        place |= {"start_line": change.first, "start_side": "RIGHT"}
    text = "\n".join([*_said(change, changes), *fenced("suggestion", change.new), *_trust(change)])
    known = hashlib.sha256(f"{path}\0{text}".encode()).hexdigest()[:16]
    return {**place, "body": f"{text}\n{MARK.format(known)}"}


def _said(change: Change, changes: Sequence[Change]) -> Iterator[str]:
    for finding in change.fixes:
        fix = finding.fix
        sentence = fix.message.splitlines()[0] if fix is not None and fix.message else finding.message
        yield f"**{finding.code} {name_of(finding.code)}**: {sentence}"
        yield ""
    partners = [other for other in changes if other is not change and any(fix in other.fixes for fix in change.fixes)]
    if partners:
        places = ", ".join(f"{path_in_repository(other.filename)}:{other.first}" for other in partners)
        yield f"Take it together with the change at {places}."
        yield ""


def _trust(change: Change) -> Iterator[str]:
    for finding in change.fixes:
        yield ""
        yield f"{finding.code}: {verified_line(finding.evidence)}; {' '.join(risk_of(finding).split())}"


def _outside(hidden: Sequence[Change]) -> Iterator[str]:
    """What cannot be suggested where it belongs."""
    if not hidden:
        return
    yield "ddelint also changes lines that this pull request does not show (`ddelint check --fix` writes them):"
    for change in hidden:
        codes = ", ".join(dict.fromkeys(finding.code for finding in change.fixes))
        yield ""
        yield f"`{path_in_repository(change.filename)}:{change.first}` {codes}".rstrip()
        yield ""
        yield from fenced("python", change.new)
