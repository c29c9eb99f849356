"""while_loop: a loop over tensors for the compiler; eager keeps its own."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, failures, load, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {"x": TENSOR, "y": TENSOR, "t": INTEGERS, "n": COUNT, "i": TypeFact("int")}


def test_a_loop_over_tensors() -> None:
    text = "def fn(x):\n    while x.sum() > 3:  # halve\n        x /= 2\n    return x\n"
    (found,) = candidates("while_loop", context_of(text, "x.sum() > 3", TYPES, "DDE106"))
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
        "    while t.sum() > 4:\n        t = t - 1\n        if t.max() > 3:\n            break\n    return t\n",
        "    while t.sum() > 4:\n        late = t\n        t = t - 1\n    return late\n",
    ],
)
def test_loops_that_carry_no_tensors_are_left_alone(body: str) -> None:
    assert candidates("while_loop", context_of(f"def fn(x, t, n):\n{body}", "t.sum() > 4", TYPES)) == []


@pytest.mark.parametrize(
    ("body", "asking", "code"),
    [
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
    for program in with_imports("while_loop", context_of(text, asking, TYPES, code)):
        assert failures(text, program, samples, ("export", "compile")) == []


def test_a_loop_of_unknown_length_counts_in_a_tensor() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, k):\n    n = k.item()\n    for _ in range(n):  # steps\n"
        "        x = torch.tanh(x)\n    return x\n"
    )
    context = context_of(text, "range(n)", {"x": TENSOR, "n": COUNT}, "DDE203")
    (program,) = with_imports("while_loop", context)
    assert "def goes_on(turns, x):\n            return turns < most_turns\n" in program
    assert "        for _ in range(n):  # steps\n            x = torch.tanh(x)\n" in program
    samples = [(torch.randn(4), torch.tensor(count)) for count in (2, 0, 5)]
    assert failures(text, program, samples, ("export", "compile")) == []


def test_gradients_flow_where_all_that_is_carried_is_a_tensor() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    i = 0\n    while x.abs().sum() > t.sum():\n        x = x / 2\n"
        "        i += 1\n    return x * i\n"
    )
    first, second = with_imports("while_loop", context_of(text, "x.abs().sum() > t.sum()", TYPES, "DDE106"))
    assert "torch.full((), i, dtype=torch.int64)" not in second
    assert "while_loop(goes_on, turn, (torch.full((), i, dtype=torch.int64), x))\n        i = i.item()\n" in first
    results = []
    for function in (load(text), torch.compile(load(first), fullgraph=True, backend="aot_eager")):
        x = torch.full((4,), 9.0, requires_grad=True)
        with torch._dynamo.config.patch(capture_scalar_outputs=True):
            function(x, torch.tensor([1, 2])).sum().backward()
        assert x.grad is not None
        results.append(x.grad.tolist())
    assert results[0] == results[1]


COUNTED = {
    "the place of a sign": (
        "    n = 0\n    while t[n] != 2:\n        n += 1\n    return x[:n].sum(), n\n",
        "t[n] != 2",
    ),
    "from a place on": (
        "    n = 1\n    while t[n] > 2:\n        n = n + 1\n    return x * n, torch.zeros(n)\n",
        "t[n] > 2",
    ),
    "of what is counted": (
        "    n = 0\n    while x.sum() > 0 and t[n] != 2:\n        k = n + 1\n        x = x - t[k]\n"
        "        n = k\n    return x, n\n",
        "x.sum() > 0 and t[n] != 2",
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_counts_alone_is_a_tensor_and_picks_as_one(name: str) -> None:
    """A number that is carried alone fails to compile: torch 2.13 finds no type for what the loop gives."""
    import torch

    body, asking = COUNTED[name]
    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    first = with_imports("while_loop", context_of(text, asking, TYPES, "DDE106"))[0]
    assert "t[n.reshape(1)][0]" in first
    assert ("torch._check(n >= 0)" in first) is (name != "of what is counted")
    places = ([4, 3, 2, 5], [3, 2, 2, 2], [2, 2, 1, 1], [5, 5, 5, 2])
    samples = [(torch.randn(4).abs(), torch.tensor(place)) for place in places]
    assert failures(text, first, samples, ("export", "compile")) == []
    loaded, before = load(first), load(text)
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(loaded, fullgraph=True, backend="aot_eager")
        x = torch.randn(4).abs()
        assert torch.equal(compiled(x, samples[0][1])[0], before(x, samples[0][1])[0])


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("got = got + x[order + n]", "got = got + x[order + n]"),
        ("picked = order + n\n        got = got + x[picked]", "got = got + x[picked]"),
        ("got = got + x[-order]", "got = got + x[-order]"),
        ("got = got + x[(n +\n            1)]", "x[(n +\n                1).reshape(1)][0]"),
        ("got = got + x[order[n]]", "got = got + x[order[n.reshape(1)][0].reshape(1)][0]"),
        ("got = got + x.shape[n - n]", "got = got + x.shape[n - n]"),
    ],
)
def test_what_gathers_beside_a_count_gathers_as_before(lines: str, expected: str) -> None:
    import torch

    body = f"    n = 0\n    got = x[:3] + 0\n    while t[n] != 2:\n        {lines}\n        n += 1\n    return got, n\n"
    text = f"import torch\n\n\ndef fn(x, t, order):\n{body}"
    facts = {**TYPES, "order": INTEGERS, "picked": INTEGERS}
    first = with_imports("while_loop", context_of(text, "t[n] != 2", facts, "DDE106"))[0]
    assert expected in first
    order = torch.tensor([0, 2, 1])
    samples = [(torch.arange(8.0), torch.tensor(places), order) for places in ([1, 3, 2, 5], [2, 3, 2, 5])]
    if "shape" not in lines:
        assert failures(text, first, samples, ("export", "compile")) == []
