"""A list of differences cut short: of each kind there is one, whatever else was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddelint.nouns.protocol import Mismatch


def few_of_each_kind(ranked: Sequence[Mismatch], most: int) -> list[Mismatch]:
    """In their order the first of each kind, and as many second ones as leave `most` at most.

    The first of a kind is never left out: what is only noted, of however many kinds, hides nothing that counts. The
    second one is of an input that was changed in another way, if there is any.
    """
    kinds: dict[Mismatch, list[int]] = {}
    for place, mismatch in enumerate(ranked):
        kind = replace(mismatch, sample="", expected="", got="", base="")
        kinds.setdefault(kind, []).append(place)
    firsts = [first for first, *_ in kinds.values()]
    seconds = sorted(
        next((place for place in others if _change(ranked[place]) != _change(ranked[first])), others[0])
        for first, *others in kinds.values()
        if others
    )
    return [ranked[place] for place in sorted([*firsts, *seconds[: max(0, most - len(firsts))]])]


def _change(mismatch: Mismatch) -> str:
    """What was made of the input set: `, in train()`."""
    return mismatch.sample.removeprefix(mismatch.base)
