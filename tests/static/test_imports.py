"""The static pass is cheap to start: it loads neither torch nor sympy nor libcst."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("torch", "sympy", "libcst", "numpy")
CHECK = """
import sys
{extra}
from ddelint.sources.source import SourceFile
from ddelint.static.checks import check_source
text = '''import torch
@torch.compile
def f(x: torch.Tensor):
    if x.sum() > 0:
        return x
'''
assert [d.code for d in check_source(SourceFile("f.py", text))] == ["DDE105"]
print(" ".join(name for name in {heavy!r} if name in sys.modules))
"""


def loaded(extra: str = "") -> str:
    """Which of the heavy packages a fresh interpreter has loaded after one check."""
    code = CHECK.format(heavy=HEAVY, extra=extra)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_heavy_is_loaded() -> None:
    assert loaded() == ""


def test_the_test_above_can_fail() -> None:
    assert loaded("import libcst") == "libcst"
