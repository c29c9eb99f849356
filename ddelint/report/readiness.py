"""What `shapes --readiness` prints: a row for each entry, all of them together, and a badge."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ddelint.nouns.size_readiness import Readiness, Share
from ddelint.report.diff import shown_path

_COLORS = ((100, "brightgreen"), (80, "green"), (50, "yellow"), (0, "red"))
"""From so many percent on."""


def text(rows: Sequence[Readiness], dimensions: Share, lines: Share) -> Iterator[str]:
    """A line for each entry, those lines that decide by a size below it, and all together."""
    width = max([len(row.label) for row in rows] + [5])
    yield f"{'':<{width}}  dimensions  lines"
    for row in rows:
        if row.failure:
            yield f"{row.label:<{width}}  not known: {row.failure}"
            continue
        yield f"{row.label:<{width}}  {_share(row.dimensions):<10}  {_share(row.lines)}"
        yield from (f"  {shown_path(filename)}:{number}  `{code}`" for filename, number, code in row.open)
    yield f"{'all':<{width}}  {_share(dimensions):<10}  {_share(lines)}"
    yield f"{dimensions.percent}% of dimensions and {lines.percent}% of lines are ready for unbacked sizes"


def markdown(rows: Sequence[Readiness], dimensions: Share, lines: Share) -> Iterator[str]:
    """The same as a table."""
    yield "| program | dimensions | lines | decides by a size |"
    yield "|---|---:|---:|---|"
    for row in rows:
        where = ", ".join(f"{shown_path(filename)}:{number}" for filename, number, _ in row.open)
        yield f"| {row.label} | {_share(row.dimensions)} | {_share(row.lines)} | {row.failure or where} |"
    yield f"| all | {_share(dimensions)} | {_share(lines)} | |"


def badge(dimensions: Share) -> str:
    """The share of dimensions as JSON that shields.io draws (https://shields.io/badges/endpoint-badge)."""
    color = next(name for least, name in _COLORS if dimensions.percent >= least)
    found: dict[str, Any] = {"schemaVersion": 1, "label": "unbacked sizes", "message": f"{dimensions.percent}%"}
    return json.dumps({**found, "color": color}, indent=2) + "\n"


def _share(part: Share) -> str:
    return f"{part.ready}/{part.of}"
