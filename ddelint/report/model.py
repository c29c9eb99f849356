"""What a call found, as every report reads it, and how a long call says what it is doing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

ALL_PASSED = "All checks passed!"
"""What a call says that found nothing."""

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Applicability, Diagnostic


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of `check`."""

    diagnostics: tuple[Diagnostic, ...] = ()
    """All findings, those already fixed on disk (`fixed`) included. Spans and edits count in `texts`."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Filename → the text that spans refer to, for code frames; a file not in it is read from disk."""
    diffs: Mapping[str, str] = field(default_factory=dict)
    """Filename → unified diff of what `--diff` would write (made by `report.diff.unified_diff`)."""
    originals: Mapping[str, str] = field(default_factory=dict)
    """Filename → the text before this call wrote it: what spans and edits of `fixed` findings count in."""
    rewritten: Mapping[str, str] = field(default_factory=dict)
    """Filename → new text, for files that were (or with `--diff` would be) written; standard input's, too."""
    files_checked: int = 0
    changed_rows: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """Filename → rows (from 1), before this call wrote it, that differ from `--diff-base`; of files to be rewritten."""
    entries: tuple[str, ...] = ()
    """Which entries were run: `model.py:Model, inputs from make_inputs(seed)`."""
    notes: tuple[str, ...] = ()
    """For standard error, one line each."""
    warnings: tuple[str, ...] = ()
    """For standard error, one line each, behind `ddelint: warning:`."""
    hints: tuple[str, ...] = ()
    """What to try next: for standard error, after everything else, one line each."""
    writes: bool = False
    """Whether this was a call that writes fixes: what is left then, the same call would leave again."""
    suggests: bool = True
    """Whether fixes were worked out."""
    errors: tuple[str, ...] = ()
    """What kept the tool itself from doing its work; any makes the exit code 2."""

    @property
    def remaining(self) -> tuple[Diagnostic, ...]:
        """Findings that are still there, in the order of file, place and code."""
        return tuple(sorted((d for d in self.diagnostics if not d.fixed), key=lambda d: (d.span, d.code, d.message)))

    @property
    def fixed(self) -> tuple[Diagnostic, ...]:
        """Findings that a rewrite of this call has fixed."""
        return tuple(d for d in self.diagnostics if d.fixed)

    def fixable(self, applicability: Applicability) -> int:
        """How many remaining findings have a fix of exactly this applicability."""
        return sum(d.fix is not None and d.fix.applicability is applicability for d in self.remaining)

    def as_json(self) -> list[dict[str, Any]]:
        """The remaining findings as `--output-format json` has them: plain values."""
        from ddelint.report import json_

        return [json_.finding(diagnostic) for diagnostic in self.remaining]

    def __str__(self) -> str:
        """The remaining findings as `--output-format full` has them, in plain text."""
        from ddelint.report import notebook

        return notebook.text(self)

    def __repr__(self) -> str:
        from ddelint.report import notebook

        return f"<Report: {notebook.headline(self)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ddelint.report import notebook

        return notebook.html(self)


class Progress(Protocol):
    """Where a long call says what it is doing. All of it goes to standard error, none of it to standard output."""

    def stage(self, text: str) -> None:
        """What is being done now, in a few words (`tracing model.py:Model`); replaces the stage before."""

    def share(self, done: int, total: int) -> None:
        """How much of what can be counted is done (files, questions); `total` may change. A guess of the time left
        comes from it."""

    def finding(self, diagnostic: Diagnostic, outcome: str = "") -> None:
        """What was just found, or what came of it by now (`safe fix`, `no fix`); the report has the last word."""

    def note(self, text: str) -> None:
        """A line that stays, at once (`running model.py:Model, inputs from make_inputs(seed)`); silent with `-q`."""

    def debug(self, text: str) -> None:
        """A line that stays, shown with `-v` only."""


class Silence:
    """Progress that says nothing."""

    def stage(self, text: str) -> None:
        """Nothing."""

    def share(self, done: int, total: int) -> None:
        """Nothing."""

    def finding(self, diagnostic: Diagnostic, outcome: str = "") -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def debug(self, text: str) -> None:
        """Nothing."""
