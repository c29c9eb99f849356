"""What the value moves write for what, read once from rules/replacements.toml."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.catalog import CatalogError, rules_folder


@dataclass(frozen=True, slots=True)
class Bounds:
    """A retired call that states bounds of its first argument."""

    lowest: str
    """The lower bound that it states without being told; empty for none."""
    parameters: tuple[str, ...]
    """Positional parameters after the first."""


@dataclass(frozen=True, slots=True)
class Replacements:
    """The tables of replacements.toml."""

    ranges: Mapping[str, Bounds]
    math: Mapping[str, str]


@cache
def replacements() -> Replacements:
    """The tables. Raises CatalogError where the file doesn't say what it must."""
    try:
        table: dict[str, Any] = tomllib.loads((rules_folder() / "replacements.toml").read_text("utf-8"))
        return Replacements(
            ranges={
                name: Bounds(entry["lowest"], tuple(entry["parameters"]))
                for name, entry in table["retired"]["ranges"].items()
            },
            math=dict(table["number_functions"]["math"]),
        )
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise CatalogError(f"replacements.toml: {error!r}") from error
