"""What the static pass makes of several files: who compiles what, what is inherited, what an import really is."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from across import Tree

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.static import checks
from ddelint.static.domain.values import Value
from ddelint.static.elsewhere import Elsewhere
from ddelint.static.program.project import Project
from ddelint.static.program.regions import FileIndex


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


HELPER = """
def count(x):
    n = x.sum().item()
    if n > 4:
        return x
    return -x
"""


@pytest.mark.parametrize(
    "caller",
    [
        "import torch\nfrom pkg.helper import count\n\nfast = torch.compile(count)\n",
        "import torch as t\nfrom .helper import count as c\n\nfast = t.compile(c, fullgraph=True)\n",
        "import torch\nimport pkg.helper as h\n\n\ndef main():\n    return torch.export.export(h.count, ())\n",
        "from torch import compile\nfrom . import helper\n\nfast = compile(helper.count)\n",
        "import torch\nfrom .front import tally\n\nfast = torch.compile(tally)\n",
        "import torch\nimport pkg.helper\n\nfast = torch.compile(pkg.helper.count)\n",
        "import torch\nfrom .helper import (  # the (old) one\n    count,\n)\n\nfast = torch.compile(count)\n",
        "import torch, os; from . helper import(count)\n\nfast = torch.compile(count)\n",
        "import torch\nfrom.helper import HELPER, \\\n    count\n\nfast = torch.compile(count)\n",
        "import torch\nif True: from .helper import count\n\nfast = torch.compile(count)\n",
        "import torch\nfrom .helper import count\n\nfast = torch.compile(count)\n\n\n"
        'def main():\n    """For example\n\n    from other import count\n    """\n',
    ],
)
def test_a_function_that_another_file_compiles(tree: Tree, caller: str) -> None:
    tree.write("pkg/helper.py", "import torch\n" + HELPER)
    tree.write("pkg/front.py", "from .helper import (\n    count as tally,  # its name here\n)\n")
    assert tree.check() == []
    tree.write("pkg/caller.py", caller)
    assert tree.check() == ["helper.py:5 DDE101"]
    assert tree.check("pkg/helper.py") == []  # alone, nobody says that it is compiled


def test_a_folder_is_a_package_without_saying_so(tree: Tree) -> None:
    tree.write("models/net.py", "import torch\n" + HELPER)
    tree.write("models/deep/net.py", "import torch\n" + HELPER)
    tree.write("train.py", "import torch\nfrom models.net import count\n\nfast = torch.compile(count)\n")
    assert tree.check() == ["net.py:5 DDE101"]
    tree.write("more.py", "import torch\nimport models.deep.net\n\nfast = torch.compile(models.deep.net.count)\n")
    assert tree.check() == ["net.py:5 DDE101", "net.py:5 DDE101"]


BASE = """
import torch


class Base(torch.nn.Module):
    def forward(self, x):
        return self.route(self.scale(x))

    def scale(self, x):
        return x * 2

    def pick(self, x: torch.Tensor):
        if x.max().item() > 1:
            return x
        return -x
"""

DERIVED = """
import torch
from pkg.base import Base


class Switch(Base):
    def route(self, x: torch.Tensor):
        if x.min().item() > 2:
            return x
        return x + 1

    def unused(self, x: torch.Tensor):
        return int(x.sum().item()) if x.any() else 0
