"""A program's sizes in parts, a graph for each: from ranges that are given, and from the branches that decide."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from ddelint.nouns.contracts import Branch, Contract
from ddelint.nouns.dispatches import GraphPlan, Part, Split
from ddelint.shapes.canonical import branch_renamed, representatives
from ddelint.shapes.facts import negated, read, unused, variable_for
from ddelint.shapes.linear_forms import follows, refuted
from ddelint.shapes.ranges_given import Ranges, divided, needed_by_all
from ddelint.shapes.specs import spec_of
from ddelint.shapes.witnesses import find

LARGEST = 1 << 14
"""Sizes beyond are not run."""
_INTERVAL = re.compile(r"(\d+)(\.\.(\d*))?")
_MOST_PARTS = 32


def splits_of(contract: Contract, given: Sequence[Ranges], names: Mapping[str, str]) -> list[Split]:
    """What decides: the given ranges, then what the branches of the program ask besides."""
    leading = [divided(contract, ranges).ranges for ranges in given]
    splits = [_by_ranges(ranges, names) for ranges in leading]
    done = {ranges.name for ranges in leading}
    same = representatives(contract.requirements, list(contract.example))
    others: dict[str, list[Branch]] = {}
    for branch in (branch_renamed(one, same) for one in contract.branches):
        bounds = _intervals(branch)
        if bounds is None:
            splits.append(_by_condition(branch))
        elif (name := next(iter(read(branch.text).names))) not in done:
            others.setdefault(name, []).append(branch)
    for name, branches in others.items():
        starts = sorted({low for branch in branches for low, _ in _intervals(branch) or ()} | {0})
        ends: list[int | None] = [start - 1 for start in starts[1:]]
        splits.append(_by_ranges(Ranges(name, tuple(zip(starts, [*ends, None]))), names))
    return splits


def parts_of(contract: Contract, splits: Sequence[Split]) -> list[Part]:
    """Every combination of parts that the program takes any sizes of."""
    needed = needed_by_all(contract)
    found: list[Part] = []
    for chosen in product(*(split.parts for split in splits)):
        conditions = tuple(dict.fromkeys(text for part in chosen for text in part.conditions))
        if not refuted([*needed, *conditions]):
            name = "_".join(filter(None, (part.name for part in chosen)))
            found.append(Part(", ".join(part.words for part in chosen), conditions, name))
    return found[:_MOST_PARTS]


def plans_of(contract: Contract, parts: Sequence[Part], names: Mapping[str, str]) -> tuple[list[GraphPlan], list[str]]:
    """A graph for each part; those for which no inputs can be made are left out, and named."""
    plans: list[GraphPlan] = []
    empty: list[str] = []
    taken: dict[str, object] = {}
    for part in parts:
        plan = _plan(contract, part, names)
        if plan is None:
            empty.append(f"{part.words}: the program takes none of these sizes, or none that can be run")
            continue
        name = unused(plan.part.name or "side", taken)
        taken[name] = None
        plans.append(replace(plan, part=replace(plan.part, name=name)))
    return plans, empty


def merged(contract: Contract, one: GraphPlan, other: GraphPlan, names: Mapping[str, str]) -> GraphPlan | None:
    """One graph for two ranges that lie side by side, all else being equal; None where they are no such ranges."""
    mine = [text for text in one.part.conditions if text not in other.part.conditions]
    theirs = [text for text in other.part.conditions if text not in one.part.conditions]
    common = [text for text in one.part.conditions if text in other.part.conditions]
    size = {name for text in (*mine, *theirs) for name in read(text).names}
    low, high = _bounds(mine), _bounds(theirs)
    if len(size) != 1 or low is None or high is None or low[1] is None or low[1] + 1 != high[0]:
        return None
    ranges = Ranges(next(iter(size)), ((low[0], high[1]),))
    together = _by_ranges(ranges, names).parts[0]
    said = [words for words in one.part.words.split(", ") if words in other.part.words.split(", ")]
    part = Part(", ".join([together.words, *said]), (*together.conditions, *common), together.name)
    return _plan(contract, part, names)


def open_branches(contract: Contract, part: Part) -> list[Branch]:
    """The branches that a part leaves open: a graph for it would need both sides."""
    given = [*needed_by_all(contract), *part.conditions]
    same = representatives(contract.requirements, list(contract.example))
    found = [branch_renamed(one, same) for one in contract.branches]
    return [one for one in found if not follows(one.text, given) and not follows(negated(one.text), given)]


def not_total(contract: Contract, parts: Sequence[Part]) -> Mapping[str, int] | None:
    """Sizes that the program takes and no part does; None where it is proved that there are none, or none is found."""
    outside = [_outside(part) for part in parts]
    return find([*needed_by_all(contract), *outside], contract.example).sizes


def is_proved_total(contract: Contract, splits: Sequence[Split]) -> bool:
    """Whether each split takes all sizes of the program, each of them once: then so do their combinations."""
    needed = needed_by_all(contract)
    for split in splits:
        outside = [_outside(part) for part in split.parts]
        if not refuted([*needed, *outside]):
            return False
        for at, part in enumerate(split.parts):
            for other in split.parts[at + 1 :]:
                if not refuted([*needed, *part.conditions, *other.conditions]):
                    return False
    return True


def _outside(part: Part) -> str:
    return " or ".join(f"({negated(text)})" for text in part.conditions) or "0 == 1"


# --------------------------------------------------------------------------------------------------- parts of a size


def _by_ranges(ranges: Ranges, names: Mapping[str, str]) -> Split:
    called = names.get(ranges.name) or variable_for(ranges.name)
    parts = []
    for at, (low, high) in enumerate(ranges.bounds):
        name = (
            f"{called}_{low}"
            if low == high
            else f"{called}_from_{low}"
            if high is None
            else f"{called}_{low}_to_{high}"
        )
        conditions = [text for text in ranges.conditions(at) if not text.endswith(">= 0")]
        parts.append(Part(f"{ranges.name}: {ranges.said(at)}", tuple(conditions), name))
    return Split(ranges.name, tuple(parts))


def _by_condition(branch: Branch) -> Split:
    sides = (branch.text, negated(branch.text))
    return Split(branch.text, tuple(Part(text, (text,)) for text in sides))


def _intervals(branch: Branch) -> list[tuple[int, int | None]] | None:
    """Where the sides of a branch on one size begin and end; None where that is no matter of ranges."""
    found: list[tuple[int, int | None]] = []
    for text in (*branch.true_ranges, *branch.false_ranges):
        match = _INTERVAL.fullmatch(text)
        if match is None:
            return None
        low, dots, high = int(match[1]), match[2], match[3]
        found.append((low, low if not dots else int(high) if high else None))
    return found or None


def _bounds(conditions: Sequence[str]) -> tuple[int, int | None] | None:
    """The range that conditions of one size say."""
    low, high = 0, None
    for text in conditions:
        _, sign, number = text.rpartition(" ")[0], text.split(" ")[-2], text.split(" ")[-1]
        if not number.isdigit():
            return None
        match sign:
            case "==":
                return int(number), int(number)
            case ">=":
                low = int(number)
            case "<=":
                high = int(number)
            case _:
                return None
    return low, high


# ------------------------------------------------------------------------------------------------------ one graph


def _plan(contract: Contract, part: Part, names: Mapping[str, str]) -> GraphPlan | None:
    needed = needed_by_all(contract)
    within = [*needed, *part.conditions]
    first = _typical(contract, part, within)
    if first is None:
        return None
    cases = [first, *_borders(contract, part, within, needed)]
    different = list({tuple(sizes.items()): sizes for sizes in cases}.values())
    own = tuple(sizes for sizes in different if all(read(text).holds(sizes) for text in part.conditions))
    return GraphPlan(part, spec_of(contract, names, part.conditions), first, tuple(different), own)


def _typical(contract: Contract, part: Part, within: Sequence[str]) -> Mapping[str, int] | None:
    """The example's sizes where they are of this part; else, of a range, its middle, or twice its beginning."""
    for name in dict.fromkeys(name for text in part.conditions for name in sorted(read(text).names)):
        own = [text for text in part.conditions if read(text).names == {name}]
        bounds = _bounds(own)
        if bounds is None or all(read(text).holds(contract.example) for text in own):
            continue
        low, high = bounds
        middle = 2 * max(low, 1) if high is None else min((low + high) // 2, 8 * max(low, 1))
        within = (
            [*within, f"{name} == {middle}"]
            if find([*within, f"{name} == {middle}"], contract.example).sizes
            else within
        )
    return find(within, contract.example, LARGEST).sizes


def _borders(
    contract: Contract, part: Part, within: Sequence[str], needed: Sequence[str]
) -> Iterator[Mapping[str, int]]:
    """Sizes at both ends of a part, next to these, and at 0 and 1, as far as the program takes them."""
    for name in dict.fromkeys(name for text in part.conditions for name in sorted(read(text).names)):
        bounds = _bounds([text for text in part.conditions if read(text).names == {name}])
        ends = (0, 1) if bounds is None else (bounds[0], bounds[0] - 1, bounds[1] or 0, (bounds[1] or 0) + 1, 0, 1)
        for size in dict.fromkeys(one for one in ends if one >= 0):
            sizes = find([*within, f"{name} == {size}"], contract.example, LARGEST).sizes
            sizes = sizes or find([*needed, f"{name} == {size}"], contract.example, LARGEST).sizes
            if sizes is not None:
                yield sizes
