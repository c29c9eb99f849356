"""How the calls of a program differ from those of the original on the same input."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import torch

from ddelint.nouns.protocol import A_RESULT, INTEGERS, Mismatch
from ddelint.verify.calls import Outcome, Raised
from ddelint.verify.frozen import Container, Frozen, FrozenTensor, is_finite
from ddelint.verify.kinds import OF_ANOTHER_DTYPE
from ddelint.verify.noise import Noise
from ddelint.verify.references import Reference
from ddelint.verify.sameness import (
    AS_TENSOR,
    EXACT,
    OWN_MEMORY,
    SHARED,
    SIGN_OF_ZERO,
    Difference,
    Tolerance,
    differences,
)
from ddelint.verify.samples import AUTOCAST, BEHIND, UNREAD
from ddelint.verify.witness import Moved

TRACED_PATH = "traced path"
SIDE_EFFECT = "side effect"
"""The aspect in which other state is left behind than in eager, where that is no tensor, or one that was assigned."""
MEETING = "meeting"
"""The aspect in which the sides of a decision differ where they meet, whatever comes of it later."""
ZEROS = "gradient of zeros"
"""The aspect in which a parameter of a module in training has a gradient of zeros where it had none, or none now."""
WARNING = "warning"
"""The aspect in which eager warns of what it did not warn of."""
COPIED = "memory"
"""The aspect in which a result has memory of its own where it shared some on some inputs, and on others did not."""
PROMOTED = "autocast dtype"
"""The aspect in which a result has one dtype under autocast where it had now one, now another."""
WIDENED = "dtype of integers"
"""The same of integers where floats were declared."""
DRAWS = "generators' state"
"""The aspect in which the path that tracing picks, or the backward pass, draws another number of random numbers."""
POISONED = "gradient of NaN"
"""The aspect in which, on an input with a NaN or infinity, a gradient is not finite where there was none."""
MIXED = "mixed dtypes"
"""The same on the path that is compiled, of one argument of another dtype: eager keeps what it gave."""
COUNT = "count in a tensor"
"""The aspect in which an attribute that counted in Python holds the same count in a tensor."""
LATER = "mutation by the backward pass"
"""The aspect in which gradients leave another state behind: an arm that is computed and not chosen has them, too."""
TOLD = frozenset(
    (SIGN_OF_ZERO, SIDE_EFFECT, WARNING, MEETING, ZEROS, SHARED, COPIED, PROMOTED, WIDENED, MIXED, DRAWS, POISONED)
) | {AS_TENSOR, COUNT}
"""Aspects in which no result differs."""
_FORM = ("type", "shape", "dtype")
RANDOM = "random state"
_NUMERIC = ("value", "mutation", "gradient")
"""Aspects in which results may differ by rounding."""


def mismatches(
    reference: Reference, outcomes: Sequence[Outcome], where: str, tolerance: Tolerance = EXACT
) -> Iterator[Mismatch]:
    """How the calls of another program differ from those of the original on the same input."""
    sample = reference.sample
    tolerance = replace(tolerance, rough=sample.rough)
    for number, (expected, got) in enumerate(zip(reference.calls, outcomes)):
        label = reference.label_of(number)
        if sample.mode in (BEHIND, UNREAD):
            for was, name in _poisoned(expected, got, also_finite=sample.mode == UNREAD):
                yield Mismatch(
                    label, sample.declared, where, POISONED, f"{was} of {name}", f"NaN or infinity of {name}"
                )
        if sample.mode == UNREAD:
            continue
        if sample.mode == BEHIND:
            got = where_finite(expected, got)
        found = list(_call_mismatches(expected, got, where, tolerance, label, sample.declared))
        if reference.witness is not None and _is_numeric(found):
            # what no rounding error explains, however large, needs nobody's word
            boundless = replace(tolerance, ulps=math.inf)
            hopeless = _is_numeric(list(_call_mismatches(expected, got, where, boundless, label, sample.declared)))
            fused = where not in ("eager", TRACED_PATH)
            for answers in () if hopeless else _moved(reference, fused=fused):
                moved = tuple((amount, calls[number]) for amount, calls in answers if number < len(calls))
                if not all(call.returned for _, call in moved):  # one of a row may raise, as the original's may
                    continue
                found = list(_call_mismatches(expected, got, where, tolerance, label, sample.declared, moved))
                if not _is_numeric(found):
                    break
            reference.witness.judged(reference.key, wrong=not hopeless and _is_numeric(found))
        if not sample.declared and _is_numeric(found) and _is_unsteady(reference, tolerance):
            reference.is_unsteady = True
            found = [mismatch for mismatch in found if mismatch.aspect not in _NUMERIC]
        differs = any(mismatch.aspect not in (RANDOM, *TOLD) for mismatch in found)
        yield from (replace(mismatch, narrower=True) for mismatch in found) if sample.mode else found
        if differs:
            return


def _moved(reference: Reference, *, fused: bool) -> Iterator[Moved]:
    """What its witness says of a reference."""
    if reference.witness is not None:
        yield from reference.witness.moved(reference.key, calls=len(reference.calls), fused=fused)


def _is_unsteady(reference: Reference, tolerance: Tolerance) -> bool:
    """Whether the original gives other numbers when it is run on the same input again: nothing can be told from those.

    On an input that nobody declared it may read memory that nobody wrote: of labels out of range in an operator that
    does not look.
    """
    again = reference.witness.again(reference.key) if reference.witness is not None else ()
    pairs = ((one, other) for calls in again for one, other in zip(reference.calls, calls))
    found = (difference for one, other in pairs for difference in outcome_differences(one, other, tolerance))
    return any(difference.aspect in _NUMERIC for difference in found)


def _is_numeric(found: Sequence[Mismatch]) -> bool:
    return any(mismatch.aspect in _NUMERIC for mismatch in found)


MovedCall = Sequence[tuple[float, Outcome]]
"""One call of `witness.Moved`."""


def _call_mismatches(
    expected: Outcome,
    got: Outcome,
    where: str,
    tolerance: Tolerance,
    label: str,
    declared: bool,
    moved: MovedCall = (),
) -> Iterator[Mismatch]:
    deliberate = expected.error is not None and expected.error.deliberate
    stopped = expected.error is None and got.error is not None and got.error.deliberate

    def mismatch(aspect: str, one: str, other: str, narrower: bool = False) -> Mismatch:
        return Mismatch(label, declared, where, aspect, one, other, narrower, deliberate, stopped)

    if expected.error is None and got.error is not None:
        yield mismatch("exception", A_RESULT, str(got.error), narrower=not declared)
    elif expected.error is not None and got.error is None:
        if where == "eager" or declared or deliberate:
            yield mismatch("exception", str(expected.error), A_RESULT)
    elif expected.error is not None and got.error is not None:
        yield from _error_mismatches(expected.error, got.error, mismatch, where == "eager", declared)
    else:
        for found in outcome_differences(expected, got, tolerance, everything=where == "eager", moved=moved):
            if found.aspect == SIDE_EFFECT and where != TRACED_PATH:
                continue  # what runs while tracing leaves none behind, whatever was rewritten
            if found.aspect in (COUNT, ZEROS, LATER) and where not in ("eager", TRACED_PATH):
                continue  # the path that tracing picks has reported it
            yield mismatch(found.aspect, found.expected, found.got)
        if where == "eager":
            for text in sorted(got.warned - expected.warned):
                yield mismatch(WARNING, "no such warning", text)
        yield from (mismatch(*found) for found in _draw_differences(expected, got, where))


def _draw_differences(expected: Outcome, got: Outcome, where: str) -> Iterator[tuple[str, str, str]]:
    """(aspect, expected, got), where other random numbers are drawn by whatever comes next."""
    if where not in ("eager", TRACED_PATH):  # compiled code has generators of its own
        return
    if expected.random != got.random:
        if where == "eager":
            yield RANDOM, "the generator's state after the original", "another one"
        else:
            yield DRAWS, "that after the original", "another one: more random numbers are drawn, or fewer"
    elif expected.random_later != got.random_later and expected.gradients is not None and got.gradients is not None:
        yield DRAWS, "that after the original's backward pass", "another one: the gradient draws random numbers anew"


def _error_mismatches(
    expected: Raised, got: Raised, mismatch: Callable[..., Mismatch], eager: bool, declared: bool
) -> Iterator[Mismatch]:
    """Exception types must agree; what torch itself raises on inputs of our own making binds nobody."""
    if not eager or not (expected.deliberate or declared):
        return
    if expected.kind != got.kind:
        yield mismatch("exception", str(expected), str(got))
    elif expected.deliberate and expected.message != got.message:
        yield mismatch("message", expected.message[:160], got.message[:160])


def outcome_differences(
    expected: Outcome, got: Outcome, tolerance: Tolerance, *, everything: bool = True, moved: MovedCall = ()
) -> Iterator[Difference]:
    """Differences of two calls that returned: results first, then effects, then gradients.

    `everything`: what tracing need not keep counts, too (plain attributes, views, which results carry gradients).
    """
    if expected.result is None or got.result is None:
        return
    if not everything:
        tolerance = replace(tolerance, identity=False)
    yield from differences(expected.result, got.result, tolerance, noise=_noise(moved, lambda call: call.result))
    tolerance = replace(tolerance, memory=False)
    noise = _noise(moved, lambda call: call.arguments)
    for found in differences(expected.arguments, got.arguments, tolerance, noise=noise):
        yield Difference("mutation", f"arguments{found.place}", found.expected, found.got)
    # what only the rewritten program has (how an operator finds its modules) is no state of the original's
    shared = replace(
        got,
        effects=_without(got.effects, got.reached - expected.reached),
        effects_later=_without(got.effects_later, got.reached - expected.reached),
    )
    yield from _effect_differences(expected, shared, tolerance, everything, moved)
    if everything:
        for name in sorted(got.rebound - expected.rebound):
            yield Difference("mutation", name, f"self.{name} is the same tensor as before", "another one in its place")
    yield from gradient_differences(expected, got, tolerance, moved)
    yield from _differences_later(expected, shared, tolerance, everything)


def _without(effects: Mapping[str, Frozen], names: Collection[str]) -> dict[str, Frozen]:
    return {name: value for name, value in effects.items() if name not in names}


def _differences_later(expected: Outcome, got: Outcome, tolerance: Tolerance, everything: bool) -> Iterator[Difference]:
    """What the backward pass has changed: of what the call itself changed, that is reported already."""
    if expected.gradients is None or got.gradients is None:
        return
    by_call = expected.effects.keys() | got.effects.keys()
    one, other = (
        replace(each, effects={name: value for name, value in each.effects_later.items() if name not in by_call})
        for each in (expected, got)
    )
    for found in _effect_differences(one, other, tolerance, everything, ()):
        yield replace(found, aspect=LATER if found.aspect == "mutation" else found.aspect)


def parts_in_form(expected: Outcome, got: Outcome) -> bool:
    """Whether the results of two calls that returned have another structure, shape or dtype."""
    if expected.result is None or got.result is None:
        return False
    return any(found.aspect in _FORM for found in differences(expected.result, got.result, EXACT))


def _noise(moved: MovedCall, part: Callable[[Outcome], Frozen | None]) -> Noise:
    found = [(amount, part(call)) for amount, call in moved]
    return Noise(tuple((amount, value) for amount, value in found if value is not None))


def _effect_differences(
    expected: Outcome, got: Outcome, tolerance: Tolerance, everything: bool, moved: MovedCall
) -> Iterator[Difference]:
    # what was assigned to attributes need not be kept by what is traced
    lost = frozenset() if everything else expected.assigned
    for name in dict.fromkeys((*expected.effects, *got.effects)):
        one, other = expected.effects.get(name), got.effects.get(name)
        reported = name if " " in name or name.startswith("self.") else f"self.{name}"
        counts = everything or (isinstance(one or other, FrozenTensor) and not (other is None and name in lost))
        aspect = "mutation" if counts else SIDE_EFFECT
        noise = _noise(moved, lambda call, name=name: call.effects.get(name))  # type: ignore[misc]
        if one is None or other is None:
            before = (one or got.replaced.get(name), other or expected.replaced.get(name))
            # eager's own attributes must stay the same tensors; a cache that is compiled is filled anew with its equal
            if (not everything or name not in expected.assigned | got.assigned) and _agree(*before, tolerance, noise):
                continue
            changed, unchanged = f"{reported} changed", f"{reported} unchanged"
            yield Difference(aspect, name, *((unchanged, changed) if one is None else (changed, unchanged)))
            continue
        for found in differences(one, other, tolerance, noise=noise):
            kind = COUNT if found.aspect == AS_TENSOR and not found.place else aspect
            yield Difference(kind, name, f"{reported}: {found.expected}", f"{reported}: {found.got}")


def _agree(one: Frozen | None, other: Frozen | None, tolerance: Tolerance, noise: Noise) -> bool:
    """Whether a state that only one side changed is the same but for rounding.

    An average that is there already moves by a rounding error in one order of summation, and stays in another.
    """
    return one is not None and other is not None and next(differences(one, other, tolerance, noise=noise), None) is None


def gradient_differences(
    expected: Outcome, got: Outcome, tolerance: Tolerance, moved: MovedCall = ()
) -> Iterator[Difference]:
    """Where both were asked for gradients; one of nothing but zeros is as good as none."""
    if not (expected.differentiated and got.differentiated):
        return
    if expected.gradient_error is not None or got.gradient_error is not None:
        if expected.gradient_error is None and got.gradient_error is not None:
            yield Difference("backward", "", "gradients", str(got.gradient_error))
        return
    if expected.gradients is None and got.gradients is None:
        return
    tolerance = replace(tolerance, identity=False, signs=False)
    one, other = expected.gradients or {}, got.gradients or {}
    for name in dict.fromkeys((*one, *other)):
        first, second = one.get(name), other.get(name)
        if first is None or second is None:
            present = first if first is not None else second
            texts = (f"of {name}{': nan' if _has_nan(present) else ''}", f"none of {name}")
            if not _is_zero(present):
                yield Difference("gradient", name, *(texts if second is None else texts[::-1]))
            elif expected.training and name.startswith("self.") and got.gradients is not None:
                texts = (f"zeros {texts[0]}, which momentum and weight decay act on", texts[1])
                yield Difference(ZEROS, name, *(texts if second is None else texts[::-1]))
            continue
        noise = _noise(moved, lambda call, name=name: (call.gradients or {}).get(name))  # type: ignore[misc]
        noise = replace(noise, kinks=True)
        for found in differences(first, second, tolerance, noise=noise):
            yield Difference("gradient", name, f"of {name}: {found.expected}", f"of {name}: {found.got}")


def with_what_varies_noted(found: Sequence[Mismatch], references: Sequence[Reference]) -> list[Mismatch]:
    """Nobody can rely on what is one thing on some inputs and another on others, in the original itself.

    Who writes to a result, for an argument to change, finds it a copy at times; and where one side multiplies matrices
    and the other adds, autocast gives now one dtype, now another. So does a side that divides, of integers. What
    starts as `total = 0.0` is a number where nothing is added to it; what is compiled has one type. And what is
    computed and not chosen reads a NaN that nobody declared: eager, which keeps its branch, is not spoilt by it.
    """
    declared = [r.first.result for r in references if r.sample.declared and r.first.result is not None]
    copies = not all(any(tensor.aliases for tensor in _tensors(result)) for result in declared)
    casts = {r.label_of(call): _cast(r) for r in references for call in range(len(r.calls))}
    varying = _of_several_dtypes(references)

    def cast_by(mismatch: Mismatch) -> str | None:
        cast = casts.get(mismatch.sample)
        if mismatch.aspect != "dtype" or cast not in varying:
            return None
        mode, _ = cast
        return _CASTS[mode] if mode != OF_ANOTHER_DTYPE or mismatch.where != "eager" else None

    varies = _is_a_number_at_times(references)
    found = [
        replace(m, aspect="type") if m.aspect == AS_TENSOR and (m.where == "eager" or not varies) else m for m in found
    ]
    found = [replace(m, aspect=POISONED) if _spoils_a_gradient(m) else m for m in found]
    return [
        replace(m, aspect=COPIED)
        if copies and m.aspect == SHARED and m.got == OWN_MEMORY
        else replace(m, aspect=cast_by(m) or m.aspect)
        for m in found
    ]


_CASTS = {AUTOCAST: PROMOTED, INTEGERS: WIDENED, OF_ANOTHER_DTYPE: MIXED}
"""Modes that may change a result's dtype, and the aspect in which that differs where the side that is taken decides."""


