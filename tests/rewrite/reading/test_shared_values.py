"""Where a new value for each call does for the one that a cache keeps."""

from __future__ import annotations

import ast
import textwrap

import pytest

from ddelint.rewrite.reading.shared_values import is_as_good_as_new
from ddelint.sources.source import SourceFile


def asked(function: str, use: str) -> bool:
    """What is said of a cached `table(n)` with this body, which the file uses so."""
    body = textwrap.indent(function, "    ")
    text = f"import functools\nimport torch\n\n@functools.cache\ndef table(n):\n{body}\n\n{use}\n"
    source = SourceFile("m.py", text)
    node = next(node for node in source.tree.body if isinstance(node, ast.FunctionDef))
    return is_as_good_as_new(node, source)


READ = "def f(x, n):\n    return x + table(n)"


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("return torch.arange(n)", True),
        ("return torch.arange(n).float().view(1, -1) / n, n", True),
        ("rows = []\nfor i in range(n):\n    rows.append(torch.full((2,), i))\nreturn torch.stack(rows)", True),
        ("if n < 2:\n    return torch.zeros(1)\nhalf = torch.ones(n)\nreturn half * 2", True),
        ("return []", False),
        ("return {i: torch.zeros(1) for i in range(n)}", False),
        ("return iter(range(n))", False),
        ("return (i for i in range(n))", False),
        ("return torch.nn.Parameter(torch.zeros(n))", False),
        ("return torch.zeros(n).requires_grad_()", False),
        ("layer = torch.nn.Identity()\nreturn layer", False),
        ("return object()", False),
        ("print(n)", False),
    ],
)
def test_what_a_function_gives(function: str, expected: bool) -> None:
    assert asked(function, READ) is expected


@pytest.mark.parametrize(
    "use",
    [
        "def f(x, n):\n    total = table(n)\n    total += x\n    return total.clone()",
        "def f(x, n):\n    table(n).add_(x)",
        "def f(x, n):\n    row = table(n)[0]\n    row.mul_(2)",
        "def f(x, n):\n    table(n)[0] = x",
        "def f(x, n):\n    rows = table(n).view(-1, 1)\n    rows[x] = 1",
        "def get(n):\n    return table(n)\n\ndef f(x, n):\n    kept = get(n)\n    kept.zero_()",
        "def f(x, n):\n    torch.add(x, 1, out=table(n))",
        "def f(x, n):\n    m = table(n)\n    return m is LAST",
        "def f(x, n):\n    return id(table(n))",
        "def f(self, n):\n    self.table = table(n)",
        "def f(x, n):\n    SEEN.append(table(n))",
        "def f(x, n):\n    return torch.nn.functional.relu(table(n), inplace=True)",
        "def f(x, n):\n    torch.set_default_dtype(torch.float64)\n    return table(n)",
    ],
)
def test_who_changes_it_or_asks_which_it_is(use: str) -> None:
    assert not asked("return torch.arange(n)", use)


@pytest.mark.parametrize(
    "use",
    [
        "def f(x, n):\n    total = x + table(n)\n    total += 1\n    return total",
        "def f(x, n):\n    return table(n)[:3].float()",
        "def f(x, n):\n    m = table(n)\n    return x.masked_fill(m == 0, 0.0)",
        "def f(x, n):\n    return x.index_add_(0, table(n), x)",
        "def get(n):\n    return table(n)\n\ndef f(x, n):\n    return get(n).sum()",
    ],
)
def test_who_only_reads_it(use: str) -> None:
    assert asked("return torch.arange(n)", use)
