"""An entry run for real, in eager, for the sake of what a dispatch mode sees of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from ddelint.trace.entry import Entry


def run_watched(entry: Entry, seeds: Iterable[int], watch: Any) -> int:
    """Run `entry` once for each seed inside the mode `watch`; gives how many runs went to their end.

    A run that raises says nothing more; what was seen of it stays seen.
    """
    completed = 0
    for seed in seeds:
        program = entry.build()
        args, kwargs = entry.inputs(seed)
        try:
            with entry.surroundings(), torch.no_grad(), torch.compiler.set_stance("force_eager"), watch:
                call(program, args, kwargs)
            completed += 1
        except Exception:
            continue
    return completed


def call(program: Any, args: Any, kwargs: Any) -> Any:
    """The program starts below this frame."""
    return program(*args, **kwargs)