def _cast(reference: Reference) -> tuple[str, str]:
    """What may change the dtype of a result: the mode, and the argument that it changes alone, if it is one."""
    return reference.sample.mode, reference.sample.change


def _of_several_dtypes(references: Sequence[Reference]) -> frozenset[tuple[str, str]]:
    """The casts with which the original gives one dtype on some inputs and another on others."""
    found: dict[tuple[str, str], list[Reference]] = {}
    for reference in references:
        if reference.sample.mode in _CASTS:
            found.setdefault(_cast(reference), []).append(reference)
    return frozenset(cast for cast, those in found.items() if len(set(_dtypes(those))) > 1)


def _dtypes(references: Sequence[Reference]) -> Iterator[tuple[torch.dtype, ...]]:
    """The dtypes of what was returned, for each that returned."""
    results = (reference.first.result for reference in references)
    return (tuple(tensor.dtype for tensor in _tensors(result)) for result in results if result is not None)


def _spoils_a_gradient(mismatch: Mismatch) -> bool:
    """Whether a gradient of the path that is compiled is NaN on an input with a NaN or infinity of our own making; on
    any input of our own making, where what is returned there had none: a value that is not chosen has one, too."""
    of_ours = not mismatch.declared and (mismatch.is_not_finite or mismatch.expected.startswith("none of "))
    return of_ours and mismatch.where == TRACED_PATH and mismatch.aspect == "gradient" and ": nan" in mismatch.got


