"""The scan that comes before any parsing: can this text hold a source or a sink at all?

Each expression begins with a literal or runs once over the text, which is what makes it fast.
"""

from __future__ import annotations

import re
from functools import cache

from ddelint.operators import operators

_NAMES = re.compile(r"(?<=self\.)[A-Za-z_]\w*+|\b[A-Za-z_]\w*+(?=\s*[(,)])")


def might_matter(data: bytes) -> bool:
    """Whether a file's bytes can hold a finding (or a suppression) at all. False is certain, True is a guess."""
    known = operators()
    if any(token in data for token in known.comment_tokens):
        return True
    if not any(token in data for token in known.framework_tokens):
        return False
    if any(token in data for token in known.always_tokens):
        return True
    if not any(token in data for token in known.region_tokens):
        return False
    return asks(data.decode("latin-1"), whole_file=True)


def asks(text: str, whole_file: bool = False) -> bool:
    """Whether the text may read or demand data. For a whole file, tokens that every file has don't count."""
    known = operators()
    patterns = known.source_patterns if whole_file else known.source_patterns_of_functions
    return any(pattern.search(text) for pattern in patterns) or _tested_element(text)


def names_used(text: str) -> set[str]:
    """Names that are called, handed on, or looked up in `self`."""
    return set(_NAMES.findall(text))


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
