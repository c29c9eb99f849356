"""A file of known findings, which a run leaves out: what is there today needn't be fixed before a new check goes in.

An entry is known by its fingerprint (see `fingerprints`); the other keys are for people who read the file. File names
in it are relative to its own folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddelint.errors import DdelintError
from ddelint.nouns.diagnostics import Diagnostic
from ddelint.nouns.fingerprints import LinesOf, fingerprints, relative
from ddelint.sources.replacing import write_atomically
from ddelint.system.files import LARGE, read_regular

FORMAT = 1
"""The version of the file's layout."""


class BaselineError(DdelintError):
    """A baseline that cannot be read or written; the message is one line."""


@dataclass(frozen=True, slots=True)
class Known:
    """One entry."""

    fingerprint: str
    code: str
    file: str
    line: int
    message: str
    found_by: tuple[str, ...] = ()
    """The passes that found it; empty in a baseline of an older version, which didn't say."""

    @property
    def place(self) -> str:
        """`model.py:31 DDE101`: where it stood when the baseline was written."""
        return f"{self.file}:{self.line} {self.code}"


IsExpected = Callable[[Known, str], bool]
"""Whether a run would have found an entry's finding again, by the entry and the full name of its file."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A run's findings against a baseline."""

    new: tuple[Diagnostic, ...]
    """What the baseline doesn't know, in the given order."""
    known: int
    stale: tuple[Known, ...]
    """Entries that should have matched something in this run, and didn't."""


def read(filename: str | Path) -> tuple[Known, ...]:
    """The entries of a baseline. Raises BaselineError where it isn't one."""
    try:
        table: Any = json.loads(read_regular(filename, LARGE))
    except FileNotFoundError:
        raise BaselineError(f"there is no baseline {filename}: `--write-baseline {filename}` makes it") from None
    except OSError as error:
        raise BaselineError(f"cannot read the baseline {filename}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"cannot read the baseline {filename}: {error}") from error
    version = table.get("ddelint-baseline") if isinstance(table, dict) else None
    if version != FORMAT:
        known = "another version's" if isinstance(version, int) else "no"
        advice = f"move it away, then `--write-baseline {filename}` makes a new one"
        raise BaselineError(f"{filename} is {known} baseline: {advice}")
    try:
        return tuple(Known(**{**entry, "found_by": tuple(entry.get("found_by", ()))}) for entry in table["findings"])
    except (KeyError, TypeError, AttributeError) as error:
        raise BaselineError(f"the baseline {filename} is damaged: {error}") from error


def read_older(filename: str | Path) -> tuple[Known, ...]:
    """The entries of the baseline that a new one replaces, if there is one. Raises BaselineError where it isn't one."""
    return read(filename) if Path(filename).exists() else ()


def compare(
    findings: Sequence[Diagnostic], lines_of: LinesOf, filename: str | Path, is_expected: IsExpected
) -> Compared:
    """Which findings are new. Raises BaselineError."""
    entries = {entry.fingerprint: entry for entry in read(filename)}
    base = Path(filename).absolute().parent
    made = fingerprints(findings, lines_of, base)
    new = tuple(finding for finding, mark in zip(findings, made, strict=True) if mark not in entries)
    matched = set(made)
    unmatched = [entry for mark, entry in entries.items() if mark not in matched]
    stale = tuple(entry for entry in unmatched if is_expected(entry, os.path.realpath(base / entry.file)))
    return Compared(new, len(findings) - len(new), stale)


def write(findings: Sequence[Diagnostic], lines_of: LinesOf, filename: str | Path, is_expected: IsExpected) -> int:
    """Make `filename` the baseline of these findings; gives how many entries it has.

    Entries of an older baseline that are out of this run's sight (`is_expected` as in `compare`) stay. Raises
    BaselineError.
    """
    base = Path(filename).absolute().parent
    made = fingerprints(findings, lines_of, base)
    entries = {
        mark: Known(mark, d.code, relative(d.span.filename, base), d.span.row, d.message, d.origin)
        for mark, d in zip(made, findings, strict=True)
    }
    for entry in read_older(filename):
        if not is_expected(entry, os.path.realpath(base / entry.file)):
            entries.setdefault(entry.fingerprint, entry)
    rows = sorted(entries.values(), key=lambda entry: (entry.file, entry.line, entry.code, entry.fingerprint))
    body = ",\n    ".join(json.dumps({name: getattr(entry, name) for name in Known.__slots__}) for entry in rows)
    listed = f"[\n    {body}\n  ]" if rows else "[]"
    text = f'{{\n  "ddelint-baseline": {FORMAT},\n  "findings": {listed}\n}}\n'
    try:
        write_atomically(Path(filename), text.encode())
    except OSError as error:
        raise BaselineError(f"cannot write the baseline {filename}: {error.strerror}") from error
    return len(rows)
