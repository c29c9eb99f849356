"""Fixes that need no run: which findings get one, and what their files become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Diagnostic
from ddelint.pipeline import baselining, changed_lines
from ddelint.pipeline.choosing import chosen
from ddelint.pipeline.gathering import Run, unsilenced
from ddelint.pipeline.known_offers import findings_of, offers_of
from ddelint.pipeline.offering import parses
from ddelint.settings.options import CheckOptions
from ddelint.sources.source import SourceFile

OFFERED = 50
"""Of fixes that are neither written nor shown, at most so many are worked out: each has its file read again."""
ROUNDS = 8
"""A fix may bring a piece of text to a new place, where it is found, and fixed, again."""


def with_offers(findings: Sequence[Diagnostic], run: Run) -> list[Diagnostic]:
    """The findings, those of the static pass alone with their fixes."""
    from ddelint.rewrite.static_fixes import is_fixed_without_trace

    open_ = [d for d in findings if d.origin == ("static",) and d.fix is None and is_fixed_without_trace(d.code)]
    options = run.options
    if not open_:
        return list(findings)
    put_off = [d for d in open_ if not _shows_changes(options) or not _is_wanted(d.span.filename, run)]
    if not options.suggest:
        put_off = open_
    elif len(put_off) <= OFFERED:
        put_off = []
    elif not _shows_changes(options):
        run.notes.append(f"{len(open_)} findings may have a fix that needs no trace: --diff shows, --fix writes them")
    fixed = {id(finding): replace(finding, fix_pending=True) for finding in put_off}
    now = [finding for finding in open_ if id(finding) not in fixed]
    fixed |= zip(map(id, now), offers_of(now, run.sources, run), strict=True)
    return [fixed.get(id(finding), finding) for finding in findings]


def _shows_changes(options: CheckOptions) -> bool:
    """Whether the changes of files themselves are asked for, not only which findings have a fix."""
    return bool(options.fix or options.diff or options.patch)


def written(findings: Sequence[Diagnostic], run: Run) -> tuple[list[Diagnostic], dict[str, str]]:
    """What the search wrote, and the files that fixes of the static pass alone change: those that it left as they were.

    The findings come back with what later rounds change in their fixes.
    """
    from ddelint.pipeline.later_rounds import with_all_edits
    from ddelint.rewrite.static_fixes import fixed_text

    already = run.history.overlay if run.history is not None else {}
    by_file: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        has_fix = finding.fix is not None or (finding.fix_pending and _shows_changes(run.options))
        if has_fix and finding.origin == ("static",) and finding.span.filename not in already:
            by_file.setdefault(finding.span.filename, []).append(finding)
    left = {filename for filename in by_file if not _is_wanted(filename, run)}
    if left:
        files = "1 file" if len(left) == 1 else f"{len(left)} files"
        run.notes.append(
            f"{files} that no entry ran: left as they are; --static --fix writes the fixes found by reading"
        )
    result = dict(already)
    reported: dict[int, Diagnostic] = {}
    for filename, group in by_file.items():
        if filename in left:
            continue
        source = run.sources[filename]
        text = fixed_text(source, group, run.options.unsafe_fixes)
        if text == source.text:
            continue
        if not parses(SourceFile(filename, text, source.encoding)):
            reported |= {id(finding): replace(finding, fix=None) for finding in group}
            continue
        if filename not in run.executed:
            text = _settled(SourceFile(filename, text, source.encoding), run)
            reported |= zip(map(id, group), with_all_edits(group, source, text, run.options.unsafe_fixes), strict=True)
        result[filename] = text
    return [reported.get(id(finding), finding) for finding in findings], result


def _is_wanted(filename: str, run: Run) -> bool:
    """Whether fixes found by reading are written to a file: where an entry ran, the call is about what it runs."""
    return not run.reached or filename in run.reached or filename in run.named


def _settled(source: SourceFile, run: Run) -> str:
    """The text once its fixes bring no further ones; as it was where they go on, and leave as much as they found."""
    text = source.text
    rounds: list[Counter[str]] = []
    for _ in range(ROUNDS):
        text, fixed = _again(SourceFile(source.filename, text, source.encoding), run)
        if not fixed:
            return text
        rounds.append(fixed)
    first, last = rounds[0], rounds[-1]
    return source.text if any(last[code] >= first[code] for code in last) else text


def _again(source: SourceFile, run: Run) -> tuple[str, Counter[str]]:
    """What fixes make of a text that fixes have changed, and how many there were of each rule."""
    from ddelint.rewrite.static_fixes import fixed_text, taken

    found = unsilenced(source, findings_of(source, run), run)
    wanted = [d for d in found if chosen(d, run.options)]
    wanted = changed_lines.only(wanted, run, {source.filename: source.text})
    wanted = baselining.new_after_writing(wanted, {source.filename: source.text}, run)
    fixable = offers_of(wanted, {source.filename: source}, run)
    text = fixed_text(source, fixable, run.options.unsafe_fixes)
    if text == source.text or not parses(SourceFile(source.filename, text, source.encoding)):
        return source.text, Counter()
    return text, Counter(finding.code for finding in taken(fixable, run.options.unsafe_fixes))
