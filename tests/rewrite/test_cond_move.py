"""torch_cond: arms as functions; eager stays as it is."""

from __future__ import annotations

import contextlib

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, failures, load, rewritten, with_imports

from ddelint.nouns.diagnostics import TypeFact

TYPES = {"x": TENSOR, "y": TENSOR, "t": INTEGERS, "n": COUNT, "i": TypeFact("int")}


def test_the_arms_become_functions_beside_the_branch() -> None:
    text = (
        "def fn(x, t):\n    if t.sum() > 4:  # many\n        y = x * 2\n        y += 1\n    else:\n        y = x\n"
        "    return y\n"
    )
    assert rewritten("torch_cond", context_of(text, "t.sum() > 4", TYPES)) == [
        "def fn(x, t):\n    if torch.compiler.is_compiling():\n\n        def when_true(x):\n            y = x * 2\n"
        "            y += 1\n            return y\n\n        def when_false(x):\n            y = x\n"
        "            return y.clone()\n\n        y = torch.cond(t.sum() > 4, when_true, when_false, (x,))\n\n"
        "    elif t.sum() > 4:  # many\n        y = x * 2\n        y += 1\n    else:\n        y = x\n    return y\n"
    ]


@pytest.mark.parametrize("test", ["n > 4", "x.shape[0] < n", "n > 4 and n < 9"])
def test_a_question_to_numbers_is_handed_over_as_a_tensor(test: str) -> None:
    """Inductor asks a symbolic one before it has read the number."""
    text = f"import torch\n\n\ndef fn(x, n):\n    if {test}:\n        x = x * 2\n    return x\n"
    (found,) = rewritten("torch_cond", context_of(text, test, TYPES))
    assert found.partition("torch.cond(")[2].strip().startswith("torch.full((), ")
    assert f"elif {test}:" in found


def test_arms_that_stand_on_one_line_each() -> None:
    text = "def fn(x, t):\n    if t.sum() > 4: y = x * 2; z = x\n    else: y = x; z = x * 3\n    return y + z\n"
    (found,) = rewritten("torch_cond", context_of(text, "t.sum() > 4", TYPES))
    assert (
        "        def when_true(x):\n            y = x * 2\n            z = x\n            return y, z.clone()\n"
        in found
    )
    assert "    elif t.sum() > 4: y = x * 2; z = x\n    else: y = x; z = x * 3\n" in found


@pytest.mark.parametrize(
    ("body", "results"),
    [
        ("    if t.sum() > 4:\n        return 1\n    return -2\n", ["1", "-2"]),
        (
            "    if t.sum() > 4:\n        return x, x.shape[0]\n    return x * 2, i\n",
            ["x.clone(), x.shape[0]", "x * 2, i"],
        ),
        ("    if t.sum() > 4:\n        y = i\n    else:\n        y = i + 1\n    return x * y\n", ["y", "y"]),
        ("    if t.sum() > 4:\n        y = 3\n    else:\n        y = t[0].item()\n    return x[y]\n", None),
        ("    if t.sum() > 4:\n        return t.argmax().item()\n    return int(t[0])\n", None),
        ("    if t.sum() > 4:\n        return True\n    return False\n", None),
        ("    if t.sum() > 4:\n        return x, None\n    return x, x\n", None),
        ("    if t.sum() > 4:\n        return [x]\n    return [x + 1]\n", None),
        ("    y = x * (2.0 if t.sum() > 4 else 1.0)\n    return y\n", None),
        ("    y = 2.0 if t.sum() > 4 else 1.0\n    return y\n", None),
        ("    if t.sum() > 4:\n        y = 'many'\n    else:\n        y = f'{i}'\n    return y\n", None),
    ],
)
def test_results_are_tensors_or_integers(body: str, results: list[str] | None) -> None:
    found = rewritten("torch_cond", context_of(f"def fn(x, t, i):\n{body}", "t.sum() > 4", TYPES))
    traced = [line.strip() for text in found for line in text.splitlines() if line.startswith(" " * 12)]
    assert [line.removeprefix("return ") for line in traced if line.startswith("return ")] == (results or [])
    assert bool(found) == bool(results)


