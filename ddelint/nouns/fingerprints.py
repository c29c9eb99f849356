"""What a finding is known by from one version of its file to the next: not by its line.

Made of the rule, the file, the text of the finding's lines without white space and comments, and the classes and
functions around it. Equal findings are counted from the top. So a fingerprint survives lines that come or go
elsewhere, new indentation and new comments; it changes when the code in question does.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from ddelint.nouns.diagnostics import Diagnostic, Span

LinesOf = Callable[[str], Sequence[str]]
"""Filename → the file's lines (with or without line ends); an empty sequence where it cannot be read."""

_SCOPE = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+(\w+)")


def fingerprints(findings: Sequence[Diagnostic], lines_of: LinesOf, base: str | Path) -> list[str]:
    """One hex string of 32 digits for each finding, in their order; no two are the same.

    `base`: the folder that file names are taken relative to, so that two checkouts agree. `lines_of` must give the
    text that the findings' spans are about.
    """
    made: list[str] = [""] * len(findings)
    seen: Counter[str] = Counter()
    places = sorted(range(len(findings)), key=lambda i: (findings[i].span, findings[i].code))
    for place in places:
        finding = findings[place]
        name = relative(finding.span.filename, base)
        content = "\0".join(
            (finding.stands_for or finding.code, name, *_content(lines_of(finding.span.filename), finding.span))
        )
        counted = f"{content}\0{seen[content]}".encode(errors="replace")
        made[place] = hashlib.blake2b(counted, digest_size=16).hexdigest()
        seen[content] += 1
    return made


def relative(filename: str, base: str | Path) -> str:
    """The file's name below `base` with forward slashes; one that lies elsewhere stays as it is."""
    if not os.path.isabs(filename):
        return filename.replace(os.sep, "/")
    try:
        return Path(os.path.relpath(filename, os.path.realpath(base))).as_posix()
    except ValueError:  # another drive
        return Path(filename).as_posix()


def _content(lines: Sequence[str], span: Span) -> list[str]:
    """The names around the finding, outermost first, then its lines' text without white space."""
    covered = [line.rstrip("\r\n") for line in lines[span.row - 1 : span.end_row]]
    if not covered:
        return []
    # a comment can only begin behind the finding, where its last line is concerned
    last = covered[-1]
    covered[-1] = last[: span.end_column - 1] + last[span.end_column - 1 :].split("#", 1)[0]
    return [*_scopes(lines, span.row), "".join("".join(covered).split())]


def _scopes(lines: Sequence[str], row: int) -> list[str]:
    own = lines[row - 1]
    indentation = len(own) - len(own.lstrip())
    found: list[str] = []
    for line in reversed(lines[: row - 1]):
        if indentation == 0:
            break
        match = _SCOPE.match(line)
        if match is not None and len(match[1]) < indentation:
            found.insert(0, match[2])
            indentation = len(match[1])
    return found
