"""Runs a move on a piece of text for the tests of the control-flow moves: the site is marked in the text itself."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping

from ddelint.diagnostics import Diagnostic, Span, TypeFact
from ddelint.rewrite.candidate import MOVES, Candidate, Context
from ddelint.rewrite.moves import load_moves
from ddelint.sites import locate
from ddelint.source import SourceFile

TENSOR = TypeFact("tensor", "float32", ("4",))
SCALAR = TypeFact("tensor", "float32", ())
INTEGERS = TypeFact("tensor", "int64", ("4",))
COUNT = TypeFact("symint")
MASK = TypeFact("tensor", "bool", ("4",))


def context_of(
    text: str,
    asking: str,
    types: Mapping[str, TypeFact] | None = None,
    code: str = "DDE101",
    expression: str = "",
    occurrence: int = 0,
) -> Context:
    """The context of the `occurrence`-th place where `asking` stands in `text`."""
    source = SourceFile("model.py", text)
    start = -1
    for _ in range(occurrence + 1):
        start = text.index(asking, start + 1)
    row = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1) + 1
    end = start + len(asking)
    end_row = text.count("\n", 0, end) + 1
    span = Span("model.py", row, column, end_row, end - (text.rfind("\n", 0, end) + 1) + 1)
    site = locate(source, span)
    assert site is not None
    return Context(site, Diagnostic(code, "", span, expression=expression or asking), "truth", types or {})


def candidates(move: str, context: Context) -> list[Candidate]:
    """All candidates of a move."""
    load_moves()
    return list(MOVES[move](context))


def rewritten(move: str, context: Context) -> list[str]:
    """The text after each candidate, without the imports; each must parse."""
    texts = [context.site.source.apply(candidate.edits) for candidate in candidates(move, context)]
    for text in texts:
        ast.parse(text)
    return list(dict.fromkeys(texts))


def with_imports(move: str, context: Context) -> list[str]:
    """The text after each candidate, with its imports on top."""
    found = []
    for candidate in candidates(move, context):
        lines = [f"from {i.module} import {i.name}" if i.name else f"import {i.module}" for i in candidate.imports]
        found.append("".join(f"{line}\n" for line in lines) + context.site.source.apply(candidate.edits))
    return list(dict.fromkeys(found))


_LOADED = [0]


def load(text: str, name: str = "fn") -> object:
    """Execute `text` under a file name of its own (torch.compile wants the source) and give back one of its names."""
    _LOADED[0] += 1
    filename = f"<control flow {_LOADED[0]}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    namespace: dict[str, object] = {"__name__": f"control_flow_{_LOADED[0]}"}
    exec(compile(text, filename, "exec"), namespace)
    return namespace[name]
