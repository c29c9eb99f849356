"""The `html` format: what is on the page, and that nothing is missing when it lies somewhere alone."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from handmade import MODEL, span_of

from ddelint.nouns.diagnostics import Diagnostic, Equality, Evidence, Frame, Span, Symbol
from ddelint.report.flow import flow_of
from ddelint.report.graph import Graph, graph_of
from ddelint.report.highlight import Mark, painted
from ddelint.report.html import render_report
from ddelint.report.model import Report

VOID = {"meta", "link", "input", "br", "th", "td", "img", "hr"}


def page(*diagnostics: Diagnostic, **more: object) -> str:
    report = Report(diagnostics, **{"texts": {"model.py": MODEL}, "files_checked": 1, **more})  # type: ignore[arg-type]
    return render_report(report, "ddelint check model.py", unsafe_fixes=False)


class Outline(HTMLParser):
    """Checks that elements are nested, and gathers what they refer to and are called."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name == "href":
                self.links.append(value or "")
            elif name in {"src", "srcset", "data", "poster"} or tag == "link":
                self.loaded.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def test_what_several_findings_note_is_said_once(emptiness: Diagnostic) -> None:
    evidence = replace(emptiness.evidence or Evidence(), notes=("steps of 3 were tried",))
    first = replace(emptiness, evidence=evidence)
    second = replace(first, span=replace(first.span, row=first.span.row + 1, end_row=first.span.end_row + 1))
    text = page(first, second)
    assert text.count("steps of 3 were tried") == 1
    assert text.count(f"and as noted at line {first.span.row}") == 1


