"""What two passes, or several entries, say of one place is one diagnostic."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.nouns.diagnostics import Diagnostic


def merge(static: Iterable[Diagnostic], traced: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The findings of both passes, those about one place joined, in the order of file and place.

    The tracer's word counts (it ran the program); the static pass adds its breadcrumbs and, where the tracer's
    span is less exact, its span. A question of several entries is reported once, with the fix if one of them has it.
    """
    merged = _distinct(traced)
    alone: list[Diagnostic] = []
    for finding in static:
        index = next((i for i, other in enumerate(merged) if _same_place(finding, other)), None)
        if index is None:
            alone.append(finding)
        else:
            merged[index] = _join(finding, merged[index])
    return sorted((*merged, *alone), key=lambda d: (d.span, d.code))


def _distinct(traced: Sequence[Diagnostic]) -> list[Diagnostic]:
    found: dict[tuple[object, ...], Diagnostic] = {}
    known = {(finding.code, finding.span) for finding in traced}
    for finding in traced:
        if (finding.stands_for, finding.span) in known:  # another entry has a fix for it, or had no time
            continue
        key = (finding.code, finding.span, finding.message)
        first = found.setdefault(key, finding)
        if first is not finding:
            chosen = first if first.fix is not None or finding.fix is None else finding
            found[key] = replace(chosen, asks=tuple(dict.fromkeys((*first.asks, *finding.asks))))
    return list(found.values())


def _same_place(static: Diagnostic, traced: Diagnostic) -> bool:
    if traced.origin == ("static",):
        return False
    if static.code == traced.code and static.span.filename == traced.span.filename:
        return static.span.row == traced.span.row and (static.span.overlaps(traced.span) or static.span == traced.span)
    return static.span.contains(traced.span) or traced.span.contains(static.span)


def _join(static: Diagnostic, traced: Diagnostic) -> Diagnostic:
    return replace(
        traced,
        origin=("static", "trace"),
        breadcrumbs=traced.breadcrumbs or static.breadcrumbs,
        symbols=traced.symbols or static.symbols,
        fix=traced.fix or static.fix,
    )
