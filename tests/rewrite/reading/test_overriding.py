"""Methods that subclasses have of their own, where a rewritten function calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from control_flow import context_of

from ddelint.rewrite.reading.overriding import overridden

BASE = """\
import torch


class Base(torch.nn.Module):
    def forward(self, x):
        x = self.before(x)
        for row in x:
            row = self.each(row)
            if row.sum() > 0:
                x = self.after(x)
        return x


"""
HEIR = "class Heir(Base):\n    def {}(self, x):\n        return x\n"


def found(text: str, run: tuple[str, ...] = (), filename: str = "model.py") -> str:
    return overridden(context_of(text, "row.sum() > 0", code="DDE105", filename=filename).site, run)


@pytest.mark.parametrize(("method", "is_named"), [("after", True), ("each", True), ("before", False), ("other", False)])
def test_a_method_that_is_called_from_the_statement_on(method: str, is_named: bool) -> None:
    assert (f"`Heir` has a `{method}` of its own" in found(BASE + HEIR.format(method))) is is_named


def test_one_that_was_run_says_what_it_does() -> None:
    assert found(BASE + HEIR.format("after"), run=("model.py::Heir.after",)) == ""


def test_so_does_one_that_a_method_calls() -> None:
    method = "    def after(self, x):\n        return self.inner(x)\n\n\n"
    assert found(BASE.rstrip() + "\n\n" + method + HEIR.format("inner")).startswith("`Heir` has a `inner` of its own")


def test_classes_made_of_the_heir_count() -> None:
    text = BASE + HEIR.format("other") + "\n\n" + HEIR.format("after").replace("Heir(Base)", "Last(Heir)")
    assert found(text).startswith("`Last` has a `after` of its own")


def test_so_do_those_of_another_file(tmp_path: Path) -> None:
    (tmp_path / "heirs.py").write_text(f"from model import Base\n\n\n{HEIR.format('after')}")
    (tmp_path / "model.py").write_text(BASE)
    assert "(line 5 of heirs.py), which was not run" in found(BASE, filename=str(tmp_path / "model.py"))


READ = BASE.replace("x = self.after(x)", "x = x + {}")
PROPERTY = "class Heir(Base):\n    @property\n    def fill(self):\n        return 1.0\n"


@pytest.mark.parametrize("read", ["self.fill", "list(map(self.fill, x))[0]", "torch.full((3,), self.fill)"])
def test_a_property_that_is_read_and_a_method_that_is_handed_on_count(read: str) -> None:
    assert found(READ.format(read) + PROPERTY).startswith("`Heir` has a `fill` of its own")
    assert found(READ.format("row") + PROPERTY) == ""
    both = context_of(READ.format(read) + PROPERTY, "row.sum() > 0", code="DDE105", filename="model.py").site
    assert overridden(both, (), calls_alone=True) == "", "where both sides are computed it is read as it was"
    assert found(READ.format(read) + PROPERTY, run=("model.py::Heir.fill",)) == ""
