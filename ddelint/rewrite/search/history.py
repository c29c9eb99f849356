"""The texts of a search: every change with its position, so that one can be taken back and spans mapped home."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from ddelint.nouns.diagnostics import Edit, Span
from ddelint.rewrite.candidate import Import
from ddelint.rewrite.writing.edits import imported_names, minimal_edits
from ddelint.rewrite.writing.imports import EngineError, import_edits
from ddelint.sources.source import SourceFile


@dataclass(frozen=True, slots=True)
class Change:
    """`old` at character `start` of the text before became `new`; `step` numbers the fix it belongs to."""

    filename: str
    start: int
    old: str
    new: str
    step: int
    begins_line: bool = True

    @property
    def growth(self) -> int:
        """Characters that the change added (negative: removed)."""
        return len(self.new) - len(self.old)


class History:
    """A set of files and the changes made to them, in order. Immutable: every method gives a new one."""

    def __init__(self, originals: Mapping[str, SourceFile], changes: Sequence[Change] = ()) -> None:
        self._originals = originals
        self.changes = tuple(changes)
        self._current: dict[str, SourceFile] = {}

    def current(self, filename: str) -> SourceFile:
        """The file as it is after all changes. Raises KeyError for a file that is not part of the search."""
        if filename not in self._current:
            original = self._originals[filename]
            text = original.text
            for change in self.changes:
                if change.filename == filename:
                    text = text[: change.start] + change.new + text[change.start + len(change.old) :]
            self._current[filename] = (
                original if text == original.text else SourceFile(filename, text, original.encoding)
            )
        return self._current[filename]

    def original(self, filename: str) -> SourceFile:
        """The file as it was on disk."""
        return self._originals[filename]

    @property
    def overlay(self) -> dict[str, str]:
        """New text of every file that differs from the disk."""
        names = sorted({change.filename for change in self.changes})
        return {
            name: self.current(name).text for name in names if self.current(name).text != self._originals[name].text
        }

    def add(self, edits: Sequence[Edit], step: int) -> History:
        """The history after `edits` (spans on the current texts; none overlap; at one place they keep their order)."""
        added: list[Change] = []
        in_order = sorted(edits, key=lambda e: e.span)
        for edit in in_order[::-1]:
            source = self.current(edit.span.filename)
            start = source.offset(edit.span.row, edit.span.column)
            replaced, begins_line = source.segment(edit.span), edit.span.column == 1
            added.append(Change(source.filename, start, replaced, edit.content, step, begins_line))
        return History(self._originals, (*self.changes, *added))

    def untouched(self) -> History:
        """The same files, nothing changed."""
        return History(self._originals)

    def without(self, step: int) -> History | None:
        """The history in which `step` never happened; None where a later change rests on it."""
        changes = self._without(step)
        return None if isinstance(changes, Change) else History(self._originals, changes)

    def resting_on(self, step: int) -> int | None:
        """A step with a change that rests on one of `step`, so that it has to go first; None where there is none."""
        changes = self._without(step)
        return changes.step if isinstance(changes, Change) else None

    def _without(self, step: int) -> tuple[Change, ...] | Change:
        """The changes but those of `step`; the change that is in the way where there is one."""
        changes = self._without_those_of(step, self.changes, imports=False)
        if isinstance(changes, Change):
            return changes
        changes = tuple(_handed_on(change, changes) if change.step == step else change for change in changes)
        changes = self._without_those_of(step, changes, imports=True)
        return changes if isinstance(changes, Change) else self._reader_of_what_goes(step, changes) or changes

    @staticmethod
    def _without_those_of(step: int, changes: tuple[Change, ...], *, imports: bool) -> tuple[Change, ...] | Change:
        """The changes but those of `step` that are imports, or that are none; the change that is in the way."""
        while True:
            mine = (i for i in reversed(range(len(changes))) if changes[i].step == step)
            index = next((i for i in mine if bool(imported_names(changes[i].new)) is imports), None)
            if index is None:
                return changes
            left = _remove(changes, index)
            if isinstance(left, Change):
                return left
            changes = left

    def _reader_of_what_goes(self, step: int, left: Sequence[Change]) -> Change | None:
        """A change among those `left` that reads what `step` has defined in its module."""
        for gone in (change for change in self.changes if change.step == step):
            names = _defined(gone)
            reader = next((one for one in left if one.step > step and _reads(one, gone, names)), None)
            if reader is not None:
                return reader
        return None

    def home(self, span: Span) -> Span:
        """A span of the current text, on the original text (inside new text: the place it replaced)."""
        if span.filename not in self._originals or not any(c.filename == span.filename for c in self.changes):
            return span
        now, then = self.current(span.filename), self._originals[span.filename]
        start = self._back(span.filename, now.offset(span.row, span.column), at_end=False)
        end = max(start, self._back(span.filename, now.offset(span.end_row, span.end_column), at_end=True))
        return Span(span.filename, *then.position(start), *then.position(end))

    def forward(self, span: Span) -> Span:
        """A span of the original text, on the current text (inside replaced text: the whole replacement)."""
        if not any(change.filename == span.filename for change in self.changes):
            return span
        then, now = self._originals[span.filename], self.current(span.filename)
        start, end = then.offset(span.row, span.column), then.offset(span.end_row, span.end_column)
        for change in self.changes:
            if change.filename != span.filename:
                continue
            old_end = change.start + len(change.old)
            if old_end <= start:
                start, end = start + change.growth, end + change.growth
            elif change.start < end:
                start = min(start, change.start)
                end = max(end, old_end) + change.growth
        return Span(span.filename, *now.position(start), *now.position(max(start, end)))

    def moved(self, span: Span, since: History) -> Span:
        """A span of the texts of `since`, which this history goes on from, on the current text."""
        texts = {span.filename: since.current(span.filename)}
        return History(texts, self.changes[len(since.changes) :]).forward(span)

    def row(self, filename: str, row: int) -> int:
        """Where a row of the original text stands in the current one."""
        return self.forward(Span(filename, row, 1, row, 1)).row

    def _back(self, filename: str, offset: int, *, at_end: bool) -> int:
        for change in reversed(self.changes):
            if change.filename != filename:
                continue
            if offset >= change.start + len(change.new):
                offset -= change.growth
            elif offset > change.start:
                offset = change.start + (len(change.old) if at_end else 0)
        return offset

    def touched(self, step: int) -> tuple[Span, ...]:
        """Where the changes of `step` stand in the current texts."""
        spans = []
        for index, change in enumerate(self.changes):
            if change.step != step:
                continue
            start, end = change.start, change.start + len(change.new)
            for later in self.changes[index + 1 :]:
                if later.filename != change.filename:
                    continue
                if later.start + len(later.old) <= start:
                    start, end = start + later.growth, end + later.growth
                elif later.start < end:
                    end = max(end + later.growth, start)
            source = self.current(change.filename)
            spans.append(Span(change.filename, *source.position(start), *source.position(end)))
        return tuple(spans)


_WORD = re.compile(r"\w+")
_DEFINED = re.compile(r"^(?:def|class) (\w+)|^(\w+)(?::[^=\n]+)? = ", re.MULTILINE)


def _defined(change: Change) -> set[str]:
    """The names that lines of a module's own level define, and did not before."""
    within = "" if change.begins_line else " "  # what begins within a line stands at no line's beginning
    new, old = (
        {name for found in _DEFINED.finditer(within + text) for name in found.groups() if name}
        for text in (change.new, change.old)
    )
    return new - old


