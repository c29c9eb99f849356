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


LONG = "x" * 50


def changed(text: str, old: str, new: str) -> str:
    """The body of a function in which a template takes an expression's place, `{}` the expression."""
    source = SourceFile("model.py", f"def fn(n):\n    {text}\n")
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.expr) and ast.unparse(n) == old)
    candidate = rendered(source, "move", Rewrite("", {node: writer(source).expr(new, node)}))
    assert candidate is not None
    found = source.apply(candidate.edits)
    ast.parse(found)
    return found.removeprefix("def fn(n):\n")


@pytest.mark.parametrize(
    ("text", "old", "new", "lines"),
    [
        (f"return {LONG}(n)", f"{LONG}(n)", f"g({{}}, {LONG})", ["return g(", f"    {LONG}(n),", f"    {LONG},", ")"]),
        (f"y = {LONG} + n", "n", f"g({LONG}, {{}})", ["y = (", f"    {LONG}", f"    + g({LONG}, n)", ")"]),
        (
            f"y = {{i: g(n) for i in {LONG}}}",
            "n",
            f"h({{}}, {LONG})",
            ["y = {", f"    i: g(h(n, {LONG}))", f"    for i in {LONG}", "}"],
        ),
        (f"y = [{LONG}, g(n)]", "n", f"h({{}}, {LONG})", ["y = [", f"    {LONG},", f"    g(h(n, {LONG})),", "]"]),
        (
            f"y = {{1: {LONG}, 2: n}}",
            "n",
            f"h({{}}, {LONG})",
            ["y = {", f"    1: {LONG},", f"    2: h(n, {LONG}),", "}"],
        ),
        (f"y = {LONG}.T[n]", "n", f"g({LONG}, {{}})", [f"y = {LONG}.T[g(", f"    {LONG},", "    n,", ")]"]),
        (
            f"return {LONG} > n",
            f"{LONG} > n",
            f"{LONG} or {{}}",
            ["return (", f"    {LONG}", f"    or {LONG} > n", ")"],
        ),
        (
            f"y = f({LONG}, n)[0].item()",
            "n",
            f"{{}} + {LONG}",
            ["y = f(", f"    {LONG},", f"    n + {LONG},", ")[0].item()"],
        ),
        (
            f"y = {LONG} if n else {LONG[10:]}",
            "n",
            "{}.item()",
            ["y = (", f"    {LONG}", "    if n.item()", f"    else {LONG[10:]}", ")"],
        ),
        (
            f"y = g({LONG})",
            f"g({LONG})",
            f"f({LONG}, h({LONG})) if n else {{}}",
            [
                "y = (",
                "    f(",
                f"        {LONG},",
                f"        h({LONG}),",
                "    )",
                "    if n",
                f"    else g({LONG})",
                ")",
            ],
        ),
    ],
)
def test_an_expression_that_would_make_its_line_too_long_is_broken(
    text: str, old: str, new: str, lines: list[str]
) -> None:
    assert changed(text, old, new) == "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("header", ["if", "while"])
def test_a_test_that_would_make_its_header_too_long_is_broken_before_its_operators(header: str) -> None:
    found = changed(f"{header} {LONG} > n:\n        pass", f"{LONG} > n", f"{LONG} or {{}}")
    lines = [f"{header} (", f"    {LONG}", f"    or {LONG} > n", "):", "    pass"]
    assert found == "".join(f"    {line}\n" for line in lines)


def test_a_line_that_was_too_long_stays_on_one() -> None:
    text = f"y = {LONG}({LONG}, {LONG}, n)"
    assert changed(text, "n", "{}.item()") == f"    {text}\n".replace(" n)", " n.item())")


def test_a_built_branch_is_broken_as_well() -> None:
    found = written(lambda write, first, _: {first: [*write.lines(f"if {LONG} or {LONG} > n:\n    a = 1"), first]})
    lines = ["if (", f"    {LONG}", f"    or {LONG} > n", "):", "    a = 1"]
    assert found == TEXT.replace("    if", "".join(f"    {line}\n" for line in lines) + "    if", 1)


def test_two_fixes_of_one_line_break_it_once() -> None:
    source = SourceFile("model.py", f"def fn(n):\n    return f(int(n)) + {LONG} + g(float(n)) + {LONG[31:]}\n")
    casts = [n for n in ast.walk(source.tree) if isinstance(n, ast.Call) and ast.unparse(n) in ("int(n)", "float(n)")]
    edits = []
    for cast in casts:
        candidate = rendered(source, "move", Rewrite("", {cast: writer(source).expr("sym({})", cast)}))
        assert candidate is not None
        edits += candidate.edits
    lines = ["return (", "    f(sym(int(n)))", f"    + {LONG}", "    + g(sym(float(n)))", f"    + {LONG[31:]}", ")"]
    assert source.apply(list(dict.fromkeys(edits))) == "def fn(n):\n" + "".join(f"    {line}\n" for line in lines)


@pytest.mark.parametrize("template", ["{chosen} if flag else {}", "{} if flag else {chosen}"])
def test_a_call_that_is_broken_around_an_argument_begins_and_ends_beside_what_is_put_there(template: str) -> None:
    text = "def fn(total, flag, items):\n    if flag:\n        items.append(total.sum() / total.numel())\n    x = 1\n"
    source = SourceFile("model.py", text)
    call = next(node for node in ast.walk(source.tree) if isinstance(node, ast.Call))
    (argument,) = call.args
    chosen = f"torch.where(flag, {' + '.join(['total.amax()'] * 10)}, 0)"
    new = writer(source).expr(template.replace("{chosen}", chosen), argument)
    candidate = rendered(source, "move", Rewrite("", {argument: new}))
    assert candidate is not None
    lines = source.apply(candidate.edits).splitlines()
    first = lines.index("        items.append(")
    assert lines[first + 1].startswith("            t")
    assert lines[-2] == "        )"
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize(
    ("built", "lines"),
    [
        (
            f"y = f({LONG}, 1) if n else g({LONG})",
            ["y = (", f"    f({LONG}, 1)", "    if n", f"    else g({LONG})", ")"],
        ),
        (
            f"y = f({LONG}, g({LONG})) if n else {LONG}",
            [
                "y = (",
                "    f(",
                f"        {LONG},",
                f"        g({LONG}),",
                "    )",
                "    if n",
                f"    else {LONG}",
                ")",
            ],
        ),
        (
            f"return n * ({LONG} / f({LONG}, {LONG}).item()) + n",
            [
                "return (",
                "    n * (",
                f"        {LONG}",
                "        / f(",
                f"            {LONG},",
                f"            {LONG},",
                "        ).item()",
                "    )",
                "    + n",
                ")",
            ],
        ),
        (
            f"y = f(n, {LONG} / g(n, {LONG}, {LONG}))",
            [
                "y = f(",
                "    n,",
                "    (",
                f"        {LONG}",
                "        / g(",
                "            n,",
                f"            {LONG},",
                f"            {LONG},",
                "        )",
                "    ),",
                ")",
            ],
        ),
        (
            f"if {LONG} or f({LONG}, {LONG}):\n    n = 1",
            ["if (", f"    {LONG}", "    or f(", f"        {LONG},", f"        {LONG},", "    )", "):", "    n = 1"],
        ),
    ],
)
def test_operands_that_are_too_long_are_broken_as_parts_are(built: str, lines: list[str]) -> None:
    found = written(lambda write, first, _: {first: [*write.lines(built), first]})
    ast.parse(found)
    assert found == TEXT.replace("    if", "".join(f"    {line}\n" for line in lines) + "    if", 1)
