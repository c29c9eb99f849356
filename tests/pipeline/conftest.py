"""What the files of this folder check with."""

from __future__ import annotations

from pathlib import Path

import pytest

from ddelint.settings.options import CheckOptions, Mode


@pytest.fixture
def options(tmp_path: Path) -> CheckOptions:
    """The static pass alone, with a cache of its own."""
    return CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache_folder=str(tmp_path / "cache"))
