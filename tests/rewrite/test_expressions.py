"""Text from the text that is there: parentheses, negation, blocks, and what expressions are."""

from __future__ import annotations

import ast

import pytest
from control_flow import COUNT, INTEGERS, MASK, TENSOR, context_of
from hypothesis import given
from hypothesis import strategies as st

from ddelint.diagnostics import TypeFact
from ddelint.rewrite.expressions import (
    Binding,
    block_text,
    comments_in,
    fresh_name,
    is_pure,
    laid_out,
    names_written,
    negated,
    text_of,
    torch_name,
    wrapped,
)
from ddelint.rewrite.kinds import Kind, Kinds
from ddelint.rewrite.polarity import general_side
from ddelint.source import SourceFile


def expression(text: str) -> tuple[SourceFile, ast.expr]:
    source = SourceFile("m.py", f"v = {text}\n")
    statement = source.tree.body[0]
    assert isinstance(statement, ast.Assign)
    return source, statement.value


@pytest.mark.parametrize(
    ("text", "opposite"),
    [
        ("a == b", "a != b"),
        ("a  <b", "a  >=b"),
        ("(a\n  >= b  # why\n  + c)", "(a\n  < b  # why\n  + c)"),
        ("a is None", "a is not None"),
        ("a in b", "a not in b"),
        ("not a", "a"),
        ("not (a or b)", "a or b"),
        ("a or b", "not (a or b)"),
        ("a < b < c", "not a < b < c"),
        ("f(a)", "not f(a)"),
    ],
)
def test_negation(text: str, opposite: str) -> None:
    source, node = expression(text)
    assert negated(source, node).strip("()") == opposite.strip("()")


VALUES = {"a": 1, "b": 2, "c": 0}
TESTS = st.recursive(
    st.sampled_from(["a", "b == a", "c < a", "c", "a + c != b"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from([" and ", " or "]), inner).map(lambda p: f"({p[0]}){p[1]}({p[2]})")
        | inner.map(lambda text: f"not ({text})")
        | st.tuples(inner, inner, inner).map(lambda p: f"({p[0]}) if ({p[1]}) else ({p[2]})")
    ),
    max_leaves=6,
)


@given(TESTS)
def test_a_negation_is_the_opposite(text: str) -> None:
    source, node = expression(text)
    assert bool(eval(negated(source, node), dict(VALUES))) is not bool(eval(text, dict(VALUES)))


@given(TESTS, st.sampled_from(list(Binding)))
def test_a_wrapped_text_keeps_its_value_in_its_place(text: str, place: Binding) -> None:
    kept = {
        Binding.AND: lambda part: f"1 and {part}",
        Binding.OR: lambda part: f"0 or {part}",
        Binding.NOT: lambda part: f"not {part}",
        Binding.PRIMARY: lambda part: f"{part}.__class__",
    }.get(place, lambda part: f"({part})")
    source, node = expression(text)
    for inner in (wrapped(text, place), text_of(source, node, place)):
        assert eval(kept(inner), dict(VALUES)) == eval(kept(f"({text})"), dict(VALUES))


def test_a_block_moves_but_its_strings_do_not() -> None:
    text = 'if a:\n    # note\n    s = """one\n  two"""\n\n    f(1,\n      2)  # tail\n'
    source = SourceFile("m.py", text)
    statement = source.tree.body[0]
    assert isinstance(statement, ast.If)
    assert block_text(source, statement.body, "\t") == '\ts = """one\n  two"""\n\n\tf(1,\n\t  2)  # tail'


def test_comments_and_hashes_in_strings() -> None:
    source = SourceFile("m.py", 'x = f("#no",  # yes\n      1)\n')
    assert comments_in(source, source.span(source.tree.body[0])) == ["# yes"]


def test_long_calls_are_laid_out() -> None:
    assert laid_out(["y = where(" + "a" * 60 + ", " + "b" * 60 + ")", "short = 1"], 4, "    ") == [
        "y = where(",
        "    " + "a" * 60 + ",",
        "    " + "b" * 60 + ",",
        ")",
        "short = 1",
    ]


def test_purity_and_names() -> None:
    assert is_pure(ast.parse("x.sum() + f(y)[0]"))
    assert not is_pure(ast.parse("x.add_(1)"))
    assert not is_pure(ast.parse("rows.append(1)"))
    assert not is_pure(ast.parse("(y := 1)"))
    assert names_written(ast.parse("a, (b, *c) = 1\nd += 1\nx = [i for i in y]\nz.w = 2")) == {"a", "b", "c", "d", "x"}


def test_fresh_names_and_the_name_of_torch() -> None:
    source = SourceFile("m.py", "import torch as th\ncondition = 1\n")
    assert fresh_name(source, "condition") == "condition_2"
    assert fresh_name(source, "other") == "other"
    assert torch_name(source) == ("th", ())
    assert torch_name(SourceFile("m.py", "x = 1\n"))[1][0].module == "torch"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("x", Kind.TENSOR),
        ("n", Kind.NUMBER),
        ("flag", Kind.BOOL),
        ("x.shape[0]", Kind.NUMBER),
        ("x.shape", Kind.STATIC),
        ("x.sum() > n", Kind.TENSOR),
        ("n > 4", Kind.BOOL),
        ("x is None", Kind.STATIC),
        ("isinstance(x, int)", Kind.STATIC),
        ("torch.equal(x, x)", Kind.BOOL),
        ("torch.where(x > 0, x, n)", Kind.TENSOR),
        ("mask.sum().item()", Kind.NUMBER),
        ("mask.any().item()", Kind.BOOL),
        ("len(x)", Kind.NUMBER),
        ("elsewhere", Kind.UNKNOWN),
        ("self.training", Kind.STATIC),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    facts = {"x": TENSOR, "n": COUNT, "mask": MASK, "t": INTEGERS, "flag": TypeFact("bool")}
    context = context_of(f"def fn(x, n, mask, flag):\n    return [{text}]\n", f"[{text}]", facts)
    assert isinstance(context.site.node, ast.List)
    assert Kinds(context).of(context.site.node.elts[0]) is kind


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("n == 0", False),
        ("0 == n", False),
        ("n > 0", True),
        ("0 < n", True),
        ("x.shape[0] != 1", True),
        ("not mask.any()", False),
        ("bool(mask.any())", True),
        ("mask.all()", False),
        ("n > 7", None),
        ("len(x) == 0 or x.numel() == 0", False),
    ],
)
def test_the_general_side(text: str, side: bool | None) -> None:
    assert general_side(expression(text)[1]) is side
