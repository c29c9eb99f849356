"""Loops that stay, while compiling, at the iteration that eager leaves them with: what is offered, and run by torch."""

from __future__ import annotations

import pytest
from control_flow import TENSOR, context_of, failures, rewritten

from ddelint.nouns.diagnostics import TypeFact

TYPES = {
    **dict.fromkeys(("x", "r", "p", "y", "step", "new"), TENSOR),
    "n": TypeFact("int"),
    "count": TypeFact("int"),
    "rows": TypeFact("list", element=TENSOR, length=1),
    "other": TypeFact("other"),
}
HEAD = "import torch\n\n\ndef fn(x):\n"
CONVERGING = [
    # the residual comes to zero, and would be divided by
    "    r = x\n    y = x * 0\n    for _ in range(4):\n        y = y + r * (r * r).sum() / (r * r).sum()\n"
    "        r = r - r.round()\n        if (r * r).sum() < 0.1:\n            return y\n    return y * 2\n",
    "    r = x\n    y = x * 0\n    for i in range(4):\n        step = r / (r * r).sum()\n        y = y + step * 2\n"
    "        r = r - r.round()\n        if r.abs().sum() < 0.1:\n            break\n    return y + r\n",
    "    r, count = x, 0\n    for _ in range(3):\n        if r.abs().max() < 0.1:\n            break\n"
    "        r = (r - r.round()) / r.norm() * r.norm()\n        count += 1\n    return r * 2\n",
    "    y = x\n    for _ in range(4):\n        new = y - y.round() * (y / y)\n"
    "        if (new - y).abs().max() < 0.1:\n            return new, y\n        y = new\n    return y, x\n",
]


@pytest.mark.parametrize("body", CONVERGING)
def test_nothing_is_computed_that_eager_never_computes(body: str) -> None:
    import torch

    text = HEAD + body
    asking = next(line.strip().removeprefix("if ").removesuffix(":") for line in body.splitlines() if "if " in line)
    found = [new for new in rewritten("masked_loop", context_of(text, asking, TYPES, "DDE105")) if "_before" in new]
    assert len(found) == 1
    samples = [
        (torch.tensor(row, requires_grad=True),) for row in ([1.0, 2, 3, 4], [1.4, 0.5, -2, 7], [0.2, 0.3, 1, 2])
    ]
    assert failures(text, found[0], samples, ("export", "compile")) == []


@pytest.mark.parametrize(
    "body",
    [
        # a number of the iteration reaches what is carried; another that is drawn
        "    y = x\n    for i in range(4):\n        y = y / (y.norm() - i)\n        if x.sum() < 3:\n"
        "            break\n    return y\n",
        "    y, count = x, 0\n    for _ in range(4):\n        if x.sum() < 3:\n            break\n        count += 1\n"
        "        step = x / count\n        if count > 2:\n            new = step\n        else:\n            new = x\n"
        "        y = y / new\n    return y\n",
        "    y, count = x, 0\n    for _ in range(4):\n        if count > 1:\n            y = y / y.norm()\n"
        "        count += 1\n        if x.sum() < 3:\n            break\n    return y\n",
        "    y = x\n    for i in range(4):\n        for step in x:\n            if i > 2:\n                break\n"
        "            y = y / y.norm()\n        if x.sum() < 3:\n            return y\n    return y * 2\n",
        "    y = x\n    for row in x:\n        y = y / row\n        if x.sum() < 3:\n            break\n    return y\n",
        "    y = x\n    for _ in range(4):\n        y = y / torch.rand(4)\n        if x.sum() < 3:\n            break\n"
        "    return y\n",
        # nothing spreads; what it carries is no tensor, may be anything, has no value in front, or is changed in place
        "    y = x\n    for _ in range(4):\n        if x.sum() < 3:\n            break\n        y = y / 2\n"
        "    return y\n",
        "    for i in range(4):\n        if x.sum() < 3:\n            break\n        count = i / x.numel()\n"
        "    return x * count\n",
        "    other = x\n    for _ in range(4):\n        other = other.next / x\n        if x.sum() < 3:\n"
        "            break\n    return other\n",
        "    for _ in range(4):\n        y = x / x.norm()\n        if x.sum() < 3:\n            break\n    return y\n",
        "    y = x * 1\n    for _ in range(4):\n        y.div_(y / x)\n        if x.sum() < 3:\n"
        "            break\n    return y\n",
        "    y = x * 1\n    for _ in range(4):\n        if y.max() > 9:\n            continue\n        y = y / x\n"
        "        if x.sum() < 3:\n            break\n    return y\n",
    ],
)
def test_what_may_not_stay_is_left(body: str) -> None:
    found = rewritten("masked_loop", context_of(HEAD + body, "x.sum() < 3", TYPES, "DDE105"))
    assert not any("_before" in new for new in found)


