"""Every operator in every place, held against `ast`: the tree that is printed is the tree that was meant."""

from __future__ import annotations

import ast
from itertools import product

import pytest

from ddelint.rewrite.writing.writer import Writer
from ddelint.sources.source import SourceFile

BINARY = ("+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^")
COMPARED = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")
INNER = (
    *(f"a {sign} b" for sign in (*BINARY, *COMPARED, "and", "or")),
    *("-a", "+a", "~a", "not a", "await a"),
    *("a if b else c", "lambda: a", "lambda x: a", "lambda x=a: b", "(a := b)", "(yield a)", "(yield)"),
    *("a, b", "(a, b)", "()", "(a,)", "[a]", "{a}", "{a: b}", "1", "1.5", "2j", "'s'", "f'{a}'", "None", "..."),
    *("a.b", "a()", "a[b]", "a[b:c]", "(a for a in b)", "[a for a in b]", "a < b < c", "a and b or c", "-a ** b"),
)
"""One expression of each kind."""
OUTER = (
    *(f"{{}} {sign} z" for sign in (*BINARY, *COMPARED, "and", "or")),
    *(f"z {sign} {{}}" for sign in (*BINARY, *COMPARED, "and", "or")),
    *("z < {} < y", "-{}", "~{}", "+{}", "not {}", "await {}"),
    *("{} if y else z", "y if {} else z", "y if z else {}", "lambda: {}", "lambda x={}: y"),
    *(
        "{}.y",
        "{}()",
        "{}[y]",
        "y[{}]",
        "y[{}:z]",
        "y[z:{}]",
        "y[::{}]",
        "y({})",
        "y(z, {})",
        "y(z={})",
        "y(*{})",
        "y(**{})",
    ),
    *("[{}]", "[y, {}]", "({},)", "{{{}}}", "{{{}: y}}", "{{y: {}}}", "[*{}]", "{{**{}}}"),
    *("[{} for x in y]", "[x for x in {}]", "[x for x in y if {}]", "({} for x in y)", "{{{}: y for x in y}}"),
    *("(y := {})", "(yield {})", "{{y: {} for x in y}}"),
)
"""One place of each kind."""
STATEMENTS = (
    "x = {part}", "x += {part}", "return {part}", "assert {part}", "assert x, {part}", "raise {part}", "del x[{part}]",
    "if {part}:\n    pass", "while {part}:\n    pass", "for x in {part}:\n    pass", "with {part}:\n    pass",
    "with {part} as x:\n    pass", "x[{part}] = y", "x: int = {part}", "match {part}:\n    case 1:\n        pass",
    "@d({part})\ndef f(x={part}):\n    pass", "class A({part}):\n    pass", "try:\n    pass\nexcept {part}:\n    pass",
)  # fmt: skip


def within(code: str) -> str:
    """The code inside a coroutine, where `yield` and `await` may stand."""
    return "async def f():\n" + "".join(f"    {line}\n" for line in code.splitlines())


def flat(tree: str) -> str:
    """`ast` has `a and b and c` in one node and `(a and b) and c` in two: they say the same."""

    class Flat(ast.NodeTransformer):
        def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
            self.generic_visit(node)
            values = []
            for value in node.values:
                same = isinstance(value, ast.BoolOp) and type(value.op) is type(node.op)
                values += value.values if isinstance(value, ast.BoolOp) and same else [value]
            return ast.BoolOp(node.op, values)

    return ast.dump(Flat().visit(ast.parse(tree)))


@pytest.fixture(scope="module")
def write() -> Writer:
    return Writer(SourceFile("model.py", "import torch\n"))


@pytest.mark.parametrize("outer", OUTER)
def test_an_expression_keeps_its_meaning_in_every_place(outer: str, write: Writer) -> None:
    wrong = []
    for inner in INNER:
        printed = write.code(write.expr(outer, write.expr(inner.replace("{", "{{").replace("}", "}}"))))
        if flat(within(printed)) != flat(within(outer.format(f"({inner})"))):
            wrong.append((inner, printed))
    assert not wrong


def test_two_levels_of_operators(write: Writer) -> None:
    places = ("{} + z", "z - {}", "{} ** z", "z ** {}", "-{}", "not {}", "{} < z", "{} and z", "{} or z", "{}.item()")
    wrong = []
    for first, second, inner in product(
        places, places, ("a + b", "a ** b", "-a", "not a", "a < b", "a and b", "a or b")
    ):
        printed = write.code(write.expr(first, write.expr(second, write.expr(inner))))
        if flat(within(printed)) != flat(within(first.format(f"({second.format(f'({inner})')})"))):
            wrong.append((first, second, inner, printed))
    assert not wrong


@pytest.mark.parametrize("template", STATEMENTS)
def test_an_expression_keeps_its_meaning_in_every_statement(template: str, write: Writer) -> None:
    import libcst as cst

    wrong = []
    for inner in INNER:
        built = write.lines(template, part=write.expr(inner.replace("{", "{{").replace("}", "}}")))
        printed = cst.Module(built).code
        is_managed_tuple = template.startswith("with {part}:") and inner in ("(a, b)", "(a,)")  # two managers to Python
        if not is_managed_tuple and flat(within(printed)) != flat(within(template.format(part=f"({inner})"))):
            wrong.append((inner, printed))
    assert not wrong


@pytest.mark.parametrize("outer", [place for place in OUTER if "{{" not in place])
def test_what_takes_the_place_of_a_node_keeps_its_meaning(outer: str) -> None:
    """As the renderer puts it: the place is read off `ast`."""
    import libcst as cst

    from ddelint.rewrite.writing.brackets import binding, bracketed, place_of

    source = SourceFile("model.py", within(f"q = {outer.format('HERE')}"))
    (node,) = (n for n in ast.walk(source.tree) if isinstance(n, ast.Name) and n.id == "HERE")
    wrong = []
    for inner in INNER:
        new = Writer(source).expr(inner.replace("{", "{{").replace("}", "}}"))
        new = bracketed(new) if binding(new) < place_of(source, node) else new
        printed = source.text.replace("HERE", cst.Module([]).code_for_node(new))
        if flat(printed) != flat(source.text.replace("HERE", f"({inner})")):
            wrong.append((inner, printed))
    assert not wrong


def test_no_brackets_where_none_are_needed(write: Writer) -> None:
    pairs = (
        ("{}.item()", "a.b(c)", "a.b(c).item()"),
        ("f({})", "a if b else c", "f(a if b else c)"),
        ("{} + c", "a + b", "a + b + c"),
        ("{} and c", "a and b", "a and b and c"),
        ("not {}", "a == b", "not a == b"),
        ("x[{}]", "a, b", "x[a, b]"),
        ("{} < c", "a | b", "a | b < c"),
        ("-{}", "a ** b", "-a ** b"),
    )
    for outer, inner, expected in pairs:
        assert write.code(write.expr(outer, write.expr(inner))) == expected
