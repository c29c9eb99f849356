"""Files that are put beside an entry's: written whole, and never over what somebody else has written."""

from __future__ import annotations

from pathlib import Path

from ddelint.pipeline.gathering import PipelineError
from ddelint.sources.replacing import write_atomically


def write_beside(path: Path, text: str, mark: str, command: str) -> str:
    """Write a file, or write it again; gives its name.

    `mark`: what such a file says of itself; `command` writes them. Raises PipelineError for a file without the mark,
    OSError where it cannot be written.
    """
    if path.is_symlink() or (path.exists() and mark not in path.read_text("utf-8", errors="replace")):
        raise PipelineError(f"{path} is there already, and not from `{command}`: it is left as it is")
    write_atomically(path, text.encode("utf-8"))
    return str(path)
