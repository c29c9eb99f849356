"""How far rounding may move a result: what the original gave on inputs that were moved by a little."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from ddelint.verify.frozen import Constant, Container, Frozen, FrozenTensor


@dataclass(frozen=True)
class Noise:
    """How far rounding may move a result: what it became on inputs that were moved by known relative amounts.

    Each of `moved` is (relative amount, the result then). The last amount is a fraction of the others: where a result
    moves as far all the same, it jumps (a tie is broken, an index differs), which says nothing about rounding; but
    numbers of its size do.
    """

    moved: tuple[tuple[float, Frozen], ...] = ()
    kinks: bool = False
    """Whether a number that jumps may be any that it jumps to: a gradient has no value where a function has a kink, and
    is nothing but rounding errors where it is zero by symmetry."""

    def part(self, of: Container, number: int) -> Noise:
        """That of one part of a container; none where the results are not built alike."""
        return replace(
            self,
            moved=tuple(
                (amount, other.parts[number])
                for amount, other in self.moved
                if isinstance(other, Container) and other.keys == of.keys
            ),
        )

    def allowed(self, expected: torch.Tensor, rounding: float) -> torch.Tensor:
        """By element (float64): how far off a number may be where each of its inputs is by `rounding`, relatively."""
        moves = []
        for _, other in self.moved:
            values = _numbers_of(other)
            if values is None or values.shape != expected.shape:
                return torch.zeros(expected.shape, dtype=torch.float64)
            moves.append((values.to(expected.dtype) - expected).abs().nan_to_num(0.0, 0.0, 0.0))
        if len(moves) < 2:
            return torch.zeros(expected.shape, dtype=torch.float64)
        slopes = [move / amount for move, (amount, _) in zip(moves, self.moved)]
        smooth = torch.stack(slopes[:-1]).amax(0)
        # two draws may both leave a number where it is: numbers of its size, of the same tensor, move as much
        usual = _usual(smooth, expected, ~(slopes[-1] > _JUMP * smooth))
        jumps = (slopes[-1] > _JUMP * smooth.maximum(usual)) & (moves[-1] > _SLIGHT * expected.abs())
        slope = torch.where(jumps, 0.0, smooth).maximum(usual * _UNLUCKY)
        return (slope * rounding).maximum(_farthest(torch.stack(moves).amax(0), expected, jumps) * self.kinks)


QUIET = Noise()
"""Where nobody knows."""
_JUMP = 4.0
"""Times as steep on the smaller step as on the larger ones: no slope any more."""
_SLIGHT = 1 / 64
"""Of a number: what moves it by less is no jump, but two larger steps that left it, by chance, nearly where it was."""

_KINK = 8.0
"""Of the farthest that a gradient was seen to jump, as far as it may be off."""
_MANY = 0.2
"""The share of a tensor that jumps, above which all of it does."""
_UNLUCKY = 0.5
"""Of what numbers of its size usually move, what a number is taken to move at least."""
_SIZES = 3
"""Powers of two that count as one size."""
_FEW = 8
"""Fewer numbers of one size are judged with those of the next: what cancellation leaves is small by chance."""


def _farthest(moves: torch.Tensor, values: torch.Tensor, jumps: torch.Tensor) -> torch.Tensor:
    """By element, how far off it may be where it jumps; where many do, the others only seem not to."""
    most = moves * jumps
    if float(jumps.double().mean()) > _MANY:
        most = most.maximum(_usual(moves, values, jumps))
    return most * _KINK


def _usual(noise: torch.Tensor, values: torch.Tensor, informative: torch.Tensor) -> torch.Tensor:
    """By element, the median of `noise` over the elements of the same size, as far as they are `informative`."""
    sizes = torch.frexp(values.abs().to(torch.float64)).exponent.div(_SIZES, rounding_mode="floor")
    sizes = torch.where(values == 0, torch.iinfo(sizes.dtype).min, sizes)
    found, groups = torch.unique(sizes, return_inverse=True)
    medians = torch.zeros(len(found), dtype=torch.float64)
    for number, size in enumerate(found.tolist()):
        members = noise[(groups == number) & informative]
        if members.numel() < _FEW and size + 1 in found:
            members = noise[(sizes >= size) & (sizes <= size + 1) & informative]
        if members.numel():
            medians[number] = members.median()
    return medians[groups]


def _numbers_of(value: Frozen) -> torch.Tensor | None:
    match value:
        case FrozenTensor(values=torch.Tensor() as values):
            return values
        case Constant(value=float() as number):
            return torch.tensor(number, dtype=torch.float64)
    return None