def test_the_page_is_whole_and_loads_nothing(emptiness: Diagnostic, refused: Diagnostic, crash: Diagnostic) -> None:
    text = page(emptiness, refused, crash)
    outline = Outline(text)
    assert outline.open == []
    assert outline.loaded == []
    assert len(set(outline.ids)) == len(outline.ids)
    inside = {link[1:].removeprefix("only=") for link in outline.links if link.startswith("#")}
    assert inside <= set(outline.ids)
    assert {link for link in outline.links if not link.startswith("#")} == {
        f"https://ddelint.readthedocs.io/rules/{code}/" for code in ("DDE002", "DDE101", "DDE102")
    }
    assert not re.search(r"@import|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_what_users_wrote_is_text(emptiness: Diagnostic) -> None:
    nasty = "</script><script>alert(1)</script>"
    finding = replace(
        emptiness,
        message=f"{nasty} `{nasty}`",
        expression=nasty,
        detail=nasty,
        symbols=(Symbol(nasty, nasty, emptiness.span),),
        frames=(Frame(Span(nasty, 1, 1, 1, 2), nasty, True), Frame(emptiness.span, nasty, True)),
        equalities=(Equality(nasty, nasty),),
    )
    text = page(finding, texts={"model.py": f"# {nasty}\n" * 20}, warnings=(nasty,), entries=(nasty,))
    assert nasty not in text
    assert text.count("<script>") == 1
    assert Outline(text).open == []


def test_fixed_findings_stand_where_their_line_is_now(emptiness: Diagnostic) -> None:
    new = "import os\n" + MODEL.replace("if hit.shape[0] == 0:", "if guard_or_false(hit.shape[0] == 0):")
    fixed = replace(emptiness, fixed=True)
    text = page(fixed, texts={"model.py": new}, originals={"model.py": MODEL})
    place, card = text.index('id="p0L17"'), text.index('class="card error fixed"')
    assert place < card < text.index('id="p0L18"')
    assert "- if hit.shape[0] == 0:" in text
    assert "model.py:16:16 (before the fix)" in text
    assert text.count('href="#p0L13"') == 1  # the line itself: rows of the text before lead nowhere
    assert "<b>0</b> findings left, <b>1</b> fixed" in text


def test_lines_far_from_findings_are_folded(emptiness: Diagnostic) -> None:
    text = page(emptiness, texts={"model.py": MODEL + "pass\n" * 100})
    assert re.findall(r"<details class=\"fold\"><summary>(\d+) lines?</summary>", text) == ["4", "99"]


def test_a_finding_without_its_line_is_told_all_the_same(emptiness: Diagnostic) -> None:
    assert '<details class="card error safe" id="DDE102-model.py-16"' in page(emptiness, texts={"model.py": ""})


def test_a_link_names_a_finding(emptiness: Diagnostic) -> None:
    odd = replace(emptiness, span=replace(emptiness.span, filename="a b/<m>.py"))
    ids = Outline(page(emptiness, replace(emptiness, message="another"), odd)).ids
    names = [name for name in ids if name.startswith("DDE")]
    assert names == ["DDE102-a_b/_m_.py-16", "DDE102-model.py-16", "DDE102-model.py-16.2"]


def test_nothing_is_drawn_where_a_number_is_born_in_the_question(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    (symbol,) = emptiness.symbols
    inner = span_of("if hit.shape[0] == 0", "hit.shape[0]")
    assert "From birth to question" in page(emptiness)
    for span in (emptiness.span, inner):
        here = replace(emptiness, symbols=(replace(symbol, created=span),))
        assert "<svg" not in page(here)
        assert "<svg" in page(replace(here, breadcrumbs=crumbs.breadcrumbs))
    assert "<svg" in page(replace(emptiness, symbols=(replace(symbol, created=None),)))
    assert "<svg" not in page(replace(emptiness, symbols=()))


def test_nothing_found_says_so() -> None:
    assert "Nothing was found." in page()


def test_a_flow_leads_from_all_births_to_the_question(emptiness: Diagnostic, crumbs: Diagnostic) -> None:
    other = Symbol("n", "int(router.max())", span_of("n = int(router.max())", "int(router.max())"))
    caller = Frame(span_of("out.index_add_(0, rows", "out"), "Router.forward", True, (("n", "u1"),))
    asked = replace(
        emptiness,
        symbols=(*emptiness.symbols, other, replace(other, name="m")),
        frames=(caller, *emptiness.frames),
        equalities=(Equality("total", "n + m"),),
    )
    flow = flow_of(asked)
    assert [step.words for step in flow.births] == [
        "`hit.shape[0]` is born here (0 ≤ hit.shape[0] ≤ 64)",
        "`n`, `m` are born here",
    ]
    assert [(step.code, step.span is not None) for step in flow.steps] == [("n", True), ("total = n + m", False)]
    assert flow.question.span == emptiness.span
    told = flow_of(crumbs, lambda span: f"row {span.row}")
    assert [(step.code, step.words) for step in told.steps] == [
        ("row 10", "an argument, taken for a tensor"),
        ("row 20", "a value that only exists at run time"),
    ]


def test_what_a_birth_is_computed_from_stands_above_it(emptiness: Diagnostic) -> None:
    (symbol,) = emptiness.symbols
    parameter = span_of("def forward(self, x, router)", "router")
    rows = span_of("rows = hit[:, 0]", "hit[:, 0]")
    assert symbol.created is not None
    crumbs = ((emptiness.span, "asked"), (rows, "used"), (symbol.created, "born"), (parameter, "a parameter"))
    other = Symbol("n", "int(router.max())", span_of("n = int(router.max())", "int(router.max())"))
    flow = flow_of(replace(emptiness, symbols=(other, symbol), breadcrumbs=crumbs))
    assert [step.words for step in flow.origins] == ["a parameter"]
    assert [step.words for step in flow.steps] == ["used"]
    assert flow.births[flow.traced].span == symbol.created
    assert [step.span.row for step in flow.places if step.span] == [10, 20, 13, 18, 16]
    graph = graph_of(flow)
    assert [box.kind for box in graph.boxes] == ["step", "birth", "birth", "step", "question"]
    assert len(graph.arrows) == 4


@pytest.mark.parametrize("births", [0, 1, 2, 5])
def test_boxes_do_not_overlap_and_lie_in_the_picture(emptiness: Diagnostic, births: int) -> None:
    symbols = [Symbol(f"a_rather_long_name_{n}", "x" * 40 + str(n), emptiness.span) for n in range(births)]
    graph: Graph = graph_of(flow_of(replace(emptiness, symbols=tuple(symbols))))
    assert len(graph.boxes) == births + 1
    assert len(graph.arrows) == births
    for number, box in enumerate(graph.boxes):
        assert box.x >= 0
        assert box.x + box.width <= graph.width
        assert box.y + box.height <= graph.height
        for other in graph.boxes[:number]:
            beside = box.x >= other.x + other.width or other.x >= box.x + box.width
            assert beside or box.y >= other.y + other.height


def test_painted_lines_give_the_text_back() -> None:
    lines = MODEL.splitlines()
    marks = [Mark(Span("model.py", 13, 3, 16, 9), "born", 0), Mark(Span("model.py", 14, 1, 99, 1), "asks", 1)]
    rows = painted(lines, marks)
    assert ["".join(piece.text for piece in row) for row in rows] == lines
    both = [piece for row in rows for piece in row if piece.findings == (1, 0)]
    assert both
    assert all("asks" in piece.classes and "born" in piece.classes for piece in both)
    assert any(piece.classes == "k" and piece.text == "import" for piece in rows[0])
