"""Files that are all there is of a distribution: `afor.py`, as it is installed, or as its project says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache

LARGEST = 100_000
"""Bytes that are read of what says so."""
_RECORDED = re.compile(r"^(\w++)\.py,", re.MULTILINE)
_LISTED = re.compile(r"\bpy[-_]modules\s{0,9}+[=:]\s{0,9}+\[?([^\]\[=:]{1,2000})")
_NAME = re.compile(
    r"^\[(?:project|metadata|tool\.poetry)\][^\n]*\n(?:(?!\[)[^\n]*\n){0,200}?"
    r"name\s{0,9}+=\s{0,9}+[\"']?([\w.-]{1,200}+)",
    re.MULTILINE,
)
_WORD = re.compile(r"\w++")
_REMEMBERED = 1_000
"""Folders."""
_SETTINGS = ("pyproject.toml", "setup.py", "setup.cfg")


def is_distributed(path: str) -> bool:
    """Whether a file that lies in no package is one that people install and import."""
    folder, name = os.path.split(os.path.abspath(path))
    seen = tuple(map(_stamp, (folder, *_settings(folder))))
    return name.removesuffix(".py") in _modules(folder, seen)


@lru_cache(maxsize=_REMEMBERED)
def _modules(folder: str, _seen: tuple[tuple[int, int] | None, ...]) -> frozenset[str]:
    """The modules of a folder that distributions consist of; `_seen`: what must be as it was for that to hold."""
    try:
        names = os.listdir(folder)
    except OSError:
        return frozenset()
    found: set[str] = set()
    for name in names:
        if name.endswith(".dist-info"):
            found.update(_RECORDED.findall(_text(os.path.join(folder, name, "RECORD"))))
    for text in map(_text, _settings(folder)):
        for listed in _LISTED.findall(text):
            found.update(_WORD.findall(listed))
        found.update(re.sub(r"[.-]", "_", name) for name in _NAME.findall(text))
    return frozenset(found)


def _settings(folder: str) -> Iterator[str]:
    """The files in which a project says what it consists of."""
    around = [folder, os.path.dirname(folder)] if os.path.basename(folder) == "src" else [folder]
    return (os.path.join(place, settings) for place in around for settings in _SETTINGS)


def _stamp(path: str) -> tuple[int, int] | None:
    """What changes where a file does, or what lies in a folder."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read(LARGEST).decode("utf-8", errors="replace")
    except OSError:
        return ""
