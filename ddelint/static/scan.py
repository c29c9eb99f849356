"""The scan that comes before any parsing: can this text hold a source or a sink at all?

Each expression begins with a literal or runs once over the text, which is what makes it fast.
"""

from __future__ import annotations

import re
from functools import cache

from ddelint.operators import operators

_WORD = re.compile(r"\w")
_HANDED_ON = re.compile(r"\s*[(,)]")


def might_matter(data: bytes, assume_compiled: bool = False) -> bool:
    """Whether a file's bytes can hold a finding (or a suppression) at all. False is certain, True is a guess.

    With `assume_compiled` nothing in the file needs to say that it is compiled.
    """
    known = operators()
    if any(token in data for token in known.comment_tokens):
        return True
    if not any(token in data for token in known.framework_tokens):
        return False
    if any(token in data for token in known.always_tokens):
        return True
    if not assume_compiled and not any(token in data for token in known.region_tokens):
        return False
    return asks(data.decode("latin-1"), whole_file=not assume_compiled)


def asks(text: str, whole_file: bool = False) -> bool:
    """Whether the text may read or demand data. For a whole file, calls that every file has don't count."""
    known = operators()
    calls = known.source_calls if whole_file else known.source_calls_of_functions
    if calls.search(text) is not None:
        return True
    return any(pattern.search(text) for pattern in known.source_patterns) or _tested_element(text)


def rows_that_use(name: str, text: str) -> list[int]:
    """The rows (from 1) in which a name is called, handed on, or looked up in `self`."""
    found: list[int] = []
    row, counted, length = 1, 0, len(name)
    place = text.find(name)
    while place >= 0:
        end = place + length
        if not _WORD.match(text, max(place - 1, 0), place) and (
            _HANDED_ON.match(text, end) or (text.startswith("self.", place - 5) and not _WORD.match(text, end))
        ):
            row += text.count("\n", counted, place)
            counted = place
            found.append(row)
        place = text.find(name, end)
    return found


@cache
def _element() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return re.compile(r"\]\s*(?:[<>]|[=!]=)"), re.compile(r"\b(?:if|while|assert)\b")


def _tested_element(text: str) -> bool:
    """An element compared in a test: `if tokens[0] == end:`."""
    element, test = _element()
    for match in element.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        if test.search(text, start, match.start()):
            return True
    return False
