"""What `shapes` prints: a contract for people, for machines, for a page."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ddelint.knowledge.catalog import rule
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
    Requirement,
)
from ddelint.nouns.dispatches import Dispatch
from ddelint.nouns.size_specs import CheckedSpec, SpecFinding
from ddelint.nouns.size_streams import Forecast
from ddelint.nouns.wire import to_wire
from ddelint.report import dispatching, foretelling
from ddelint.report.diff import shown_path
from ddelint.report.style import Style

_KINDS = {
    FREE: "any size",
    EQUAL: "tied to another",
    DERIVED: "follows from others",
    DIVISIBLE: "a multiple",
    BOUNDED: "within bounds",
    COUPLED: "in a condition with others",
    FIXED: "one size only",
    SPECIALIZED: "one graph for each size",
    BRANCHED: "any size; a branch decides by it",
    UNKNOWN: "not known",
}


_MOST_UNDECIDED = 5
"""Lines of a report about conditions that were not decided."""
_WIDEST = 60
"""Columns for a condition before the line that needs it."""
_LONGEST_REASON = 100


@dataclass(frozen=True, slots=True)
class Told:
    """What is told of one entry."""

    contract: Contract
    checked: Sequence[CheckedSpec] = ()
    """The specs that are declared."""
    forecast: Forecast | None = None
    dispatch: Dispatch | None = None


def together(
    contracts: Sequence[Contract],
    checked: Sequence[Sequence[CheckedSpec]],
    forecasts: Sequence[Forecast] = (),
    dispatches: Sequence[Dispatch] = (),
) -> list[Told]:
    """What each entry has of all that was asked for."""
    return [
        Told(
            contract,
            checked[at] if at < len(checked) else (),
            forecasts[at] if at < len(forecasts) and forecasts[at] != Forecast() else None,
            dispatches[at] if at < len(dispatches) and dispatches[at] != Dispatch() else None,
        )
        for at, contract in enumerate(contracts)
    ]


def render_text(told: Sequence[Told], style: Style) -> Iterator[str]:
    """A heading for each entry, a line for each dimension, requirement and branch; what is wrong with each spec."""
    for one in told:
        lines = [*_contract(one.contract, style), *checked_text(one.checked, one.contract.example, style)]
        lines += foretelling.text(one.forecast, style) if one.forecast is not None else ()
        lines += dispatching.text(one.dispatch, style) if one.dispatch is not None else ()
        yield from (style.line(line) for line in lines)


def render_json(told: Sequence[Told]) -> str:
    """An array with one object for each entry: the fields of `Contract`, `declared`, `stream` and `dispatch`.

    `declared`: what is wrong with specs; `stream`, `dispatch`: null where none was asked for.
    """
    found = [
        {
            **to_wire(one.contract),
            "declared": to_wire(tuple(one.checked)),
            "stream": to_wire(one.forecast) if one.forecast is not None else None,
            "dispatch": dispatching.plain(one.dispatch) if one.dispatch is not None else None,
        }
        for one in told
    ]
    return json.dumps(found, indent=2) + "\n"


def render_markdown(told: Sequence[Told]) -> Iterator[str]:
    """A section for each entry, with tables."""
    for one in told:
        contract = one.contract
        yield f"## {contract.label}"
        yield ""
        if contract.failure is not None:
            yield f"{contract.failure.message}"
            yield ""
            continue
        yield summary(contract)
        yield ""
        yield "| dimension | in the example | may be | needs |"
        yield "|---|---|---|---|"
        for dimension in contract.dimensions:
            needs = ", ".join(f"`{fact}`" for fact in dimension.facts)
            yield f"| `{dimension.name}` | {dimension.size} | {_KINDS[dimension.kind]} | {needs} |"
        yield ""
        yield from _markdown_requirements(contract.requirements)
        yield from _markdown_branches(contract.branches)
        for text in contract.undecided:
            yield f"- not decided: `{text}`"
        for note in contract.notes:
            yield f"- {note}"
        if contract.undecided or contract.notes:
            yield ""
        yield from _markdown_checked(one.checked, contract.example)
        if one.forecast is not None:
            yield from foretelling.markdown(one.forecast)
        if one.dispatch is not None:
            yield from dispatching.markdown(one.dispatch)


def summary(contract: Contract) -> str:
    """How much was followed, in one sentence."""
    if not contract.paths:
        return "no way through the program could be followed to its end"
    ways = f"{contract.paths} way{'' if contract.paths == 1 else 's'} through the program"
    return f"{ways}, {'all that there are' if contract.complete else 'not all that there are'}"


def _contract(contract: Contract, style: Style) -> Iterator[str]:
    yield style.paint(contract.label, "bold")
    if contract.failure is not None:
        yield f"  {style.paint('FAILS', 'bad')} {contract.failure.message}"
        yield from (f"      {line}" for line in contract.failure.traceback.rstrip().splitlines())
        return
    yield f"  {summary(contract)}"
    width = max((len(dimension.name) for dimension in contract.dimensions), default=0)
    for dimension in contract.dimensions:
        needs = f": {', '.join(dimension.facts)}" if dimension.facts else ""
        yield f"  {dimension.name:<{width}}  {dimension.size:>5}  {_KINDS[dimension.kind]}{needs}"
    if contract.requirements:
        yield style.paint("needs", "section")
        width = min(_WIDEST, max(len(_needed(one)) for one in contract.requirements))
        for one in contract.requirements:
            yield f"  {_needed(one):<{width}}  {_where(one)}  {_why(one)}".rstrip()
    if contract.branches:
        yield style.paint("branches", "section")
        for branch in contract.branches:
            yield f"  {branch.text}  {_place(branch)}  `{branch.code}`{_sides(branch)}"
    yield from _undecided(contract.undecided, style)
    for note in contract.notes:
        yield f"  {note}"


def _undecided(texts: Sequence[str], style: Style) -> Iterator[str]:
    for text in texts[:_MOST_UNDECIDED]:
        yield f"  {style.paint('not decided', 'bad')}  {text}"
    if len(texts) > _MOST_UNDECIDED:
        yield f"  and {len(texts) - _MOST_UNDECIDED} more: `--output-format json` has them"


def _needed(one: Requirement) -> str:
    return f"{one.text} where {' and '.join(one.when)}" if one.when else one.text


def _why(one: Requirement) -> str:
    reason = _shortened(one.detail.rstrip(": ")) if one.source in ("raise", "eager") else ""
    if one.source == SPECIALIZED:
        reason = "one graph for each value"
    return f"`{one.code}`" + (f"  {reason}" if reason else "")


def _shortened(text: str) -> str:
    """A message without the indentation of the source that it was written in; JSON has all of it."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"


