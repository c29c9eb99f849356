"""Numbers of a kernel cast from one type to another as a GPU casts them: to the nearest, ties to even.

Triton's interpreter cuts off what does not fit into bfloat16 and 8 bits, and takes integers for the bits of a bfloat16.
"""

from __future__ import annotations

from typing import Any

import numpy
import torch

_TYPES = {
    "bf16": torch.bfloat16,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e5": torch.float8_e5m2,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
    "fp16": torch.float16,
    "fp32": torch.float32,
    "fp64": torch.float64,
    "int1": torch.bool,
    "int8": torch.int8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
    "uint8": torch.uint8,
}
"""Triton's name → torch's type."""
_AS_BITS = {
    torch.bfloat16: torch.uint16,
    torch.float8_e4m3fn: torch.uint8,
    torch.float8_e5m2: torch.uint8,
    torch.float8_e4m3fnuz: torch.uint8,
    torch.float8_e5m2fnuz: torch.uint8,
}
"""Types that numpy lacks → what the interpreter keeps them as."""


def casts(source: str, target: str) -> bool:
    """Whether this is for us: one of the two is a type that numpy lacks, and torch has both."""
    types = [_TYPES.get(name) for name in (source, target)]
    return None not in types and any(kind in _AS_BITS for kind in types)


def cast(data: Any, source: str, target: str) -> Any:
    """The array `data` of type `source` as `target`, which `casts`."""
    given, wanted = _TYPES[source], _TYPES[target]
    array = numpy.ascontiguousarray(data)
    tensor = torch.from_numpy(array.copy())
    found = (tensor.view(given) if given in _AS_BITS else tensor).to(wanted)
    bits = found.view(_AS_BITS[wanted]) if wanted in _AS_BITS else found
    return bits.numpy().reshape(numpy.shape(data))
