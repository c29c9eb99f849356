"""What the text plainly says of what is put under a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from ddelint.rewrite.reading import plainly
from ddelint.sources.source import SourceFile

COUNT = 20
TEXT = "class Net:\n    def __init__(self, n):\n" + "".join(
    f"        self.a{i}, (self.b{i}, c{i}) = n, ([], {i})\n        d{i}: int = self.a{i}\n" for i in range(COUNT)
)


def test_what_is_put_under_a_name() -> None:
    source = SourceFile("net.py", TEXT)
    names = {n.id: n for n in ast.walk(source.tree) if isinstance(n, ast.Name)}

    def kept(name: str) -> list[str]:
        return [ast.unparse(value) for value in plainly.kept_under(source, names["self"], name)]

    def put(name: str) -> list[str]:
        return [ast.unparse(value) for value in plainly.values_of(source, names[name], name)]

    assert (kept("a3"), kept("b3"), kept("c3")) == (["n"], ["[]"], [])
    assert (put("d7"), put("n"), put("c7")) == (["self.a7"], ["n"], [])


def test_many_names_of_one_function_take_one_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    source = SourceFile("net.py", TEXT)
    names = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
    walked: list[str] = []
    walk = ast.walk

    def noted(node: ast.AST) -> Iterator[ast.AST]:
        walked.append(type(node).__name__)
        return walk(node)

    monkeypatch.setattr(plainly.ast, "walk", noted)
    for node in names:
        list(plainly.values_of(source, node, node.id))
        list(plainly.kept_under(source, node, "a1"))
    assert (walked.count("FunctionDef"), walked.count("ClassDef")) == (1, 1)
