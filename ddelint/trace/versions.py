"""What decides which code a process runs: ddelint's own, an interpreter's, the environment."""

from __future__ import annotations

import hashlib
import os
import stat
from functools import cache
from json import dumps
from pathlib import Path

_PASSING = frozenset(
    (
        "_",
        "SHLVL",
        "OLDPWD",
        "COLUMNS",
        "LINES",
        "TERM",
        "COLORTERM",
        "FORCE_COLOR",
        "NO_COLOR",
        "PYTEST_CURRENT_TEST",
    )
)
"""Variables of the environment that say where a call comes from, and change no program."""


def environment() -> list[tuple[str, str]]:
    """The variables that may change what a program does, sorted."""
    return sorted((name, value) for name, value in os.environ.items() if name not in _PASSING)


def stamp(path: str) -> str:
    """Changes when the file or folder does: size and time. Raises OSError."""
    found = os.stat(path)
    return f"{found.st_size if stat.S_ISREG(found.st_mode) else 0} {found.st_mtime_ns}"


@cache
def own_code() -> str:
    """Changes when ddelint's own code does, in a checkout without a new version, too."""
    package = Path(__file__).parents[1]
    stamps = sorted((str(path.relative_to(package)), stamp(str(path))) for path in package.rglob("*.py"))
    return hashlib.blake2b(dumps(stamps).encode(), digest_size=16).hexdigest()
