"""A requirement as a condition of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ddelint.nouns.contracts import Branch, Contract, Requirement
from ddelint.shapes.canonical import representatives, requirement_renamed
from ddelint.shapes.extremes import without_extremes
from ddelint.shapes.facts import Sizes, as_true, negated, read
from ddelint.shapes.linear_forms import follows
from ddelint.shapes.plain import plain


def requirement_text(one: Requirement) -> str:
    """The requirement as one condition, whatever it hangs on."""
    if not one.when:
        return one.text
    return " or ".join(f"({text})" for text in (*(as_true(text, False) for text in one.when), one.text))


def side_taken(branch: Branch, sizes: Sizes) -> str:
    """How a branch comes out for sizes, as a condition."""
    return plain(as_true(branch.text, bool(read(branch.text).holds(sizes))))


def contract_within(contract: Contract, within: Sequence[str]) -> Contract:
    """A contract where `within` holds (a side of a branch, a range): without the conditions that hold there, and
    without what is needed elsewhere only.
    """
    if not within:
        return contract
    always = [*within, *(one.text for one in contract.requirements if not one.when)]
    found: list[Requirement] = []
    for one in contract.requirements:
        if any(follows(negated(text), always) for text in one.when):
            continue
        when = tuple(text for text in one.when if not follows(text, always))
        chosen = without_extremes(one.text, [*always, *when])
        found.append(replace(one, text=one.text if chosen == one.text else plain(chosen), when=when))
    order = list(contract.example)
    names = representatives(found, order)
    return replace(contract, requirements=tuple(requirement_renamed(one, names, order) for one in found))
