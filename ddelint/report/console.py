"""The `full` format: what a person reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ddelint.knowledge import catalog
from ddelint.nouns.levels import Applicability
from ddelint.nouns.spans import Span
from ddelint.report.by_hand import Help, help_for, tries
from ddelint.report.diff import shown_path
from ddelint.report.frame import Mark, render
from ddelint.report.gpu_words import counts, is_reported, level
from ddelint.report.model import Report
from ddelint.report.sources import Sources
from ddelint.report.style import TAB, Style, bounds, words, wrapped
from ddelint.sources.source import SourceFile

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic, Edit, Evidence, Fix, Frame, Symbol

SECTION = 12
"""Columns before the text of a section."""
FIX_LINES = 12
DETAIL_LINES = 24
CRUMBS = 4
STEP = 60
"""Characters of one step on the way from a question back to its source."""
PARAMETER = "parameter "
"""How the sentence about a parameter begins."""

FRONT_ENDS = {
    "export": "export",
    "strict": "strict export",
    "compile": "torch.compile",
    "joint": "the joint graph",
    "inductor": "Inductor",
}


def render_report(report: Report, style: Style, unsafe_fixes: bool) -> Iterator[str]:
    """All findings' lines, without line ends; an empty one after each finding."""
    sources = Sources(report.texts)
    helped: set[str] = set()
    noted: dict[str, Span] = {}
    for diagnostic in report.remaining:
        example = diagnostic.code not in helped
        yield from render_diagnostic(diagnostic, sources, style, unsafe_fixes, example=example, noted=noted)
        helped.add(diagnostic.code)
        note_down(diagnostic, noted)
        yield ""


def header(diagnostic: Diagnostic, style: Style, unsafe_fixes: bool) -> str:
    """`path:row:column CODE [*] name: message`."""
    span = diagnostic.span
    place = style.paint(shown_path(span.filename), "path") + f":{span.row}:{span.column}"
    code = style.paint(diagnostic.code, diagnostic.severity.value)
    star = f" [{style.paint('*', 'good')}]" if is_fixable(diagnostic, unsafe_fixes) else ""
    return f"{place} {code}{star} {style.paint(rule_name(diagnostic.code), 'bold')}: {diagnostic.message}"


def is_fixable(diagnostic: Diagnostic, unsafe_fixes: bool) -> bool:
    """Whether `--fix` (with `--unsafe-fixes`, where given) would fix it."""
    fix = diagnostic.fix
    if fix is None or not fix.edits:
        return False
    return fix.applicability is Applicability.SAFE or (unsafe_fixes and fix.applicability is Applicability.UNSAFE)


def rule_name(code: str) -> str:
    """The rule's name; the code itself where the catalogue has no such rule."""
    try:
        return catalog.rule(code).name
    except KeyError:
        return code


def render_diagnostic(
    diagnostic: Diagnostic,
    sources: Sources,
    style: Style,
    unsafe_fixes: bool,
    *,
    example: bool = True,
    noted: Mapping[str, Span] = MappingProxyType({}),
) -> Iterator[str]:
    """One finding: header, code frame, sections; with `example` the rule's rewrite by hand, where there is no fix.

    `noted`: what an earlier finding's evidence has said, and where that finding stands.
    """
    yield header(diagnostic, style, unsafe_fixes)
    marks = _marks(diagnostic, style.verbose)
    for filename in dict.fromkeys((diagnostic.span.filename, *(mark.span.filename for mark in marks))):
        here = [mark for mark in marks if mark.span.filename == filename]
        rows = render(sources.lines(filename), here, style, diagnostic.severity.value)
        if filename != diagnostic.span.filename and rows:
            yield "      " + style.paint(f"{shown_path(filename)}:{here[0].span.row}", "dim")
        yield from rows
    for title, lines in _sections(diagnostic, sources, style, example, noted):
        for number, line in enumerate(lines):
            label = style.paint(f"{title:<{SECTION - 2}}", "section") if number == 0 else " " * (SECTION - 2)
            yield f"  {label}{line}".rstrip()


