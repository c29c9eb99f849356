"""Which modules are watched for tests of a number's type."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import ClassVar

import pytest

from ddelint.trace.type_tests import watched


class Lazy:
    """What `typing` puts into `sys.modules`: a class, whose names cannot be assigned."""

    members: ClassVar[int] = 1


@pytest.mark.parametrize("filename", [None, "", "mine.py"])
def test_only_modules_with_a_file_are_watched(monkeypatch: pytest.MonkeyPatch, filename: str | None) -> None:
    module = ModuleType("mine")
    module.__file__ = filename
    monkeypatch.setitem(sys.modules, "mine", module)
    monkeypatch.setitem(sys.modules, "mine.lazy", Lazy)  # type: ignore[arg-type]
    with watched(lambda name: name in ("", "mine.py"), lambda number: None):
        assert ("isinstance" in vars(module)) == (filename == "mine.py")
    assert "isinstance" not in vars(module)
