"""backward_autocast_off: the compiler is told that backward runs outside of autocast."""

from __future__ import annotations

import pytest
from control_flow import candidates, context_of

from ddelint.rewrite.candidate import Import

OFF = 'torch._functorch.config.patch(backward_pass_autocast="off")'


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('with torch.autocast("cpu"):', f'with torch.autocast("cpu"), {OFF}:'),
        ('with lock, torch.autocast("cpu") as a:  # half', f'with lock, torch.autocast("cpu") as a, {OFF}:  # half'),
        (
            'with (\n        lock,\n        torch.autocast("cpu"),\n    ):',
            f'with (\n        lock,\n        torch.autocast("cpu"),\n        {OFF},\n    ):',
        ),
    ],
)
@pytest.mark.parametrize("name", ["torch", "th"])
def test_one_more_context_manager(name: str, header: str, expected: str) -> None:
    text = f"import torch\n\n\ndef step(model, x, lock):\n    {header}\n        loss = model(x)\n    loss.backward()\n"
    text, wanted = text, text.replace(header, expected)
    if name == "th":
        text, wanted = (each.replace(" torch.", " th.").replace("torch\n", "torch as th\n") for each in (text, wanted))
    context = context_of(text, "loss.backward()")
    (candidate,) = candidates("backward_autocast_off", context)
    assert context.site.source.apply(candidate.edits) == wanted
    assert candidate.imports == (Import("torch._functorch.config"),)


def test_backward_inside_stays() -> None:
    text = 'import torch\n\nwith torch.autocast("cpu"):\n    loss = model(x)\n    loss.backward()\n'
    assert candidates("backward_autocast_off", context_of(text, "loss.backward()")) == []
