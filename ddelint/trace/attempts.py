"""An entry that nobody has written yet, run once in eager. Runs in the worker's forks only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ddelint.protocol import Attempt, SessionOptions
from ddelint.trace import entries, overlay

SEEDS = 2
"""Inputs that an attempt may draw until one does not raise."""
_MOST_SHOWN = 3


def attempt(options: SessionOptions, block: str, name: str, texts: Mapping[str, str]) -> Attempt:
    """Build the entry of that name and call it. Raises what the user's code raises.

    `block` defines `ddelint_entries()` as if it stood in the file; `texts` (absolute filename → text) takes the place of
    files.
    """
    options = replace(options, entry=replace(options.entry, entry=name or None))
    how = overlay.install(texts)
    module = entries.import_file(options.entry.filename, again=how != "none")
    if block:
        exec(compile(block, "<ddelint init>", "exec"), vars(module))
    entry = entries.Loader(options).load()
    entries.run_eagerly(entry, options.seed, SEEDS)
    args, kwargs = entry.inputs(options.seed)
    try:
        with torch.no_grad():
            gives = described(entry.build()(*args, **kwargs))
    except Exception:  # it ran with another seed
        gives = ""
    return Attempt(gives)


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