"""


def test_a_method_that_an_inherited_forward_calls(tree: Tree) -> None:
    tree.write("pkg/base.py", BASE)
    tree.write("pkg/derived.py", DERIVED)
    assert tree.check() == ["derived.py:8 DDE101"]
    assert tree.check("pkg/derived.py") == []


def test_an_inherited_method_that_a_forward_calls(tree: Tree) -> None:
    tree.write("pkg/base.py", BASE)
    tree.write(
        "pkg/derived.py",
        "from .base import Base\n\n\nclass D(Base):\n    def forward(self, x):\n        return self.pick(x)\n",
    )
    assert tree.check() == ["base.py:13 DDE101"]


def test_an_inherited_method_that_tests_a_buffer(tree: Tree) -> None:
    tree.write(
        "pkg/base.py",
        "import torch\n\n\nclass Base(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('steps', torch.zeros(()))\n\n    def warm(self, x):\n"
        "        return 2 * x if self.steps > 10 else x\n",
    )
    assert tree.check() == []
    tree.write(
        "pkg/derived.py",
        "from pkg.base import Base\n\n\nclass Model(Base):\n    def forward(self, x):\n        return self.warm(x)\n",
    )
    assert tree.check() == ["base.py:10 DDE105"]


def test_a_base_class_in_another_file_says_whether_a_class_is_a_module(tree: Tree) -> None:
    forward = (
        "    def forward(self, x: torch.Tensor):\n        if x.sum() > 0:\n            return x\n        return -x\n"
    )
    tree.write("pkg/plain.py", "class Thing:\n    pass\n\n\nclass Layer(Thing):\n    pass\n")
    tree.write("pkg/real.py", "from torch import nn\n\n\nclass Stuff(nn.Module):\n    pass\n")
    tree.write("pkg/a.py", f"import torch\nfrom .plain import Layer\n\n\nclass A(Layer):\n{forward}")
    tree.write("pkg/b.py", f"import torch\nfrom .real import Stuff\n\n\nclass B(Stuff):\n{forward}")
    assert tree.check() == ["b.py:7 DDE105"]


def test_an_import_through_another_file(tree: Tree) -> None:
    tree.write("pkg/compat.py", "from torch import nonzero as find\nfrom torch import nn\n")
    tree.write("pkg/all.py", "from .compat import *\n")
    tree.write(
        "pkg/model.py",
        "from pkg.all import find, nn\n\n\n"
        "class M(nn.Module):\n    def forward(self, x, size: int):\n        where = find(x)\n"
        "        if where.shape[0] > int(size):\n            return x\n        return -x  # torch\n",
    )
    assert tree.check() == ["model.py:7 DDE101"]
    assert tree.check("pkg/model.py") == []


def test_the_cache_knows_what_a_file_rests_on(tree: Tree) -> None:
    tree.write("pkg/base.py", BASE)
    tree.write("pkg/derived.py", DERIVED)
    tree.write("pkg/helper.py", "import torch\n" + HELPER)
    assert tree.check(cache=True) == tree.check(cache=True) == ["derived.py:8 DDE101"]
    tree.write("pkg/caller.py", "import torch\nfrom pkg.helper import count\n\nfast = torch.compile(count)\n")
    assert tree.check(cache=True) == tree.check(cache=True) == ["derived.py:8 DDE101", "helper.py:5 DDE101"]
    tree.write("pkg/base.py", BASE.replace("self.route(self.scale(x))", "self.scale(x)"))
    assert tree.check(cache=True) == ["helper.py:5 DDE101"]
    tree.write("pkg/caller.py", "")
    assert tree.check(cache=True) == []


def test_imports_in_a_circle_end(tree: Tree) -> None:
    tree.write("pkg/a.py", "import torch\nfrom .b import thing\n\nfast = torch.compile(thing)\n")
    tree.write("pkg/b.py", "from .a import thing\nfrom .b import other\nfrom .a import *\n")
    tree.write(
        "pkg/c.py",
        "import torch\nfrom .c import C\n\n\nclass C(C):\n    def forward(self, x):\n        return x.any()\n",
    )
    assert tree.check() == []


def test_what_others_compile_is_still_told_once_its_file_is_rewritten(tree: Tree) -> None:
    tree.write("pkg/helper.py", "import torch  # ddelint: ignore[DDE102]\n" + HELPER)
    tree.write("pkg/caller.py", "import torch\nfrom .helper import count\n\nfast = torch.compile(count)\n")
    assert tree.check() == ["helper.py:1 DDE003", "helper.py:5 DDE101"]
    assert tree.fix() == ["helper.py:5 DDE101"]
    assert tree.check() == ["helper.py:5 DDE101"]


def test_a_rewritten_file_tells_of_itself_as_it_is_now(tmp_path: Path) -> None:
    name = str(tmp_path / "a.py")
    project = Project([name, str(tmp_path / "b.py")])
    project.hand(name, b"from torch import nonzero as nz\nfrom .b import f\n")
    assert project.resolve(name, "nz") == "torch.nonzero"
    project.hand(name, b"from torch import unique as nz\n")
    assert project.resolve(name, "nz") == "torch.unique"


def test_a_file_is_interpreted_once_whoever_compiles_it(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who compiles what is known before: `deep` is reached through `helper`, which a third file reaches."""
    tree.write("pkg/deep.py", "import torch\n" + HELPER)
    tree.write("pkg/helper.py", "import torch\nfrom .deep import count\n\n\ndef tally(x):\n    return count(x)\n")
    tree.write("pkg/caller.py", "import torch\nfrom .helper import tally\n\nfast = torch.compile(tally)\n")
    interpreted: list[str] = []
    whole = checks.check_index

    def noted(index: FileIndex, *, assume_compiled: bool = False) -> list[Diagnostic]:
        interpreted.append(Path(index.source.filename).name)
        return whole(index, assume_compiled=assume_compiled)

    monkeypatch.setattr(checks, "check_index", noted)
    assert tree.check() == ["deep.py:5 DDE101"]
    assert "deep.py" in interpreted
    assert len(interpreted) == len(set(interpreted))


