"""Tracing in this process, for tests of the tracer proper."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import torch

from ddelint.nouns.protocol import TraceResult
from ddelint.trace.entry import Entry
from ddelint.trace.explorer import Budget, Explorer


def entry_of(
    program: Callable[..., Any],
    *args: Any,
    unbacked: Mapping[str, tuple[int, ...]] | None = None,
    dynamic: Mapping[str, tuple[int, ...]] | None = None,
) -> Entry:
    """An entry that calls `program` (a function, or a module class without constructor arguments) with `args`."""
    is_module = inspect.isclass(program) and issubclass(program, torch.nn.Module)
    signature = inspect.signature(program.forward if is_module else program)
    names = tuple(name for name in signature.parameters if name != "self")
    build = program if is_module else lambda: program
    return Entry("test", "", build, lambda seed: (args, {}), False, names, unbacked or {}, dynamic or {})


def trace(
    program: Callable[..., Any], *args: Any, paths: tuple[str, ...], budget: Budget | None = None, **dims: Any
) -> TraceResult:
    """Explore `program`, with the code under `paths` to blame."""
    explorer = Explorer(entry_of(program, *args, **dims), paths, budget)
    explorer.explore()
    return explorer.result()
