"""Whether a process can go on in forks: neither a CUDA context nor autograd's threads can."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import Counter


def is_unforkable() -> bool:
    """Whether this process has something that its forks cannot use: a CUDA context, autograd's threads."""
    return _uses_cuda() or _has_autograd_threads()


def has_threads() -> bool:
    """Whether other threads run in this process, which its forks would not have (on Linux; elsewhere Python's own)."""
    try:
        return len(os.listdir("/proc/self/task")) > 1
    except OSError:
        return threading.active_count() > 1


def forks_before_gradients() -> bool:
    """Whether forks from after a first backward pass can compute no gradients.

    With a build of torch for devices, fake tensors make it count them, and the first backward pass starts a thread for
    each (`Engine::start_device_threads`, torch/csrc/autograd/engine.cpp); one for the CPU alone starts none.
    """
    import torch

    return bool(torch.version.cuda or getattr(torch.version, "hip", None) or getattr(torch.version, "xpu", None))


def note_open_files() -> None:
    """What is open for devices now is no hindrance: torch's count of the devices, which every fork can do without."""
    _noted.update(_device_files())


_noted: Counter[str] = Counter()
"""Files of devices that were open when user code came in, and how often."""


def _uses_cuda() -> bool:
    """Whether this process has opened the device (then its forks cannot)."""
    import torch

    return bool(torch.cuda.is_initialized() or _device_files() - _noted)


def _device_files() -> Counter[str]:
    found: Counter[str] = Counter()
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                file = os.readlink(f"/proc/self/fd/{name}")
                found.update([file] if file.startswith(("/dev/nvidia-uvm", "/dev/nvidia0")) else [])
    return found


def _has_autograd_threads() -> bool:
    """Whether a backward pass has started threads for devices (autograd then refuses to work in a fork)."""
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
                if file.read().startswith("pt_autograd"):
                    return True
    return False
