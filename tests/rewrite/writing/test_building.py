"""What the writer builds for many moves: tuples, assignments, forms beside each other; and templates filled cheaply."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst
import pytest

from ddelint.rewrite.candidate import MOVES, Context
from ddelint.rewrite.writing import rendering
from ddelint.rewrite.writing.rewrites import Rewrite, rewriting
from ddelint.rewrite.writing.writer import Writer, writer
from ddelint.sources.source import SourceFile

PROGRAM = "import torch as th\n\n\ndef fn(x, n):\n    x += n  # more\n    return x\n"


def code(*nodes: cst.CSTNode) -> str:
    return "".join(cst.Module([]).code_for_node(node) for node in nodes)


def write() -> Writer:
    return writer(SourceFile("model.py", PROGRAM))


@pytest.mark.parametrize(
    ("parts", "alone", "argument"), [([], "()", "()"), (["a"], "(a,)", "(a,)"), (["a", "b"], "a, b", "(a, b)")]
)
def test_a_tuple_has_parentheses_where_it_needs_them(parts: list[str], alone: str, argument: str) -> None:
    built = write().tuple(parts)
    assert code(*write().lines("return {value}", value=built)) == f"return {alone}\n"
    assert code(write().expr("f({})", built)) == f"f({argument})"
    assert code(*write().assigned(built, "x")) == f"{alone} = x\n"


@pytest.mark.parametrize(
    ("operator", "expected"), [(None, "y = x\n"), (ast.Add(), "y += x\n"), (ast.FloorDiv(), "y //= x\n")]
)
def test_assignments(operator: ast.operator | None, expected: str) -> None:
    assert code(*write().assigned("y", "x", operator)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("x += n", "x = x + n"), ("x **= n or 2", "x = x ** (n or 2)"), ("x @= y  # apart", "x = x @ y  # apart")],
)
def test_another_object_instead_of_a_change_in_place(text: str, expected: str) -> None:
    source = SourceFile("model.py", f"for i in t:\n    if i:\n        {text}\n")
    assert code(*writer(source).rebound_lines(source.tree.body)) == f"for i in t:\n    if i:\n        {expected}\n"


@pytest.mark.parametrize("template", ["{a} + f(x, b=y)", "[{a} for y in x]", "g(x)(y=f({a}))"])
def test_names_that_a_built_piece_reads(template: str) -> None:
    built = write().expr(template, a="n")
    assert write().reads(built) == {
        n.id for n in ast.walk(ast.parse(code(built))) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


DEFINITION = """

def first():
    {body}

first()
"""


def test_definitions_stand_apart_in_a_block_and_not_below_the_head_of_a_function() -> None:
    inner = write().lines(DEFINITION, body=write().lines("return 1"))
    outer = write().lines(DEFINITION, body=[*inner, *write().lines("return first()")])
    assert code(*write().beside(outer, write().lines("y = 2"))) == (
        "if th.compiler.is_compiling():\n\n    def first():\n        def first():\n            return 1\n\n"
        "        first()\n        return first()\n\n    first()\n\nelse:\n    y = 2\n"
    )
    assert code(*write().while_compiling(inner)) == (
        "if th.compiler.is_compiling():\n\n    def first():\n        return 1\n\n    first()\n\n"
    )
    assert code(*write().while_compiling(write().lines("return x"))) == (
        "if th.compiler.is_compiling():\n    return x\n"
    )


def test_a_template_can_be_filled_again_and_stays_as_it_is() -> None:
    template = "if {test}:\n    {body}\nelse:\n    torch.sym_max({values})"
    for number in (1, 2):
        built = write().lines(template, test="x", body=write().lines("return 0"), values=[number, "n"])
        assert code(*built) == f"if x:\n    return 0\nelse:\n    th.sym_max({number}, n)\n"


def test_of_rewrites_that_are_alike_one_is_rendered(monkeypatch: pytest.MonkeyPatch) -> None:
    rendered: list[Rewrite] = []
    original = rendering.rendered

    def counted(source: SourceFile, move: str, rewrite: Rewrite) -> Any:
        rendered.append(rewrite)
        return original(source, move, rewrite)

    monkeypatch.setattr(rendering, "rendered", counted)
    source = SourceFile("model.py", PROGRAM)
    (function,) = (node for node in source.tree.body if isinstance(node, ast.FunctionDef))

    @rewriting("demo_of_rewrites_that_are_alike")
    def demo(context: Context) -> Any:
        for value in (1, 1, 2, 1):
            yield Rewrite("", {function.body[0]: write().assigned("x", value)})

    try:
        found = [*MOVES["demo_of_rewrites_that_are_alike"](_At(source))]  # type: ignore[arg-type]
    finally:
        del MOVES["demo_of_rewrites_that_are_alike"]
    assert [source.apply(candidate.edits).splitlines()[4] for candidate in found] == [
        "    x = 1  # more",
        "    x = 2  # more",
    ]
    assert len(rendered) == 2


class _At:
    """As much of a context as rendering asks for."""

    def __init__(self, source: SourceFile) -> None:
        self.site = self
        self.source = source
