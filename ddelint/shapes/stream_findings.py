"""What a stream of sizes costs, as findings: each line, or input dimension, because of which torch compiled again."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ddelint.knowledge.catalog import rule
from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_streams import Cause, Compiled, Remedy, Sizes, StreamFinding
from ddelint.shapes.facts import read

ASSUMED = "DDE406"


def recompilations(
    contract: Contract, foretold: Sequence[Compiled], counted: Collection[int]
) -> Iterator[StreamFinding]:
    """One finding for each cause of a recompilation that was foretold and that torch made."""
    found: dict[tuple[object, ...], list[tuple[Cause, int]]] = {}
    for one in foretold:
        for cause in one.causes if one.call in counted else ():
            asks = (cause.span,) if cause.span is not None else tuple(sorted(read(cause.guard).names))
            found.setdefault((cause.code, *asks), []).append((cause, one.call))
    for causes in found.values():
        cause = causes[0][0]
        expression = cause.line or " and ".join(sorted(read(cause.guard).names))
        yield StreamFinding(
            cause.code,
            rule(cause.code).message.format(expression=expression),
            tuple(dict.fromkeys(one.guard for one, _ in causes)),
            tuple(dict.fromkeys(call for _, call in causes)),
            *_place(contract, cause),
        )


def assumed(contract: Contract, remedy: Remedy, stream: Sequence[Sizes]) -> Iterator[StreamFinding]:
    """DDE406 where the one graph for all sizes gives something else than eager, without a word."""
    different = [dict(sizes) for sizes in remedy.different]
    calls = [number for number, sizes in enumerate(stream, 1) if dict(sizes) in different]
    if calls:
        said = f"compiled with {', '.join(remedy.marks)}, the program differs from eager"
        yield StreamFinding(ASSUMED, said, remedy.marks, tuple(calls), *_place(contract))


def _place(contract: Contract, cause: Cause | None = None) -> tuple[str, int]:
    """The line that asks; that of the program's function, where torch asks by itself."""
    span = cause.span if cause is not None and cause.span is not None else contract.function
    return (span.filename, span.row) if span is not None else (contract.filename, 0)
