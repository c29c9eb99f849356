"""The `html` format: one file that holds everything, with the findings in the source that they are about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ddelint.knowledge.catalog import rule
from ddelint.nouns.diagnostics import Diagnostic, Severity, Span
from ddelint.report.by_hand import Help, help_for, tries
from ddelint.report.console import FRONT_ENDS, changed_lines, evidence_said_once, note_down, rule_name
from ddelint.report.diff import shown_path
from ddelint.report.evidence import unfixed, verified_line
from ddelint.report.flow import flow_of
from ddelint.report.graph import Graph, graph_of
from ddelint.report.highlight import Mark, Piece, painted
from ddelint.report.model import Report
from ddelint.report.moved import row_now
from ddelint.report.sources import Sources
from ddelint.report.visible import visible
from ddelint.version import VERSION

CONTEXT = 8
"""Lines around a finding that are shown; the rest of a file is folded."""
_TEMPLATES = Path(__file__).parent / "templates"
_NO_NAME = re.compile(r"[^\w./-]")
_LABELS = {
    "fixed": "fixed",
    "safe": "safe fix",
    "unsafe": "unsafe fix",
    "display": "by hand",
    "none": "no fix",
}


@dataclass(frozen=True, slots=True)
class Card:
    """One finding as the page says it."""

    number: int
    finding: Diagnostic
    name: str
    url: str
    place: str
    row: int
    """The row of the shown text below which the card stands; 0: not in it."""
    state: str
    """fixed, or the fix's applicability, or none."""
    asks: tuple[str, ...]
    anchor: str
    """What a link names it by: rule, file and row, and a number where several share them."""
    graph: Graph | None
    """The way of its numbers; None where they are born in the question itself."""
    changes: tuple[tuple[str, tuple[str, ...]], ...]
    """Filename → the lines that the fix takes away and puts there."""
    evidence: tuple[str, ...]
    trusted: str
    """In one line why the fix can be trusted; where there is none, why."""
    by_hand: Help | None
    """What stands in the way of a fix, and a rewrite by hand."""

    @property
    def label(self) -> str:
        """The state in words."""
        return _LABELS[self.state]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of source, with the cards below it."""

    row: int
    pieces: Sequence[Piece]
    cards: Sequence[Card]


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines in a row, folded where nothing in them is about a finding."""

    lines: Sequence[Line]
    folded: bool


@dataclass(frozen=True, slots=True)
class FilePage:
    """One file with its findings."""

    number: int
    name: str
    filename: str
    cards: Sequence[Card]
    stretches: Sequence[Stretch]
    diff: Sequence[str]

    @property
    def homeless(self) -> list[Card]:
        """The findings whose line is not there to be shown."""
        return [card for card in self.cards if not card.row]


