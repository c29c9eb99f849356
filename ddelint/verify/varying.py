"""What else values may be, and which names say so, as data: rules/varying.toml."""

from __future__ import annotations

import functools
import tomllib
from typing import Any

from ddelint.knowledge.folder import rules_folder


@functools.cache
def varying() -> dict[str, Any]:
    """The table, read once."""
    return tomllib.loads((rules_folder() / "varying.toml").read_text("utf-8"))
