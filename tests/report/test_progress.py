"""What a long call says on standard error."""

from __future__ import annotations

import sys

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Severity, Span
from ddelint.report.model import Progress, Silence
from ddelint.report.progress import MOST_FINDINGS, Remaining, StandardError, duration, progress


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


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_from_the_time_taken() -> None:
    clock = Clock()
    remaining = Remaining(clock)
    assert remaining.words() == []
    remaining.share(0, 4)
    assert remaining.words() == ["1 of 4"]  # nothing is known of the time yet
    clock.now += 10
    remaining.share(1, 4)
    assert remaining.words() == ["2 of 4", "about 30 s left"]
    clock.now += 12
    assert remaining.words() == ["2 of 4", "about 20 s left"]  # it runs down while the second is being done
    remaining.share(2, 9)  # more turned up
    assert remaining.words() == ["3 of 9", "about 75 s left"]
    remaining.share(0, 2)  # other work
    assert remaining.words() == ["1 of 2"]


def test_a_stage_tells_how_long_it_takes_once_that_is_worth_telling() -> None:
    clock = Clock()
    said = StandardError(quiet=False, verbose=0, live=False, clock=clock)
    said.stage("DDE102 n == 0")
    assert said.words() == "DDE102 n == 0"
    clock.now += 8
    said.share(2, 5)
    assert said.words() == "DDE102 n == 0 · 8 s · 3 of 5"


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "1 s"), (7.6, "8 s"), (12, "10 s"), (88, "90 s"), (100, "2 min")])
def test_a_guess_has_no_more_digits_than_it_is_worth(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_reading_a_few_files_shows_nothing_and_loads_nothing() -> None:
    clock = Clock()
    with StandardError(quiet=False, verbose=0, live=True, clock=clock) as said:
        for number in range(3):
            said.share(number, 3)
        assert said._status is None
        clock.now += 1
        said.share(2, 3)
        assert said._status is not None


def finding(row: int, code: str = "DDE101") -> Diagnostic:
    span = Span("model.py", row, 4, row, 9)
    return Diagnostic(code, "n > 3 decides", span, Severity.ERROR, ("trace",), "n > 3")


def test_what_is_found_is_shown_until_the_call_ends(capsys: pytest.CaptureFixture[str]) -> None:
    with StandardError(quiet=False, verbose=0, live=True) as said:
        said.finding(finding(1))
        said.finding(finding(2))
        said.finding(finding(1), "safe fix")
        assert said.found() == [
            "model.py:2:4: DDE101 n > 3 decides · …",
            "model.py:1:4: DDE101 n > 3 decides · safe fix",
        ]
    assert capsys.readouterr().out == ""


def test_more_findings_than_there_is_room_for_are_counted() -> None:
    with StandardError(quiet=False, verbose=0, live=True) as said:
        for row in range(1, MOST_FINDINGS + 4):
            said.finding(finding(row))
        assert len(said.found()) == MOST_FINDINGS + 1
        assert said.found()[-1] == "and 3 more"


def test_a_pipe_hears_of_findings_in_the_report_alone(capsys: pytest.CaptureFixture[str]) -> None:
    with StandardError(quiet=False, verbose=2, live=False) as said:
        said.finding(finding(1))
        assert said.found() == []
    assert capsys.readouterr() == ("", "")