def _where(one: Requirement) -> str:
    return f"{shown_path(one.span.filename)}:{one.span.row}" if one.span is not None else ""


def _place(branch: Branch) -> str:
    return f"{shown_path(branch.span.filename)}:{branch.span.row}"


def _sides(branch: Branch) -> str:
    if not branch.true_ranges or not branch.false_ranges:
        return ""
    return f"  yes: {', '.join(branch.true_ranges)}  no: {', '.join(branch.false_ranges)}"


def _markdown_requirements(requirements: Sequence[Requirement]) -> Iterator[str]:
    if not requirements:
        return
    yield "| needs | where | line |"
    yield "|---|---|---|"
    for one in requirements:
        code = one.code.replace("|", "\\|")
        yield f"| `{_needed(one)}` | {_where(one)} | `{code}` |"
    yield ""


def _markdown_branches(branches: Sequence[Branch]) -> Iterator[str]:
    if not branches:
        return
    yield "| branch | where | yes | no |"
    yield "|---|---|---|---|"
    for branch in branches:
        yes, no = ", ".join(branch.true_ranges), ", ".join(branch.false_ranges)
        yield f"| `{branch.text}` | {_place(branch)} | {yes} | {no} |"
    yield ""


def checked_text(specs: Sequence[CheckedSpec], example: Mapping[str, int], style: Style) -> Iterator[str]:
    """What is wrong with each spec, with sizes that show it: all, or those that are not as in the example."""
    for checked in specs:
        yield style.paint(checked.spec.origin, "section")
        if checked.error:
            yield f"  {_refusal(checked)}: {checked.error}"
        for one in checked.findings:
            yield f"  {style.paint(one.code, 'warning')} {rule(one.code).name}: {one.message}{_needing(one)}"
            yield f"      {_shown(one, example)}"
        yield from _undecided(checked.undecided, style)
        yield from (f"  {text}" for text in checked.said)
        if _is_right(checked):
            yield f"  {style.paint('ok', 'good')} says what the program needs"


def _refusal(checked: CheckedSpec) -> str:
    return "torch.export does not take it" if checked.spec.exported else "torch could not compile under it"


def _is_right(checked: CheckedSpec) -> bool:
    """Whether a spec was run, and nothing is to be said of it."""
    return not (checked.error or checked.findings or checked.undecided or checked.said)


def _needing(one: SpecFinding) -> str:
    return f" (line {one.row}: `{one.line}`)" if one.row else ""


_MOST_SHOWN = 4
"""Sizes that are all written out."""


def _shown(one: SpecFinding, example: Mapping[str, int]) -> str:
    sizes = _sizes(one.witness or {}, example)
    if one.outcome is None:
        return sizes
    detail = one.outcome.detail or one.outcome.eager
    return f"{sizes}: {_ENDED[one.outcome.ended]}" + (f": {detail}" if detail else "")


def _sizes(witness: Mapping[str, int], example: Mapping[str, int]) -> str:
    """All sizes where there are few, else those that differ from the example's."""
    changed = {name: size for name, size in witness.items() if example.get(name) != size}
    if len(witness) <= _MOST_SHOWN or len(witness) - len(changed) < 2:
        return ", ".join(f"{name} = {size}" for name, size in witness.items())
    return ", ".join([*(f"{name} = {size}" for name, size in changed.items()), "the others" if changed else "all"]) + (
        " as in the example"
    )


_ENDED = {
    "same": "runs, and gives what eager gives",
    "differs": "gives something else than eager",
    "refused": "refused at run time",
    "raised": "raises, in eager, too",
    "broke": "breaks",
}


def _markdown_checked(specs: Sequence[CheckedSpec], example: Mapping[str, int]) -> Iterator[str]:
    for checked in specs:
        yield f"**{checked.spec.origin}**"
        yield ""
        if checked.error:
            yield f"- {_refusal(checked)}: {checked.error}"
        for one in checked.findings:
            yield f"- {one.code} {rule(one.code).name}: {one.message}{_needing(one)}; {_shown(one, example)}"
        yield from (f"- not decided: `{text}`" for text in checked.undecided)
        yield from (f"- {text}" for text in checked.said)
        if _is_right(checked):
            yield "- says what the program needs"
        yield ""
