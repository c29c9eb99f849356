"""The files beside the one that is rewritten, as far as they import a function of it by name."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from pathlib import Path

from ddelint.sources.source import SourceError, SourceFile
from ddelint.system.files import read_regular

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What the folder of a project holds."""
_MOST_FILES = 3000
_SKIPPED = frozenset(("site-packages", "node_modules", "__pycache__", "venv", "build", "dist"))


def importers(filename: str, name: str) -> Iterator[tuple[SourceFile, str]]:
    """The files of the same project that import `name` from this one, or its module, each with what it calls it."""
    path = Path(filename)
    module = path.parent.name if path.stem == "__init__" else path.stem
    mentions = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
    for other in _python_files(_project(path.parent)):
        if other == filename:
            continue
        try:
            text = read_regular(other)
            if module.encode() not in text or mentions.search(text) is None:
                continue
            source = SourceFile.read(Path(other))
            yield from ((source, called) for called in _names(source, module, name))
        except (OSError, SourceError, ValueError):
            continue


def _names(source: SourceFile, module: str, name: str) -> Iterator[str]:
    """What a file calls `name` by, where it imports it or its module."""
    found = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.ImportFrom(module=str() as origin, names=names) if origin.rpartition(".")[2] == module:
                found |= {alias.asname or alias.name for alias in names if alias.name == name}
                found |= {name for alias in names if alias.name == "*"}
            case ast.ImportFrom(names=names) | ast.Import(names=names):
                found |= {name for alias in names if alias.name.rpartition(".")[2] == module}
                # one that hands it on: `from .helpers import *` in a package, and then `from package import name`
                found |= {
                    alias.asname or name for alias in names if alias.name == name and getattr(node, "level", False)
                }
    yield from sorted(found)


def _project(folder: Path) -> Path:
    """The nearest folder above that is a project's; the folder itself where there is none."""
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in _MARKS):
            return candidate
    return folder


def _python_files(folder: Path) -> tuple[str, ...]:
    found: list[str] = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        found += [os.path.join(where, name) for name in sorted(names) if name.endswith(".py")]
        if len(found) > _MOST_FILES:
            break
    return tuple(found[:_MOST_FILES])
