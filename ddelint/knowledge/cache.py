"""What the static pass found, kept from call to call: findings, too, not only that a file is clean.

One JSON file for each folder of sources, so that checking one file loads little, and a whole tree is not thousands of
files. A file that has the same size, time and inode as before is not read; else its content's hash decides. Nothing
here raises because the disk is full or read-only: a cache that does not work is a miss.

A repository may hold a folder of the cache's name, made by anybody. So the folder and all in it is ours or is not used
at all: `OwnFolder` reaches nothing through a link and nothing of another user's, and a folder that is there already
must hold our CACHEDIR.TAG (or be empty, which nothing checked in can be). What it says is believed only where it was
written on this machine, into this folder: every file of the cache names the inode and the change time of the tag beside
it. Neither can be chosen, so a cache that came with a repository, an archive or a copy is a miss, and is overwritten.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddelint.knowledge import extensions
from ddelint.knowledge.folder import rules_folder
from ddelint.system.digests import digest_of
from ddelint.system.files import OwnFolder
from ddelint.version import VERSION

RACY = 2 * 10**9
"""Nanoseconds: a file changed so shortly before it was looked at may change again without a new time."""

TAG = "CACHEDIR.TAG"
IGNORE = ".gitignore"
CONTENTS = {TAG: b"Signature: 8a477f597d28d172789f06886806bc55\n# made by ddelint\n", IGNORE: b"*\n"}
"""What git and backup tools are to know of the folder, by file."""

Stamp = tuple[int, int, int]
"""Size, time of the last change in nanoseconds, inode."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file was when it was read."""

    digest: str
    stamp: Stamp | None
    """None where the time says nothing."""


