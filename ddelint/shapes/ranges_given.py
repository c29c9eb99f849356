"""Ranges of sizes that a user gives: read, and proved to cover what the program takes, each size once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ddelint.nouns.contracts import SPECIALIZED, Contract
from ddelint.nouns.size_specs import SpecFinding
from ddelint.shapes.canonical import representatives
from ddelint.shapes.facts import negated, read
from ddelint.shapes.linear_forms import follows, refuted
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.witnesses import find

GAP, OVERLAP = "DDE411", "DDE412"
_MOST_SIZE = 1 << 20


class UnreadableRanges(ValueError):
    """A text that does not say ranges."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """The ranges of one dimension, in the order in which they are asked."""

    name: str
    """`tokens.shape[0]`."""
    bounds: tuple[tuple[int, int | None], ...]

    def conditions(self, at: int) -> list[str]:
        """What holds within one of them."""
        low, high = self.bounds[at]
        if low == high:
            return [f"{self.name} == {low}"]
        return [f"{self.name} >= {low}", *([f"{self.name} <= {high}"] if high is not None else [])]

    def said(self, at: int) -> str:
        """One of them in words: `129..`."""
        low, high = self.bounds[at]
        return str(low) if low == high else f"{low}..{'' if high is None else high}"


def read_ranges(text: str) -> Ranges:
    """`tokens.0: 1, 2..128, 129..` as ranges. Raises UnreadableRanges."""
    dimension, colon, given = text.partition(":")
    parameter, dot, index = dimension.strip().rpartition(".")
    if not colon or not dot or not index.isdigit() or not parameter.isidentifier():
        raise UnreadableRanges(f"`{text}`: say NAME.DIM: 1, 2..128, 129..")
    bounds = tuple(_range(part.strip(), text) for part in given.split(","))
    return Ranges(f"{parameter}.shape[{int(index)}]", bounds)


def _range(part: str, text: str) -> tuple[int, int | None]:
    low, dots, high = part.partition("..")
    high = high if dots else low
    if not low.isdigit() or (high and not high.isdigit()):
        raise UnreadableRanges(f"`{text}`: `{part}` is no range such as 1, 2..128 or 129..")
    found = int(low), int(high) if high else None
    if found[1] is not None and found[1] < found[0]:
        raise UnreadableRanges(f"`{text}`: `{part}` is empty")
    return found


@dataclass(frozen=True, slots=True)
class Divided:
    """A program's sizes, divided into ranges: what it needs, and the ranges of the size that leads."""

    needed: tuple[str, ...]
    """What holds of all sizes that one graph or another takes."""
    ranges: Ranges
    """Of the first of the sizes that are always equal to the one that was named."""


def needed_by_all(contract: Contract) -> tuple[str, ...]:
    """What holds of all sizes that one graph or another takes."""
    return tuple(requirement_text(one) for one in contract.requirements if one.source != SPECIALIZED)


def divided(contract: Contract, ranges: Ranges) -> Divided:
    """Ranges as a contract sees them."""
    needed = needed_by_all(contract)
    same = representatives(contract.requirements, list(contract.example))
    return Divided(needed, Ranges(same.get(ranges.name, ranges.name), ranges.bounds))


def check_ranges(contract: Contract, ranges: Ranges) -> tuple[list[SpecFinding], list[str]]:
    """Sizes that the program takes and no range does, or two do; what is not decided."""
    given = divided(contract, ranges)
    leader = given.ranges
    found: list[SpecFinding] = []
    undecided: list[str] = []
    outside = [" or ".join(negated(one) for one in leader.conditions(at)) for at in range(len(ranges.bounds))]
    _note(GAP, "no range takes it", [*given.needed, *outside], contract.example, found, undecided, leader.name)
    for at in range(len(ranges.bounds)):
        for other in range(at + 1, len(ranges.bounds)):
            both = [*given.needed, *leader.conditions(at), *leader.conditions(other)]
            words = f"two ranges take it, {leader.said(at)} and {leader.said(other)}: the first wins"
            _note(OVERLAP, words, both, contract.example, found, undecided, leader.name)
    return found, undecided


def undivided(contract: Contract, ranges: Ranges) -> list[str]:
    """Branches that a range leaves open: the graph for it would need both sides."""
    given = divided(contract, ranges)
    leader = given.ranges
    return [
        f"{leader.said(at)}: `{branch.text}`"
        for at in range(len(ranges.bounds))
        for branch in contract.branches
        if leader.name in read(branch.text).names
        and not follows(branch.text, [*given.needed, *leader.conditions(at)])
        and not follows(negated(branch.text), [*given.needed, *leader.conditions(at)])
    ]


def _note(
    code: str,
    words: str,
    conditions: Sequence[str],
    example: Mapping[str, int],
    found: list[SpecFinding],
    undecided: list[str],
    name: str,
) -> None:
    """A finding where some sizes satisfy the conditions; nothing where it is proved that none do."""
    if refuted(conditions):
        return
    sizes = find(conditions, example, _MOST_SIZE)
    if sizes.sizes is not None:
        found.append(SpecFinding(code, name, f"`{name} == {sizes.sizes[name]}`: {words}", sizes.sizes))
    elif not sizes.proved:
        undecided.append(" and ".join(conditions))
