"""A report as a Python session shows it: in plain text, and as a fragment of HTML for a notebook's cell."""

from __future__ import annotations

import html as markup
import re
from collections.abc import Iterator

from ddelint.report import console, verification
from ddelint.report.model import Report
from ddelint.report.sources import Sources
from ddelint.report.style import Style
from ddelint.report.verified import VerifyReport
from ddelint.report.visible import visible

_PAINT = re.compile("\x1b\\[([0-9;]*)m")
_CSS = {
    "1": "font-weight:600",
    "2": "opacity:.6",
    "31": "color:#d1242f",
    "32": "color:#1a7f37",
    "33": "color:#9a6700",
    "34": "color:#0969da",
    "36": "color:#1b7c83",
}
"""What the console's colours are in a page; readable on white and on dark."""
_PRE = "margin:0 0 .6em;white-space:pre;overflow-x:auto;line-height:1.35;background:transparent"


def headline(report: Report) -> str:
    """`3 findings in 2 files, 1 fixed`."""
    left = report.remaining
    files = len({diagnostic.span.filename for diagnostic in left})
    text = f"{_count(len(left), 'finding')} in {_count(files, 'file')}" if left else "no findings"
    return text + (f", {len(report.fixed)} fixed" if report.fixed else "")


def text(report: Report) -> str:
    """The findings as the `full` format has them, and a line that counts them."""
    return "\n".join([*console.render_report(report, Style(), unsafe_fixes=True), headline(report)])


def html(report: Report) -> str:
    """The findings, each folded but for its first line; the first is open."""
    sources, style = Sources(report.texts), Style(color=True)
    parts = [f"<div><b>ddelint</b>: {markup.escape(headline(report))}</div>"]
    parts += [f"<div>{markup.escape(visible(line))}</div>" for line in (*report.warnings, *report.errors)]
    for number, diagnostic in enumerate(report.remaining):
        first, *lines = console.render_diagnostic(diagnostic, sources, style, True)
        opened = " open" if number == 0 else ""
        parts.append(
            f"<details{opened}><summary>{_painted(first)}</summary>"
            f'<pre style="{_PRE}">{_painted(chr(10).join(lines))}</pre></details>'
        )
    return f"<div>{''.join(parts)}</div>"


def verified_text(report: VerifyReport) -> str:
    """What `ddelint verify` prints."""
    return "\n".join(verification.render_text(report, Style()))


def verified_html(report: VerifyReport) -> str:
    """The same in colour."""
    return f'<pre style="{_PRE}">{_painted(chr(10).join(verification.render_text(report, Style(color=True))))}</pre>'


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _painted(text: str) -> str:
    """Text with ANSI colours as HTML."""
    return "".join(_spans(text))


def _spans(text: str) -> Iterator[str]:
    pieces = _PAINT.split(text)
    yield markup.escape(pieces[0])
    for codes, piece in zip(pieces[1::2], pieces[2::2]):
        css = ";".join(_CSS[code] for code in codes.split(";") if code in _CSS)
        if piece:
            yield f'<span style="{css}">{markup.escape(piece)}</span>' if css else markup.escape(piece)
