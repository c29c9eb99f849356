"""Putting a new text in the place of a file: whole or not at all, with all that belongs to the file but its content.

The new text is written beside the file and takes its name. Where something of the file would be lost that way (another
name, its owner, its attributes), or it is no more what was read, it is left alone, and the reason is reported.

A process that is killed in between leaves the text beside the file. Its name says whose it is, and a lock that it is
in use: the next call that writes removes what nobody holds.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ddelint.system.files import LARGE, read_open

if TYPE_CHECKING:
    from ddelint.sources.source import SourceFile

CHANGED = "it has changed since it was read"
_BESIDE = re.compile(r"\.ddelint-([0-9a-f]{16})-[0-9a-f]{12}\.tmp")
"""A text that waits for its file: the hash of the file's name, and what makes it a name of its own."""
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
_PASSIVE = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_RELATIVE = {os.open, os.stat, os.unlink, os.rename} <= os.supports_dir_fd
_MACOS = sys.platform == "darwin"
_COPYFILE_ACL, _COPYFILE_XATTR = 1 << 0, 1 << 2
"""copyfile(3)."""


class LeftAlone(OSError):
    """A file that is better left as it is; `strerror` says why."""

    def __init__(self, why: str) -> None:
        super().__init__(errno.EPERM, why)


def replace_source(source: SourceFile, text: str) -> None:
    """Write `text` to the file that `source` was read from. Raises LeftAlone, or OSError where it cannot be written."""
    data = _encoded(source, text)
    folder, name = os.path.split(source.filename)
    with _opened(folder) as place:
        before, handle = _as_read(source, place, name)
        try:
            _replace(place, name, data, before, handle)
        finally:
            os.close(handle)


def why_left_alone(source: SourceFile, text: str) -> str:
    """Why `replace_source` would not write, as far as can be said before; empty where it would."""
    try:
        _encoded(source, text)
        folder, name = os.path.split(source.filename)
        with _opened(folder) as place:
            os.close(_as_read(source, place, name)[1])
    except OSError as error:
        return error.strerror or str(error)
    return "" if os.access(source.filename, os.W_OK) else "it is read-only"


