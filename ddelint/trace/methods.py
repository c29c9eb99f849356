"""One method of a module as a module of its own, so that the owner's parameters count as the program's."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable
from typing import Any

import torch


class MethodCall(torch.nn.Module):  # type: ignore[misc]
    """Calls one method of `owner`. Use `as_module`, which gives it the method's signature."""

    def __init__(self, owner: torch.nn.Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self.owner = owner
        self.function = function
        self.training = owner.training


def as_module(owner: torch.nn.Module, function: Callable[..., Any]) -> MethodCall:
    """A module whose call is `function(owner, …)`; it can be copied as any other."""

    def forward(self: MethodCall, *args: Any, **kwargs: Any) -> Any:
        return self.function(self.owner, *args, **kwargs)

    with contextlib.suppress(TypeError, ValueError):
        forward.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    kind: type[MethodCall] = type(MethodCall.__name__, (MethodCall,), {"forward": forward})
    return kind(owner, function)
