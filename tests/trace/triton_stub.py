"""As much of Triton as a program's Python sees when it launches kernels: for machines where Triton is not installed.

Names, classes and signatures are those of Triton 3 (`triton/runtime/jit.py`, `triton/runtime/autotuner.py`); kernels
don't run. Tests with the real package stand beside those with this one.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest


class constexpr:
    """`triton.language.constexpr`."""


class KernelInterface:
    """`triton.runtime.jit.KernelInterface`."""

    fn: Any

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self.run(*args, grid=grid, warmup=False, **kwargs)

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


class JITFunction(KernelInterface):
    """`triton.jit`."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.arg_names = list(inspect.signature(fn).parameters)
        self.launched: list[tuple[Any, ...]] = []

    def run(self, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
        self.launched.append(args)


class Config:
    """`triton.Config`."""

    def __init__(self, kwargs: dict[str, Any]) -> None:
        self.kwargs = kwargs


class Autotuner(KernelInterface):
    """What `triton.autotune` makes."""

    def __init__(self, fn: Any, configs: list[Config]) -> None:
        self.fn, self.configs = fn, configs


class Heuristics(KernelInterface):
    """What `triton.heuristics` makes."""

    def __init__(self, fn: Any, values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        self.fn, self.values = fn, values


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches of the classes above are seen, as those of an imported Triton are."""
    jit = ModuleType("triton.runtime.jit")
    jit.KernelInterface = KernelInterface  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "triton.runtime.jit", jit)
