"""Where there is a GPU: programs and inputs moved to it, and results brought back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.utils import _pytree as pytree

from ddelint.trace.entry import Arguments, Entry
from ddelint.verify.calls import module_of, run
from ddelint.verify.mismatches import mismatches
from ddelint.verify.references import Reference
from ddelint.verify.sameness import COMPILED, Tolerance

ON_GPU = Tolerance(ulps=2048.0, noise=4096.0, identity=False, signs=False, memory=False)
"""Another device sums in another order and has other elementary functions."""


def tolerance(device: str) -> Tolerance:
    """How far results on `device` may be from eager on the CPU."""
    return COMPILED if device == "cpu" else ON_GPU


def missing() -> str:
    """Why nothing can be run on a GPU here; empty where it can."""
    if not torch.cuda.is_available():
        return "no device"
    try:
        torch.zeros(1, device="cuda")
    except RuntimeError as error:
        return str(error).splitlines()[0] if str(error) else "the device cannot be used"
    return ""


def moved(arguments: Arguments, device: str) -> Arguments:
    """The arguments with every CPU tensor on `device`; what requires grad is a leaf there, too."""
    if device == "cpu":
        return arguments

    def move(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.device.type != "cpu":
            return tensor
        return tensor.detach().to(device).requires_grad_(tensor.requires_grad)

    args, kwargs = pytree.tree_map_only(torch.Tensor, move, arguments)
    return tuple(args), dict(kwargs)


def agreeing(
    entry: Entry, references: Sequence[Reference], arguments: Callable[[Reference], Arguments]
) -> list[Reference]:
    """The input sets on which the program gives, in eager on the GPU, what the original gave on the CPU.

    Random draws differ between devices, and some operators exist on one of them only: nothing can be said of the rest.
    """
    kept = []
    for reference in references:
        try:
            program = entry.build()
            module = module_of(program)
            if module is not None:
                module.to("cuda")
            outcome = run(
                program,
                moved(arguments(reference), "cuda"),
                seed=reference.seed_of(0),
                gradients=reference.first.gradients is not None,
                surroundings=entry.surroundings,
            )
        except Exception:
            return []
        if not any(True for _ in mismatches(reference, [outcome], "cuda", ON_GPU)):
            kept.append(reference)
    return kept
