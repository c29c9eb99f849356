"""Definitions that are built: their parameters, the lines that they take, and where they stand in the file."""

from __future__ import annotations

import ast
from typing import Any

import libcst as cst
import pytest

from ddelint.rewrite.writing.rendering import rendered
from ddelint.rewrite.writing.rewrites import Rewrite, Run
from ddelint.rewrite.writing.writer import writer
from ddelint.sources.source import SourceFile

PROGRAM = """import torch as th


# What the model does.
@th.no_grad()
def fn(x, t):
    # the largest
    y = x * self.scale.exp()

    # and what is added
    z = f"{self.scale} {self.scales}" + x.self.scale
    return y + z


print(fn)
"""


def code(*nodes: cst.CSTNode) -> str:
    return "".join(cst.Module([]).code_for_node(node) for node in nodes)


def changed(text: str, changes: Any) -> str:
    source = SourceFile("model.py", text)
    candidate = rendered(source, "demo", Rewrite("", changes(source)))
    assert candidate is not None
    return source.apply(candidate.edits)


def test_holes_for_parameters_types_and_subscripts() -> None:
    write = writer(SourceFile("model.py", PROGRAM))
    result = write.expr("tuple[{}]", ["torch.Tensor", "int"])
    operands = [("x", "torch.Tensor"), ("n", "int")]
    built = write.lines("def fn(ctx, {operands}) -> {result}:\n    pass\n", operands=operands, result=result)
    assert code(*built) == "def fn(ctx, x: th.Tensor, n: int) -> tuple[th.Tensor, int]:\n    pass\n"


@pytest.mark.parametrize(("names", "expected"), [(["a"], "(a,)"), (["a", "b"], "(a, b)")])
def test_the_comma_of_a_tuple_of_one(names: list[str], expected: str) -> None:
    assert code(writer(SourceFile("model.py", PROGRAM)).expr("({},)", names)) == expected


def test_chains_of_attributes_are_renamed_where_they_are_read() -> None:
    source = SourceFile("model.py", PROGRAM)
    (function,) = (node for node in source.tree.body if isinstance(node, ast.FunctionDef))
    lines = writer(source).renamed_lines(function.body[:2], {"self.scale": "scale"})
    assert code(*lines).splitlines() == [
        "y = x * scale.exp()",
        "",
        "# and what is added",
        'z = f"{scale} {self.scales}" + x.self.scale',
    ]


def test_lines_that_are_given_say_torch_as_the_file_does() -> None:
    write = writer(SourceFile("model.py", PROGRAM))
    assert code(*write.given(["size = {'torch': torch.sym_max(n, 1)}", "return size"])) == (
        "size = {'torch': th.sym_max(n, 1)}\nreturn size\n"
    )
    with pytest.raises(ValueError, match="Syntax Error"):
        write.given(["return ("])


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("f()", "f(max=3)"),
        ("f(a,  b)", "f(a,  b, max=3)"),
        ("f(a, b,)", "f(a, b, max=3,)"),
        ("f(\n    a,  # first\n    *b,\n)", "f(\n    a,  # first\n    *b,\n    max=3,\n)"),
        ("f(\n    a,\n)", "f(\n    a,\n    max=3,\n)"),
        ("f(\n    a\n)", "f(\n    a,\n    max=3\n)"),
        ("f(\n    a,\n    b  # last\n)", "f(\n    a,\n    b,\n    max=3  # last\n)"),
        ("f(a,\n  b)", "f(a,\n  b,\n  max=3)"),
    ],
)
def test_a_further_keyword(call: str, expected: str) -> None:
    source = SourceFile("model.py", f"{call}\n")
    (statement,) = source.tree.body
    assert isinstance(statement, ast.Expr)
    assert isinstance(statement.value, ast.Call)
    assert code(writer(source).with_keyword(statement.value, "max", 3)) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("with a as b:", "with a as b, c:"),
        ("with (\n    a,\n    b as x,  # why\n):", "with (\n    a,\n    b as x,\n    c,  # why\n):"),
        ("with (\n    a\n):", "with (\n    a,\n    c\n):"),
    ],
)
def test_a_further_context_manager(header: str, expected: str) -> None:
    source = SourceFile("model.py", f"{header}  # header\n    pass\n")
    (block,) = source.tree.body
    assert isinstance(block, ast.With)
    assert code(*writer(source).with_manager(block, "c")) == f"{expected}  # header\n    pass\n"


def test_a_definition_of_the_module_stands_apart() -> None:
    def before(source: SourceFile) -> dict[ast.AST, Any]:
        function = source.tree.body[1]
        return {function: [*writer(source).lines("def first(x):\n    return x\n"), function]}

    def behind(source: SourceFile) -> dict[ast.AST, Any]:
        function = source.tree.body[1]
        return {function: [function, *writer(source).lines("def last(x):\n    return x\n")]}

    new = "def first(x):\n    return x\n\n\n"
    assert changed(PROGRAM, before) == PROGRAM.replace("# What", f"{new}# What")
    new = "\n\ndef last(x):\n    return x\n"
    assert changed(PROGRAM, behind) == PROGRAM.replace("y + z\n", f"y + z\n{new}")
    close = PROGRAM.replace("y + z\n\n\n", "y + z\n")
    assert changed(close, behind) == close.replace("y + z\n", f"y + z\n{new}\n\n")
    last = PROGRAM.partition("\n\n\nprint")[0]
    assert changed(last, behind) == f"{last}\n{new}".rstrip()


def test_statements_that_follow_each_other_change_with_what_is_between() -> None:
    def run(source: SourceFile) -> dict[ast.AST, Any]:
        function = source.tree.body[1]
        assert isinstance(function, ast.FunctionDef)
        write = writer(source)
        body = write.lines("def region(x):\n    {body}\n", body=function.body[:2])
        return {function: [*body, function], Run(function.body[:2]): write.lines("z = region(x)")}

    moved = PROGRAM[PROGRAM.index("    y =") : PROGRAM.index("    return")]
    expected = PROGRAM.replace(moved, "    z = region(x)\n").replace("# What", f"def region(x):\n{moved}\n\n# What")
    assert changed(PROGRAM, run) == expected


def test_long_definitions_and_decorators_are_broken_but_not_the_author_s_lines() -> None:
    names = [f"parameter_{number}" for number in range(12)]
    theirs = f"    y = torch.stack([{', '.join(names)}]) + torch.zeros({', '.join(names)})\n"
    text = f"import torch\n\n\ndef fn(x):\n{theirs}    return y\n"

    def built(source: SourceFile) -> dict[ast.AST, Any]:
        function = source.tree.body[1]
        assert isinstance(function, ast.FunctionDef)
        template = "@torch.library.custom_op({parts}, mutates_args=())\ndef region({parts}) -> int:\n    {body}\n"
        return {function: [*writer(source).lines(template, parts=names, body=function.body), function]}

    lines = "".join(f"    {name},\n" for name in names)
    assert changed(text, built) == text.replace(
        "def fn",
        f"@torch.library.custom_op(\n{lines}    mutates_args=(),\n)\ndef region(\n{lines}) -> int:\n{theirs}"
        "    return y\n\n\ndef fn",
    )
