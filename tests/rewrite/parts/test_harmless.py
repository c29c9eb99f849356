"""What keeps an arm that isn't chosen from spoiling the gradient."""

from __future__ import annotations

import ast

import pytest
from control_flow import TENSOR, context_of

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.parts.harmless import Protection, harmless
from ddelint.rewrite.reading.around import is_count, is_read
from ddelint.rewrite.reading.kinds import Kinds

LEARNED = TypeFact("tensor", "float32", ("3",), requires_grad=True)
TYPES = {
    "x": TENSOR,
    "y": TENSOR,
    "t": TENSOR,
    "n": TypeFact("symfloat"),
    "k": TypeFact("int", value="2"),
    "w": LEARNED,
}
TYPES |= {"i": TypeFact("symint"), "h": TypeFact("tensor", "float32", ("u0",))}


def protected(arm: str, test: str, taken: bool = True) -> str | None:
    context = context_of(
        f"import torch as th\n\n\ndef fn(x, y, t, n, k, w, i, h):\n    return {arm} if {test} else y\n", test, TYPES
    )
    choice = context.site.source.parents[context.site.decision] if context.site.decision else None
    assert isinstance(choice, ast.IfExp)
    built = harmless(context, choice.body, context.write.expression("c"), taken)
    return None if built is None else context.write.code(built)


@pytest.mark.parametrize(
    ("arm", "test", "expected"),
    [
        ("x + y", "t.sum() > 0", None),
        ("x / 2", "t.sum() > 0", None),
        ("x / y", "t.sum() > 0", "x / th.where(c, y, 1)"),
        ("x / (y + 1)", "t.sum() > 0", "x / th.where(c, y + 1, 1)"),
        ("x.sqrt() / y", "t.sum() > 0", "th.where(c, x, 1).sqrt() / th.where(c, y, 1)"),
        ("(x + y).log()", "t.sum() > 0", "th.where(c, x + y, 1).log()"),
        ("th.log(x)", "t.sum() > 0", "th.log(th.where(c, x, 1))"),
        ("x / n", "n > 0.5", "x / th.sym_max(n, 0.5)"),
        ("x / n", "n < 0.5", None),
        ("x / n", "n > -1", None),
        ("w / n", "t.sum() > 0", "w / th.where(c, th.full((), n, dtype=th.float64), 1.0).item()"),
        ("w / k", "t.sum() > 0", None),
        ("w / i", "t.sum() > 0", "w / th.where(c, i, 1).item()"),
        ("x / i", "t.sum() > 0", None),
        ("2 % i", "t.sum() > 0", "2 % th.where(c, i, 1).item()"),
        ("x // i", "t.sum() > 0", "x // th.where(c, i, 1).item()"),
        ("x / (x > 0).sum().item()", "t.sum() > 0", None),
        ("w / len(h)", "len(h) > 0", "w / th.sym_max(len(h), 1)"),
        ("w / len(h)", "0 < len(h) and k > 1", "w / th.sym_max(len(h), 1)"),
        ("w / len(h)", "len(h) != 0", "w / th.sym_max(len(h), 1)"),
        ("w / len(h)", "len(h) > k", "w / th.sym_max(len(h), 1)"),
        ("w / len(h)", "len(h) < 4", "w / th.where(c, len(h), 1).item()"),
        ("w / len(h)", "len(h) <= 0", "w / th.where(c, len(h), 1).item()"),
        ("w / len(h)", "len(h) > 0 or k > 1", "w / th.where(c, len(h), 1).item()"),
        ("x / (h.shape[0] - 1)", "t.sum() > 0", None),
        ("x / x.shape[0]", "t.sum() > 0", None),
        ("w / max(i, 1)", "t.sum() > 0", None),
        ("w / (len(h) + 1)", "t.sum() > 0", None),
        ("x[0] + x[1]", "x.numel() > 0", "th.cat([x, x.new_zeros(1, *x.shape[1:])])[0] + x[1]"),
        ("(x + y)[-1]", "len(x + y) > 0", "th.cat([(x + y).new_zeros(1, *(x + y).shape[1:]), x + y])[-1]"),
        ("x[0, 1]", "x.shape[0] > 0", "th.cat([x, x.new_zeros(1, *x.shape[1:])])[0, 1]"),
        ("x[-1, ...]", "len(x) > 0", "th.cat([x.new_zeros(1, *x.shape[1:]), x])[-1, ...]"),
        ("x[:, 0]", "len(x) > 0", None),
        ("x[0]", "x.sum() > 0", None),
        ("y + x.max()", "x.numel() > 0", "y + th.cat([x, x.new_full((1, *x.shape[1:]), -th.inf)]).max()"),
        ("x.argmin()", "len(x) > 0", "th.cat([x, x.new_full((1, *x.shape[1:]), th.inf)]).argmin()"),
        ("x.max(0)", "x.numel() > 0", None),
        ("x.max()", "y.numel() > 0", None),
        ("x[y > 1].abs().max()", "n > 0", "th.nn.functional.pad(x[y > 1].abs(), (0, 1), value=-th.inf).max()"),
        ("th.amin(x[y > 1])", "n > 0", "th.amin(th.nn.functional.pad(x[y > 1], (0, 1), value=th.inf))"),
        ("x[k].max()", "n > 0", None),
    ],
)
def test_operands_that_can_do_harm_get_a_value_that_cannot(arm: str, test: str, expected: str | None) -> None:
    assert protected(arm, test) == expected


