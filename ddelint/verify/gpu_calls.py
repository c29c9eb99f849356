"""The kernels and library calls of the code for a GPU: taken over where the wrapper makes them, and counted."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from ddelint.knowledge.gpus import Gpu
from ddelint.trace import gpu_internals, torch_internals
from ddelint.verify import triton_code, triton_interpreter
from ddelint.verify.generated_code import knowledge
from ddelint.verify.host_reads import Wrappers, reads_of
from ddelint.verify.triton_code import Assembled
from ddelint.verify.triton_interpreter import Launched


@dataclass
class Spent:
    """What one kernel's launches cost, or the calls of one library function, in one call of the program."""

    name: str
    calls: int = 0
    moved: int = 0
    operations: int = 0
    bound: float = 0.0
    """Seconds that this takes at least."""

    def add(self, moved: int, operations: int, seconds: float) -> None:
        """One more call."""
        self.calls += 1
        self.moved += moved
        self.operations += operations
        self.bound += seconds


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
    kernels: dict[str, Spent] = field(default_factory=dict)
    """What the kernels that were launched cost since the last `reset`, by their source."""
    libraries: dict[str, Spent] = field(default_factory=dict)
    """The same of library functions, by their names."""
    reads: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often the host waited since then, by the stack of the program's own, and the operator."""
    limits: list[str] = field(default_factory=list)
    """What the interpreter could not do."""
    wrong: list[str] = field(default_factory=list)
    """Kernels that reached outside of their buffers."""
    _interpreter: triton_interpreter.Interpreter = field(default_factory=triton_interpreter.Interpreter)
    _wrappers: Wrappers = field(default_factory=Wrappers)
    _backward: bool = False

    def kernel(self, name: str, autotuner: Any, code: str) -> Any:
        """What stands for a kernel in the wrapper."""
        if code not in self.assembled:
            self.assembled[code] = triton_code.assemble(name, autotuner, self.gpu)
        return _Kernel(self, name, autotuner, code)

    def written(self, code: str, backward: bool, stacks: Sequence[tuple[int, str]]) -> str:
        """A graph's code has been written."""
        self.codes.append((code, backward))
        return self._wrappers.name(stacks)

    def launch(self, name: str, autotuner: Any, code: str, args: tuple[Any, ...]) -> None:
        """One launch of a kernel, interpreted. Raises what the program itself raises there."""
        done = self.launched.setdefault(code, Launched())
        try:
            with gpu_internals.without_modes():
                work = self._interpreter.launch(autotuner, args, done)
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
            seconds = self._seconds(work.moved, work.arithmetic, work.products)
            self.kernels.setdefault(code, Spent(name)).add(work.moved, work.arithmetic + work.products, seconds)

    @contextlib.contextmanager
    def calling(self, backward: bool) -> Iterator[None]:
        """Around one call of a wrapper: what it calls of eager's operators is counted."""
        self._backward = backward
        with contextlib.nullcontext() if backward else _Library(self):
            yield

    def library_call(self, name: str, moved: int, operations: int, dtype: torch.dtype) -> None:
        """One operator that the wrapper leaves to a library."""
        exact = dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
        seconds = self._seconds(moved, *((operations, 0) if exact else (0, operations)))
        self.libraries.setdefault(name, Spent(name)).add(moved, operations, seconds)

    def host_read(self, name: str, times: int) -> None:
        """The host waits in an operator that the wrapper calls."""
        if times:
            self.reads[self._wrappers.here(), name] += times

    @property
    def launches(self) -> int:
        """Of Inductor's own kernels."""
        return sum(spent.calls for spent in self.kernels.values())

    @property
    def library_calls(self) -> int:
        """Of eager's operators."""
        return sum(spent.calls for spent in self.libraries.values())

    @property
    def costs(self) -> tuple[Spent, ...]:
        """Of all that was called: kernels and library functions run one after the other."""
        return (*self.kernels.values(), *self.libraries.values())

    def reset(self) -> None:
        """Count from here."""
        self.kernels, self.libraries, self.reads = {}, {}, Counter()

    def _seconds(self, moved: int, arithmetic: int, products: int) -> float:
        """What this takes at least: its traffic or its operations, at the full rate of whichever takes longer."""
        gpu = self.gpu
        return max(moved / gpu.memory_rate, arithmetic / gpu.float32_rate, products / gpu.tensor_rate)


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
        self._collector.host_read(name, reads_of(name, args, kwargs or {}))
        if name not in self._metadata:
            tensors = [v for v in torch.utils._pytree.tree_leaves((args, kwargs, found)) if isinstance(v, torch.Tensor)]
            distinct = {(v.untyped_storage().data_ptr(), v.storage_offset()): v.nbytes for v in tensors}
            operations = torch_internals.operations_of(function, args, kwargs or {}, found)
            dtype = next((v.dtype for v in tensors if v.dtype.is_floating_point), torch.float32)
            self._collector.library_call(name, sum(distinct.values()), operations, dtype)
        return found
