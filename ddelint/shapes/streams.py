"""A file of sizes, one call a line: `{"tokens": [3, 5], "mask": [3, 5]}`, or what `ddelint run --shapes` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ddelint.nouns.size_streams import Sizes


class UnreadableStream(ValueError):
    """A text that is no stream of sizes."""


def read_stream(text: str, dimensions: Iterable[str]) -> list[Sizes]:
    """The calls of a stream that speak of a program's own inputs, each with all of its dimensions.

    Raises UnreadableStream (one line), also where no call is about this program.
    """
    wanted = list(dimensions)
    calls = [sizes for row, call in _calls(text) if (sizes := _sizes(call, row)).keys() >= set(wanted)]
    if not calls:
        raise UnreadableStream(f"no call with {', '.join(wanted)}")
    return [{name: sizes[name] for name in wanted} for sizes in calls]


def _calls(text: str) -> list[tuple[int, Any]]:
    """Each call with its line: a JSON array, or an object a line."""
    if text.lstrip().startswith("["):
        try:
            return list(enumerate(json.loads(text), 1))
        except ValueError as error:
            raise UnreadableStream(f"no JSON: {error}") from None
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append((row, json.loads(line)))
            except ValueError as error:
                raise UnreadableStream(f"line {row} is no JSON: {error}") from None
    return found


def _sizes(call: Any, row: int) -> dict[str, int]:
    shapes = call.get("sizes", call) if isinstance(call, Mapping) else None
    found: dict[str, int] = {}
    for name, shape in shapes.items() if isinstance(shapes, Mapping) else [("", None)]:
        if name == "program" and isinstance(shape, str):
            continue
        if not isinstance(shape, Sequence) or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise UnreadableStream(f'call {row} is not of the form {{"tokens": [3, 5]}}')
        found |= {f"{name}.shape[{at}]": size for at, size in enumerate(shape)}
    return found


def written_stream(calls: Iterable[tuple[str, Mapping[str, Sequence[int]]]]) -> str:
    """A stream as a file: the program of each call, and the shapes of its tensors."""
    lines = [
        json.dumps({"program": program, "sizes": {k: list(v) for k, v in sizes.items()}}) for program, sizes in calls
    ]
    return "".join(f"{line}\n" for line in lines)