def test_the_other_arm_is_protected_where_the_test_holds() -> None:
    assert protected("x / y", "t.sum() > 0", taken=False) == "x / th.where(c, 1, y)"
    assert protected("x / n", "n <= 2", taken=False) == "x / th.sym_max(n, 2)"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("(x > 0).sum().item()", True),
        ("int((x > 0).sum())", True),
        ("len(h) * 2", True),
        ("len(h) - 1", False),
        ("x.argmax().item()", False),
        ("x.long().sum().item()", False),
        ("(x.max() > 0).sum().item() + h.shape[0]", True),
    ],
)
def test_a_count_is_never_negative(made: str, expected: bool) -> None:
    context = context_of(f"def fn(x, h):\n    n = {made}\n    return x if n > 2 else x / n\n", "n > 2", TYPES)
    divisor = ast.parse("n", mode="eval").body
    assert is_count(Kinds(context), divisor) is expected
    assert is_read(Kinds(context), divisor)


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("len(h) == 0", "w / th.sym_max(len(h), 1)"),
        ("not len(h)", "w / th.sym_max(len(h), 1)"),
        ("len(h) == 0 or k > 1", "w / th.sym_max(len(h), 1)"),
        ("len(h) < 1", "w / th.sym_max(len(h), 1)"),
        ("len(h) <= k", "w / th.sym_max(len(h), 1)"),
        ("len(h) > 4", "w / th.where(c, 1, len(h)).item()"),
        ("len(h) == 3", "w / th.where(c, 1, len(h)).item()"),
        ("len(h) == 0 and k > 1", "w / th.where(c, 1, len(h)).item()"),
    ],
)
def test_a_count_is_none_of_zero_where_its_test_says_so(test: str, expected: str) -> None:
    assert protected("w / len(h)", test, taken=False) == expected


RISKY = {
    "at": TypeFact("tuple"),
    "m": TypeFact("tensor", "bool", ("4",)),
    "x": TENSOR,
    "d": TypeFact("tensor", "float32", ()),
    "h": TypeFact("tensor", "float32", ("u0",)),
}


def computed_again(before: str, arm: str, test: str = "d > 0") -> str | None:
    context = context_of(
        f"def fn(x, h, i):\n    d = {before}\n    return {arm} if {test} else x\n", test, RISKY, "DDE105"
    )
    choice = context.site.source.parents[context.site.decision] if context.site.decision else None
    assert isinstance(choice, ast.IfExp)
    built = harmless(context, choice.body, context.write.expression("c"), taken=True, way=Protection(again=True))
    return None if built is None else context.write.code(built)


@pytest.mark.parametrize(
    ("before", "arm", "expected"),
    [
        ("x.var().sqrt()", "x / d", "x / torch.where(c, torch.where(c, x.var(), 1).sqrt(), 1)"),
        ("x.pow(2).sum().sqrt()", "x * d", "x * torch.where(c, x.pow(2).sum(), 1).sqrt()"),
        ("x.sum().log()", "x + d", "x + torch.where(c, x.sum(), 1).log()"),
        ("x[0] / x[1]", "x * d", "x * (x[0] / torch.where(c, x[1], 1))"),
        (
            "h.std()",
            "h * d",
            "h * torch.nn.functional.pad(h, (0, 2), value=-123.0).narrow(0, 0, torch.sym_max(h.numel(), 2)).std()",
        ),
        ("x.sum()", "x / x.var().sqrt()", "x / torch.where(c, torch.where(c, x.var(), 1).sqrt(), 1)"),
        ("x.sum()", "x / d", "x / torch.where(c, d, 1)"),
        ("x.std()", "x / d", "x / torch.where(c, d, 1)"),
        ("x.norm()", "x * d", None),
        ("x[i].std()", "x / d", "x / torch.where(c, d, 1)"),
        ("x[m].std()", "x / d", "x / torch.where(c, d, 1)"),
        (
            "x[at].std()",
            "x * d",
            "x * torch.nn.functional.pad(x[at].flatten(), (0, 2), value=-123.0)"
            ".narrow(0, 0, torch.sym_max(x[at].numel(), 2)).std()",
        ),
    ],
)
def test_what_was_computed_before_is_computed_again_of_what_can_do_no_harm(
    before: str, arm: str, expected: str | None
) -> None:
    assert computed_again(before, arm) == expected