def _marks(diagnostic: Diagnostic, verbose: bool) -> list[Mark]:
    """The question and where what it asks about was made; with `verbose` each step between, which `from` names."""
    labels: dict[Span, str] = {}
    born: dict[Span, list[Symbol]] = {}
    for symbol in diagnostic.symbols:
        if symbol.created is not None:
            born.setdefault(symbol.created, []).append(symbol)
    for span, symbols in born.items():
        # a question that is its own birth, or holds it, says nothing new
        if any(map(bounds, symbols)) or (span != diagnostic.span and (verbose or not _inside(span, diagnostic.span))):
            labels[span] = _birth(symbols)
    for span, sentence in diagnostic.breadcrumbs[:CRUMBS] if verbose else ():
        if span != diagnostic.span and not sentence.startswith(PARAMETER):
            labels.setdefault(span, sentence)
    own = labels.pop(diagnostic.span, "")
    return [Mark(diagnostic.span, own, asks=True), *(Mark(span, label) for span, label in labels.items())]


def _inside(inner: Span, outer: Span) -> bool:
    same = inner.filename == outer.filename
    begins, ends = (outer.row, outer.column), (outer.end_row, outer.end_column)
    return same and begins <= (inner.row, inner.column) and (inner.end_row, inner.end_column) <= ends


def _birth(symbols: Sequence[Symbol]) -> str:
    names = list(dict.fromkeys(f"`{symbol.name}`" for symbol in symbols))
    facts = ", ".join(dict.fromkeys(fact for symbol in symbols if (fact := bounds(symbol))))
    return f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} born here" + (f" ({facts})" if facts else "")


def _sections(
    diagnostic: Diagnostic, sources: Sources, style: Style, example: bool, noted: Mapping[str, Span]
) -> Iterator[tuple[str, list[str]]]:
    room = max(style.width - SECTION, 20)
    if diagnostic.asks:
        yield "asks", wrapped([FRONT_ENDS.get(name, name) for name in diagnostic.asks], room, ", ")
    if way := _way(diagnostic, sources):
        yield "from", wrapped(way, room, " ← ")
    for title, places in _stack(diagnostic, style.verbose):
        yield title, wrapped(places, room, " → ")
    if diagnostic.cpp_frames:
        yield "C++", [line for name in diagnostic.cpp_frames for line in words(name, room)]
    for symbol in diagnostic.symbols:
        if symbol.created is None and symbol.expression and symbol.expression != symbol.name:
            facts = bounds(symbol)
            yield "where", words(f"`{symbol.name}` = `{symbol.expression}`" + (f" ({facts})" if facts else ""), room)
    for equality in diagnostic.equalities:
        yield "where", words(f"`{equality.name}` = `{equality.expression}`", room)
    if diagnostic.fix is not None:
        yield "fix", _fix(diagnostic.fix, diagnostic.span.filename, sources, style, room)
    elif diagnostic.refused:
        more = " (-v says why)" if diagnostic.tried and not style.verbose else ""
        yield "fix", words(f"{tries(diagnostic)}{more}", room)
    by_hand = help_for(diagnostic)
    if by_hand is not None and (by_hand.hindrance or example or not by_hand.is_example):
        is_news = by_hand.hindrance and diagnostic.tried  # else the line above says it
        hindrance = words(f"in the way: {by_hand.hindrance}", room) if is_news else []
        yield "help", [*hindrance, *_code(by_hand, style)]
    if diagnostic.hints:
        yield "torch", [line for hint in diagnostic.hints for line in words(hint, room)]
    if run := evidence_said_once(diagnostic, noted):
        yield "evidence", wrapped(run, room, " · ")
    if style.verbose:
        for refusal in diagnostic.refused:
            yield "refused", words(f"{refusal.move}: {refusal.message}: {refusal.reason}", room)
    said = not diagnostic.expression and diagnostic.detail in diagnostic.message
    if diagnostic.detail and not said and (style.verbose or not diagnostic.expression):  # else torch's words for it
        yield "detail", _detail(diagnostic.detail, room, style.verbose)


def _code(by_hand: Help, style: Style) -> list[str]:
    """A rewrite by hand; no code is broken where the terminal is narrow, but left out."""
    lines = by_hand.code.splitlines()
    fits = all(len(line) + SECTION + 2 <= style.width for line in lines)
    return [by_hand.intro, *(f"  {line}" for line in lines)] if lines and fits else []


