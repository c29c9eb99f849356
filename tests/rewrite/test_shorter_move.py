"""shorter_of_both: what is cut where it is too long."""

from __future__ import annotations

import pytest
from control_flow import COUNT, candidates, context_of, failures, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {"x": TypeFact("tensor", "float32", ("u0",)), "n": TypeFact("int"), "count": COUNT}


@pytest.mark.parametrize(
    ("body", "test", "lines"),
    [
        ("    if count > n:\n        x = x[:n]\n", "count > n", ("torch.sym_min(n, count)", "x = x[:shorter]")),
        (
            "    if n < len(x):\n        x, i = x.topk(n)\n",
            "n < len(x)",
            ("torch.sym_min(n, len(x))", "x.topk(shorter)"),
        ),
        (
            "    if x.numel() <= n:\n        return x\n    x = x.topk(k=n)[0]\n",
            "x.numel() <= n",
            (
                "torch.sym_min(n, x.numel())",
                "not torch.compiler.is_compiling() and x.numel() <= n",
                "x.topk(k=shorter)",
            ),
        ),
    ],
)
def test_what_is_cut_is_cut_to_the_shorter_of_both(body: str, test: str, lines: tuple[str, ...]) -> None:
    text = f"def fn(x, n, count):\n{body}    return x\n"
    *_, found = rewritten("shorter_of_both", context_of(text, test, TYPES, "DDE104"))
    assert [line for line in lines if line not in found] == []


@pytest.mark.parametrize(
    "body",
    [
        "    if count > n:\n        x = x + 1\n",
        "    if count < n:\n        x = x[:n]\n",
        "    if count > n:\n        x = x[:n]\n    else:\n        x = x + 1\n",
        "    if count > n:\n        n = 3\n        x = x[:n]\n",
        "    if count == n:\n        x = x[:n]\n",
        "    if count > 0:\n        n = 0\n        x = x[:0]\n",
        "    if count > 2:\n        x[n] = 2\n",
    ],
)
def test_what_cuts_nothing_is_left_alone(body: str) -> None:
    text = f"def fn(x, n, count):\n{body}    return x\n"
    test = body.partition("if ")[2].partition(":")[0]
    assert candidates("shorter_of_both", context_of(text, test, TYPES, "DDE104")) == []


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("    if count > n:\n        x = x[:n]\n        left = left + count - n\n", "left = left + count - shorter"),
        ("    if count > n:\n        left += (count - n)\n        x = x.topk(n)[0]\n", "left += (count - shorter)"),
        ("    if count > n:\n        x = x[:n].reshape(n, -1)\n", "x = x[:shorter].reshape(shorter, -1)"),
        ("    if count > 2:\n        x = x[:2].mean(2) + 2\n", "x = x[:shorter].mean(2) + 2"),
        ("    if n < count:\n        left = n / count\n        x = x[:n]\n", "left = shorter / count"),
        (
            "    if count <= n:\n        return x\n    left = count - n\n    x = x[left:][:n]\n",
            "left = count - shorter",
        ),
    ],
)
def test_what_else_reads_the_limit_reads_the_shorter_too_at_first(body: str, line: str) -> None:
    text = f"def fn(x, n, count, left):\n{body}    return x, left\n"
    test = body.partition("if ")[2].partition(":")[0]
    first, *others = rewritten("shorter_of_both", context_of(text, test, TYPES, "DDE104"))
    assert line in first
    assert not any(line in other for other in others)


def test_both_sides_agree_with_eager() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    x = x[x > 0]\n    if x.numel() > 3:\n        x = x.topk(3).values\n"
        "    return x.sum()\n"
    )
    (program,) = with_imports("shorter_of_both", context_of(text, "x.numel() > 3", TYPES, "DDE104"))
    samples = [(torch.tensor(row),) for row in ([1.0, 2, 3, 4, -1], [1.0, -2, -3, -4, 5], [-1.0, -1, -1, -1, -1])]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_what_is_dropped_is_counted_on_both_sides() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, left):\n    x = x[x > 0]\n    n = 3\n    if x.numel() > n:\n"
        "        left = left + x.numel() - n\n        x = x.topk(n).values\n    return x.sum(), left\n"
    )
    program, *_ = with_imports("shorter_of_both", context_of(text, "x.numel() > n", TYPES, "DDE104"))
    rows = ([1.0, 2, 3, 4, 5], [1.0, -2, -3, -4, 5], [-1.0, -1, -1, -1, -1])
    samples = [(torch.tensor(row), torch.tensor(2)) for row in rows]
    assert failures(text, program, samples, ("export", "compile")) == []


FEW, ENOUGH, MANY = ([3.0, -1, 5, -2, 4], [3.0, 5, 4, -1, -2], [3.0, 1, 5, 2, 4])


@pytest.mark.parametrize(
    ("test", "body"),
    [
        ("x.shape[0] > 3", "        x, top = x.topk(3)\n        y = y[top]\n"),
        ("3 < x.shape[0]", "        _, top = torch.topk(x, 3)\n        x, y = x[top], y[top]\n"),
        ("x.numel() > 3", "        top = x.topk(k=3).indices\n        x = x[top]\n        y = y[top]\n"),
        ("y.size(0) >= 4", "        order = x.argsort(descending=True)[:4]\n        x, y = x[order], y[order]\n"),
        ("x.numel() > 4", "        values, order = x.sort()\n        x, y = values[:4], y[order[:4]]\n"),
        ("x.size(0) <= 3", "        return x, y\n    x, top = x.topk(3)\n    y = y[top]\n"),
    ],
)
def test_what_is_put_in_order_to_be_cut_keeps_its_own_order_where_nothing_is(test: str, body: str) -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    keep = x > 0\n    x, y = x[keep], x[keep] * 2\n"
        f"    if {test}:\n{body}    return x, y\n"
    )
    types = {"x": TypeFact("tensor", "float32", ("u0",)), "y": TypeFact("tensor", "float32", ("u0",))}
    program, *_ = with_imports("shorter_of_both", context_of(text, test, types, "DDE104"))
    samples = [(torch.tensor(row),) for row in (FEW, ENOUGH, MANY)]
    assert failures(text, program, samples, ("export", "compile")) == []
