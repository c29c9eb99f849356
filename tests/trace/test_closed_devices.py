"""While nobody has opened a GPU, the compiler is told that there is none; everybody else gets torch's own answer."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from ddelint.trace import closed_devices, forkable


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with a GPU, as torch describes it; who has opened it."""
    openings: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: bool(openings))
    monkeypatch.setattr(torch.cuda, "_lazy_init", lambda: openings.append("opened"))
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    closed_devices.keep_closed()
    return openings


PRETENDING = """
import sys, traceback
import torch

opened = []

def opening():
    opened.append("".join(traceback.format_stack(limit=6)[:-1]))
    raise RuntimeError("opened")

original = torch.cuda._lazy_init
for name, module in list(sys.modules.items()):
    if name.startswith("torch.cuda") and getattr(module, "_lazy_init", None) is original:
        module._lazy_init = opening
torch.cuda.is_available = lambda: True
torch.cuda.device_count = lambda: 1
torch.version.cuda = "13.0"

from ddelint.trace import closed_devices, preloading

if sys.argv[1] == "closed":
    closed_devices.keep_closed()
assert preloading.load_for_requests() is None
from ddelint.trace import warm_up

warm_up.front_ends()
preloading.load_inductor()
print(*opened or ["nobody"], sep="\\n")
"""
"""A process on a machine with a GPU, as far as a build for the CPU can be made believe so: who opens it?"""


@pytest.mark.slow
@pytest.mark.parametrize(("given", "nobody"), [("closed", True), ("as it is", False)])
def test_what_a_worker_loads_opens_nothing(given: str, nobody: bool) -> None:
    """Without it Dynamo does, for the state of its random generator."""
    command = [sys.executable, "-c", PRETENDING, given]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=600)
    assert (done.stdout.strip() == "nobody") is nobody, done.stdout


def asked_by(module: str, expression: str) -> Any:
    """What a function of a module of that name gets."""
    names: dict[str, Any] = {"__name__": module, "torch": torch}
    exec(f"def ask():\n    return {expression}", names)
    return names["ask"]()


@pytest.mark.parametrize(
    "module",
    ["torch._dynamo.convert_frame", "torch._dynamo.variables.streams", "torch.utils._triton", "torch._inductor.utils"],
)
def test_the_compiler_sees_no_device_until_one_is_open(opened: list[str], module: str) -> None:
    assert asked_by(module, "torch.cuda.is_available()") is False
    assert asked_by(module, "torch.accelerator.is_available()") is False
    assert asked_by(module, "torch.accelerator.current_accelerator()") is None
    with pytest.raises(RuntimeError, match="No CUDA GPUs are available"):
        asked_by(module, "torch.cuda._lazy_init()")
    assert opened == []

    asked_by("model", "torch.cuda._lazy_init()")

    assert opened == ["opened"]
    assert asked_by(module, "torch.cuda.is_available()") is True
    assert asked_by(module, "torch.accelerator.current_accelerator()") == torch.device("cuda")


@pytest.mark.parametrize("module", ["model", "torch.serialization", "torch._dynamo.variables.torch"])
def test_a_program_sees_what_there_is(opened: list[str], module: str) -> None:
    """Also where Dynamo folds its calls: the compiled program must choose as the one in eager does."""
    assert asked_by(module, "torch.cuda.is_available()") is True
    assert asked_by(module, "torch.accelerator.is_available()") is True
    assert opened == []


def test_what_was_remembered_of_a_machine_without_one_is_forgotten(
    opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.utils import _triton

    @functools.cache
    def has_triton() -> bool:
        return bool(asked_by("torch.utils._triton", "torch.cuda.is_available()"))

    monkeypatch.setattr(_triton, "has_triton", has_triton)
    assert _triton.has_triton() is False
    asked_by("model", "torch.cuda._lazy_init()")
    assert _triton.has_triton() is True


def test_it_is_arranged_once(opened: list[str]) -> None:
    before: Callable[..., Any] = torch.cuda.is_available
    closed_devices.keep_closed()
    assert torch.cuda.is_available is before


def test_torch_has_what_is_patched() -> None:
    """The names that a release must have for this: else a trace opens the device again."""
    from torch._inductor.codecache import CacheBase

    assert callable(torch.cuda._lazy_init)
    assert callable(torch.accelerator.current_accelerator)
    assert hasattr(CacheBase.get_system, "cache_clear")


def test_files_that_were_open_before_are_no_hindrance(monkeypatch: pytest.MonkeyPatch) -> None:
    from collections import Counter

    files = Counter({"/dev/nvidia-uvm": 1})
    monkeypatch.setattr(forkable, "_device_files", lambda: files.copy())
    monkeypatch.setattr(forkable, "_noted", Counter())
    assert forkable.is_unforkable()
    forkable.note_open_files()
    assert not forkable.is_unforkable()
    files["/dev/nvidia0"] += 1
    assert forkable.is_unforkable()
