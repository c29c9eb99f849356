"""What a comparison says of a candidate under its claim: refuted, doubtful (unsafe at most), or neither."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from ddelint.nouns.diagnostics import Claim
from ddelint.nouns.protocol import INTEGERS, OTHER_SETTINGS, Comparison, Decision, Mismatch

_RAISED = ("exception", "message")
_TRACED, _GIVEN = "traced path", ("value", "mutation")
_MEETING = "meeting"
_ZEROS = "gradient of zeros"
_POISONED = "gradient of NaN"
_VARIES = {
    "memory": "the result has {got}{where}; the original's is {expected} on this input, and has its own on others",
    "autocast dtype": (
        "under autocast the result is {got}{where}; the original's is {expected} on this input, and another on others"
    ),
    "dtype of integers": (
        "given integers where floats are declared, the result is {got}{where}; the original's is {expected} on this "
        "input, and another on others"
    ),
    "mixed dtypes": (
        "given one argument of another dtype, the result is {got}{where}; the original's is {expected} on this "
        "input, and another on others"
    ),
}
"""Aspects in which the original gives now one thing, now another, and what is said of them."""
_TOLD = (
    *("sign of zero", "side effect", "warning", _MEETING, _ZEROS, "shared memory", "generators' state", _POISONED),
    "type of a number",
    "count in a tensor",
    *_VARIES,
)
"""What refutes no rewrite, and keeps each from being safe."""
_MILD = ("sign of zero", "warning", _ZEROS, _POISONED)
"""Of these what is named where there is nothing else to name."""


def refutation(comparison: Comparison, claim: Claim) -> str:
    """Why the rewritten program is not the same program; empty where nothing speaks against it.

    On declared inputs everything counts. On ours, what torch itself refuses binds nobody, but what the program raises
    on purpose is a result like any other, unless a promise says that such inputs do not occur. A claim by which eager
    stays as it is leaves no room for new exceptions; others may narrow what the program accepts (see `doubt`).
    """
    mismatch = refuting(comparison, claim)
    if mismatch is not None:
        broken = claim is Claim.PROMISE and mismatch.aspect == "exception"
        return f"the promise is refuted by {mismatch.sample}" if broken else described(mismatch)
    return "" if comparison.equal else "eager results differ"


def refuting(comparison: Comparison, claim: Claim) -> Mismatch | None:
    """The first mismatch that refutes a rewrite with this claim."""
    return next((m for m in comparison.mismatches if not _is_lenient(m, claim)), None)


def _is_lenient(mismatch: Mismatch, claim: Claim) -> bool:
    if mismatch.aspect in _TOLD:
        return True
    if mismatch.declared:
        return False
    if mismatch.aspect in _RAISED:
        if mismatch.deliberate:  # a check that what is compiled leaves out is doubtful, no other program
            return claim is Claim.PROMISE or mismatch.where != "eager"
        return not (mismatch.narrower and mismatch.where == "eager" and claim in (Claim.EQUIVALENT, Claim.GENERAL_PATH))
    return mismatch.narrower


def doubt(comparison: Comparison) -> str:
    """What keeps a rewrite that isn't refuted from being safe: it raises elsewhere, or takes too long."""
    mismatch = doubting(comparison)
    return "" if mismatch is None else doubt_of(mismatch)


def doubt_of(mismatch: Mismatch) -> str:
    """One such thing, in words."""
    whose = "a declared input" if mismatch.declared else "an input of our own making"
    return f"on {whose} ({mismatch.sample}): {described(mismatch)}"


def doubting(comparison: Comparison) -> Mismatch | None:
    """The mismatch that keeps a rewrite from being safe: the gravest, of these the first."""
    return next(iter(all_doubting(comparison)), None)


def all_doubting(comparison: Comparison) -> list[Mismatch]:
    """The mismatches that keep a rewrite from being safe, the gravest first."""
    told = (mismatch for mismatch in comparison.mismatches if not _is_only_noted(mismatch))
    return sorted((m for m in told if m.narrower or m.aspect in (*_RAISED, *_TOLD)), key=_mildness)


def _mildness(mismatch: Mismatch) -> int:
    """Results first, then what is raised, then what no result differs in, then what some optimizers alone notice.

    Integers where floats were declared come last: few call a program so.
    """
    if mismatch.in_integers:
        return 4
    if mismatch.aspect not in _TOLD:
        return int(mismatch.aspect in _RAISED)
    return 2 + (mismatch.aspect in _MILD)


def parts_the_sides(comparison: Comparison, known: Collection[str]) -> bool:
    """Whether the side that is compiled leaves something else on a declared input, though no result shows it.

    `known`: what is said of the fixes before.
    """
    found = (m for m in comparison.mismatches if m.declared and m.aspect == _MEETING)
    return any(doubt_of(mismatch) not in known for mismatch in found)


def is_another(mismatch: Mismatch) -> bool:
    """Whether a mismatch shows that what is compiled silently is another program in some way of running it, as where
    a network with other weights is never synchronised. Integers for floats, infinities and NaN do not count."""
    is_silent = mismatch.where == _TRACED and mismatch.aspect in _GIVEN
    return is_silent and not (mismatch.in_integers or mismatch.is_not_finite)


