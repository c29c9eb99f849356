"""Captured arguments in a file: tensors as safetensors, everything around them as JSON in its header. No pickle.

The file is an ordinary safetensors file (https://github.com/huggingface/safetensors#format): an 8-byte length, a JSON
header, the bytes. The structure stands under `__metadata__` → `ddelint`.
"""

from __future__ import annotations

import ctypes
import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from ddelint.trace.entry import Arguments

METADATA = "ddelint"
_VERSION = 1
_LONGEST_HEADER = 100_000_000
_DTYPES: Mapping[str, str] = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "I16": "int16", "U16": "uint16", "I32": "int32", "U32": "uint32",
    "I64": "int64", "U64": "uint64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "C64": "complex64", "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
"""The format's names of element types → torch's."""


class SavedInputsError(Exception):
    """A value that cannot be saved, or a file that cannot be read; the message is one line."""


@dataclass(frozen=True)
class Saved:
    """One program's arguments: its qualified name, the file that defines it, its calls in their order."""

    name: str
    filename: str
    calls: tuple[Arguments, ...]


def write(filename: str, programs: Sequence[Saved]) -> list[str]:
    """Write all programs that can be saved; gives for each other one a line that says why not. Raises OSError."""
    tensors = _Tensors()
    kept: list[dict[str, Any]] = []
    refused: list[str] = []
    for program in programs:
        before = len(tensors.found)
        try:
            calls = [tensors.call(call) for call in program.calls]
        except SavedInputsError as error:
            refused.append(f"{program.name}: {error}")
            del tensors.found[before:]
            continue
        kept.append({"name": program.name, "file": os.path.basename(program.filename), "calls": calls})
    header: dict[str, Any] = {
        "__metadata__": {"format": "pt", METADATA: json.dumps({"version": _VERSION, "programs": kept})}
    }
    contents: list[bytes] = []
    offset = 0
    for number, tensor in enumerate(tensors.found):
        data = _bytes(tensor)
        header[f"tensor.{number}"] = {
            "dtype": _type_name(tensor.dtype),
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(data)],
        }
        contents.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    Path(filename).write_bytes(b"".join((struct.pack("<Q", len(text)), text, *contents)))
    return refused


def read(filename: str) -> tuple[Saved, ...]:
    """All programs in a file that `write` made. Raises SavedInputsError."""
    try:
        data = Path(filename).read_bytes()
    except OSError as error:
        raise SavedInputsError(f"cannot read {filename}: {error.strerror or error}") from error
    try:
        (length,) = struct.unpack_from("<Q", data)
        if length > min(_LONGEST_HEADER, len(data) - 8):
            raise ValueError("its header is cut off")
        header = json.loads(data[8 : 8 + length])
        structure = json.loads(header.pop("__metadata__", {}).get(METADATA, "null"))
        if structure is None:
            raise ValueError(f"it was not written by `{METADATA} run --save-inputs`")
        if structure["version"] != _VERSION:
            raise ValueError("it was written by another version of ddelint")
        tensors = {name: _tensor(entry, memoryview(data)[8 + length :]) for name, entry in header.items()}
        return tuple(
            Saved(program["name"], program["file"], tuple(_call(call, tensors) for call in program["calls"]))
            for program in structure["programs"]
        )
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, RuntimeError) as error:
        raise SavedInputsError(f"{filename} holds no saved inputs: {error}") from error


# ---------------------------------------------------------------------------- values to JSON


