"""compiler_option: what the compiler does only where an option of its own allows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from control_flow import context_of, load, rewritten

OPTION = "torch._dynamo.config.allow_rnn = True"
DETAIL = "Unsupported: Attempted to wrap RNN, GRU, or LSTM"
BODY = """class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.{kind}(2, 3)

    def forward(self, x):
        return self.rnn(x)[0]
"""
HEADS = {
    "an import": "import torch\n\n\n",
    "a docstring, and imports of parts": '"""A model."""\n\nfrom __future__ import annotations\n\nimport torch\n'
    "from torch import nn\n\n\n",
    "an import that is tried": "import torch\n\ntry:\n    import fast\nexcept ImportError:\n    fast = None\n\n\n",
    "an import under a test": "import torch\n\nif torch.__version__:\n    import math\n\n\n",
    "a setting of its own": "import torch\n\nSIZE = 3\n\n\n",
}


def allowed(text: str, detail: str = DETAIL) -> list[str]:
    context = context_of(text, "self.rnn(x)", code="DDE005")
    return rewritten("compiler_option", replace(context, detail=detail))


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_it_is_set_behind_the_imports(head: str) -> None:
    text = head + BODY.format(kind="LSTM")
    (new,) = allowed(text)
    before, _, after = new.partition(OPTION)
    assert "import" in before
    assert "import" not in after
    assert [line for line in new.splitlines() if line not in ("", OPTION)] == [*filter(None, text.splitlines())]


@pytest.mark.parametrize(
    ("head", "detail"),
    [(HEADS["an import"], "Unsupported: another thing"), (HEADS["an import"] + OPTION + "\n\n\n", DETAIL)],
)
def test_other_failures_and_what_is_set_already_stay(head: str, detail: str) -> None:
    assert allowed(head + BODY.format(kind="GRU"), detail) == []


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_dynamo_takes_it_then(kind: str) -> None:
    import torch
    import torch._dynamo

    (new,) = allowed(HEADS["an import"] + BODY.format(kind=kind))
    with torch._dynamo.config.patch(allow_rnn=False):  # puts back what the file sets
        model, x = load(new, "Model")(), torch.randn(4, 2)
        compiled = torch.compile(model, fullgraph=True, backend="eager")
        assert torch.equal(compiled(x), model(x))
