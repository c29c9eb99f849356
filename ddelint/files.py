"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path


def write_atomically(path: Path, data: bytes, durable: bool = True) -> None:
    """Replace the file at `path` by `data`: whole or not at all, its mode kept; a symlink's target is written.

    Without `durable` a power cut may lose it. Raises OSError where the folder or the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    if mode is not None and not stat.S_ISREG(target.stat().st_mode):
        target.write_bytes(data)  # /dev/stdout, a named pipe: nothing to replace
        return
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(13, f"{path} is read-only")
    import tempfile  # slow to load, and many calls write nothing

    handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        if mode is None:
            umask = os.umask(0)
            os.umask(umask)
            mode = 0o666 & ~umask
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
