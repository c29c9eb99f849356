"""A template that outlives the call, from the caller's side: torch is loaded once for all calls of ten minutes.

It listens on a socket in a folder that only its user can open. The socket's name stands for the interpreter, the
environment and ddelint's own code that it was started with; whoever has others starts another one, which ends it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import stat
import tempfile
from collections.abc import Iterator
from json import dumps
from pathlib import Path

from ddelint.trace.versions import environment, own_code, stamp

_WANTED = "wanted"
"""The name of a file that is there from `ddelint start` to `ddelint stop`."""
GREETING, STOP = b"h", b"s"
"""What a caller says first: that it wants sessions, or the template to end with its last one."""
_LONGEST = 100
"""Bytes of a socket's path that every system takes."""
_BACKLOG = 16


def address(python: str) -> Path | None:
    """Where a template of this interpreter listens, for this environment; None where there can be none."""
    folder = _folder()
    searched = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    if folder is None or not all(map(os.path.isabs, searched)):
        return None
    variables = [(name, value) for name, value in environment() if name != "PWD"]
    try:
        known = [os.path.abspath(python), stamp(os.path.realpath(python)), own_code(), variables]
    except OSError:
        return None
    path = folder / f"{hashlib.blake2b(dumps(known).encode(), digest_size=12).hexdigest()}.socket"
    return path if len(os.fsencode(path)) <= _LONGEST else None


def connected(path: Path) -> socket.socket | None:
    """A channel to the template that listens there; None where there is none."""
    channel = socket.socket(socket.AF_UNIX)
    try:
        channel.connect(os.fspath(path))
    except OSError:
        channel.close()
        return None
    return channel


def listening(path: Path) -> socket.socket | None:
    """A socket for a new template, which alone goes on: all others end. None where somebody else was faster."""
    with _locked(path.parent):
        running = connected(path)
        if running is not None:
            running.close()
            return None
        _end_all(path.parent)
        listener = socket.socket(socket.AF_UNIX)
        try:
            listener.bind(os.fspath(path))
            listener.listen(_BACKLOG)
        except OSError:
            listener.close()
            return None
        return listener


def is_wanted() -> bool:
    """Whether this user has asked for such templates, and this is no machine that runs each call once."""
    folder = _folder(made=False)
    return folder is not None and not os.environ.get("CI") and (folder / _WANTED).is_file()


def start() -> bool:
    """From now on templates outlive their calls. False where there is no folder for that."""
    folder = _folder()
    if folder is None:
        return False
    (folder / _WANTED).touch(mode=0o600)
    return True


def stop() -> int:
    """From now on none does; all that there are end. Gives how many there were."""
    folder = _folder(made=False)
    if folder is None:
        return 0
    with _locked(folder):
        (folder / _WANTED).unlink(missing_ok=True)
        return _end_all(folder)


def release(path: Path, inode: int) -> None:
    """A template that ends takes its socket away, if that still is the one with this inode."""
    with contextlib.suppress(OSError), _locked(path.parent):
        if os.stat(path).st_ino == inode:
            path.unlink()


def _end_all(folder: Path) -> int:
    ended = 0
    for path in sorted(folder.glob("*.socket")):
        channel = connected(path)
        if channel is not None:
            with channel, contextlib.suppress(OSError):
                channel.sendall(STOP)
                ended += 1
        with contextlib.suppress(OSError):
            path.unlink()
    return ended


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    import fcntl  # not on Windows, where nothing is traced

    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _folder(*, made: bool = True) -> Path | None:
    """A folder of this user's that nobody else can open, `made` where there is none; None where it cannot be had."""
    if not hasattr(os, "getuid"):
        return None
    beside = os.environ.get("XDG_RUNTIME_DIR")
    path = Path(beside, "ddelint") if beside else Path(tempfile.gettempdir(), f"ddelint-{os.getuid()}")
    try:
        if made:
            path.mkdir(mode=0o700, exist_ok=True)
        found = os.lstat(path)
    except OSError:
        return None
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
    return path if is_ours else None