@pytest.mark.parametrize(
    "body",
    [
        "    if t.sum() > 4:\n        x.add_(1)\n    else:\n        x = x * 2\n    return x\n",
        "    if t.sum() > 4:\n        x[0] = 1\n        return x\n    return x * 2\n",
        "    if t.sum() > 4:\n        x = x + 1\n        assert x.sum() < 9\n    return x\n",
        "    if t.sum() > 4:\n        y = x * n\n    else:\n        y = x\n    return y\n",
        "    if t.sum() > 4:\n        print(next(rows))\n        x = x + 1\n    return x\n",
        "    if t.sum() > 4:\n        late = x + 1\n    return late\n",
        "    if t.sum() > 4:\n        return x\n    print(x)\n    return x * 2\n",
        "    if torch.compiler.is_compiling() or t.sum() > 4:\n        x = x + 1\n    return x\n",
    ],
)
def test_arms_with_effects_are_left_alone(body: str) -> None:
    text = f"def fn(x, t, n):\n{body}"
    assert candidates("torch_cond", context_of(text, "t.sum() > 4", TYPES)) == []


@pytest.mark.parametrize("says", ["print(x)", "warnings.warn('many')", "self.logger.info('many', 4)"])
def test_what_an_arm_says_is_said_in_eager(says: str) -> None:
    text = f"def fn(x, t, n):\n    if t.sum() > 4:\n        {says}\n        return x + 1\n    return x * 2\n"
    (candidate,) = candidates("torch_cond", context_of(text, "t.sum() > 4", TYPES))
    assert "the compiled program doesn't warn" in candidate.notes
    (found,) = rewritten("torch_cond", context_of(text, "t.sum() > 4", TYPES))
    compiled, eager = found.split("torch.cond(")
    assert says not in compiled
    assert says in eager


