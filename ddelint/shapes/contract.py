"""One entry's contract: its sizes read off the example, its ways followed, what they come to. Runs in the worker."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import torch

from ddelint.nouns.contracts import (
    BOUNDED,
    BRANCHED,
    COUPLED,
    DERIVED,
    DIVISIBLE,
    EQUAL,
    FIXED,
    FREE,
    SPECIALIZED,
    UNKNOWN,
    Branch,
    Contract,
    Dimension,
    Requirement,
)
from ddelint.nouns.diagnostics import Span
from ddelint.nouns.protocol import SessionOptions
from ddelint.shapes.deriving import Derived, derive, possible, without_repetitions
from ddelint.shapes.facts import Sizes, dimension_of, read, size_name
from ddelint.shapes.following import with_followers
from ddelint.shapes.linear_forms import number_said
from ddelint.shapes.paths import MOST_RUNS, Explored, explore
from ddelint.shapes.probing import Probed, probe
from ddelint.shapes.requirements import requirement_text
from ddelint.shapes.trying import Eager, handed_over, leaves_of, lists_of
from ddelint.shapes.widening import widened
from ddelint.trace import torch_internals
from ddelint.trace.entry import Entry

_SHARE_OF_TIME = 0.5


def contract_of(entry: Entry, options: SessionOptions, most_runs: int = MOST_RUNS) -> Contract:
    """What the entry needs of the sizes of its inputs, those dimensions that are unbacked."""
    started = monotonic()
    leaves = leaves_of(entry, options.seed)
    named = {place: value for place, value in leaves.items() if isinstance(value, torch.Tensor)}
    entry = replace(entry, unbacked={place: found for place, found in entry.unbacked.items() if place in named})
    sizes = {
        f"{name}.shape[{dimension}]": int(named[name].shape[dimension])
        for name, dimensions in entry.unbacked.items()
        for dimension in dimensions
    }
    ends_at = started + options.timeout * _SHARE_OF_TIME
    static: set[str] = set()

    def explored_without() -> Explored:
        """The ways, the `static` sizes as they are in the example."""
        kept = {name: size for name, size in sizes.items() if name not in static}
        narrowed = _unbacked(entry, kept) if static else entry
        return explore(narrowed, options.paths, options.seed, kept, ends_at - monotonic(), most_runs)

    explored = explored_without()
    took = monotonic() - started
    ones: list[Requirement] = []
    while found := _broadcast(explored):
        ones += found
        static |= {name for one in ones for name in read(one.text).names}
        explored = explored_without()
    derived = derive(explored)
    fixed = _only_numbers(derived, sizes)
    if fixed and ends_at - monotonic() > took:
        ones += fixed.values()
        static |= fixed.keys()
        explored = explored_without()
        derived = derive(explored)
    derived = replace(derived, requirements=(*derived.requirements, *ones))
    probed, eager = None, Eager(entry, options.seed)
    if any(path.completed for path in explored.paths):
        derived = replace(derived, requirements=with_followers(derived.requirements, sizes, eager))
        everywhere = widened(derived.requirements, sizes, eager)
        derived = replace(derived, requirements=tuple(without_repetitions(everywhere)))
        probed = probe([requirement_text(one) for one in derived.requirements], sizes, eager, options.seed)
        seen = [_seen(fact, *found, eager) for fact, found in probed.facts.items()]
        derived = replace(derived, requirements=tuple(without_repetitions([*derived.requirements, *seen])))
    always = [one.text for one in derived.requirements if not one.when]
    derived = replace(derived, undecided=tuple(possible(derived.undecided, always)))
    completed = sum(path.completed for path in explored.paths)
    return Contract(
        label=entry.label,
        filename=entry.filename,
        function=_function(eager.program),
        dimensions=tuple(
            _dimension(name, size, derived.requirements, derived.branches)
            if completed
            else Dimension(name, size, UNKNOWN)
            for name, size in sizes.items()
        ),
        requirements=derived.requirements,
        branches=derived.branches,
        ranks={name: tensor.dim() for name, tensor in named.items()},
        others=tuple(place for place in leaves if place not in named),
        lists=lists_of(entry, options.seed),
        handed=handed_over(entry, options.seed, eager.program),
        spec_argument=torch_internals.spec_argument(),
        undecided=derived.undecided,
        notes=(*_notes(explored), *(_unexplained(probed) if probed is not None else ())),
        paths=completed,
        runs=len(explored.paths),
        complete=bool(completed)
        and not explored.ended
        and not any(path.ending == "cut" for path in explored.paths)
        and not derived.undecided
        and not (probed is not None and (probed.unexplained or probed.cut)),
        seconds=monotonic() - started,
    )


def _broadcast(explored: Explored) -> list[Requirement]:
    """The sizes of 1 that the example is refused for: broadcast in eager, and no other size compiled for all sizes."""
    example = explored.paths[0] if explored.paths else None
    if example is None or example.ending != "refused" or example.sizes != explored.sizes:
        return []
    last = example.steps[-1]
    ones = [name for name in sorted(read(last.text).names) if example.sizes.get(name) == 1]
    return [Requirement(f"{name} == 1", "torch", last.span, last.code, detail="broadcast") for name in ones]


def _only_numbers(derived: Derived, example: Sizes) -> dict[str, Requirement]:
    """The sizes for which there is one number whatever the others are, where something depends on others besides.

    With these as they are, torch asks less: strides that such a size is a factor of can be told apart.
    """
    numbers = {
        said[0]: one
        for one in derived.requirements
        if one.source == "torch"
        and not one.when
        and (said := number_said(one.text))
        and example.get(said[0]) == said[1]
    }
    texts = [*derived.undecided, *(one.text for one in derived.branches)]
    return numbers if any(read(text).names & numbers.keys() for text in texts) or derived.undecided else {}


def _unbacked(entry: Entry, sizes: Sizes) -> Entry:
    """The entry with just these dimensions unbacked."""
    found: dict[str, tuple[int, ...]] = {}
    for place, dimension in map(dimension_of, sizes):
        found[place] = (*found.get(place, ()), dimension)
    return replace(entry, unbacked=found)


def _seen(fact: str, error: str, sizes: Sizes, eager: Eager) -> Requirement:
    """A condition that only running the program has shown."""
    span, code = eager.places.get(error, (None, ""))
    return Requirement(fact, "eager", span, code, (), error, sizes)


def _unexplained(probed: Probed) -> Iterator[str]:
    if probed.cut:
        yield f"held against eager on {probed.drawn} drawn inputs; no time was left for more"
    for error, sizes in probed.unexplained.items():
        said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        yield f"eager raises for sizes that this allows, and no condition on sizes was found behind it: {said}: {error}"
    for error, sizes in list(probed.about_values.items())[:1]:
        said = ", ".join(f"{name} = {size}" for name, size in sizes.items())
        yield f"the values that inputs hold must fit their sizes, too: the example's do not for {said}: {error}"


def _function(program: Any) -> Span | None:
    function: Any = getattr(program, "forward", program)
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    return Span(code.co_filename, code.co_firstlineno, 1, code.co_firstlineno, 2) if code is not None else None


def _dimension(name: str, size: int, requirements: Sequence[Requirement], branches: Sequence[Branch]) -> Dimension:
    own = [one for one in requirements if name in read(one.text).names]
    equal = {name, *(other for one in own if not one.when and _kind(one) == EQUAL for other in read(one.text).names)}
    numbers = [one for one in requirements if one.source == SPECIALIZED and read(one.text).names <= equal]
    always = [_kind(one) for one in (*own, *numbers) if not one.when]
    sometimes = [_kind(one) for one in own if one.when]
    decided = any(name in read(branch.text).names for branch in branches)
    order = (FIXED, SPECIALIZED, EQUAL, DERIVED, DIVISIBLE, BOUNDED, COUPLED)
    kinds = always or ([BRANCHED] if decided else sometimes)
    kind = next((one for one in (*order, BRANCHED) if one in kinds), FREE)
    return Dimension(name, size, kind, tuple(dict.fromkeys(map(_said, own))))


def _said(one: Requirement) -> str:
    return f"{one.text} where {' and '.join(one.when)}" if one.when else one.text


def _kind(requirement: Requirement) -> str:
    if requirement.source == SPECIALIZED:
        return SPECIALIZED
    fact = read(requirement.text)
    match fact.node:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            if len(fact.names) == 1:
                return DIVISIBLE if any(isinstance(n, ast.BinOp) for n in ast.walk(fact.node)) else FIXED
            if size_name(left) and size_name(right):
                return EQUAL
            return DERIVED if size_name(left) or size_name(right) else COUPLED
    return BOUNDED if len(fact.names) == 1 else COUPLED


def _notes(explored: Explored) -> list[str]:
    notes = []
    asking = sum(path.asks_data > 0 for path in explored.paths)
    if asking:
        notes.append("data decides on the way, too: `ddelint check` says where; one answer was followed here")
    if explored.ended:
        notes.append(f"{len(explored.paths)} runs did not reach every combination of conditions")
    if not any(path.completed for path in explored.paths):
        first = explored.paths[0] if explored.paths else None
        why = first.error if first is not None and first.error else "no run ended well"
        notes.append(f"nothing could be followed to its end: {why}")
    return notes
