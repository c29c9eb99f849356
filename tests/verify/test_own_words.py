"""Settings that a class says in words of its own are others, too: properties, methods, and what `__getattr__` finds."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from ddelint.sources.source import SourceFile
from ddelint.verify.other_settings import other_settings, other_texts
from ddelint.verify.samples import Sample
from ddelint.verify.settings import settings_of, texts_of

SAMPLE = Sample("seed 0", True, lambda: ((), {}))


class Pool(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.options = SimpleNamespace(fill=0.0, inner=SimpleNamespace(least=2.0))
        self.mode = 1

    @property
    def empty(self) -> float:
        return 0.0

    @property
    def twice(self) -> float:
        return self.options.fill * 2

    @property
    def broken(self) -> float:
        raise ValueError

    def bonus(self) -> float:
        return 1.0

    def scaled(self, x: float) -> float:
        return 1.0

    def __getattr__(self, name: str) -> object:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.__dict__["options"], name)


class Deeper(Pool):
    pass


@pytest.mark.parametrize(
    ("name", "label", "value"),
    [
        ("empty", "self.empty=0.5", lambda pool: pool.empty),
        ("bonus", "self.bonus=0.5", lambda pool: pool.bonus()),
        ("fill", "self.fill=0.5", lambda pool: pool.fill),
        ("options.fill", "self.options.fill=0.5", lambda pool: pool.options.fill),
        ("options.inner.least", "self.options.inner.least=1.0", lambda pool: pool.options.inner.least),
    ],
)
@pytest.mark.parametrize("kind", [Pool, Deeper])
def test_what_a_class_says_is_another_value(
    kind: type[Pool], name: str, label: str, value: Callable[[Pool], object]
) -> None:
    before = value(kind())
    (change,) = other_settings(kind(), {name: False})
    sample = change(SAMPLE)
    changed = sample.prepare(kind())
    assert sample.label == f"seed 0, {label}"
    assert str(value(changed)) == label.partition("=")[2]
    assert isinstance(changed, kind)
    assert type(changed).__qualname__ == kind.__qualname__
    assert value(kind()) == before, "others of the class say what they said"


def test_what_is_worked_out_stays() -> None:
    names = ("twice", "broken", "scaled", "forward", "missing")
    assert list(other_settings(Pool(), dict.fromkeys(names, False))) == []


HANDED = """
class Pool:
    def forward(self, x):
        if x.sum() > 0:
            return x
        {}


def nothing(x, wanted):
    return x + wanted.fill * wanted.inner["least"]
"""


@pytest.mark.parametrize(
    "statement",
    [
        "return nothing(x, self.options)",
        "return nothing(x, wanted=self.options)",
        "options = self.options; return nothing(x, options)",
        "options, least = self.options, 2; return nothing(x, options)",
        "return nothing(x, options) if (options := self.options) else x",
    ],
)
def test_what_is_read_of_options_that_are_handed_on_are_settings(statement: str, tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(HANDED.format(statement))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert {"options.fill", "options.inner.least"} <= dict(settings_of(source, test)).keys()
    path.write_text(HANDED.format("return x + self.options.fill"))
    source = SourceFile.read(path)
    test = next(node.test for node in ast.walk(source.tree) if isinstance(node, ast.If))
    assert "options.inner.least" not in dict(settings_of(source, test))


CODES = """
class Pool:
    def forward(self, x):
        {}
        if x.sum() > 0:
            return x
        return -x
"""


@pytest.mark.parametrize(
    ("statement", "codes"),
    [
        ("y = x.prod() if self.mode == 3 else x.sum()", {3}),
        ("y = 3 != self.mode", {3}),
        ("y = self.mode in (0, 3)", {0, 3}),
        ("y = {0: x, 3: -x}[self.mode]", {0, 3}),
        ("match self.mode:\n            case 2 | 3:\n                x = -x", {2, 3}),
        ("y = self.mode > 3", set()),
        ("y = self.mode % 5 == 3", set()),
        ("y = x.shape[3] == self.mode", set()),
        ("y = self.mode == True", set()),
    ],
)
def test_integers_that_a_setting_may_equal_are_tried(statement: str, codes: set[int], tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text(textwrap.dedent(CODES).format(statement))
    source = SourceFile.read(path)
    test = [node.test for node in ast.walk(source.tree) if isinstance(node, ast.If)][-1]
    found = [code for name, code in texts_of(source, [test]) if name == "mode"]
    assert set(found) == codes
    labels = [change(SAMPLE).label for change in other_texts(Pool(), {"mode": found})]
    assert labels == [f"seed 0, self.mode={code}" for code in found]
