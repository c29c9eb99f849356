"""A hook's call over clean files says the same without click as with it, and anything else goes the whole way."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ddelint import cli
from ddelint.commands import plain
from ddelint.commands.options import check_options

CLEAN = "import torch\n\n@torch.compile\ndef f(x: torch.Tensor):\n    return x + 1\n"
ASKS = "import torch\n\n@torch.compile\ndef f(x: torch.Tensor):\n    if x.sum() > 0:\n        return x\n"
SETTINGS = {
    "nothing": "",
    "chosen": 'select = ["DDE1"]\nassume-compiled = true\nexclude = ["old"]\n',
    "forced": "force-exclude = true\nrespect-gitignore = false\n",
    "compiled": 'compiled = ["kit.*"]\npublic-functions = false\ntarget = ["export"]\nsamples = 3\n',
    "ignored": 'ignore = ["DDE105"]\n[per-file-ignores]\n"b.py" = ["DDE2"]\n',
}


def run(folder: Path, *words: str) -> tuple[int, str, str, bool]:
    """Exit code and output of a call, and whether click was loaded for it."""
    program = (
        "import sys, atexit\nfrom ddelint.__main__ import main\n"
        "atexit.register(lambda: sys.stderr.write('click' * ('click' in sys.modules)))\n"
        "sys.argv[0] = 'ddelint'\nmain()\n"
    )
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.removesuffix("click"), done.stderr.endswith("click")


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("words", [["a.py"], ["--force-exclude", "a.py", "below/b.py"], ["below/b.py"]], ids=len)
def test_the_options_are_those_of_click(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, words: list[str]
) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.py").write_text(CLEAN)
    (tmp_path / "below" / "b.py").write_text(CLEAN)
    (tmp_path / "ddelint.toml").write_text(settings)
    (tmp_path / "below" / "ddelint.toml").write_text('ignore = ["DDE2"]\n')
    monkeypatch.chdir(tmp_path)
    found = plain.options_of(["check", "--static", *words])
    given: dict[str, Any] = cli.main.commands["check"].make_context("check", ["--static", *words]).params
    paths, options = found if found is not None else ([], None)
    assert tuple(paths) == given["paths"]
    expected = check_options(paths, given)
    assert options is not None
    assert replace(options, layers=None) == replace(expected, layers=None)
    for path in paths:
        place = str(tmp_path / path)
        assert replace(options.at(place), layers=None) == replace(expected.at(place), layers=None)


def test_clean_files_load_no_click_and_others_do(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CLEAN)
    (tmp_path / "b.py").write_text(ASKS)
    for _ in range(2):  # the second call knows the files
        assert run(tmp_path, "check", "--static", "a.py") == (0, "All checks passed!\n", "", False)
        code, text, _, loaded = run(tmp_path, "check", "--static", "a.py", "b.py")
        assert (code, loaded) == (1, True)
        assert "DDE105" in text


@pytest.mark.parametrize(
    "words",
    [
        ["check", "--static"],
        ["check", "--static", "missing.py"],
        ["check", "--static", "."],
        ["check", "--static", "-q", "a.py"],
        ["check", "a.py"],
        ["check", "--static", "notes.txt"],
        ["check", "--static", "--", "a.py"],
        ["a.py"],
    ],
    ids=" ".join,
)
def test_what_is_not_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    (tmp_path / "a.py").write_text(CLEAN)
    (tmp_path / "notes.txt").write_text("")
    monkeypatch.chdir(tmp_path)
    assert plain.options_of(words) is None


def test_a_configuration_that_cannot_be_used_is_said_by_the_whole_way(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(CLEAN)
    (tmp_path / "ddelint.toml").write_text("nonsense = 1\n")
    code, text, said, loaded = run(tmp_path, "check", "--static", "a.py")
    assert (code, text, loaded) == (2, "", True)
    assert "nonsense" in said
