"""What a file offers, read off its syntax alone."""

from __future__ import annotations

import textwrap

import pytest

from ddelint.sources.source import SourceFile
from ddelint.trace.offers import static_offer


@pytest.mark.parametrize(
    ("text", "offer"),
    [
        ("class Model: ...\ndef get_inputs(): ...", "model.py:Model, inputs from get_inputs()"),
        ("class Model: ...\ndef make_inputs(seed): ...", "model.py:Model, inputs from make_inputs(seed)"),
        ("def fn(x): ...\ndef make_inputs(number): ...", "model.py:fn, inputs from make_inputs(number)"),
        ("fn = torch.relu\ndef make_inputs(): ...", "model.py:fn, inputs from make_inputs()"),
        ("from a import Model\nfrom b import get_inputs", "model.py:Model, inputs from get_inputs()"),
        ("model = M()\nargs = (1,)", "model.py:model, inputs from args and kwargs"),
        ("model = M()\nargs, kwargs = (), {}", "model.py:model, inputs from args and kwargs"),
        ("with f():\n    model = M()\nif x:\n    kwargs = {}", "model.py:model, inputs from args and kwargs"),
        ("def ddelint_entries(): ...", "model.py:ddelint_entries()"),
        (
            "class Net(pl.LightningModule):\n    example_input_array = 1",
            "model.py:Net, inputs from example_input_array",
        ),
        (
            "class A(LightningModule): ...\nclass B(A):\n    def __init__(self):\n        self.example_input_array = 1",
            "model.py:B, inputs from example_input_array",
        ),
        ("class Model: ...\ndef fn(): ...\ndef make_inputs(s): ...", "model.py:Model, inputs from make_inputs(s)"),
        ("class Model: ...", None),
        ("def make_inputs(seed): ...", None),
        ("def get_inputs(): ...\ndef fn(x): ...", None),
        ("model = M()", None),
        ("args = ()", None),
        ("if __name__ == '__main__':\n    model = M()\n    args = ()", None),
        ("def f():\n    class Model: ...\n    def get_inputs(): ...", None),
        ("class Net(LightningModule): ...", None),
        ("class Net(Module):\n    example_input_array = 1", None),
        ("def broken(:", None),
        ("", None),
    ],
)
def test_offers(text: str, offer: str | None) -> None:
    assert static_offer(SourceFile("/somewhere/model.py", textwrap.dedent(text))) == offer
