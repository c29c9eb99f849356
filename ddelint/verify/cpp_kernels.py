"""Inductor's C++ kernels of one graph, compiled as one file.

What a C++ compiler does before it comes to a kernel (Inductor's headers, precompiled, and Python's) takes ten times as
long as the kernel: fifteen kernels took 9.2 CPU seconds one by one, and take 1.2 in one file. Each kernel's text is
Inductor's own, compiled with Inductor's own flags; how Python calls it is different.
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.trace import torch_internals

Kernel = Callable[..., None]

_SOURCE = re.compile(
    r'\s*(?P<include>#include [<"][^\n]+)\n'
    r'extern "C"\s+void\s+kernel\((?P<parameters>[^()]*)\)\n(?P<body>\{\n.*\n\})\s*',
    re.DOTALL,
)
"""A file that Inductor writes for one kernel (torch/_inductor/codegen/cpp.py: `KernelGroup.codegen_group`)."""
_FURTHER = re.compile(r"^\S", re.MULTILINE)
"""What else stands at the beginning of a line: helpers of a template, whose names two files may share."""
_NUMBERS = {"int64_t": ctypes.c_int64, "uintptr_t": ctypes.c_void_p, "float": ctypes.c_float}
"""How numbers are handed over, by their type in C++; all pointers are tensors' (torch/_inductor/codecache.py:
`CppPythonBindingsCodeCache.suffix_template`)."""
_ENTRY = """
extern "C" const char* call_{number}({parameters}) {{
    static thread_local std::string message;
    try {{
        kernel_{number}({names});
        return nullptr;
    }} catch (std::exception const& error) {{
        message = error.what();
    }} catch (...) {{
        message = "unhandled error";
    }}
    return message.c_str();
}}
"""


@dataclass(frozen=True, slots=True)
class _Part:
    """One kernel of a file."""

    include: str
    parameters: str
    body: str
    kinds: tuple[Any, ...]

    def source(self, number: int) -> str:
        names = ", ".join(part.split()[-1].lstrip("*") for part in self.parameters.split(",") if part.strip())
        kernel = f"static void kernel_{number}({self.parameters})\n{self.body}\n"
        return kernel + _ENTRY.format(number=number, parameters=self.parameters, names=names)


def together(kernels: Sequence[tuple[Sequence[str], str]]) -> list[Kernel | None]:
    """One file of all kernels that are nothing but a kernel, compiled; None for each that Inductor compiles itself.

    A kernel is given as the types of its arguments and its source. One alone is left to Inductor, and so are all where
    the compiler refuses the file: then it is Inductor's error that is reported.
    """
    parts = [_part(*kernel) for kernel in kernels]
    wanted = [part for part in parts if part is not None]
    if len(wanted) < 2:
        return [None] * len(parts)
    includes = dict.fromkeys(part.include for part in wanted)
    texts = [part.source(number) for number, part in enumerate(wanted)]
    try:
        library = torch_internals.cpp_library("\n".join((*includes, "#include <string>", *texts)))
    except Exception:
        return [None] * len(parts)
    numbers = iter(range(len(wanted)))
    return [_callable(library[f"call_{next(numbers)}"], part.kinds) if part else None for part in parts]


def compiled_together() -> contextlib.AbstractContextManager[None]:
    """Inside, the kernels of each graph that Inductor compiles for a processor are compiled as one file."""
    return torch_internals.kernels_compiled_by(together)


def _part(types: Sequence[str], source: str) -> _Part | None:
    found = _SOURCE.fullmatch(source)
    if found is None or _FURTHER.search(found["body"][1:-1]):
        return None
    kinds = [ctypes.c_void_p if kind.endswith("*") else _NUMBERS.get(kind.removeprefix("const ")) for kind in types]
    if None in kinds:
        return None
    return _Part(found["include"], found["parameters"], found["body"], tuple(kinds))


def _callable(function: Any, kinds: Sequence[Any]) -> Kernel:
    function.argtypes = kinds
    function.restype = ctypes.c_char_p

    def kernel(*arguments: Any) -> None:
        values = [value.data_ptr() if isinstance(value, torch.Tensor) else value for value in arguments]
        message = function(*values)
        if message is not None:
            raise RuntimeError(message.decode(errors="replace"))

    return kernel
