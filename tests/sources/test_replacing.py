"""Writing a file so that nobody ever sees half of it, and nothing of it is lost."""

from __future__ import annotations

import errno
import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from ddelint.pipeline import run_check
from ddelint.report.model import Silence
from ddelint.settings.options import CheckOptions, Mode
from ddelint.sources.replacing import LeftAlone, remove_leftovers, replace_source, why_left_alone, write_atomically
from ddelint.sources.source import SourceFile

NOBODY = 2**32 - 1
FIXABLE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if torch.amin(x) < 0:
            raise ValueError("negative")
        return x
"""


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

    def refuse(*_: object, **__: object) -> None:
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


def model(path: Path) -> SourceFile:
    path.write_bytes(b"old = 1\n")
    return SourceFile.read(path)


def state_of(path: Path) -> tuple[object, ...]:
    """Which file is there, what it holds, and what lies beside it."""
    if not path.parent.is_dir():
        return ()
    there = path.lstat() if os.path.lexists(path) else None
    found = (there.st_ino, there.st_mode, there.st_nlink, there.st_mtime_ns) if there is not None else ()
    return *found, path.read_bytes() if path.is_file() else None, sorted(os.listdir(path.parent))


def assert_left_alone(source: SourceFile, why: str) -> None:
    """The file stays as it is, for a reason that is known before, too, and nothing is left beside it."""
    path = Path(source.filename)
    before = state_of(path)
    assert why in why_left_alone(source, "new = 1\n")
    with pytest.raises(LeftAlone, match=why):
        replace_source(source, "new = 1\n")
    assert state_of(path) == before


def test_a_source_that_has_changed_is_left_alone(tmp_path: Path) -> None:
    source = model(tmp_path / "a.py")
    (tmp_path / "a.py").write_text("theirs = 1\n")
    assert_left_alone(source, "has changed")


def test_a_source_that_changes_while_it_is_fixed_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = model(tmp_path / "a.py")
    whole = os.fsync

    def theirs(handle: int) -> None:
        (tmp_path / "a.py").write_text("theirs = 1\n")
        whole(handle)

    monkeypatch.setattr(os, "fsync", theirs)
    with pytest.raises(LeftAlone, match="has changed"):
        replace_source(source, "new = 1\n")
    assert (tmp_path / "a.py").read_text() == "theirs = 1\n"
    assert os.listdir(tmp_path) == ["a.py"]


def test_a_source_that_has_vanished_stays_so(tmp_path: Path) -> None:
    source = model(tmp_path / "a.py")
    (tmp_path / "a.py").unlink()
    assert_left_alone(source, "not there any more")
    tmp_path.rmdir()
    assert_left_alone(source, "folder is not there any more")


def test_a_source_that_has_become_a_link_is_left_alone(tmp_path: Path) -> None:
    source = model(tmp_path / "a.py")
    (tmp_path / "a.py").rename(tmp_path / "b.py")
    (tmp_path / "a.py").symlink_to("b.py")
    assert_left_alone(source, "become a link")


def test_a_source_whose_folder_has_become_a_link_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    source = model(folder / "a.py")
    folder.rename(tmp_path / "moved")
    folder.symlink_to("moved")
    assert_left_alone(source, "a link leads to its folder")


def test_a_source_that_has_become_a_pipe_is_left_alone(tmp_path: Path) -> None:
    source = model(tmp_path / "a.py")
    (tmp_path / "a.py").unlink()
    os.mkfifo(tmp_path / "a.py")
    assert_left_alone(source, "no regular file")


def test_a_source_with_two_names_keeps_them(tmp_path: Path) -> None:
    source = model(tmp_path / "a.py")
    os.link(tmp_path / "a.py", tmp_path / "b.txt")
    assert_left_alone(source, "hard link")


def test_a_source_keeps_its_owner_or_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = model(tmp_path / "a.py")
    found = os.fstat

    def of_somebody_else(handle: int) -> os.stat_result:
        values = list(found(handle))
        values[4] += 1
        return os.stat_result(values)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os.path, "samestat", lambda *_: True)
    monkeypatch.setattr(os, "fstat", of_somebody_else)
    monkeypatch.setattr(os, "fchown", refuse)
    with pytest.raises(LeftAlone, match="another user"):
        replace_source(source, "new = 1\n")
    assert os.listdir(tmp_path) == ["a.py"]


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs extended attributes")
def test_a_source_keeps_its_attributes_and_its_access_control_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.py"
    source = model(path)
    path.chmod(0o640)
    entries = [(1, 6, NOBODY), (2, 7, 1000), (4, 4, NOBODY), (16, 6, NOBODY), (32, 0, NOBODY)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(path, "user.note", b"mine")
        os.setxattr(path, "system.posix_acl_access", acl)
    except OSError:
        pytest.skip("the file system has no attributes")
    mode = path.stat().st_mode
    replace_source(source, "new = 1\n")
    assert path.read_text() == "new = 1\n"
    assert {name: os.getxattr(path, name) for name in os.listxattr(path)} == {
        "user.note": b"mine",
        "system.posix_acl_access": acl,
    }
    assert path.stat().st_mode == mode

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "not permitted")

    monkeypatch.setattr(os, "setxattr", refuse)
    with pytest.raises(LeftAlone, match="cannot be kept"):
        replace_source(SourceFile.read(path), "newer = 1\n")
    assert path.read_text() == "new = 1\n"


@pytest.mark.parametrize("encoding", ["unicode_escape", "raw_unicode_escape", "utf-7", "hz", "punycode", "idna"])
def test_an_encoding_of_escapes_is_not_fixed(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(f"# coding: {encoding}\n{FIXABLE}")
    told = run_check([str(path)], CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True), Silence())
    assert path.read_text() == f"# coding: {encoding}\n{FIXABLE}"
    assert [d.fix for d in told.diagnostics] == [None]
    assert told.errors == ()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "shift_jis", "gb18030", "koi8-r", "utf-8"])
def test_an_encoding_of_characters_is_fixed(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text(f"# coding: {encoding}\n{FIXABLE}")
    run_check([str(path)], CheckOptions(mode=Mode.STATIC, root=str(tmp_path), cache=False, fix=True), Silence())
    assert "_check_value" in path.read_text()


def test_bytes_that_an_encoding_does_not_write_back_are_left(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: cp932\nx = '\x87\x90'\n")  # NEC's duplicate of \x81\xe0
    assert_left_alone(SourceFile.read(path), "would write other bytes")


def test_a_text_that_the_encoding_cannot_hold_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("# coding: ascii\n")
    source = SourceFile.read(path)
    assert "has no place" in why_left_alone(source, "# coding: ascii\nx = '≤'\n")
    assert path.read_text() == "# coding: ascii\n"


def test_what_a_killed_call_left_is_removed_and_what_another_one_holds_is_not(tmp_path: Path) -> None:
    model(tmp_path / "a.py")
    program = (
        "import os, sys, pathlib\n"
        "from ddelint.sources.replacing import replace_source\n"
        "from ddelint.sources.source import SourceFile\n"
        "def wait(*_):\n"
        "    print(flush=True)\n"
        "    sys.stdin.read()\n"
        "os.fsync = wait\n"
        "replace_source(SourceFile.read(pathlib.Path(sys.argv[1])), 'new = 1')\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "a.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        (beside,) = set(os.listdir(tmp_path)) - {"a.py"}
        remove_leftovers([str(tmp_path / "a.py")])
        assert set(os.listdir(tmp_path)) == {"a.py", beside}
        other.kill()
        other.wait()
    remove_leftovers([str(tmp_path / "b.py")])
    assert set(os.listdir(tmp_path)) == {"a.py", beside}
    remove_leftovers([str(tmp_path / "a.py")])
    assert os.listdir(tmp_path) == ["a.py"]
    assert (tmp_path / "a.py").read_text() == "old = 1\n"


def test_a_report_goes_to_a_file_with_two_names_in_place(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a longer text than the new one")
    os.link(tmp_path / "a", tmp_path / "b")
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "b").read_text() == "new"


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'a' * 252}.py"
    replace_source(model(path), "new = 1\n")
    assert path.read_text() == "new = 1\n"
