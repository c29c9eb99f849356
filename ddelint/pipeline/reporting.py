"""From all findings to one report, and to new text on disk."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.nouns.levels import Applicability
from ddelint.pipeline.choosing import chosen
from ddelint.pipeline.gathering import Run, unsilenced
from ddelint.report.model import Report

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic, Evidence


_LINKED = "a link leads there from the given paths; name the file itself"
_OTHER_HALF = "another file of the same fix cannot be written"


def report(run: Run, *, files: int) -> Report:
    """The report on all that was found; writes what `--fix` allows."""
    options = run.options
    static = [d for d in run.static if not _refuted(d, run)]
    if options.suggest and run.traced and any(d.code.startswith(("DDE6", "DDE7")) for d in static):
        from ddelint.rewrite.static_fixes import with_static_fixes

        static = with_static_fixes(static, run.sources, _proven(run.traced, static))
    findings, traced = [*static], [d for d in run.traced if not _is_known(d, static)]
    if static or traced:
        from ddelint.nouns.merge import merge  # what a clean file needs none of is loaded where it is used

        findings = merge(static, traced)
    findings = _apply_suppressions(findings, run)
    findings = [d for d in findings if chosen(d, options)]
    if options.baseline is not None or options.write_baseline is not None:
        from ddelint.pipeline import baselining

        findings = baselining.without_known(findings, run)
    if options.diff_base is not None:
        from ddelint.pipeline import changed_lines

        findings = changed_lines.only(findings, run)
    changed_rows: dict[str, frozenset[int]] = {}
    written = dict(run.history.overlay) if run.history is not None else {}
    if findings:
        from ddelint.pipeline import beside_the_search, static_fixing  # a clean file pays for none of it

        findings = static_fixing.with_offers(findings, run)
        beside_the_search.write_beside(findings, run)
        findings, written = static_fixing.written(findings, run)
    rewritten: dict[str, str] = {}
    diffs: dict[str, str] = {}
    for filename, text in sorted(written.items()):
        before = run.sources[filename]
        if text == before.text:
            continue
        from ddelint.report.diff import unified_diff

        rewritten[filename] = text
        if options.diff_base is not None:
            changed_rows[filename] = changed_lines.rows_of(filename, run)
        diffs[filename] = unified_diff(filename, before.text, text)
    writes = options.fix and not options.diff
    if writes:
        rewritten = _write(rewritten, findings, run)
        diffs = {filename: diffs[filename] for filename in rewritten}
        findings = _after_writing(findings, rewritten, run)
        if options.baseline is not None:
            findings = baselining.new_after_writing(findings, rewritten, run)
    written_now = rewritten if writes else {}
    if options.write_baseline is not None:
        findings = baselining.write(findings, written_now, run)
    read = set(run.sources)  # a report that shows text of others reads it itself
    shown = sorted({d.span.filename for d in findings if d.span.filename in read})
    return Report(
        diagnostics=tuple(findings),
        texts={name: written_now.get(name, run.sources[name].text) for name in shown},
        diffs=diffs,
        originals={name: run.sources[name].text for name in written_now},
        rewritten=rewritten,
        changed_rows=changed_rows,
        files_checked=files,
        entries=tuple(run.entries),
        notes=tuple(run.notes),
        warnings=tuple(run.warnings),
        writes=writes,
        suggests=options.suggest,
        errors=tuple(run.errors),
    )


def _proven(traced: Sequence[Diagnostic], static: Sequence[Diagnostic]) -> dict[str, Evidence]:
    """What the tracer ran for a fix that stands elsewhere: the autocast around a call, in the script that calls.

    Which call that is, the tracer does not know: it proves something where there is one program, and one call.
    """
    ran = {d.span: d for d in traced if d.code == "DDE701"}
    if len(ran) != 1 or sum(d.code == "DDE701" for d in static) != 1:
        return {}
    from ddelint.nouns.diagnostics import Evidence

    return {d.code: Evidence(backward=True, notes=(d.detail,)) for d in ran.values()}


def _is_known(traced: Diagnostic, static: Sequence[Diagnostic]) -> bool:
    """Whether the static pass says the same where it is to be fixed, with what the tracer ran as its evidence."""
    return traced.code == "DDE701" and any(d.code == traced.code and d.evidence is not None for d in static)


def _after_writing(findings: Sequence[Diagnostic], rewritten: Mapping[str, str], run: Run) -> list[Diagnostic]:
    """Fixed findings marked as such; the others with their positions in the new text."""
    allowed = {Applicability.SAFE} | ({Applicability.UNSAFE} if run.options.unsafe_fixes else set())
    searched = frozenset(run.history.overlay) if run.history is not None else frozenset()
    refused = _refused(findings, searched, run)
    reported: list[Diagnostic] = []
    left: list[Diagnostic] = []
    """What the static pass alone found where a search wrote, and no fix of which was written."""
    waiting: dict[str, set[str]] = {}
    """File → rules of which a fix met another one's."""
    for finding in findings:
        if finding.span.filename not in rewritten:
            reported.append(finding)
        elif (finding.span, finding.code) in run.written_beside:
            reported.append(replace(finding, fixed=True))
        elif run.history is not None and finding.span.filename in searched and finding.origin == ("static",):
            left.append(finding.relocated(run.history.forward))
        elif id(finding) in refused:
            waiting.setdefault(finding.span.filename, set()).add(finding.code)
        elif finding.fix is not None and finding.fix.applicability in allowed:
            reported.append(replace(finding, fixed=True))
        elif finding.origin != ("static",):
            reported.append(_still_open(finding, run))
    from ddelint.pipeline.found_again import found_again
    from ddelint.sources.source import SourceFile

    for filename, text in rewritten.items():
        source = SourceFile(filename, text, run.sources[filename].encoding)
        known = [finding.span for finding in reported if not finding.fixed and finding.span.filename == filename]
        open_ = found_again(source, left, run, waiting.get(filename, ()))
        if filename in searched:
            from ddelint.pipeline import offering

            open_ = offering.offered(open_, {filename: source}, run)
        reported += [new for new in open_ if not any(new.span.overlaps(span) for span in known)]
    return reported


