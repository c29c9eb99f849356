"""ddelint: makes PyTorch code compile and export without data-dependent errors."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.entry_api import Entry as Entry

_EXPORTED = {"Entry": "ddelint.entry_api"}
__all__ = ["Entry"]


def __getattr__(name: str) -> object:
    """Load what is re-exported when it is first asked for: importing ddelint stays cheap."""
    if name in _EXPORTED:
        return getattr(import_module(_EXPORTED[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