def stamp_of(path: str) -> Stamp:
    """The file's stamp. Raises OSError."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino


def content_of(data: bytes, stamp: Stamp | None) -> Content:
    """What to remember of a file that held `data`, with the stamp that it had just before it was read."""
    if stamp is not None and time.time_ns() - stamp[1] < RACY:
        stamp = None
    return Content(digest_of(data), stamp)


class Cache:
    """Plain values by file. A hit needs the same content, `salt`, rules and code of ddelint, and Python version."""

    def __init__(self, folder: str | Path, salt: str = "", enabled: bool = True) -> None:
        """`salt`: whatever else the values depend on (options of the static pass)."""
        self.folder = Path(folder)
        self.enabled = enabled
        self.problem = ""
        """Why the folder is of no use, where it is not."""
        self._salt = salt
        self._shards: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()

    def get(self, path: str, stamp: Stamp | None, data: bytes | None = None) -> Any | None:
        """What was stored for the file if it still is what it was, by its stamp or else by `data`; None for a miss.

        A hit by content takes over the new stamp.
        """
        entry = self._entry(path)
        if entry is None:
            return None
        if stamp is not None and entry.get("stamp") == list(stamp):
            return entry.get("value")
        if data is None:
            return None
        content = content_of(data, stamp)
        if entry.get("digest") != content.digest:
            return None
        if content.stamp is not None:
            entry["stamp"] = list(content.stamp)
            self._changed.add(os.path.dirname(path))
        return entry.get("value")

    def holds(self, path: str) -> bool:
        """Whether anything is stored for the file, as it is or as it was."""
        return self._entry(path) is not None

    def digest(self, path: str, stamp: Stamp) -> str | None:
        """The digest of the file's content, where the stamp says that it is what it was."""
        entry = self._entry(path)
        return str(entry["digest"]) if entry is not None and entry.get("stamp") == list(stamp) else None

    def put(self, path: str, content: Content, value: Any) -> None:
        """Remember `value` (plain JSON) for the file; `save` writes it."""
        if not self.enabled:
            return
        folder, name = os.path.split(path)
        stamp = None if content.stamp is None else list(content.stamp)
        self._shard(folder)[name] = {"digest": content.digest, "stamp": stamp, "value": value}
        self._changed.add(folder)

    def save(self) -> None:
        """Write what has changed, each folder's file whole or not at all; what is gone from a folder is dropped."""
        for folder in sorted(self._changed):
            files = self._shards[folder]
            for name in [name for name in files if not os.path.exists(os.path.join(folder, name))]:
                del files[name]
            self._store(folder, files)
        self._changed.clear()

    def _entry(self, path: str) -> dict[str, Any] | None:
        if not self.enabled:
            return None
        folder, name = os.path.split(path)
        entry = self._shard(folder).get(name)
        return entry if isinstance(entry, dict) else None

    def _shard(self, folder: str) -> dict[str, Any]:
        known = self._shards.get(folder)
        if known is None:
            known = self._shards[folder] = self._load(folder)
        return known

    def _load(self, folder: str) -> dict[str, Any]:
        shard, name = self._place(folder)
        with (
            suppress(FileNotFoundError, ValueError, TypeError, KeyError, RecursionError),
            self._noting_problems(),
            OwnFolder.opened(str(self.folder)) as root,
        ):
            made_by = _made_by(root)
            with root.entered(VERSION) as version, version.entered(shard) as place:
                stored = json.loads(place.read(name))
            if stored["made by"] == made_by and stored["folder"] == folder and isinstance(stored["files"], dict):
                return dict(stored["files"])
        return {}

    def _store(self, folder: str, files: dict[str, Any]) -> None:
        shard, name = self._place(folder)
        with suppress(ValueError), self._noting_problems(), OwnFolder.opened(str(self.folder), make=True) as root:
            _mark(root)
            stored = {"made by": _made_by(root), "folder": folder, "files": files}
            with root.entered(VERSION, make=True) as version, version.entered(shard, make=True) as place:
                place.write(name, json.dumps(stored).encode())

    @contextmanager
    def _noting_problems(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:  # nothing is stored yet
            raise
        except OSError as error:
            self.problem = _said(error)

    def _place(self, folder: str) -> tuple[str, str]:
        """Folder and name of the file that holds what is known of a folder of sources."""
        name = digest_of(*(part.encode(errors="surrogateescape") + b"\0" for part in (self._salt, folder)))
        return name[:2], f"{name[2:]}.json"


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What became of a cache."""

    removed: bool
    """False where there was none, or the folder is none of ours."""
    left: tuple[str, ...] = ()
    """Files in it that are not the cache's, which stay."""
    problem: str = ""
    """Why the folder was not touched, or not all of it."""


def clean(folder: str | Path) -> Cleaned:
    """Drop the cache in `folder`: the files that the cache calls so, and no other."""
    try:
        with OwnFolder.opened(str(folder)) as root:
            _require_tag(root)
            left = tuple(_remove_versions(root))
            if not left:
                for name in CONTENTS:
                    root.remove(name)
        if not left:
            os.rmdir(folder)
    except FileNotFoundError:
        return Cleaned(False)
    except OSError as error:
        return Cleaned(False, problem=_said(error))
    return Cleaned(True, left)


def _remove_versions(root: OwnFolder) -> Iterator[str]:
    """Remove what the cache stores; gives what is none of its own."""
    for name in root.names():
        if name in CONTENTS and root.holds_file(name) and root.read(name) == CONTENTS[name]:
            continue
        if _is_temporary(name, CONTENTS) and root.holds_file(name):
            root.remove(name)
        elif name[:1].isdigit() and root.holds_folder(name):
            with root.entered(name) as version:
                yield from _remove_shards(version)
            _remove_if_empty(root, name)
        else:
            yield os.path.join(root.path, name)


def _remove_shards(version: OwnFolder) -> Iterator[str]:
    for shard in version.names():
        if not (_is_hexadecimal(shard, 2) and version.holds_folder(shard)):
            yield os.path.join(version.path, shard)
            continue
        with version.entered(shard) as place:
            for name in place.names():
                stem, end = os.path.splitext(name)
                stored = _is_hexadecimal(stem, 30) and end == ".json"
                half = _is_temporary(name, ()) and _is_hexadecimal(name[1:31], 30)
                if (stored or half) and place.holds_file(name):
                    place.remove(name)
                else:
                    yield os.path.join(place.path, name)
        _remove_if_empty(version, shard)


def _remove_if_empty(above: OwnFolder, name: str) -> None:
    with above.entered(name) as folder:
        empty = not folder.names()
    if empty:
        above.remove_folder(name)


def _is_hexadecimal(text: str, length: int) -> bool:
    return len(text) == length and set(text) <= set("0123456789abcdef")


def _is_temporary(name: str, of: Container[str]) -> bool:
    """Whether a file is one that a call left half written, of one of these (of none given: of any)."""
    parts = name[1:].rsplit(".", 2)
    return name.startswith(".") and len(parts) == 3 and parts[2] == "tmp" and (not of or parts[0] in of)


def _mark(root: OwnFolder) -> None:
    """Report git and backup tools what the folder is. Raises OSError where somebody else has made it."""
    names = root.names()
    if TAG not in names and all(_is_temporary(name, CONTENTS) for name in names):  # nothing checked in is empty
        root.write(TAG, CONTENTS[TAG])
    if IGNORE not in names:
        _require_tag(root)
        root.write(IGNORE, CONTENTS[IGNORE])


def _require_tag(root: OwnFolder) -> None:
    """Raises OSError where the folder does not hold our tag."""
    try:
        tagged = root.read(TAG, len(CONTENTS[TAG])) == CONTENTS[TAG]
    except OSError:
        tagged = False
    if not tagged:
        raise PermissionError(errno.EPERM, f"this is no cache of ddelint's, it has no {TAG} of ours", root.path)


def _said(error: OSError) -> str:
    return f"{error.filename}: {error.strerror}" if error.filename is not None else str(error.strerror)


def _made_by(root: OwnFolder) -> str:
    """What a file of the cache must say to be believed. Raises OSError where the folder is none of ours."""
    _require_tag(root)
    tag = root.entry(TAG)
    return f"{_fingerprint()} {tag.st_ino} {tag.st_ctime_ns}"


@extensions.remembered
def _fingerprint() -> str:
    """Changes when Python, the rules or the static pass change, in a checkout without a new version, too."""
    package = os.path.dirname(os.path.dirname(__file__))
    static = os.path.join(package, "static")
    with os.scandir(static) as rooms:
        folders = [static, *(room.path for room in rooms if room.is_dir()), str(rules_folder())]
    folders += [os.path.join(package, room) for room in ("nouns", "system", "sources", "knowledge", "settings")]
    code = sorted(stamps(folders))
    others = sorted((str(path), *stamp_of(str(path))) for path in extensions.files())
    made_by = json.dumps([VERSION, sys.version_info[:3], code, others])
    return digest_of(made_by.encode())


def stamps(folders: Iterable[str]) -> Iterator[tuple[str, int, int]]:
    """Name, time of the last change, and size of the code and the rules in each of the folders, not below them."""
    for folder in folders:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.endswith((".py", ".toml")):
                    found = entry.stat()
                    yield entry.path, found.st_mtime_ns, found.st_size
