"""registered_dataclass: what a program returns is registered where its class is defined."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from control_flow import context_of, load, rewritten

from ddelint.rewrite.moves.registered import registered_dataclass
from ddelint.rewrite.reading.knowledge import knowledge

TEXT = """import dataclasses
from dataclasses import dataclass

import torch


{decorator}
class Output:
    logits: torch.Tensor
    clipped: bool


class Model(torch.nn.Module):
    def forward(self, x):
        return Output(torch.where(x.sum() > 0, x, -x), x.sum() > 0)
"""
DETAIL = "RuntimeError: Found <class 'program.Output'> in output, which is not a known type. If this type holds tensors"


def registered(decorator: str, detail: str = DETAIL) -> list[str]:
    text = TEXT.format(decorator=decorator)
    context = context_of(text, "Output(torch", code="DDE005")
    return rewritten("registered_dataclass", replace(context, detail=detail))


@pytest.mark.parametrize("decorator", ["@dataclass", "@dataclass(frozen=True)", "@dataclasses.dataclass"])
def test_the_class_is_registered_behind_its_definition(decorator: str) -> None:
    (new,) = registered(decorator)
    assert "    clipped: bool\n\n\ntorch.export.register_dataclass(Output)\n\n\nclass Model" in new
    assert new.replace("torch.export.register_dataclass(Output)\n\n\n", "") == TEXT.format(decorator=decorator)


@pytest.mark.parametrize(
    ("decorator", "detail"),
    [
        ("@final", DETAIL),
        ("@dataclass", DETAIL.replace("program.Output", "elsewhere.Result")),
        ("@dataclass", "RuntimeError: another error"),
    ],
)
def test_other_classes_and_other_errors_stay(decorator: str, detail: str) -> None:
    assert registered(decorator, detail) == []


def doubt(text: str, folder: Path) -> str:
    (folder / "pyproject.toml").write_text("")
    context = context_of(text, "Output(torch", code="DDE005", filename=str(folder / "package" / "program.py"))
    (offered,) = registered_dataclass(replace(context, detail=DETAIL))
    return offered.doubt


@pytest.mark.parametrize(
    ("helper", "is_doubtful"),
    [
        ("pytree.tree_leaves(results)", True),
        ("tree_map(print, results)", True),
        ("torch.utils._pytree.tree_flatten(results)[0]", True),
        ("torch.export.register_dataclass(Output)", True),
        ("list(results)", False),
        ("tree_of_life(results)", False),
    ],
)
def test_whoever_goes_through_trees_may_find_something_else(helper: str, is_doubtful: bool, tmp_path: Path) -> None:
    text = TEXT.format(decorator="@dataclass") + f"\n\ndef records(results):\n    return {helper}\n"
    assert ("goes through trees in this file" in doubt(text, tmp_path)) is is_doubtful


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"scores.py": "from package.program import Output\ndef f(r): return tree_map(float, r)\n"}, "scores.py"),
        ({"scores.py": "from . import program\ndef f(r): return pytree.tree_leaves(r)\n"}, "scores.py"),
        ({"scores.py": "def f(r):\n    from .program import Model\n    return tree_leaves(r)\n"}, "scores.py"),
        (
            {"run.py": "from .program import Model\nfrom . import moving\n", "moving.py": "tree_map = 1\n"},
            "moving.py",
        ),
        ({"__init__.py": "from .program import Model\n", "run.py": "from package import Model\nvmap = 1\n"}, "run.py"),
        ({"run.py": "from .program import Model\n", "moving.py": "tree_map = 1\n"}, ""),
        ({"scores.py": "from .program import Output\ndef f(r): return list(r)\n"}, ""),
    ],
)
def test_so_may_files_that_the_object_comes_to(files: dict[str, str], found: str, tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    for name, text in files.items():
        (tmp_path / "package" / name).write_text(text)
    said = doubt(TEXT.format(decorator="@dataclass"), tmp_path)
    assert said.partition(" finds ")[0] == (f"what goes through trees in {found}" if found else "")


def test_all_functions_of_trees_are_known() -> None:
    from torch.utils import _pytree

    assert {name for name in vars(_pytree) if name.startswith("tree_")} <= knowledge().tree_words


def test_torch_exports_what_is_registered() -> None:
    import torch

    (new,) = registered("@dataclass")
    exported = torch.export.export(load(new, "Model")(), (torch.ones(3),))
    assert exported.module()(-torch.ones(3)).logits.tolist() == [1, 1, 1]
