"""Functions that are given to something, stored, or picked: who holds one calls it, also in another file."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

HELPERS = """import torch

def _ask(x, y=0):
    x = x.contiguous()
    if x.sum() > 0:
        return x
    return y

class Asks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        if x.sum() > 0:
            return x
        return ctx

OPS = {"ask": _ask, "none": None}
ALL = [
    _ask,
]
alias = _ask
apply_it = Asks.apply
"""
FUNCTION, APPLIED = ("helpers.py", 5), ("helpers.py", 12)
MODEL = """import torch
from torch import nn
from functools import partial
from kit.helpers import ALL, OPS, Asks, _ask, alias, apply_it
import engine
{above}
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {stored}

    def forward(self, x, kind):
        return {called}
"""


@pytest.mark.parametrize(
    ("above", "stored", "called", "found"),
    [
        ("", "self.op = Asks.apply", "self.op(x)", APPLIED),
        ("", "self.op: object = Asks.apply", "self.op(x)", APPLIED),
        ("", "self.ops = {'a': Asks.apply}", "self.ops[kind](x)", APPLIED),
        ("run = Asks.apply\n", "pass", "run(x)", APPLIED),
        ("", "pass", "apply_it(x)", APPLIED),
        ("", "pass", "engine.each(Asks.apply, x)", APPLIED),
        ("", "pass", "engine.each(_ask, x)", FUNCTION),
        ("", "pass", "engine.each(partial(_ask, y=3), x)", FUNCTION),
        ("", "pass", "(lambda a: _ask(a))(x)", FUNCTION),
        ("", "self.op = partial(_ask, y=3)", "self.op(x)", FUNCTION),
        ("", "self.op = _ask if torch else None", "engine.each(self.op, x)", FUNCTION),
        ("", "self.ops = [_ask, None]", "[op(x) for op in self.ops]", FUNCTION),
        ("", "pass", "OPS[kind](x)", FUNCTION),
        ("", "pass", "OPS.get(kind)(x)", FUNCTION),
        ("", "pass", "[op(x) for op in ALL]", FUNCTION),
        ("", "pass", "alias(x)", FUNCTION),
        ("TABLE = {'a': _ask}\n", "pass", "TABLE[kind](x)", FUNCTION),
        ("", "self.op = _ask", "x", None),
        ("TABLE = {'a': _ask}\n", "pass", "x", None),
    ],
)
def test_a_function_of_another_file(
    tmp_path: Path, above: str, stored: str, called: str, found: tuple[str, int] | None
) -> None:
    files = {"helpers.py": HELPERS, "model.py": MODEL.format(above=above, stored=stored, called=called)}
    assert rows(tmp_path, files) == ([] if found is None else [found])


OWN = """import torch
from functools import partial
import engine
from kit.helpers import OPS

class Model(torch.nn.Module):
    def forward(self, x, kind):
        {body}

    def _one(self, x, y=0):
        x = x.contiguous()
        if x.sum() > 0:
            return x
        return y
"""


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return engine.each(self._one, x)", 1),
        ("return engine.each(x, function=self._one)", 1),
        ("return engine.each(partial(self._one, y=2), x)", 1),
        ("return engine.each(lambda a: self._one(a), x)", 1),
        ("one = self._one\n        return engine.each(one, x)", 1),
        ("return engine.each(self._one if kind else self.other, x)", 1),
        ("return list(map(partial(self._one, y=1), *x))", 1),
        ("def one(a):\n            return self._one(a)\n        return engine.each(one, x)", 1),
        ("return torch.compiler.disable(self._one)(x)", 0),
        ("return x", 0),
    ],
)
def test_a_method_that_something_is_given(tmp_path: Path, body: str, found: int) -> None:
    files = {"helpers.py": HELPERS, "model.py": OWN.format(body=body)}
    assert len([name for name, _ in rows(tmp_path, files) if name == "model.py"]) == found
