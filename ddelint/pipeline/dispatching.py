"""`shapes --dispatch`: a graph for each part of the sizes, written as code, tried as written, measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ddelint.nouns.contracts import Contract
from ddelint.nouns.dispatches import COMPILED, Cost, Dispatch, GraphPlan, Part, Tried
from ddelint.nouns.wire import to_wire
from ddelint.pipeline.beside import write_beside
from ddelint.shapes.ahead_writing import ahead_text
from ddelint.shapes.dispatch_writing import MARK, beside, dispatcher_text
from ddelint.shapes.dispatching import (
    is_proved_total,
    merged,
    not_total,
    open_branches,
    parts_of,
    plans_of,
    splits_of,
)
from ddelint.shapes.facts import read
from ddelint.shapes.names import names_of
from ddelint.shapes.places import root_of
from ddelint.shapes.ranges_given import Ranges, check_ranges
from ddelint.shapes.signatures import signature_of
from ddelint.shapes.specs import spec_of

if TYPE_CHECKING:
    from ddelint.trace.session import Session

ALL, BACKED = "one graph for all", "backed, recompiled"
"""The ways of compiling that a dispatcher is held against."""


@dataclass(frozen=True, slots=True)
class Graphs:
    """What is wanted of a dispatcher."""

    ranges: tuple[Ranges, ...] = ()
    most: int | None = None
    """No more graphs than these: ranges are merged."""
    measure: bool = False
    form: str = COMPILED
    """Compiled when a call needs it; or, ahead, exported or packaged."""


def dispatch(session: Session, contract: Contract, wanted: Graphs) -> Dispatch:
    """Plan, write and try a dispatcher for an entry. Raises PipelineError, OSError where it cannot be written."""
    names = names_of(contract)
    planned = _planned(contract, wanted, names)
    if planned.problems:
        return planned
    costs = _costs(session, contract, planned.graphs, names) if wanted.measure or wanted.most else ()
    if wanted.most is not None and len(planned.graphs) > wanted.most and not _uncompiled(costs):
        planned = _within_budget(session, contract, planned, costs, wanted.most, names)
        if planned.problems:
            return replace(planned, costs=costs)
        costs = _costs(session, contract, planned.graphs, names)
    planned = replace(planned, costs=costs, said=(*planned.said, *_same_code(contract, planned.graphs, costs, names)))
    if wrong := _uncompiled(costs):
        return replace(planned, problems=wrong)
    text = _text(contract, planned, names, wanted.form)
    if text is None:
        return replace(planned, problems=(_INSIDE if _is_nested(contract) else _NOT_REPEATED,))
    planned = _tried(session, replace(planned, form=wanted.form), text)
    if planned.problems:
        return planned
    return replace(planned, filename=write_beside(Path(beside(contract.filename)), text, MARK, "shapes --dispatch"))


_NOT_REPEATED = (
    "the parameters cannot be written again for graphs that are loaded without the program: --as compiled can"
)
_INSIDE = (
    "tensors inside of an argument are not written for graphs that are loaded without the program: --as compiled can"
)


def _is_nested(contract: Contract) -> bool:
    return any(place != root_of(place) for place in contract.ranks)


def _text(contract: Contract, planned: Dispatch, names: Mapping[str, str], form: str) -> str | None:
    if form == COMPILED:
        return dispatcher_text(contract, planned.graphs, names, bool(contract.branches))
    signature = None if _is_nested(contract) else signature_of(contract)
    return None if signature is None else ahead_text(contract, planned.graphs, names, signature, form)


def _planned(contract: Contract, wanted: Graphs, names: Mapping[str, str]) -> Dispatch:
    unknown = [ranges.name for ranges in wanted.ranges if ranges.name not in contract.example]
    if unknown:
        return Dispatch(problems=tuple(f"{name} is no input dimension" for name in unknown))
    splits = splits_of(contract, wanted.ranges, names)
    about = tuple(split.about for split in splits)
    if not splits:
        return Dispatch(
            problems=("no branch of the program decides by a size: one graph does, or --ranges says which",)
        )
    wrong = [one.message for ranges in wanted.ranges for one in check_ranges(contract, ranges)[0]]
    if wrong:
        return Dispatch(about, problems=tuple(wrong))
    parts = parts_of(contract, splits)
    undivided = [
        f"{part.words}: both sides of `{branch.text}` (line {branch.span.row}) lie within"
        for part in parts
        for branch in open_branches(contract, part)
    ]
    if undivided:
        return Dispatch(about, problems=tuple(undivided))
    proved = is_proved_total(contract, splits)
    missing = None if proved else not_total(contract, parts)
    if missing is not None:
        sizes = ", ".join(f"{name} = {size}" for name, size in missing.items())
        return Dispatch(about, problems=(f"no graph takes {sizes}",))
    plans, empty = plans_of(contract, parts, names)
    said = (
        "each size that the program takes has one graph: proved"
        if proved
        else "that each size has one graph is not proved"
    )
    return Dispatch(about, tuple(plans), said=(said, *empty))


# -------------------------------------------------------------------------------------------------------------- tried


def _tried(session: Session, planned: Dispatch, text: str) -> Dispatch:
    cases = list({tuple(s.items()): s for plan in planned.graphs for s in (plan.first, *plan.cases)}.values())
    calls = [plan.first for plan in planned.graphs] if planned.form != COMPILED else []
    tried = session.try_dispatch(text, cases, calls)
    if tried.failure is not None or tried.error:
        message = tried.error or (tried.failure.message if tried.failure else "")
        return replace(planned, tried=tried, problems=(f"what was to be written does not run: {message}",))
    wrong = [one for one in (*tried.outcomes, *tried.recompiled) if one.ended not in ("same", "raised")]
    problems = [f"{_sizes(one.sizes)}: {one.ended} {one.detail}".rstrip() for one in wrong]
    again = [f"torch compiles again at {_sizes(sizes)}" for sizes in _compiled_again(planned.graphs, tried)]
    return replace(planned, tried=tried, problems=tuple(problems), said=(*planned.said, *again))


def _compiled_again(plans: Sequence[GraphPlan], tried: Tried) -> Iterator[Mapping[str, int]]:
    """The sizes of calls for which a graph was there, and another one was compiled all the same."""
    begun: set[str] = set()
    for outcome, count in zip(tried.outcomes, tried.compiled_by):
        name = next((plan.part.name for plan in plans if _belongs(outcome.sizes, plan.part)), "")
        if count > (name not in begun):
            yield outcome.sizes
        begun.add(name)


def _belongs(sizes: Mapping[str, int], part: Part) -> bool:
    return all(read(text).holds(sizes) for text in part.conditions)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {size}" for name, size in sizes.items())


# ----------------------------------------------------------------------------------------------------------- measured


def _costs(
    session: Session, contract: Contract, plans: Sequence[GraphPlan], names: Mapping[str, str]
) -> tuple[Cost, ...]:
    arms = [_arm(plan) for plan in plans]
    everything = {plan.part.words: dict(plan.first) for plan in plans}
    whole = spec_of(contract, names)
    hints = _hints(max(plans, key=lambda plan: all(size > 1 for size in plan.first.values())))
    arms.append({"name": ALL, "spec": to_wire(whole), "hints": hints, "cases": everything})
    arms.append({"name": BACKED, "spec": None, "hints": {}, "cases": everything})
    return session.graph_costs(arms).arms


def _arm(plan: GraphPlan) -> dict[str, Any]:
    return {
        "name": plan.part.words,
        "spec": to_wire(plan.spec),
        "hints": _hints(plan),
        "cases": {plan.part.words: dict(plan.first)},
    }


def _hints(plan: GraphPlan) -> dict[str, int]:
    return {text: plan.first[name] for name, text in plan.spec.dimensions.items() if plan.first[name] > 1}


def _uncompiled(costs: Sequence[Cost]) -> tuple[str, ...]:
    """What Inductor says of graphs of the dispatcher that it does not compile."""
    own = [one for one in costs if one.error and one.name not in (ALL, BACKED)]
    return tuple(f"Inductor does not compile it: {one.error}" for one in own)


def _cost(costs: Sequence[Cost], plan: GraphPlan) -> Cost | None:
    return next((one for one in costs if one.name == plan.part.words), None)


def _same_code(
    contract: Contract, plans: Sequence[GraphPlan], costs: Sequence[Cost], names: Mapping[str, str]
) -> list[str]:
    """Neighbours that would do with one graph: Inductor writes the same for both."""
    return [
        f"{one.part.words} and {other.part.words} come to the same code: one graph would do"
        for one, other in pairwise(plans)
        if merged(contract, one, other, names) is not None and _differing(costs, one, other) == 0
    ]


def _differing(costs: Sequence[Cost], one: GraphPlan, other: GraphPlan) -> int | None:
    """Lines in which the code of two graphs differs; None where one was not compiled."""
    first, second = _cost(costs, one), _cost(costs, other)
    if first is None or second is None or not first.code or not second.code:
        return None
    from ddelint.verify.generated_code import difference

    return difference(["\n".join(first.code)], ["\n".join(second.code)]).changed


def _within_budget(
    session: Session,
    contract: Contract,
    planned: Dispatch,
    costs: Sequence[Cost],
    most: int,
    names: Mapping[str, str],
) -> Dispatch:
    """Merge neighbours, those with the same code first, then those whose code differs least."""
    plans, said = list(planned.graphs), list(planned.said)
    known = list(costs)
    while len(plans) > most:
        pairs = [
            (differing, at, together)
            for at, (one, other) in enumerate(pairwise(plans))
            if (together := merged(contract, one, other, names)) is not None
            and not open_branches(contract, together.part)
            and (differing := _differing(known, one, other)) is not None
        ]
        if not pairs:
            text = f"{len(plans)} graphs are the fewest, not {most}: a branch lies between each two of them"
            return replace(planned, graphs=tuple(plans), problems=(text,), said=tuple(said))
        differing, at, together = min(pairs, key=lambda pair: pair[:2])
        why = "the same code" if not differing else f"{differing} lines of their code differ"
        said.append(f"{plans[at].part.words} and {plans[at + 1].part.words} are one graph: {why}")
        plans[at : at + 2] = [together]
        known += session.graph_costs([_arm(together)]).arms
    return replace(planned, graphs=tuple(plans), said=tuple(said))
