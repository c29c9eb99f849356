"""The cache of the static pass: what is a hit, and that nothing about it is ever an error."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ddelint.knowledge import cache
from ddelint.knowledge.cache import Cache, Cleaned, Content, content_of, stamp_of
from ddelint.system import files
from ddelint.version import VERSION

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
    assert cache.clean(folder) == Cleaned(removed=False)
    stored(folder)
    assert (folder / ".gitignore").read_text() == "*\n"
    assert cache.clean(folder) == Cleaned(removed=True)
    assert not folder.is_dir()


def test_clean_leaves_folders_alone_that_are_no_cache(tmp_path: Path) -> None:
    folder = tmp_path / ".ddelint_cache"
    folder.mkdir()
    (folder / "precious.py").write_text("")
    assert "no cache of ddelint's" in cache.clean(folder).problem
    assert (folder / "precious.py").is_file()


def test_clean_leaves_what_is_not_the_caches(tmp_path: Path) -> None:
    folder, precious = tmp_path / ".ddelint_cache", tmp_path / "precious"
    stored(folder)
    (shard,) = folder.rglob("*.json")
    precious.mkdir()
    (precious / f"{'0' * 30}.json").write_text("mine")
    (shard.parent / "notes.txt").write_text("mine")
    (shard.parent / f"{'1' * 30}.json").symlink_to(precious)
    (shard.parent.parent / "ff").symlink_to(precious)
    (folder / "1.0").symlink_to(tmp_path)
    left = {shard.parent / "notes.txt", shard.parent / f"{'1' * 30}.json", shard.parent.parent / "ff", folder / "1.0"}
    assert set(map(Path, cache.clean(folder).left)) == left
    assert not shard.exists()
    assert (precious / f"{'0' * 30}.json").read_text() == "mine"
    assert (folder / "CACHEDIR.TAG").is_file()


def test_clean_follows_no_link(tmp_path: Path) -> None:
    stored(tmp_path / "real")
    (tmp_path / ".ddelint_cache").symlink_to(tmp_path / "real")
    assert "no folder" in cache.clean(tmp_path / ".ddelint_cache").problem
    assert list((tmp_path / "real").rglob("*.json"))


def test_a_cache_that_was_copied_or_made_elsewhere_is_a_miss(tmp_path: Path) -> None:
    stored(tmp_path / "made")
    shutil.copytree(tmp_path / "made", tmp_path / "copy")
    known = Cache(tmp_path / "copy")
    assert known.get("/src/a.py", STAMP) is None
    assert stored(tmp_path / "copy").get("/src/a.py", STAMP) == VALUE  # and is overwritten
    (tmp_path / "made" / "CACHEDIR.TAG").rename(tmp_path / "tag")
    shutil.copy(tmp_path / "tag", tmp_path / "made" / "CACHEDIR.TAG")
    assert Cache(tmp_path / "made").get("/src/a.py", STAMP) is None


def trap_link_for_the_folder(folder: Path, elsewhere: Path) -> None:
    folder.rename(elsewhere / "cache")
    folder.symlink_to(elsewhere / "cache")


def trap_link_for_the_version(folder: Path, elsewhere: Path) -> None:
    (folder / VERSION).rename(elsewhere / VERSION)
    (folder / VERSION).symlink_to(elsewhere / VERSION)


def trap_link_for_the_shards(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    place.parent.rename(elsewhere / place.parent.name)
    place.parent.symlink_to(elsewhere / place.parent.name)


def trap_link_for_the_shard(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    place.rename(elsewhere / place.name)
    place.symlink_to(elsewhere / place.name)


def trap_link_for_the_tag(folder: Path, elsewhere: Path) -> None:
    (folder / "CACHEDIR.TAG").rename(elsewhere / "CACHEDIR.TAG")
    (folder / "CACHEDIR.TAG").symlink_to(elsewhere / "CACHEDIR.TAG")


def trap_another_name_of_the_shard(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    os.link(place, elsewhere / "linked")


def trap_pipe_for_the_shard(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    place.unlink()
    os.mkfifo(place)


def trap_pipe_for_the_tag(folder: Path, elsewhere: Path) -> None:
    (folder / "CACHEDIR.TAG").unlink()
    os.mkfifo(folder / "CACHEDIR.TAG")


def trap_no_end(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    os.truncate(place, 2**40)


def trap_foreign_tag(folder: Path, elsewhere: Path) -> None:
    (folder / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55\n# made by another\n")


def trap_file_for_the_folder(folder: Path, elsewhere: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("in the way")


def trap_folder_for_the_shard(folder: Path, elsewhere: Path) -> None:
    (place,) = folder.rglob("*.json")
    place.unlink()
    place.mkdir()


TRAPS = [function for name, function in list(globals().items()) if name.startswith("trap_")]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_a_trap_is_a_miss_and_nothing_outside_is_written(tmp_path: Path, trap: Callable[[Path, Path], None]) -> None:
    folder, elsewhere = tmp_path / ".ddelint_cache", tmp_path / "elsewhere"
    elsewhere.mkdir()
    stored(folder)
    trap(folder, elsewhere)
    before = {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()}
    assert Cache(folder).get("/src/a.py", STAMP) is None
    stored(folder, b"other text")
    assert {path: path.read_bytes() for path in elsewhere.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", [".gitignore", "CACHEDIR.TAG"])
def test_a_link_that_leads_nowhere_makes_no_file_there(tmp_path: Path, name: str) -> None:
    folder = tmp_path / ".ddelint_cache"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "bashrc")
    known = stored(folder)
    assert known.get("/src/a.py", STAMP) is None
    assert "no cache of ddelint's" in known.problem
    assert not (tmp_path / "bashrc").exists()
    assert os.listdir(folder) == [name]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner")
def test_the_cache_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(tmp_path)
    owner = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    known = Cache(tmp_path)
    assert known.get("/src/a.py", STAMP) is None
    assert "another user's" in known.problem
    assert "another user's" in cache.clean(tmp_path).problem


def test_without_paths_relative_to_a_folder_the_same_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_RELATIVE", False)
    assert stored(tmp_path / "cache").get("/src/a.py", STAMP) == VALUE
    (tmp_path / "link").symlink_to(tmp_path / "cache")
    assert Cache(tmp_path / "link").get("/src/a.py", STAMP) is None
    assert cache.clean(tmp_path / "cache") == Cleaned(removed=True)
