"""An entry that nobody has written yet, run once in eager. Runs in the worker's forks only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from ddelint.nouns.protocol import Attempt, SessionOptions
from ddelint.trace import failures, overlay
from ddelint.trace.entries import Loader
from ddelint.trace.entry import Entry
from ddelint.trace.importing import import_file

SEEDS = 2
"""Inputs that an attempt may draw until one does not raise."""
_MOST_SHOWN = 3


def attempt(options: SessionOptions, block: str, name: str, texts: Mapping[str, str]) -> Attempt:
    """Build the entry of that name and call it. Raises what the user's code raises while it is loaded.

    `block` defines `ddelint_entries()` as if it stood in the file; `texts` (absolute filename → text) takes
    the place of files.
    """
    options = replace(options, entry=replace(options.entry, entry=name or None))
    how = overlay.install(texts)
    module = import_file(options.entry.filename, again=how != "none")
    if block:
        exec(compile(block, "<ddelint init>", "exec"), vars(module))
    entry = Loader(options).load()
    counter = _Counter()
    try:
        with counter:
            gives = _run(entry, options.seed)
    except (Exception, SystemExit) as error:
        failure = failures.from_exception(error, options.paths, options.entry.filename)
        return Attempt(failure=failure, steps=counter.steps)
    return Attempt(gives, steps=counter.steps)


class _Counter(TorchFunctionMode):  # type: ignore[misc]
    """Counts the calls of torch: how far a program came."""

    def __init__(self) -> None:
        super().__init__()
        self.steps = 0

    def __torch_function__(self, function: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.steps += 1
        return function(*args, **(kwargs or {}))


def _run(entry: Entry, seed: int) -> str:
    """What the program returns, in a few words; where the first inputs raise, others are drawn."""
    for number in range(seed, seed + SEEDS):
        args, kwargs = entry.inputs(number)
        program = entry.build()
        try:
            with entry.surroundings(), torch.compiler.set_stance("force_eager"):
                return described(program(*args, **kwargs))
        except Exception:
            if number == seed + SEEDS - 1 or not entry.seeded:
                raise
    return ""


def described(value: Any) -> str:
    """`float32[2, 10]` for a tensor; of what holds several, the first ones."""
    tensors = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
    if not tensors:
        return type(value).__name__
    shown = [f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}" for tensor in tensors[:_MOST_SHOWN]]
    if len(tensors) > _MOST_SHOWN:
        shown.append(f"{len(tensors) - _MOST_SHOWN} more")
    text = ", ".join(shown)
    return text if isinstance(value, torch.Tensor) else f"{type(value).__name__} of {text}"
