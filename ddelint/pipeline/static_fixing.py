"""Fixes that need no run: which findings get one, and what their files become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ddelint.diagnostics import Diagnostic
from ddelint.pipeline import baselining, changed_lines
from ddelint.pipeline.gathering import Run, static_findings, unsilenced
from ddelint.source import SourceError, SourceFile

OFFERED = 50
"""Without --fix or --diff, at most so many fixes are worked out: each parses its file again."""
ROUNDS = 8
"""A fix may bring a piece of text to a new place, where it is found, and fixed, again."""


def with_offers(findings: Sequence[Diagnostic], run: Run) -> list[Diagnostic]:
    """The findings, those of the static pass alone with their fixes."""
    from ddelint.rewrite.static_fixes import is_fixed_without_trace, with_static_fixes

    open_ = [d for d in findings if d.origin == ("static",) and d.fix is None and is_fixed_without_trace(d.code)]
    options = run.options
    if not open_:
        return list(findings)
    if len(open_) > OFFERED and not (options.fix or options.diff or options.patch):
        run.notes.append(f"{len(open_)} findings may have a fix that needs no trace: --diff shows, --fix writes them")
        return list(findings)
    fixed = dict(zip(map(id, open_), with_static_fixes(open_, run.sources), strict=True))
    return [fixed.get(id(finding), finding) for finding in findings]


def written(findings: Sequence[Diagnostic], already: dict[str, str], run: Run) -> dict[str, str]:
    """`already` and the files that fixes of the static pass alone change: those that the search left as they were."""
    from ddelint.rewrite.static_fixes import mended

    by_file: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        if finding.fix is not None and finding.origin == ("static",) and finding.span.filename not in already:
            by_file.setdefault(finding.span.filename, []).append(finding)
    result = dict(already)
    for filename, group in by_file.items():
        source = run.sources[filename]
        text = mended(source, group, run.options.unsafe_fixes)
        if filename not in run.executed and _parses(source, text):
            text = _settled(SourceFile(filename, text, source.encoding), run)
        result[filename] = text
    return result


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
    from ddelint.rewrite.static_fixes import mended, taken, with_static_fixes

    found = unsilenced(source, static_findings(source, run), run)
    chosen = [d for d in found if run.options.at(source.filename).selects(d.code, source.filename)]
    chosen = changed_lines.only(chosen, run, {source.filename: source.text})
    chosen = baselining.new_after_writing(chosen, {source.filename: source.text}, run)
    offered = with_static_fixes(chosen, {source.filename: source})
    text = mended(source, offered, run.options.unsafe_fixes)
    if text == source.text or not _parses(source, text):
        return source.text, Counter()
    return text, Counter(finding.code for finding in taken(offered, run.options.unsafe_fixes))


def _parses(source: SourceFile, text: str) -> bool:
    try:
        _ = SourceFile(source.filename, text, source.encoding).tree
    except SourceError:
        return False
    return True
