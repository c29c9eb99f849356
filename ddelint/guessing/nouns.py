"""What is guessed: a value for each argument, as data that can be corrected and written as Python."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NAMESPACE = "types.SimpleNamespace"
"""What settings are where no class of them is known."""
Sizes = tuple[int, ...]


def with_size(sizes: Sizes, dimension: int, size: int) -> Sizes:
    """The sizes with another one for a dimension, which may count from the end."""
    changed = list(sizes)
    changed[dimension] = size
    return tuple(changed)


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor to draw: its sizes, one of the kinds of rules/inputs.toml, the limit of whole numbers (exclusive)."""

    sizes: Sizes
    kind: str = "float"
    high: int = 10
    others: tuple[Sizes, ...] = ()
    """Other shapes that are usual for it."""
    has_shape: bool = False
    """Whether the program's text says its shape: names of dimensions, at least their number."""
    has_kind: bool = False
    """Whether the text says its kind."""


@dataclass(frozen=True, slots=True)
class Code:
    """An expression, as Python."""

    text: str


@dataclass(frozen=True, slots=True)
class Several:
    """A list (or tuple) of values."""

    values: tuple[Value, ...]
    is_tuple: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A dictionary from names to values."""

    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing says what it is: a place for somebody to fill in."""


Value = Tensor | Code | Several | Named | Unknown


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter and what is passed for it; `reason` says where the guess comes from."""

    name: str
    value: Value
    reason: str
    by_keyword: bool = False
    is_given: bool = True
    """Whether it is passed: an argument with a default is, where the call needs it."""


@dataclass(frozen=True, slots=True)
class Guess:
    """How to build a program and call it."""

    program: str
    inputs: tuple[Argument, ...] = ()
    init: tuple[Argument, ...] = ()
    imports: tuple[str, ...] = ()
    """Statements that names in the values need."""
    builder: str = ""
    """An expression that builds the program (`resnet18()`); empty: its class does, or it is a function."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """An entry as code. Lines are a statement and the comment behind it, which may be empty."""

    program: str
    input_lines: tuple[tuple[str, str], ...]
    inputs: str
    """What the function of the inputs returns."""
    init_lines: tuple[tuple[str, str], ...] = ()
    init: str = ""
    """What the constructor is called with; empty: nothing."""
    imports: tuple[str, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    """Argument → where its guess comes from."""
    missing: tuple[str, ...] = ()
    """Arguments that nobody could guess."""
    builder: str = ""
    """As a guess has it."""
