"""The entry as the worker's rooms see it: something to build, and inputs to call it with. No torch at import."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ddelint.nouns.diagnostics import Span

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of one call."""


@dataclass(frozen=True)
class Entry:
    """A program that can be run.

    `build` gives a fresh module or function each time (weights drawn from one fixed seed, so that two builds are
    equal); `inputs` gives fresh arguments for a seed (the same ones for every seed where `seeded` is False).
    `unbacked` maps a parameter's name (or a place in one: `batch['tokens']`) to the dimensions to treat as unbacked;
    `dynamic` likewise for dimensions that export treats as `Dim.DYNAMIC`. Inside `surroundings()` the program is
    called, traced and compiled (gradients, autocast, defaults); what is seen of it is judged outside.
    """

    label: str
    filename: str
    build: Callable[[], Callable[..., Any]]
    inputs: Callable[[int], Arguments]
    seeded: bool
    parameters: tuple[str, ...]
    unbacked: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dynamic: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    surroundings: Callable[[], AbstractContextManager[None]] = nullcontext


class EntryProblem(Exception):
    """The entry is not there or not usable as it was given. `kind` is one of EntryFailure's."""

    def __init__(self, kind: str, message: str, span: Span | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.span = span
