"""The kernels and library calls of the code for a GPU: taken over where the wrapper makes them, and counted."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from ddelint.gpus import Gpu
from ddelint.trace import gpu_internals, torch_internals
from ddelint.verify import triton_code, triton_interpreter
from ddelint.verify.generated_code import knowledge
from ddelint.verify.triton_code import Assembled
from ddelint.verify.triton_interpreter import Launched


@dataclass
class Collector:
    """Takes the kernels of all graphs: assembles each once, and runs it when its wrapper does."""

    gpu: Gpu
    interpreted: bool
    assembled: dict[str, Assembled] = field(default_factory=dict)
    """By the kernel's source."""
    launched: dict[str, Launched] = field(default_factory=dict)
    codes: list[tuple[str, bool]] = field(default_factory=list)
    """Each wrapper's code, and whether it is a backward graph's."""
    launches: int = 0
    library_calls: int = 0
    bytes_moved: int = 0
    operations: int = 0
    """Of library calls."""
    bound: float = 0.0
    """Seconds that all this takes at least: the sum over kernels, which run one after the other."""
    limits: list[str] = field(default_factory=list)
    """What the interpreter could not do."""
    wrong: list[str] = field(default_factory=list)
    """Kernels that reached outside of their buffers."""
    _interpreter: triton_interpreter.Interpreter = field(default_factory=triton_interpreter.Interpreter)
    _backward: bool = False

    def kernel(self, name: str, autotuner: Any, code: str) -> Any:
        """What stands for a kernel in the wrapper."""
        if code not in self.assembled:
            self.assembled[code] = triton_code.assemble(name, autotuner, self.gpu)
        return _Kernel(self, name, autotuner, code)

    def written(self, code: str, backward: bool) -> None:
        """A graph's code has been written."""
        self.codes.append((code, backward))

    def launch(self, name: str, autotuner: Any, code: str, args: tuple[Any, ...]) -> None:
        """One launch of a kernel, interpreted. Raises what the program itself raises there."""
        done = self.launched.setdefault(code, Launched())
        before = done.read + done.written
        try:
            with gpu_internals.without_modes():
                self._interpreter.launch(autotuner, args, done.launches, done)
        except Exception as error:
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            if isinstance(cause, triton_interpreter.OutOfBounds):
                self.wrong.append(f"{name} {cause}")
            elif not isinstance(cause, AssertionError):
                self.limits.append(
                    f"{name}: {type(cause).__name__}: {str(cause).splitlines()[0] if str(cause) else ''}"
                )
            raise
        if not self._backward:
            self.launches += 1
            self._spent(done.read + done.written - before)

    @contextlib.contextmanager
    def calling(self, backward: bool) -> Iterator[None]:
        """Around one call of a wrapper: what it calls of eager's operators is counted."""
        self._backward = backward
        with contextlib.nullcontext() if backward else _Library(self):
            yield

    def library_call(self, moved: int, operations: int, dtype: torch.dtype) -> None:
        """One operator that the wrapper leaves to a library."""
        self.library_calls += 1
        self._spent(moved, operations, dtype)

    def _spent(self, moved: int, operations: int = 0, dtype: torch.dtype = torch.float32) -> None:
        exact = dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
        rate = self.gpu.float32_rate if exact else self.gpu.tensor_rate
        self.bytes_moved += moved
        self.operations += operations
        self.bound += max(moved / self.gpu.memory_rate, operations / rate)

    def reset(self) -> None:
        """Count from here."""
        self.launches = self.library_calls = self.bytes_moved = self.operations = 0
        self.bound = 0.0


class _Kernel:
    def __init__(self, collector: Collector, name: str, autotuner: Any, code: str) -> None:
        self._collector, self._name, self._autotuner, self._code = collector, name, autotuner, code

    def run(self, *args: Any, stream: Any = None, **_: Any) -> None:
        """A launch."""
        self._collector.launch(self._name, self._autotuner, self._code, args)


class _Library(torch_internals.dispatch_mode()):  # type: ignore[misc]
    """Counts the operators that a wrapper leaves to eager, and what they move and compute."""

    def __init__(self, collector: Collector) -> None:
        super().__init__()
        self._collector = collector
        self._metadata = set(knowledge()["profile"]["metadata"])

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        name = function._schema.name
        if name not in self._metadata:
            tensors = [v for v in torch.utils._pytree.tree_leaves((args, kwargs, found)) if isinstance(v, torch.Tensor)]
            distinct = {(v.untyped_storage().data_ptr(), v.storage_offset()): v.nbytes for v in tensors}
            operations = torch_internals.operations_of(function, args, kwargs or {}, found)
            dtype = next((v.dtype for v in tensors if v.dtype.is_floating_point), torch.float32)
            self._collector.library_call(sum(distinct.values()), operations, dtype)
        return found
