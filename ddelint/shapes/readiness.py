"""How much of a program is ready for sizes that nobody compiled it for: dimensions, and lines that ask about sizes."""

from __future__ import annotations

from collections.abc import Sequence

from ddelint.nouns.contracts import FIXED, SPECIALIZED, UNKNOWN, Contract
from ddelint.nouns.size_readiness import Readiness, Share
from ddelint.shapes.canonical import representatives
from ddelint.shapes.facts import read


def readiness_of(contract: Contract) -> Readiness:
    """The shares of one entry."""
    if contract.failure is not None:
        return Readiness(contract.label, Share(), Share(), failure=contract.failure.message)
    if any(one.kind == UNKNOWN for one in contract.dimensions):
        return Readiness(contract.label, Share(), Share(), failure="no way through it was followed to its end")
    same = representatives(contract.requirements, list(contract.example))
    special = [one for one in contract.requirements if one.source == SPECIALIZED]
    decided = {name for branch in contract.branches for name in read(branch.text).names}
    decided |= {name for one in special for name in read(one.text).names}
    decided |= {same[name] for name in decided if name in same}
    counted = [one.name for one in contract.dimensions if one.kind != FIXED]
    ready = [name for name in counted if same.get(name, name) not in decided]
    asked = {(one.span.filename, one.span.row) for one in contract.requirements if one.span is not None}
    open_ = {(branch.span.filename, branch.span.row): branch.code for branch in contract.branches}
    open_ |= {(one.span.filename, one.span.row): one.code for one in special if one.span is not None}
    every = asked | open_.keys()
    return Readiness(
        contract.label,
        Share(len(ready), len(counted)),
        Share(len(every) - len(open_), len(every)),
        tuple((filename, row, code) for (filename, row), code in sorted(open_.items())),
    )


def total(found: Sequence[Readiness]) -> tuple[Share, Share]:
    """Dimensions and lines of all entries together."""
    return sum((one.dimensions for one in found), Share()), sum((one.lines for one in found), Share())
