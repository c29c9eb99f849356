"""DDE701: a compiled forward under autocast, whose backward pass is compiled for that autocast but runs outside."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import torch

from ddelint.nouns.diagnostics import Question, Span
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry
from ddelint.verify.calls import Outcome
from ddelint.verify.frozen import FrozenTensor
from ddelint.verify.references import Reference

Around = Callable[[], AbstractContextManager[None]]

_NOTABLE = 1e-3
"""Relative error, in the max norm, from which a gradient counts as another one."""
_CLOSER = 10.0
_INPUTS = 2


def runs_under_autocast(entry: Entry) -> bool:
    """Whether the program is called under autocast (its gradients are taken outside)."""
    with entry.surroundings():
        return any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda"))


def backward_question(
    place: Span, references: Sequence[Reference], gradients: Callable[[Reference, Around], Outcome]
) -> Question | None:
    """Whether compiled gradients are off, and much closer with `backward_pass_autocast="off"`.

    `gradients` compiles the program, runs it on a reference's input inside a context, and differentiates; a backend
    without kernels of its own will do, so that what differs is the autocast alone. `place` is what is blamed.
    """
    chosen = [r for r in references if r.sample.declared and r.first.returned and r.first.gradients][:_INPUTS]
    for reference in chosen:
        off = _error(reference, gradients(reference, contextlib.nullcontext))
        if off is None or off < _NOTABLE:
            continue
        fixed = _error(reference, gradients(reference, lambda: torch_internals.compiled_backward_autocast("off")))
        if fixed is not None and fixed * _CLOSER < off:
            said = f"on {reference.sample.label} compiled gradients are off by {off:.1e} of the largest"
            detail = f"{said}, with backward_pass_autocast='off' by {fixed:.1e}"
            return Question(place, "autocast", said, "backward_pass_autocast", asks=("compile",), detail=detail)
    return None


def _error(reference: Reference, outcome: Outcome) -> float | None:
    """The largest relative error of any gradient; None where there is nothing to compare."""
    errors = []
    for name, wanted in (reference.first.gradients or {}).items():
        got = (outcome.gradients or {}).get(name)
        if not (isinstance(wanted, FrozenTensor) and isinstance(got, FrozenTensor)):
            continue
        if wanted.values is None or got.values is None or wanted.shape != got.shape or not wanted.values.numel():
            continue
        largest = float(wanted.values.abs().max())
        if 0.0 < largest < float("inf"):
            errors.append(float((wanted.values.double() - got.values.double()).abs().max()) / largest)
    return max(errors, default=None)
