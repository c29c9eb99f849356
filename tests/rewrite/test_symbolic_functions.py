"""Functions that demand concrete numbers: what is written in their place."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, context_of, rewritten

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
        "sorted(t.tolist(), key=abs)",
        "t.tolist().index(max(y.tolist()))",
        "y.index(max(y))",
    ],
)
def test_functions_that_stay(value: str) -> None:
    types = {"n": COUNT, "t": INTEGERS, "x": TENSOR}
    assert rewritten("symbolic_function", context_of(f"{HEAD}{value}\n", value, types)) == []
