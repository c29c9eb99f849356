"""Shapes of answers written like an einsum: `...ik,kj->...ij`, one letter a dimension (the table is in operators.toml).

    ...     any leading dimensions, broadcast over the tensors
    _       a tensor that does not count
    n       a dimension; the same letter, the same size
    N       a size computed from that of n: depends on data where n does
    *       all further dimensions; after the arrow, sizes computed from them
    2       a constant
    {1:k}   the size that an argument gives, by position after the tensor, or by keyword

Alternatives for other ranks follow after `|`; `unless dim,keepdim` says with which keywords nothing is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from ddelint.static.domain.joining import join
from ddelint.static.domain.values import KNOWN, Constant, Tensor, Unbacked, Value

_PART = re.compile(r"\.\.\.|\{(\d+):(\w+)\}|\w|\*")


@dataclass(frozen=True, slots=True)
class Token:
    """One dimension of a pattern; `text` is `...`, `*`, a letter or a digit, empty for an argument's size."""

    text: str
    position: int = 0
    keyword: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One alternative: the tensors' dimensions (None for one that does not count), and the answer's."""

    tensors: tuple[tuple[Token, ...] | None, ...]
    answer: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class Letters:
    """What the table says of one operator."""

    patterns: tuple[Pattern, ...]
    without: frozenset[str]
    """Keywords (or further arguments) with which nothing is known."""


@cache
def parsed(text: str) -> Letters:
    """Read an entry of the table."""
    body, _, without = text.partition(" unless ")
    patterns = []
    for alternative in body.split("|"):
        before, _, after = alternative.strip().partition("->")
        tensors = tuple(None if part == "_" else _tokens(part) for part in before.split(","))
        patterns.append(Pattern(tensors, _tokens(after)))
    return Letters(tuple(patterns), frozenset(filter(None, without.replace(" ", "").split(","))))


def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(
        Token("", int(found[1]), found[2]) if found[1] else Token(found[0]) for found in _PART.finditer(text.strip())
    )


class Sizes:
    """The sizes that letters stand for in one call."""

    def __init__(self) -> None:
        self.named: dict[str, Value] = {}
        self.leading: tuple[Value, ...] | None = ()
        """What `...` stands for; None where the ranks are not known."""
        self.first: Value | None = None
        """A leading dimension that depends on data, where the ranks are not known."""
        self.rest: tuple[Value, ...] | None = ()

    def fits(self, pattern: Pattern, tensors: list[Tensor]) -> bool:
        """Give the letters their sizes; False where a tensor has another rank."""
        if len(tensors) < len(pattern.tensors):
            return False
        return all(tokens is None or self._fits(tokens, tensor) for tokens, tensor in zip(pattern.tensors, tensors))

    def _fits(self, tokens: tuple[Token, ...], tensor: Tensor) -> bool:
        open_start = bool(tokens) and tokens[0].text == "..."
        open_end = bool(tokens) and tokens[-1].text == "*"
        letters = tokens[1:] if open_start else tokens[:-1] if open_end else tokens
        dims = tensor.dims
        if not tensor.complete:
            if len(dims) > len(letters) and not open_start and not open_end:
                return False
            if open_start:
                self.leading = None
                if dims and isinstance(dims[0], Unbacked) and self.first is None:
                    self.first = dims[0]
            else:
                for token, size in zip(letters, dims):
                    self._name(token.text, size)
                self.rest = None if open_end else self.rest
            return True
        if len(dims) < len(letters) or (len(dims) != len(letters) and not open_start and not open_end):
            return False
        if open_start:
            cut = len(dims) - len(letters)
            self._broadcast(dims[:cut])
            dims = dims[cut:]
        elif open_end:
            self.rest = dims[len(letters) :]
        for token, size in zip(letters, dims):
            self._name(token.text, size)
        return True

    def _name(self, letter: str, size: Value) -> None:
        known = self.named.get(letter)
        if (
            known is None
            or (isinstance(known, Constant) and known.value == 1)
            or (isinstance(size, Constant) and size.value != 1)
        ):
            self.named[letter] = size

    def _broadcast(self, sizes: tuple[Value, ...]) -> None:
        if self.leading is None:
            return
        longer, shorter = sorted((self.leading, sizes), key=len, reverse=True)
        merged = list(longer)
        for back in range(1, len(shorter) + 1):
            one, other = merged[-back], shorter[-back]
            if isinstance(one, Constant) and one.value == 1:
                merged[-back] = other
            elif isinstance(other, Unbacked) and not isinstance(one, Constant):
                merged[-back] = join(one, other)
        self.leading = tuple(merged)


def computed_from(sizes: Sizes, letter: str) -> Value:
    """The size that a capital letter, or a star's dimension, is computed from."""
    return sizes.named.get(letter.lower(), KNOWN)
