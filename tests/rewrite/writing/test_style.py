"""The file's own quotes, and the line length that its project is configured for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ddelint.rewrite.writing import style
from ddelint.rewrite.writing.style import LONGEST_LINE, THEIR_DEFAULT, longest_line, quote
from ddelint.sources.source import SourceFile

CONFIGURED = {
    "ruff in pyproject": ("pyproject.toml", "[tool.ruff]\nline-length = 100\n", 100),
    "black in pyproject": ("pyproject.toml", "[tool.black]\nline-length = 79\n", 79),
    "ruff before black": ("pyproject.toml", "[tool.black]\nline-length = 79\n[tool.ruff]\nline-length = 99\n", 99),
    "their default": ("pyproject.toml", "[tool.ruff]\nselect = ['E']\n", THEIR_DEFAULT),
    "ruff.toml": ("ruff.toml", "line-length = 90\n", 90),
    ".ruff.toml": (".ruff.toml", "line-length = 91\n", 91),
    "neither": ("pyproject.toml", "[project]\nname = 'x'\n", LONGEST_LINE),
    "nonsense": ("pyproject.toml", "[tool.ruff]\nline-length = 'wide'\n", LONGEST_LINE),
    "no TOML": ("pyproject.toml", "[tool.ruff\n", LONGEST_LINE),
}


@pytest.mark.parametrize("name", CONFIGURED)
def test_the_length_that_is_configured_nearest(name: str, tmp_path: Path) -> None:
    filename, text, expected = CONFIGURED[name]
    (tmp_path / ".git").mkdir()
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / filename).write_text(text)
    assert longest_line(str(tmp_path / "deep" / "er" / "model.py")) == expected


def test_a_nearer_configuration_wins_and_the_repository_ends_the_search(tmp_path: Path) -> None:
    (tmp_path / "ruff.toml").write_text("line-length = 60\n")
    inner, other = tmp_path / "inner", tmp_path / "other"
    for folder in (inner, other):
        (folder / ".git").mkdir(parents=True)
    (inner / "ruff.toml").write_text("line-length = 70\n")
    assert longest_line(str(inner / "model.py")) == 70
    assert longest_line(str(other / "model.py")) == LONGEST_LINE
    assert longest_line(str(tmp_path / "model.py")) == 60


def test_a_pipe_as_configuration_is_none(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / "ruff.toml")
    style._configured.cache_clear()
    assert longest_line(str(tmp_path / "model.py")) == LONGEST_LINE


@pytest.mark.parametrize(
    ("text", "said", "written"),
    [
        ("a = 'x'\nb = 'y'\nc = \"z\"\n", "cpu", "'cpu'"),
        ('a = "x"\nb = "y"\n', "cpu", '"cpu"'),
        ("a = 1\n", "cpu", '"cpu"'),
        ("a = 1\n", 'say "no"', "'say \"no\"'"),
        ("a = 'x'\n", "it's", '"it\'s"'),
    ],
)
def test_quotes(text: str, said: str, written: str) -> None:
    assert quote(SourceFile("model.py", text), said) == written
