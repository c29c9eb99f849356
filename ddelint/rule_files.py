"""The rule files of a configuration's `extend-rules`: patterns, made files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def matching(patterns: Iterable[str], root: Path) -> dict[str, tuple[Path, ...]]:
    """Pattern → the TOML files that it stands for: a file, a folder's, or those that a glob below `root` finds."""
    return {pattern: tuple(sorted(path.resolve() for path in _found(pattern, root))) for pattern in patterns}


def _found(pattern: str, root: Path) -> Iterable[Path]:
    expanded = Path(pattern).expanduser()
    path = root / expanded
    if path.is_dir():
        return path.glob("*.toml")
    if path.is_file():
        return [path]
    start = Path(path.anchor) if expanded.is_absolute() else root
    return (one for one in start.glob(str(path.relative_to(start))) if one.suffix == ".toml" and one.is_file())
