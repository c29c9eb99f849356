"""Torch's devices stay closed until a program uses one: a process that has opened a GPU cannot go on in forks.

A sibling of torch_internals, with the same rule. Whatever it compiles, torch's compiler asks a GPU of the machine for
its random state, its streams and its properties. That opens it: some 300 ms in each process, and no fork of it can use
the GPU at all. In 2.11 to 2.13 these ask: `preserve_global_state` in torch/_dynamo/convert_frame.py,
`SymbolicStreamState` in torch/_dynamo/variables/streams.py, `has_triton` in torch/utils/_triton.py,
`CacheBase.get_system` in torch/_inductor/codecache.py.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

COMPILER = (
    "torch._dynamo",
    "torch._export",
    "torch._functorch",
    "torch._higher_order_ops",
    "torch._inductor",
    "torch.export",
    "torch.utils._triton",
)
"""The modules, and those below them, that are told that there is no device while none is open."""
_FOLDING = "torch._dynamo.variables."
"""Below it, Dynamo folds the program's own calls, which get torch's own answer, as in eager."""
_STREAMS = "torch._dynamo.variables.streams"
"""It asks for itself."""
REMEMBERING = (
    "torch._inductor.utils",
    "torch._inductor.runtime.hints",
    "torch.utils._triton",
    "torch._inductor.codegen.cuda.cuda_env",
    "torch._inductor.runtime.runtime_utils",
)
"""The modules whose functions remember what devices there are."""
_REMEMBERING_METHODS = (
    ("torch._inductor.runtime.hints", "DeviceProperties", "create"),
    ("torch._inductor.codecache", "CacheBase", "get_system"),
)


def keep_closed() -> None:
    """Have torch's compiler see no GPU, in this process and its forks, until something else opens one."""
    if hasattr(torch.cuda._lazy_init, "__wrapped__"):
        return
    torch.cuda.is_available = _unless_closed(torch.cuda.is_available, False)
    original = torch.cuda._lazy_init
    opening = _unless_compilers(original)
    for module in [module for name, module in sys.modules.items() if name.startswith("torch.cuda")]:
        if getattr(module, "_lazy_init", None) is original:
            module._lazy_init = opening  # type: ignore[attr-defined]
    accelerator: Any = getattr(torch, "accelerator", None)
    for name, nothing in (("is_available", False), ("current_accelerator", None)):
        if hasattr(accelerator, name):
            setattr(accelerator, name, _unless_closed(getattr(accelerator, name), nothing))


def forget_devices() -> None:
    """Take back what functions remember of this machine's devices."""
    for module in REMEMBERING:
        names = vars(sys.modules[module]) if module in sys.modules else {}
        for name, value in list(names.items()):
            knows = any(word in name for word in ("gpu", "triton", "device", "cuda", "num_sms", "arch"))
            if knows and hasattr(value, "cache_clear"):
                value.cache_clear()
    for module, owner, name in _REMEMBERING_METHODS:
        method: Any = getattr(getattr(sys.modules.get(module), owner, None), name, None)
        if hasattr(method, "cache_clear"):
            method.cache_clear()


def _unless_closed(asked: Callable[..., Any], nothing: object) -> Callable[..., Any]:
    @functools.wraps(asked)
    def answer(*args: Any, **kwargs: Any) -> Any:
        if not torch.cuda.is_initialized() and _is_compilers(sys._getframe(1)):
            return nothing
        return asked(*args, **kwargs)

    return answer


def _unless_compilers(opening: Callable[[], None]) -> Callable[[], None]:
    """Torch's function that opens the GPU: raises, as where there is none, what the compiler catches.

    Once it is open, what was remembered of a machine without one is forgotten.
    """

    @functools.wraps(opening)
    def open_and_forget() -> None:
        if torch.cuda.is_initialized():
            return
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _module_of(frame).startswith("torch.cuda"):
            frame = frame.f_back
        if _is_compilers(frame):
            raise RuntimeError("No CUDA GPUs are available")
        opening()
        forget_devices()

    return open_and_forget


def _is_compilers(frame: FrameType | None) -> bool:
    """Whether it is torch's compiler that asks."""
    asker = "" if frame is None else _module_of(frame)
    return asker.startswith(COMPILER) and (asker == _STREAMS or not asker.startswith(_FOLDING))


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
