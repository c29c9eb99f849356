"""Which files a call is about, and the cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ddelint.settings import config
from ddelint.settings.discovery import DiscoveryError, python_files
from ddelint.settings.layers import with_layers
from ddelint.settings.options import CheckOptions


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def found(root: Path, *paths: str, **settings: object) -> list[str]:
    options = CheckOptions(root=str(root), **settings)  # type: ignore[arg-type]
    files = python_files([str(root / path) for path in paths] or [str(root)], options).files
    return [file.relative_to(root).as_posix() for file in files]


def test_a_folder_is_walked_in_order(tmp_path: Path) -> None:
    make(tmp_path, "b.py", "a/z.py", "a/a.py", "c.txt", "d.pyi", "venv/x.py", "a/__pycache__/y.py", ".venv/z.py")
    assert found(tmp_path) == ["a/a.py", "a/z.py", "b.py"]


def test_a_file_by_name_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    make(tmp_path, "script", "build/x.py")
    assert found(tmp_path, "script", "build/x.py", "script") == ["script", "build/x.py"]
    assert found(tmp_path, "script", "build/x.py", force_exclude=True) == ["script"]


def test_a_folder_by_name_is_walked_although_it_is_excluded(tmp_path: Path) -> None:
    make(tmp_path, "build/x.py", "build/dist/y.py")
    assert "build/x.py" in found(tmp_path, "build")
    assert found(tmp_path, "build", force_exclude=True) == []


def test_ignore_files_hold_as_in_git(tmp_path: Path) -> None:
    make(
        tmp_path,
        ".git/HEAD", "top.py", "a/top.py", "gen/x.py", "gen/keep/y.py", "a/one.gen.py", "a/kept.gen.py", "a/b/local.py",
        "a/b/c/local.py", "secret.py",
    )  # fmt: skip
    (tmp_path / ".gitignore").write_text("/top.py\ngen/\n*.gen.py\n")
    (tmp_path / "a/.gitignore").write_text("!kept.gen.py\n")
    (tmp_path / "a/b/.gitignore").write_text("local.py\n")
    (tmp_path / ".git/info").mkdir()
    (tmp_path / ".git/info/exclude").write_text("secret.py\n")
    assert found(tmp_path) == ["a/kept.gen.py", "a/top.py"]
    assert found(tmp_path, "a/b") == []
    assert found(tmp_path, "gen") == ["gen/keep/y.py", "gen/x.py"]
    assert found(tmp_path, "a", respect_gitignore=False) == [
        "a/b/c/local.py", "a/b/local.py", "a/kept.gen.py", "a/one.gen.py", "a/top.py",
    ]  # fmt: skip


def test_configured_patterns_are_gitignore_patterns(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py", "b/a/x.py", "b/y_pb2.py", "b/z.py")
    assert found(tmp_path, exclude=("/a", "*_pb2.py")) == ["b/a/x.py", "b/z.py"]


def test_links_to_folders_are_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "a/x.py")
    (tmp_path / "a/loop").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a/link.py").symlink_to(tmp_path / "a/x.py")
    (tmp_path / "a/broken.py").symlink_to(tmp_path / "gone.py")
    (tmp_path / "a/itself.py").symlink_to("itself.py")
    assert found(tmp_path) == ["a/link.py", "a/x.py"]


def test_a_folder_without_python_is_a_warning(tmp_path: Path) -> None:
    make(tmp_path, "a/x.txt")
    outcome = python_files([str(tmp_path)], CheckOptions())
    assert outcome.files == ()
    assert outcome.warnings == (f"no Python files found under {tmp_path}",)


def test_a_path_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DiscoveryError, match=r"no such file or folder: .*gone"):
        python_files([str(tmp_path / "gone")], CheckOptions())


def test_a_folder_that_cannot_be_read_is_told_and_the_others_are_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "a/x.py", "locked/y.py", "z.py")
    locked = tmp_path / "locked"

    def refusing(call: Callable[..., Any], *itself: Path) -> Callable[..., Any]:
        def refused(path: Any, *rest: Any, **named: Any) -> Any:
            if locked in Path(path).parents or Path(path) in itself:  # as for everybody but root
                raise PermissionError(13, "Permission denied", os.fspath(path))
            return call(path, *rest, **named)

        return refused

    monkeypatch.setattr(os, "scandir", refusing(os.scandir, locked))
    monkeypatch.setattr(os, "stat", refusing(os.stat))
    options = with_layers(config.Config(None, tmp_path), {}, (), pinned=False)
    for given, files in (([str(tmp_path)], ["a/x.py", "z.py"]), ([str(locked)], [])):
        outcome = python_files(given, options)
        assert [file.relative_to(tmp_path).as_posix() for file in outcome.files] == files
        assert outcome.errors == (f"cannot read {locked}: Permission denied",)
        assert outcome.warnings == ()
