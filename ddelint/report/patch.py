"""What a call changed, or would change, as a patch that `git apply` reads in the repository's root."""

from __future__ import annotations

import codecs
import io
import os
import re
import tokenize
from pathlib import Path

from ddelint.report.diff import quoted, shown_path
from ddelint.report.model import Report
from ddelint.system.files import LARGE, read_regular, repository_of

_FIRST_HUNK = re.compile(r"@@ -1[, ]")


def render_patch(report: Report) -> bytes:
    """All diffs, each in its file's own encoding; names are relative to the repository, else to the working directory.

    Nothing where nothing changes.
    """
    return b"".join(_of_file(name, report.diffs[name]) for name in sorted(report.diffs))


def _of_file(filename: str, diff: str) -> bytes:
    encoding = _encoding(filename)
    name = shown_path(os.path.realpath(filename), repository_of(Path(filename).resolve().parent))
    old, new = quoted(f"a/{name}"), quoted(f"b/{name}")
    tab = "\t" if " " in name else ""  # as git marks the end of a name with blanks
    header = f"diff --git {old} {new}\n--- {old}{tab}\n+++ {new}{tab}\n"
    _, _, hunks = diff.split("\n", 2)
    if encoding == "utf-8-sig":
        encoding, hunks = "utf-8", _with_mark(hunks)
    return header.encode(errors="surrogateescape") + hunks.encode(encoding)


def _encoding(filename: str) -> str:
    """The file's encoding by its cookie or byte order mark."""
    try:
        return tokenize.detect_encoding(io.BytesIO(read_regular(filename, LARGE)).readline)[0]
    except (OSError, SyntaxError):
        return "utf-8"


def _with_mark(hunks: str) -> str:
    """With the byte order mark before a first line that is part of the diff: the text of a file comes without it."""
    if not _FIRST_HUNK.match(hunks):
        return hunks
    lines = hunks.split("\n")
    marked: set[str] = set()
    for at, line in enumerate(lines[1:], 1):
        kind = line[:1]
        if kind in marked or line.startswith("@@"):
            continue
        lines[at] = kind + codecs.BOM_UTF8.decode() + line[1:]
        marked |= {"-", "+", " "} if kind == " " else {kind}
        if {"-", "+"} <= marked:
            break
    return "\n".join(lines)
