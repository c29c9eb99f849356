"""What a program that is compiled for a GPU is surrounded by."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

from ddelint.verify.gpu_program import imports_of


def test_an_original_finds_the_modules_that_it_was_loaded_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "swapped_module.py").write_text("number = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    first = importlib.import_module("swapped_module")
    known = dict(sys.modules)
    del sys.modules["swapped_module"]
    second = importlib.import_module("swapped_module")
    assert second is not first
    with imports_of(known):
        assert importlib.import_module("swapped_module") is first
    assert importlib.import_module("swapped_module") is second
    del sys.modules["swapped_module"]
    with imports_of(known):
        assert importlib.import_module("swapped_module") is first
    assert "swapped_module" not in sys.modules
