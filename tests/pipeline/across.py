"""A package on disk that a test checks again and again."""

from __future__ import annotations

import os
from pathlib import Path

from ddelint.pipeline.checking import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode


class Tree:
    """The package `pkg`, in which nothing is compiled for being public."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._second = 0
        self.write("pkg/__init__.py", "")

    def write(self, name: str, text: str) -> None:
        """A file that was last changed long ago."""
        path = self._root / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self._second += 1
        os.utime(path, (self._second, self._second))

    def check(self, *names: str, cache: bool = False) -> list[str]:
        """File, row and code of each finding under the names (default: everything)."""
        return self._run(names, cache=cache)

    def fix(self, *names: str) -> list[str]:
        """Likewise what is left after `--fix`."""
        return self._run(names, fix=True)

    def _run(self, names: tuple[str, ...], *, cache: bool = False, fix: bool = False) -> list[str]:
        options = CheckOptions(
            mode=Mode.STATIC,
            root=str(self._root),
            cache_folder=str(self._root / "cache"),
            cache=cache,
            fix=fix,
            public_functions=False,
        )
        paths = [str(self._root / "src" / name) for name in names or ("",)]
        report = run_check(paths, options, Silence())
        return [f"{Path(d.span.filename).name}:{d.span.row} {d.code}" for d in report.remaining]
