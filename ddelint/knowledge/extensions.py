"""Rule files of others: those that installed packages bring, and those that a configuration names.

A TOML file with a `code` is a rule (`catalog` reads it), one without holds facts about operators, in the tables
of our own operators.toml (`operators`). Files add up while the process lives; which of their rules a call
reports is decided by its selection.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from ddelint.errors import DdelintError
from ddelint.system.files import read_regular, read_toml

GROUP = "ddelint.rules"
"""The group of entry points whose values name packages: the TOML files in their folders are read."""

_METADATA = (".dist-info", ".egg-info")
_named: dict[Path, tuple[int, int]] = {}
"""File → size and time of its last change, of what configurations have named."""
_emptied: list[Callable[[], None]] = []
P = ParamSpec("P")
R = TypeVar("R")


class ExtensionError(DdelintError):
    """A rule file that cannot be used; the message names it and what is wrong."""


def remembered(function: Callable[P, R]) -> Callable[P, R]:
    """`functools.cache` that forgets once another rule file counts."""
    known = functools.cache(function)
    _emptied.append(known.cache_clear)
    return known  # type: ignore[return-value]  # it takes what the function takes


def add(files: Iterable[Path]) -> None:
    """Let rule files count from now on. Raises ExtensionError where one cannot be read as TOML."""
    files = tuple(files)
    gone = [path for path in _named if not path.is_file()]  # renamed, or deleted, since
    for path in gone:
        del _named[path]
    changed = bool(gone)
    for path in files:
        try:
            found = os.stat(path)
        except OSError as error:
            raise ExtensionError(f"{path}: {error.strerror}") from None
        stamp = (found.st_size, found.st_mtime_ns)
        if _named.get(path) != stamp:
            _named[path] = stamp
            changed = True
    if changed:
        for empty in _emptied:
            empty()
    try:
        tables()
    except ExtensionError:
        for path in files:
            _named.pop(path, None)
        for empty in _emptied:
            empty()
        raise


def files() -> tuple[Path, ...]:
    """All rule files that count."""
    return (*_installed(), *(path for path in _named if path not in _installed()))


def codes_in(wanted: Iterable[Path]) -> tuple[str, ...]:
    """The codes of the rules that these files and the installed ones hold."""
    chosen = {*wanted, *_installed()}
    return tuple(str(table["code"]) for path, table in tables().items() if path in chosen and "code" in table)


@remembered
def tables() -> Mapping[Path, dict[str, Any]]:
    """File → what stands in it. Raises ExtensionError for a file that is no TOML, or a code that is no code."""
    found: dict[Path, dict[str, Any]] = {}
    owners: dict[str, Path] = {}
    for path in files():
        try:
            table = read_toml(path)
        except OSError as error:
            raise ExtensionError(f"{path}: {error.strerror}") from None
        except ValueError as error:
            raise ExtensionError(f"{path}: {error}") from None
        if "code" in table:
            code = table["code"]
            if not isinstance(code, str) or not re.fullmatch(r"(?!DDE\d)[A-Z]{2,12}\d{1,4}", code):
                raise ExtensionError(f"{path}: `code` must be capitals and digits (ACME001), and DDE is ddelint's own")
            if code in owners and found[owners[code]] != table:  # a copy in another project is the same rule
                raise ExtensionError(f"{path}: {code} is the rule of {owners[code]} already")
            owners.setdefault(code, path)
        found[path] = table
    return found


@remembered
def rule_tables() -> Mapping[str, tuple[Path, dict[str, Any]]]:
    """Code → its file and what stands in it."""
    return {str(table["code"]): (path, table) for path, table in tables().items() if "code" in table}


@remembered
def prefixes() -> tuple[str, ...]:
    """What codes begin with: `DDE`, and the letters of other rules."""
    return ("DDE", *sorted({code.rstrip("0123456789") for code in rule_tables()}))


@functools.cache
def _installed() -> tuple[Path, ...]:
    """The rule files of installed packages. Looking for the group's name in bytes costs a tenth of reading metadata."""
    found: list[Path] = []
    for name in dict.fromkeys(_values()):
        found += sorted(_folder(name).glob("*.toml"))
    return tuple(dict.fromkeys(path.resolve() for path in found))


def _values() -> Iterator[str]:
    """The values of the group's entry points."""
    heading = f"[{GROUP}]"
    for folder in dict.fromkeys(sys.path):
        try:
            entries = [entry.path for entry in os.scandir(folder or ".") if entry.name.endswith(_METADATA)]
        except OSError:
            continue
        for path in sorted(entries):
            try:
                text = read_regular(os.path.join(path, "entry_points.txt")).decode(errors="replace")
            except OSError:
                continue
            if heading in text:
                section = text.partition(heading)[2].partition("\n[")[0]
                yield from re.findall(r"^[ \t]*+[\w.-]++[ \t]*+=[ \t]*+([\w.]++)", section, re.MULTILINE)


def _folder(name: str) -> Path:
    """A package's folder; nothing of it is imported. Raises ExtensionError where it is not there."""
    from importlib.util import find_spec

    first, *rest = name.split(".")
    try:
        found = find_spec(first)  # asks every finder, as an editable installation has one of its own
    except ValueError:  # loaded already, without a specification
        found = None
    places = list(found.submodule_search_locations or ()) if found is not None else []
    folders = [Path(place, *rest) for place in places]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        raise ExtensionError(f"entry point {GROUP}: there is no package {name}")
    return folder