def _reads(later: Change, change: Change, names: Set[str]) -> bool:
    """Whether a change writes any of the names, if only as a word, into the file of another one."""
    if not names or later.filename != change.filename:
        return False
    return bool(names & (set(_WORD.findall(later.new)) - set(_WORD.findall(later.old))))


def _handed_on(change: Change, changes: Sequence[Change]) -> Change:
    """An import, as one of a later step that reads what it brings, if there is one."""
    names = imported_names(change.new)
    later = next((one for one in changes if one.step > change.step and _reads(one, change, names)), None)
    return change if later is None else replace(change, step=later.step)


def _remove(changes: tuple[Change, ...], index: int) -> tuple[Change, ...] | Change:
    """The changes but one; a later change that rests on it where there is one."""
    gone = changes[index]
    kept, waiting = list(changes[:index]), list(changes[index + 1 :])
    start = gone.start
    while waiting:
        later, end = waiting[0], start + len(gone.new)
        if later.filename != gone.filename:
            kept.append(later)
        elif later.start + len(later.old) <= start and (gone.old or (later.start, later.old) != (start, "")):
            kept.append(later)
            start += later.growth
        elif later.start >= end:
            kept.append(replace(later, start=later.start - gone.growth))
        else:
            _, step = next(groupby(waiting, key=attrgetter("step")))
            moved = _taken_along(replace(gone, start=start), [*step])
            if moved is None:
                return later
            start, undone = moved
            kept += undone
            del waiting[1 : len(undone)]
        del waiting[0]
    return tuple(kept)


def _taken_along(gone: Change, step: Sequence[Change]) -> tuple[int, list[Change]] | None:
    """Where a later step, whose first change replaces the text of an earlier one, has put it, and that step without it
    up to there.

    A region that becomes a function takes its lines along. None where the line of the text is not among the new ones
    once, as it was.
    """
    whole = step[0]
    first = gone.start - whole.start
    last = first + len(gone.new)
    if first < 0 or last > len(whole.old) or "\n" in gone.new + gone.old:
        return None
    begin = whole.old.rfind("\n", 0, first) + 1
    line = whole.old[begin:].partition("\n")[0]
    said = line.strip()
    within = first - begin - (len(line) - len(line.lstrip()))
    takers = [change for change in step if said in change.new]
    if within < 0 or len(takers) != 1 or takers[0].new.count(said) != 1 or takers[0].filename != gone.filename:
        return None
    at = takers[0].new.index(said) + within
    text = takers[0].new[:at] + gone.old + takers[0].new[at + len(gone.new) :]
    changed = [*step[: step.index(takers[0])], replace(takers[0], new=text)]
    changed[0] = replace(changed[0], old=whole.old[:first] + gone.old + whole.old[last:])
    return takers[0].start + at, changed


def fix_edits(history: History, step: int, imports: Sequence[Import] = ()) -> tuple[Edit, ...]:
    """The edits of one step against the original texts, as if it were the only one.

    Where it rests on another step, that one's edits come along. `imports` (the step's own) are added where an earlier
    step had brought them.
    """
    alone = history
    for other in sorted({change.step for change in history.changes} - {step}, reverse=True):
        alone = alone.without(other) or alone
    edits: list[Edit] = []
    first = next((change.filename for change in history.changes if change.step == step), None)
    for filename in dict.fromkeys(change.filename for change in alone.changes):
        text = alone.current(filename).text
        if filename == first and imports:
            changed = SourceFile(filename, text)
            with suppress(EngineError):
                text = changed.apply(import_edits(changed, imports))
        edits += minimal_edits(alone.original(filename), text)
    return tuple(edits)
