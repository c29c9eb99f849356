"""One file for the static pass: from its bytes to what a run wants to know of it. Runs in any process."""

from __future__ import annotations

from dataclasses import dataclass

from ddelint.catalog import rule
from ddelint.diagnostics import Diagnostic
from ddelint.operators import operators
from ddelint.source import SourceError, SourceFile
from ddelint.static.checks import check_source
from ddelint.static.scan import might_matter


@dataclass(frozen=True, slots=True)
class Reading:
    """What the static pass read in one file."""

    findings: tuple[Diagnostic, ...] = ()
    comments: bool = False
    """Whether it holds comments that may silence findings, or be findings themselves."""


def read(filename: str, data: bytes, *, assume_compiled: bool = False, parse: bool = False) -> Reading:
    """Check one file. With `parse`, a file that cannot matter is parsed, too: its syntax errors are findings."""
    comments = any(token in data for token in operators().comment_tokens)
    matters = might_matter(data)
    if not matters and not parse:
        return Reading()
    try:
        source = SourceFile.from_bytes(filename, data)
        if parse:
            _ = source.tree
        findings = check_source(source, assume_compiled=assume_compiled) if matters else []
    except SourceError as error:
        return Reading((syntax_error(error),), comments)
    return Reading(tuple(findings), comments)


def prepare() -> None:
    """Load what reading needs, so that processes that are forked find it."""
    operators()


def syntax_error(error: SourceError) -> Diagnostic:
    """The finding that a file does not parse."""
    message = rule("DDE001").message.format(expression=str(error))
    return Diagnostic("DDE001", message, error.span, rule("DDE001").severity, detail=str(error))
