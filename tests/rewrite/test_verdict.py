"""What a comparison says of a candidate, by its claim."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ddelint.nouns.diagnostics import Claim, Span
from ddelint.nouns.protocol import Comparison, Decision, Mismatch
from ddelint.rewrite.search.verdict import (
    before_later_checks,
    doubt,
    doubt_of,
    gives_another,
    is_another,
    narrows,
    of_its_kind,
    refutation,
    remarks,
    unreached,
)

OURS = Mismatch("keep all false", False, "eager", "exception", "a result", "RuntimeError", narrower=True)
ON_PURPOSE = Mismatch("keep all false", False, "eager", "exception", "ValueError", "a result", deliberate=True)
BY_TORCH = replace(ON_PURPOSE, deliberate=False)


def of(mismatch: Mismatch, *, equal: bool = True) -> Comparison:
    return Comparison(8, 4, equal, {}, (mismatch,))


@pytest.mark.parametrize(
    ("mismatch", "refuting"),
    [
        (OURS, {Claim.EQUIVALENT, Claim.GENERAL_PATH}),
        (replace(OURS, where="traced path"), set()),
        (replace(OURS, aspect="cost"), set()),
        (ON_PURPOSE, {Claim.EQUIVALENT, Claim.GENERAL_PATH, Claim.RESTRUCTURED}),
        (replace(ON_PURPOSE, aspect="message"), {Claim.EQUIVALENT, Claim.GENERAL_PATH, Claim.RESTRUCTURED}),
        (BY_TORCH, set()),
        (replace(BY_TORCH, declared=True), set(Claim)),
        (Mismatch("x all zero", False, "eager", "value", "0", "nan"), set(Claim)),
        (Mismatch("seed 0", True, "eager", "random state", "a", "b"), set(Claim)),
    ],
)
def test_what_refutes_depends_on_the_claim(mismatch: Mismatch, refuting: set[Claim]) -> None:
    assert {claim for claim in Claim if refutation(of(mismatch), claim)} == refuting


@pytest.mark.parametrize("mismatch", [OURS, replace(OURS, aspect="cost"), BY_TORCH])
def test_what_does_not_refute_is_doubtful(mismatch: Mismatch) -> None:
    assert "on an input of our own making (keep all false)" in doubt(of(mismatch))


def test_what_keeps_a_fix_from_being_safe_is_the_gravest() -> None:
    zeros = Mismatch("seed 0", True, "eager", "gradient of zeros", "none of self.w", "zeros of self.w")
    effect = Mismatch("seed 0", True, "traced path", "side effect", "self.n changed", "self.n unchanged")
    differs = Mismatch("seed 1, in train()", False, "eager", "value", "1.0", "2.0", narrower=True)
    whole = replace(differs, sample="seed 1, in integers 8 times as large", aspect="dtype")
    for milder, graver in ((zeros, effect), (effect, OURS), (zeros, OURS), (OURS, differs), (whole, zeros)):
        for found in ((milder, graver), (graver, milder)):
            assert f"{graver.aspect} differs" in doubt(Comparison(8, 4, True, {}, found))


def test_a_program_that_is_silently_another_once_compiled_is_the_second_best() -> None:
    unsynchronised = Mismatch("seed 0, with other weights", False, "traced path", "value", "1.0", "2.0", narrower=True)
    assert is_another(unsynchronised)
    assert is_another(replace(unsynchronised, aspect="mutation"))
    assert gives_another(of(unsynchronised), ())
    assert not gives_another(of(unsynchronised), (doubt_of(unsynchronised),)), "of a fix before"
    for milder in (
        replace(unsynchronised, where="eager"),
        replace(unsynchronised, aspect="backward"),
        replace(unsynchronised, aspect="exception"),
        replace(unsynchronised, sample="seed 0, in integers"),
        replace(unsynchronised, sample="x all inf"),
    ):
        assert not is_another(milder)
        assert not gives_another(of(milder), ())
    assert not gives_another(Comparison(8, 4, True), ())


def test_what_a_later_check_stops_waits_for_that_check() -> None:
    stopped = Mismatch("seed 3", True, "traced path", "exception", "a result", "ValueError", stopped=True)
    assert refutation(of(stopped, equal=False), Claim.GENERAL_PATH)
    assert refutation(before_later_checks(of(stopped, equal=False)), Claim.GENERAL_PATH) == ""
    for other in (replace(stopped, stopped=False), replace(stopped, where="eager")):
        assert refutation(before_later_checks(of(other, equal=False)), Claim.GENERAL_PATH)


def test_what_a_single_input_says_counts_in_the_aspect_that_it_has_shown_alone() -> None:
    """On it alone nobody sees that the original gives a number at times, and a tensor at others."""
    kind = Mismatch("odd", False, "traced path", "type", "float 0.0", "tensor of float32 []")
    noted = replace(kind, aspect="type of a number")
    value = replace(kind, aspect="value", expected="1.0", got="2.0")
    found = Comparison(4, 4, False, {}, (kind, value))
    assert refutation(of_its_kind(found, noted), Claim.RESTRUCTURED) == ""
    assert "value differs" in refutation(of_its_kind(found, value), Claim.RESTRUCTURED)


def test_what_narrows_is_a_new_exception_of_what_is_compiled() -> None:
    raises = replace(OURS, where="traced path")
    assert narrows(of(raises))
    assert not any(map(narrows, (of(OURS), of(replace(raises, aspect="cost")), of(BY_TORCH))))


def test_results_that_differ_for_no_stated_reason_refute() -> None:
    assert refutation(Comparison(8, 4, False), Claim.RESTRUCTURED) == "eager results differ"
    assert refutation(Comparison(8, 4, True), Claim.RESTRUCTURED) == ""
    assert doubt(Comparison(8, 4, True)) == ""


def test_the_side_that_was_not_reached_is_named() -> None:
    decisions = [Decision(key, Span("a.py", 1, 1, 1, 2)) for key in ("both", "true", "false", "none")]
    comparison = Comparison(8, 4, True, {"both": (3, 5), "true": (8, 0), "false": (0, 8)})
    assert [(d.key, side) for d, side in unreached(comparison, decisions)] == [
        ("true", "false"),
        ("false", "true"),
        ("none", ""),
    ]


def test_a_declared_input_that_breaks_a_promise_is_its_counterexample() -> None:
    broken = replace(OURS, sample="seed 3", declared=True, narrower=False)
    assert refutation(of(broken, equal=False), Claim.PROMISE) == "the promise is refuted by seed 3"
    assert refutation(of(OURS), Claim.PROMISE) == ""
    assert "keep all false" in doubt(of(OURS))


@pytest.mark.parametrize(
    ("mismatch", "said"),
    [
        (
            Mismatch("x all zero, in integers", False, "eager", "dtype of integers", "int64", "float32"),
            "given integers where floats are declared, the result is float32; the original's is int64 on this input, "
            "and another on others (x all zero)",
        ),
        (
            Mismatch("seed 3, under autocast", False, "traced path", "autocast dtype", "bfloat16", "float32"),
            "under autocast the result is float32 while compiling; the original's is bfloat16 on this input, and "
            "another on others (seed 3)",
        ),
        (
            Mismatch("seed 3", True, "eager", "memory", "a view of x", "memory of its own"),
            "the result has memory of its own; the original's is a view of x on this input, and has its own on others "
            "(seed 3)",
        ),
        (
            Mismatch("seed 3", True, "compile", "gradient of zeros", "none of self.w", "zeros of self.w"),
            "compile, seed 3: gradient of zeros differs (expected none of self.w, got zeros of self.w)",
        ),
    ],
)
def test_what_is_noted_says_what_the_original_does(mismatch: Mismatch, said: str) -> None:
    assert remarks(of(mismatch)) == [said]
    assert doubt(of(mismatch)) == ""


def test_settings_that_were_not_changed_at_once_are_named() -> None:
    pairs = ("self.fill=0.5, self.sharp=False", "agg='prod', self.sharp=False", "agg='prod', self.fill=0.5")
    said = "time ran out before these were changed at once: self.fill=0.5, self.sharp=False"
    assert remarks(Comparison(8, 8, True, left_unpaired=pairs[:1])) == [said]
    untried = "time ran out before these were tried: in integers: w alone"
    assert remarks(Comparison(8, 8, True, left_untried=("in integers: w alone",))) == [untried]
    assert remarks(Comparison(8, 8, True, left_unpaired=pairs)) == [f"{said}; {pairs[1]}; and 1 more"]
    assert remarks(Comparison(8, 8, True)) == []
