"""Launches of Triton kernels on fake tensors: nothing runs, and compile-time constants must be known.

A kernel returns nothing and writes through pointers, so a trace goes on behind a launch as if it had run. What is
passed to a parameter annotated `tl.constexpr` (or to an option such as `num_warps`) is compiled into the kernel:
torch wants its value there, as in `torch.library.wrap_triton`, whose launches torch takes apart itself.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.trace import torch_internals
from ddelint.trace.provenance import Expression, Place

OPERATOR = "triton.language.constexpr"
"""What a question about a compile-time constant names as its operator."""
_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)
_TRACED = (torch_internals.FakeTensor, *_SYMBOLIC)
_INTERPRETER = "triton.runtime.interpreter"
"""Kernels of this module are run by Triton's interpreter in place of its compiler (TRITON_INTERPRET=1)."""
_MOST_CONFIGURATIONS = 4
"""Of an autotuned kernel, for which its grid is computed."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A compile-time constant of a kernel: the parameter's name and position (-1 for an option of the launch)."""

    name: str
    position: int


_settling: Constant | None = None
"""The constant that is asked for just now, where we take a launch apart."""


@contextlib.contextmanager
def watched(report: Callable[[str], None]) -> Iterator[None]:
    """Inside, a kernel that is launched on fake tensors or symbols doesn't run.

    `report` hears the name of one that is launched as it is, not through `torch.library.wrap_triton`: export cannot see
    that. Nothing is imported here: where the program has not loaded Triton, it launches nothing.
    """
    kind: Any = getattr(sys.modules.get("triton.runtime.jit"), "KernelInterface", None)
    if kind is None:
        yield
        return
    plain = kind.__getitem__

    def __getitem__(kernel: Any, grid: Any) -> Any:
        launch = plain(kernel, grid)

        def launched(*args: Any, **kwargs: Any) -> Any:
            if not any(isinstance(value, _TRACED) for value in (*args, *kwargs.values())):
                return launch(*args, **kwargs)
            if not any(type(layer).__module__ == _INTERPRETER for layer in _wrapped(kernel, "fn")):
                report(_name(kernel))
            return _launched(kernel, grid, args, kwargs)

        return launched

    kind.__getitem__ = __getitem__
    try:
        yield
    finally:
        kind.__getitem__ = plain


def _launched(kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """All of a launch that Python code decides: constants, heuristics, the grid."""
    parameters = _parameters(kernel)
    named = {**dict(zip(parameters, args)), **kwargs}
    _settle_constants(named, parameters)
    for heuristic in _wrapped(kernel, "values"):
        for name, compute in heuristic.values.items():
            named[name] = compute({**named, **kwargs})
    configurations = [c.kwargs for tuner in _wrapped(kernel, "configs") for c in tuner.configs]
    if callable(grid):
        for configuration in configurations[:_MOST_CONFIGURATIONS] or [{}]:
            grid({**named, **configuration})


def _settle_constants(named: dict[str, Any], parameters: Mapping[str, bool]) -> None:
    """Numbers in place of symbols where the kernel's compiler needs them."""
    global _settling
    options = [name for name in named if name not in parameters]
    for position, name in enumerate([*parameters, *options]):
        if name in named and parameters.get(name, True):
            _settling = Constant(name, position if name in parameters else -1)
            try:
                named[name] = _settled(named[name])
            finally:
                _settling = None


def _settled(value: Any) -> Any:
    for kind, plain in zip(_SYMBOLIC, (int, float, bool)):
        if isinstance(value, kind):
            return plain(value)
    return value


def constant_asked(stack: Sequence[Place]) -> Constant | None:
    """The compile-time constant that the question at the end of `stack` is about; None for any other question."""
    if _settling is not None:
        return _settling
    asked = torch_internals.triton_constant(stack)
    return None if asked is None else Constant(*asked)


def argument(call: Expression, constant: Constant) -> Expression:
    """What the launch `call` passes as the constant; the launch itself where it does not say so."""
    if not isinstance(call.node, ast.Call) or call.source is None:
        return call
    node = next((keyword.value for keyword in call.node.keywords if keyword.arg == constant.name), None)
    plain = not any(isinstance(given, ast.Starred) for given in call.node.args)
    if node is None and plain and 0 <= constant.position < len(call.node.args):
        node = call.node.args[constant.position]
    return call if node is None else Expression(call.source.span(node), node, call.source)


def _wrapped(kernel: Any, attribute: str) -> Iterator[Any]:
    """The kernel and what it wraps, those that have `attribute`: the layers that decorators put around a kernel."""
    while kernel is not None and not inspect.isfunction(kernel):
        if hasattr(kernel, attribute):
            yield kernel
        kernel = getattr(kernel, "fn", None)


def _function(kernel: Any) -> Any:
    for layer in _wrapped(kernel, "fn"):
        kernel = layer.fn
    return kernel


def _name(kernel: Any) -> str:
    return str(getattr(_function(kernel), "__name__", "a kernel"))


def _parameters(kernel: Any) -> dict[str, bool]:
    """The kernel's parameters in order; whether each is a compile-time constant."""
    try:
        signature = inspect.signature(_function(kernel))
    except (TypeError, ValueError):
        return {}
    return {name: _is_constant(parameter.annotation) for name, parameter in signature.parameters.items()}


def _is_constant(annotation: Any) -> bool:
    """As Triton says: `tl.constexpr`, also as text."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return "constexpr" in text
