"""What one would write by hand fits the question, and is in the names of whoever asks; or nothing is shown."""

from __future__ import annotations

import ast
import math

import pytest
import torch

from ddelint.knowledge import catalog
from ddelint.report.examples import example_of, examples_of

KNOWN = {
    "x": torch.tensor([1.0, 4.0, 2.0]),
    "mask": torch.tensor([True, False, True]),
    "n": 3,
    "m": 2,
    "rows": torch.tensor([1, 2]),
    "if_true": torch.tensor(1.0),
    "if_false": torch.tensor(0.0),
    "classes": 5,
    "most": 3,
    "state": torch.zeros(()),
    "next_state": torch.ones(()),
    "values": [0.25, 0.5, 1.0],
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
        ("DDE101", "n + 1 <= m", "torch.where(torch.scalar_tensor(n + 1, dtype=torch.float64) <= m, "),
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
        ("DDE201", "int(batch.max().item())", "number = torch.sym_int(batch.max().item())"),
        ("DDE201", "math.log2(count.item())", "number = torch.log2(count.double()).item()"),
        ("DDE201", "int(getattr(g, 'n'))", ""),
        ("DDE204", "lengths[i]", "number = lengths[i].item()"),
        ("DDE206", "F.one_hot(labels)", "F.one_hot(labels, num_classes=classes)"),
        ("DDE206", "pad_packed_sequence(h)", ""),
        ("DDE207", "len(keep)", "keep.shape[0]"),
        ("DDE101", "(", ""),
        ("DDE304", "torch.max(x)", "torch._check(x.numel() > 0)"),
        ("DDE304", "np.max(x)", ""),
        ("DDE304", "F.softmax(1)", ""),
        ("DDE304", "torch.max(x, -1)", "torch._check(x.shape[-1] > 0)"),
        ("DDE304", "a.max(b)", ""),
        ("DDE304", "torch.max(a, b)", ""),
        ("DDE304", "a.logsumexp((0, 1))", ""),
        ("DDE304", "x.max(dim=axis)", "torch._check(x.shape[axis] > 0)"),
        ("DDE304", "x.new_zeros((n, 3))", ""),
        ("DDE304", "x.new_zeros([n, 3])", ""),
        ("DDE304", "torch.zeros(x.shape)", ""),
        ("DDE304", "torch.zeros(x.size())", ""),
        ("DDE304", "torch.ones(shape)", ""),
        ("DDE304", "torch.zeros(x.shape[:-1])", ""),
        ("DDE304", "torch.zeros(x.size(0))", "torch._check(x.size(0) >= 0)"),
        ("DDE304", "torch.empty(kept.shape[0] + 1)", "torch._check(kept.shape[0] + 1 >= 0)"),
        ("DDE204", "x.item()", ""),
        ("DDE204", "int(x)", ""),
        ("DDE204", "n + 1", ""),
        ("DDE204", "x.shape[0]", ""),
        ("DDE204", "len(x)", ""),
        ("DDE204", "3", ""),
        ("DDE204", "ids.max()", "number = ids.max().item()"),
        ("DDE105", "mask.any().item()", "torch.where(mask.any(), "),
        ("DDE105", "not mask.any().item()", "torch.where(torch.logical_not(mask.any()), "),
        ("DDE105", "bool(mask.any().item())", "torch.where(mask.any(), "),
        ("DDE105", "x.max().item() > 3", ""),
        ("DDE105", "len(x)", ""),
        ("DDE105", "not x.numel()", ""),
        ("DDE101", "mode is None", ""),
        ("DDE101", "mode is not None", ""),
        ("DDE101", "mode == 'max'", ""),
        ("DDE101", "x.shape == (3, 4)", ""),
        ("DDE101", "n in seen", ""),
        ("DDE101", "x.max() > 3", "torch.where(x.max() > 3, "),
        ("DDE101", "torch.sum(x) != n", "torch.where(torch.sum(x) != n, "),
        ("DDE101", "n < x.max()", "torch.where(n < x.max(), "),
        ("DDE101", "self.norm(x) > 3", ""),
        ("DDE103", "x.shape[0] != n", "torch._check(x.shape[0] == n, "),
        ("DDE103", "sizes.shape[i] != n", ""),
        ("DDE206", "torch.nn.functional.one_hot(y)", "torch.nn.functional.one_hot(y, num_classes=classes)"),
        ("DDE206", "self.one_hot(y)", ""),
        ("DDE207", "len(x.shape)", ""),
        ("DDE207", "len(shape)", ""),
        ("DDE106", "(error > tolerance).any()", "goes_on = (error > tolerance).any()"),
        ("DDE106", "x.sum() > 3", "goes_on = x.sum() > 3"),
        ("DDE106", "left > 1 and right", ""),
        ("DDE110", "(weights < 0).any()", "if not torch.compiler.is_compiling() and (weights < 0).any():"),
        ("DDE110", "a and b", ""),
        ("DDE202", "level.item()", "torch.take(table, level)"),
        ("DDE202", "number", ""),
        ("DDE203", "int(lengths.max())", "< lengths.max(), "),
        ("DDE203", "lengths.nonzero()", ""),
        ("DDE303", "cuts[1:]", "points = cuts[1:]"),
    ],
)
def test_the_example_is_of_the_question_or_there_is_none(code: str, expression: str, lines: str) -> None:
    shown = example_of(catalog.rule(code), expression)
    assert shown == "" if not lines else lines in shown


