"""The text that a finding's spans count in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ddelint.sources.source import SourceError, SourceFile
from ddelint.system.files import LARGE, read_regular


class Sources:
    """Files by name: as the report knows them, else from disk, read once."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._known: dict[str, SourceFile | None] = {}

    def get(self, filename: str) -> SourceFile | None:
        """The file, or None where there is nothing readable under that name."""
        if filename not in self._known:
            self._known[filename] = self._read(filename)
        return self._known[filename]

    def lines(self, filename: str) -> list[str]:
        """Its lines without their ends; none where it cannot be read."""
        source = self.get(filename)
        return [line.rstrip("\r\n") for line in source.lines] if source is not None else []

    def _read(self, filename: str) -> SourceFile | None:
        if filename in self._texts:
            return SourceFile(filename, self._texts[filename])
        try:
            return SourceFile.read(Path(filename))
        except SourceError:  # a code frame of a file that cannot be decoded still helps
            return SourceFile(filename, read_regular(filename, LARGE).decode(errors="replace"))
        except (OSError, ValueError):
            return None
