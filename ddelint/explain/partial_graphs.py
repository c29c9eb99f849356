"""The graph that export had recorded when it failed: where its last node decides something, that is what was asked."""

from __future__ import annotations

import re

from ddelint.explain.cleaning import clean
from ddelint.explain.frames import RawFrame, stacks
from ddelint.explain.occurrences import Occurrence, resolved
from ddelint.explain.ownership import blamed

ARTIFACT = "make_fx_fail_partial"
"""The name of the record in a structured log; the error itself is in none."""
_NODE = re.compile(r'^\s+\w+: "Sym\((?P<raw>.*)\)" = ')
_UNBACKED = re.compile(r"\b(?:u|zuf)\d+\b")
_WANTS_NUMBER = re.compile(r"\b(?:int|float|round|range)\(")
"""What makes of a symbol on its own a question. A plain `.item()` is none: export failed at something behind it."""


def find(payload: str, row: int, paths: tuple[str, ...]) -> Occurrence | None:
    """The question at the end of a partial graph; `row` is the record's. None where the last node asks nothing."""
    lines = [line for line in clean(payload) if line.text.strip()]
    node = _NODE.match(lines[-1].text) if lines else None
    comments = [stack.frames for stack in stacks(lines) if stack.role == "graph"]
    if node is None or not comments or _UNBACKED.search(node["raw"]) is None:
        return None
    frames: tuple[RawFrame, ...] = tuple(comments[-1])
    kind = resolved("auto", node["raw"])
    if kind == "integer" and not any(_WANTS_NUMBER.search(frame.code) for frame in frames):
        return None
    who = blamed(frames, paths, traced=True)
    return Occurrence(
        row=row,
        kind=kind,
        raw=node["raw"],
        vague=True,
        asks=("export",),
        message=f"export failed at {node['raw']}",
        frames=frames,
        blamed=None if who is None else who[0],
    )
