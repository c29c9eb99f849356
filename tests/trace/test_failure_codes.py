"""By which rule a failure of a front end is told, and in which words."""

from __future__ import annotations

import ast

import pytest

from ddelint.nouns.diagnostics import Question
from ddelint.sources.source import SourceFile
from ddelint.trace.diagnose import diagnose

TEXT = "def fn(x, k):\n    first, second = x.narrow(0, 0, k).cumsum(0)\n    return {second: first}\n"
ASSERTION = "BackendCompilerFailed: AssertionError: u3 -> Min(6, u0)"


@pytest.mark.parametrize(
    ("row", "asks", "detail", "code"),
    [
        (2, ("compile",), ASSERTION, "DDE304"),
        (2, ("compile",), "Unsupported: not enough values to unpack (expected 2, got u0)", "DDE206"),
        (2, ("compile",), "Unsupported: not enough values to unpack, which is no AssertionError", "DDE206"),
        (2, ("export", "compile"), "ValueError: not enough values to unpack (expected 2, got u0)", "DDE206"),
        (3, ("compile",), "Unsupported: unhashable type: SymInt", "DDE208"),
        (3, ("compile",), ASSERTION, "DDE304"),
        (3, ("export", "compile"), "TypeError: unhashable type: SymInt", "DDE208"),
    ],
)
def test_a_compilers_own_assertion_is_not_told_as_what_stands_there(
    row: int, asks: tuple[str, ...], detail: str, code: str
) -> None:
    source = SourceFile("model.py", TEXT)
    node = next(
        node.value
        for node in ast.walk(source.tree)
        if isinstance(node, (ast.Assign, ast.Return)) and node.lineno == row
    )
    assert node is not None
    found = diagnose(Question(source.span(node), "failure", source.segment(node), "", asks=asks, detail=detail), source)
    assert found.code == code
    assert found.message.startswith("torch's compiler fails at") is (detail == ASSERTION)
