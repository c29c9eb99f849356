"""How a file is written where that is a matter of taste: its quotes, and how long its lines may be."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from ddelint.sources.source import SourceFile
from ddelint.system.files import read_toml

LONGEST_LINE = 110
"""For files of which no configuration says how long their lines may be."""
THEIR_DEFAULT = 88
"""What ruff and black take where their own table doesn't say."""
_SHORTEST = 40
_STRING = re.compile(r"""(?<![\w"'])[rRbBfFuU]{0,2}(["'])(?!\1\1)""")


def longest_line(filename: str) -> int:
    """How many characters a line of a file (its absolute name) may have, as the nearest ruff or black says."""
    path = Path(filename)
    return _configured(path.parent) if path.is_absolute() else LONGEST_LINE


@cache
def _configured(folder: Path) -> int:
    for name, keys in (
        (".ruff.toml", ()),
        ("ruff.toml", ()),
        ("pyproject.toml", ("tool", "ruff")),
        ("pyproject.toml", ("tool", "black")),
    ):
        table: Any = _table(folder / name)
        for key in keys:
            table = table.get(key) if isinstance(table, dict) else None
        if isinstance(table, dict) and (table or keys):
            length = table.get("line-length", THEIR_DEFAULT)
            return length if isinstance(length, int) and length >= _SHORTEST else LONGEST_LINE
    if (folder / ".git").exists() or folder.parent == folder:
        return LONGEST_LINE
    return _configured(folder.parent)


def _table(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except (OSError, ValueError):
        return {}


def quote(source: SourceFile, text: str) -> str:
    """A string literal, in the quotes that most strings of the file have (double ones where none does)."""
    literal = repr(text)
    if _prefers_single(source) or not literal.startswith("'") or '"' in text:
        return literal
    return f'"{literal[1:-1]}"'


@lru_cache(maxsize=16)
def _prefers_single(source: SourceFile) -> bool:
    found = [match[1] for match in _STRING.finditer(source.text)]
    return found.count("'") > found.count('"')