def test_what_stands_for_a_letter_is_short() -> None:
    long = f"x[{', '.join(['rows'] * 20)}]"
    assert example_of(catalog.rule("DDE207"), f"len({long})") == ""


def _cases() -> list[tuple[str, str, str]]:
    return [
        (rule.code, pattern, form)
        for rule in catalog.rules().values()
        for example in rule.by_hand
        for pattern, form in example.asks.items()
    ]


LETTERS = {"A": "left[0]", "B": "right", "D": "-1", "N": "count", "M": "other", "T": "rows"}


class _Written(ast.NodeTransformer):
    """A question that a pattern is of: letters by what they stand for, and a comparison for `is`."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(LETTERS[node.id], mode="eval").body if node.id in LETTERS else node

    def visit_Is(self, node: ast.Is) -> ast.cmpop:
        return ast.Lt()


@pytest.mark.parametrize(("code", "pattern", "form"), _cases())
def test_each_example_is_python_and_no_pattern_before_it_takes_its_question(code: str, pattern: str, form: str) -> None:
    asked = ast.unparse(_Written().visit(ast.parse(pattern, mode="eval")))
    found = list(examples_of(catalog.rule(code), asked))
    assert found
    assert found[0][0] == pattern
    assert ast.parse(found[0][1])
    letters = {n.id for n in ast.walk(ast.parse(pattern)) if isinstance(n, ast.Name)} & LETTERS.keys()
    assert {n.id for n in ast.walk(ast.parse(form)) if isinstance(n, ast.Name) and len(n.id) == 1} - {"F"} <= letters


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
        ("DDE106", "(x > 3).any()"),
        ("DDE110", "(x < 0).any()"),
        ("DDE202", "rows[0].item()"),
        ("DDE203", "int(rows.max())"),
        ("DDE303", "rows"),
    ],
)
def test_examples_run(code: str, expression: str) -> None:
    names = {**KNOWN, "torch": torch, "math": math, "F": torch.nn.functional}
    shown = example_of(catalog.rule(code), expression)
    assert shown
    exec(shown, names)


LARGE = 16_777_217
"""The first integer that is none in single precision."""
VALUES = {
    "x": torch.tensor([1.0, 3.7, 2.0]),
    "below": torch.tensor([-3.7, -1.0]),
    "wide": torch.tensor(LARGE),
    "rows": torch.tensor([1, 2]),
    "mask": torch.tensor([True, False]),
    "n": LARGE,
    "shape": (2, 3),
    "one": torch.tensor(1),
    "zero": torch.tensor(0.0),
}


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("DDE101", "n > 16777216"),
        ("DDE101", "16777216 >= n"),
        ("DDE101", "n - 16777216 == 1"),
        ("DDE101", "wide.max() > 16777216"),
        ("DDE101", "wide.item() == n"),
        ("DDE101", "x.max() > 3"),
        ("DDE101", "3.7 < x.max()"),
        ("DDE101", "x.max().item() >= 3.7"),
        ("DDE101", "rows.sum() != 3"),
        ("DDE101", "n < rows.max()"),
        ("DDE101", "torch.equal(x, x)"),
        ("DDE101", "not zero.item()"),
        ("DDE105", "mask.any().item()"),
        ("DDE105", "not mask.all()"),
        ("DDE105", "not zero.item()"),
    ],
)
def test_what_is_chosen_is_what_the_question_answers(code: str, expression: str) -> None:
    names = {**VALUES, "torch": torch, "if_true": torch.tensor(1.0), "if_false": torch.tensor(0.0)}
    shown = example_of(catalog.rule(code), expression)
    assert shown
    exec(shown, names)
    chosen = names["result"]
    assert isinstance(chosen, torch.Tensor)
    assert bool(chosen) == bool(eval(expression, names))


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        *(
            ("DDE201", f"{cast}({of}.{end})")
            for cast in ("int", "float")
            for of in ("x", "below", "rows")
            for end in ("max()", "min()", "sum()")
        ),
        ("DDE201", "int(x.max().item())"),
        ("DDE201", "int(below[0].item())"),
        ("DDE201", "float(wide.item())"),
        ("DDE201", "int(x.argmax())"),
        ("DDE201", "float(x.mean())"),
        *(("DDE201", f"math.{name}({of}.item())") for name in ("sqrt", "log", "log2") for of in ("wide", "x.max()")),
        ("DDE201", "math.exp(x.max().item())"),
        ("DDE204", "rows[1]"),
        ("DDE204", "one"),
        ("DDE205", "x.sum().item()"),
        ("DDE207", "len(rows)"),
        ("DDE108", "max(n, 2)"),
        ("DDE108", "min(n, 3.7)"),
    ],
)
def test_what_is_shown_is_the_number_that_was_asked_for(code: str, expression: str) -> None:
    names = {**VALUES, "torch": torch, "math": math}
    before = set(names)
    exec(example_of(catalog.rule(code), expression), names)
    (number,) = (value for name, value in names.items() if name not in {*before, "__builtins__"})
    asked = eval(expression, names)
    assert number == (asked.item() if isinstance(asked, torch.Tensor) else pytest.approx(asked, rel=1e-15))
    if not isinstance(asked, torch.Tensor):
        assert type(number) is type(asked)


@pytest.mark.parametrize(
    ("code", "expression"),
    [
        ("DDE103", "x.max() > 3"),
        ("DDE103", "x.max().item() > 4"),
        ("DDE103", "x.shape[0] != 3"),
        ("DDE104", "x.max() > 3"),
        ("DDE104", "rows.sum() == 4"),
        ("DDE103", "not mask.all()"),
        ("DDE104", "mask.any()"),
        ("DDE104", "not zero.item()"),
    ],
)
def test_a_check_raises_where_the_question_says_so(code: str, expression: str) -> None:
    names = {**VALUES, "torch": torch}
    wrong = bool(eval(expression, names)) == (code == "DDE103")
    try:
        exec(example_of(catalog.rule(code), expression), names)
    except RuntimeError:
        raised = True
    else:
        raised = False
    assert raised == wrong


@pytest.mark.parametrize("expression", ["torch.max(x)", "x.max(0)", "torch.amin(x, -1)", "x.softmax(dim=0)"])
def test_a_check_of_rows_holds_where_there_are_some(expression: str) -> None:
    shown = example_of(catalog.rule("DDE304"), expression)
    exec(shown, {"torch": torch, "x": VALUES["x"]})
    with pytest.raises(RuntimeError):
        exec(shown, {"torch": torch, "x": torch.zeros(0)})


@pytest.mark.parametrize(
    "expression", ["torch.zeros(size)", "x.new_ones(shape)", "torch.empty(x.shape)", "torch.zeros((2, 3))"]
)
def test_several_sizes_are_not_compared(expression: str) -> None:
    assert example_of(catalog.rule("DDE304"), expression) == ""
