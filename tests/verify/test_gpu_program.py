"""What a program that is compiled for a GPU is surrounded by."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
import torch

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


def test_an_original_compiles_after_another_version_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "outer_version": "import inner_version as i, middle_version as m\ndef fn(x):\n    return m.g(i.f(x))\n",
        "middle_version": "import inner_version\ndef g(x):\n    return inner_version.f(x)\n",
        "inner_version": "def f(x):\n    return x + 1\n",
    }
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    first = importlib.import_module("outer_version")
    known = dict(sys.modules)
    for name in texts:
        del sys.modules[name]
    second = importlib.import_module("outer_version")
    x = torch.ones(3)
    assert torch.equal(torch.compile(second.fn, backend="eager")(x), x + 2)
    with imports_of(known):
        assert torch.equal(torch.compile(first.fn, backend="eager")(x), x + 2)
    for name in texts:
        sys.modules.pop(name)
