"""What a compiler runs of a function is read off the tests that it answers by itself."""

import ast

import pytest

from ddelint.sources.compiling import rows_while_compiling

TEXT = """\
def f(x, n):
    if torch.compiler.is_compiling():
        y = g(x)
        if n > 2:
            y = y + 1
        z = y * 2
        if not torch.compiler.is_compiling():
            z = int(z)
        if n > 3:
            return z
        w = z
    else:
        w = x
    return w
"""


@pytest.mark.parametrize(("ran", "rows"), [({2, 13, 14}, {3, 4, 6, 7, 9}), ({14}, set())])
def test_rows_of_a_branch_for_compiling_count_as_far_as_they_are_certain(ran: set[int], rows: set[int]) -> None:
    assert rows_while_compiling(ast.parse(TEXT), frozenset(ran)) == rows


def test_the_other_branch_is_what_a_negated_test_leaves() -> None:
    text = "if not torch.compiler.is_compiling() and x:\n    a = 1\nelse:\n    b = 2\n"
    assert rows_while_compiling(ast.parse(text), frozenset({1})) == {4}
