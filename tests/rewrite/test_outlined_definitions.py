"""What outlining writes: the region as a function, the operator around it, its gradient, and the call."""

from __future__ import annotations

from dataclasses import replace

from control_flow import INTEGERS, SCALAR, TENSOR, candidates, context_of, load, rewritten

from ddelint.nouns.diagnostics import TypeFact

SOLVER = """import torch as th


# Steps until it is large.
def fn(self, first_of_the_weights, other_of_the_weights, steps):
    # one after the other
    total = first_of_the_weights * 0

    # in each step
    for k in steps.tolist():  # k is small
        total = total + first_of_the_weights * k * self.factor
        other_of_the_weights = other_of_the_weights * total
    return total.sum() + other_of_the_weights.sum()  # both
"""
TYPES = {
    "first_of_the_weights": TENSOR,
    "other_of_the_weights": TENSOR,
    "total": TENSOR,
    "steps": INTEGERS,
    "self.factor": TypeFact("float", value="0.5", python_type="float"),
}


def test_the_region_keeps_its_comments_and_long_lines_are_broken() -> None:
    text = rewritten("outline", context_of(SOLVER, "steps.tolist()", TYPES))[0]
    assert text.startswith(
        "import torch as th\n\n\n"
        "def _fn_total(\n    steps: th.Tensor,\n    total: th.Tensor,\n"
        "    first_of_the_weights: th.Tensor,\n    factor: float,\n    other_of_the_weights: th.Tensor,\n):\n"
        "    for k in steps.tolist():  # k is small\n"
        "        total = total + first_of_the_weights * k * factor\n"
        "        other_of_the_weights = other_of_the_weights * total\n"
        "    return other_of_the_weights, total\n\n\n"
        '@th.library.custom_op("model::fn_total", mutates_args=())\n'
        "def _fn_total_op(\n    steps: th.Tensor,\n    total: th.Tensor,\n"
        "    first_of_the_weights: th.Tensor,\n"
        "    factor: float,\n    other_of_the_weights: th.Tensor,\n) -> tuple[th.Tensor, th.Tensor]:\n"
    )
    assert "\n\n\n# Steps until it is large.\ndef fn(" in text
    assert text.endswith(
        "    # in each step\n"
        "    other_of_the_weights, total = (_fn_total_op if th.compiler.is_compiling() else _fn_total)(\n"
        "        steps,\n        total,\n        first_of_the_weights,\n        self.factor,\n"
        "        other_of_the_weights,\n    )\n"
        "    return total.sum() + other_of_the_weights.sum()  # both\n"
    )
    assert max(map(len, text.splitlines())) <= 110


def test_gradients_of_two_results_and_three_operands() -> None:
    import torch

    class Factor:
        factor = 0.5

    text = rewritten("outline", context_of(SOLVER, "steps.tolist()", TYPES))[0]
    programs = [load(SOLVER), load(text), load(text.replace("_op if th.compiler.is_compiling()", "_op if True"))]
    for steps in ([1, 2], [3], []):
        found = []
        for program in programs:
            weights = [torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0], requires_grad=True)]
            result = program(Factor, *weights, torch.tensor(steps, dtype=torch.int64))
            result.backward()
            found.append([result.item(), *(w.grad.tolist() for w in weights)])
        assert found[0] == found[1] == found[2]


def test_an_operator_of_one_operand_gives_its_gradient_back() -> None:
    text = "import torch\n\n\ndef fn(x):\n    y = x[x > 0].sum()\n    return y\n"
    after = rewritten("outline", context_of(text, "x[x > 0].sum()", {"x": TENSOR, "y": SCALAR}, "DDE201"))[0]
    assert "    (x,) = inputs\n    ctx.save_for_backward(x)\n" in after
    assert "    (x,) = ctx.saved_tensors\n    return _fn_y_backward_op(grad, x)\n" in after
    assert "    return torch.empty_like(x, memory_format=torch.contiguous_format)\n" in after


def test_an_expression_over_several_lines_goes_with_its_comments() -> None:
    text = (
        "import torch\n\n\ndef fn(x, t):\n    y = 1 + torch.repeat_interleave(\n        x,  # rows\n        t,\n    )\n"
        "    return y\n"
    )
    types = {"x": replace(TENSOR, requires_grad=False), "t": INTEGERS}
    asked = text[text.index("torch.repeat") : text.index("\n    return")]
    after = rewritten("outline", replace(context_of(text, asked, types, "DDE206"), kind="operator"))[0]
    assert (
        "def _fn_repeat_interleave(x: torch.Tensor, t: torch.Tensor):\n"
        "    return torch.repeat_interleave(\n        x,  # rows\n        t,\n    )\n" in after
    )
    assert "_fn_repeat_interleave_op if torch.compiler.is_compiling() else _fn_repeat_interleave)(x, t)\n" in after


def test_an_expression_may_leave_the_graph_alone() -> None:
    text = "import torch\n\n\ndef fn(x, t):\n    return x * torch.nonzero(t).sum() + 1\n"
    context = context_of(text, "torch.nonzero(t)", {"x": TENSOR, "t": INTEGERS}, "DDE206")
    assert rewritten("graph_break", replace(context, kind="operator"))[0] == (
        "import torch\n\n\n@torch.compiler.disable\ndef _fn_nonzero(t):\n    return torch.nonzero(t)\n\n\n"
        "def fn(x, t):\n    return x * _fn_nonzero(t).sum() + 1\n"
    )


def test_a_region_that_gives_nothing_is_only_called() -> None:
    text = "def fn(x, t):\n    if x:\n        record(t.tolist())\n    return x\n"
    (candidate,) = candidates("graph_break", context_of(text, "t.tolist()", {}, "DDE201"))[:1]
    assert candidate.imports
    after = text.replace("        record(t.tolist())", "        _fn_record(t)")
    assert rewritten("graph_break", context_of(text, "t.tolist()", {}, "DDE201"))[0].endswith(after)
