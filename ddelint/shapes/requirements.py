"""A requirement as a condition of its own."""

from __future__ import annotations

from ddelint.nouns.contracts import Requirement
from ddelint.shapes.facts import as_true


def requirement_text(one: Requirement) -> str:
    """The requirement as one condition, whatever it hangs on."""
    if not one.when:
        return one.text
    return " or ".join(f"({text})" for text in (*(as_true(text, False) for text in one.when), one.text))
