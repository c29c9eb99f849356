"""What code reads and writes by name, and which names are free."""

from __future__ import annotations

import ast

import pytest

from ddelint.rewrite.reading.names import fresh_name, is_pure, names_written, stands_in_eager
from ddelint.sources.source import SourceFile


def test_purity_and_names() -> None:
    assert is_pure(ast.parse("x.sum() + f(y)[0]"))
    assert not is_pure(ast.parse("x.add_(1)"))
    assert not is_pure(ast.parse("rows.append(1)"))
    assert not is_pure(ast.parse("(y := 1)"))
    assert names_written(ast.parse("a, (b, *c) = 1\nd += 1\nx = [i for i in y]\nz.w = 2")) == {"a", "b", "c", "d", "x"}


def test_fresh_names() -> None:
    source = SourceFile("m.py", "condition = 1\n")
    assert fresh_name(source, "condition") == "condition_2"
    assert fresh_name(source, "other") == "other"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if not torch.compiler.is_compiling():\n    say(x)\n", True),
        ("if not torch.compiler.is_compiling() and x.any():\n    if n:\n        say(x)\n", True),
        ("if torch.compiler.is_compiling():\n    y = 1\nelse:\n    say(x)\n", True),
        ("if torch.compiler.is_compiling() or x.any():\n    y = 1\nelif n:\n    say(x)\n", True),
        ("y = 1 if is_compiling() else say(x)\n", True),
        ("if not is_compiling() and say(x):\n    y = 1\n", True),
        ("y = torch.compiler.is_compiling() or say(x)\n", True),
        ("if torch.compiler.is_compiling() or x.any():\n    say(x)\n", False),
        ("if torch.compiler.is_compiling():\n    say(x)\n", False),
        ("if not torch.compiler.is_compiling():\n    y = 1\nelse:\n    say(x)\n", False),
        ("if not torch.compiler.is_compiling() and x.any():\n    y = 1\nelse:\n    say(x)\n", False),
        ("if not torch.compiler.is_compiling() or n:\n    say(x)\n", False),
        ("if say(x) and not torch.compiler.is_compiling():\n    y = 1\n", False),
        ("say(x)\n", False),
    ],
)
def test_what_only_eager_runs(text: str, expected: bool) -> None:
    source = SourceFile("m.py", text)
    (call,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.Call) and ast.unparse(node) == "say(x)")
    assert stands_in_eager(source, call) is expected
