"""The rule files of a configuration's `extend-rules`: patterns, made files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

END = ".toml"


def matching(patterns: Iterable[str], root: Path) -> dict[str, tuple[Path, ...]]:
    """Pattern → the TOML files that it stands for: a file, a folder's, or those that a glob below `root` finds.

    Links to folders are not followed.
    """
    return {pattern: tuple(sorted(path.resolve() for path in _found(pattern, root))) for pattern in patterns}


def start(pattern: str, root: Path) -> Path:
    """The file or folder that a pattern names, as far as it is no glob; nothing outside of it is looked at."""
    return _parts(pattern, root)[0]


def _parts(pattern: str, root: Path) -> tuple[Path, tuple[str, ...]]:
    """What a pattern names, and the rest of it, which is a glob."""
    path = root / Path(pattern).expanduser()
    first = next((number for number, part in enumerate(path.parts) if set(part) & set("*?")), len(path.parts))
    return Path(os.path.normpath(Path(*path.parts[:first]))), path.parts[first:]


def _found(pattern: str, root: Path) -> Iterable[Path]:
    named, rest = _parts(pattern, root)
    if rest:
        return _below(named, rest)
    if named.is_dir():
        return (path for path in named.glob(f"*{END}") if path.is_file())
    return [named] if named.is_file() else []


def _below(folder: Path, rest: tuple[str, ...]) -> Iterator[Path]:
    """The files under a folder that a glob finds, no deeper than it says."""
    from ddelint.settings.globs import Glob  # most configurations have none

    wanted = Glob("/".join(rest))
    deepest = None if any("**" in part for part in rest) else len(rest)
    for place, folders, names in os.walk(folder):
        inner = Path(place).relative_to(folder)
        if deepest is not None and len(inner.parts) + 1 >= deepest:
            folders.clear()
        for name in names:
            path = inner / name
            if name.endswith(END) and wanted.matches(path.as_posix()) and (folder / path).is_file():
                yield folder / path
