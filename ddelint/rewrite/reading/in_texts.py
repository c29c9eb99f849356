"""Python that stands in something else than a Python file: the code cells of a notebook, and the examples of
docstrings and of texts such as a README (`>>> f(3)`), which doctest runs."""

from __future__ import annotations

import ast
import doctest
import json
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from ddelint.rewrite.reading.named import defined_in
from ddelint.sources.source import SourceFile
from ddelint.system.files import read_regular

NOTEBOOK = ".ipynb"
TEXTS = (".md", ".rst", ".txt")
"""How texts end that may hold examples."""
_PROMPT = ">>>"
_IMPORTS = re.compile(rb"^[ \t]*+>>>[ \t]++(?:from|import)[ \t]", re.MULTILINE)
_LARGEST = 4_000_000
"""Bytes of a notebook; pictures make them large."""
_LARGEST_TEXT = 400_000
"""Bytes of a text; what is larger is data."""


def source_of(filename: str) -> SourceFile:
    """A Python file, or a notebook's or a text's code as one. Raises OSError, SourceError, ValueError."""
    if filename.endswith(".py"):
        return SourceFile.read(Path(filename))
    return SourceFile(filename, code_of(filename, os.stat(filename).st_mtime_ns))


@lru_cache(maxsize=256)
def code_of(filename: str, _changed: int) -> str:
    """The code cells of a notebook, as far as they are Python, without IPython's lines, or the examples in a text where
    they import anything. Raises OSError, ValueError."""
    if not filename.endswith(NOTEBOOK):
        text = read_regular(filename) if os.stat(filename).st_size <= _LARGEST_TEXT else b""
        return _in_rows(_placed(text.decode(errors="replace"), 1)) if _IMPORTS.search(text) is not None else ""
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
    return SourceFile(f"{source.filename} (doctest)", _in_rows(lines)) if lines else None


def _in_rows(lines: Mapping[int, str]) -> str:
    """The lines, each in its row."""
    return "".join(f"{lines.get(row, '')}\n" for row in range(1, max(lines, default=0) + 1))


def _placed(text: str, first: int) -> dict[int, str]:
    """The lines of the examples in a docstring or another text that are Python, by their rows."""
    if _PROMPT not in text:
        return {}
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