def _way(diagnostic: Diagnostic, sources: Sources) -> list[str]:
    """From the value in question back to its source: `n` ← `lengths.max().item()` (line 12) ← parameter `lengths`."""
    if len(diagnostic.breadcrumbs) < 2:
        return []
    asked = diagnostic.symbols[0].name if diagnostic.symbols else diagnostic.expression
    here = diagnostic.span.filename
    steps = [f"`{shortened(asked)}`"]
    for span, sentence in diagnostic.breadcrumbs[1:]:
        source = sources.get(span.filename)
        text = " ".join(source.segment(span).split()) if source is not None else ""
        if not text or f"`{text}`" == steps[-1]:
            continue
        said = sentence if sentence.startswith(PARAMETER) else f"`{shortened(text)}`"
        place = f"line {span.row}" if span.filename == here else f"{shown_path(span.filename)}:{span.row}"
        steps.append(f"{said} ({place})")
    return steps if len(steps) > 1 else []


def shortened(text: str) -> str:
    """Text that fits in one step of a way."""
    return text if len(text) <= STEP else text[: STEP - 1] + "…"


def _stack(diagnostic: Diagnostic, verbose: bool) -> Iterator[tuple[str, list[str]]]:
    """The way to the question: what called the blamed line, and what it called that is not the user's to change."""
    frames = diagnostic.frames
    blamed = max((at for at, frame in enumerate(frames) if frame.inside), default=len(frames))
    here = diagnostic.span.filename
    callers = frames[:blamed] if verbose else [frame for frame in frames[:blamed] if frame.inside]
    if callers:
        yield "called", [_frame(frame, here) for frame in callers]
    deeper = frames[blamed + 1 :]
    if deeper:
        yield "inside", [_frame(frame, here) for frame in (deeper if verbose else deeper[-1:])]


def _frame(frame: Frame, here: str) -> str:
    span = frame.span
    place = f"line {span.row}" if span.filename == here else _place(span)
    return f"{place} in {frame.function}"


def _fix(fix: Fix, filename: str, sources: Sources, style: Style, room: int) -> list[str]:
    level = {Applicability.DISPLAY: "by hand"}.get(fix.applicability, fix.applicability.value)
    color = {Applicability.SAFE: "good", Applicability.UNSAFE: "warning"}.get(fix.applicability, "info")
    sentence, *example = fix.message.splitlines() or [""]
    first, *rest = words(f"{level}: {sentence}", room)
    lines = [style.paint(level, color) + first[len(level) :], *rest, *example]
    for name in dict.fromkeys(edit.span.filename for edit in fix.edits):
        source = sources.get(name)
        if source is None:
            continue
        if name != filename:
            lines.append(style.paint(shown_path(name), "dim"))
        shown = [
            style.paint(line, "added" if line.startswith("+") else "removed")
            for line in changed_lines(source, [edit for edit in fix.edits if edit.span.filename == name])
        ]
        if len(shown) > FIX_LINES and not style.verbose:
            kept = FIX_LINES - 1
            where = "-v" if fix.applicability is Applicability.DISPLAY else "--diff"
            shown = [*shown[:kept], style.paint(f"… {len(shown) - kept} more lines: {where} shows them", "dim")]
        lines += shown
    return lines


def changed_lines(source: SourceFile, edits: Sequence[Edit]) -> list[str]:
    """What `edits` take away (`- …`) and put in its place (`+ …`), each stretch without its common indentation."""
    out: list[str] = []
    for group in _by_lines(edits):
        first, last = group[0].span.row, max(edit.span.end_row for edit in group)
        around = Span(source.filename, first, 1, last + 1, 1)
        before, start = source.segment(around), source.offset(first, 1)
        pieces, done = [], 0
        for edit in group:
            begin = source.offset(edit.span.row, edit.span.column) - start
            pieces += [before[done:begin], edit.content]
            done = max(done, source.offset(edit.span.end_row, edit.span.end_column) - start)
        out += _changed("".join([*pieces, before[done:]]).splitlines(), before.splitlines())
    return out


def _by_lines(edits: Sequence[Edit]) -> list[list[Edit]]:
    """The edits in the order of their places; those that share a line are together."""
    groups: list[list[Edit]] = []
    last = 0
    for edit in sorted(edits, key=lambda edit: edit.span):
        if groups and edit.span.row <= last:
            groups[-1].append(edit)
        else:
            groups.append([edit])
        last = max(last, edit.span.end_row)
    return groups


