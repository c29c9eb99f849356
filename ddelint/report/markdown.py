"""The `markdown` format: the summary of a call for a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ddelint.nouns.levels import Applicability
from ddelint.report.by_hand import help_for, most_telling
from ddelint.report.console import changed_lines
from ddelint.report.diff import shown_path
from ddelint.report.evidence import name_of, notes_of_all, risk_of, unfixed, verified_line
from ddelint.report.model import Report
from ddelint.report.sources import Sources
from ddelint.version import VERSION

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic, Evidence

_LONGEST = 200
"""Characters of a cell that reports a question."""
_FENCE = re.compile(r"^`{3,}")


def render_report(report: Report, command: str, unsafe_fixes: bool, arguments: str = "") -> Iterator[str]:
    """One sentence, the table, each diff with its evidence and risk, what is left and why, and how to see it again.

    `command` and `arguments` are the call that found this; options go between them.
    """
    fixed = _sorted([*report.fixed, *(d for d in report.remaining if _is_ready(d, unsafe_fixes))])
    offered = [d for d in report.remaining if not _is_ready(d, unsafe_fixes) and _applies(d, Applicability.UNSAFE)]
    left = [d for d in report.remaining if d not in fixed and d not in offered]
    written = bool(report.fixed)
    yield f"## ddelint: {_headline(report, fixed, offered, left)}"
    yield ""
    yield _sentence(report, fixed, [*offered, *left])
    yield ""
    if fixed:
        yield "### Fixed" if written else "### Can be fixed"
        yield ""
        yield from _fixes(fixed, report)
    if offered:
        yield "### Fixed only with `--unsafe-fixes`"
        yield ""
        yield "These narrow what the program accepts, need a promise, or could not be run on both sides."
        yield ""
        yield from _fixes(offered, report)
    if left:
        yield "### Needs manual changes"
        yield ""
        yield from _table(("where", "rule", "question", "why it is left"), [_left(found, report) for found in left])
        yield ""
        yield from _by_hand(left)
    yield "### How to reproduce"
    yield ""
    yield "```"
    yield f"pip install ddelint=={VERSION}"
    for flags in ("", *(("--fix" if written else "--diff",) if fixed else ())):
        extra = [flags, "--unsafe-fixes"] if unsafe_fixes else [flags]
        yield " ".join(filter(None, (command, *extra, arguments)))
    yield "```"
    if report.diffs:  # last, as it is what a forge cuts from a long text, and shows itself
        diff = "".join(report.diffs[name] for name in sorted(report.diffs))
        yield ""
        yield f"<details><summary>The whole change ({_plural(len(report.diffs), 'file')})</summary>"
        yield ""
        yield from fenced("diff", diff.removesuffix("\n").split("\n"))
        yield ""
        yield "</details>"


def _sentence(report: Report, fixed: Sequence[Diagnostic], open_: Sequence[Diagnostic]) -> str:
    """What was done, and what it rests on."""
    entries = ", ".join(f"`{_plain(entry)}`" for entry in report.entries)
    if not fixed:
        if not open_:
            said = "Nothing that a trace could not decide was found"
        else:
            one = len(open_) == 1
            said = f"{_plural(len(open_), 'place')} {'needs' if one else 'need'} the data while tracing"
        return f"{said}; ran {entries}." if entries else f"{said}."
    verb = ("is" if len(fixed) == 1 else "are") if report.fixed else "can be"
    said = f"{_plural(len(fixed), 'place')} that needed the data while tracing {verb} rewritten"
    run = [d.evidence for d in fixed if d.evidence is not None and d.evidence.samples is not None]
    if not run:
        return f"{said}; nothing was run: each fix says what it rests on."
    shown = [words for words, holds in _PROOFS if all(holds(evidence) for evidence in run)]
    share = "" if len(run) == len(fixed) else f" {len(run)} of them"
    return f"{said}; verified{share} by running {entries or 'the entry'}: {', '.join(shown) or 'see each fix'}."


_PROOFS: Sequence[tuple[str, Callable[[Evidence], bool | None]]] = (
    ("eager results stay the same", lambda evidence: evidence.eager_equal),
    ("it exports", lambda evidence: evidence.export),
    ("it compiles to one graph", lambda evidence: evidence.compile),
)


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


def _fixes(found: Sequence[Diagnostic], report: Report) -> Iterator[str]:
    """The table, then each with what it changes, what was run, and what to know before it is merged."""
    rows = []
    for diagnostic in found:
        fix = diagnostic.fix
        safety = fix.applicability.value if fix is not None else ""
        rows.append((_where(diagnostic), _rule(diagnostic), _question(diagnostic), safety))
    yield from _table(("where", "rule", "question", "fix"), rows)
    yield ""
    shared = notes_of_all(found)
    for note in shared:
        yield f"Of all of these: {_one_line(note)}."
        yield ""
    before, now = Sources({**report.texts, **report.originals}), Sources(report.texts)
    for diagnostic in found:
        yield f"#### {_where(diagnostic)} {_rule(diagnostic)}"
        yield ""
        yield _does(diagnostic)
        yield ""
        changes = list(_changes(diagnostic, before if diagnostic.fixed else now))
        if changes:
            yield from fenced("diff", changes)
            yield ""
        yield f"- Evidence: {verified_line(diagnostic.evidence)}"
        yield f"- Risk: {_one_line(risk_of(diagnostic, shared))}"
        yield ""


def _does(diagnostic: Diagnostic) -> str:
    fix = diagnostic.fix
    return fix.message.splitlines()[0] if fix is not None and fix.message else ""


def _changes(diagnostic: Diagnostic, sources: Sources) -> Iterator[str]:
    """The lines that a fix takes away and puts there, file by file."""
    edits = diagnostic.fix.edits if diagnostic.fix is not None else ()
    for name in dict.fromkeys((diagnostic.span.filename, *(edit.span.filename for edit in edits))):
        source = sources.get(name)
        own = [edit for edit in edits if edit.span.filename == name]
        if source is None or not own:
            continue
        if name != diagnostic.span.filename:
            yield f"# {shown_path(name)}"
        yield from changed_lines(source, own)


def fenced(language: str, lines: Sequence[str]) -> Iterator[str]:
    """Lines of code, or of a diff, as a block that nothing in them ends."""
    runs = (_FENCE.match(line.lstrip("+-").lstrip()) for line in lines)
    longest = max((len(run[0]) for run in runs if run), default=0)
    fence = "`" * max(3, 1 + longest)
    yield f"{fence}{language}"
    yield from lines
    yield fence


def _by_hand(left: Sequence[Diagnostic]) -> Iterator[str]:
    """What a rewrite that was refused would make of the lines of a finding; a rule's own example stands in its page."""
    for diagnostic in left:
        known = help_for(diagnostic)
        if known is not None and known.code and not known.is_example:
            yield f"{_where(diagnostic)} {known.intro}"
            yield ""
            yield from fenced("python", known.code.splitlines())
            yield ""


