"""flags_as_integers: flags that are read from tensors, where Inductor fails at them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, failures, rewritten

from ddelint.nouns.diagnostics import TypeFact
from ddelint.rewrite.candidate import Context

TYPES = {"x": TypeFact("tensor", "float32", ("4",)), "active": TypeFact("tensor", "bool", ("4",))}
EQUATIONS = "InductorError: TypeError: unsupported operand type(s) for -: 'Equality' and 'Equality'"
ATOM = "InductorError: TypeError: BooleanAtom not allowed in this context."


def context(body: str, asking: str, detail: str = EQUATIONS) -> Context:
    text = f"import torch\n\n\ndef fn(x, active):\n    {body}\n    return x\n"
    return replace(context_of(text, asking, TYPES, "DDE005"), detail=detail)


@pytest.mark.parametrize(
    ("body", "asking", "said"),
    [
        (
            "torch._check(x.isfinite().all().item())",
            "x.isfinite()",
            "torch._check(x.isfinite().all().int().item() == 1)",
        ),
        (
            "torch._check(torch.sym_not(x.isnan().any().item()))",
            "x.isnan()",
            "torch._check(x.isnan().any().int().item() != 1)",
        ),
        ("flag = (x > 0).any().item()", "(x > 0)", "flag = (x > 0).any().int().item() == 1"),
        ("torch._check((x.sum() < 9).item())", "x.sum()", "torch._check((x.sum() < 9).int().item() == 1)"),
        ("first = active[0].item() or x.sum().item() > 1", "active[0]", "first = active[0].int().item() == 1 or"),
    ],
)
@pytest.mark.parametrize("detail", [EQUATIONS, ATOM])
def test_a_flag_is_read_as_an_integer(body: str, asking: str, said: str, detail: str) -> None:
    (found,) = rewritten("flags_as_integers", context(body, asking, detail))
    assert said in found


@pytest.mark.parametrize("read", ["x.sum().item()", "x.argmax().item()", "active.sum().item()"])
def test_a_number_stays_as_it_is(read: str) -> None:
    assert rewritten("flags_as_integers", context(f"n = {read}", read)) == []


def test_what_fails_for_another_reason_is_left() -> None:
    reads = "torch._check(x.isfinite().all().item())"
    assert rewritten("flags_as_integers", context(reads, "x.isfinite()", "InductorError: no such operator")) == []


def test_it_goes_through_the_front_ends_beside_a_write_in_place_and_gives_the_same() -> None:
    import torch

    text = (
        "import torch\n\n\ndef fn(x):\n    back = x.flip(0)\n    swapped = back.clone()\n    swapped[0] = back[1]\n"
        "    swapped[1] = back[0]\n    torch._check(x.isfinite().all().item())\n    return x + swapped\n"
    )
    site = replace(context_of(text, "x.isfinite()", TYPES, "DDE005"), detail=EQUATIONS)
    (program,) = rewritten("flags_as_integers", site)
    samples = [(torch.randn(4),), (torch.full((4,), torch.inf),)]
    assert failures(text, program, samples, ("export", "compile")) == []
