"""Suppression comments: which findings they silence, and which comments silence none."""

from __future__ import annotations

import pytest

from ddelint.nouns.diagnostics import Diagnostic, Span
from ddelint.settings.suppressions import apply, suppressions
from ddelint.sources.source import SourceFile

FILE = "model.py"


def finding(row: int, code: str = "DDE101", end_row: int | None = None) -> Diagnostic:
    """A finding on a line."""
    return Diagnostic(code, "text", Span(FILE, row, 1, end_row or row, 5))


def codes(text: str, *found: Diagnostic, traced: bool = False, traceable: bool = False) -> list[str]:
    """Codes that are left of `found` in a file with this text."""
    return [d.code for d in apply(SourceFile(FILE, text), found, traced=traced, traceable=lambda: traceable)]


@pytest.mark.parametrize(
    "comment",
    [
        "# ddelint: ignore[DDE101]",
        "# ddelint: ignore",
        "#ddelint:ignore[DDE101, DDE102]",
        "# ddelint: ignore[DDE1]",
        "# noqa: DDE101",
        "# noqa: E501, DDE101",
        "# type: ignore  # noqa: DDE101",
        "# ddelint: ignore[DDE101] counts are small here",
        "# ddelint: ignore[DDE101 counts are small here",
        "# ddelint: ignore [DDE101]",
        "# ddelint: ignore[branch-on-value]",
    ],
)
def test_a_comment_on_the_line_silences(comment: str) -> None:
    left = codes(f"if n > 4:  {comment}\n    pass\n", finding(1), finding(1, "DDE102"))
    assert "DDE101" not in left


@pytest.mark.parametrize(
    "line",
    [
        "if n > 4:",
        "if n > 4:  # ddelint: ignore[DDE105]",
        "if n > 4:  # noqa: E501",
        "if n > 4:  # noqa",
        'if n > "# ddelint: ignore[DDE101]":',
    ],
)
def test_other_lines_are_not_silenced(line: str) -> None:
    assert "DDE101" in codes(f"{line}\n    pass\n", finding(1))


@pytest.mark.parametrize(
    "comment",
    [
        "# ddelint: ignore[DE201]",
        "# ddelint: ignore[tensor-truth-values",
        "# ddelint: ignore[DDE1O1]",
        "# ddelint: ignore[D]",
        "# ddelint: ignore[]",
    ],
)
def test_brackets_that_name_no_rule_silence_nothing_and_are_told(comment: str) -> None:
    source = SourceFile(FILE, f"if n > 4:  {comment}\n    pass\n")
    kept = apply(source, [finding(1)])
    assert [d.code for d in kept] == ["DDE101", "DDE003"]
    assert kept[1].message == f"`{comment}` suppresses nothing: it names no rule"
    assert kept[1].fix is None


def test_words_that_only_begin_like_a_comment_of_ours_are_none() -> None:
    assert codes("if n > 4:  # ddelint: ignored elsewhere\n    pass\n", finding(1)) == ["DDE101"]


def test_the_comment_may_stand_on_any_line_of_the_finding() -> None:
    text = "if (\n    n > 4  # ddelint: ignore[DDE101]\n):\n    pass\n"
    assert codes(text, finding(1, end_row=3)) == []
    assert codes(text, finding(4)) == ["DDE003", "DDE101"]


def test_skip_file_silences_everything_and_may_be_unused() -> None:
    text = "# ddelint: skip-file\nx = 1\n"
    assert codes(text, finding(2), finding(2, "DDE203")) == []
    assert codes(text) == ["DDE003"]


def test_an_unused_suppression_is_a_finding_with_a_fix() -> None:
    text = "x = 1  # ddelint: ignore[DDE101]\ny = 2\n"
    source = SourceFile(FILE, text)
    (unused,) = apply(source, [])
    assert (unused.code, unused.span) == ("DDE003", Span(FILE, 1, 8, 1, 33))
    assert "ddelint: ignore[DDE101]" in unused.message
    assert unused.fix is not None
    assert source.apply(unused.fix.edits) == "x = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1  # ddelint: ignore[DDE101, DDE102]\n", "x = 1  # ddelint: ignore[DDE102]\n"),
        ("x = 1  # ddelint: ignore[branch-on-value, DDE102]\n", "x = 1  # ddelint: ignore[DDE102]\n"),
        ("x = 1  # noqa: E501, DDE101\n", "x = 1  # noqa: E501\n"),
        ("x = 1  # noqa: DDE101  # type: ignore\n", "x = 1  # type: ignore\n"),
    ],
)
def test_only_the_unused_part_goes(before: str, after: str) -> None:
    source = SourceFile(FILE, before)
    (unused,) = apply(source, [finding(1, "DDE102")])[:1] if "DDE102" in before else apply(source, [])
    assert unused.fix is not None
    assert source.apply(unused.fix.edits) == after


def test_a_line_that_was_only_the_comment_goes() -> None:
    source = SourceFile(FILE, "a = 1\n# ddelint: skip-file\nb = 2\n")
    (unused,) = apply(source, [])
    assert unused.fix is not None
    assert source.apply(unused.fix.edits) == "a = 1\nb = 2\n"


def test_what_only_the_tracer_finds_is_unused_only_after_tracing() -> None:
    text = "x = 1  # ddelint: ignore[DDE305]\n"
    assert codes(text) == []
    assert codes(text, traced=True) == ["DDE003"]


@pytest.mark.parametrize(
    ("comment", "unused"),
    [
        ("ddelint: ignore[DDE101]", False),
        ("ddelint: ignore[DDE1]", False),
        ("noqa: DDE101", False),
        ("ddelint: ignore", False),
        ("ddelint: skip-file", False),
        ("ddelint: ignore[DDE601]", True),
        ("ddelint: ignore[DDE999]", True),
    ],
)
def test_what_a_trace_may_need_is_not_called_unused_without_one(comment: str, unused: bool) -> None:
    text = f"x = 1  # {comment}\n"
    assert codes(text, traceable=True) == ["DDE003"] * unused
    assert codes(text) == codes(text, traceable=True, traced=True) == ["DDE003"]


def test_a_file_that_does_not_parse_keeps_its_findings() -> None:
    assert codes('x = """\n# ddelint: skip-file\n', finding(1, "DDE001")) == ["DDE001"]


def test_columns_count_characters() -> None:
    (found,) = suppressions(SourceFile(FILE, 'é = "ü"  # ddelint: ignore\n'))
    assert (found.span.column, found.span.end_column) == (10, 27)


def test_a_comment_that_names_no_rule_says_so() -> None:
    source = SourceFile("a.py", "x = 1  # ddelint: ignore[DDE999, DDE101]\n")
    (told,) = apply(source, [], traced=True)
    assert told.message.endswith("suppresses nothing: there is no rule `DDE999`")


@pytest.mark.parametrize("listed", ["DDE101", "DDE901", "DDE1"])
def test_a_comment_about_either_rule_silences_what_stands_for_another(listed: str) -> None:
    untraceable = Diagnostic("DDE901", "text", Span(FILE, 1, 1, 1, 5), stands_for="DDE101")
    assert codes(f"if x:  # ddelint: ignore[{listed}]\n    pass\n", untraceable, traced=True) == []
