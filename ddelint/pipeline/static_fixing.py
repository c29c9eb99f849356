"""Fixes that need no run: which findings get one, and what their files become."""

from __future__ import annotations

from collections.abc import Sequence

from ddelint import suppressions
from ddelint.diagnostics import Diagnostic
from ddelint.pipeline import baselining, changed_lines
from ddelint.pipeline.gathering import Run, static_findings
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
        for _ in range(ROUNDS if filename not in run.executed and _parses(source, text) else 0):
            before = text
            text = _again(SourceFile(filename, text, source.encoding), run)
            if text == before:
                break
        result[filename] = text
    return result


def _again(source: SourceFile, run: Run) -> str:
    """What fixes make of a text that fixes have changed."""
    from ddelint.rewrite.static_fixes import mended, with_static_fixes

    found = suppressions.apply(source, list(static_findings(source, run)))
    chosen = [d for d in found if run.options.at(source.filename).selects(d.code, source.filename)]
    chosen = changed_lines.only(chosen, run, {source.filename: source.text})
    chosen = baselining.new_after_writing(chosen, {source.filename: source.text}, run)
    text = mended(source, with_static_fixes(chosen, {source.filename: source}), run.options.unsafe_fixes)
    return text if _parses(source, text) else source.text


def _parses(source: SourceFile, text: str) -> bool:
    try:
        _ = SourceFile(source.filename, text, source.encoding).tree
    except SourceError:
        return False
    return True
