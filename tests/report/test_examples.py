"""What one would write by hand fits the question, and is in the names of whoever asks; or nothing is shown."""

from __future__ import annotations

import ast
import math

import pytest
import torch

from ddelint.knowledge import catalog
from ddelint.report.examples import example_of

KNOWN = {
    "x": torch.tensor([1.0, 4.0, 2.0]),
    "mask": torch.tensor([True, False, True]),
    "n": 3,
    "m": 2,
    "rows": torch.tensor([1, 2]),
    "if_true": torch.tensor(1.0),
    "if_false": torch.tensor(0.0),
    "classes": 5,
}


@pytest.mark.parametrize(
    ("code", "expression", "lines"),
    [
        ("DDE304", "y.logsumexp(0)", "torch._check(y.shape[0] > 0)"),
        ("DDE304", "torch.amax(kept[:, 1], dim=-1)", "torch._check(kept[:, 1].shape[-1] > 0)"),
        ("DDE304", "kept.max()", "torch._check(kept.numel() > 0)"),
        ("DDE304", "x.new_zeros(n - m)", "torch._check(n - m >= 0)"),
        ("DDE304", "self.fold(kept)", ""),
        ("DDE102", "hit.shape[0] == 0", "if not torch.compiler.is_compiling() and hit.shape[0] == 0:"),
        ("DDE102", "len(kept) > 0", "if torch.compiler.is_compiling() or len(kept) > 0:"),
        ("DDE102", "hit.shape[0]", ""),
        ("DDE101", "n + 1 <= m", "torch.where(torch.scalar_tensor(n + 1) <= m, "),
        ("DDE101", "a.max().item() != b.item()", "torch.where(a.max() != b, "),
        ("DDE101", "a.item() and b", ""),
        ("DDE101", "a < b < c", ""),
        ("DDE103", "not torch.isfinite(x).all()", "torch._assert_async(torch.isfinite(x).all(), "),
        ("DDE103", "ids.max() >= self.size", "torch._check(ids.max().item() < self.size, "),
        ("DDE103", "ids.max() >= 3 or ids.min() < 0", ""),
        ("DDE104", "not torch.isnan(soft).any()", "torch._assert_async(torch.logical_not(torch.isnan(soft)"),
        ("DDE105", "bool((labels == 3).any())", "torch.where((labels == 3).any(), "),
        ("DDE108", "max(left.shape[0], n)", "torch.sym_max(left.shape[0], n)"),
        ("DDE108", "max(sizes)", ""),
        ("DDE201", "int(batch.max().item())", "number = batch.max().item()"),
        ("DDE201", "math.log2(count.item())", "number = torch.log2(count).item()"),
        ("DDE201", "int(getattr(g, 'n'))", ""),
        ("DDE204", "lengths[i]", "number = lengths[i].item()"),
        ("DDE206", "F.one_hot(labels)", "F.one_hot(labels, num_classes=classes)"),
        ("DDE206", "pad_packed_sequence(h)", ""),
        ("DDE207", "len(keep)", "keep.shape[0]"),
        ("DDE101", "(", ""),
    ],
)
def test_the_example_is_of_the_question_or_there_is_none(code: str, expression: str, lines: str) -> None:
    shown = example_of(catalog.rule(code), expression)
    assert shown == "" if not lines else lines in shown


def test_what_stands_for_a_letter_is_short() -> None:
    long = f"x[{', '.join(['rows'] * 20)}]"
    assert example_of(catalog.rule("DDE207"), f"len({long})") == ""


def _cases() -> list[tuple[str, str, str, str]]:
    return [
        (rule.code, pattern, form, example.code)
        for rule in catalog.rules().values()
        for example in rule.by_hand
        for pattern, form in example.asks.items()
    ]


@pytest.mark.parametrize(("code", "pattern", "form", "lines"), _cases())
def test_each_example_is_python_and_needs_no_letter_that_the_question_has_not(
    code: str, pattern: str, form: str, lines: str
) -> None:
    asked = ast.parse(pattern.replace(" is not ", " < ").replace(" is ", " < ")).body[0]
    assert isinstance(asked, ast.Expr)
    letters = {n.id for n in ast.walk(asked) if isinstance(n, ast.Name) and len(n.id) == 1}
    used = {n.id for n in ast.walk(ast.parse(form)) if isinstance(n, ast.Name) and len(n.id) == 1}
    assert used <= letters
    shown = example_of(catalog.rule(code), ast.unparse(asked))
    assert shown
    assert ast.parse(shown)


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("DDE101", "x.max().item() > 3"),
        ("DDE101", "n > 2"),
        ("DDE101", "torch.equal(x, x)"),
        ("DDE103", "not torch.isfinite(x).all()"),
        ("DDE103", "x.max() > 9"),
        ("DDE104", "not torch.isnan(x).any()"),
        ("DDE105", "mask.any()"),
        ("DDE108", "max(n, m)"),
        ("DDE201", "math.log2(x.max().item())"),
        ("DDE201", "int(rows.max())"),
        ("DDE204", "rows[0]"),
        ("DDE206", "F.one_hot(rows)"),
        ("DDE304", "x.logsumexp(0)"),
    ],
)
def test_examples_run(code: str, expression: str) -> None:
    names = {**KNOWN, "torch": torch, "math": math, "F": torch.nn.functional}
    shown = example_of(catalog.rule(code), expression)
    assert shown
    exec(shown, names)
