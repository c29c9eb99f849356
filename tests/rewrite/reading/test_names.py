"""What code reads and writes by name, and which names are free."""

from __future__ import annotations

import ast

from ddelint.rewrite.reading.names import fresh_name, is_pure, names_written
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
