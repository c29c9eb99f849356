"""`shapes --stream`: which calls of a stream are compiled for again, against what torch does; what one graph needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ddelint.nouns.contracts import Contract
from ddelint.nouns.size_specs import SizeSpec
from ddelint.nouns.size_streams import Forecast, Remedy, Sizes
from ddelint.shapes.facts import dimension_of
from ddelint.shapes.foretelling import dividing, foretell, numbered, outside, spec_for, varying
from ddelint.shapes.names import names_of
from ddelint.shapes.stream_findings import assumed, recompilations
from ddelint.shapes.streams import UnreadableStream, read_stream

if TYPE_CHECKING:
    from ddelint.trace.session import Session


def forecast(session: Session, contract: Contract, source: str, text: str) -> Forecast:
    """What a stream costs an entry; `source`: the file that `text` is of."""
    try:
        stream = read_stream(text, contract.example)
    except UnreadableStream as problem:
        return Forecast(source, error=str(problem))
    refused = outside(contract, stream)
    kept = [sizes for sizes in stream if sizes not in refused]
    if not kept:
        return Forecast(source, len(stream), error="the program takes none of these sizes")
    kinds = list({tuple(sizes.items()): sizes for sizes in kept}.values())
    calls = [next(at for at, sizes in enumerate(stream, 1) if sizes == kind) for kind in kinds]
    counted = session.count_graphs(kinds)
    foretold = foretell(contract, kinds, counted.dynamic, counted.unbacked)
    said = [f"{len(refused)} of its calls have sizes that the program does not take"] if refused else []
    compiled = tuple(replace(one, call=calls[one.call - 1]) for one in foretold)
    counted = replace(counted, calls=tuple(calls[at - 1] for at in counted.calls))
    remedy = _remedy(session, contract, kinds, said)
    found = [*recompilations(contract, compiled, counted.calls), *assumed(contract, remedy, stream)]
    return Forecast(source, len(stream), len(kinds), compiled, counted, remedy, tuple(found))


_OTHER_LINE = "`ddelint check --unbacked` looks for another line"
_OTHER_GRAPHS = f"`--dispatch` writes a graph for each side; {_OTHER_LINE}"


def _remedy(session: Session, contract: Contract, kinds: Sequence[Sizes], said: Sequence[str]) -> Remedy:
    if not varying(kinds):
        return Remedy(said=(*said, "nothing varies"))
    branches = dividing(contract, kinds)
    lines = [f"`{b.code}` (line {b.span.row}) goes both ways: no marks make one graph of it" for b in branches]
    lines += [
        f"`{one.code}`{f' (line {one.span.row})' if one.span else ''} takes one size for each graph"
        for one in numbered(contract, kinds)
    ]
    if lines:
        return Remedy(said=(*said, *dict.fromkeys(lines), _OTHER_GRAPHS if branches else _OTHER_LINE))
    spec = spec_for(contract, kinds, names_of(contract))
    trial = session.try_spec(spec, kinds[0], kinds)
    if trial.failure is not None or not trial.compiled:
        reason = trial.error or (trial.failure.message if trial.failure else "")
        return Remedy(marks_of(spec), said=(*said, f"with these marks it cannot be compiled: {reason}"))
    bad = [one for one in trial.outcomes if one.ended not in ("same", "raised")]
    wrong = [f"{one.ended} at {dict(one.sizes)}: {one.detail}" for one in bad]
    different = tuple(one.sizes for one in bad if one.ended == "differs" and not one.eager)
    return Remedy(marks_of(spec), 0 if wrong else 1, (*said, *wrong), different)


def marks_of(spec: SizeSpec) -> tuple[str, ...]:
    """A spec as lines that mark inputs."""
    marked: Mapping[str, str] = {name: text for name, text in spec.dimensions.items() if text in spec.variables}
    lines = []
    for name, variable in marked.items():
        parameter, dimension = dimension_of(name)
        low, high = spec.variables[variable]
        bounds = (f", min={low}" if low else "") + (f", max={high}" if high is not None else "")
        shared = list(marked.values()).count(variable) > 1
        group = f', shape_id="{variable}"' if shared else ""
        lines.append(f"mark_unbacked({parameter}, {dimension}{bounds}{group})")
    return tuple(lines)