def gives_another(comparison: Comparison, known: Collection[str]) -> bool:
    """Whether a rewrite is kept from being safe because what is compiled `is_another` program. `known`: what is said of
    the fixes before."""
    shown = doubting(comparison)
    return shown is not None and is_another(shown) and doubt_of(shown) not in known


def not_run(comparison: Comparison) -> str:
    """How the programs were not run, as time ran out or nothing else was possible; empty where they were."""
    late = [how for how in comparison.left_out if how != OTHER_SETTINGS]
    if late:
        return f"time ran out before it was run {', '.join(late)}"
    return f"it was not run {OTHER_SETTINGS}: what it reads could not be noted" if comparison.left_out else ""


def remarks(comparison: Comparison) -> list[str]:
    """What is noted of a rewrite and keeps none from being safe."""
    noted = {mismatch.aspect: mismatch for mismatch in reversed(comparison.mismatches) if _is_only_noted(mismatch)}
    return [
        *(_remark(mismatch) for mismatch in noted.values()),
        *_untried("these were changed at once", comparison.left_unpaired),
        *_untried("these were tried", comparison.left_untried),
    ]


def _untried(what: str, left: Sequence[str]) -> list[str]:
    """Which arguments and settings were not changed so, as time ran out: the first, and how many more."""
    if not left:
        return []
    shown = left[:_SHOWN]
    rest = f"; and {len(left) - len(shown)} more" if len(left) > len(shown) else ""
    return [f"time ran out before {what}: {'; '.join(shown)}{rest}"]


def _remark(mismatch: Mismatch) -> str:
    """What differs, in a sentence: of what the original gives now one way and now another there is more to say."""
    sentence = _VARIES.get(mismatch.aspect)
    if sentence is None:
        return described(mismatch)
    where = "" if mismatch.where == "eager" else " while compiling"
    # the mode is what the sentence is about; what is left says which input was run in it
    sample = ", ".join(part for part in mismatch.sample.split(", ") if not part.startswith(_MODES) or ": " in part)
    return f"{sentence.format(got=mismatch.got, expected=mismatch.expected, where=where)} ({sample})"


_SHOWN = 2
_MODES = (INTEGERS, "under autocast")


def _is_only_noted(mismatch: Mismatch) -> bool:
    """Whatever is compiled gives each parameter that it reads a gradient: that of one that no row came to is zero.

    And what is returned as it came on some inputs only may be a copy on all of them.
    """
    return mismatch.aspect in _VARIES or (mismatch.aspect == _ZEROS and mismatch.where != "eager")


def narrows(comparison: Comparison) -> bool:
    """Whether the path that is compiled raises on an input on which the original returns."""
    return any(m.aspect == "exception" and m.narrower and m.where != "eager" for m in comparison.mismatches)


def on_finite_inputs(comparison: Comparison) -> Comparison:
    """The comparison without what the compiled path does to an infinity or NaN of our own making (see `spreads`)."""
    return _without(comparison, lambda m: not m.declared and m.where != "eager" and m.is_not_finite)


def before_later_checks(comparison: Comparison) -> Comparison:
    """The comparison without what the program's own checks, not rewritten yet, stop on the path that is compiled."""
    return _without(comparison, lambda m: m.stopped and m.where != "eager")


def of_its_kind(comparison: Comparison, shown: Mismatch) -> Comparison:
    """The comparison with differences of one aspect alone: on one input nobody sees in what the original varies."""
    return _without(comparison, lambda mismatch: mismatch.aspect != shown.aspect)


def _without(comparison: Comparison, ignored: Callable[[Mismatch], bool]) -> Comparison:
    kept = tuple(mismatch for mismatch in comparison.mismatches if not ignored(mismatch))
    if len(kept) == len(comparison.mismatches):
        return comparison
    return replace(comparison, mismatches=kept, equal=comparison.equal or not any(map(_is_about_results, kept)))


def _is_about_results(mismatch: Mismatch) -> bool:
    return (
        mismatch.aspect not in _TOLD
        and not mismatch.narrower
        and (mismatch.declared or mismatch.aspect not in (*_RAISED, "cost", "random state"))
    )


def unreached(comparison: Comparison, decisions: Sequence[Decision]) -> Iterator[tuple[Decision, str]]:
    """The decisions of which not both sides were run, and which was not: `true`, `false`, or empty for both."""
    for decision in decisions:
        true, false = comparison.sides.get(decision.key, (0, 0))
        if not (true and false):
            yield decision, "false" if true else "true" if false else ""


def described(mismatch: Mismatch) -> str:
    """`eager, seed 3: value differs (expected 1.0 at [0], got 2.0 at [0])`."""
    return (
        f"{mismatch.where}, {mismatch.sample}: {mismatch.aspect} differs "
        f"(expected {mismatch.expected}, got {mismatch.got})"
    )