def _changed(new: list[str], old: list[str]) -> list[str]:
    import difflib  # slow to load

    out: list[str] = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        removed, added = old[a:b], new[c:d]
        indent = min((len(line) - len(line.lstrip()) for line in removed + added if line.strip()), default=0)
        out += [f"- {line[indent:].expandtabs(TAB)}".rstrip() for line in removed if line.strip()]
        out += [f"+ {line[indent:].expandtabs(TAB)}".rstrip() for line in added if line.strip()]
    return out


def agreement(evidence: Evidence, target: str) -> str:
    """` on 61 of 64`: the inputs that a target takes, of those that eager takes; empty where these are all."""
    counts = next(((agreed, of) for name, agreed, of in evidence.agreed if name == target), (0, 0))
    return f" on {counts[0]} of {counts[1]}" if counts[0] != counts[1] else ""


def evidence_words(evidence: Evidence) -> list[str]:
    """What was run and how it came out, a few words each; nothing about what was not run but its notes."""
    run: list[str] = []
    if evidence.samples is not None:
        text = "1 input" if evidence.samples == 1 else f"{evidence.samples} inputs"
        if evidence.sides is not None and any(evidence.sides):
            text += ", both sides" if evidence.both_sides else ", one side only"
            text += f" ({evidence.sides[0]} true, {evidence.sides[1]} false)"
        elif evidence.both_sides:
            text += ", both sides" if evidence.both_sides else ", one side only"
        run.append(text)
    if evidence.eager_equal is not None:
        run.append("eager equal" if evidence.eager_equal else "eager differs")
    for name, value, target in (
        ("export", evidence.export, "export"),
        ("strict export", evidence.strict, "strict"),
        ("fullgraph", evidence.compile, "compile"),
        ("backward", evidence.backward, ""),
    ):
        if value is not None:
            run.append(f"{name} {'ok' + agreement(evidence, target) if value else 'fails'}")
    if evidence.devices:
        run.append(f"on {', '.join(evidence.devices)}")
    if evidence.recompiles is not None:
        run.append({0: "no recompiles", 1: "1 recompile"}.get(evidence.recompiles, f"{evidence.recompiles} recompiles"))
    if evidence.parity is not None:
        run.append(f"{evidence.parity:.2f}x the time of backed")
    if evidence.gpu is not None and is_reported(evidence.gpu):
        run.append(level(evidence.gpu))
        if reported := counts(evidence.gpu):
            run.append(f"one call on {evidence.gpu.target}: {reported}")
    return [*run, *evidence.notes]


def evidence_said_once(diagnostic: Diagnostic, noted: Mapping[str, Span]) -> list[str]:
    """The evidence's words, but for notes that an earlier finding has said: what is no reason of the fix's own to be
    unsafe is said once in a report."""
    if diagnostic.evidence is None:
        return []
    own = diagnostic.fix.reasons if diagnostic.fix is not None else ()
    known = {note: noted[note] for note in diagnostic.evidence.notes if note in noted and note not in own}
    run = [word for word in evidence_words(diagnostic.evidence) if word not in known]
    for span in dict.fromkeys(known.values()):
        where = f"line {span.row}" if span.filename == diagnostic.span.filename else _place(span)
        run.append(f"and as noted at {where}")
    return run


def note_down(diagnostic: Diagnostic, noted: dict[str, Span]) -> None:
    """Add what the finding's evidence says, for `evidence_said_once` of those that follow."""
    for note in diagnostic.evidence.notes if diagnostic.evidence is not None else ():
        noted.setdefault(note, diagnostic.span)


def _place(span: Span) -> str:
    return f"{shown_path(span.filename)}:{span.row}"


def _detail(text: str, room: int, verbose: bool) -> list[str]:
    """A sentence is broken between its words; what has lines of its own (torch's messages) keeps them."""
    lines = text.rstrip().expandtabs(TAB).splitlines()
    if len(lines) == 1:
        return words(lines[0], room)
    if len(lines) > DETAIL_LINES and not verbose:
        half = DETAIL_LINES // 2
        lines = [*lines[:half], f"… {len(lines) - 2 * half} lines left out (-v shows them)", *lines[-half:]]
    return lines
