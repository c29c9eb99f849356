"""A compiled function compiles what it calls, in whichever file that stands."""

from __future__ import annotations

from pathlib import Path

import pytest
from across import Tree


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


HELPERS = """
import torch


def pick(x: torch.Tensor):
    if x.max().item() > 1:
        return x
    return -x


class Matcher:
    def match(self, x: torch.Tensor):
        return int(x.sum())

    def unused(self, x: torch.Tensor):
        return float(x.sum())

    @staticmethod
    def scale(x: torch.Tensor):
        return x if x.min() > 0 else -x

    def __call__(self, x: torch.Tensor):
        return bool(x.any())


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x if x.norm() > 1 else -x
"""
PICK, MATCH, SCALE, CALLED, CLIP = "6 DDE101", "13 DDE201", "20 DDE105", "23 DDE105", "29 DDE105"

MODULE = """
import torch
from torch import nn
{imports}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {held}

    def chosen(self):
        return torch.nn.Identity() if self.training else Matcher()

    def forward(self, x):
        {body}
        return x
"""


@pytest.mark.parametrize(
    ("imports", "held", "body", "found"),
    [
        ("from pkg.helpers import pick", "pass", "x = pick(x)", [PICK]),
        ("from .helpers import pick as choose", "pass", "x = choose(\n            x\n        )", [PICK]),
        ("from . import helpers", "pass", "x = helpers.pick(x)", [PICK]),
        ("import pkg.helpers as h", "pass", "for _ in range(3): x = h.pick(x) + 1", [PICK]),
        ("import pkg.helpers", "pass", "x = pkg.helpers.pick(x)", [PICK]),
        ("from .helpers import *", "pass", "x = pick(x)", [PICK]),
        ("from .front import chosen", "pass", "x = chosen(x)", [PICK]),
        ("from .helpers import Matcher", "pass", "n = Matcher().match(x)", [MATCH]),
        ("from .helpers import Matcher", "pass", "m = Matcher()\n        n = m.match(x)", [MATCH]),
        ("from .helpers import Matcher", "pass", "x = Matcher.scale(x)", [SCALE]),
        ("from .helpers import Matcher", "self.m = Matcher()", "n = self.m.match(x)", [MATCH]),
        ("from .helpers import Matcher", "self.m: Matcher = Matcher()", "n = self.m(x)", [CALLED]),
        ("from .helpers import Matcher", "self.m = self.chosen()", "n = self.m.match(x)", [MATCH]),
        ("from .helpers import Matcher", "pass", "x = Matcher()(x)", [CALLED]),
        ("from . import helpers", "pass", "y = helpers.Matcher()(x)", [CALLED]),
        ("from .helpers import Matcher as M", "pass", "y = [M()(x), x]", [CALLED]),
        ("from .helpers import Clip", "pass", "x = Clip.apply(x)", [CLIP]),
        ("from .helpers import pick", "pass", '"""Like `pick(x)`."""  # not pick(x)', []),
        ("from .helpers import pick, Matcher", "self.x = pick(torch.ones(3))", "x = x + 1", []),
        ("from .other import pick", "pass", "x = pick(x)", []),
    ],
)
def test_what_a_forward_calls(tree: Tree, imports: str, held: str, body: str, found: list[str]) -> None:
    tree.write("pkg/helpers.py", HELPERS)
    tree.write("pkg/front.py", "from .helpers import pick as chosen\n")
    tree.write("pkg/other.py", "def pick(x):\n    return x\n")
    assert tree.check() == []
    tree.write("pkg/net.py", MODULE.format(imports=imports, held=held, body=body))
    assert tree.check() == [f"helpers.py:{place}" for place in found]
    assert tree.check("pkg/helpers.py") == []  # alone, nobody says that it is compiled


def test_from_file_to_file(tree: Tree) -> None:
    tree.write("pkg/c.py", "import torch\n\n\ndef last(x: torch.Tensor):\n    return int(x.sum())\n")
    tree.write(
        "pkg/b.py", "from .c import last\n\n\ndef inner(x):\n    return last(x)\n\n\ndef mid(x):\n    return inner(x)\n"
    )
    tree.write("pkg/a.py", "from .b import mid\n\n\ndef first(x):\n    return mid(x)\n")
    assert tree.check() == []
    net = MODULE.format(imports="from .a import first", held="pass", body="x = first(x)")
    tree.write("pkg/net.py", net)
    assert tree.check() == ["c.py:5 DDE201"]
    assert tree.check("pkg/net.py", "pkg/a.py", "pkg/c.py") == []


def test_a_call_of_a_module(tree: Tree) -> None:
    base = "from torch import nn\n\n\nclass Base(nn.Module):\n    pass\n\n\nclass Plain:\n    pass\n"
    tree.write("pkg/base.py", base)
    net = "import torch\nfrom .base import Base, Plain\n\n\nclass Net({base}):\n"
    net += "    def __call__(self, x: torch.Tensor):\n        return x if x.any() else -x\n"
    tree.write("pkg/net.py", net.format(base="Base"))
    assert tree.check() == ["net.py:7 DDE105"]
    tree.write("pkg/net.py", net.format(base="Plain"))
    assert tree.check() == []


