"""Pieces that stand where they are hard to take over: in formatted strings, on shared lines, in odd layouts."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import cast

import libcst as cst
import pytest
from control_flow import context_of

from ddelint.rewrite.candidate import MOVES, Context
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.rewrite.writing.writer import Writer
from ddelint.sources.source import SourceFile


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("if n: a = 1; b = 2\n", ["a = 1\n", "b = 2\n"]),
        ("def f():\n    if n: a = g(1,\n  2); return a  # all\n", ["a = g(1,\n  2)\n", "return a\n"]),
        ("for i in n: a = 1;\n", ["a = 1\n"]),
        ("while n: a = ';'\n", ["a = ';'\n"]),
        (
            "def f():\n    if n:\n        a = 1; b = 2\n        # more\n        c = 3\n",
            ["a = 1\n", "b = 2\n", "c = 3\n"],
        ),
    ],
)
def test_statements_that_share_a_line(text: str, taken: list[str]) -> None:
    source = SourceFile("model.py", text)
    (outer,) = (node for node in ast.walk(source.tree) if isinstance(node, (ast.If, ast.For, ast.While)))
    built = Writer(source).block(outer.body)
    lines = [cst.Module([each.with_changes(leading_lines=())]).code for each in built]
    assert lines == taken


def test_what_stands_in_formatted_strings() -> None:
    source = SourceFile("model.py", 'fail(f"{n + 1:>{width}} of {n!r}"\n    f"{g( n ):.2f}" f\'{t["a"]}\')\n')
    write = Writer(source)
    inside = [node.value for node in ast.walk(source.tree) if isinstance(node, ast.FormattedValue)]
    taken = {write.code(node) for node in inside}
    assert {ast.unparse(ast.parse(text)) for text in taken} == {"n + 1", "width", "n", "g(n)", "t['a']"}
    (call,) = (node for node in inside if isinstance(node, ast.Call))
    new = write.replaced(call, {call.args[0]: write.expr("torch.zeros({})", call.args[0])})
    assert "".join(write.code(new).split()) == "g(torch.zeros(n))"


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_statement_that_cannot_be_kept_hides_no_later_rewrite(ending: str) -> None:
    """Indentation with form feeds is more than libcst reads."""
    text = "def fn(x):\n\x0c  if x.sum() > 0:\n    y = x  # 1\n\x0c  z = x\n\x0c  return y + z\n".replace("\n", ending)

    @rewriting("demo_of_what_cannot_be_kept")
    def demo(context: Context) -> Iterator[Rewrite]:
        statement = cast(ast.If, context.site.statement)
        write = context.write
        yield Rewrite("first", {statement: write.beside(write.lines("y = x"), [statement])})
        yield Rewrite("second", {statement.test: write.expr("torch.any({})", statement.test)})

    try:
        context = context_of(text, "x.sum() > 0")
        found = list(MOVES["demo_of_what_cannot_be_kept"](context))
    finally:
        del MOVES["demo_of_what_cannot_be_kept"]
    (second,) = found
    assert second.message == "second"
    assert context.site.source.apply(second.edits) == text.replace("x.sum() > 0", "torch.any(x.sum() > 0)")
