"""What a worker loads before it forks: torch and its front ends, and Inductor where that is needed."""

from __future__ import annotations

import contextlib
import gc
import importlib
import sys
from collections.abc import Sequence
from functools import cache

from ddelint.nouns.protocol import (
    EntryFailure,
)

OLDEST_TORCH = (2, 11)
PRELOADED = (
    "torch._dynamo",
    "torch.export",
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._subclasses.fake_tensor",
    "torch._functorch.aot_autograd",
    "sympy",
    "ddelint.trace.types",
    "ddelint.verify.eager",
    "ddelint.verify.compiled",
)
"""What requests import sooner or later; a release that has moved one of these just loads it later."""
INDUCTOR = ("torch._inductor.compile_fx", "torch._inductor.codegen.cpp")
"""A fifth of the start-up, and only the last steps need it: loaded on first use, then shared by the forks."""


def preload() -> EntryFailure | None:
    """Load what all forks share.

    Loading makes a million objects and next to no garbage: looking for it is a sixth of the time. Collections in the
    forks leave these objects alone, too: faster, and their pages stay shared.
    """
    gc.disable()
    try:
        return _load_torch()
    finally:
        gc.freeze()
        gc.enable()


def _load_torch() -> EntryFailure | None:
    try:
        import torch
    except ImportError as error:
        return EntryFailure(
            "no-torch",
            f"{sys.executable} cannot import torch ({error}): `{sys.executable} -m pip install 'ddelint[trace]'` "
            "installs it; --python PATH names an interpreter that has it",
        )
    version = tuple(int(part) for part in str(torch.__version__).split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        wanted = ".".join(map(str, OLDEST_TORCH))
        return EntryFailure(
            "no-torch",
            f"{sys.executable} has torch {torch.__version__}; tracing needs {wanted} or newer: "
            f"`{sys.executable} -m pip install 'ddelint[trace]'`, or name another interpreter by --python PATH",
        )
    from ddelint.trace import closed_devices, forkable

    closed_devices.keep_closed()  # first: Dynamo knows functions by what they are when it is loaded
    torch.set_num_threads(1)
    _load(PRELOADED)
    from ddelint.trace import overlay, torch_internals, warm_up

    torch_internals.seed_without_stacks()
    warm_up.front_ends()
    overlay.note_modules()
    forkable.note_open_files()
    return None


def load_for_requests() -> None:
    """Import what most requests need, so that not every fork does."""
    _load(PRELOADED)


@cache
def load_inductor() -> None:
    """Load what only code generation needs, for this process and its forks."""
    from ddelint.trace import warm_up

    _load(INDUCTOR)
    warm_up.lowering()


def _load(names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
