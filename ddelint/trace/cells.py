"""A notebook's cells as files: their text is known to `linecache` alone, and whoever looks at code reads files.

ipykernel compiles a cell under the name of a file that it never writes (`/tmp/ipykernel_7/123.py`); IPython in a
terminal under a name that is none (`<ipython-input-3-…>`). For as long as programs of a notebook are looked at, the
first kind is written where it says, and the second into a folder of our own, to which forks rename their code.
"""

from __future__ import annotations

import contextlib
import linecache
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

from ddelint.trace import overlay

_TERMINAL = re.compile(r"<ipython-input-(\d+)-\w+>")


@dataclass
class Cells:
    """The cells at hand, written."""

    files: dict[str, str] = field(default_factory=dict)
    """File (real path) → what a person calls it: `In[3]`."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Name in code objects → file, where the name is none."""

    def rename(self) -> None:
        """Let the live functions of cells say the files that hold their text, and overlays take these as loaded."""
        overlay.adopt(set(self.files))
        if self.renamed:
            for function in overlay.live_functions({os.path.realpath(name) for name in self.renamed}):
                function.__code__ = _renamed(function.__code__, self.renamed)


@contextlib.contextmanager
def written() -> Iterator[Cells]:
    """Inside, the text of each cell lies in a file."""
    found = Cells()
    folder = ""
    made: list[Path] = []
    try:
        for name, entry in list(linecache.cache.items()):
            if len(entry) < 4 or entry[1] is not None:  # a file on disk, or text that was never asked for
                continue
            match = _TERMINAL.fullmatch(name)
            if match is not None:
                folder = folder or os.path.realpath(tempfile.mkdtemp(prefix="ddelint-cells-"))
                path = Path(folder, f"In[{match[1]}].py")
                found.renamed[name] = str(path)
            elif os.path.isabs(name) and name.endswith(".py") and not os.path.exists(name):
                path = Path(name)
                made.append(path)
            else:
                continue
            with contextlib.suppress(OSError):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(entry[2]), "utf-8")
                found.files[os.path.realpath(path)] = _label(name, match)
        yield found
    finally:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()
        if folder:
            shutil.rmtree(folder, ignore_errors=True)


def _label(name: str, match: re.Match[str] | None) -> str:
    """What IPython's own tracebacks call the cell."""
    number: Any = match[1] if match is not None else None
    if number is None:
        with contextlib.suppress(Exception):
            from IPython import get_ipython

            number = get_ipython().compile._filename_map[name]
    return f"In[{number}]" if number is not None else name


def _renamed(code: CodeType, names: dict[str, str]) -> CodeType:
    constants = tuple(_renamed(one, names) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_filename=names.get(code.co_filename, code.co_filename), co_consts=constants)
