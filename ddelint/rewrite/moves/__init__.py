"""The moves. Each module registers one or more moves under the names that rules/*.toml list."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache


@cache
def load_moves() -> None:
    """Import every module of this package, so that `ddelint.rewrite.candidate.MOVES` is complete."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
