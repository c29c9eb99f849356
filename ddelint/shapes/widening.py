"""A requirement of one side of a branch that all sides have: eager raises on the others, too.

On each way torch asks in other words, and the runs show which sides those took: `batch >= 1 where height % 4 == 0`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ddelint.nouns.contracts import Requirement
from ddelint.shapes.facts import Sizes, negated
from ddelint.shapes.probing import draws
from ddelint.shapes.requirements import requirement_text

_RUN = 4
"""Sizes that must all raise."""


def widened(
    requirements: Sequence[Requirement], example: Sizes, eager: Callable[[Sizes], str]
) -> tuple[Requirement, ...]:
    """The same requirements, without conditions where eager raises for all sizes tried that break one elsewhere.

    `eager`: what the program raises for sizes; empty where it returns.
    """
    everywhere: dict[str, bool] = {}
    for one in requirements:
        if one.when and one.text not in everywhere:
            rest = [requirement_text(other) for other in requirements if other.text != one.text]
            side = " and ".join(f"({text})" for text in one.when)
            others = list(draws([*rest, negated(one.text), negated(side)], example, _RUN, seed=1))
            everywhere[one.text] = bool(others) and all(map(eager, others))
    return tuple(replace(one, when=()) if everywhere.get(one.text) else one for one in requirements)
