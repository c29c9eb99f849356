"""The files of a project are listed once, and anew where a folder got or lost a name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ddelint.rewrite.reading import neighbours

YESTERDAY = 1_700_000_000


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that were walked through, in their order."""
    seen: list[Path] = []
    walk = os.walk

    def noted(folder: Path) -> Any:
        seen.append(folder)
        return walk(folder)

    monkeypatch.setattr(neighbours.os, "walk", noted)
    monkeypatch.setattr(neighbours, "_listings", {})
    return seen


def project_of(folder: Path) -> str:
    (folder / "inner").mkdir()
    for name in ("pyproject.toml", "model.py", "inner/helpers.py"):
        (folder / name).write_text("")
    return str(folder / "model.py")


def let_time_pass(folder: Path) -> None:
    for where in (folder, folder / "inner"):
        os.utime(where, (YESTERDAY, YESTERDAY))


def test_a_listing_is_made_once(tmp_path: Path, walks: list[Path]) -> None:
    filename = project_of(tmp_path)
    let_time_pass(tmp_path)
    first = neighbours.files_around(filename)
    assert [os.path.basename(name) for name in first] == ["model.py", "helpers.py"]
    assert neighbours.files_around(filename) == first
    assert len(walks) == 1
    assert neighbours.files_around(filename, (".toml",)) == (str(tmp_path / "pyproject.toml"),)
    assert len(walks) == 2


@pytest.mark.parametrize("change", ["new", "gone", "folder"])
def test_what_came_or_went_is_seen(tmp_path: Path, walks: list[Path], change: str) -> None:
    filename = project_of(tmp_path)
    let_time_pass(tmp_path)
    before = neighbours.files_around(filename)
    helpers, later = tmp_path / "inner" / "helpers.py", tmp_path / "inner" / "more" / "later.py"
    if change == "gone":
        helpers.unlink()
        assert neighbours.files_around(filename) == before[:1]
        return
    if change == "folder":
        later.parent.mkdir()
    else:
        later = later.parent.parent / "later.py"
    later.write_text("")
    assert neighbours.files_around(filename) == (*before, str(later))
    assert len(walks) == 2


def test_a_folder_that_changed_just_now_may_do_so_again_unseen(
    tmp_path: Path, walks: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    filename = project_of(tmp_path)
    monkeypatch.setattr(neighbours, "time_ns", lambda: tmp_path.stat().st_mtime_ns + 1)
    assert neighbours.files_around(filename) == neighbours.files_around(filename)
    assert len(walks) == 2
