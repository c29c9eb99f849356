"""Whether a name is None at times, as far as the text says."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ddelint.rewrite.reading.optional import may_be_none
from ddelint.sources.source import SourceFile


def asked(text: str) -> bool:
    """What is said of the test of the last `if` in a text."""
    source = SourceFile("m.py", textwrap.dedent(text))
    test = [node for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1].test
    return may_be_none(source, test)


@pytest.mark.parametrize(
    "text",
    [
        "def f(n: int | None):\n    if n: pass",
        "def f(n: 'int | None' = 3):\n    if n: pass",
        "def f(n: Optional[int]):\n    if n: pass",
        "def f(n: typing.Union[int, None]):\n    if n: pass",
        "def f(n: 'typing.Union[int, None]'):\n    if n: pass",
        "def f(n: Annotated[Optional[int], 'rows']):\n    if n: pass",
        "def f(n=None):\n    if n: pass",
        "def f(*, n=None):\n    if n: pass",
        "def f(x, p):\n    n = None\n    if p:\n        n = int(x.max())\n    use(n)\n    if n: pass",
        "def f(x, p):\n    n = int(x.max()) if p else None\n    if n: pass",
        "def f(options):\n    n = options.get('n')\n    if n: pass",
        "def f(self):\n    n: int | None = getattr(self, 'n', None)\n    if n: pass",
        "class M:\n    n: int | None\n    def f(self):\n        if self.n: pass",
        "class M:\n    def __init__(self, n=None):\n        self.n = n\n    def f(self):\n        if self.n: pass",
        "class M:\n    def g(self):\n        self.n = None\n    def f(self):\n        if self.n: pass",
        "def f(n=None):\n    if n is not None:\n        use(n)\n    if n: pass",
        "def f(n=None):\n    if n is None:\n        log()\n    if n: pass",
        "def f(n=None):\n    if n is None or n: pass\n    if n: pass",
        "def f(n=None, m=None):\n    if n is None:\n        return\n    if m: pass",
    ],
)
def test_it_may_be(text: str) -> None:
    assert asked(text)


@pytest.mark.parametrize(
    "text",
    [
        "def f(n: int):\n    if n: pass",
        "def f(n: 'list[Optional[int]]'):\n    if n: pass",
        "def f(n=3):\n    if n: pass",
        "def f(x):\n    n = int(x.max())\n    if n: pass",
        "def f(options):\n    n = options.get('n', 0)\n    if n: pass",
        "def f(n=None):\n    if n is None:\n        n = 3\n    while n:\n        if n: pass",
        "def f(n=None, m=3):\n    if m: pass",
        "class M:\n    def __init__(self, n=3):\n        self.n = n\n    def f(self):\n        if self.n: pass",
        "def f(x=None):\n    if x.any(): pass",
        "n = None\nif n: pass",
        "def f(n=None):\n    if n is None:\n        return\n    for _ in range(3):\n        if n: pass",
        "def f(n=None):\n    if not (n is None):\n        if n: pass",
        "def f(n=None):\n    if n is None:\n        use()\n    else:\n        if n: pass",
        "def f(n=None, m=3):\n    assert m and n is not None\n    if n: pass",
        "class M:\n  def f(self, n=None):\n    self.n = n\n    assert self.n is not None\n    if self.n: pass",
    ],
)
def test_nothing_says_that_it_is(text: str) -> None:
    assert not asked(text)


def test_an_operand_behind_the_question_is_a_number() -> None:
    source = SourceFile("m.py", "def f(n=None):\n    return n is not None and n > 2 and n")
    numbers = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name)]
    assert [may_be_none(source, node) for node in numbers].count(True) == 1
