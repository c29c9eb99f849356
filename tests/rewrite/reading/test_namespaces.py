"""Modules whose names somebody goes through, and tensors of other classes: what a rewrite adds or gives shows there."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from control_flow import TENSOR, candidates, context_of

from ddelint.rewrite.reading.namespaces import gone_through
from ddelint.rewrite.reading.tensor_classes import own_tensors

TEXT = (
    "import inspect\nimport sys\nimport torch\n\n\ndef fn(x, y):\n"
    "    if x.sum() == 0 or y.max() > 1:\n        return x\n    return y\n\n\n"
)
TYPES = {"x": TENSOR, "y": TENSOR}


def found(path: Path, text: str) -> str:
    path.write_text(text)
    context = context_of(text, "x.sum() == 0 or y.max() > 1", TYPES, "DDE105", filename=str(path))
    added = [one for one in candidates("symbolic_logic", context) if one.imports]
    return gone_through(added[0], context.site.source)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("ALL = {name: f for name, f in globals().items() if inspect.isfunction(f)}\n", True),
        ("ALL = inspect.getmembers(sys.modules[__name__], inspect.isfunction)\n", True),
        ("__all__ = [name for name in dir() if name != 'torch']\n", True),
        ("def table():\n    return dict(globals())\n", True),
        ("ALL = list(vars(sys.modules[__name__]))\n", True),
        ("def chosen(name):\n    return globals()[name]\n", False),
        ("def chosen(name):\n    return globals().get(name) if name in globals() else None\n", False),
        ("def kept():\n    a = 1\n    return locals()\n", False),
        ("def fields(x):\n    return vars(x), dir(x), inspect.getmembers(x)\n", False),
    ],
)
def test_a_name_more_among_those_of_the_module(tmp_path: Path, text: str, counts: bool) -> None:
    assert found(tmp_path / "losses.py", TEXT + text).startswith("it adds a name to its module") is counts


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("import inspect\nimport losses\n\nALL = dict(inspect.getmembers(losses, inspect.isfunction))\n", True),
        ("from package import losses\n\n\ndef names():\n    return [*losses.__dict__]\n", True),
        ("import losses as l\n\nALL = vars(l)\n", True),
        ("import losses\n\nONE = losses.__dict__['fn']\n", False),
        ("import losses\nimport other\n\nALL = vars(other)\n", False),
    ],
)
def test_so_does_a_file_that_imports_it(tmp_path: Path, text: str, counts: bool) -> None:
    (tmp_path / "registry.py").write_text(text)
    assert found(tmp_path / "losses.py", TEXT).endswith("of registry.py)") is counts


def test_so_does_one_that_imports_the_package_that_it_is(tmp_path: Path) -> None:
    (tmp_path / "losses").mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "registry.py").write_text("import inspect\nimport losses\n\nALL = inspect.getmembers(losses)\n")
    assert found(tmp_path / "losses" / "__init__.py", TEXT).endswith("of registry.py)")


def test_a_name_that_is_there_is_none_more(tmp_path: Path) -> None:
    there = "from torch.fx.experimental.symbolic_shapes import sym_or\n" + TEXT + "ALL = dict(globals())\n"
    context = context_of(there, "x.sum() == 0 or y.max() > 1", TYPES, "DDE105", filename=str(tmp_path / "m.py"))
    for one in candidates("symbolic_logic", context):
        assert gone_through(dataclasses.replace(one, imports=()), context.site.source) == ""
        assert all(needed.name == "sym_or" for needed in one.imports)


# ---------------------------------------------------------------------- tensors of other classes

BOXES = "class Boxes(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, *_):\n        return 1\n\n\n"


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f"import torch\nfrom losses import fn\n\n\n{BOXES}", True),
        ("from losses import fn\nfrom boxes import Boxes\n", True),
        ("from losses import fn\nfrom handed import Frames\n", True),
        ("from losses import fn\nfrom guarded import Boxes\n", True),
        ("import losses\nfrom torchvision import tv_tensors\n\n\ndef run(x):\n    return losses.fn(x, x)\n", True),
        ("from losses import fn\nfrom boxes import Other\n", False),
        ("import boxes\nfrom losses import fn\n\n\nclass Turned(boxes.Boxes):\n    pass\n", True),
        ("import boxes\nfrom losses import fn\n\n\nclass Turned(boxes.Plain):\n    pass\n", False),
        ("from losses import fn\nfrom turned import Turned\n", True),
        (
            "import torch\nfrom losses import fn\n\n\nclass Net(torch.nn.Module):\n    def f(self):\n        pass\n",
            False,
        ),
        (f"import torch\nfrom others import fn\n\n\n{BOXES}", False),
    ],
)
def test_a_class_of_tensors_that_was_not_run(tmp_path: Path, text: str, counts: bool) -> None:
    (tmp_path / "boxes.py").write_text(
        f"import torch\n\n\n{BOXES}class Plain(torch.Tensor):\n    pass\n\n\nclass Other:\n    pass\n"
    )
    (tmp_path / "turned.py").write_text("import boxes\n\n\nclass Turned(boxes.Boxes):\n    pass\n")
    (tmp_path / "handed.py").write_text("from boxes import Boxes as Frames\n")
    guarded = "import torch\n\nif True:\n" + "".join(f"    {line}\n" for line in BOXES.splitlines())
    (tmp_path / "guarded.py").write_text(guarded)
    (tmp_path / "serve.py").write_text(text)
    context = context_of(TEXT, "x.sum() == 0 or y.max() > 1", TYPES, "DDE105", filename=str(tmp_path / "losses.py"))
    run = {f"{tmp_path / name}::Boxes.__torch_function__" for name in ("serve.py", "boxes.py", "guarded.py")}
    assert own_tensors(context.site, ()).endswith("with which this was not run") is counts
    if "tv_tensors" not in text:
        assert own_tensors(context.site, run) == ""


def test_one_of_the_file_itself_counts(tmp_path: Path) -> None:
    context = context_of(
        TEXT + BOXES, "x.sum() == 0 or y.max() > 1", TYPES, "DDE105", filename=str(tmp_path / "losses.py")
    )
    assert own_tensors(context.site, ()).startswith("`Boxes` is a tensor of a class of its own")


def test_an_heir_with_something_of_its_own_has_to_run_itself(tmp_path: Path) -> None:
    (tmp_path / "boxes.py").write_text(f"import torch\n\n\n{BOXES}")
    heir = (
        "from boxes import Boxes\n\n\nclass Turned(Boxes):\n    def __torch_function__(self, *_):\n        return 2\n"
    )
    (tmp_path / "serve.py").write_text(f"from losses import fn\n{heir}")
    context = context_of(TEXT, "x.sum() == 0 or y.max() > 1", TYPES, "DDE105", filename=str(tmp_path / "losses.py"))
    run = {f"{tmp_path / 'boxes.py'}::Boxes.__torch_function__"}
    assert own_tensors(context.site, run).startswith("`Turned` of serve.py is a tensor")
    assert own_tensors(context.site, {*run, f"{tmp_path / 'serve.py'}::Turned.__torch_function__"}) == ""
