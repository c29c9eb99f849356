"""conversion_in_eager, leaf_in_eager, created_leaf_in_eager."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.sources.source import SourceFile

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


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("torch.zeros((), requires_grad=True)", "requires_grad=not torch.compiler.is_compiling()"),
        (
            "torch.tensor(0.0, device=x.device, requires_grad=self.training)",
            "requires_grad=self.training and not torch.compiler.is_compiling()",
        ),
        (
            "x.new_zeros(3, requires_grad=a or b)",
            "requires_grad=(a or b) and not torch.compiler.is_compiling()",
        ),
    ],
)
def test_a_new_tensor_is_a_leaf_only_in_eager(call: str, expected: str) -> None:
    text = f"def forward(self, x, a, b):\n    loss = {call}\n    return loss + self.head(x).sum()\n"
    (found,) = candidates("created_leaf_in_eager", context_of(text, call, MODULE, "DDE005"))
    assert found.doubt
    assert expected in SourceFile("model.py", text).apply(found.edits)


@pytest.mark.parametrize(
    "call", ["torch.zeros(())", "torch.zeros((), requires_grad=not torch.compiler.is_compiling())", "x.sum()"]
)
def test_what_is_no_leaf_stays(call: str) -> None:
    text = f"def forward(self, x):\n    loss = {call}\n    return loss + self.head(x).sum()\n"
    assert rewritten("created_leaf_in_eager", context_of(text, call, MODULE, "DDE005")) == []
