"""module_chain: one of a few modules runs, chosen by data."""

from __future__ import annotations

import pytest
from control_flow import COUNT, INTEGERS, TENSOR, candidates, context_of, load, with_imports

from ddelint.nouns.diagnostics import TypeFact

LAYERS = TypeFact("module", length=3, python_type="torch.nn.modules.container.ModuleList")
TYPES = {"x": TENSOR, "t": INTEGERS, "i": COUNT, "self.layers": LAYERS}
TEXT = """import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4), torch.nn.Linear(4, 4), torch.nn.Identity()])

    def forward(self, x, t):
        i = t.sum().item()
        y = self.layers[i](x)  # the one that was voted for
        return y + 1
"""


def test_one_of_the_modules_runs() -> None:
    import torch

    (program,) = with_imports("module_chain", context_of(TEXT, "self.layers[i](x)", TYPES, "DDE202"))
    assert "        else:\n            y = self.layers[i](x)  # the one that was voted for\n" in program
    inputs = [(torch.randn(2, 4), torch.tensor(votes)) for votes in ([0, 0], [0, 1], [1, 1])]
    eager, fixed = load(TEXT, "Model")(), load(program, "Model")()
    expected = [eager(*sample).tolist() for sample in inputs]
    assert [fixed(*sample).tolist() for sample in inputs] == expected
    exported = torch.export.export(load(program, "Model")(), inputs[0]).module()
    with torch._dynamo.config.patch(capture_scalar_outputs=True):
        compiled = torch.compile(load(program, "Model")(), fullgraph=True, backend="eager")
        for run in (exported, compiled):
            for sample, want in zip(inputs, expected):
                torch.testing.assert_close(run(*sample), torch.tensor(want))


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("y = self.layers[i](x)", {**TYPES, "self.layers": TypeFact("list", length=3)}),
        ("y = self.layers[i](x)", {**TYPES, "self.layers": TypeFact("module", length=30)}),
        ("y = self.layers[i](x * 2)", TYPES),
        ("y = 1 + self.layers[i](x)", TYPES),
    ],
)
def test_other_calls_are_left_alone(line: str, types: dict[str, TypeFact]) -> None:
    text = f"def forward(self, x, t):\n    i = t.sum().item()\n    {line}\n    return y\n"
    asking = line.partition("= ")[2].removeprefix("1 + ")
    assert candidates("module_chain", context_of(text, asking, types, "DDE202")) == []
