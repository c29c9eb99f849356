"""Two passes, one place, one diagnostic."""

from dataclasses import replace

from ddelint.nouns.diagnostics import Applicability, Claim, Diagnostic, Fix, Span, Symbol
from ddelint.nouns.merge import merge

STATIC = Diagnostic(
    "DDE101",
    "the compiler must answer `n > 4` while tracing",
    Span("m.py", 5, 8, 5, 13),
    breadcrumbs=((Span("m.py", 4, 5, 4, 20), "`n` is read from `mask`"),),
    symbols=(Symbol("n", "mask.sum().item()"),),
)
TRACED = replace(STATIC, origin=("trace",), breadcrumbs=(), symbols=(), asks=("export",))


def test_one_place_is_one_diagnostic() -> None:
    (found,) = merge([STATIC], [TRACED])
    assert found.origin == ("static", "trace")
    assert found.breadcrumbs == STATIC.breadcrumbs
    assert found.symbols == STATIC.symbols
    assert found.asks == ("export",)


def test_a_static_span_inside_a_traced_one_is_the_same_place() -> None:
    wide = replace(TRACED, code="DDE105", span=Span("m.py", 5, 8, 5, 30))
    (found,) = merge([STATIC], [wide])
    assert found.code == "DDE105"


def test_other_places_stay_apart_and_in_order() -> None:
    later = replace(TRACED, span=Span("m.py", 9, 8, 9, 13))
    elsewhere = replace(TRACED, span=replace(TRACED.span, filename="other.py"))
    found = merge([STATIC], [elsewhere, later])
    assert [(d.span.filename, d.span.row) for d in found] == [("m.py", 5), ("m.py", 9), ("other.py", 5)]
    assert [d.origin for d in found] == [("static",), ("trace",), ("trace",)]


def test_one_question_of_two_entries_is_told_once_with_its_fix() -> None:
    fixed = replace(TRACED, asks=("compile",), fix=Fix(Applicability.SAFE, "choose", (), "where", Claim.RESTRUCTURED))
    other = replace(TRACED, span=Span("m.py", 9, 8, 9, 13))
    for traced in ([TRACED, other, fixed], [fixed, other, TRACED]):
        first, second = merge([], traced)
        assert (first.fix, sorted(first.asks)) == (fixed.fix, ["compile", "export"])
        assert second == other


def test_what_one_entry_fixes_is_not_told_as_untraceable_because_of_another() -> None:
    fix = Fix(Applicability.SAFE, "merged", (), "where_merge", Claim.RESTRUCTURED)
    untraceable = replace(TRACED, code="DDE901", message="no rewrite keeps this", stands_for="DDE101")
    (found,) = merge([STATIC], [untraceable, replace(TRACED, fix=fix)])
    assert (found.code, found.fix) == ("DDE101", fix)
    (found,) = merge([STATIC], [untraceable, untraceable])
    assert (found.code, found.stands_for, found.origin) == ("DDE901", "DDE101", ("static", "trace"))
