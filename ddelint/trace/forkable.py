"""Whether a process can go on in forks: neither a CUDA context nor autograd's threads can."""

from __future__ import annotations

import contextlib
import os


def is_unforkable() -> bool:
    """Whether this process has something that its forks cannot use: a CUDA context, autograd's threads."""
    return _uses_cuda() or _has_autograd_threads()


def _uses_cuda() -> bool:
    """Whether this process has opened the device (then its forks cannot)."""
    import torch

    if torch.cuda.is_initialized():
        return True
    with contextlib.suppress(OSError):
        for name in os.listdir("/proc/self/fd"):
            with contextlib.suppress(OSError):
                if os.readlink(f"/proc/self/fd/{name}").startswith("/dev/nvidia-uvm"):
                    return True
    return False


def _has_autograd_threads() -> bool:
    """Whether a backward pass has started threads for devices (autograd then refuses to work in a fork)."""
    with contextlib.suppress(OSError):
        for task in os.listdir("/proc/self/task"):
            with contextlib.suppress(OSError), open(f"/proc/self/task/{task}/comm") as file:
                if file.read().startswith("pt_autograd"):
                    return True
    return False
