"""A requirement as a condition of its own."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ddelint.nouns.contracts import Branch, Contract, Requirement
from ddelint.shapes.canonical import representatives, requirement_renamed
from ddelint.shapes.extremes import without_extremes
from ddelint.shapes.facts import Sizes, as_true, negated, read, size_name
from ddelint.shapes.linear_forms import follows, linear, multiple_said
from ddelint.shapes.plain import plain
from ddelint.shapes.products import cancelled


def requirement_text(one: Requirement) -> str:
    """The requirement as one condition, whatever it hangs on."""
    if not one.when:
        return one.text
    return " or ".join(f"({text})" for text in (*(as_true(text, False) for text in one.when), one.text))


def side_taken(branch: Branch, sizes: Sizes) -> str:
    """How a branch comes out for sizes, as a condition."""
    return plain(as_true(branch.text, bool(read(branch.text).holds(sizes))))


def sharpened(texts: Sequence[str]) -> list[str]:
    """Conditions that hold together, each without the alternatives that the others exclude: `x != 1` as `x >= 2` beside
    `x >= 1`, `x <= 3 or x >= 8` as `x >= 8` beside `x % 4 == 0` and `x >= 1`; and without what cancels out beside them.
    """
    found = list(texts)
    for at, text in enumerate(texts):
        others = [*found[:at], *found[at + 1 :]]
        found[at] = text = beside(text, others)
        left = [one for one in _alternatives(text) if not follows(negated(one), others)]
        if 0 < len(left) < len(_alternatives(text)):
            found[at] = plain(" or ".join(f"({one})" for one in left))
    for text in list(found):
        if linear(read(text)) is None and follows(text, [other for other in found if other is not text]):
            found.remove(text)
    return list(dict.fromkeys(found))


def beside(text: str, given: Sequence[str]) -> str:
    """A condition without what cancels out where the given ones hold: `4 * (w // 4) < h * w` as `h >= 2`."""
    multiples = [said for other in given if (said := multiple_said(other)) is not None]
    return plain(cancelled(text, multiples, partial(is_positive, given=given)))


def is_positive(factor: str, given: Sequence[str]) -> bool:
    """Whether a size, or a quotient of sizes, is at least one where the given conditions hold."""
    return follows(f"{factor} >= 1", given)


def _alternatives(text: str) -> list[str]:
    match read(text).node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return [ast.unparse(value) for value in values]
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[ast.Constant(value=int(value))]) if size_name(left):
            name = ast.unparse(left)
            return [f"{name} <= {value - 1}", f"{name} >= {value + 1}"]
    return [text]


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
