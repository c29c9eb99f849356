"""The files beside the one that is rewritten: those that import something of it, and those that it imports from."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from time import time_ns

from ddelint.knowledge.operators import dotted_name, terminal_name
from ddelint.rewrite.reading.in_texts import NOTEBOOK, TEXTS, code_of, examples_of, source_of
from ddelint.rewrite.reading.named import classes_of
from ddelint.sources.source import SourceError, SourceFile
from ddelint.system.files import read_regular

_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
"""What the folder of a project holds."""
_IMPORTS = re.compile(
    rb"^[ \t]*+(?:from[ \t][^\n]{1,300}?import[ \t]{0,20}+\([^)]{0,4000}+\)|(?:from|import)[ \t][^\n]*+)", re.MULTILINE
)
_WORDS = re.compile(rb"\w+")
_MOST_FILES = 3000
_MOST_RE_EXPORTS = 4
_SKIPPED = frozenset(("site-packages", "node_modules", "__pycache__", "venv", "build", "dist"))


Read = Callable[[str], SourceFile]
"""A file by its absolute name. Raises KeyError for one that it does not know."""
Importers = Callable[[str, str], Iterable[tuple[SourceFile, str]]]
"""As `importers`; whoever asks about many candidates remembers what it gave."""


def imported(source: SourceFile, name: str, read: Read | None = None) -> tuple[SourceFile, str] | None:
    """The file of the same project that a name of `source` is imported from, and what it is called there (empty: the
    name is the file itself); None where nothing on the disk answers. `read` knows files as they are by now.
    """
    for _ in range(_MOST_RE_EXPORTS):
        found = _imported(source, name, read)
        if found is None:
            return None
        source, name = found
        if not name or any(getattr(s, "name", "") == name for s in source.tree.body):
            return source, name
    return None


def made_in(source: SourceFile, name: str) -> tuple[SourceFile, str] | None:
    """The file of the same project in which what a name of `source` is imported as is made, and what it is called
    there; None where none answers."""
    last: SourceFile | None = None
    for _ in range(_MOST_RE_EXPORTS):
        found = _imported(last or source, name, None)
        if found is None:
            break
        last, name = found
    return (last, name) if last is not None else None


def comes_from(source: SourceFile, name: str) -> SourceFile | None:
    """The file of `made_in` alone."""
    return (made_in(source, name) or (None,))[0]


def classes_named(source: SourceFile, node: ast.expr) -> list[tuple[SourceFile, ast.ClassDef]]:
    """The classes of the project that an expression of `source` names (`Length`, `meters.Length`), each with its file:
    its own, else the one that it imports them from."""
    file, name = source, terminal_name(node)
    if not classes_of(file, name) and (made := made_in(source, dotted_name(node).partition(".")[0])) is not None:
        file = made[0]
        name = name if isinstance(node, ast.Attribute) else made[1]
    return [(file, found) for found in classes_of(file, name)]


def _imported(source: SourceFile, name: str, read: Read | None) -> tuple[SourceFile, str] | None:
    """What one import statement of `source` says."""
    for node in source.tree.body:
        match node:
            case ast.ImportFrom(module=module, names=names, level=level):
                for alias in names:
                    if name != (alias.asname or alias.name):
                        continue
                    origin = [*(module or "").split(".")] if module else []
                    if (whole := _module(source, [*origin, alias.name], level, read)) is not None:
                        return whole, ""
                    file = _module(source, origin, level, read)
                    return (file, alias.name) if file is not None else None
            case ast.Import(names=names):
                for alias in names:
                    if name == alias.asname or (alias.asname is None and name == alias.name):
                        file = _module(source, alias.name.split("."), 0, read)
                        return (file, "") if file is not None else None
    return None


def _module(source: SourceFile, parts: list[str], level: int, read: Read | None) -> SourceFile | None:
    """The file of a module that `source` names by its parts, `level` folders up, or from any folder of the project."""
    folder = Path(source.filename).parent
    if level:
        roots = [(folder, *folder.parents)[min(level - 1, len(folder.parents))]]
    else:
        roots = list(_import_folders(folder))
    for root in roots:
        path = root.joinpath(*parts)
        for file in (path.with_suffix(".py"), path / "__init__.py"):
            if file.is_file():
                return _file(str(file), read)
    return None


def _import_folders(folder: Path) -> Iterator[Path]:
    """From where a file in `folder` may import: the folder, those around it in the project, where its package lies."""
    project = _project(folder)
    yield folder
    for inner, outer in zip((folder, *folder.parents), folder.parents):
        if not outer.is_relative_to(project) and not (inner / "__init__.py").exists():
            return
        yield outer


def _file(filename: str, read: Read | None) -> SourceFile | None:
    if read is not None:
        try:
            return read(filename)
        except KeyError:
            pass
    return _on_disk(filename, os.stat(filename).st_mtime_ns)


@lru_cache(maxsize=128)
def _on_disk(filename: str, _changed: int) -> SourceFile | None:
    try:
        return source_of(filename)
    except (OSError, SourceError, ValueError):
        return None


def file_of(filename: str) -> SourceFile | None:
    """A file as it is on the disk; None for what is none, or no Python."""
    try:
        return _on_disk(filename, os.stat(filename).st_mtime_ns)
    except OSError:
        return None


def importers(filename: str, name: str) -> Iterator[tuple[SourceFile, str]]:
    """The files of the same project that import `name` from this one, or its module, each with what it calls it: the
    code of notebooks among them, the examples in texts (`>>> f(3)` in a README), and those in its own docstrings."""
    path, module = Path(filename), _module_word(filename)
    if (own := _examples_in(filename)) is not None:
        yield own, name
    for other in _python_files(_project(path.parent)):
        try:
            if other == filename or module not in imported_words(other, changed := os.stat(other).st_mtime_ns):
                continue
            if not has_word(other, changed, (name,)):
                continue
            source = _on_disk(other, changed)
            if source is None:
                continue
            yield from ((source, called) for called in _names(source, os.fsdecode(module), name))
        except (OSError, SourceError, ValueError):
            continue


@lru_cache(maxsize=8 * _MOST_FILES)
def has_word(filename: str, _changed: int, words: Collection[str]) -> bool:
    """Whether a file says one of some words anywhere. Raises OSError, ValueError."""
    data, encoded = read_regular(filename), [word.encode() for word in words]
    if not any(word in data for word in encoded):  # a search for a word in hundreds of files takes far longer
        return False
    return re.search(rb"\b(?:" + b"|".join(map(re.escape, encoded)) + rb")\b", data) is not None


def _examples_in(filename: str) -> SourceFile | None:
    try:
        source = _on_disk(filename, os.stat(filename).st_mtime_ns)
        return examples_of(source) if source is not None else None
    except (OSError, SourceError, ValueError):
        return None


def connected(filename: str) -> Iterator[str]:
    """The files of the same project that import from this one, also by way of others, and what these and it import of
    the project: by the names of modules alone, so that one of the same name elsewhere is among them."""
    modules = {other: _module_word(other) for other in _python_files(_project(Path(filename).parent))}
    words: dict[str, frozenset[bytes]] = {}
    for other in modules:
        try:
            words[other] = imported_words(other, os.stat(other).st_mtime_ns)
        except (OSError, ValueError):
            continue
    importing, waiting = {filename}, [filename]
    while waiting:
        module = _module_word(waiting.pop())
        further = [other for other, said in words.items() if module in said and other not in importing]
        importing.update(further)
        waiting += further
    used = frozenset[bytes]().union(*(words.get(other, frozenset()) for other in importing))
    yield from (
        other for other, module in modules.items() if other != filename and (other in importing or module in used)
    )


def in_file(file: SourceFile, source: SourceFile) -> str:
    """What is said of a place in a file, seen from `source`: empty for its own places, else ` of helpers.py`."""
    return "" if file is source else f" of {os.path.basename(file.filename)}"


def module_name(filename: str) -> str:
    """By what a file is imported, without the packages around it."""
    path = Path(filename)
    return path.parent.name if path.stem == "__init__" else path.stem


def _module_word(filename: str) -> bytes:
    """The same in the bytes that the disk has: a name needn't be UTF-8."""
    return os.fsencode(module_name(filename))