def _left(diagnostic: Diagnostic, report: Report) -> tuple[str, str, str, str]:
    fix = diagnostic.fix
    if fix is not None and fix.message:
        why = f"by hand: {fix.message.splitlines()[0]}"
    elif diagnostic.refused:
        told = most_telling(diagnostic.refused)
        more = len(diagnostic.tried) - told.was_run
        tail = f" ({_plural(more, 'more rewrite')} tried and refused)" if more else ""
        why = f"{told.message}: {'refused' if told.was_run else 'not tried'}, {told.reason}{tail}"
    else:
        why = diagnostic.detail.splitlines()[0] if diagnostic.detail else unfixed(diagnostic, report)
    return _where(diagnostic), _rule(diagnostic), _question(diagnostic), why


def _where(diagnostic: Diagnostic) -> str:
    return f"`{_plain(shown_path(diagnostic.span.filename))}:{diagnostic.span.row}`"


def _rule(diagnostic: Diagnostic) -> str:
    return f"{diagnostic.code} {name_of(diagnostic.code)}"


def _question(diagnostic: Diagnostic) -> str:
    return f"`{_plain(diagnostic.expression)}`" if diagnostic.expression else diagnostic.message


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
    line = _one_line(text)
    line = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return line.replace("|", "\\|")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _sorted(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    return sorted(found, key=lambda d: (d.span, d.code))


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
