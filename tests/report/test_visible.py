"""Names, expressions and messages that would rule a terminal or a forge show as what they are, in each format."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ddelint.nouns.diagnostics import (
    Applicability,
    Claim,
    Diagnostic,
    Edit,
    Evidence,
    Fix,
    Refusal,
    Severity,
    Span,
    Symbol,
)
from ddelint.report.diff import unified_diff
from ddelint.report.formats import Rendering, render, render_diff
from ddelint.report.model import Report
from ddelint.report.patch import render_patch
from ddelint.report.style import Style
from ddelint.report.visible import visible, visible_line
from ddelint.settings.options import FORMATS

HOSTILE = [
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;owned\x07",
    "\x1b[31m",
    "\x9b31m",
    "a\n::error::owned",
    "a\r::error::owned",
    "a\u2028::error::owned",
    "\u202enoitpo\u202c",
    "\u2066x\u2069",
    "a\x00b",
    "a\x08\x08b",
    "\udcff",
    "</script><script>alert(1)</script>",
    "a`|b",
]


def report_on(text: str) -> Report:
    """A report with the text wherever something of the user's can stand."""
    filename = f"{text.replace('/', '').replace(chr(0), '')}.py"
    span = Span(filename, 1, 1, 1, 5)
    source = f"x = '{text.splitlines()[0].replace(chr(0xDCFF), '')}'\n"
    edit = Edit(span, f"{text.splitlines()[0]}")
    found = Diagnostic(
        "DDE101",
        f"`{text}` decides",
        span,
        Severity.ERROR,
        ("trace",),
        text,
        detail=f"ValueError: {text}",
        symbols=(Symbol(text, "u0", Span(filename, 1, 1, 1, 2), 0, 8),),
        fix=Fix(Applicability.SAFE, f"replaces {text}", (edit,), "check", Claim.EQUIVALENT),
        evidence=Evidence(samples=4, notes=(f"note {text}",)),
        breadcrumbs=((span, f"`{text}`"), (span, f"parameter `{text}`")),
    )
    left = Diagnostic(
        "DDE002",
        f"the entry raised {text}",
        span,
        Severity.ERROR,
        ("trace",),
        detail=text,
        refused=(Refusal("check", text, text),),
    )
    return Report(
        (found, left),
        {filename: source},
        diffs={filename: unified_diff(filename, source, "y = 1\n")},
        entries=(f"model.py:{text}",),
        errors=(text,),
        warnings=(text,),
    )


def hidden(text: str) -> Iterator[str]:
    """Characters of a text that are not seen as what they are."""
    for character in text:
        if character not in "\n\t" and unicodedata.category(character) in {"Cc", "Cs", "Zl", "Zp"}:
            yield character
        if unicodedata.bidirectional(character) in {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}:
            yield character


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", FORMATS)
def test_no_format_hands_on_what_is_hidden(name: str, text: str) -> None:
    shown = render(report_on(text), Rendering(Style(verbose=True), name))
    assert list(hidden(shown)) == []
    assert not any(line.lstrip().startswith("::error::owned") for line in shown.splitlines()) or name == "html"


@pytest.mark.parametrize("text", HOSTILE)
def test_machines_read_what_was_there(text: str) -> None:
    report = report_on(text)
    findings: list[dict[str, Any]] = json.loads(render(report, Rendering(Style(), "json")))
    assert {finding["message"] for finding in findings} == {d.message for d in report.diagnostics}
    ElementTree.fromstring(render(report, Rendering(Style(), "junit")))


@pytest.mark.parametrize("text", HOSTILE)
def test_comments_and_names_of_a_diff_stay_in_their_lines(text: str, tmp_path: Path) -> None:
    report = report_on(text)
    (diff,) = report.diffs.values()
    assert diff.count("\n") == 5
    assert diff.splitlines()[0].startswith("--- ")
    comments = render_diff(report, Style()).split("--- ")[0]
    assert list(hidden(comments)) == []
    assert all(line.startswith("#") for line in comments.splitlines())
    assert render_patch(report).startswith(b"diff --git ")


def test_our_own_colours_stay() -> None:
    style = Style(color=True)
    painted = style.paint("wrong", "error") + " \x1b[2J"
    assert visible_line(painted, True) == style.paint("wrong", "error") + " \\x1b[2J"
    assert visible_line(painted, False).count("\x1b") == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "plain"), ("größer ≤ 数", "größer ≤ 数"), ("a\tb", "a\tb"), ("a\nb", "a\\nb"), ("\u202e", "\\u202e")],
)
def test_what_can_be_seen_stays_as_it_is(text: str, shown: str) -> None:
    assert visible(text) == shown
