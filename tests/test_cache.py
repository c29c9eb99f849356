"""The cache of the static pass: what is a hit, and that nothing about it is ever an error."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ddelint import cache
from ddelint.cache import Cache, Content, content_of, stamp_of

VALUE = {"findings": [{"code": "DDE101"}]}
STAMP = (4, 1_000, 7)


def stored(folder: Path, data: bytes = b"text", salt: str = "") -> Cache:
    """A cache written to disk that knows /src/a.py, and another object that reads it."""
    written = Cache(folder, salt)
    written.put("/src/a.py", content_of(data, STAMP), VALUE)
    written.save()
    return Cache(folder, salt)


@pytest.fixture(autouse=True)
def _sources_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "exists", lambda path: True)


def test_the_same_stamp_is_a_hit_without_the_content(tmp_path: Path) -> None:
    assert stored(tmp_path).get("/src/a.py", STAMP) == VALUE


def test_another_stamp_is_a_hit_only_with_the_same_content(tmp_path: Path) -> None:
    known = stored(tmp_path)
    touched = (4, 2_000, 7)
    assert known.get("/src/a.py", touched) is None
    assert known.get("/src/a.py", touched, b"else") is None
    assert known.get("/src/a.py", touched, b"text") == VALUE
    known.save()
    assert Cache(tmp_path).get("/src/a.py", touched) == VALUE  # the new stamp was taken over


def test_a_time_that_may_come_again_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"text")
    stamp = stamp_of(str(path))
    assert content_of(b"text", stamp) == Content(content_of(b"text", None).digest, None)
    os.utime(path, ns=(10**9, 10**9))
    assert content_of(b"text", stamp_of(str(path))).stamp is not None


def test_any_difference_is_a_miss(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stored(tmp_path, salt="salt").get("/src/b.py", STAMP) is None
    assert Cache(tmp_path, "pepper").get("/src/a.py", STAMP) is None
    assert Cache(tmp_path, "salt", enabled=False).get("/src/a.py", STAMP) is None
    monkeypatch.setattr(cache, "_fingerprint", lambda: "another version")
    assert Cache(tmp_path, "salt").get("/src/a.py", STAMP) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"made by": 1}', b"[" * 100_000, b"\xff\xfe"])
def test_a_damaged_file_is_a_miss(tmp_path: Path, damage: bytes) -> None:
    stored(tmp_path)
    (place,) = tmp_path.rglob("*.json")
    place.write_bytes(damage)
    assert Cache(tmp_path).get("/src/a.py", STAMP) is None


def test_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    stored(tmp_path)
    (place,) = tmp_path.rglob("*.json")
    content = json.loads(place.read_bytes())
    content["files"]["a.py"] = [1, 2]
    place.write_text(json.dumps(content))
    assert Cache(tmp_path).get("/src/a.py", STAMP) is None


def test_what_is_gone_is_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = stored(tmp_path)
    known.put("/src/b.py", content_of(b"text", STAMP), VALUE)
    monkeypatch.setattr(os.path, "exists", lambda path: not str(path).endswith("a.py"))
    known.save()
    (place,) = tmp_path.rglob("*.json")
    assert list(json.loads(place.read_bytes())["files"]) == ["b.py"]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert stored(tmp_path / "file").get("/src/a.py", STAMP) is None


def test_git_does_not_see_the_cache_and_clean_drops_it(tmp_path: Path) -> None:
    folder = tmp_path / ".ddelint_cache"
    assert not cache.clean(folder)
    stored(folder)
    assert (folder / ".gitignore").read_text() == "*\n"
    assert cache.clean(folder)
    assert not folder.is_dir()


def test_clean_leaves_folders_alone_that_are_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / ".ddelint_cache"
    folder.mkdir()
    (folder / "precious.py").write_text("")
    assert not cache.clean(folder)
    assert (folder / "precious.py").is_file()
