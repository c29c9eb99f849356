"""A program compiled for a GPU that is only described, and called on the CPU."""

from __future__ import annotations

import contextlib
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from ddelint.trace import torch_internals
from ddelint.verify.compiling import Compiling
from ddelint.verify.generated_code import knowledge
from ddelint.verify.profiles import Profile, profiled
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


@contextlib.contextmanager
def imports_of(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    """While this lasts, imports give these modules, where others have taken their places since.

    Dynamo looks the module of a function up by its name, and guards on what it finds there.
    """
    others = {name: sys.modules.get(name) for name, known in modules.items() if sys.modules.get(name) is not known}
    sys.modules.update({name: modules[name] for name in others})
    torch_internals.forget_imports()
    try:
        yield
    finally:
        torch_internals.forget_imports()
        for name, module in others.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module


def called_once(compiled: GpuProgram, reference: Reference) -> Profile:
    """What one call does: at how many operators the host would wait, and how many are left to eager."""
    args, kwargs = compiled.prepared(reference)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return profiled(lambda: compiled(*args, **kwargs), "cpu")


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
