"""`not` of an expression: the opposite operator where there is one, blanks and comments kept, the same answer."""

from __future__ import annotations

import ast

import libcst
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ddelint.rewrite.writing.writer import Writer
from ddelint.sources.source import SourceFile


def negated(text: str) -> str:
    source = SourceFile("m.py", f"v = {text}\n")
    statement = source.tree.body[0]
    assert isinstance(statement, ast.Assign)
    return libcst.Module([]).code_for_node(Writer(source).negated(statement.value))


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
    assert negated(text).strip("()") == opposite.strip("()")


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
    assert bool(eval(f"({negated(text)})", dict(VALUES))) is not bool(eval(text, dict(VALUES)))
