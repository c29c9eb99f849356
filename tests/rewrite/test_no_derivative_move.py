"""detach_while_compiling: calls that torch has no derivative of."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import candidates, context_of, rewritten

HEAD = "import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x, mask):\n        "


@pytest.mark.parametrize(
    ("line", "asking", "expected"),
    [
        ("return x.unique()", "x.unique()", "return (x.detach() if torch.compiler.is_compiling() else x).unique()"),
        (
            "v, n = torch.unique(x, return_counts=True)",
            "torch.unique(x, return_counts=True)",
            "v, n = torch.unique(x.detach() if torch.compiler.is_compiling() else x, return_counts=True)",
        ),
        (
            "return x[mask].round().unique()",
            "x[mask].round().unique()",
            "return (x[mask].round().detach() if torch.compiler.is_compiling() else x[mask].round()).unique()",
        ),
        (
            "return torch.histc(input=x, bins=4)",
            "torch.histc(input=x, bins=4)",
            "return torch.histc(input=x.detach() if torch.compiler.is_compiling() else x, bins=4)",
        ),
        (
            "self.seen += self.head(x).unique_consecutive().numel()",
            "self.head(x).unique_consecutive()",
            "self.seen += (\n            self.head(x).detach()\n            if torch.compiler.is_compiling()\n"
            "            else self.head(x)\n        ).unique_consecutive().numel()",
        ),
    ],
)
def test_what_goes_in_has_no_gradient_while_compiling(line: str, asking: str, expected: str) -> None:
    context = context_of(f"{HEAD}{line}\n", asking)
    asked = replace(context, diagnostic=replace(context.diagnostic, asks=("joint",)))
    assert rewritten("detach_while_compiling", asked) == [f"{HEAD}{expected}\n"]
    assert all(candidate.doubt for candidate in candidates("detach_while_compiling", asked))
    assert rewritten("detach_while_compiling", context) == []
