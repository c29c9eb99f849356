"""DDE701: a compiled forward under autocast, its backward outside."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ddelint.nouns.protocol import SessionOptions
from ddelint.rewrite.static_fixes import with_static_fixes
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source
from ddelint.verify.compiled import compile_targets

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "rules" / "DDE701" / "entry_train.py"

SOLVE = """
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Parameter(torch.randn(8, 8))

        def forward(self, b):
            return torch.linalg.solve(self.a @ self.a.T + 4 * torch.eye(8), b).float().square()

    def make_inputs(seed):
        return (torch.randn(8, 2, generator=torch.Generator().manual_seed(seed)),)
"""


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def furthest(module: Any) -> float:
    """How far compiled gradients are from eager's, relative to the largest."""
    with torch.compiler.set_stance("force_eager"):
        wanted = module.step(0)
    return max(float((one - two).abs().max() / one.abs().max()) for one, two in zip(wanted, module.step(0)))


def test_the_fix_makes_the_gradients_agree() -> None:
    source = SourceFile.read(FIXTURE)
    (finding,) = check_source(source)
    (told,) = with_static_fixes([finding], {source.filename: source})
    assert told.fix is not None
    fixed = FIXTURE.with_name("entry_train_fixed.py")
    assert source.apply(list(told.fix.edits)) == fixed.read_text("utf-8")
    assert furthest(loaded(FIXTURE)) > 1e-3
    assert furthest(loaded(fixed)) < 1e-5


def test_a_second_run_finds_nothing() -> None:
    assert list(check_source(SourceFile.read(FIXTURE.with_name("entry_train_fixed.py")))) == []


@pytest.mark.parametrize("autocast", [True, False])
def test_what_the_patch_fixes_is_told(program: Callable[..., Any], options: SessionOptions, autocast: bool) -> None:
    def surroundings() -> Any:
        return torch.autocast("cpu", dtype=torch.bfloat16, enabled=autocast)

    entry = program(SOLVE, surroundings=surroundings)
    found = compile_targets(entry, lambda: entry, ("compile",), options, 2, "aot_eager")
    questions = [question for result in found.results for question in result.questions]
    assert [question.kind for question in questions] == (["autocast"] if autocast else [])
    assert ("backward_pass_autocast" in "".join(q.detail for q in questions)) is autocast
