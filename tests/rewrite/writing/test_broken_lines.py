"""Expressions over several lines, taken to another place: in parentheses there only where nothing else holds them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import pytest

from ddelint.rewrite.writing.rendering import rendered
from ddelint.rewrite.writing.rewrites import Rewrite
from ddelint.rewrite.writing.writer import Writer, writer
from ddelint.sources.source import SourceFile

TEXT = """
def fn(x, y, n):
    if (x.sum() > n
            and n > 2):
        return x
    y = (x
         .clone())
    return y
"""


def written(build: Callable[[Writer, ast.If, ast.Assign], dict[ast.AST, Any]], text: str = TEXT) -> str:
    source = SourceFile("model.py", text)
    function = source.tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    first, second = function.body[:2]
    assert isinstance(first, ast.If)
    assert isinstance(second, ast.Assign)
    candidate = rendered(source, "move", Rewrite("", build(writer(source), first, second)))
    assert candidate is not None
    return source.apply(candidate.edits)


def test_parentheses_of_the_file_are_enough() -> None:
    found = written(lambda write, first, _: {first.test: write.expr("known or {}", first.test)})
    assert found == TEXT.replace("(x.sum()", "(known or x.sum()")


def test_a_test_that_goes_to_another_statement_takes_parentheses_along() -> None:
    found = written(lambda write, first, _: {first: [*write.lines("chosen = {test}", test=first.test), first]})
    assert found == TEXT.replace("    if", "    chosen = (x.sum() > n\n            and n > 2)\n    if", 1)


@pytest.mark.parametrize("template", ["f({})", "({}, 1)", "x[{}]", "{} + 1", "f(a={})"])
def test_in_brackets_of_a_template_it_needs_none(template: str) -> None:
    text = TEXT.replace("(x\n         .clone())", "n")
    found = written(lambda write, first, second: {second.value: write.expr(template, first.test)}, text)
    expected = template.format("(x.sum() > n and n > 2)" if template.startswith("{}") else "x.sum() > n and n > 2")
    assert ast.unparse(ast.parse(found).body[0].body[1].value) == ast.unparse(  # type: ignore[attr-defined]
        ast.parse(expected, mode="eval")
    )
    assert "((" not in found


def test_the_place_of_an_expression_on_one_line_gets_parentheses() -> None:
    text = TEXT.replace("return y", "return n").replace("y = (x\n         .clone())", "y = n")
    found = written(lambda write, first, second: {second.value: write.of(first.test)}, text)
    assert found == text.replace("y = n", "y = (x.sum() > n\n            and n > 2)")


def test_a_long_call_that_is_indexed_gets_a_line_for_each_argument() -> None:
    long = "x" * 50
    found = written(lambda write, first, _: {first: [*write.lines(f"a = {long}.cat({long}, {long})[1:]"), first]})
    lines = ["a = " + long + ".cat(", f"    {long},", f"    {long},", ")[1:]"]
    assert found == TEXT.replace("    if", "".join(f"    {line}\n" for line in lines) + "    if", 1)


def test_what_is_too_long_on_its_own_line_is_broken_further() -> None:
    long = "x" * 50
    found = written(lambda write, first, _: {first: [*write.lines(f"check(f({long}, g({long}), {long}), n)"), first]})
    lines = ["check(", "    f(", f"        {long},", f"        g({long}),", f"        {long},", "    ),", "    n,", ")"]
    assert found == TEXT.replace("    if", "".join(f"    {line}\n" for line in lines) + "    if", 1)


def test_a_template_may_begin_with_a_comment() -> None:
    found = written(lambda write, first, _: {first: [*write.lines("# why\n{a} = 1", a="a"), first]})
    assert found == TEXT.replace("    if", "    # why\n    a = 1\n    if", 1)


def test_what_goes_behind_an_inner_statement_stands_before_what_goes_behind_the_outer_one() -> None:
    def build(write: Writer, first: ast.If, second: ast.Assign) -> dict[ast.AST, Any]:
        inner = first.body[0]
        return {
            second: [*write.lines("d = 1"), second],
            first: [*write.lines("a = 1"), first, *write.lines("c = 1")],
            inner: [inner, *write.lines("b = 1")],
        }

    found = written(build, TEXT.replace("return x", "x = 1"))
    assert [line for line in found.splitlines() if line.endswith("= 1")] == [
        "    a = 1",
        "        x = 1",
        "        b = 1",
        "    c = 1",
        "    d = 1",
    ]


@pytest.mark.parametrize("unit", ["\t", "  ", "    "])
def test_the_lines_of_a_template_are_indented_as_the_file_is(unit: str) -> None:
    template = "for a in f(\n    {x}\n):\n    g(\n        a\n    )"
    text = TEXT.replace("    ", unit)
    found = written(lambda write, first, _: {first: [*write.lines(template, x="x"), first]}, text)
    lines = ["for a in f(", f"{unit}x", "):", f"{unit}g(", f"{unit}{unit}a", f"{unit})"]
    assert found == text.replace(f"{unit}if", "".join(f"{unit}{line}\n" for line in lines) + f"{unit}if", 1)


SPREAD = """
def fn(x, y, n):
    if x.sum() > n:
        y = pick(
            x,
            n,  # the most
        )
    y = keep(y, pick(
        x,
    ))
    return y
"""


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("y = f({value})", "    y = f(pick(\n        x,\n        n,  # the most\n    ))\n"),
        (
            "y = f(n, {value}, y)",
            "    y = f(\n        n,\n        pick(\n            x,\n            n,  # the most\n        ),\n"
            "        y,\n    )\n",
        ),
        (
            "y, x = x, g(y, {value})",
            "    y, x = (\n        x,\n        g(\n            y,\n            pick(\n                x,\n"
            "                n,  # the most\n            ),\n        ),\n    )\n",
        ),
    ],
)
def test_of_several_parts_each_gets_a_line_where_one_runs_over_lines(template: str, expected: str) -> None:
    source = SourceFile("model.py", SPREAD)
    (function,) = source.tree.body
    assert isinstance(function, ast.FunctionDef)
    branch, kept = function.body[:2]
    assert isinstance(branch, ast.If)
    assert isinstance(branch.body[0], ast.Assign)
    write = writer(source)
    lines = [*write.lines(template, value=branch.body[0].value), kept]
    candidate = rendered(source, "move", Rewrite("", {branch: lines, kept: []}))
    assert candidate is not None
    before, _, behind = SPREAD.partition("    if")
    assert source.apply(candidate.edits) == before + expected + behind.partition("        )\n")[2]
