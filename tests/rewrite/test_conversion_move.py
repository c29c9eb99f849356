"""conversion_in_eager, leaf_in_eager."""

from __future__ import annotations

import pytest
from control_flow import context_of, rewritten

from ddelint.diagnostics import TypeFact

MODULE = {"self.head": TypeFact("module"), "x": TypeFact("tensor", "float32", ("4",))}
GUARD = "if not torch.compiler.is_compiling():"


def _rewritten(statement: str, call: str, types: dict[str, TypeFact] | None = None) -> list[str]:
    text = f"def forward(self, x):\n    {statement}\n    return self.head(x)\n"
    return rewritten("conversion_in_eager", context_of(text, call, types or MODULE, "DDE005"))


@pytest.mark.parametrize("statement", ["self.head.to(x.dtype)", "self.head = self.head.to(x.dtype)"])
def test_a_statement_is_run_only_in_eager(statement: str) -> None:
    (found,) = _rewritten(statement, "self.head.to(x.dtype)")
    assert f"    {GUARD}\n        {statement}\n    return self.head(x)\n" in found


def test_an_expression_becomes_a_choice() -> None:
    (found,) = _rewritten("y = self.head.half()(x)", "self.head.half()")
    assert "y = (self.head if torch.compiler.is_compiling() else self.head.half())(x)" in found


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("x = x.to(torch.float64)", "x.to(torch.float64)"),
        ("self.head.reset()", "self.head.reset()"),
        ("other.to(x.dtype)", "other.to(x.dtype)"),
    ],
)
def test_what_is_no_module_or_no_conversion_stays(statement: str, call: str) -> None:
    assert _rewritten(statement, call) == []


@pytest.mark.parametrize("statement", ["x.requires_grad = True", "x.requires_grad_()", "x.requires_grad_(True)"])
def test_a_leaf_is_made_only_in_eager(statement: str) -> None:
    text = f"def forward(self, x):\n    {statement}\n    return self.head(x)\n"
    (found,) = rewritten("leaf_in_eager", context_of(text, statement.split(" = ")[0], MODULE, "DDE005"))
    assert f"    {GUARD}\n        {statement}\n" in found


@pytest.mark.parametrize("statement", ["x.requires_grad = False", "x.requires_grad_(self.training)", "x.grad = None"])
def test_what_frees_or_decides_stays(statement: str) -> None:
    text = f"def forward(self, x):\n    {statement}\n    return self.head(x)\n"
    assert rewritten("leaf_in_eager", context_of(text, statement.split(" = ")[0], MODULE, "DDE005")) == []
