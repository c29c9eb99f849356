"""What names, layers and errors give away, read once from rules/inputs.toml and checked."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from ddelint.knowledge.catalog import CatalogError, rules_folder

ACTIONS = frozenset(
    ("size", "rank", "integers", "booleans", "floats", "limit", "shape", "give", "setting", "larger", "scalar")
)


@dataclass(frozen=True, slots=True)
class TensorName:
    """Parameters of these names are tensors of this kind; sizes are names of `sizes`."""

    pattern: re.Pattern[str]
    kind: str
    dims: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]
    high: int


@dataclass(frozen=True, slots=True)
class NumberName:
    """Arguments of these names get this value, as Python."""

    pattern: re.Pattern[str]
    value: str


@dataclass(frozen=True, slots=True)
class Layer:
    """A layer whose constructor says what it takes: a size of a dimension, or the limit of its indices."""

    names: frozenset[str]
    argument: int
    keyword: str
    dims: tuple[str, ...]
    dimension: int | None
    kind: str
    is_limit: bool


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator that takes an argument of this kind: at which position of its method, and of torch's function."""

    names: frozenset[str]
    kind: str
    method: int | None
    function: int | None


@dataclass(frozen=True, slots=True)
class ErrorText:
    """An error by which a guess is corrected."""

    pattern: re.Pattern[str]
    action: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The tables of inputs.toml."""

    sizes: Mapping[str, int]
    dimensions: Mapping[str, str]
    """Word in lower case → name of a size."""
    kinds: Mapping[str, str]
    annotations: Mapping[str, str]
    """Name of a type → kind."""
    tensors: tuple[TensorName, ...]
    numbers: tuple[NumberName, ...]
    layers: tuple[Layer, ...]
    operators: tuple[Operator, ...]
    errors: tuple[ErrorText, ...]
    settings: Mapping[str, tuple[str, ...]]
    tiny: Mapping[str, str]
    """Field of a configuration → value for a small model."""

    def tensor(self, name: str) -> TensorName | None:
        """What the name of a parameter says."""
        return next((row for row in self.tensors if row.pattern.fullmatch(name.lower())), None)

    def number(self, name: str) -> str | None:
        """A value for an argument that is no tensor, by its name."""
        return next((row.value for row in self.numbers if row.pattern.fullmatch(name.lower())), None)

    def layer(self, name: str) -> Layer | None:
        """The layer of that class."""
        return next((row for row in self.layers if name in row.names), None)

    def operator(self, name: str) -> Operator | None:
        """The operator of that name, without the underscore of one that works in place."""
        return next((row for row in self.operators if name in row.names), None)


@cache
def knowledge() -> Knowledge:
    """All of it. Raises CatalogError where the file cannot be used."""
    return read(tomllib.loads((rules_folder() / "inputs.toml").read_text("utf-8")))


def read(data: dict[str, Any]) -> Knowledge:
    """The tables of the file. Raises CatalogError, which names what is wrong."""
    try:
        return _read(data)
    except (KeyError, TypeError, ValueError, re.error) as error:
        raise CatalogError(f"inputs.toml: {type(error).__name__}: {error}") from error


def _read(data: dict[str, Any]) -> Knowledge:
    sizes, kinds = dict(data["sizes"]), dict(data["kinds"])

    def known(names: list[str]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in sizes and not name.isdecimal()]
        if unknown:
            raise ValueError(f"no such size: {', '.join(unknown)}")
        return tuple(names)

    def kind_of(row: dict[str, Any]) -> str:
        kind = str(row.get("kind", "float"))
        if kind not in kinds:
            raise ValueError(f"no such kind: {kind}")
        return kind

    known(list(data["dimensions"]))
    actions = {row["action"] for row in data["error"]} - ACTIONS
    if actions:
        raise ValueError(f"no such action: {', '.join(sorted(actions))}")
    return Knowledge(
        sizes,
        {word.lower(): name for name, words in data["dimensions"].items() for word in reversed(words)},
        kinds,
        {name: kind for kind, names in data["annotations"].items() for name in names},
        tuple(
            TensorName(
                _any_of(row["names"]),
                kind_of(row),
                known(row["dims"]),
                tuple(known(other.split(",")) for other in row.get("others", ())),
                sizes[high] if isinstance(high := row.get("high", 10), str) else int(high),
            )
            for row in data["tensor"]
        ),
        tuple(NumberName(_any_of(row["names"]), row["value"]) for row in data["number"]),
        tuple(
            Layer(
                frozenset(row["names"]),
                row["argument"],
                row["keyword"],
                known(row["dims"]),
                row.get("dimension"),
                kind_of(row),
                row.get("is_limit", False),
            )
            for row in data["layer"]
        ),
        tuple(
            Operator(frozenset(row["names"]), kind_of(row), row.get("method"), row.get("function"))
            for row in data["operator"]
        ),
        tuple(ErrorText(re.compile(row["pattern"]), row["action"]) for row in data["error"]),
        {key: tuple(data["configuration"][key]) for key in ("base_names", "class_ends")},
        {key: repr(value) for key, value in data["configuration"]["tiny"].items()},
    )


def _any_of(names: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{name})" for name in names))
