"""How bad a finding is, what a fix may do, and what a move says of itself."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """How bad a finding is; only the console's colour and the order on GitHub depend on it."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Applicability(StrEnum):
    """What a fix may do to eager results (the words are ruff's)."""

    SAFE = "safe"
    """Eager results are the same, and both sides of every rewritten decision were run."""
    UNSAFE = "unsafe"
    """Narrows what the program accepts, needs a promise, or could not be run on both sides."""
    DISPLAY = "display"
    """For eyes only: never written."""


class Claim(StrEnum):
    """What a move says of itself; verification checks it. Members stand in the order of preference."""

    EQUIVALENT = "equivalent"
    GENERAL_PATH = "general path"
    RESTRUCTURED = "restructured"
    PROMISE = "promise"
