"""Sizes that are one number only because another size was made a number: `range(x.shape[0])`, then `x + y`.

Once a run has made a number of a size, torch says that number of whatever must equal it. Eager tells the two apart: it
takes another number for all of them together, and for a weight's width it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ddelint.nouns.contracts import SPECIALIZED, Requirement
from ddelint.shapes.facts import Sizes, read
from ddelint.shapes.linear_forms import number_said
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.witnesses import find


def with_followers(
    requirements: Sequence[Requirement], example: Sizes, eager: Callable[[Sizes], str]
) -> tuple[Requirement, ...]:
    """The same requirements; those that follow such a number are said to be one for each graph, too.

    `eager`: what the program raises for sizes; empty where it returns.
    """
    numbers = dict(said for one in requirements if one.source == SPECIALIZED and (said := number_said(one.text)))
    followers = [one for one in requirements if one.source == "torch" and _said(one) in numbers.values()]
    for group in [followers, *([one] for one in followers)] if numbers else []:
        if group and _takes_others(group, numbers, requirements, example, eager):
            return tuple(replace(one, source=SPECIALIZED) if one in group else one for one in requirements)
    return tuple(requirements)


def _said(one: Requirement) -> int | None:
    said = number_said(one.text)
    return said[1] if said is not None and not one.when else None


def _takes_others(
    group: Sequence[Requirement],
    numbers: dict[str, int],
    requirements: Sequence[Requirement],
    example: Sizes,
    eager: Callable[[Sizes], str],
) -> bool:
    """Whether eager takes one more for all of these sizes, and for those that were made numbers."""
    values = {_said(one) for one in group}
    wanted = [f"{name} == {value + 1}" for name, value in numbers.items() if value in values]
    wanted += [f"{name} == {value + 1}" for one in group if (value := _said(one)) for name in read(one.text).names]
    free = {one.text for one in group} | {one.text for one in requirements if one.source == SPECIALIZED}
    rest = [requirement_text(one) for one in requirements if one.text not in free]
    sizes = find([*wanted, *rest], example).sizes
    return sizes is not None and not eager(sizes)
