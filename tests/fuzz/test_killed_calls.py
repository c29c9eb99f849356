"""A call that is ended at any point leaves whole files and no processes, and the next call leaves nothing else.

DDELINT_KILLS says at how many points, static and traced each; the first and last steps are always among them.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
from killing import ddelint, left_of

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")

KILLS = int(os.environ.get("DDELINT_KILLS", "0"))
"""0: few of them."""
FILES = 96
"""Enough for two processes to read them."""
MODEL = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        if torch.amin(x) < 0:
            raise ValueError("negative {number}")
        return x
"""
ENTRY = """

def make_inputs(seed):
    torch.manual_seed(seed)
    return (torch.rand(3),)
"""
STATIC = ("check", ".", "--static", "--fix", "-j", "2", "-q", "-o", "report.txt", "--patch", "changes.patch")
TRACED = ("check", "model0.py", "--fix", "-q", "--samples", "4", "--target", "export", "-o", "report.txt")
OURS = {".ddelint_cache", "report.txt", "changes.patch"}
SIGNALS = ("SIGKILL", "SIGTERM", "SIGHUP", "SIGINT")


@pytest.fixture(autouse=True)
def heeded() -> object:
    """A process that ignores SIGINT (in the background of a shell) would have children that do."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def programs(folder: Path, count: int, more: str = "") -> dict[str, str]:
    """Programs with a fix each; their texts."""
    folder.mkdir()
    texts = {f"model{number}.py": MODEL.format(number=number) + more for number in range(count)}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return texts


def points(total: int, wanted: int) -> list[int]:
    """So many of the steps 1 to `total`, evenly."""
    return sorted({1 + round(at * (total - 1) / max(1, wanted - 1)) for at in range(wanted)})


def assert_each_end_is_clean(tmp_path: Path, words: tuple[str, ...], count: int, more: str, wanted: int) -> None:
    texts = programs(tmp_path / "whole", count, more)
    done = ddelint(words, tmp_path / "whole", "whole", [str(tmp_path / "steps")])
    assert done.returncode == 0, done.stderr
    fixed = {name: (tmp_path / "whole" / name).read_text() for name in texts}
    assert all(fixed[name] != text for name, text in texts.items())
    ended = 0
    for index, point in enumerate(points(int((tmp_path / "steps").read_text()), wanted)):
        name = SIGNALS[index % 2 and 1 + index // 2 % 3]  # every other one is killed
        folder = tmp_path / f"at-{point}"
        programs(folder, count, more)
        done = ddelint(words, folder, folder.name, [str(point), name])
        ended += done.returncode in (2, -signal.SIGKILL)
        assert "Traceback" not in done.stderr, (point, name, done.stderr)
        assert "a bug in ddelint" not in done.stderr, (point, name, done.stderr)
        assert left_of(folder.name) == [], (point, name)
        for file, text in texts.items():
            assert (folder / file).read_text() in (text, fixed[file]), (point, name, file)
        done = ddelint(words, folder, folder.name)
        assert done.returncode == 0, (point, name, done.stdout, done.stderr)
        assert left_of(folder.name) == []
        assert {file: (folder / file).read_text() for file in texts} == fixed, (point, name)
        assert set(os.listdir(folder)) - OURS == set(texts), (point, name)
    assert ended >= wanted // 2


@pytest.mark.slow
def test_static_calls(tmp_path: Path) -> None:
    assert_each_end_is_clean(tmp_path, STATIC, FILES, "", KILLS or 6)


@pytest.mark.slow
def test_traced_calls(tmp_path: Path) -> None:
    assert_each_end_is_clean(tmp_path, TRACED, 1, ENTRY, KILLS or 2)