@pytest.mark.parametrize(
    ("test", "kept"),
    [
        ("count == n", "count = torch.sym_min(count, n - 1)"),
        ("count >= n", "count = torch.sym_min(count, n - 1)"),
        ("count > n", "count = torch.sym_min(count, n)"),
    ],
)
def test_what_the_exit_keeps_in_range_stays_there(test: str, kept: str) -> None:
    body = (
        f"    y, count = x, 0\n    for _ in range(4):\n        if {test}:\n            break\n"
        "        y = y / y.norm()\n        rows = x[count]\n        count += 1\n    return y\n"
    )
    types = {**TYPES, "n": TypeFact("symint")}
    text = HEAD.replace("(x)", "(x, n)") + body
    found = rewritten("masked_loop", context_of(text, test, types, "DDE105"))
    assert [kept in new for new in found] == [True, True]
    assert "_before" in found[1]


@pytest.mark.parametrize(
    "spreading",
    [
        "y / y.norm()",
        "y.div(y.norm())",
        "torch.true_divide(y, y.norm())",
        "torch.linalg.solve(y.diag(), y)",
        "y ** -1",
        "y ** 0.5",
        "y % y.norm()",
        "y.rsqrt()",
    ],
)
def test_whatever_may_have_no_value_asks_for_it(spreading: str) -> None:
    body = (
        f"    y = x\n    for _ in range(4):\n        y = {spreading}\n        if y.sum() < 3:\n            return y\n"
    )
    found = rewritten("masked_loop", context_of(f"{HEAD}{body}    return y * 2\n", "y.sum() < 3", TYPES, "DDE105"))
    assert ["_before" in new for new in found] == [False, True]


@pytest.mark.parametrize("plain", ["y / 2", "y.div(2)", "y ** 2", "y * y"])
def test_what_always_has_a_value_does_not(plain: str) -> None:
    body = f"    y = x\n    for _ in range(4):\n        y = {plain}\n        if y.sum() < 3:\n            return y\n"
    found = rewritten("masked_loop", context_of(f"{HEAD}{body}    return y * 2\n", "y.sum() < 3", TYPES, "DDE105"))
    assert ["_before" in new for new in found] == [False]


def test_once_it_has_been_left_it_stays_whatever_later_iterations_ask() -> None:
    import torch

    asking = "r.abs().sum() + i % 2 < 0.9"
    body = (
        "    r, y = x, x * 0\n    for i in range(4):\n        y = y + r * (r * r).sum() / (r * r).sum()\n"
        f"        r = r - r.round()\n        if {asking}:\n            return y\n    return y * 2\n"
    )
    text = HEAD + body
    types = {**TYPES, "i": TypeFact("int")}
    found = [new for new in rewritten("masked_loop", context_of(text, asking, types, "DDE105")) if "_before" in new]
    assert len(found) == 1
    samples = [(torch.tensor(row, requires_grad=True),) for row in ([1.0, 2, 3, 4], [1.4, 2.01, 3, 4])]
    assert failures(text, found[0], samples, ("compile",)) == []
    assert "stays = stays | " in found[0]
