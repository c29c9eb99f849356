"""A program compiled for a GPU that is only described, and called on the CPU."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ddelint.verify.compiling import Compiling
from ddelint.verify.generated_code import knowledge
from ddelint.verify.profiles import profiled
from ddelint.verify.references import Reference


class GpuProgram:
    """A program compiled for the GPU, called on the CPU."""

    def __init__(self, compiling: Compiling, backend: Callable[..., Any]) -> None:
        self._compiling = compiling
        self._compiled = compiling.compiled(backend)
        self.module = self._compiled.module

    @property
    def refusal(self) -> BaseException | None:
        """What the front end raised in the last call."""
        return self._compiled.refusal

    def prepared(self, reference: Reference) -> Any:
        """New arguments."""
        return self._compiling.prepared(reference)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)


def host_reads(compiled: GpuProgram, reference: Reference) -> int:
    """At how many operators of one call the host would wait."""
    args, kwargs = compiled.prepared(reference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return profiled(lambda: compiled(*args, **kwargs), "cpu").host_syncs


def cuda_graphs(codes: Sequence[str], reads: int) -> str:
    """Whether a CUDA graph could record what the wrappers do."""
    against = []
    if reads:
        against.append("1 host read" if reads == 1 else f"{reads} host reads")
    table = knowledge()["wrapper"]
    for name, pattern in table.items():
        if any(re.search(pattern, code, re.MULTILINE) for code in codes):
            against.append(name)
    return f"not safe: {', '.join(against)}" if against else "safe"
