"""Python that stands in something else than a Python file: the code cells of a notebook, and the examples of
docstrings (`>>> f(3)`), which doctest runs."""

from __future__ import annotations

import ast
import doctest
import json
import os
from functools import lru_cache
from pathlib import Path

from ddelint.rewrite.reading.named import defined_in
from ddelint.sources.source import SourceFile
from ddelint.system.files import read_regular

NOTEBOOK = ".ipynb"
_PROMPT = ">>>"
_LARGEST = 4_000_000
"""Bytes of a notebook; pictures make them large."""


def source_of(filename: str) -> SourceFile:
    """A Python file, or a notebook's code as one. Raises OSError, SourceError, ValueError."""
    if not filename.endswith(NOTEBOOK):
        return SourceFile.read(Path(filename))
    return SourceFile(filename, code_of(filename, os.stat(filename).st_mtime_ns))


@lru_cache(maxsize=256)
def code_of(filename: str, _changed: int) -> str:
    """The code cells of a notebook, as far as they are Python, without IPython's lines. Raises OSError, ValueError."""
    data = read_regular(filename)
    try:
        notebook = json.loads(data) if len(data) <= _LARGEST else None
    except RecursionError as error:
        raise ValueError("nests too deep") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no notebook")
    return "\n".join(filter(None, (_code(cell) for cell in cells)))


def _code(cell: object) -> str:
    """The code of a cell; empty where it has none."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return ""
    said = cell.get("source", "")
    text = "".join(map(str, said)) if isinstance(said, list) else str(said)
    code = "\n".join("" if line.lstrip().startswith(("%", "!")) else line for line in text.splitlines())
    return code if _is_python(code) else ""


def examples_of(source: SourceFile) -> SourceFile | None:
    """The examples in a file's docstrings as a file of their own, each in its row; None where there are none."""
    return _examples(source) if _PROMPT in source.text else None


@lru_cache(maxsize=64)
def _examples(source: SourceFile) -> SourceFile | None:
    lines: dict[int, str] = {}
    for owner in (source.tree, *defined_in(source)):
        match owner.body[:1]:
            case [ast.Expr(value=ast.Constant(value=str() as text), lineno=row)] if _PROMPT in text:
                lines |= _placed(text, row)
    if not lines:
        return None
    text = "\n".join(lines.get(row, "") for row in range(1, max(lines) + 1))
    return SourceFile(f"{source.filename} (doctest)", f"{text}\n")


def _placed(text: str, first: int) -> dict[int, str]:
    """The lines of a docstring's examples that are Python, by their rows."""
    try:
        examples = doctest.DocTestParser().get_examples(text)
    except ValueError:
        return {}
    return {
        first + example.lineno + number: line
        for example in examples
        if _is_python(example.source)
        for number, line in enumerate(example.source.splitlines())
    }


def _is_python(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
