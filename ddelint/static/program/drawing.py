"""Functions that nobody compiles: they draw, ask a tokenizer, or are given a whole set of data."""

from __future__ import annotations

import re

from ddelint.knowledge.operators import operators
from ddelint.static.program.declared import Imported, Outline
from ddelint.static.program.imports import Reached

_HEADER_END = re.compile(r"\)[ \t]*+(?:->[^\n:]{0,200}+)?:[ \t]*+(?:#[^\n]{0,200}+)?\n")
_WORD = re.compile(r"\w++")
LONGEST_HEADER = 2_000
"""Characters of a function's parameters."""


class Drawing:
    """What is known of a project's functions, each with the digest of the file that it was read in."""

    def __init__(self) -> None:
        self._known: dict[Reached, tuple[str, bool]] = {}

    def draws(self, place: Reached, outline: Outline, text: str) -> bool:
        """Whether nobody compiles the function of this text."""
        known = self._known.get(place)
        if known is None or known[0] != outline.digest:
            known = self._known[place] = outline.digest, _reads_as_drawing(outline, text)
        return known[1]


def _reads_as_drawing(outline: Outline, text: str) -> bool:
    known = operators().regions
    end = _HEADER_END.search(text, 0, LONGEST_HEADER)
    header = text[: end.end() if end else LONGEST_HEADER]
    if any(word in known["eager_arguments"] for word in _WORD.findall(header)):
        return True
    if any(re.search(pattern, text) for pattern in known["drawing_text"]):
        return True
    named = (name for name, way in outline.imports.items() if _library(way) in known["drawing_libraries"])
    return any(
        re.search(rf"(?<![\w.]){re.escape(name)}\b", header)
        or re.search(rf"(?<![\w.]){re.escape(name)}(?:\.\w++)*\(", text)  # not a class that `isinstance` is given
        for name in named
    )


def _library(way: Imported) -> str:
    """What an import comes from, unless that lies beside the file."""
    return "" if way.level else (way.module or way.name).partition(".")[0]
