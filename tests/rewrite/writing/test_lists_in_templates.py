"""Holes that take several parts: indices of a subscript, arguments with a name; and an argument in another's place."""

from __future__ import annotations

import ast

import pytest

from ddelint.rewrite.writing.rendering import rendered
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.rewrite.writing.writer import writer
from ddelint.sources.source import SourceFile


def subscript(text: str) -> tuple[SourceFile, list[ast.expr]]:
    source = SourceFile("model.py", f"y = {text}\n")
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Subscript))
    return source, node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[a : b + 1, :, 0]", "z[:, a : b + 1, :, 0]"),
        ("x[(1, 2), ...]", "z[:, (1, 2), ...]"),
        ("x[i if c else j]", "z[:, i if c else j]"),
    ],
)
def test_the_places_of_a_subscript(text: str, expected: str) -> None:
    source, places = subscript(text)
    write = writer(source)
    assert write.code(write.expr("z[{}]", [ast.Slice(), *places])) == expected


def test_a_named_argument_takes_the_place_of_another() -> None:
    source = SourceFile("model.py", "y = f(\n    x,  # rows\n    old = True,\n)\n")
    keyword = next(n for n in ast.walk(source.tree) if isinstance(n, ast.keyword))
    new = writer(source).keyword("new", writer(source).expr("a + 1"))
    candidate = rendered(source, "demo", Rewrite("", {keyword: new}))
    assert candidate is not None
    assert source.apply(candidate.edits) == "y = f(\n    x,  # rows\n    new=a + 1,\n)\n"


def test_arguments_with_and_without_a_name_fill_one_hole() -> None:
    source = SourceFile("model.py", "y = f(x, *rest, k=1)\n")
    call = next(n for n in ast.walk(source.tree) if isinstance(n, ast.Call))
    write = writer(source)
    new = write.expr("g({})", [*call.args, *call.keywords, write.keyword("n", 3)])
    assert write.code(new) == "g(x, *rest, k=1, n=3)"
