"""A tiny program sent once through everything, so that what torch sets up on first use is there before the forks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch

from ddelint.nouns.protocol import LOWERING, EntrySpec, SessionOptions
from ddelint.trace import torch_internals
from ddelint.trace.entry import Arguments, Entry


class _Program(torch.nn.Module):  # type: ignore[misc]
    """Asks one question, makes an unknown size, and uses common layers."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        if mask.sum().item() > 2:
            x = x + 1
        rows: torch.Tensor = torch.relu(self.linear(x))[mask]
        return rows.sum(0)


class _Traceable(_Program):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = torch.relu(self.linear(x))[mask]
        return rows.sum(0)


def front_ends() -> None:
    """Trace, export and compile the program. What fails here fails again where it matters, and is reported there."""
    for step in (_trace, _export, _compile):
        with contextlib.suppress(Exception):
            step()
    torch.manual_seed(0)


def lowering() -> None:
    """As `front_ends`, for Inductor: its patterns and what it asks of the machine are set up on first use, too.

    Without gradients: where there is a device (to a CUDA build, a fake one is enough), the first backward pass starts
    threads, and no fork of this process could run one again.
    """
    state = torch.get_rng_state()
    with contextlib.suppress(Exception):
        torch_internals.find_vector_instructions()
    with contextlib.suppress(Exception):
        torch_internals.keep_headers()
    with contextlib.suppress(Exception), torch_internals.compile_settings(recompiles=1), torch.no_grad():
        compiled = torch.compile(_Traceable(), backend=torch_internals.backend(LOWERING), fullgraph=True)
        compiled(*_arguments(0)[0])
    torch.set_rng_state(state)


def _arguments(seed: int) -> Arguments:
    return (torch.zeros(4, 4), torch.tensor([True, False, True, True])), {}


def _trace() -> None:
    from ddelint.trace.explorer import trace_entry

    entry = Entry("warm_up", __file__, _Program, _arguments, False, ("x", "mask"))
    trace_entry(entry, (__file__,), SessionOptions(EntrySpec(__file__), (__file__,)))


def _export() -> None:
    torch.export.export(_Traceable(), _arguments(0)[0], strict=False)


def _compile() -> None:
    with torch_internals.compile_settings(recompiles=1):
        compiled: Callable[..., Any] = torch.compile(_Traceable(), backend="eager", fullgraph=True)
        compiled(*_arguments(0)[0])