def test_a_circle_of_files_keeps_nothing_compiled(tree: Tree) -> None:
    """Two helpers that call each other are compiled for as long as somebody else calls one of them."""
    ping = (
        "import torch\nfrom .pong import pong\n\n\ndef ping(x: torch.Tensor):\n    return pong(x) if x.any() else x\n"
    )
    tree.write("pkg/ping.py", ping)
    tree.write("pkg/pong.py", "from .ping import ping\n\n\ndef pong(x):\n    return ping(x)\n")
    tree.write("pkg/net.py", MODULE.format(imports="from .pong import pong", held="pass", body="x = pong(x)"))
    assert tree.check(cache=True) == tree.check(cache=True) == ["ping.py:6 DDE105"]
    tree.write("pkg/net.py", MODULE.format(imports="from .pong import pong", held="pass", body="x = x + 1"))
    assert tree.check(cache=True) == tree.check(cache=True) == []


def test_the_cache_knows_who_calls(tree: Tree) -> None:
    tree.write("pkg/helpers.py", HELPERS)
    tree.write("pkg/mid.py", "from .helpers import pick\n\n\ndef mid(x):\n    return pick(x)\n")
    tree.write("pkg/net.py", MODULE.format(imports="from .mid import mid", held="pass", body="x = mid(x)"))
    assert tree.check(cache=True) == tree.check(cache=True) == [f"helpers.py:{PICK}"]
    tree.write("pkg/mid.py", "from .helpers import Clip\n\n\ndef mid(x):\n    return Clip.apply(x)\n")
    assert tree.check(cache=True) == tree.check(cache=True) == [f"helpers.py:{CLIP}"]
    tree.write("pkg/mid.py", "def mid(x):\n    return x\n")
    assert tree.check(cache=True) == tree.check(cache=True) == []


def test_what_a_base_class_calls_for_its_heirs(tree: Tree) -> None:
    tree.write("pkg/helpers.py", HELPERS)
    base = (
        "from torch import nn\nfrom .helpers import Matcher\n\n\nclass Base(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.matcher = Matcher()\n\n"
        "    def step(self, x):\n        return self.matcher.match(x)\n"
    )
    tree.write("pkg/base.py", base)
    assert tree.check() == []
    heir = "from .base import Base\n\n\nclass Heir(Base):\n    def forward(self, x):\n        return {call}\n"
    for call in ("self.step(x)", "super().step(x)", "self.matcher.match(x)"):
        tree.write("pkg/heir.py", heir.format(call=call))
        assert tree.check() == [f"helpers.py:{MATCH}"]


@pytest.mark.parametrize(
    ("imports", "header", "line"),
    [
        ("import matplotlib.pyplot as plt", "shown(x)", "plt.imshow(x)"),
        ("from PIL import Image", "shown(x)", "Image.fromarray(x)"),
        ("import cv2", "shown(x)", "cv2.imwrite('x.png', x)"),
        ("from torch.utils.data import DataLoader", "shown(x, loader: DataLoader = None)", "x = x + 1"),
        ("import torch.utils.data", "shown(x, loader: torch.utils.data.DataLoader = None)", "x = x + 1"),
    ],
)
def test_what_draws_or_loads_is_compiled_by_nobody(tmp_path: Path, imports: str, header: str, line: str) -> None:
    tree = Tree(tmp_path)
    body = "    if x.sum() > 0:\n        return x\n    return -x\n"
    net = "import torch\nfrom .helper import shown\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
    tree.write("pkg/net.py", f"{net}        return shown(x)\n")
    tree.write("pkg/helper.py", f"import torch\n{imports}\n\n\ndef {header}:\n    {line}\n{body}")
    assert tree.check() == []
    tree.write("pkg/helper.py", f"import torch\n{imports}\n\n\ndef shown(x):\n    x = x + 1\n{body}")
    assert tree.check() == ["helper.py:7 DDE105"]


@pytest.mark.parametrize(
    "call",
    [
        "solver = Solver(3)\n    return solver.solve(x)",
        "return Solver(3).solve(x)",
        "solver = Solver(n=3).eval()\n    y = solver.solve(x)\n    return y",
        "with torch.no_grad():\n        solver = Solver()\n        return solver.solve(x, 2)",
        "solver: Solver = Solver()\n    return [solver.solve(one) for one in (x, -x)]",
    ],
)
def test_another_method_of_a_module_that_is_built_is_read(tree: Tree, call: str) -> None:
    tree.write(
        "pkg/solver.py",
        "import torch\nfrom torch import nn\n\n\nclass Solver(nn.Module):\n    def forward(self, x):\n"
        "        return x\n\n    def solve(self, x: torch.Tensor, n=1):\n        return x if x.max() > n else -x\n",
    )
    tree.write(
        "pkg/main.py", f"import torch\nfrom pkg.solver import Solver\n\n\n@torch.compile\ndef main(x):\n    {call}\n"
    )
    assert tree.check() == ["solver.py:10 DDE105"]
