"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddelint.files import write_atomically


def test_a_file_is_replaced_whole_with_its_mode(tmp_path: Path) -> None:
    file, link = tmp_path / "a.py", tmp_path / "link.py"
    file.write_text("old")
    file.chmod(0o754)
    link.symlink_to(file)
    write_atomically(link, b"new")
    assert file.read_bytes() == b"new"
    assert link.is_symlink()
    assert file.stat().st_mode & 0o777 == 0o754
    assert sorted(os.listdir(tmp_path)) == ["a.py", "link.py"]


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("old")

    def refuse(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OSError, match="disk full"):
        write_atomically(file, b"new")
    assert file.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_read_only_file_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write anything
    with pytest.raises(PermissionError, match="read-only"):
        write_atomically(file, b"new")
    assert file.read_text() == "old"


def test_a_new_file_gets_the_modes_that_others_get(tmp_path: Path) -> None:
    (tmp_path / "usual").write_text("")
    write_atomically(tmp_path / "new", b"")
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
