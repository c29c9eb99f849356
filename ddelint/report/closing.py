"""The closing lines: what was found; after a call that writes, what was written, and what is left and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ddelint.nouns.levels import Applicability, Severity
from ddelint.report.diff import shown_path
from ddelint.report.model import ALL_PASSED, Report
from ddelint.report.moved import row_now
from ddelint.report.style import Style, words

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic

WRITTEN = 12
"""Fixes that are listed; `-v` lists all."""
INDENT = "  "


def summary(report: Report, style: Style, unsafe_fixes: bool, command: str, arguments: str = "") -> Iterator[str]:
    """The closing lines. `command` and `arguments` are the call that found this; `--fix` goes between them."""
    remaining, fixed = report.remaining, report.fixed
    if fixed:
        yield f"Fixed {_count(fixed)} in {_plural(_files(fixed), 'file')}:"
        yield from _written(report, style)
    if not remaining:
        if not report.files_checked and not report.entries:
            yield "Nothing was checked."
        elif not fixed and not report.errors:
            ran = f" Ran {', '.join(report.entries)}." if report.entries else ""
            yield style.paint(ALL_PASSED, "good") + ran
    elif report.writes:
        yield f"{_count(remaining)} left in {_plural(_files(remaining), 'file')}:"
        yield from _left(report, unsafe_fixes, command, arguments)
    else:
        yield _found(report, unsafe_fixes, command, arguments)


def _found(report: Report, unsafe_fixes: bool, command: str, arguments: str) -> str:
    """How much there is, and which call would fix how much of it."""
    text = f"{_count(report.remaining)} in {_plural(_files(report.remaining), 'file')}"
    safe, unsafe = report.fixable(Applicability.SAFE), report.fixable(Applicability.UNSAFE)
    ready = safe + unsafe if unsafe_fixes else safe
    if ready:
        flags = "--fix --unsafe-fixes" if unsafe_fixes else "--fix"
        text += f", {ready} fixable: `{_call(command, flags, arguments)}`"
    if unsafe and not unsafe_fixes:
        text += f" ({unsafe} more with --unsafe-fixes)" if ready else f", {unsafe} fixable with --fix --unsafe-fixes"
    return text


def _written(report: Report, style: Style) -> Iterator[str]:
    """A few lines for each fix: where it stands now, what it does, and what of it is not safe."""
    fixed = sorted(report.fixed, key=lambda d: (d.span, d.code))
    shown = fixed if style.verbose else fixed[:WRITTEN]
    for finding in shown:
        fix = finding.fix
        place = f"{shown_path(finding.span.filename)}:{row_now(finding, report) or finding.span.row}"
        if fix is None:
            yield f"{INDENT}{place} {finding.code}"
            continue
        said = f"{place} {finding.code} {fix.applicability.value}: {(fix.message.splitlines() or [fix.move])[0]}"
        why = [reason for reason in fix.reasons if reason not in said]
        if why:
            said += f" (unsafe: {'; '.join(why)})"
        first, *rest = words(said, max(style.width - 2 * len(INDENT), 20))
        yield f"{INDENT}{first}"
        yield from (f"{INDENT}{INDENT}{line}" for line in rest)
    if len(fixed) > len(shown):
        yield f"{INDENT}and {len(fixed) - len(shown)} more (-v lists them)"


def _left(report: Report, unsafe_fixes: bool, command: str, arguments: str) -> Iterator[str]:
    """How many are left for which reason; the call that would fix more, where it is another one than this."""
    reasons = Counter(_why_left(finding, report, unsafe_fixes) for finding in report.remaining)
    for (one, several), count in reasons.items():
        call = f": `{_call(command, '--fix --unsafe-fixes', arguments)}`" if (one, several) == _UNSAFE else ""
        yield f"{INDENT}{count} {one if count == 1 else several}{call}"


_UNSAFE = ("has an unsafe fix", "have an unsafe fix")
_NOT_WRITTEN = ("could not be written", "could not be written")
_ONLY_BY_READING = (
    "is in code that no entry ran: --static --fix writes its fix",
    "are in code that no entry ran: --static --fix writes their fixes",
)
_BY_HAND = ("is to be fixed by hand, as shown", "are to be fixed by hand, as shown")
_REFUSED = (
    "has no fix: each rewrite that was tried was refused (-v says why)",
    "have no fix: each rewrite that was tried was refused (-v says why)",
)
_NOT_RUN = ("is in code that no entry ran", "are in code that no entry ran")
_ONLY_READ = (
    "was read, not run: with an entry, rewrites are tried",
    "were read, not run: with an entry, rewrites are tried",
)
_READ_AS_IT_FAILED = ("was read, not run: the entry failed", "were read, not run: the entry failed")
_FAILED = ("is an entry that failed", "are entries that failed")
_UNPARSED = ("is in a file that does not parse", "are in files that do not parse")
_UNKNOWN = ("has no known rewrite", "have no known rewrite")


def _why_left(finding: Diagnostic, report: Report, unsafe_fixes: bool) -> tuple[str, str]:
    """Why a finding is not fixed, as it is said of one and of several."""
    fix = finding.fix
    if fix is not None and fix.applicability is Applicability.DISPLAY:
        return _BY_HAND
    if fix is not None:
        if fix.applicability is Applicability.UNSAFE and not unsafe_fixes:
            return _UNSAFE
        return _ONLY_BY_READING if report.entries and "trace" not in finding.origin else _NOT_WRITTEN
    if finding.refused:
        return _REFUSED
    if finding.code == "DDE001":
        return _UNPARSED
    if finding.code == "DDE002":
        return _FAILED
    if "trace" in finding.origin:
        return _UNKNOWN
    if report.entries:
        return _NOT_RUN
    return _READ_AS_IT_FAILED if any(other.code == "DDE002" for other in report.remaining) else _ONLY_READ


def _call(command: str, flags: str, arguments: str) -> str:
    return " ".join(filter(None, (command, flags, arguments)))


def _files(diagnostics: Sequence[Diagnostic]) -> int:
    return len({diagnostic.span.filename for diagnostic in diagnostics})


def diff_summary(report: Report, unsafe_fixes: bool) -> str:
    """What the diff would fix, of how much."""
    if not report.remaining:
        return "Nothing to fix."
    safe, unsafe = report.fixable(Applicability.SAFE), report.fixable(Applicability.UNSAFE)
    ready = safe + unsafe if unsafe_fixes else safe
    more = f" ({unsafe} more with --unsafe-fixes)" if unsafe and not unsafe_fixes else ""
    found = _plural(len(report.remaining), "finding")
    if not report.diffs:
        return f"{found}, none that can be fixed{more}."
    return f"Would fix {ready} of {found} in {_plural(len(report.diffs), 'file')}{more}."


def _count(diagnostics: Sequence[Diagnostic]) -> str:
    """`5 errors`, or `3 errors, 2 warnings` where they are mixed."""
    by_severity = [(s, sum(d.severity is s for d in diagnostics)) for s in Severity]
    names = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
    return ", ".join(_plural(count, names[severity]) for severity, count in by_severity if count)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