def render_report(report: Report, command: str, unsafe_fixes: bool, arguments: str = "") -> str:
    """The whole page, findings that were fixed included. `command` is the call that found them, without `--fix`."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["ticks"] = _ticks
    environment.filters["mark"] = mark
    environment.filters["tries"] = tries
    pages = _pages(report)
    cards = [card for page in pages for card in page.cards]
    flags = ["--unsafe-fixes"] if unsafe_fixes else []
    return environment.get_template("report.html.jinja").render(
        version=VERSION,
        report=report,
        pages=pages,
        rules=sorted(Counter((card.finding.code, card.name) for card in cards).items()),
        severities=[(level.value, count) for level in Severity if (count := _of_severity(cards, level))],
        states=[(state, label, count) for state, label in _LABELS.items() if (count := _of_state(cards, state))],
        files={page.filename: page.number for page in pages},
        command=" ".join(filter(None, (command, *flags, arguments))),
        fix_command=" ".join(filter(None, (command, "--fix", *flags, arguments))),
        style=Markup((_TEMPLATES / "report.css").read_text("utf-8")),  # ours, and not made of anybody's input
        script=Markup((_TEMPLATES / "report.js").read_text("utf-8")),
        shown_path=shown_path,
    )


def mark(word: str) -> str:
    """How a piece of evidence is marked: `bad`, `open` where something was not done, else `good`."""
    if any(said in word for said in _BAD):
        return "bad"
    return "open" if any(said in word for said in _OPEN) else "good"


_BAD = ("fails", "differs", "does not assemble", "interpreted: ")
_OPEN = ("not run", "one side", "not made", "not assembled", "not interpreted", "took too long", "not counted")


def _shown(value: object) -> object:
    """What the page shows of a value: text that is seen as it is."""
    return visible(value, "\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value


def _ticks(text: str) -> Markup:
    """Text whose `code` stands between back quotes."""
    parts = [
        Markup("<code>{}</code>").format(part) if at % 2 else escape(part)
        for at, part in enumerate(visible(text, "\n\t").split("`"))
    ]
    return Markup("").join(parts)


def _of_severity(cards: Sequence[Card], severity: Severity) -> int:
    return sum(card.finding.severity is severity for card in cards)


def _of_state(cards: Sequence[Card], state: str) -> int:
    return sum(card.state == state for card in cards)


def _pages(report: Report) -> list[FilePage]:
    new, old = Sources(report.texts), Sources({**report.texts, **report.originals})
    findings = sorted(report.diagnostics, key=lambda d: (d.span, d.code, d.message))
    said = _evidence_of(findings)
    cards = [
        _card(number, anchor, finding, report, old if finding.fixed else new, evidence)
        for number, (anchor, finding, evidence) in enumerate(zip(_anchors(findings), findings, said, strict=True))
    ]
    pages: list[FilePage] = []
    for filename in dict.fromkeys(finding.span.filename for finding in findings):
        own = [card for card in cards if card.finding.span.filename == filename]
        lines = new.lines(filename)
        marks = [mark for card in cards for mark in _marks(card) if mark.span.filename == filename]
        number = len(pages)
        diff = report.diffs.get(filename, "").splitlines()
        pages.append(FilePage(number, shown_path(filename), filename, own, list(_stretches(lines, own, marks)), diff))
    return pages


def _evidence_of(findings: Sequence[Diagnostic]) -> Iterator[tuple[str, ...]]:
    """The words for each finding; what an earlier one has noted is pointed to."""
    noted: dict[str, Span] = {}
    for finding in findings:
        yield tuple(evidence_said_once(finding, noted))
        note_down(finding, noted)


def _anchors(findings: Sequence[Diagnostic]) -> list[str]:
    """A name for each finding: `DDE102-model.py-31`, then `DDE102-model.py-31.2`."""
    taken: Counter[str] = Counter()
    anchors = []
    for finding in findings:
        anchor = _NO_NAME.sub("_", f"{finding.code}-{shown_path(finding.span.filename)}-{finding.span.row}")
        taken[anchor] += 1
        anchors.append(anchor if taken[anchor] == 1 else f"{anchor}.{taken[anchor]}")
    return anchors


def _card(
    number: int, anchor: str, finding: Diagnostic, report: Report, sources: Sources, evidence: tuple[str, ...]
) -> Card:
    fix = finding.fix
    state = "fixed" if finding.fixed else fix.applicability.value if fix is not None else "none"
    try:
        url = rule(finding.code).url
    except KeyError:
        url = ""
    changes = []
    for name in dict.fromkeys(edit.span.filename for edit in fix.edits) if fix is not None else ():
        source = sources.get(name)
        if source is not None and fix is not None:
            own = [edit for edit in fix.edits if edit.span.filename == name]
            changes.append((shown_path(name), tuple(changed_lines(source, own))))
    span = finding.span
    flow = flow_of(finding, lambda span: _text_of(span, sources))
    return Card(
        number=number,
        anchor=anchor,
        finding=finding,
        name=rule_name(finding.code),
        url=url,
        place=f"{shown_path(span.filename)}:{span.row}:{span.column}",
        row=_row_of(finding, report, sources),
        state=state,
        asks=tuple(FRONT_ENDS.get(name, name) for name in finding.asks),
        graph=None if flow.is_one_place else graph_of(flow),
        changes=tuple(changes),
        evidence=evidence,
        trusted=verified_line(finding.evidence) if fix is not None else unfixed(finding, report),
        by_hand=help_for(finding),
    )


def _text_of(span: Span, sources: Sources) -> str:
    source = sources.get(span.filename)
    return source.segment(span) if source is not None else ""


def _row_of(finding: Diagnostic, report: Report, sources: Sources) -> int:
    """The row of the shown text that the finding belongs to; 0 where the text has no such row."""
    row = row_now(finding, report)
    return row if finding.fixed or row <= len(sources.lines(finding.span.filename)) else 0


def _marks(card: Card) -> Iterator[Mark]:
    """What is underlined for a finding; of one that was fixed nothing is left to underline."""
    finding = card.finding
    if finding.fixed:
        return
    yield Mark(finding.span, "asks", card.number)
    for symbol in finding.symbols:
        if symbol.created is not None and symbol.created != finding.span:
            yield Mark(symbol.created, "born", card.number)


def _stretches(lines: Sequence[str], cards: Sequence[Card], marks: Sequence[Mark]) -> Iterator[Stretch]:
    rows = {card.row for card in cards if card.row} | {mark.span.row for mark in marks}
    shown = {near for row in rows for near in range(row - CONTEXT, row + CONTEXT + 1)}
    painted_lines = painted(lines, marks)
    made: list[Line] = []
    folded = False
    for row in range(1, len(lines) + 1):
        if made and folded != (row not in shown):
            yield Stretch(made, folded)
            made = []
        folded = row not in shown
        made.append(Line(row, painted_lines[row - 1], [card for card in cards if card.row == row]))
    if made:
        yield Stretch(made, folded)
