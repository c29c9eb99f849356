"""The order of it all: what `check`, `verify` and `run` do, from the files to the report."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.pipeline.checking import run_check as run_check
    from ddelint.pipeline.gathering import PipelineError as PipelineError
    from ddelint.pipeline.initializing import run_init as run_init
    from ddelint.pipeline.scripts import run_script as run_script
    from ddelint.pipeline.shaping import run_shapes as run_shapes
    from ddelint.pipeline.verifying import run_verify as run_verify

_HOMES = {
    "PipelineError": "gathering",
    "run_check": "checking",
    "run_init": "initializing",
    "run_script": "scripts",
    "run_shapes": "shaping",
    "run_verify": "verifying",
}
__all__ = ["PipelineError", "run_check", "run_init", "run_script", "run_shapes", "run_verify"]


def __getattr__(name: str) -> object:
    """Load what is asked for: reading files needs nothing of what runs them."""
    if name in _HOMES:
        return getattr(import_module(f"ddelint.pipeline.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
