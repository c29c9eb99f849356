"""No text of somebody else's keeps a regular expression busy."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

STATIC = ("static/", "suppressions", "config", "discovery", "extensions", "fingerprints", "options", "scan")
"""What reads the files of a repository."""


SECONDS = 8
"""For one input, generous: what is linear takes a hundredth of that on a slow machine, what is quadratic in 100,000
characters, or cubic in 30,000, many times as much."""


def worst(length: int, every: int, *where: str) -> subprocess.CompletedProcess[str]:
    """The expressions in modules of these names on their worst inputs of a length, under a limit on CPU time."""
    program = str(Path(__file__).parent / "worst_inputs.py")
    limited = f"ulimit -t 300; exec {sys.executable} {program} {length} {every} {SECONDS} {' '.join(where)}"
    return subprocess.run(["/bin/sh", "-c", limited], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_what_reads_sources_takes_linear_time() -> None:
    done = worst(100_000, 1, *STATIC)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_all_other_expressions_take_linear_time_too() -> None:
    done = worst(30_000, 4)
    assert done.stdout == ""
    assert done.returncode == 0, done.stderr


def test_no_group_is_possessive() -> None:
    """Python before 3.11.5 keeps what such a group (`(?:ab)?+`) took before it failed (python/cpython #106052)."""
    root = Path(__file__).parent.parent
    files = [*(root / "ddelint").rglob("*.py"), *(root / "rules").glob("*.toml")]
    possessive = re.compile(r"\)(?:[?*+]|\{\{?[0-9,]+\}?\})\+")
    lines = [(path.name, line) for path in files for line in path.read_text("utf-8").splitlines()]
    assert [found for found in lines if possessive.search(found[1])] == []
