"""Functions of libdevice, and single instructions of PTX, answered by torch's functions of the same meaning.

Which is which stands in rules/measuring.toml.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy
import torch

from ddelint.verify.generated_code import knowledge

_INSTRUCTION = re.compile(r"\s*([\w.]+)\s+\$0((?:\s*,\s*\$\d+)+)\s*;?\s*")


class CannotInterpret(Exception):
    """What the interpreter has no word for."""


def extern(_: Any, library: str, path: str, symbol: str, arguments: list[Any], kind: Any, pure: bool) -> Any:
    """A function of libdevice. Stands for `InterpreterBuilder.create_extern_elementwise`."""
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    table = knowledge()["libdevice"]
    plain = symbol.removeprefix("__nv_")
    name = table.get(plain) or table.get(plain.removesuffix("f"))
    if name is None:
        raise CannotInterpret(f"the interpreter has no {symbol}")
    found = _called(name, arguments)
    dtype = arguments[0].dtype
    if found.dtype != arguments[0].data.dtype:
        dtype = {"bool": tl.int1, "int32": tl.int32, "int64": tl.int64}.get(str(found.dtype), dtype)
        if dtype is tl.int1 and symbol.startswith("__nv_"):
            found, dtype = found.astype(numpy.int32), tl.int32
    return TensorHandle(found, dtype)


def inline(_: Any, assembly: str, constraints: str, arguments: list[Any], kinds: Any, pure: bool, pack: int) -> Any:
    """One instruction, its operands in order. Stands for `InterpreterBuilder.create_inline_asm`."""
    from triton.runtime.interpreter import TensorHandle

    match = _INSTRUCTION.fullmatch(assembly)
    operands = [int(number) for number in re.findall(r"\d+", match[2])] if match is not None else []
    name = knowledge()["ptx"].get(match[1]) if match is not None else None
    if name is None or pack != 1 or operands != list(range(1, len(arguments) + 1)):
        raise CannotInterpret(f"the interpreter has no inline assembly ({' '.join(assembly.split())[:60]})")
    return _Results([TensorHandle(_called(name, arguments), arguments[0].dtype)])


def named(name: str) -> Callable[..., torch.Tensor]:
    """What the tables call so: `special.i0` of torch, `own.exponent` of this module."""
    room, _, last = name.rpartition(".")
    if room == "own":
        return _OWN[last]
    function: Any = torch
    for part in name.split("."):
        function = getattr(function, part)
    return function  # type: ignore[no-any-return]


def _exponent(x: torch.Tensor) -> torch.Tensor:
    """`ilogb`: 3 of 8.0; of zero and NaN the smallest number of 32 bits, of infinities the largest (CUDA Math API)."""
    limits = torch.iinfo(torch.int32)
    found = torch.frexp(x).exponent - 1
    found = found.masked_fill((x == 0) | x.isnan(), limits.min)
    return found.masked_fill(x.isinf(), limits.max)


_OWN: dict[str, Callable[..., torch.Tensor]] = {"exponent": _exponent}


class _Results:
    """What an instruction gives, as the language asks for it."""

    def __init__(self, results: list[Any]) -> None:
        self._results = results

    def get_result(self, number: int) -> Any:
        """One result."""
        return self._results[number]


def _called(text: str, arguments: list[Any]) -> Any:
    """What torch's function gives for the arguments' arrays.

    `text` is its name, and where the arguments have another order there, theirs (`addcmul 2 0 1`); such a one is
    computed in double precision, so that 32 bits are rounded once.
    """
    name, *order = text.split()
    function = named(name)
    tensors = [torch.from_numpy(numpy.ascontiguousarray(argument.data)) for argument in arguments]
    if not order:
        return function(*tensors).numpy()
    return function(*(tensors[int(number)].double() for number in order)).to(tensors[0].dtype).numpy()
