"""One name for sizes that are always equal: that of the first in the signature."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from ddelint.nouns.contracts import Branch, Requirement
from ddelint.shapes.facts import Unreadable, read, size_name, with_words


def representatives(requirements: Iterable[Requirement], order: Sequence[str]) -> dict[str, str]:
    """Each size that always equals another one → the first of them in `order`."""
    leader = {name: name for name in order}
    for one in requirements:
        pair = _pair(one.text) if not one.when else None
        if pair is not None and set(pair) <= leader.keys():
            first, second = sorted((leader[pair[0]], leader[pair[1]]), key=order.index)
            leader = {name: first if found == second else found for name, found in leader.items()}
    return {name: found for name, found in leader.items() if name != found}


def requirement_renamed(requirement: Requirement, names: Mapping[str, str], order: Sequence[str]) -> Requirement:
    """The requirement over the first names, an equality with the earlier one to the left."""
    pair = _pair(requirement.text)
    if pair is not None and not requirement.when and names.get(pair[0], pair[0]) == names.get(pair[1], pair[1]):
        _, second = sorted(pair, key=lambda name: order.index(name) if name in order else len(order))
        return replace(requirement, text=f"{names.get(second, second)} == {second}")
    when = tuple(renamed(text, names) for text in requirement.when)
    return replace(requirement, text=renamed(requirement.text, names), when=when)


def branch_renamed(branch: Branch, names: Mapping[str, str]) -> Branch:
    """The branch over the first names."""
    return replace(branch, text=renamed(branch.text, names))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A condition with other names for its sizes."""
    try:
        fact = read(text)
    except Unreadable:
        return text
    if not fact.names & names.keys():
        return text
    return with_words(text, names)


def _pair(text: str) -> tuple[str, str] | None:
    """The two sizes that a condition says are equal."""
    match read(text).node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            first, second = size_name(left), size_name(right)
            return (first, second) if first is not None and second is not None else None
    return None