def write_atomically(path: Path, data: bytes) -> None:
    """Replace the file at `path` by `data`: whole or not at all, its mode kept; a symlink's target is written.

    Only for a file that the user named: where something of it would be lost, it is written in place. Raises OSError
    where the folder or the file cannot be written.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    remove_leftovers([target])
    with _opened(folder) as place:
        try:
            before: os.stat_result | None = place.entry(name)
        except FileNotFoundError:
            before = None
        if before is None:
            _replace(place, name, data, None, -1)
            return
        if not stat.S_ISREG(before.st_mode):
            with open(target, "wb") as file:  # /dev/stdout, a named pipe: nothing to replace
                file.write(data)
            return
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, f"{path} is read-only")
        try:
            if before.st_nlink > 1:
                raise LeftAlone("it has other names")
            handle = place.open(name, _PASSIVE)
            try:
                _replace(place, name, data, before, handle)
            finally:
                os.close(handle)
        except PermissionError:
            _overwrite(target, data)
        except OSError as error:
            if not isinstance(error, LeftAlone):
                raise
            _overwrite(target, data)


def remove_leftovers(paths: Iterable[str]) -> None:
    """Remove what earlier calls, which were killed, have left beside these files."""
    by_folder: dict[str, set[str]] = {}
    for path in paths:
        folder, name = os.path.split(path)
        by_folder.setdefault(folder, set()).add(_hash(name))
    for folder, hashes in by_folder.items():
        with suppress(OSError), _opened(folder) as place:
            for name in place.names():
                found = _BESIDE.fullmatch(name)
                if found is not None and found[1] in hashes:
                    with suppress(OSError):
                        _remove_unused(place, name)


class _Place:
    """A folder that is held open, where the platform can: nothing in it is reached through another one meanwhile."""

    def __init__(self, path: str, handle: int | None) -> None:
        self.path = path
        self._handle = handle

    def names(self) -> list[str]:
        return sorted(os.listdir(self.path if self._handle is None else self._handle))

    def entry(self, name: str) -> os.stat_result:
        return os.stat(self._spelled(name), dir_fd=self._handle, follow_symlinks=False)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        return os.open(self._spelled(name), flags, mode, dir_fd=self._handle)

    def rename(self, name: str, to: str) -> None:
        os.replace(self._spelled(name), self._spelled(to), src_dir_fd=self._handle, dst_dir_fd=self._handle)

    def remove(self, name: str) -> None:
        os.unlink(self._spelled(name), dir_fd=self._handle)

    def _spelled(self, name: str) -> str:
        return name if self._handle is not None else os.path.join(self.path, name)


@contextmanager
def _opened(folder: str) -> Iterator[_Place]:
    """A folder whose path has no links in it. Raises LeftAlone where it has."""
    folder = folder or os.curdir
    if os.path.realpath(folder) != os.path.abspath(folder):
        raise LeftAlone(
            "a link leads to its folder now" if os.path.isdir(folder) else "its folder is not there any more"
        )
    if not _RELATIVE:
        yield _Place(folder, None)
        return
    try:
        handle = os.open(folder, _FOLDER)
    except FileNotFoundError:
        raise LeftAlone("its folder is not there any more") from None
    try:
        yield _Place(folder, handle)
    finally:
        os.close(handle)


def _encoded(source: SourceFile, text: str) -> bytes:
    try:
        data = source.encode(text)
        faithful = data.decode(source.encoding) == text
    except UnicodeError:
        raise LeftAlone(f"its encoding, {source.encoding}, has no place for the fixed text") from None
    if not faithful:
        raise LeftAlone(f"its encoding, {source.encoding}, does not give back the fixed text")
    return data


def _as_read(source: SourceFile, place: _Place, name: str) -> tuple[os.stat_result, int]:
    """What the file is, and an open handle. Raises LeftAlone where it is no more what `source` was read from."""
    try:
        before = place.entry(name)
        if stat.S_ISLNK(before.st_mode):
            raise LeftAlone("it has become a link since it was read")
        if not stat.S_ISREG(before.st_mode):
            raise LeftAlone("it is no regular file any more")
        if before.st_nlink > 1:
            raise LeftAlone("it has another name (a hard link), under which it would stay as it was")
        handle = place.open(name, _PASSIVE)
    except FileNotFoundError:
        raise LeftAlone("it is not there any more") from None
    try:
        if not os.path.samestat(os.fstat(handle), before):
            raise LeftAlone(CHANGED)
        data = read_open(handle, source.filename, LARGE)
        if not source.is_text_of(data):
            raise LeftAlone(CHANGED)
        if source.encode() != data:
            raise LeftAlone(f"its encoding, {source.encoding}, would write other bytes also where nothing is fixed")
    except BaseException:
        os.close(handle)
        raise
    return before, handle


def _replace(place: _Place, name: str, data: bytes, before: os.stat_result | None, old: int) -> None:
    """Give the name to a new file with `data` and with all that `old`, open, has; `before`: what it was just now."""
    beside, handle = _beside(place, name, new=before is None)
    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(data)
        if before is not None:
            _take_over(handle, before, old)
        os.fsync(handle)
        if before is not None and _traits(place.entry(name)) != _traits(before):
            raise LeftAlone(CHANGED)
        if os.name == "nt":  # what is open has no other name there
            os.close(handle)
            handle = -1
        place.rename(beside, name)
    except BaseException:
        with suppress(OSError):
            place.remove(beside)
        raise
    finally:
        if handle >= 0:
            os.close(handle)


def _beside(place: _Place, name: str, *, new: bool) -> tuple[str, int]:
    """A new file beside the one of this name, open and locked."""
    while True:
        beside = f".ddelint-{_hash(name)}-{os.urandom(6).hex()}.tmp"
        handle = place.open(beside, _NEW, 0o666 if new else 0o600)
        if _lock(handle) and os.fstat(handle).st_nlink:  # else it was taken for a leftover before it was locked
            return beside, handle
        os.close(handle)


def _remove_unused(place: _Place, name: str) -> None:
    handle = place.open(name, _PASSIVE)
    try:
        found = os.fstat(handle)
        ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
        if stat.S_ISREG(found.st_mode) and ours and _lock(handle):
            place.remove(name)
    finally:
        os.close(handle)


def _lock(handle: int) -> bool:
    """Take the lock of an open file, as long as it is open; where there are none, the system keeps open files."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _take_over(handle: int, before: os.stat_result, old: int) -> None:
    """Owner, attributes, access control and mode of the old file. Raises LeftAlone where one of them cannot be had."""
    now = os.fstat(handle)
    if hasattr(os, "fchown") and (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        try:
            os.fchown(handle, before.st_uid, before.st_gid)
        except OSError:
            raise LeftAlone("it belongs to another user or group, and would not any more") from None
    if hasattr(os, "listxattr"):
        _take_attributes_over(handle, old)
    elif _MACOS and ctypes.CDLL(None).fcopyfile(old, handle, None, _COPYFILE_ACL | _COPYFILE_XATTR) != 0:
        raise LeftAlone("its attributes or its access control list cannot be kept")
    if hasattr(os, "fchmod"):
        os.fchmod(handle, stat.S_IMODE(before.st_mode))
        if os.fstat(handle).st_mode != before.st_mode:
            raise LeftAlone("its mode cannot be kept")


def _take_attributes_over(handle: int, old: int) -> None:
    """Extended attributes, among them the access control list (xattr(7), acl(5))."""
    wanted, there = _attributes(old), _attributes(handle)
    for name in sorted(wanted.keys() | there.keys()):
        if wanted.get(name) == there.get(name):
            continue
        try:
            if name in wanted:
                os.setxattr(handle, name, wanted[name])
            else:
                os.removexattr(handle, name)
        except OSError:
            raise LeftAlone(f"its attribute {name} cannot be kept") from None


def _attributes(handle: int) -> dict[str, bytes]:
    try:
        return {name: os.getxattr(handle, name) for name in os.listxattr(handle)}
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS):
            return {}
        raise LeftAlone("its attributes cannot be read, and would be lost") from None


def _traits(found: os.stat_result) -> tuple[int, ...]:
    """What changes when somebody else writes, replaces or links a file."""
    return (
        found.st_ino,
        found.st_dev,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
        found.st_nlink,
        found.st_mode,
    )


def _overwrite(path: str, data: bytes) -> None:
    with open(path, "r+b") as file:
        file.write(data)
        file.truncate()


def _hash(name: str) -> str:
    return hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
