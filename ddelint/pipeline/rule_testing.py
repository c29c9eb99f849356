"""Fixtures of rules: the expectation stands on the line, and all else must be silent.

`# error: ACME001` (several: `# error: ACME001, DDE206`) on a line that must be flagged, `# ok` on one that looks alike
and must not be; beside `model.py`, `model.fixed.py` holds what the fixes make of it. Our own rules are tested with the
same functions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ddelint.knowledge import extensions
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.report.diff import shown_path, unified_diff
from ddelint.settings import suppressions
from ddelint.sources.replacing import write_atomically
from ddelint.sources.source import SourceError, SourceFile
from ddelint.static.checks import check_source
from ddelint.system.files import leads_out

EXPECTATION = re.compile(r"#\s*error: ([A-Z]{2,12}\d{1,4}(?:, [A-Z]{2,12}\d{1,4})*)")
LOOKALIKE = re.compile(r"#\s*ok\b")
FIXED = ".fixed.py"
_CONFIGURATION = ("ddelint.toml", "pyproject.toml")


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the fixtures of a folder came out."""

    files: int
    rules: tuple[str, ...]
    """Codes of the rules that the folder holds."""
    problems: tuple[str, ...]
    """A line each; a difference of fixed files is followed by its diff."""
    notes: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    """Files that were written."""


def expected(source: SourceFile) -> list[str]:
    """`14: DDE101` for each expectation."""
    return sorted(
        f"{row}: {code}"
        for row, line in enumerate(source.lines, 1)
        for match in EXPECTATION.finditer(line)
        for code in match[1].split(", ")
    )


def findings(source: SourceFile) -> list[Diagnostic]:
    """What the static pass finds, comments that silence it respected. Raises SourceError."""
    return suppressions.apply(source, check_source(source))


def found(source: SourceFile) -> list[str]:
    """`14: DDE101` for each finding. Raises SourceError where the file does not parse."""
    return sorted(f"{diagnostic.span.row}: {diagnostic.code}" for diagnostic in findings(source))


def rule_files_under(folder: Path) -> list[Path]:
    """The TOML files that may hold rules or facts."""
    return [path.resolve() for path in sorted(folder.rglob("*.toml")) if path.name not in _CONFIGURATION]


def fixtures_under(folder: Path) -> list[Path]:
    """The Python files to check."""
    return [path for path in sorted(folder.rglob("*.py")) if not path.name.endswith(FIXED) and path.is_file()]


def run(folder: Path, accept: bool = False) -> Outcome:
    """Check the fixtures under `folder` with the rules under it (and those that count already).

    With `accept`, what the fixes make of a file is written beside it instead of being compared. Raises DdelintError.
    """
    own = rule_files_under(folder)
    extensions.add(own)
    codes = tuple(str(table["code"]) for path, table in extensions.tables().items() if path in own and "code" in table)
    problems: list[str] = []
    accepted: list[str] = []
    lines: list[str] = []
    files = fixtures_under(folder)
    for path in files:
        try:
            source = SourceFile.read(path)
            diagnostics = findings(source)
        except SourceError as error:
            problems.append(f"{shown_path(str(path.resolve()))}:{error.span.row}: does not parse: {error}")
            continue
        lines += source.lines
        problems += _differences(source, diagnostics)
        problems += _fixed(source, diagnostics, accept, accepted)
    flagged = {code for line in lines for match in EXPECTATION.finditer(line) for code in match[1].split(", ")}
    problems += [
        f"{code}: no fixture has a line that it must flag (# error: {code})" for code in codes if code not in flagged
    ]
    notes = []
    if codes and not any(LOOKALIKE.search(line) for line in lines):
        notes.append("no fixture has a line that looks alike and must not be flagged (# ok)")
    return Outcome(len(files), codes, tuple(problems), tuple(notes), tuple(accepted))


def _differences(source: SourceFile, diagnostics: Iterable[Diagnostic]) -> list[str]:
    name = shown_path(str(Path(source.filename).resolve()))
    wanted = expected(source)
    seen = sorted(f"{diagnostic.span.row}: {diagnostic.code}" for diagnostic in diagnostics)
    problems = []
    for text in sorted({*wanted, *seen}, key=lambda text: (int(text.partition(":")[0]), text)):
        row, _, code = text.partition(": ")
        if wanted.count(text) > seen.count(text):
            problems.append(f"{name}:{row}: {code} was expected and not found")
        elif seen.count(text) > wanted.count(text):
            problems.append(f"{name}:{row}: {code} was found and not expected")
    return problems


def _fixed(source: SourceFile, diagnostics: list[Diagnostic], accept: bool, accepted: list[str]) -> list[str]:
    """What is wrong with the file that holds the fixed text, if there is one; `accept` writes it."""
    from ddelint.rewrite.static_fixes import fixed_text, with_static_fixes

    path = Path(source.filename).with_suffix(FIXED)
    if not path.exists() and not accept:
        return []
    text = fixed_text(source, with_static_fixes(diagnostics, {source.filename: source}), True)
    stored = SourceFile.read(path).text if path.exists() else None
    if text == stored or (stored is None and text == source.text):
        return []
    if accept:
        if leads_out(path, path.parent):
            return [f"{shown_path(str(path))}: a link that leads out of its folder, which is not written"]
        write_atomically(path, source.encode(text))
        accepted.append(shown_path(str(path.resolve())))
        return []
    name = str(path.resolve())
    diff = unified_diff(name, stored or "", text)
    return [f"{shown_path(name)}: the fixes make something else\n{diff.rstrip()}"]
