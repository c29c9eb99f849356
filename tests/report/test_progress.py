"""What a long call says on standard error."""

from __future__ import annotations

import sys

import pytest

from ddelint.report.model import Progress, Silence
from ddelint.report.progress import StandardError, progress


def say_everything(to: Progress) -> None:
    to.stage("reading")
    to.note("running model.py:Model")
    to.debug("12 candidates")


@pytest.mark.parametrize(
    ("quiet", "verbose", "expected"),
    [
        (False, 0, "ddelint: running model.py:Model\n"),
        (False, 1, "ddelint: running model.py:Model\nddelint: 12 candidates\n"),
        (False, 2, "ddelint: reading\nddelint: running model.py:Model\nddelint: 12 candidates\n"),
        (True, 1, ""),
    ],
)
def test_lines_by_how_much_is_wanted(
    quiet: bool, verbose: int, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress(quiet, verbose) as said:
        say_everything(said)
    captured = capsys.readouterr()
    assert captured.err == expected
    assert captured.out == ""


def test_a_stage_is_gone_when_the_call_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with StandardError(quiet=False, verbose=0, live=True) as said:
        said.stage("tracing [red]model.py")
        said.note("a line that stays [1]")
        said.stage("verifying")
    captured = capsys.readouterr()
    assert "a line that stays [1]" in captured.err
    assert captured.out == ""


def test_silence_is_progress(capsys: pytest.CaptureFixture[str]) -> None:
    say_everything(Silence())
    assert capsys.readouterr() == ("", "")


def test_a_pipe_shows_no_stages(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False, raising=False)
    with progress(quiet=False, verbose=0) as said:
        said.stage("tracing")
    assert capsys.readouterr().err == ""
