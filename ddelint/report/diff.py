"""The unified diff of a rewrite, as `git apply` and `patch -p0` read it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ddelint.system.files import repository_of

_QUOTED = re.compile(r'["\\\x00-\x1f\x7f]')


def shown_path(filename: str, folder: Path | None = None) -> str:
    """`filename` relative to the working directory (or `folder`) where it lies under it, else as it is."""
    if not os.path.isabs(filename):
        return Path(filename).as_posix()
    try:
        return Path(filename).relative_to(folder or Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(filename).as_posix()


def path_in_repository(filename: str) -> str:
    """As a forge knows the file: from the repository's root, wherever the call was made."""
    path = Path(filename).absolute()
    return shown_path(str(path), repository_of(path.parent)) if path.exists() else shown_path(filename)


def quoted(name: str) -> str:
    """A name as git writes it: quoted where it holds what would end it."""
    if not _QUOTED.search(name):
        return name
    return '"' + _QUOTED.sub(lambda found: f"\\{ord(found[0]):03o}", name) + '"'


def unified_diff(filename: str, before: str, after: str, context: int = 3) -> str:
    """The diff from `before` to `after`; empty where they are equal.

    Lines end as the file's own lines do; a last line without an end is marked as diff does.
    """
    import difflib  # slow to load

    name = quoted(shown_path(filename))
    lines = []
    for line in difflib.unified_diff(_lines(before), _lines(after), name, name, n=context):
        if line.endswith("\n"):
            lines.append(line)
        elif line.startswith(("---", "+++", "@@")):
            lines.append(line + "\n")
        else:
            lines.append(line + "\n\\ No newline at end of file\n")
    return "".join(lines)


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])
