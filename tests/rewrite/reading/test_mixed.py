"""Whether a name is a Python number at times, as far as the text says."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ddelint.rewrite.reading.mixed import may_be_number
from ddelint.sources.source import SourceFile


def asked(text: str) -> bool:
    """What is said of `t` where it is compared in the last `if` of a text."""
    source = SourceFile("m.py", textwrap.dedent(text))
    test = [node for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1].test
    assert isinstance(test, ast.Compare)
    return may_be_number(source, test.left)


@pytest.mark.parametrize(
    "text",
    [
        "def f(t: float | Tensor):\n    if t > 0: pass",
        "def f(t: 'Union[torch.Tensor, numbers.Number]'):\n    if t > 0: pass",
        "def f(t=1.0):\n    if t > 0: pass",
        "def f(*, t: Any = -1):\n    if t > 0: pass",
        "def f(t):\n    if isinstance(t, float | int) or (isinstance(t, Tensor) and p(t)):\n        if t > 0: pass",
        "def f(t):\n    t = float(t) if isinstance(t, (int, float)) else t\n    if t > 0: pass",
        "def f(t: int | Tensor):\n    if isinstance(t, Tensor):\n        use(t)\n    if t > 0: pass",
        "def f(x, low=0.0):\n    t = max(low, x.min())\n    if t > 0: pass",
        "def f(x, n):\n    t = n if n is not None else x.max()\n    if t > 0: pass",
        "def f(self, x):\n    t = self.limit or x.max()\n    if t > 0: pass",
        "def f(x):\n    for t in (x.max(), 3):\n        if t > 0: pass",
        "def f(x):\n    bounds = [x.max(), 3]\n    for t in bounds:\n        if t > 0: pass",
        "def f(x):\n    for i, t in enumerate((x.max(), 3)):\n        if t > 0: pass",
        "def f(x, known):\n    t = known.get('t', 0)\n    if t > 0: pass",
        "def f(x, o):\n    t = getattr(o, 't', -1)\n    if t > 0: pass",
        "def f(x, n):\n    first = x.max() if n is None else n\n    t = first\n    if t > 0: pass",
        "class A:\n    def __init__(self):\n        self.t = 0\n\n    def f(self):\n        if self.t > 0: pass",
    ],
)
def test_a_number_at_times(text: str) -> None:
    assert asked(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(t: Tensor):\n    if t > 0: pass",
        "def f(t: Tensor | None = None):\n    if t > 0: pass",
        "def f(t, n=1.0):\n    if t > 0: pass",
        "def f(t: float | Tensor):\n    if isinstance(t, torch.Tensor):\n        if t > 0: pass",
        "def f(t: float | Tensor):\n    if not torch.is_tensor(t):\n        return\n    if t > 0: pass",
        "def f(t):\n    if isinstance(t, (int, float)):\n        use(t)\n    else:\n        if t > 0: pass",
        "def f(t=1.0):\n    assert isinstance(t, Tensor) and t.numel()\n    if t > 0: pass",
        "t = 1.0\nif t > 0: pass",
        "def f(x):\n    t = x.max() if x.dim() else x.sum()\n    if t > 0: pass",
        "def f(x):\n    t = max(x.max(), x[0].abs() + 1)\n    if t > 0: pass",
        "def f(x):\n    for t in (x.max(), -x.min()):\n        if t > 0: pass",
        "def f(t):\n    t = t\n    if t > 0: pass",
        "def f(x):\n    for name, t in zip(('a', 'b'), (x.max(), x.min())):\n        if t > 0: pass",
        "class A:\n    def f(self, x):\n        self.t = x.sum()\n        if self.t > 0: pass",
    ],
)
def test_a_tensor_always(text: str) -> None:
    assert not asked(text)
