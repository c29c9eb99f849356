"""Entries that do their worst, one a file in `entries`: each is told by itself, the others are traced, nothing stays.

The first line of a file is what is said of it: `runs` where it does no harm, nothing where either will do.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from killing import ddelint, left_of

ENTRIES = sorted((Path(__file__).parent / "entries").glob("*.py"))
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc"),
]


def test_each_entry_is_told_by_itself(tmp_path: Path) -> None:
    folder = tmp_path / "entries"
    folder.mkdir()
    for path in ENTRIES:
        (folder / path.name).write_bytes(path.read_bytes())
    (tmp_path / "outside.py").write_text("# not of the call\n")
    words = ("check", "entries", "--no-suggest", "--no-cache", "--timeout", "20", "--memory", "3G")
    done = ddelint((*words, "--output-format", "json"), tmp_path, "hostile")
    assert done.returncode == 1, done.stderr
    assert "a bug in ddelint" not in done.stderr
    assert "Traceback" not in done.stderr
    assert left_of("hostile") == []
    assert sorted(os.listdir(tmp_path)) == ["entries", "outside.py"]
    found = json.loads(done.stdout)
    for path in ENTRIES:
        says = path.read_text().splitlines()[0].removeprefix("#").strip()
        told = [f for f in found if Path(f["filename"]).name == path.name]
        failed = [f"{f['code']} {f['message']}" for f in told if f["code"] in ("DDE001", "DDE002")]
        if says == "runs":
            assert failed == [], path.name
            assert any(f["code"] == "DDE105" and "trace" in f["origin"] for f in told), path.name
        elif says:
            assert any(says in message for message in failed), (path.name, failed)
        assert not any("internal" in message for message in failed)
        assert (folder / path.name).read_bytes() == path.read_bytes()