ARMS = {
    "chain": """
    y = x
    if t.sum() > 5:
        y = x * 2
    elif t.max() > 1:
        z = x.sin()
        y = z + 1
    else:
        y = -x
    return y
""",
    "nested": """
    if t.sum() > 2:
        y = x * 2
        if t.max() > 2:
            y = y + 1
    else:
        y = x
    return y
""",
    "early": """
    if t.sum() > 5:
        return x * 2, x
    y = x.sin()
    if t.max() > 1:
        return y, x + 1
    z = y * 3
    return z, y
""",
    "in_place": """
    y = x * 2
    if t.sum() > 5:
        y.mul_(3)
        y[0] = 7
    else:
        y += 1
    return y + x
""",
    "view": """
    y = x * 2
    view = y[1:]
    if t.sum() > 5:
        view.zero_()
    return y + x
""",
    "behind_a_known_test": """
    if x is None:
        y = x
    elif t.sum() > 5:  # many
        y = x * 2
    else:
        y = x.sin()
    return y
""",
}
"""Bodies whose first test of data is `t.sum() > …`."""


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
    ],
)
def test_they_trace_and_agree(body: str, asking: str, code: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    samples = [(torch.full((4,), size), torch.tensor(t)) for size, t in ((9.0, [1, 2, 3]), (1.0, [1, 1, 0]))]
    (program,) = with_imports("torch_cond", context_of(text, asking, TYPES, code))
    assert failures(text, program, samples, ("export", "compile")) == []


@pytest.mark.parametrize("name", ARMS)
def test_arms_of_every_form(name: str) -> None:
    import torch

    text = f"import torch\n\n\ndef fn(x, t):{ARMS[name]}"
    samples = [
        (torch.full((4,), size), torch.tensor(t)) for size, t in ((9.0, [1, 2, 3]), (1.0, [1, 1, 0]), (2.0, [0, 2, 0]))
    ]
    asking = "t.sum() > 5" if "t.sum() > 5" in text else "t.sum() > 2"
    (program,) = with_imports("torch_cond", context_of(text, asking, TYPES, "DDE105"))
    assert failures(text, program, samples) == []


def test_state_is_copied_into_its_place() -> None:
    import torch

    text = (
        "import torch\n\n\nclass Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('calls', torch.zeros(()))\n"
        "        self.register_buffer('last', torch.zeros(4))\n\n"
        "    def forward(self, x, t):\n        if t.sum() > 4:\n            self.calls += 1\n"
        "            self.last = x * 2\n            x = x / self.calls\n        return x + self.last\n"
    )
    types = {**TYPES, "self.calls": TypeFact("tensor", "float32", ()), "self.last": TENSOR}
    (program,) = with_imports("torch_cond", context_of(text, "t.sum() > 4", types, "DDE105"))
    assert "self.last.copy_(" not in program
    assert "last_state = self.last\n" in program
    assert "last_state.copy_(last_state_after.detach())\n" in program
    inputs = [(torch.ones(4), torch.tensor([size, 1])) for size in (9, 1, 7)]
    eager, now = load(text, "Model")(), load(program, "Model")()
    compiled = torch.compile(load(program, "Model")(), fullgraph=True, backend="eager")
    for x, t in inputs:
        want = eager(x, t)
        assert torch.equal(now(x, t), want)
        assert torch.equal(compiled(x, t), want)
    exported = torch.export.export(load(program, "Model")(), inputs[0]).module()
    assert [exported(x, t).tolist() for x, t in inputs] == [
        m.tolist() for m in map(load(text, "Model")(), *zip(*inputs))
    ]


def test_what_the_next_turn_of_a_loop_reads_comes_out() -> None:
    text = (
        "def fn(x, y, t):\n    for i in range(3):\n        if t[i] > 1:\n            y = x * 2\n        else:\n"
        "            x = y + 1\n    return x\n"
    )
    (found,) = rewritten("torch_cond", context_of(text, "t[i] > 1", TYPES))
    assert "            x, y = torch.cond(t[i] > 1, when_true, when_false, (" in found


def test_an_arm_that_is_dear_goes_before_torch_where() -> None:
    arms = "        y = torch.linalg.qr(x)[0]\n    else:\n        y = x\n"
    text = f"def fn(x, t):\n    if t.sum() > 4:\n{arms}    return y\n"
    cheap = text.replace("torch.linalg.qr(x)[0]", "x + 1")
    assert [c.preferred for c in candidates("torch_cond", context_of(text, "t.sum() > 4", TYPES))] == [True] * 2
    assert [c.preferred for c in candidates("torch_cond", context_of(cheap, "t.sum() > 4", TYPES))] == [False]


def test_arms_that_lay_their_result_out_otherwise() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x, t):\n    if t.sum() > 4:\n        y = x.t() * 2\n    else:\n        y = x\n"
        "    return y + 1\n"
    )
    samples = [(torch.arange(9.0).reshape(3, 3), torch.tensor(t)) for t in ([1, 2, 3], [1, 1, 0])]
    types = {"x": TypeFact("tensor", "float32", ("3", "3")), "t": INTEGERS}
    first, second = with_imports("torch_cond", context_of(text, "t.sum() > 4", types, "DDE105"))
    assert any(
        "strides" in failure or "RuntimeError" in failure for failure in failures(text, first, samples[:1], ["compile"])
    )
    assert "return x.clone(memory_format=torch.contiguous_format)" not in second
    assert "return y.clone(memory_format=torch.contiguous_format)" in second
    assert failures(text, second, samples, ["export", "compile"]) == []


def test_gradients_flow_past_what_is_changed_in_place() -> None:
    import torch

    from ddelint.verify import traced_path

    body = "    y = x * 2\n    if t.sum() > 5:\n        y *= x\n    else:\n        y += 1\n    return y + x\n"
    text = f"import torch\n\n\ndef fn(x, t):\n{body}"
    (program,) = with_imports("torch_cond", context_of(text, "t.sum() > 5", {**TYPES, "y": TENSOR}, "DDE105"))
    assert "when_false, (x, y.clone()))" in program
    gradients = []
    for function, way in ((load(text), ()), (load(program), ("export",))):
        x = torch.full((4,), 9.0, requires_grad=True)
        with traced_path.assumed(way) if way else contextlib.nullcontext():
            function(x, torch.tensor([7])).sum().backward()
        assert x.grad is not None
        gradients.append(x.grad.tolist())
    assert gradients[0] == gradients[1]
