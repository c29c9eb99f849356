"""`shapes --ranges`: ranges against a contract, and the graph for each range called at its ends and beyond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_specs import CheckedSpec, SizeSpec
from ddelint.shapes.names import names_of
from ddelint.shapes.ranges_given import Ranges, check_ranges, divided, undivided
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.specs import spec_of
from ddelint.shapes.witnesses import find

if TYPE_CHECKING:
    from ddelint.trace.session import Session

_LARGEST = 1 << 14
"""Sizes beyond are not run."""


def check_given(session: Session, contract: Contract, ranges: Ranges) -> CheckedSpec:
    """What is wrong with ranges, and how the graph for each fares."""
    origin = f"--ranges {ranges.name}"
    if ranges.name not in contract.example:
        said = f"{ranges.name} is no input dimension: {', '.join(contract.example)}"
        return CheckedSpec(SizeSpec(origin=origin), error=said, said=(said,))
    findings, undecided = check_ranges(contract, ranges)
    open_ = [f"both sides of a branch lie within {text}: that is two graphs" for text in undivided(contract, ranges)]
    names, leader = names_of(contract), divided(contract, ranges).ranges
    tried = [_tried(session, contract, leader, at, names) for at in range(len(ranges.bounds))]
    return CheckedSpec(SizeSpec(origin=origin), tuple(findings), tuple(undecided), said=(*open_, *tried))


def _tried(session: Session, contract: Contract, ranges: Ranges, at: int, names: Mapping[str, str]) -> str:
    """The graph for one range: called at both ends, at 0 and 1 and next to the range where the program takes that."""
    low, high = ranges.bounds[at]
    words, leader = ranges.said(at), ranges.name
    needed = [requirement_text(one) for one in contract.requirements]
    within = ranges.conditions(at)
    inside = find([*needed, *within], contract.example, _LARGEST).sizes
    if inside is None:
        return f"{words}: the program takes none of these sizes, or none that can be run"
    wanted = dict.fromkeys((low, low if high is None else high, low - 1, (high or low) + 1, 0, 1))
    cases = [
        found
        for size in wanted
        if size >= 0 and (found := find([*needed, f"{leader} == {size}"], contract.example, _LARGEST).sizes) is not None
    ]
    trial = session.try_spec(spec_of(contract, names, within), inside, cases)
    if trial.failure is not None or not trial.compiled:
        return f"{words}: no graph: {trial.error or (trial.failure.message if trial.failure else '')}"
    wrong, came = [], dict[str, list[str]]()
    for outcome in trial.outcomes:
        size = outcome.sizes[leader]
        belongs = low <= size and (high is None or size <= high)
        if outcome.ended not in (("same", "raised") if belongs else ("refused", "raised")):
            wrong.append(f"{leader} = {size}: {outcome.ended} {outcome.detail}".rstrip())
        came.setdefault(_CAME[outcome.ended], []).append(str(size))
    ran = [f"{what} at {', '.join(sizes)}" for what, sizes in came.items()]
    return f"{words}: " + "; ".join(wrong or ["one graph", *ran])


_CAME = {
    "same": "as eager",
    "differs": "not as eager",
    "refused": "refused",
    "raised": "raises as eager does",
    "broke": "breaks",
}
"""How an outcome is said of several sizes."""
