"""What callers may leave out is found where the compiled side of a test comes to it, and nowhere else."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from ddelint.rewrite.reading.left_out import optional_tests
from ddelint.sources.source import SourceFile

OPTIONAL = """
def forward(self, x, mask, bias=None, batch={}):
    if bias is None:
        x = x + 1
    if not mask.any():
        LEFT
    if bias is not None and x.dim() == 2:
        x = x + bias
    x = x if "weights" not in batch else x * batch["weights"]
    if not hasattr(self, "adapter") or self.training:
        x = x * 2
    if torch.is_grad_enabled():
        raise ValueError
    if x.shape[0] > 3 or isinstance(x, str):
        return x * 3
    return x
"""
BEHIND = ["bias is not None", "'weights' not in batch", "hasattr(self, 'adapter')", "self.training"]


@pytest.mark.parametrize(
    ("left", "side", "expected"),
    [
        ("return x", False, BEHIND),
        ("return x", True, []),
        ("x = x + 2", False, []),
        ("x = x if self.shift is None else x + self.shift", False, ["self.shift is None"]),
        ("x = x if self.shift is None else x + self.shift", True, ["self.shift is None"]),
    ],
)
def test_they_stand_in_the_arms_and_behind_one_that_leaves(left: str, side: bool, expected: list[str]) -> None:
    source = SourceFile("m.py", textwrap.dedent(OPTIONAL).replace("LEFT", left))
    branches = [node for node in ast.walk(source.tree) if isinstance(node, ast.If)]
    statement = next(node for node in branches if "mask.any()" in ast.unparse(node.test))
    assert [ast.unparse(test) for _, test in optional_tests(source, statement, side)] == expected


@pytest.mark.parametrize(
    "text",
    [
        "if self.flat:\n    x = x * 2\nelif not mask.any():\n    return x\nif self.shift is not None:\n    x = x + 1",
        "if self.flat:\n    if not mask.any():\n        return x\nif self.shift is not None:\n    x = x + 1",
        "with grad():\n    if not mask.any():\n        return x\nx = x if self.shift is not None else x + 1",
        "if not mask.any():\n    return x\nwhile self.shift is not None:\n    x = self.step(x)",
        "if not mask.any():\n    return x\nx = [s + x for s in [self.shift] if self.shift is not None]",
        "if not mask.any():\n    return x\nx = self.shift is not None and self.step(x)",
    ],
)
def test_they_stand_behind_every_block_around(text: str) -> None:
    source = SourceFile("m.py", "def forward(self, x, mask):\n" + textwrap.indent(text + "\nreturn x\n", "    "))
    branches = [node for node in ast.walk(source.tree) if isinstance(node, ast.If)]
    statement = next(node for node in branches if "mask.any()" in ast.unparse(node.test))
    assert [ast.unparse(test) for _, test in optional_tests(source, statement, False)] == ["self.shift is not None"]


CALLED = """
def loose(x, scale=None):
    return x if scale is None else x * scale


class Model:
    def finish(self, y):
        return self.end(y) if self.last is not None else loose(y)

    def end(self, y):
        if "end" in self.names:
            return y + 1
        return self.finish(y)

    def other(self, y):
        return y if self.unread is None else y + 1

    def forward(self, x, mask):
        if not mask.any():
            return x
        return self.finish(x)
"""


def test_those_of_functions_that_are_called_there_are_among_them() -> None:
    source = SourceFile("m.py", CALLED)
    statement = next(n for n in ast.walk(source.tree) if isinstance(n, ast.If) and "mask" in ast.unparse(n.test))
    found = {ast.unparse(test) for _, test in optional_tests(source, statement, False)}
    assert found == {"self.last is not None", "'end' in self.names", "scale is None"}
    assert list(optional_tests(source, statement, True)) == []


def test_those_of_functions_of_other_files_of_the_project_are_among_them(tmp_path: Path) -> None:
    (tmp_path / "helpers.py").write_text("def loose(x, scale=None):\n    return x if scale is None else x * scale\n")
    text = (
        "from helpers import loose\n\n\ndef forward(x, mask):\n    if not mask.any():\n        return x\n"
        "    return loose(x)\n"
    )
    (tmp_path / "model.py").write_text(text)
    source = SourceFile(str(tmp_path / "model.py"), text)
    statement = next(n for n in ast.walk(source.tree) if isinstance(n, ast.If))
    found = [(Path(file.filename).name, ast.unparse(test)) for file, test in optional_tests(source, statement, False)]
    assert found == [("helpers.py", "scale is None")]
