"""What one process tells another of a program's calls, as bytes: tensors of plain memory as that memory alone.

torch.save, which is what pickling a tensor comes to, writes a file's worth of headers around each: for the small
tensors of an outcome that takes longer than to compute them.
"""

from __future__ import annotations

import ctypes
import io
import pickle
from typing import Any

import torch


def written(value: object) -> bytes:
    """A value as bytes."""
    stream = io.BytesIO()
    _Writing(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return stream.getvalue()


def read(data: bytes) -> Any:
    """The value that was written."""
    return pickle.loads(data)


class _Writing(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if type(value) is not torch.Tensor or not _is_plain(value):
            return NotImplemented
        whole = value.contiguous()
        memory = ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size()) if whole.numel() else b""
        return _made, (memory, whole.dtype, tuple(whole.shape))


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is its numbers and nothing else."""
    return (
        tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not (tensor.requires_grad or tensor.is_quantized or tensor.is_conj() or tensor.is_neg() or tensor.is_nested)
        and not vars(tensor)
    )


def _made(memory: bytes, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    if not memory:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(memory), dtype=dtype).reshape(shape)
