"""The C++ functions between a call of the user's and a question, without what only passes calls on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_PLUMBING = re.compile(
    r"pybind11::|THPVariable_|\bTHP\w+|torch::impl::|torch::unwind|CapturedTraceback|torch::(?:jit|utils|dispatch)::"
    r"|torch::autograd::VariableType|torch::ADInplaceOrView|torch::TraceType|::redispatch\("
    r"|c10::(?:BoxedKernel|KernelFunction|Dispatcher|OperatorHandle|TypedOperatorHandle|impl::|detail::|guts::)"
    r"|[Ff]allback\b|\bwrapper_\w*|_wrapper\b|make_boxed|WrapFunctionInto|std::_?_?function|_Function_handler"
    r"|concretePy|PyInterpreter|pyobj_interpreter|handle_torch_function|_PyEval|_PyObject"
)
"""Bindings to Python, the dispatcher and its kernels' wrappers, and the unwinding itself."""
_CALL = re.compile(r"at::_ops::(?P<operator>\w+?)(?:_\w+)?::call\(")
_NATIVE = re.compile(r"at::(?:native|meta)::")
_LONGEST = 160


def folded(stack: Sequence[str]) -> tuple[str, ...]:
    """Those functions of a C++ stack (outermost first) that say why there is a question, without repetitions.

    `at::_ops::chunk::call` goes where the kernel that it leads to (`at::native::chunk`) is on the stack itself.
    """
    informative = [name for name in stack if "::" in name and not _PLUMBING.search(name)]
    return tuple(_shortened(name) for name in _distinct(informative))


def _distinct(names: Sequence[str]) -> Iterator[str]:
    for position, name in enumerate(names):
        following = names[position + 1] if position + 1 < len(names) else ""
        called = _CALL.match(name)
        if name == following or (called and _NATIVE.match(following) and called["operator"] in following):
            continue
        yield name


def _shortened(name: str) -> str:
    name = name.replace("std::__cxx11::", "std::").replace(" const&", "").replace("(anonymous namespace)::", "")
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
