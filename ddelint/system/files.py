"""Reading and writing files so that nobody is hurt: bounded, whole or not at all, in our own folder through no link.

A repository that somebody checked out may hold anything: links that lead out of it, named pipes, links to devices. What
is read of it is a regular file of a bounded size; what we write into it by ourselves stays in a folder that we made.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CONFIGURATIONS = ("ddelint.toml", "pyproject.toml")
SMALL = 2**20
"""Bytes: no configuration, ignore file or rule file is larger."""
LARGE = 2**26
"""Bytes: no source file, baseline or file of the cache is larger."""
MOST_DOTS = 1000
"""In a line of TOML."""
_PASSIVE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Opening a named pipe waits for nobody, and a terminal becomes nobody's."""
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = getattr(os, "O_DIRECTORY", 0) | _NO_LINK
_RELATIVE = {os.open, os.stat, os.mkdir, os.unlink, os.rmdir, os.rename} <= os.supports_dir_fd


def read_regular(path: str | os.PathLike[str], at_most: int = SMALL) -> bytes:
    """The content of a regular file. Raises OSError, also for a pipe, a device, or more than `at_most` bytes."""
    if not stat.S_ISREG(os.stat(path).st_mode):  # to open some devices is to use them
        raise OSError(errno.EINVAL, "this is no regular file", os.fspath(path))
    return _content(os.open(path, os.O_RDONLY | _PASSIVE), os.fspath(path), at_most)


def read_toml(path: Path) -> dict[str, Any]:
    """What stands in a small TOML file. Raises OSError, and ValueError (a line that says what) where it is none."""
    import tomllib

    text = read_regular(path).decode()
    if any(line.count(".") > MOST_DOTS for line in text.splitlines()):  # the time for a dotted key is quadratic
        raise ValueError(f"a line with more than {MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("its values nest too deep") from None


def leads_out(path: Path, folder: Path) -> bool:
    """Whether `path`, its links resolved, is outside of `folder`."""
    return not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def project_of(folder: Path) -> Path:
    """What a configuration in `folder` may name files in: its repository, or else the outermost configured folder."""
    repository = repository_of(folder)
    if repository is not None:
        return repository
    configured = [above for above in folder.parents if any(os.path.isfile(above / name) for name in CONFIGURATIONS)]
    return configured[-1] if configured else folder


def repository_of(folder: Path) -> Path | None:
    """The git repository (or worktree) that a folder is in, without asking git."""
    return next((above for above in (folder, *folder.parents) if os.path.exists(above / ".git")), None)


def read_open(handle: int, name: str, at_most: int) -> bytes:
    """What an open file holds. Raises OSError where it is no regular file, or holds more."""
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "this is no regular file", name)
    with open(handle, "rb", closefd=False) as file:
        data = file.read(at_most + 1) if found.st_size <= at_most else None  # some of /proc claim to be empty
    if data is None or len(data) > at_most:
        raise OSError(errno.EFBIG, f"this is more than {at_most >> 20} MB", name)
    return data


def _content(handle: int, name: str, at_most: int) -> bytes:
    """What the open file holds, which is closed."""
    try:
        return read_open(handle, name, at_most)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """A folder that is ours and no link, held open: what is read or written in it is reached through no link either.

    All methods raise OSError; names are single parts of a path.
    """

    path: str
    _handle: int | None
    """None where the platform has no paths relative to an open folder: they are looked at before they are used."""

    @classmethod
    @contextmanager
    def opened(cls, path: str, make: bool = False) -> Iterator[OwnFolder]:
        """The folder at `path`, whose parent may be reached through links; made if it is not there, with `make`."""
        with cls._opened(path, path, None, make) as folder:
            yield folder

    @contextmanager
    def entered(self, name: str, make: bool = False) -> Iterator[OwnFolder]:
        """A folder in this one."""
        path = os.path.join(self.path, name)
        with self._opened(path, self._spelled(name), self._handle, make) as folder:
            yield folder

    @classmethod
    @contextmanager
    def _opened(cls, path: str, spelled: str, above: int | None, make: bool) -> Iterator[OwnFolder]:
        if make:
            with suppress(FileExistsError):
                os.mkdir(spelled, dir_fd=above)
        found = os.stat(spelled, dir_fd=above, follow_symlinks=False)
        if not stat.S_ISDIR(found.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, "this is no folder", path)
        _require_ours(found, path)
        if not _RELATIVE:
            yield cls(path, None)
            return
        handle = os.open(spelled, os.O_RDONLY | _FOLDER, dir_fd=above)
        try:
            if not os.path.samestat(os.fstat(handle), found):
                raise OSError(errno.ESTALE, "this has changed while it was opened", path)
            yield cls(path, handle)
        finally:
            os.close(handle)

    def names(self) -> list[str]:
        """What the folder holds, sorted."""
        return sorted(os.listdir(self.path if self._handle is None else self._handle))

    def entry(self, name: str) -> os.stat_result:
        """What there is under a name: of the file itself, not of what it links to."""
        return os.stat(self._spelled(name), dir_fd=self._handle, follow_symlinks=False)

    def holds_file(self, name: str) -> bool:
        """Whether there is a regular file of that name, and it is ours."""
        try:
            found = self.entry(name)
            _require_ours(found, name)
        except OSError:
            return False
        return stat.S_ISREG(found.st_mode)

    def holds_folder(self, name: str) -> bool:
        """Whether there is a folder of that name, not a link to one."""
        try:
            return stat.S_ISDIR(self.entry(name).st_mode)
        except OSError:
            return False

    def read(self, name: str, at_most: int = LARGE) -> bytes:
        """The content of a regular file of ours that has no other name."""
        found = self.entry(name)
        _require_ours(found, name)
        if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
            raise OSError(errno.EINVAL, "this is no regular file of its own", os.path.join(self.path, name))
        handle = os.open(self._spelled(name), os.O_RDONLY | _PASSIVE | _NO_LINK, dir_fd=self._handle)
        return _content(handle, os.path.join(self.path, name), at_most)

    def write(self, name: str, data: bytes) -> None:
        """Put a new file in the place of whatever has the name: whole or not at all. A power cut may lose it."""
        temporary = f".{name}.{os.urandom(6).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINK | getattr(os, "O_BINARY", 0)
        handle = os.open(self._spelled(temporary), flags, 0o666, dir_fd=self._handle)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            places = self._spelled(temporary), self._spelled(name)
            os.replace(*places, src_dir_fd=self._handle, dst_dir_fd=self._handle)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> None:
        """Remove a file (of a link, the link); one that is not there is no error."""
        with suppress(FileNotFoundError):
            os.unlink(self._spelled(name), dir_fd=self._handle)

    def remove_folder(self, name: str) -> None:
        """Remove a folder that is empty."""
        os.rmdir(self._spelled(name), dir_fd=self._handle)

    def _spelled(self, name: str) -> str:
        return name if self._handle is not None else os.path.join(self.path, name)


def _require_ours(found: os.stat_result, name: str) -> None:
    """Raises OSError where the file is another user's."""
    if hasattr(os, "getuid") and found.st_uid != os.getuid():
        raise PermissionError(errno.EPERM, "this is another user's", name)
