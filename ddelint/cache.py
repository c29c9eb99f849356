"""What the static pass found, kept from call to call: findings, too, not only that a file is clean.

One JSON file for each folder of sources, so that checking one file loads little, and a whole tree is not thousands of
files. A file that has the same size, time and inode as before is not read; else its content's hash decides. Nothing
here raises because the disk is full or read-only: a cache that does not work is a miss.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ddelint import catalog, extensions
from ddelint.files import write_atomically
from ddelint.version import VERSION

RACY = 2 * 10**9
"""Nanoseconds: a file changed so shortly before it was looked at may change again without a new time."""

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
    return Content(hashlib.blake2b(data, digest_size=16).hexdigest(), stamp)


class Cache:
    """Plain values by file. A hit needs the same content, `salt`, rules and code of ddelint, and Python version."""

    def __init__(self, folder: str | Path, salt: str = "", enabled: bool = True) -> None:
        """`salt`: whatever else the values depend on (options of the static pass)."""
        self.folder = Path(folder) / VERSION
        self.enabled = enabled
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
            place = self._place(folder)
            with suppress(OSError, ValueError):
                if not place.parent.is_dir():
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _mark(self.folder.parent)
                stored = {"made by": _fingerprint(), "folder": folder, "files": files}
                write_atomically(place, json.dumps(stored).encode(), durable=False)
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
        with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
            stored = json.loads(self._place(folder).read_bytes())
            if stored["made by"] == _fingerprint() and stored["folder"] == folder and isinstance(stored["files"], dict):
                return dict(stored["files"])
        return {}

    def _place(self, folder: str) -> Path:
        key = hashlib.blake2b(digest_size=16)
        for part in (self._salt, folder):
            key.update(part.encode(errors="surrogateescape") + b"\0")
        name = key.hexdigest()
        return self.folder / name[:2] / f"{name[2:]}.json"


def clean(folder: str | Path) -> bool:
    """Drop the cache in `folder`; False where there was none, or where the folder is not a cache of ours."""
    folder = Path(folder)
    if not (folder / "CACHEDIR.TAG").is_file():
        return False
    from shutil import rmtree  # slow to load

    rmtree(folder)
    return True


def _mark(folder: Path) -> None:
    """Tell git and backup tools what the folder is."""
    (folder / ".gitignore").write_text("*\n")
    (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n# made by ddelint\n")


@extensions.remembered
def _fingerprint() -> str:
    """Changes when Python, the rules or the static pass change, in a checkout without a new version, too."""
    package = os.path.dirname(__file__)
    folders = [package, os.path.join(package, "static"), str(catalog.rules_folder())]
    stamps = sorted(stamp for folder in folders for stamp in _stamps(folder))
    others = sorted((str(path), *stamp_of(str(path))) for path in extensions.files())
    made_by = json.dumps([VERSION, sys.version_info[:3], stamps, others])
    return hashlib.blake2b(made_by.encode(), digest_size=16).hexdigest()


def _stamps(folder: str) -> Iterator[tuple[str, int, int]]:
    """Name, time of the last change, and size of what decides findings in the folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith((".py", ".toml")):
                found = entry.stat()
                yield entry.path, found.st_mtime_ns, found.st_size
