"""torch_cond: arms as functions, loops as while_loop; eager stays as it is."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, failures, rewritten, with_imports

from ddelint.diagnostics import TypeFact

TYPES = {"x": TENSOR, "y": TENSOR, "t": INTEGERS, "n": COUNT, "i": TypeFact("int")}


def test_the_arms_become_functions_beside_the_branch() -> None:
    text = (
        "def fn(x, t):\n    if t.sum() > 4:  # many\n        y = x * 2\n        y += 1\n    else:\n        y = x\n"
        "    return y\n"
    )
    assert rewritten("torch_cond", context_of(text, "t.sum() > 4", TYPES)) == [
        "def fn(x, t):\n    if torch.compiler.is_compiling():\n\n        def when_true(x):\n            y = x * 2\n"
        "            y = y + 1\n            return y\n\n        def when_false(x):\n            y = x\n"
        "            return y.clone()\n\n        y = torch.cond(t.sum() > 4, when_true, when_false, (x,))\n\n"
        "    elif t.sum() > 4:  # many\n        y = x * 2\n        y += 1\n    else:\n        y = x\n    return y\n"
    ]


def test_a_loop_over_tensors() -> None:
    text = "def fn(x):\n    while x.sum() > 3:  # halve\n        x /= 2\n    return x\n"
    (found,) = candidates("torch_cond", context_of(text, "x.sum() > 3", TYPES, "DDE106"))
    assert "while_loop" in {needed.name for needed in found.imports}
    assert context_of(text, "x").site.source.apply(found.edits) == (
        "def fn(x):\n    if torch.compiler.is_compiling():\n\n"
        "        def goes_on(x):\n            return x.sum() > 3\n\n"
        "        def turn(x):\n            x = x / 2\n            return (x,)\n\n"
        "        (x,) = while_loop(goes_on, turn, (x,))\n\n    else:\n        while x.sum() > 3:  # halve\n"
        "            x /= 2\n    return x\n"
    )


@pytest.mark.parametrize(
    "body",
    [
        "    if t.sum() > 4:\n        x.add_(1)\n    return x\n",
        "    if t.sum() > 4:\n        x[0] = 1\n    return x\n",
        "    if t.sum() > 4:\n        y = x * n\n    else:\n        y = x\n    return y\n",
        "    if t.sum() > 4:\n        print(x)\n        x = x + 1\n    return x\n",
        "    if t.sum() > 4:\n        late = x + 1\n    return late\n",
        "    if t.sum() > 4:\n        return x\n    print(x)\n    return x * 2\n",
        "    while t.sum() > 4:\n        t = t - 1\n        if t.max() > 3:\n            break\n    return t\n",
        "    while t.sum() > 4:\n        late = t\n        t = t - 1\n    return late\n",
        "    if torch.compiler.is_compiling() or t.sum() > 4:\n        x = x + 1\n    return x\n",
    ],
)
def test_arms_with_effects_are_left_alone(body: str) -> None:
    text = f"def fn(x, t, n):\n{body}"
    assert candidates("torch_cond", context_of(text, "t.sum() > 4", TYPES)) == []


@pytest.mark.parametrize(
    ("body", "asking", "code"),
    [
        ("    y = x + 1\n    if t.sum() > 4:\n        y = y * y\n    return y\n", "t.sum() > 4", "DDE105"),
        (
            "    n = t.sum().item()\n    if n > 4:\n        return x\n    z = x * 2\n    return z.sin()\n",
            "n > 4",
            "DDE101",
        ),
        ("    y = x.sin() if t.sum() > 4 else x\n    return y\n", "t.sum() > 4", "DDE105"),
        (
            "    i = 0\n    while x.abs().sum() > t.sum():\n        x = x / 2\n        i += 1\n    return x * i\n",
            "x.abs().sum() > t.sum()",
            "DDE106",
        ),
        (
            "    done = False\n    while not done:\n        x = x / 2\n"
            "        done = (x.abs() < 1).all()\n    return x\n",
            "not done",
            "DDE106",
        ),
    ],
)
def test_they_trace_and_agree(body: str, asking: str, code: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    samples = [(torch.full((4,), size), torch.tensor(t)) for size, t in ((9.0, [1, 2, 3]), (1.0, [1, 1, 0]))]
    (program,) = with_imports("torch_cond", context_of(text, asking, TYPES, code))
    assert failures(text, program, samples, ("export", "compile")) == []


def test_a_loop_of_unknown_length_counts_in_a_tensor() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, k):\n    n = k.item()\n    for _ in range(n):  # steps\n"
        "        x = torch.tanh(x)\n    return x\n"
    )
    context = context_of(text, "range(n)", {"x": TENSOR, "n": COUNT}, "DDE203")
    (program,) = with_imports("torch_cond", context)
    assert "def goes_on(turns, x):\n            return turns < most_turns\n" in program
    assert "        for _ in range(n):  # steps\n            x = torch.tanh(x)\n" in program
    samples = [(torch.randn(4), torch.tensor(count)) for count in (2, 0, 5)]
    assert failures(text, program, samples, ("export", "compile")) == []
