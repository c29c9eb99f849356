"""Functions that demand concrete numbers: what is written in their place."""

from __future__ import annotations

import math

import pytest
import torch
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, rewritten

from ddelint.nouns.diagnostics import Claim
from ddelint.rewrite.reading.replacements import replacements

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\n\n\ndef fn(x, y, n, t):\n    return "


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("divmod(n + 1, x.shape[1])", "((n + 1) // x.shape[1], (n + 1) % x.shape[1])"),
        ("math.sqrt(n + 1)", "torch.sym_sqrt(n + 1)"),
        ("sorted(t.tolist())", "t.sort().values.tolist()"),
        ("sorted((t + 1).tolist(), reverse=True)", "(t + 1).sort(descending=True).values.tolist()"),
        ("t.tolist().index(max(t.tolist()))", "t.argmax().item()"),
        ("(2 * t).tolist().index(min((2 * t).tolist()))", "(2 * t).argmin().item()"),
    ],
)
def test_a_function_takes_a_symbol(value: str, expected: str) -> None:
    types = {"n": COUNT, "t": INTEGERS, "x": TENSOR, "y": TENSOR}
    context = context_of(f"{HEAD}{value}\n", value, types)
    assert rewritten("symbolic_function", context) == [f"{HEAD}{expected}\n"]


def test_a_function_that_takes_no_symbol_is_left_to_eager() -> None:
    context = context_of(f"{HEAD}math.exp(n)\n", "math.exp(n)", {"n": COUNT})
    (text,) = rewritten("symbolic_function", context)
    assert " ".join(text.removeprefix(HEAD).split()) == (
        "( torch.exp(torch.scalar_tensor(n, dtype=torch.float64)).item() "
        "if torch.compiler.is_compiling() else math.exp(n) )"
    )
    (candidate,) = candidates("symbolic_function", context)
    assert candidate.claim is Claim.RESTRUCTURED
    assert candidate.is_never_safe


def test_only_a_function_that_never_raises_may_be_safe() -> None:
    for name in replacements().tensors.keys() & vars(math):
        function = getattr(math, name)
        raises = False
        for number in (-1e9, -2.0, -1.0, 0.0, 0.5, 1e9, math.inf):
            try:
                function(number)
            except (ValueError, OverflowError):
                raises = True
        assert raises is (name in replacements().raising), name


@pytest.mark.parametrize("name", replacements().tensors)
def test_an_operator_gives_what_the_function_of_a_number_gives(name: str) -> None:
    of_numbers = getattr(math, name, None)
    if of_numbers is None:
        pytest.skip("a later Python has it")
    operator = getattr(torch, replacements().tensors[name])
    for number in (1.25, 7) if name == "acosh" else (0.25, 0.75):
        found = operator(torch.scalar_tensor(number, dtype=torch.float64)).item()
        assert found == pytest.approx(of_numbers(number), rel=1e-14)


def test_what_is_divided_is_computed_once() -> None:
    text = f"{HEAD.removesuffix('return ')}i, j = divmod(t.argmax().item(), 3)\n    return i, j\n"
    divided = "value = t.argmax().item()\n    i, j = (value // 3, value % 3)\n    return i, j\n"
    found = rewritten("symbolic_function", context_of(text, "divmod(t.argmax().item(), 3)", {"t": INTEGERS}))
    assert found == [f"{HEAD.removesuffix('return ')}{divided}"]


@pytest.mark.parametrize(
    "value",
    [
        "divmod(next(n), 2)",
        "math.floor(n)",
        "math.log(n, 2)",
        "torch.log(n) if torch.compiler.is_compiling() else math.log(n)",
        "sorted(t.tolist(), key=abs)",
        "t.tolist().index(max(y.tolist()))",
        "y.index(max(y))",
    ],
)
def test_functions_that_stay(value: str) -> None:
    types = {"n": COUNT, "t": INTEGERS, "x": TENSOR}
    assert rewritten("symbolic_function", context_of(f"{HEAD}{value}\n", value, types)) == []


@pytest.mark.parametrize(
    ("before", "number", "doubles"),
    [
        ("", "t.max().item() + 1", "t.max().double() + 1"),
        ("", "float(y.mean())", "y.mean().double()"),
        ("", "2 * (t.sum() + 1).item() / 3", "2 * (t.sum() + 1).double() / 3"),
        ("", "y.mean()", "y.mean().double()"),
        ("longest = t.max().item()\n    ", "longest + 1", "t.max().double() + 1"),
        ("longest = int(t.max())\n    more = longest + 1\n    ", "more", "t.max().double() + 1"),
        ("t = t + 1\n    longest = t.max().item()\n    ", "longest", ""),
        ("", "int(y.mean())", ""),
        ("", "t.max().item() + t.min().item()", ""),
        ("", "t.max().item() // 2", ""),
    ],
)
def test_a_number_that_is_read_stays_a_tensor(before: str, number: str, doubles: str) -> None:
    head = HEAD.removesuffix("return ") + before
    context = context_of(f"{head}return math.exp({number})\n", f"math.exp({number})", {"t": INTEGERS, "y": TENSOR})
    (text,) = rewritten("symbolic_function", context)
    plain = f"torch.scalar_tensor({number}, dtype=torch.float64)"
    written = " ".join(text.removeprefix(head).split()).replace("( ", "")
    assert written.startswith(f"return torch.exp({doubles or plain}).item() if torch.compiler")