def test_what_a_call_gives_that_stands_alone_is_not_asked_for(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("pkg/helper.py", "import torch\n\n\ndef find(mask):\n    return torch.where(mask)[0]\n")
    tree.write(
        "pkg/net.py",
        "import torch\nfrom .helper import find\n\n\nclass Net(torch.nn.Module):\n"
        "    def forward(self, x):\n        find(x > 0)\n        rows = find(x > 1)\n"
        "        if len(rows) > 3:\n            return x\n        return -x\n",
    )
    asked: list[int] = []
    whole = Elsewhere.returned

    def noted(self: Elsewhere, importer: str, name: str, given: Any, named: Any, node: ast.Call) -> Value:
        asked.append(node.lineno)
        return whole(self, importer, name, given, named, node)

    monkeypatch.setattr(Elsewhere, "returned", noted)
    assert tree.check() == ["net.py:9 DDE101"]
    assert set(asked) == {8}


def _forward(body: str) -> str:
    imports = "import torch\nfrom .helper import filled, find\n\n\n"
    return f"{imports}class Net(torch.nn.Module):\n    def forward(self, x):\n{body}"


_FILLED = """import torch
from torch import Tensor


def filled(x: Tensor, by: float | Tensor = 0.0, how: Literal["in", "out"] = "in"):
    if float(x.sum()) > 3:
        x = x + by
    return x.mean({dimension})
"""


def _answers_of_calls(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The calls of functions of other files that were read with what they are given."""
    read: list[object] = []
    whole = Elsewhere._answer

    def noted(self: Elsewhere, *call: Any) -> Value:
        read.append(call[0])
        return whole(self, *call)

    monkeypatch.setattr(Elsewhere, "_answer", noted)
    return read


def test_what_gives_nothing_of_data_is_read_once_for_all_calls(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    tree.write("pkg/helper.py", _FILLED.format(dimension="0"))
    tree.write(
        "pkg/net.py",
        _forward("        y = filled(x)\n        y = filled(y, 2.0)\n        return filled(y, how='out')\n"),
    )
    read = _answers_of_calls(monkeypatch)
    assert tree.check() == ["helper.py:6 DDE101"]
    assert read == []


@pytest.mark.parametrize(
    "body",
    [
        "        y = filled(x)\n        if y > 0:\n            return y\n        return x\n",
        "        y = 2 * x\n        z, y = y, filled(x, 1.0)\n        return z if y > 0 else x\n",
        "        y, z = filled(x), 3\n        while y:\n            y = y - z\n        return y\n",
    ],
)
@pytest.mark.parametrize("dimension", ["", "0"])
def test_a_tensor_of_another_file_that_is_tested(tree: Tree, body: str, dimension: str) -> None:
    """Whether it has no dimension, or nobody knows."""
    tree.write("pkg/helper.py", _FILLED.format(dimension=dimension))
    tree.write("pkg/net.py", _forward(body))
    assert [found.partition(":")[0] for found in tree.check()] == ["helper.py", "net.py"]


@pytest.mark.parametrize(
    "function",
    [
        "def find(mask):\n    return torch.where(mask)[0]\n",
        "def find(mask: torch.Tensor, flag: bool = True):\n    return mask.nonzero() if flag else None\n",
        "def find(f, *rest):\n    return torch.nonzero(f)\n",
        "def find(mask: torch.Tensor):\n    def later():\n        return mask.nonzero()\n    return later()\n",
        "def find(mask: 'list | torch.Tensor'):\n    return torch.argwhere(mask)\n",
    ],
)
def test_what_gives_data_is_read_with_what_it_is_given(tree: Tree, function: str) -> None:
    tree.write("pkg/helper.py", f"import torch\n\n\n{function}")
    tree.write(
        "pkg/net.py",
        _forward("        rows = find(x)\n        if len(rows) > 3:\n            return x\n        return -x\n"),
    )
    assert tree.check() == ["net.py:8 DDE101"]