@dataclass
class _Tensors:
    """Turns values into JSON and collects the tensors in them; one that occurs twice is written once."""

    found: list[torch.Tensor] = field(default_factory=list)

    def call(self, arguments: Arguments) -> dict[str, Any]:
        args, kwargs = arguments
        return {
            "args": [self._node(value, f"argument {number + 1}") for number, value in enumerate(args)],
            "kwargs": {name: self._node(value, f"argument `{name}`") for name, value in kwargs.items()},
        }

    def _node(self, value: Any, where: str) -> Any:
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if isinstance(value, torch.Tensor):
            return self._tensor(value, where)
        if kind in (list, tuple, set, frozenset, torch.Size):
            parts = [self._node(part, where) for part in value]
            return {"size" if kind is torch.Size else kind.__name__: parts}
        if kind is slice:
            return {"slice": [self._node(part, where) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, dict) and kind.__module__ in ("builtins", "collections"):
            return {"dict": [[self._node(key, where), self._node(part, where)] for key, part in value.items()]}
        if kind is complex:
            return {"complex": repr(value)}
        if kind is torch.dtype:
            return {"dtype": str(value).removeprefix("torch.")}
        if kind is torch.device:
            return {"device": str(value)}
        raise SavedInputsError(f"{where} holds a {kind.__module__}.{kind.__qualname__}, which JSON cannot express")

    def _tensor(self, tensor: torch.Tensor, where: str) -> dict[str, Any]:
        plain = type(tensor) in (torch.Tensor, torch.nn.Parameter) and tensor.layout is torch.strided
        if not plain or tensor.is_nested or tensor.is_quantized or _type_name(tensor.dtype) is None:
            raise SavedInputsError(
                f"{where} is a tensor that safetensors cannot hold ({tensor.dtype}, {tensor.layout})"
            )
        number = next((n for n, known in enumerate(self.found) if known is tensor), len(self.found))
        if number == len(self.found):
            self.found.append(tensor)
        return {
            "tensor": f"tensor.{number}",
            "strides": list(tensor.stride()),
            "requires_grad": tensor.requires_grad,
            "device": str(tensor.device),
        }


def _type_name(dtype: torch.dtype) -> str | None:
    name = str(dtype).removeprefix("torch.")
    return next((known for known, torchs in _DTYPES.items() if torchs == name), None)


def _bytes(tensor: torch.Tensor) -> bytes:
    dense = tensor.detach().cpu().contiguous()
    return ctypes.string_at(dense.data_ptr(), dense.numel() * dense.element_size()) if dense.numel() else b""


# ---------------------------------------------------------------------------- and back


def _tensor(entry: Mapping[str, Any], data: memoryview) -> torch.Tensor:
    start, end = entry["data_offsets"]
    dtype = getattr(torch, _DTYPES[entry["dtype"]])
    shape = tuple(entry["shape"])
    if not 0 <= start <= end <= len(data) or end - start != math.prod(shape) * dtype.itemsize:
        raise ValueError("its tensors are cut off")
    if start == end:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(data[start:end]), dtype=dtype).reshape(shape)


def _call(call: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]) -> Arguments:
    made: dict[str, torch.Tensor] = {}
    args = tuple(_value(node, tensors, made) for node in call["args"])
    return args, {name: _value(node, tensors, made) for name, node in call["kwargs"].items()}


def _value(node: Any, tensors: Mapping[str, torch.Tensor], made: dict[str, torch.Tensor]) -> Any:
    if not isinstance(node, dict):
        return node
    if "tensor" in node:
        name = node["tensor"]
        if name not in made:
            made[name] = _restored(tensors[name], node)
        return made[name]
    ((kind, value),) = node.items()
    match kind:
        case "float":
            return float(value)
        case "complex":
            return complex(value)
        case "dtype":
            return getattr(torch, value)
        case "device":
            return torch.device(value)
        case "dict":
            return {_value(key, tensors, made): _value(part, tensors, made) for key, part in value}
    parts = [_value(part, tensors, made) for part in value]
    containers: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset, "size": torch.Size}
    return slice(*parts) if kind == "slice" else containers[kind](parts)


def _restored(tensor: torch.Tensor, node: Mapping[str, Any]) -> torch.Tensor:
    """The tensor with the strides, the device (where there is one) and the need for a gradient that it had."""
    device = torch.device(node["device"])
    if device.type == "cuda" and not torch.cuda.is_available():
        device = torch.device("cpu")
    strides = tuple(node["strides"])
    if any(size > 1 and stride == 0 for size, stride in zip(tensor.shape, strides)):
        # an expanded tensor: one element of each such dimension is all there is
        first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in strides)
        made = tensor[first].to(device).expand(tensor.shape)
    else:
        made = torch.empty_strided(tensor.shape, strides, dtype=tensor.dtype, device=device)
        made.copy_(tensor)
    return made.requires_grad_(node["requires_grad"])
