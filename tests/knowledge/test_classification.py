"""One question, one rule: by where it stands, what it is about, and what was demanded."""

from __future__ import annotations

import ast

import pytest

from ddelint.knowledge.classification import is_emptiness_test, reported_span, rule_for
from ddelint.nouns.diagnostics import Symbol
from ddelint.sources.sites import Site, site_of
from ddelint.sources.source import SourceFile


def site(text: str, asking: str) -> Site:
    """The site of the first expression that reads `asking`."""
    source = SourceFile("model.py", text)
    node = next(n for n in ast.walk(source.tree) if isinstance(n, ast.expr) and source.segment(n) == asking)
    return site_of(source, node)


@pytest.mark.parametrize(
    ("text", "asking", "kind", "code"),
    [
        ("if n > 4:\n    x = 1", "n > 4", "number", "DDE101"),
        ("if n > 4:\n    raise ValueError", "n > 4", "number", "DDE103"),
        ("if t.any():\n    raise ValueError", "t.any()", "tensor", "DDE103"),
        ("if n > 4:\n    warnings.warn('')", "n > 4", "number", "DDE110"),
        ("if n > 4:\n    pass\nelse:\n    x = 1", "n > 4", "number", "DDE101"),
        ("assert n > 4", "n > 4", "number", "DDE104"),
        ("assert t.any()", "t.any()", "tensor", "DDE104"),
        ("while n > 4:\n    n = n - 1", "n > 4", "number", "DDE106"),
        ("while t.any():\n    t = t[1:]", "t.any()", "tensor", "DDE106"),
        ("if t.any():\n    x = 1", "t.any()", "tensor", "DDE105"),
        ("y = a if t.any() else b", "t.any()", "tensor", "DDE105"),
        ("if h.shape[0] == 0:\n    x = 1", "h.shape[0] == 0", "size", "DDE102"),
        ("if 1 > h.shape[0]:\n    x = 1", "1 > h.shape[0]", "size", "DDE102"),
        ("if not h.numel():\n    x = 1", "h.numel()", "size", "DDE102"),
        ("if h.shape[0] > 3:\n    x = 1", "h.shape[0] > 3", "size", "DDE101"),
        ("if n == 0:\n    x = 1", "n == 0", "number", "DDE101"),
        ("if n == 0:\n    x = 1", "n == 0", "input", "DDE402"),
        ("if n == 1:\n    x = 1", "n == 1", "input", "DDE402"),
        ("if n > 6:\n    x = 1", "n > 6", "input", "DDE401"),
        ("torch._check(a and b)", "a and b", "bool", "DDE107"),
        ("torch._check(0 <= u <= n)", "0 <= u <= n", "number", "DDE107"),
        ("y = n in (1, 2)", "n in (1, 2)", "number", "DDE108"),
        ("y = all(v > 0 for v in vs)", "all(v > 0 for v in vs)", "number", "DDE108"),
    ],
)
def test_a_truth_question(text: str, asking: str, kind: str, code: str) -> None:
    assert rule_for(site(text, asking), kind) == code


@pytest.mark.parametrize(
    ("text", "asking", "kind", "code"),
    [
        ("y = int(t)", "int(t)", "tensor", "DDE201"),
        ("y = len(t)", "len(t)", "size", "DDE207"),
        ("y = layers[i]", "layers[i]", "number", "DDE202"),
        ("for i in range(n):\n    pass", "range(n)", "number", "DDE203"),
        ("y = torch.chunk(x, n)", "torch.chunk(x, n)", "number", "DDE206"),
        ("y = x.expand(t)", "x.expand(t)", "tensor", "DDE204"),
        ("y = f'{n}'", "n", "number", "DDE208"),
    ],
)
def test_an_integer_question(text: str, asking: str, kind: str, code: str) -> None:
    assert rule_for(site(text, asking), kind, question="integer") == code


def test_an_operator_that_answers_from_data_is_a_branch_where_it_is_tested() -> None:
    test = site("if torch.equal(a, b):\n    raise ValueError", "torch.equal(a, b)")
    assert rule_for(test, "bool", question="operator", operator="equal") == "DDE103"
    value = site("same = torch.equal(a, b)", "torch.equal(a, b)")
    assert rule_for(value, "bool", question="operator", operator="aten.equal.default") == "DDE101"


def test_a_count_of_a_mask_is_told_from_other_numbers() -> None:
    here = site("if n == 0:\n    x = 1", "n == 0")
    assert rule_for(here, "number", symbols=(Symbol("n", "mask.sum().item()"),)) == "DDE102"
    assert rule_for(here, "number", symbols=(Symbol("n", "step.item()"),)) == "DDE101"


def test_unpacking_and_hashing_fail_later() -> None:
    assert rule_for(site("a, b = t.split(n)", "t.split(n)"), "size", question="failure") == "DDE206"
    assert rule_for(site("y = ramp(n)", "ramp(n)"), "size", question="failure") == "DDE208"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="colour"):
        rule_for(site("if n > 4:\n    x = 1", "n > 4"), "colour")


@pytest.mark.parametrize(("code", "text"), [("DDE103", "a > 1 or b > 2"), ("DDE101", "a > 1")])
def test_what_is_reported(code: str, text: str) -> None:
    here = site("if a > 1 or b > 2:\n    raise ValueError", "a > 1")
    assert here.source.segment(reported_span(here, code)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n == 0", True),
        ("0 != n", True),
        ("n >= 1", True),
        ("not n", True),
        ("a + b == 0", True),
        ("n == 1", False),
        ("n % 2 == 0", False),
        ("n - m == 0", False),
        ("a < n < 0", False),
        ("a and b", False),
    ],
)
def test_emptiness(text: str, expected: bool) -> None:
    assert is_emptiness_test(ast.parse(text, mode="eval").body) is expected
