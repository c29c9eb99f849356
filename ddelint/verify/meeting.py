"""Where the two sides of a decision meet again: what a block has left in the names that are read later, or returned.

A result at the end may hide what a block did: something later throws it away, or the block had nothing to do on the
inputs that came to it. So the original is run twice on an input that takes the side which the compiled program skips:
as it is, and with the decision forced to the other side, and what both leave is compared where they meet.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ddelint.trace.registered import buffers_of
from ddelint.verify.frozen import Constant, Container, Freezer, Frozen, FrozenTensor

_LARGEST = 1 << 18
"""Elements of a tensor up to which it is kept."""
_SLACK = 1e-3
"""Relative difference that says nothing: what rounding does is for the comparison at the end."""
_RETURNED = "the returned value"


@dataclass(frozen=True)
class Block:
    """The statement of a decision."""

    names: tuple[str, ...]
    """What its arms name and what is read after it."""
    skips: frozenset[bool]
    """The sides on which nothing is done at all."""


def block_of(statement: ast.If, function: ast.AST, loops: bool) -> Block:
    """What is to be kept of a statement; `loops`: what stands before it in the function is read after it, too."""
    inside = [node for part in (*statement.body, *statement.orelse) for node in ast.walk(part)]
    named = {node.id for node in inside if isinstance(node, ast.Name)}
    read = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and (loops or node.lineno > (statement.end_lineno or 0))
    }
    leaves = any(isinstance(node, (ast.Return, ast.Continue, ast.Break, ast.Raise)) for node in ast.walk(statement))
    skips = frozenset((False,)) if not statement.orelse and not leaves else frozenset()
    kept = {name for name in named if name in read or name == "self"}
    return Block(tuple(sorted(kept)), skips)


class Meetings:
    """What was left at each meeting place in one run, in the order of time; nothing is kept but within `kept`."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Mapping[str, Frozen]]] | None = None

    @contextlib.contextmanager
    def kept(self) -> Iterator[Mapping[str, list[Mapping[str, Frozen]]]]:
        """Within, what is left is noted in what this gives, by the key of the decision."""
        self._kept = {}
        try:
            yield self._kept
        finally:
            self._kept = None

    def note(self, key: str, values: Mapping[str, Any], names: Sequence[str]) -> None:
        """The values of names where the sides of the decision `key` meet."""
        if self._kept is not None:
            freezer = Freezer()
            found = {name: freezer.freeze(_state(values[name])) for name in names if name in values}
            self._kept.setdefault(key, []).append(found)

    def note_returned(self, key: str, value: Any) -> None:
        """What the function of the decision `key` returns."""
        if self._kept is not None:
            self._kept.setdefault(key, []).append({_RETURNED: Freezer().freeze(_state(value))})


def _state(value: Any) -> Any:
    """What is worth keeping of a value: of a module its buffers and its own plain attributes."""
    if isinstance(value, torch.nn.Module):
        plain = {name: part for name, part in vars(value).items() if isinstance(part, (bool, int, float, torch.Tensor))}
        return {**{name: _state(buffer) for name, buffer in buffers_of(value)}, **plain}
    if isinstance(value, torch.Tensor) and value.numel() > _LARGEST:
        return None
    return value


def difference(expected: Sequence[Mapping[str, Frozen]], got: Sequence[Mapping[str, Frozen]]) -> tuple[str, str] | None:
    """(name, how it differs), of the first thing that two runs leave in other states; None where they leave the same.

    Runs that met at other numbers of times are compared up to the first of these.
    """
    alike = len(expected) == len(got)
    for one, other in list(zip(expected, got))[: None if alike else 1]:
        for name in one.keys() & other.keys():
            found = next(_differences(one[name], other[name]), "")
            if found:
                return name, found
    return None


def is_untouched(expected: Sequence[Mapping[str, Frozen]], got: Sequence[Mapping[str, Frozen]]) -> bool:
    """Whether a run with a block and one without it leave the very same."""
    return bool(expected) and len(expected) == len(got) and all(map(_is_same, expected, got))


def _is_same(one: Mapping[str, Frozen], other: Mapping[str, Frozen]) -> bool:
    return one.keys() == other.keys() and not any(
        next(_differences(one[name], other[name], slack=0.0), "") for name in one
    )


def _differences(one: Frozen, other: Frozen, slack: float = _SLACK) -> Iterator[str]:
    match one, other:
        case FrozenTensor(values=torch.Tensor() as first), FrozenTensor(values=torch.Tensor() as second):
            if first.shape != second.shape:
                yield f"of shape {list(first.shape)}, and {list(second.shape)}"
            elif first.dtype == second.dtype and not _near(first, second, slack):
                yield f"{_first(first, second)[0]}, and {_first(first, second)[1]}"
        case Container(parts=parts), Container(parts=others) if one.keys == other.keys:
            for part, its in zip(parts, others):
                yield from _differences(part, its, slack)
        case Constant(value=int() | float() | bool() as value), Constant(value=int() | float() | bool() as its):
            if not _near(torch.tensor(float(value)), torch.tensor(float(its)), slack):
                yield f"{value}, and {its}"


def _near(one: torch.Tensor, other: torch.Tensor, slack: float) -> bool:
    if not one.is_floating_point():
        return bool(torch.equal(one, other))
    finite = one[one.isfinite()].double()
    scale = float(finite.square().mean().sqrt()) if finite.numel() else 0.0
    return bool(torch.allclose(other.double(), one.double(), rtol=slack, atol=slack * scale, equal_nan=True))


def _first(one: torch.Tensor, other: torch.Tensor) -> tuple[Any, Any]:
    wrong = ~torch.isclose(other.double(), one.double(), rtol=_SLACK, equal_nan=True)
    place = tuple(wrong.nonzero()[0].tolist()) if bool(wrong.any()) else (0,) * one.dim()
    return one[place].item(), other[place].item()
