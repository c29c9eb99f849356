"""The `markdown` format: the summary of a call for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ddelint.levels import Applicability
from ddelint.report.diff import shown_path
from ddelint.report.evidence import name_of, trusted_line, unfixed
from ddelint.report.model import Report
from ddelint.version import VERSION

if TYPE_CHECKING:
    from ddelint.diagnostics import Diagnostic

_LONGEST = 200
"""Characters of a cell that reports a question."""
_FENCE = re.compile(r"^`{3,}", re.MULTILINE)


def render_report(report: Report, command: str, unsafe_fixes: bool, arguments: str = "") -> Iterator[str]:
    """What was found and fixed, the evidence for each fix, what needs a person, and how to see it again.

    `command` and `arguments` are the call that found this; options go between them.
    """
    fixed = [*report.fixed, *(d for d in report.remaining if _is_ready(d, unsafe_fixes))]
    offered = [d for d in report.remaining if not _is_ready(d, unsafe_fixes) and _applies(d, Applicability.UNSAFE)]
    left = [d for d in report.remaining if d not in fixed and d not in offered]
    yield f"## ddelint: {_headline(report, fixed, offered, left)}"
    yield ""
    if report.entries:
        yield f"Ran {', '.join(f'`{_plain(entry)}`' for entry in report.entries)}."
        yield ""
    written = bool(report.fixed)
    if fixed:
        yield "### Fixed" if written else "### Can be fixed"
        yield ""
        yield from _fixes(fixed)
    if offered:
        yield "### Fixed only with `--unsafe-fixes`"
        yield ""
        yield "These narrow what the program accepts, need a promise, or could not be run on both sides."
        yield ""
        yield from _fixes(offered)
    if left:
        yield "### Needs a person"
        yield ""
        yield from _table(("where", "rule", "question", "why it is left"), [_left(found, report) for found in left])
        yield ""
    if report.diffs:
        diff = "".join(report.diffs[name] for name in sorted(report.diffs))
        fence = "`" * max(3, 1 + max((len(found) for found in _FENCE.findall(diff)), default=0))
        yield f"<details><summary>The change ({_plural(len(report.diffs), 'file')})</summary>"
        yield ""
        yield f"{fence}diff"
        yield from diff.removesuffix("\n").split("\n")
        yield fence
        yield ""
        yield "</details>"
        yield ""
    yield "### How to reproduce"
    yield ""
    yield "```"
    yield f"pip install ddelint=={VERSION}"
    for flags in ("", *(("--fix" if written else "--diff",) if fixed else ())):
        extra = [flags, "--unsafe-fixes"] if unsafe_fixes else [flags]
        yield " ".join(filter(None, (command, *extra, arguments)))
    yield "```"


def _headline(
    report: Report, fixed: Sequence[Diagnostic], offered: Sequence[Diagnostic], left: Sequence[Diagnostic]
) -> str:
    total = len(fixed) + len(offered) + len(left)
    if not total:
        return "nothing found"
    files = len({found.span.filename for found in (*fixed, *offered, *left)})
    parts = [f"{_plural(total, 'finding')} in {_plural(files, 'file')}"]
    if fixed:
        parts.append(f"{len(fixed)} fixed" if report.fixed else f"{len(fixed)} can be fixed")
    if offered:
        parts.append(f"{len(offered)} with unsafe fixes")
    if left:
        parts.append(f"{len(left)} {'needs' if len(left) == 1 else 'need'} manual changes")
    return ", ".join(parts)


def _applies(diagnostic: Diagnostic, applicability: Applicability) -> bool:
    fix = diagnostic.fix
    return fix is not None and bool(fix.edits) and fix.applicability is applicability


def _is_ready(diagnostic: Diagnostic, unsafe_fixes: bool) -> bool:
    return _applies(diagnostic, Applicability.SAFE) or (unsafe_fixes and _applies(diagnostic, Applicability.UNSAFE))


def _fixes(found: Sequence[Diagnostic]) -> Iterator[str]:
    rows = []
    for diagnostic in sorted(found, key=lambda d: (d.span, d.code)):
        fix = diagnostic.fix
        sentence = fix.message.splitlines()[0] if fix is not None and fix.message else ""
        rows.append((_where(diagnostic), _rule(diagnostic), _question(diagnostic), sentence, _evidence(diagnostic)))
    yield from _table(("where", "rule", "question", "fix", "evidence"), rows)
    yield ""


def _left(diagnostic: Diagnostic, report: Report) -> tuple[str, str, str, str]:
    fix = diagnostic.fix
    if fix is not None and fix.message:
        why = f"by hand: {fix.message.splitlines()[0]}"
    elif diagnostic.refused:
        first = diagnostic.refused[0]
        more = len(diagnostic.refused) - 1
        tail = f" ({_plural(more, 'more rewrite')} tried and refused)" if more else ""
        why = f"{first.message}: refused, {first.reason}{tail}"
    else:
        why = diagnostic.detail.splitlines()[0] if diagnostic.detail else unfixed(diagnostic, report)
    return _where(diagnostic), _rule(diagnostic), _question(diagnostic), why


def _where(diagnostic: Diagnostic) -> str:
    return f"`{_plain(shown_path(diagnostic.span.filename))}:{diagnostic.span.row}`"


def _rule(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code} {name_of(diagnostic.code)}"


def _question(diagnostic: Diagnostic) -> str:
    return f"`{_plain(diagnostic.expression)}`" if diagnostic.expression else diagnostic.message


def _evidence(diagnostic: Diagnostic) -> str:
    return trusted_line(diagnostic)


def _plain(text: str) -> str:
    """Without what would end a code span."""
    return text.replace("`", "'")


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(map(_cell, row))} |"


def _cell(text: str) -> str:
    """One line, in which a bar is no border."""
    line = " ".join(text.split())
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return line.replace("|", "\\|")


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
