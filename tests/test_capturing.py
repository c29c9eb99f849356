"""`ddelint.capture()`: what is compiled in a block of this process is checked at its end."""

from __future__ import annotations

import importlib.util
import linecache
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
import torch

import ddelint
from ddelint.capturing import Capturing
from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.report.model import Report
from ddelint.trace import cells

ROUTER = """import torch


class Router(torch.nn.Module):
    def forward(self, x, mask):
        index = mask.nonzero().squeeze(1)
        if index.shape[0] == 0:
            return x.new_zeros(0, x.shape[1])
        return x[index] * 2
"""
Module = Callable[[str], ModuleType]


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """ROUTER, imported from a file of its own."""
    path = tmp_path / "routing_of_a_test.py"
    path.write_text(ROUTER)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, made)
    spec.loader.exec_module(made)
    return made


def arguments() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.ones(4, 3), torch.tensor([True, False, True, True])


def test_what_is_compiled_inside_is_explained_and_fixed(module: ModuleType, tmp_path: Path) -> None:
    compiled_before = torch.compile(module.Router(), fullgraph=True)
    with ddelint.capture(tmp_path, target="export", samples=8) as captured:
        result = compiled_before(*arguments())
    assert result.shape == (3, 3)
    assert captured.report is not None
    (finding,) = captured.report.remaining
    assert (finding.code, finding.span.row) == ("DDE102", 7)
    assert finding.fix is not None
    assert finding.evidence is not None
    assert finding.evidence.eager_equal
    assert Path(str(module.__file__)).read_text() == ROUTER
    assert "details" in str(captured._repr_html_())


def test_an_error_inside_goes_through_with_a_note(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Report((Diagnostic("DDE102", "asked", Span(str(module.__file__), 7, 12, 7, 20)),))
    monkeypatch.setattr("ddelint.capturing._checked", lambda *arguments: found)

    def fail(captured: Capturing) -> None:
        with captured:
            torch.compile(module.Router())(*arguments())
            raise ValueError("of mine")

    captured = ddelint.capture(tmp_path)
    with pytest.raises(ValueError, match="of mine") as error:
        fail(captured)
    assert "1 finding in 1 file" in error.value.__notes__[0]
    assert captured.report is found


def test_a_check_that_fails_does_not_hide_the_error_inside(
    module: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> Report:
        raise ddelint.DdelintError("no fork here")

    monkeypatch.setattr("ddelint.capturing._checked", refuse)

    def fail(captured: Capturing) -> None:
        with captured:
            torch.compile(module.Router())(*arguments())
            raise ValueError("of mine")

    with pytest.raises(ValueError, match="of mine") as error:
        fail(ddelint.capture(tmp_path))
    assert "no fork here" in error.value.__notes__[0]
    with pytest.raises(ddelint.DdelintError, match="no fork here"), ddelint.capture(tmp_path):
        torch.compile(module.Router())(*arguments())


def test_a_block_that_compiles_nothing_says_so() -> None:
    with pytest.raises(ddelint.DdelintError, match="nothing to check"), ddelint.capture():
        torch.ones(2).sum()


def test_a_cell_of_a_notebook_is_a_file_for_a_while(tmp_path: Path) -> None:
    text = "def one(x):\n    return x + 1\n"
    kernel, terminal = str(tmp_path / "ipykernel_1" / "77.py"), "<ipython-input-3-0123456789ab>"
    namespace: dict[str, object] = {}
    for name in (kernel, terminal):
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), namespace)
    try:
        with cells.written() as written:
            assert Path(kernel).read_text() == text
            assert written.files[os.path.realpath(kernel)] == kernel
            place = written.renamed[terminal]
            assert Path(place).read_text() == text
            assert written.files[place] == "In[3]"
            renamed = cells._renamed(namespace["one"].__code__, written.renamed)  # type: ignore[attr-defined]
            assert renamed.co_filename == place
    finally:
        del linecache.cache[kernel], linecache.cache[terminal]
    assert not Path(kernel).exists()
    assert not Path(place).exists()
