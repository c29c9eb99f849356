"""Tests said as checks: what was built answers as the test does, NaN included, and says of what it is not certain."""

from __future__ import annotations

import ast
import itertools
import math
from typing import Any

import pytest
from control_flow import COUNT, INTEGERS, SCALAR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.checks import Checks, Inexpressible

TYPES = {
    "n": COUNT, "u": COUNT, "f": TypeFact("symfloat"), "t": INTEGERS, "s": SCALAR, "k": TypeFact("bool"),
}  # fmt: skip


def checks_of(test: str, types: dict[str, TypeFact] | None = None) -> tuple[Checks, ast.expr]:
    text = f"import torch\n\n\ndef fn(n, u, f, t, s, k, o):\n    if {test}:\n        raise KeyError\n"
    context = context_of(text, f"if {test}:", TYPES if types is None else types)
    statement = context.site.statement
    assert isinstance(statement, ast.If)
    return Checks(context), statement.test


def names() -> dict[str, Any]:
    import torch
    from torch.fx.experimental.symbolic_shapes import sym_and, sym_or

    return {"torch": torch, "sym_and": sym_and, "sym_or": sym_or}


TESTS = [
    "n > u", "not n > u", "not (n > u or u == 3)", "n > 1 and u > 1", "not (n > 1 and u > 1)", "0 <= n <= u",
    "not 0 <= n < u", "n in (1, 2)", "n not in (1, u)", "not n in {1, 2}", "n", "not n", "bool(n) or u == 0",
    "k or n == 0", "not k and n != 0", "f > n", "not f > n", "not (f >= n or f < u)", "not f == n", "not n <= f <= u",
]  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("want", [True, False])
def test_a_condition_answers_as_its_test(test: str, want: bool) -> None:
    checks, node = checks_of(test)
    condition = checks.write.code(checks.condition(node, want))
    assert checks.is_certain
    for n, u, f, k in itertools.product(range(4), range(4), (0.0, 1.0, 2.5, math.nan), (False, True)):
        values = {"n": n, "u": u, "f": f, "k": k, **names()}
        assert eval(condition, values) is (bool(eval(test, values)) is want), (condition, n, u, f, k)


@pytest.mark.parametrize(
    ("test", "want", "condition"),
    [
        ("t.any()", True, "t.any().item()"),
        ("t.sum()", True, "(t.sum() != 0).item()"),
        ("not t.any()", True, "torch.sym_not(t.any().item())"),
        ("t.max() > n", False, "t.max().item() <= n"),
        ("s > f", False, "torch.sym_not((s > f).item())"),
        (
            "torch.equal(s, t)",
            True,
            "((s == t).all() if s.shape == t.shape else s.new_zeros((), dtype=torch.bool)).item()",
        ),
        ("torch.allclose(s, t, atol=f)", False, "torch.sym_not(torch.isclose(s, t, atol=f).all().item())"),
    ],
)
def test_a_tensor_is_read_once_as_a_bool(test: str, want: bool, condition: str) -> None:
    checks, node = checks_of(test)
    assert checks.write.code(checks.condition(node, want)) == condition


@pytest.mark.parametrize(
    "test", ["o", "not o > n", "n > o", "n in (o, 1)", "f.real > n and k", "not t.tolist()[0] > 1"]
)
def test_what_nothing_tells_the_kind_of_is_not_certain(test: str) -> None:
    checks, node = checks_of(test)
    checks.condition(node, False)
    assert not checks.is_certain


def test_what_has_an_effect_between_two_comparisons_is_not_said() -> None:
    checks, node = checks_of("0 <= o.pop() <= n")
    with pytest.raises(Inexpressible):
        checks.lines(node, True)
