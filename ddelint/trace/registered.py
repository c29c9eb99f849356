"""What a module has registered: its parts, parameters and buffers, read from its own tables.

A class may define `parameters`, `named_modules` and their like anew: those give what it likes, or raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch


def parts_of(module: torch.nn.Module) -> Iterator[tuple[str, torch.nn.Module]]:
    """The module itself and all that is registered in it, each once, with its path ("" for the module itself)."""
    seen: set[int] = set()
    waiting = [("", module)]
    while waiting:
        path, part = waiting.pop()
        if id(part) in seen:
            continue
        seen.add(id(part))
        yield path, part
        inner = _table(part, "_modules")
        if inner:
            waiting += [
                (_joined(path, name), inner[name])
                for name in reversed(inner)
                if isinstance(inner[name], torch.nn.Module)
            ]


def parameters_of(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """All parameters by their paths, tied ones once."""
    return tensors_in(parts_of(module), "_parameters")


def buffers_of(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """All buffers by their paths, shared ones once."""
    return tensors_in(parts_of(module), "_buffers")


def tensors_in(parts: Iterable[tuple[str, torch.nn.Module]], table: str) -> Iterator[tuple[str, torch.Tensor]]:
    """What these parts have in one of their tables (`_parameters`, `_buffers`) by its path, each tensor once."""
    seen: set[int] = set()
    for path, part in parts:
        for name, tensor in [*_table(part, table).items()]:
            if isinstance(tensor, torch.Tensor) and id(tensor) not in seen:
                seen.add(id(tensor))
                yield _joined(path, name), tensor


def _table(module: torch.nn.Module, name: str) -> dict[str, Any]:
    """One of a module's tables; empty where its `__init__` has not run."""
    table = object.__getattribute__(module, "__dict__").get(name)
    return table if isinstance(table, dict) else {}


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
