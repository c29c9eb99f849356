"""The `full` format, as a whole: each snapshot is what a person would read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from handmade import MODEL, span_of

from ddelint.nouns.diagnostics import (
    Applicability,
    Claim,
    Diagnostic,
    Edit,
    Evidence,
    Fix,
    Frame,
    Severity,
    Span,
    Symbol,
)
from ddelint.report import closing, console, formats
from ddelint.report.model import Report
from ddelint.report.sources import Sources
from ddelint.report.style import Style

PLAIN = Style()
Snapshot = Callable[[str, str], None]


def rendered(*diagnostics: Diagnostic, style: Style = PLAIN, unsafe: bool = False, text: str = MODEL) -> str:
    report = Report(diagnostics, texts={"model.py": text}, files_checked=1)
    return formats.render(report, formats.Rendering(style, command="ddelint check model.py", unsafe_fixes=unsafe))


def test_everything_that_is_known_is_shown(expect: Snapshot, emptiness: Diagnostic) -> None:
    expect("emptiness", rendered(emptiness))


def test_a_finding_without_a_fix_says_so(expect: Snapshot, refused: Diagnostic) -> None:
    expect("refused", rendered(refused))


def test_verbose_gives_reasons_and_whole_stacks(expect: Snapshot, refused: Diagnostic) -> None:
    expect("refused_verbose", rendered(refused, style=Style(verbose=True)))


def test_cpp_functions_stand_below_the_question(refused: Diagnostic) -> None:
    functions = ("at::native::chunk(at::Tensor, long, long)", "c10::operator==(c10::SymInt, int)")
    asked = replace(refused, cpp_frames=functions)
    lines = rendered(asked).splitlines()
    at = lines.index("  C++       at::native::chunk(at::Tensor, long, long)")
    assert lines[at + 1] == "            c10::operator==(c10::SymInt, int)"
    assert "C++" not in rendered(refused)


def test_the_users_traceback_is_shown(expect: Snapshot, crash: Diagnostic) -> None:
    expect("crash", rendered(crash))


def test_breadcrumbs_lead_from_the_sink_to_the_source(expect: Snapshot, crumbs: Diagnostic) -> None:
    expect("crumbs", rendered(crumbs))
    expect("crumbs_verbose", rendered(crumbs, style=Style(verbose=True)))


def test_several_findings_and_the_closing_line(
    expect: Snapshot, emptiness: Diagnostic, refused: Diagnostic, crash: Diagnostic, crumbs: Diagnostic
) -> None:
    expect("several", rendered(refused, crumbs, emptiness, crash))


def test_plain_ascii_where_the_terminal_has_nothing_else(expect: Snapshot, emptiness: Diagnostic) -> None:
    text = rendered(emptiness, style=Style(unicode=False))
    assert text.isascii()
    expect("emptiness_ascii", text)


def test_colours_come_as_ansi(expect: Snapshot, emptiness: Diagnostic) -> None:
    expect("emptiness_color", rendered(emptiness, style=Style(color=True)))


def test_a_narrow_terminal_is_never_overrun(expect: Snapshot, emptiness: Diagnostic, refused: Diagnostic) -> None:
    text = rendered(emptiness, refused, style=Style(width=60))
    code = ("            - ", "            + ")  # never broken: it is there to be copied
    lines = [line for line in text.splitlines() if line.startswith("  ") and not line.startswith(code)]
    assert max(map(len, lines)) <= 60
    expect("narrow", text)


def test_a_long_line_is_cut_around_the_question() -> None:
    text = "x = 1 + " + "a" * 200 + " + mask.sum().item() + " + "b" * 200 + "\n"
    at = text.index("mask") + 1
    span = Span("model.py", 1, at, 1, at + len("mask.sum().item()"))
    shown = rendered(Diagnostic("DDE101", "m", span), style=Style(width=80), text=text).splitlines()
    line, underline = shown[1], shown[2]
    assert len(line) <= 80
    assert line[underline.index("━") : underline.rindex("━") + 1] == "mask.sum().item()"


@pytest.mark.parametrize("before", ["\t", "\t\t", "名前 = ", "é = ", "e\N{COMBINING ACUTE ACCENT} = ", "'👩' and "])
def test_the_underline_stands_under_what_it_means(before: str) -> None:
    from rich.cells import cell_len

    text = f"{before}f(mask.any())\n"
    at = text.index("mask") + 1
    shown = rendered(Diagnostic("DDE105", "m", Span("model.py", 1, at, 1, at + len("mask.any()"))), text=text)
    line, underline = shown.splitlines()[1:3]
    assert "\t" not in line
    assert cell_len(line[: line.index("mask")]) == underline.index("━")
    assert underline.count("━") == len("mask.any()")


def test_a_stretch_of_many_lines_is_elided_in_the_middle() -> None:
    text = "f(\n" + "".join(f"    {number},\n" for number in range(20)) + ")\n"
    shown = rendered(Diagnostic("DDE101", "m", Span("model.py", 1, 1, 22, 2)), text=text)
    assert "⋮" in shown
    assert len(shown.splitlines()) < 14


@pytest.mark.parametrize(
    "span", [Span("model.py", 999, 1, 999, 4), Span("model.py", 1, 500, 1, 520), Span("gone.py", 3, 1, 3, 2)]
)
def test_a_place_that_is_not_there_any_more_does_no_harm(span: Span) -> None:
    shown = rendered(Diagnostic("DDE101", "the message", span))
    assert shown.startswith(f"{span.filename}:{span.row}:{span.column} DDE101 branch-on-value: the message\n")


def test_an_empty_file_can_have_a_finding() -> None:
    assert "DDE001" in rendered(Diagnostic("DDE001", "m", Span("model.py", 1, 1, 1, 2)), text="")


def test_a_symbol_made_in_another_file_is_shown_there() -> None:
    text = "def count(mask):\n    return mask.sum().item()\n"
    created = span_of("mask.sum().item()", "mask.sum().item()", "counts.py", text)
    finding = Diagnostic(
        "DDE101", "m", span_of("if n > 4", "n > 4"), symbols=(Symbol("n", "mask.sum().item()", created, lower=0),)
    )
    report = Report((finding,), texts={"model.py": MODEL, "counts.py": text})
    shown = "\n".join(console.render_report(report, Style(), False))
    assert "counts.py:2" in shown
    assert "`n` is born here (0 ≤ n)" in shown


def test_birth_and_question_on_one_line_get_an_underline_each() -> None:
    text = "if mask.sum().item() > 4:\n    pass\n"
    finding = Diagnostic(
        "DDE101",
        "m",
        Span("model.py", 1, 4, 1, 25),
        symbols=(Symbol("n", "mask.sum().item()", Span("model.py", 1, 4, 1, 21), lower=0),),
    )
    lines = rendered(finding, text=text).splitlines()
    assert lines[2].count("━") == 21
    assert lines[3].count("─") == 17
    assert lines[3].endswith("`n` is born here (0 ≤ n)")


def test_a_question_that_is_its_own_birth_says_nothing_twice() -> None:
    span = span_of("n = int(router.max())", "int(router.max())")
    finding = Diagnostic("DDE201", "m", span, symbols=(Symbol("n", "int(router.max())", span, lower=0, upper=1),))
    assert "born" not in rendered(finding)
    known = replace(finding, symbols=(Symbol("n", "int(router.max())", span, lower=0),))
    assert "━ `n` is born here (0 ≤ n)" in rendered(known)


def test_torchs_words_for_a_question_wait_for_verbose() -> None:
    finding = Diagnostic("DDE101", "m", span_of("if n > 4", "n > 4"), expression="n > 4", detail="Could not guard")
    assert "Could not guard" not in rendered(finding)
    assert "Could not guard" in rendered(finding, style=Style(verbose=True))
    assert "Could not guard" in rendered(replace(finding, expression=""))


def test_the_way_to_the_question_names_lines_of_the_same_file_shortly() -> None:
    question = span_of("if n > 4", "n > 4")
    frames = (
        Frame(Span("/site/torch/module.py", 9, 1, 9, 2), "_call_impl", False),
        Frame(Span("model.py", 18, 1, 18, 2), "forward", True),
        Frame(question, "route", True),
    )
    finding = Diagnostic("DDE101", "m", question, frames=frames)
    assert "  called    line 18 in forward\n" in rendered(finding)
    assert "/site/torch/module.py:9 in _call_impl → line 18 in forward" in rendered(finding, style=Style(verbose=True))


def test_more_of_a_long_fix_is_left_to_the_diff() -> None:
    edit = Edit(Span("model.py", 3, 1, 3, 1), "".join(f"a{number} = {number}\n" for number in range(30)))
    fix = Fix(Applicability.SAFE, "many lines", (edit,), "m", Claim.EQUIVALENT)
    shown = rendered(Diagnostic("DDE101", "m", span_of("if n > 4", "n > 4"), fix=fix))
    assert "… 19 more lines: --diff shows them" in shown
    assert "a29" in rendered(
        Diagnostic("DDE101", "m", span_of("if n > 4", "n > 4"), fix=fix), style=Style(verbose=True)
    )


@pytest.mark.parametrize(
    ("evidence", "words"),
    [
        (Evidence(), []),
        (Evidence(samples=1), ["1 input"]),
        (Evidence(samples=8, both_sides=False, sides=(8, 0)), ["8 inputs, one side only (8 true, 0 false)"]),
        (Evidence(samples=8, both_sides=True), ["8 inputs, both sides"]),
        (Evidence(samples=8, both_sides=False, sides=(0, 0)), ["8 inputs"]),
        (Evidence(eager_equal=False, export=False, strict=True), ["eager differs", "export fails", "strict export ok"]),
        (Evidence(compile=True, devices=("cpu", "cuda")), ["fullgraph ok", "on cpu, cuda"]),
        (Evidence(recompiles=0, parity=1.014), ["no recompiles", "1.01x the time of backed"]),
        (Evidence(recompiles=1), ["1 recompile"]),
    ],
)
def test_evidence_says_only_what_was_run(evidence: Evidence, words: list[str]) -> None:
    assert console.evidence_words(evidence) == words


def test_a_note_is_said_once_in_a_report_but_for_why_a_fix_is_unsafe(emptiness: Diagnostic) -> None:
    note, reason = "given integers, the result is float32 (x all zero)", "no input made `n > 4` true"
    fix = Fix(Applicability.UNSAFE, "skip it", (), "drop", Claim.RESTRUCTURED, (reason,))
    evidence = Evidence(samples=8, notes=(reason, note, "cuda not run: no device"))
    first = replace(emptiness, fix=fix, evidence=evidence)
    later = replace(first, span=span_of("if n > 4", "n > 4"))
    shown = " ".join(rendered(first, later, later, style=Style(width=200)).split())
    assert shown.count(note) == 1
    assert shown.count(reason) == 3
    assert shown.count(f"8 inputs · {reason} · and as noted at line {emptiness.span.row}") == 2


def last(*diagnostics: Diagnostic, unsafe: bool = False) -> str:
    return "\n".join(closing.summary(Report(diagnostics, files_checked=1), Style(), unsafe, "ddelint check model.py"))


def test_the_closing_line_counts(emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic) -> None:
    assert last() == "All checks passed!"
    assert list(closing.summary(Report(), Style(), False, "ddelint check empty")) == ["Nothing was checked."]
    assert last(refused) == "1 error in 1 file"
    assert last(emptiness, refused) == "2 errors in 1 file, 1 fixable: `ddelint check model.py --fix`"
    assert last(emptiness, crumbs) == (
        "1 error, 1 warning in 1 file, 1 fixable: `ddelint check model.py --fix` (1 more with --unsafe-fixes)"
    )
    assert last(emptiness, crumbs, unsafe=True).endswith("2 fixable: `ddelint check model.py --fix --unsafe-fixes`")
    assert last(crumbs) == "1 warning in 1 file, 1 fixable with --fix --unsafe-fixes"
    elsewhere = replace(refused, span=replace(refused.span, filename="other.py"), severity=Severity.INFO)
    assert last(refused, elsewhere) == "1 error, 1 note in 2 files"


def after(*diagnostics: Diagnostic, unsafe: bool = False, entries: tuple[str, ...] = (), verbose: bool = False) -> str:
    """The closing lines of a call that writes."""
    report = Report(diagnostics, files_checked=1, writes=True, entries=entries)
    return "\n".join(closing.summary(report, Style(verbose=verbose), unsafe, "ddelint check model.py"))


def test_what_was_written_is_listed_with_what_is_unsafe_about_it(emptiness: Diagnostic) -> None:
    safe = replace(emptiness, fixed=True)
    assert after(safe) == (
        "Fixed 1 error in 1 file:\n"
        f"  model.py:{safe.span.row} DDE102 safe: take the general path while compiling; "
        "an empty selection adds nothing"
    )
    assert safe.fix is not None
    reasons = ("no input made `hit.shape[0] == 0` true",)
    unsafe = replace(safe, fix=replace(safe.fix, applicability=Applicability.UNSAFE, reasons=reasons))
    assert "DDE102 unsafe: take the general path" in after(unsafe)
    assert after(unsafe).replace("\n    ", " ").endswith("(unsafe: no input made `hit.shape[0] == 0` true)")
    many = [replace(safe, span=replace(safe.span, column=column)) for column in range(1, 20)]
    assert after(*many).splitlines()[-1] == "  and 7 more (-v lists them)"
    assert len(after(*many, verbose=True).splitlines()) == 20


def test_what_is_left_is_left_for_a_reason_and_no_call_is_named_that_would_leave_it_again(
    emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic
) -> None:
    read = replace(refused, refused=(), origin=("static",))
    assert after(replace(emptiness, fixed=True), refused).splitlines()[-2:] == [
        "1 error left in 1 file:",
        "  1 has no fix: each rewrite that was tried was refused (-v says why)",
    ]
    assert after(crumbs).splitlines()[-1] == ("  1 has an unsafe fix: `ddelint check model.py --fix --unsafe-fixes`")
    assert (
        after(crumbs, unsafe=True).splitlines()[-1] == after(emptiness).splitlines()[-1] == "  1 could not be written"
    )
    assert after(read).splitlines()[-1] == "  1 was read, not run: with an entry, rewrites are tried"
    assert after(read, entries=("model.py:Model",)).splitlines()[-1] == "  1 is in code that no entry ran"
    assert after(replace(emptiness, origin=("static",)), entries=("model.py:Model",)).splitlines()[-1] == (
        "  1 is in code that no entry ran: --static --fix writes its fix"
    )
    failed = replace(read, code="DDE002", origin=("trace",))
    assert after(read, failed).splitlines()[-2:] == [
        "  1 is an entry that failed",
        "  1 was read, not run: the entry failed",
    ]
    unparsed = replace(read, code="DDE001", expression="")
    assert after(unparsed).splitlines()[-1] == "  1 is in a file that does not parse"
    assert "--fix`" not in after(emptiness, refused, crumbs, read)


def test_the_line_below_a_diff_counts_too(emptiness: Diagnostic, refused: Diagnostic, crumbs: Diagnostic) -> None:
    some = Report((emptiness, refused, crumbs), diffs={"model.py": "…"})
    assert closing.diff_summary(some, False) == "Would fix 1 of 3 findings in 1 file (1 more with --unsafe-fixes)."
    assert closing.diff_summary(some, True) == "Would fix 2 of 3 findings in 1 file."
    assert closing.diff_summary(Report((refused,)), False) == "1 finding, none that can be fixed."
    assert closing.diff_summary(Report(), False) == "Nothing to fix."


def test_findings_come_in_the_order_of_their_places(emptiness: Diagnostic, refused: Diagnostic) -> None:
    assert rendered(refused, emptiness) == rendered(emptiness, refused)


def test_changed_lines_are_those_of_the_edits() -> None:
    source = Sources({"a.py": "a = 1\nif a:\n    b = 2\n    c = 3\nd = 4\n"}).get("a.py")
    assert source is not None
    edits = [Edit(Span("a.py", 3, 9, 3, 10), "5"), Edit(Span("a.py", 4, 9, 4, 10), "6\n    e = 7")]
    assert console.changed_lines(source, edits) == ["- b = 2", "+ b = 5", "- c = 3", "+ c = 6", "+ e = 7"]
    assert console.changed_lines(source, [Edit(Span("a.py", 5, 1, 6, 1), "")]) == ["- d = 4"]