def _still_open(finding: Diagnostic, run: Run) -> Diagnostic:
    """A traced finding that is left, in the new text, its fix as it would change that."""
    if run.history is None:
        return finding
    moved = finding.relocated(run.history.forward)
    known = run.open_fixes.get((finding.span, finding.code))
    if known is None or finding.fix is None:
        return moved
    fix, written = known
    edits = tuple(replace(edit, span=run.history.moved(edit.span, written)) for edit in fix.edits)
    return replace(moved, fix=replace(fix, edits=edits))


def _refused(findings: Sequence[Diagnostic], searched: Collection[str], run: Run) -> frozenset[int]:
    """Findings, by identity, whose fix met another one's, in files that are written once only: the traced ones."""
    alone: dict[str, list[Diagnostic]] = {}
    for finding in findings:
        filename = finding.span.filename
        if finding.fix is not None and finding.origin == ("static",) and filename in run.executed:
            alone.setdefault(filename, []).append(finding)
    if not alone:
        return frozenset()
    from ddelint.rewrite.static_fixes import taken

    unsafe = run.options.unsafe_fixes
    written = {id(finding) for name, group in alone.items() if name not in searched for finding in taken(group, unsafe)}
    return frozenset(id(finding) for group in alone.values() for finding in group if id(finding) not in written)


def _refuted(diagnostic: Diagnostic, run: Run) -> bool:
    """A static finding of a question on a row that the tracer ran without being asked there."""
    from ddelint.knowledge.catalog import rule  # a clean file needs none

    if not rule(diagnostic.code).refutable:
        return False
    filename, row = diagnostic.span.filename, diagnostic.span.row
    rows = run.executed.get(filename)
    if rows is None or row in rows:
        return rows is not None
    from ddelint.sources.compiling import rows_while_compiling  # most findings have been answered by now

    return filename in run.sources and row in rows_while_compiling(run.sources[filename].tree, rows)


def _apply_suppressions(findings: list[Diagnostic], run: Run) -> list[Diagnostic]:
    read = set(run.sources)
    if not (findings or read):
        return findings
    kept: list[Diagnostic] = []
    by_file: dict[str, list[Diagnostic]] = {name: [] for name in read}
    for finding in findings:
        by_file.setdefault(finding.span.filename, []).append(finding)
    for filename, group in sorted(by_file.items()):
        # the static pass has read whatever holds comments
        source = run.sources[filename] if filename in read else None
        kept += unsilenced(source, group, run) if source is not None else group
    return kept


def _write(rewritten: Mapping[str, str], findings: Sequence[Diagnostic], run: Run) -> dict[str, str]:
    """Write the files; gives those that were written. Each of the others is an error of the run."""
    if run.options.stdin is not None:
        return dict(rewritten)
    from ddelint.sources.replacing import remove_leftovers, replace_source, why_left_alone

    remove_leftovers(sorted(run.checked - run.linked))
    refused: dict[str, str] = {}
    for name, text in rewritten.items():
        why = _LINKED if name in run.linked else why_left_alone(run.sources[name], text)
        if why:
            refused[name] = why
    fixes = [{edit.span.filename for edit in found.fix.edits} for found in findings if found.fix is not None]
    # half of a fix is none, and what one search wrote was verified as a whole
    if refused and run.history is not None and any(len(names) > 1 and names & refused.keys() for names in fixes):
        refused = {**dict.fromkeys(set(run.history.overlay) & rewritten.keys(), _OTHER_HALF), **refused}
    done: dict[str, str] = {}
    for filename, text in rewritten.items():
        try:
            if filename not in refused:
                replace_source(run.sources[filename], text)
                done[filename] = text
        except OSError as error:
            refused[filename] = error.strerror or str(error)
        if filename in refused:
            run.errors.append(f"{filename} is left as it is: {refused[filename]}")
    return done
