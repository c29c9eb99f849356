"""Another version of the files: a file, or a git revision."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ddelint.pipeline.gathering import PipelineError
from ddelint.pipeline.versions import other_version
from ddelint.sources.source import SourceFile


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    if shutil.which("git") is None:
        pytest.skip("no git here")

    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=n", "-c", "user.email=e@e")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "old.py").write_text("a = 1\n")
    (tmp_path / "same.py").write_text("s = 1\n")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    (tmp_path / "old.py").write_text("a = 2\n")
    (tmp_path / "new.py").write_text("n = 1\n")
    return tmp_path


def sources(folder: Path) -> list[SourceFile]:
    return [SourceFile.read(path) for path in sorted(folder.glob("*.py"))]


def test_a_revision_gives_what_has_another_text_there(repository: Path) -> None:
    assert other_version("HEAD", sources(repository)) == {str(repository / "old.py"): "a = 1\n"}


def test_a_file_stands_for_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("a = 2\n")
    other = tmp_path / "before.txt"
    other.write_text("a = 1\n")
    found = [SourceFile.read(tmp_path / "m.py")]
    assert other_version(str(other), found) == {str(tmp_path / "m.py"): "a = 1\n"}
    with pytest.raises(PipelineError, match="a file stands for one file"):
        other_version(str(other), found * 2)


@pytest.mark.parametrize("revision", ["nothing-like-it", "--output=x"])
def test_what_is_neither_is_one_line(repository: Path, revision: str) -> None:
    with pytest.raises(PipelineError, match="neither a file nor a git revision"):
        other_version(revision, sources(repository))
