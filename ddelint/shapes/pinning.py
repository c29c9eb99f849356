"""A test that pins a written spec, as a file beside the entry: `assert_traceable(…, spec=…)`."""

from __future__ import annotations

from pathlib import Path

from ddelint.shapes.writing import BESIDE, MARK

_WIDTH = 100


def beside(filename: str) -> Path:
    """Where the test of the spec of an entry's file is written; pytest collects it there."""
    path = Path(filename)
    return path.with_name(f"test_{path.stem}{BESIDE}")


def pinned(filename: str, entry: str | None, inputs: str | None, init: str | None) -> str:
    """The test's text; `inputs`, `init`: what they were said to be (`FILE.py:NAME` or `NAME`), None: as offered."""
    path = Path(filename)
    program = f"{path.name}:{entry}" if entry else path.name
    named = {"spec": f"{path.stem}{BESIDE}:SHAPES", "inputs": inputs, "init": init}
    given = [f'"{program}"', *(f'{word}="{text}"' for word, text in named.items() if text), "exact=True"]
    call = f"    assert_traceable({', '.join(given)})"
    if len(call) > _WIDTH:
        call = "\n".join(["    assert_traceable(", *(f"        {one}," for one in given), "    )"])
    return (
        f'"""The sizes that {program} takes, {MARK}; run by ddelint\'s pytest plugin."""\n\n\n'
        f"def test_sizes(assert_traceable):\n"
        f"    # exact: it fails, too, where the program takes more than the spec says\n{call}\n"
    )
