"""What a file may return from `ddelint_entries()` to say what to run. Needs the standard library only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One program and its inputs.

    `program` is an nn.Module subclass, an instance, or a function. `inputs` is a callable that returns the arguments
    (a tuple, or `(args, kwargs)`), called with `seed=` where it takes one, or a plain tuple. `init` holds the
    constructor's arguments of a class, likewise. `unbacked` maps a parameter's name or position to the dimensions
    that must not be specialized, as `mark_unbacked` would.
    """

    program: Any
    inputs: Callable[..., Any] | Sequence[Any]
    init: Callable[[], Any] | Sequence[Any] | Mapping[str, Any] = ()
    name: str | None = None
    unbacked: Mapping[str | int, Sequence[int]] | None = None