def tolerance_for(references: Sequence[Reference], tolerance: Tolerance) -> Tolerance:
    """What is a number on some inputs and a tensor on others is a tensor on all of them once compiled."""
    return replace(tolerance, types=not _is_a_number_at_times(references))


def _is_a_number_at_times(references: Sequence[Reference]) -> bool:
    """Whether a part of the result is a Python number on some inputs, and a tensor on others."""
    results = (reference.first.result for reference in references)
    kinds = {tuple(type(leaf) for leaf in _leaves(result)) for result in results if result is not None}
    return any(len(set(parts)) > 1 for one in kinds for other in kinds for parts in zip(one, other))


def _leaves(value: Frozen) -> Iterator[Frozen]:
    match value:
        case Container(parts=parts):
            for part in parts:
                yield from _leaves(part)
        case _:
            yield value


def _tensors(value: Frozen) -> Iterator[FrozenTensor]:
    match value:
        case FrozenTensor():
            yield value
        case Container(parts=parts):
            for part in parts:
                yield from _tensors(part)


def _poisoned(expected: Outcome, got: Outcome, *, also_finite: bool) -> Iterator[tuple[str, str]]:
    """Whose gradients are not finite where there were none: what is computed and not chosen has read a NaN.

    `also_finite`: so where they were finite; elsewhere these are compared as numbers.
    """
    known = expected.gradients or {}
    for name, gradient in (got.gradients or {}).items():
        was_finite = also_finite and name in known and is_finite(known[name])
        if (name not in known or was_finite) and not is_finite(gradient):
            yield "a finite one" if was_finite else "none", name


def where_finite(expected: Outcome, got: Outcome) -> Outcome:
    """A call of another program, its gradients only where the original's are finite: elsewhere anything may stand."""
    if expected.gradients is None or got.gradients is None:
        return got
    gradients = {
        name: _patched(expected.gradients[name], other)
        for name, other in got.gradients.items()
        if name in expected.gradients
    }
    return replace(got, gradients=gradients)


def _patched(one: Frozen, other: Frozen) -> Frozen:
    """`other` with the values of `one` where these are not finite."""
    match one, other:
        case FrozenTensor(values=torch.Tensor() as first), FrozenTensor(values=torch.Tensor() as second):
            if first.shape == second.shape and first.dtype == second.dtype:
                return replace(other, values=torch.where(first.isfinite(), second, first))
    return other


def _has_nan(value: Frozen | None) -> bool:
    return isinstance(value, FrozenTensor) and value.values is not None and bool(value.values.isnan().any())


def _is_zero(value: Frozen | None) -> bool:
    return isinstance(value, FrozenTensor) and value.values is not None and not bool(value.values.count_nonzero())