@lru_cache(maxsize=4 * _MOST_FILES)
def imported_words(filename: str, _changed: int) -> frozenset[bytes]:
    """The names in a file's import statements, by its text alone. Raises OSError, ValueError."""
    data = read_regular(filename) if filename.endswith(".py") else code_of(filename, _changed).encode()
    return frozenset(word for line in _IMPORTS.findall(data) for word in _WORDS.findall(line))


def is_test(filename: str) -> bool:
    """Whether a file holds tests, as pytest finds them: what they call runs in eager mostly."""
    path = Path(filename)
    return path.stem.startswith("test_") or path.stem.endswith("_test") or path.stem == "conftest"


def imports_file(source: SourceFile, filename: str) -> bool:
    """Whether a file imports something from another of the project: not from one of the same name elsewhere."""
    wanted = Path(filename).resolve()
    for node in source.tree.body:
        for alias in node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else ():
            if alias.name == "*" and isinstance(node, ast.ImportFrom):
                file = _module(source, (node.module or "").split(".") if node.module else [], node.level, None)
            else:
                file = (imported(source, alias.asname or alias.name) or (None,))[0]
            if file is not None and Path(file.filename).resolve() == wanted:
                return True
    return False


def _names(source: SourceFile, module: str, name: str) -> Iterator[str]:
    """What a file calls `name` by, where it imports it or its module."""
    found = set()
    for node in source.imports:
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


