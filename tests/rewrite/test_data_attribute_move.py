"""`x.data`: what is read is detached, what is set is left to eager or copied."""

from __future__ import annotations

import pytest
from control_flow import context_of, rewritten

HEAD = "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        "


@pytest.mark.parametrize(
    ("line", "asking", "expected"),
    [
        ("return x.data + 1", "x.data", "return x.detach() + 1"),
        ("return self.table[0].data.abs()", "self.table[0].data", "return self.table[0].detach().abs()"),
        ("self.weight.data.clamp_(max=1)", "self.weight.data", "self.weight.detach().clamp_(max=1)"),
        ("return torch.cat([x.data, x])", "x.data", "return torch.cat([x.detach(), x])"),
        ("for p in self.parameters(): p.data.mul_(2)", "p.data", "for p in self.parameters(): p.detach().mul_(2)"),
    ],
)
def test_what_is_read_is_detached(line: str, asking: str, expected: str) -> None:
    assert rewritten("detached_data", context_of(f"{HEAD}{line}\n", asking)) == [f"{HEAD}{expected}\n"]


@pytest.mark.parametrize(
    ("imported", "call", "expected"),
    [
        ("from torch.autograd import Variable", "Variable(x * 2)", "(x * 2).detach()"),
        ("from torch.autograd import Variable as V", "V(x.data, requires_grad=False)", "x.data.detach()"),
        ("import torch.autograd as autograd", "autograd.Variable(torch.zeros(3))", "torch.zeros(3).detach()"),
        ("from torch import autograd", "autograd.Variable(x[0]).abs()", "x[0].detach().abs()"),
        ("", "torch.autograd.Variable(x if x.dim() else -x)", "(x if x.dim() else -x).detach()"),
        ("from torch.autograd import Variable", "Variable(x, requires_grad=True)", ""),
        ("from torch.autograd import Variable", "Variable(x, requires_grad=x.requires_grad)", ""),
        ("from tensorflow import Variable", "Variable(x)", ""),
    ],
)
def test_a_tensor_by_an_older_name_is_detached(imported: str, call: str, expected: str) -> None:
    head = HEAD.replace("import torch\n", f"import torch\n{imported}\n") + "return "
    context = context_of(f"{head}{call}\n", call.removesuffix(".abs()"))
    assert rewritten("detached_data", context) == ([f"{head}{expected}\n"] if expected else [])


def test_the_older_name_gives_what_detach_gives() -> None:
    import torch
    from torch.autograd import Variable

    x = torch.ones(2, requires_grad=True) * 2
    old, new = Variable(x), x.detach()
    assert (old.data_ptr(), old.requires_grad, old.grad_fn) == (new.data_ptr(), new.requires_grad, new.grad_fn)
    old.add_(1)
    assert torch.equal(x, torch.full((2,), 3.0))


def test_what_is_set_is_left_to_eager_or_copied() -> None:
    line = "self.mean.data = 0.9 * self.mean.data + x.data"
    in_eager, copied = rewritten("data_in_eager", context_of(f"{HEAD}{line}\n", "self.mean.data"))
    assert in_eager == f"{HEAD}if not torch.compiler.is_compiling():\n            {line}\n"
    assert copied == (
        f"{HEAD}if torch.compiler.is_compiling():\n"
        "            self.mean.detach().copy_((0.9 * self.mean.detach() + x.detach()).detach())\n"
        f"        else:\n            {line}\n"
    )


@pytest.mark.parametrize(
    ("move", "line", "asking"),
    [
        ("detached_data", "x.data = x", "x.data"),
        ("detached_data", "return self.dataset.rows", "self.dataset.rows"),
        ("data_in_eager", "x.grad = x.data", "x.data"),
        ("data_in_eager", "if not torch.compiler.is_compiling(): x.data = x + 1", "x.data"),
    ],
)
def test_what_stays(move: str, line: str, asking: str) -> None:
    assert rewritten(move, context_of(f"{HEAD}{line}\n", asking)) == []
