"""Differences where the sides of a decision meet: what they leave is not the same, or nothing is left to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ddelint.nouns.protocol import Decision, Mismatch
from ddelint.verify.frozen import Frozen
from ddelint.verify.mismatches import MEETING, TRACED_PATH
from ddelint.verify.references import Reference


@dataclass(frozen=True)
class Parting:
    """A decision whose other side, forced, leaves something else where the sides meet."""

    reference: Reference
    decision: Decision
    as_it_is: list[Mapping[str, Frozen]]
    mismatch: Mismatch


def met(reference: Reference, name: str, how: str) -> Mismatch:
    """The sides leave something else in `name`."""
    expected, _, got = how.partition(", and ")
    label, declared = reference.sample.label, reference.sample.declared
    return Mismatch(
        label,
        declared,
        TRACED_PATH,
        MEETING,
        f"{name} {expected}",
        f"{got} from the side that is compiled",
        base=reference.base,
    )


def void(reference: Reference, what: str, count: int) -> Mismatch:
    """On none of the inputs that take a side does the block do anything."""
    inputs = "the one input that takes it" if count == 1 else f"{count} inputs that take it"
    return Mismatch(
        reference.sample.label,
        reference.sample.declared,
        TRACED_PATH,
        MEETING,
        "something that the block does",
        f"nothing, on {inputs}: no input shows {what}",
        base=reference.base,
    )