def files_around(filename: str, endings: tuple[str, ...] = (".py", NOTEBOOK)) -> tuple[str, ...]:
    """The files of the project around a file that end in one of several ways."""
    return _files(_project(Path(filename).parent), endings)


def files_where(filename: str, is_wanted: Callable[[str, int], bool]) -> Iterator[SourceFile]:
    """The Python files of the project around a file of which something holds, by the file's name and when it changed;
    not those that cannot be read. `is_wanted` may raise OSError or ValueError."""
    for other in files_around(filename):
        try:
            found = is_wanted(other, os.stat(other).st_mtime_ns)
        except (OSError, ValueError):
            continue
        if found and (file := file_of(other)) is not None:
            yield file


def names_of_module(file: SourceFile, module: str) -> Iterator[str]:
    """What a file calls a module that it imports."""
    for node in file.imports:
        for alias in node.names:
            if alias.name.rpartition(".")[2] == module:
                yield alias.asname or module


def _python_files(folder: Path) -> tuple[str, ...]:
    """Texts behind the others: of data there may be thousands, which must not keep a Python file from being read."""
    return (*_files(folder, (".py", NOTEBOOK)), *_files(folder, TEXTS))


def _files(folder: Path, endings: tuple[str, ...]) -> tuple[str, ...]:
    """A listing is used again as long as none of its folders has changed: each question asks for several."""
    known = _listings.get((folder, endings))
    if known is not None and all(_changed(where) == changed for where, changed in known[0].items()):
        return known[1]
    folders, files = _listed(folder, endings)
    if max(folders.values(), default=0) < time_ns() - _SETTLED:
        if len(_listings) >= _MOST_LISTINGS:
            _listings.clear()
        _listings[folder, endings] = folders, files
    return files


def _listed(folder: Path, endings: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """The folders below one, each with when it changed, and the files in them that end so."""
    around, found = dict[str, int](), list[str]()
    for where, folders, names in os.walk(folder):
        around[where] = _changed(where)
        folders[:] = sorted(f for f in folders if f not in _SKIPPED and not f.startswith("."))
        found += [os.path.join(where, name) for name in sorted(names) if name.endswith(endings)]
        if len(found) > _MOST_FILES:
            break
    return around, tuple(found[:_MOST_FILES])


def _changed(folder: str) -> int:
    """When a folder last got or lost a name; 0 for one that is gone."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


_listings: dict[tuple[Path, tuple[str, ...]], tuple[dict[str, int], tuple[str, ...]]] = {}
"""The listings that were made last, by folder and endings."""
_MOST_LISTINGS = 12
_SETTLED = 100_000_000
"""Nanoseconds after which a folder's time shows a further change: clocks of file systems tick slowly."""
