"""What torch keeps around a call (gradients, autocast, defaults): taken down at a capture, and put back later."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ddelint.trace import torch_internals

_ALWAYS = ("cpu", "cuda")
"""Device types whose autocast is taken down, besides that of the accelerator at hand."""


@dataclass(frozen=True)
class _Autocast:
    device: str
    enabled: bool
    dtype: torch.dtype


@dataclass(frozen=True)
class Surroundings:
    """The state of one call. Equal where torch.compile would not compile again for it."""

    grad: bool
    inference: bool
    dtype: torch.dtype
    device: torch.device
    autocast: tuple[_Autocast, ...]
    caches_casts: bool
    backward_autocast: str
    """Which autocast backward passes are compiled for (`same_as_forward`, `off`)."""

    @classmethod
    def now(cls) -> Surroundings:
        """Those of the caller."""
        return cls(
            grad=torch.is_grad_enabled(),
            inference=torch.is_inference_mode_enabled(),
            dtype=torch.get_default_dtype(),
            device=torch.get_default_device(),
            autocast=tuple(
                _Autocast(device, torch.is_autocast_enabled(device), torch.get_autocast_dtype(device))
                for device in _devices()
            ),
            caches_casts=torch.is_autocast_cache_enabled(),
            backward_autocast=torch_internals.backward_autocast(),
        )

    @contextlib.contextmanager
    def around(self) -> Iterator[None]:
        """Put them back; what differed before returns at the end."""
        before = Surroundings.now()
        with contextlib.ExitStack() as stack:
            if self.inference != before.inference:
                stack.enter_context(torch.inference_mode(self.inference))
            stack.enter_context(torch.set_grad_enabled(self.grad))
            for wanted, found in zip(self.autocast, before.autocast):
                if wanted != found:
                    stack.enter_context(
                        torch.autocast(
                            wanted.device, wanted.dtype, enabled=wanted.enabled, cache_enabled=self.caches_casts
                        )
                    )
            if self.backward_autocast != before.backward_autocast:
                stack.enter_context(torch_internals.compiled_backward_autocast(self.backward_autocast))
            if self.device != before.device:
                stack.enter_context(self.device)
            if self.dtype != before.dtype:
                torch.set_default_dtype(self.dtype)
                stack.callback(torch.set_default_dtype, before.dtype)
            yield


@contextlib.contextmanager
def kept() -> Iterator[None]:
    """What the code inside sets for good ends with it."""
    before = Surroundings.now()
    try:
        yield
    finally:
        torch.set_grad_enabled(before.grad)
        torch.set_default_dtype(before.dtype)
        if torch.get_default_device() != before.device:
            torch.set_default_device(None)


def _devices() -> tuple[str, ...]:
    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return tuple(dict.fromkeys((*_ALWAYS, *([accelerator.type] if accelerator is not None else ()))))
