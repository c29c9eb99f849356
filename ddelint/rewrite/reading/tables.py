"""Tables of rules/*.toml as dataclasses: the fields' types say how an entry is kept."""

from __future__ import annotations

import tomllib
from collections import ChainMap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from ddelint.knowledge.catalog import CatalogError, rules_folder

Table = TypeVar("Table")


def loaded(filename: str, build: Callable[[dict[str, Any]], Table]) -> Table:
    """What `build` makes of a file of the rules' folder. Raises CatalogError where it doesn't say what it must."""
    try:
        return build(tomllib.loads((rules_folder() / filename).read_text("utf-8")))
    except (OSError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise CatalogError(f"{filename}: {error!r}") from error


def filled(kind: type[Table], *sections: Mapping[str, Any]) -> Table:
    """The dataclass with each field from the first section that has an entry of its name.

    Raises KeyError where none has, and the field no default.
    """
    entries, hints = ChainMap(*map(dict, sections)), get_type_hints(kind)
    wanted = [field.name for field in fields(kind) if field.name in entries or field.default is MISSING]  # type: ignore[arg-type]
    return kind(**{name: _kept(hints[name], entries[name]) for name in wanted})


def _kept(hint: Any, entry: Any) -> Any:
    """An entry of TOML as a field's type wants it."""
    origin = get_origin(hint)
    if origin in (frozenset, tuple):
        return origin(_kept(get_args(hint)[0], each) for each in entry)
    if origin is not None:  # a mapping
        return {name: _kept(get_args(hint)[1], value) for name, value in entry.items()}
    if is_dataclass(hint):
        return filled(hint, entry)  # type: ignore[arg-type]
    return hint(entry) if issubclass(hint, Enum) else entry
