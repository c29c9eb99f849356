"""Where reports go: `--output-format sarif:ddelint.sarif --output-format concise -o FILE`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddelint.settings.config import suggestion
from ddelint.settings.options import FORMATS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

_NEXT = re.compile(rf",(?=(?:{'|'.join(FORMATS)})(?:[:,]|$))")
"""A comma that separates formats, rather than being part of a file's name."""


@dataclass(frozen=True, slots=True)
class Destination:
    """One report: its format, and the file that it is written to (None: where `-o` says, else standard output)."""

    output_format: str
    filename: str | None = None


class FormatType(click.ParamType):  # type: ignore[type-arg]  # generic in newer releases only
    """`FORMAT` or `FORMAT:FILE`, several joined by commas."""

    name = "format"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[Destination, ...]:
        """The destinations that one word names."""
        if not isinstance(value, str):
            return tuple(value)
        return tuple(self._one(part, param, ctx) for part in _NEXT.split(value))

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """The formats that begin so."""
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in FORMATS if name.startswith(incomplete)]

    def _one(self, text: str, param: click.Parameter | None, ctx: click.Context | None) -> Destination:
        name, colon, filename = text.strip().partition(":")
        if name not in FORMATS:
            self.fail(f"`{name}` is none of {', '.join(FORMATS)}{suggestion(name, FORMATS)}", param, ctx)
        if colon and not filename:
            self.fail(f"`{text}` names no file", param, ctx)
        return Destination(name, filename or None)


def flattened(
    ctx: click.Context, param: click.Parameter, values: Sequence[Sequence[Destination]]
) -> tuple[Destination, ...]:
    """All destinations of a call; `full` on standard output (or `-o`) where none is named for that.

    Raises BadParameter where two reports would go to one place.
    """
    named = [destination for value in values for destination in value]
    if all(destination.filename is not None for destination in named):
        named.insert(0, Destination("full"))
    places = [destination.filename for destination in named]
    for place in places:
        if places.count(place) > 1:
            where = f"to {place}" if place else "to one place: write FORMAT:FILE for all but one"
            raise click.BadParameter(f"two reports cannot go {where}", ctx, param)
    return tuple(named)


def shown_format(given: dict[str, Any]) -> str:
    """The format of what goes to standard output, or where `-o` says."""
    destinations: Sequence[Destination] = given["output_format"]
    return next(destination.output_format for destination in destinations if destination.filename is None)


def files_of(given: dict[str, Any]) -> list[str]:
    """Every file that the call asks to be written for its report. Raises UsageError where one of them cannot be."""
    formats = given.get("output_format")
    named = [destination.filename for destination in formats] if isinstance(formats, tuple) else []
    files = [name for name in (given.get("output_file"), given.get("patch"), *named) if name is not None]
    if len({os.path.realpath(name) for name in files}) < len(files):
        raise click.UsageError("two reports cannot go to one file")
    for name in files:
        if not Path(name).absolute().parent.is_dir():
            raise click.UsageError(f"cannot write {name}: no such folder")
        if Path(name).is_dir():
            raise click.UsageError(f"cannot write {name}: it is a folder")
    return files
