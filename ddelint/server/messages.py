"""Findings as an editor shows them: diagnostics, code actions, hover texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lsprotocol import types
from pygls import uris

from ddelint.knowledge import catalog
from ddelint.nouns.diagnostics import Applicability, Diagnostic, Edit, Fix, Severity, Span
from ddelint.report.console import changed_lines
from ddelint.report.evidence import explained
from ddelint.report.rules import markdown
from ddelint.rewrite.writing.edits import minimal_edits
from ddelint.server.checks import Checked
from ddelint.server.positions import overlap, position, range_of
from ddelint.settings.suppressions import suppressions
from ddelint.sources.source import SourceError, SourceFile

SOURCE = "ddelint"
_UNSAFE = "unsafe"
_IMPORTS = ("import ", "from ")
_LONGEST = 100
"""Characters of code in the title of a quick fix."""
FIX_ALL = f"{types.CodeActionKind.SourceFixAll.value}.ddelint"
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_CODE = re.compile(r"[A-Z]{2,12}\d{1,4}")


class Document:
    """One text of a file, with what was found in it, in the editor's units."""

    def __init__(self, uri: str, checked: Checked, encoding: str, *, confirms: bool = False) -> None:
        """`confirms`: whether the editor can show an edit, and have it confirmed, before it is made."""
        self.uri = uri
        self._confirms = confirms
        self.checked = checked
        self._encoding = encoding
        filename = next((found.span.filename for found in checked.diagnostics), uri)
        self.source = SourceFile(filename, checked.text)

    # ---------------------------------------------------------------- diagnostics

    def diagnostics(self) -> list[types.Diagnostic]:
        """All findings in the file."""
        return [self._diagnostic(found) for found in self.checked.diagnostics]

    def _diagnostic(self, found: Diagnostic) -> types.Diagnostic:
        url = _url(found.code)
        return types.Diagnostic(
            range=self._range(found),
            message=found.message,
            severity=_SEVERITIES[found.severity],
            code=found.code,
            code_description=types.CodeDescription(url) if url else None,
            source=SOURCE,
            related_information=list(self._related(found)) or None,
        )

    def _related(self, found: Diagnostic) -> Iterator[types.DiagnosticRelatedInformation]:
        """Where the numbers in question are made."""
        for symbol in found.symbols:
            if symbol.created is None:
                continue
            name = symbol.created.filename
            if name == self.source.filename:
                uri, lines = self.uri, self.source.lines
            else:
                other = _read(name)
                if other is None:
                    continue
                uri, lines = uris.from_fs_path(name) or self.uri, other.lines
            where = types.Location(uri, range_of(symbol.created, lines, self._encoding))
            yield types.DiagnosticRelatedInformation(where, f"`{symbol.name}` is born here")

    def _range(self, found: Diagnostic) -> types.Range:
        return range_of(found.span, self.source.lines, self._encoding)

    # ---------------------------------------------------------------- code actions

    def actions(self, where: types.Range, only: Sequence[str] | None) -> list[types.CodeAction]:
        """What can be done about the findings in a range, and about the file as a whole."""
        actions: list[types.CodeAction] = []
        if wants(only, types.CodeActionKind.QuickFix.value):
            for found in self.checked.diagnostics:
                if overlap(self._range(found), where):
                    actions += self._quick_fixes(found)
        if wants(only, FIX_ALL) and self.checked.fixed not in (None, self.checked.text):
            assert self.checked.fixed is not None
            edits = minimal_edits(self.source, self.checked.fixed)
            changes = self._changes(edits)
            if changes is not None:
                actions.append(
                    types.CodeAction(
                        "ddelint: apply all safe fixes", kind=FIX_ALL, edit=types.WorkspaceEdit(changes=changes)
                    )
                )
        return actions

    def _quick_fixes(self, found: Diagnostic) -> Iterator[types.CodeAction]:
        fix = found.fix
        changes = self._changes(fix.edits) if fix is not None and fix.edits else None
        if fix is not None and changes is not None and fix.applicability is not Applicability.DISPLAY:
            safe = fix.applicability is Applicability.SAFE
            yield types.CodeAction(
                f"{found.code}: {self._does(fix)}" + ("" if safe else " (unsafe)"),
                kind=types.CodeActionKind.QuickFix,
                diagnostics=[self._diagnostic(found)],
                is_preferred=safe,
                edit=types.WorkspaceEdit(changes=changes) if safe else self._shown_first(changes, fix),
            )
        line = self.source.lines[found.span.row - 1].rstrip("\r\n")
        comment = f"  # ddelint: ignore[{found.code}]"
        if not self._may_end_with(comment, found.span.row, len(line) + 1):
            return
        end = position(self.source.lines, found.span.row, len(line) + 1, self._encoding)
        yield types.CodeAction(
            f"{found.code}: ignore it on this line",
            kind=types.CodeActionKind.QuickFix,
            diagnostics=[self._diagnostic(found)],
            edit=types.WorkspaceEdit(changes={self.uri: [types.TextEdit(types.Range(end, end), comment)]}),
        )

    def _does(self, fix: Fix) -> str:
        """What a fix does: the line that it writes, where it is one and short; else its own words."""
        own = [edit for edit in fix.edits if edit.span.filename == self.source.filename]
        written = [line.removeprefix("+ ") for line in changed_lines(self.source, own) if line.startswith("+ ")]
        written = [line for line in written if not line.startswith(_IMPORTS)]
        if len(written) == 1 and len(written[0]) <= _LONGEST:
            return f"replace with `{written[0]}`"
        return (fix.message.splitlines() or [fix.move])[0]

    def _shown_first(self, changes: Mapping[str, list[types.TextEdit]], fix: Fix) -> types.WorkspaceEdit:
        """Edits that the editor shows before it makes them, where it can: somebody is to look at what is not safe."""
        if not self._confirms:
            return types.WorkspaceEdit(changes=changes)
        why = "; ".join(fix.reasons) or "it may change what the program accepts, or was not run on both sides"
        note = types.ChangeAnnotation("unsafe fix", needs_confirmation=True, description=why)
        edits = [
            types.TextDocumentEdit(
                types.OptionalVersionedTextDocumentIdentifier(uri),
                [types.AnnotatedTextEdit(_UNSAFE, edit.range, edit.new_text) for edit in own],
            )
            for uri, own in changes.items()
        ]
        return types.WorkspaceEdit(document_changes=edits, change_annotations={_UNSAFE: note})

    def _may_end_with(self, comment: str, row: int, column: int) -> bool:
        """Whether text at the end of a line is a comment there: not behind a backslash, nor in a string."""
        place = Span(self.source.filename, row, column, row, column)
        changed = SourceFile(self.source.filename, self.source.apply([Edit(place, comment)]))
        try:
            _ = changed.tree
        except SourceError:
            return False
        return any(known.span.row == row for known in suppressions(changed))

    def _changes(self, edits: Sequence[Edit]) -> Mapping[str, list[types.TextEdit]] | None:
        """The edits by file; None where one of the files cannot be read."""
        changes: dict[str, list[types.TextEdit]] = {}
        for edit in edits:
            name = edit.span.filename
            own = name == self.source.filename
            source = self.source if own else _read(name)
            uri = self.uri if own else uris.from_fs_path(name)
            if source is None or uri is None:
                return None
            where = range_of(edit.span, source.lines, self._encoding)
            changes.setdefault(uri, []).append(types.TextEdit(where, edit.content))
        return changes

    # ---------------------------------------------------------------- hover

    def hover(self, at: types.Position) -> types.Hover | None:
        """The findings at a place with their rules; the rule that a comment names."""
        here = types.Range(at, at)
        found = [one for one in self.checked.diagnostics if overlap(self._range(one), here)]
        if found:
            text = "\n\n---\n\n".join(_finding_text(one) for one in found)
            return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), self._range(found[0]))
        line = self.source.lines[at.line] if at.line < len(self.source.lines) else ""
        for match in _CODE.finditer(line):
            ends = (position(self.source.lines, at.line + 1, end + 1, self._encoding) for end in match.span())
            where = types.Range(*ends)
            rule = _rule(match[0])
            if rule is not None and overlap(where, here):
                return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, markdown(rule)), where)
        return None


def _finding_text(found: Diagnostic) -> str:
    """The finding in a few lines, then its rule."""
    lines = [f"**{found.code}**: {found.message}"]
    if found.fix is not None:
        what, run = explained(found)
        lines += [f"{what}", f"*{run}*"]
    rule = _rule(found.code)
    return "\n\n".join([*lines, *([markdown(rule)] if rule is not None else [])])


def _rule(code: str) -> catalog.Rule | None:
    try:
        return catalog.rule(code)
    except KeyError:
        return None


def _url(code: str) -> str:
    rule = _rule(code)
    return rule.url if rule is not None else ""


def wants(only: Sequence[str] | None, kind: str) -> bool:
    """Whether an editor that asks for certain kinds wants this one; a kind stands for those below it."""
    return not only or any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only)


def _read(name: str) -> SourceFile | None:
    try:
        return SourceFile.read(Path(name))
    except (OSError, SourceError):
        return None
