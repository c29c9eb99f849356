"""What only functions call that a compiler is kept away from is no interface, and is compiled where others call it."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import rows

HELPER = """import torch
from torch import Tensor

def keep(x: Tensor) -> Tensor:
    if (x > 0).any():
        x = x + 1
    return x
"""
DISABLED = """import torch
from torch import Tensor
from .ops import keep

@torch.compiler.disable
def outer(x: Tensor) -> Tensor:
    return keep(x)
"""
APPLIED = """import torch
from torch import Tensor
from .ops import keep

class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return {backward}

@torch.compiler.disable
def outer(x: Tensor) -> Tensor:
    return Keep.apply(x)
"""
MODULE = """from torch import nn
from .{file} import {name}

class M(nn.Module):
    def forward(self, x):
        return {name}(x)
"""


def test_a_helper_that_nobody_else_calls_is_an_interface(tmp_path: Path) -> None:
    assert rows(tmp_path, {"ops.py": HELPER}) == [("ops.py", 5)]


@pytest.mark.parametrize(
    "text",
    [
        DISABLED,
        DISABLED.replace("@torch.compiler.disable\n", "@torch.compiler.disable(recursive=True)\n@torch.no_grad()\n"),
        DISABLED.replace("@torch.compiler.disable\n", "@torch.no_grad()\n@torch.compiler.disable\n"),
        DISABLED.replace("import torch\n", "import torch\nfrom torch.compiler import disable as off\n").replace(
            "@torch.compiler.disable", "@off"
        ),
        DISABLED.replace("@torch.compiler.disable", '@torch.library.custom_op("kit::keep", mutates_args=())'),
        DISABLED.replace("return keep(x)", "return inner(x)\n\ndef inner(x: Tensor) -> Tensor:\n    return keep(x)"),
        APPLIED.format(backward="keep(g)"),
    ],
    ids=["called", "called-with-arguments", "second-decorator", "renamed", "kernel", "through-another", "gradient"],
)
def test_what_a_compiler_is_kept_away_from_calls_no_interface(tmp_path: Path, text: str) -> None:
    assert rows(tmp_path, {"ops.py": HELPER, "api.py": text}) == []


@pytest.mark.parametrize(
    "decorator",
    [
        "@torch.compiler.disable(recursive=False)",
        '@torch.compiler.disable(reason="it logs", recursive=False)',
        "@torch._dynamo.disable(recursive = False)",
        "@torch._dynamo.skip",
        "@torch.compiler.allow_in_graph",
        "@torch._dynamo.allow_in_graph",
    ],
)
def test_what_only_the_function_itself_is_kept_away_from_calls_is_compiled(tmp_path: Path, decorator: str) -> None:
    outer = DISABLED.replace("@torch.compiler.disable", decorator)
    assert rows(tmp_path / "two", {"ops.py": HELPER, "api.py": outer}) == [("ops.py", 5)]
    text = f"{HELPER}\n{decorator}\ndef outer(x: Tensor) -> Tensor:\n    return keep(x)\n"
    assert rows(tmp_path / "one", {"ops.py": text}) == [("ops.py", 5)]


def test_what_is_allowed_in_a_graph_is_traced_there(tmp_path: Path) -> None:
    text = HELPER.replace("def keep", "@torch.compiler.allow_in_graph\ndef keep")
    assert rows(tmp_path, {"ops.py": text}) == [("ops.py", 6)]


@pytest.mark.parametrize("decorator", ["@torch.compiler.disable(recursive=False)", "@torch._dynamo.skip"])
def test_the_function_itself_is_still_kept_away(tmp_path: Path, decorator: str) -> None:
    assert rows(tmp_path, {"ops.py": HELPER.replace("def keep", f"{decorator}\ndef keep")}) == []


def test_in_one_file(tmp_path: Path) -> None:
    text = f"{HELPER}\n@torch.compiler.disable\ndef outer(x: Tensor) -> Tensor:\n    return keep(x)\n"
    assert rows(tmp_path, {"ops.py": text, "other.py": "import torch\n"}) == []


def test_through_three_files(tmp_path: Path) -> None:
    middle = "from torch import Tensor\nfrom .ops import keep\n\ndef middle(x: Tensor) -> Tensor:\n    return keep(x)\n"
    outer = DISABLED.replace(".ops import keep", ".between import middle").replace("keep(x)", "middle(x)")
    assert rows(tmp_path, {"ops.py": HELPER, "between.py": middle, "api.py": outer}) == []


@pytest.mark.parametrize(
    "other",
    [
        "from torch import Tensor\nfrom .ops import keep\n\ndef use(x: Tensor) -> Tensor:\n    return keep(x)\n",
        MODULE.format(file="ops", name="keep"),
        "import torch\nfrom .ops import keep\n\nfast = torch.compile(keep)\n",
    ],
    ids=["an-interface", "a-module", "handed-over"],
)
def test_what_others_call_is_compiled_still(tmp_path: Path, other: str) -> None:
    assert rows(tmp_path, {"ops.py": HELPER, "api.py": DISABLED, "other.py": other}) == [("ops.py", 5)]


def test_a_module_that_calls_what_is_kept_away_compiles_nothing_behind_it(tmp_path: Path) -> None:
    module = MODULE.format(file="api", name="outer")
    assert rows(tmp_path, {"ops.py": HELPER, "api.py": DISABLED, "other.py": module}) == []


def test_a_decorator_of_another_library_keeps_nobody_away(tmp_path: Path) -> None:
    text = DISABLED.replace("import torch\n", "import torch\nfrom kit.more import disable\n", 1)
    text = text.replace("@torch.compiler.disable", "@disable")
    more = "def disable(fn):\n    return fn\n"
    assert rows(tmp_path, {"ops.py": HELPER, "api.py": text, "more.py": more}) == [("ops.py", 5)]
