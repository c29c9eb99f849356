"""What `shapes --dispatch` prints: the graphs, how they fared, and what each saves over one for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ddelint.nouns.dispatches import COMPILED, Cost, Dispatch, GraphPlan
from ddelint.nouns.wire import to_wire
from ddelint.report.style import Style

_ENDED = {"same": "as eager", "raised": "raises, as eager does"}


def text(dispatch: Dispatch, style: Style) -> Iterator[str]:
    """A heading, a line for each graph, what is wrong, what was measured."""
    yield style.paint(f"dispatch by {', '.join(dispatch.about)}" if dispatch.about else "dispatch", "section")
    yield from (f"  {style.paint('no dispatcher', 'bad')}  {problem}" for problem in dispatch.problems)
    if not dispatch.problems:
        yield from (f"  {plan.part.words}: {_ran(dispatch, plan)}" for plan in dispatch.graphs)
    yield from (f"  {line}" for line in (*_counts(dispatch), *dispatch.said))
    for row in _table(dispatch):
        yield "  " + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, _widths(dispatch))).rstrip()


def markdown(dispatch: Dispatch) -> Iterator[str]:
    """The same for a pull request."""
    yield f"**dispatch by {', '.join(f'`{one}`' for one in dispatch.about)}**" if dispatch.about else "**dispatch**"
    yield ""
    yield from (f"- no dispatcher: {problem}" for problem in dispatch.problems)
    if not dispatch.problems:
        yield from (f"- `{plan.part.words}`: {_ran(dispatch, plan)}" for plan in dispatch.graphs)
    yield from (f"- {line}" for line in (*_counts(dispatch), *dispatch.said))
    yield ""
    rows = list(_table(dispatch))
    if rows:
        yield f"| {' | '.join(rows[0])} |"
        yield f"|{'---|' * len(rows[0])}"
        yield from (f"| {' | '.join(row)} |" for row in rows[1:])
        yield ""


def plain(dispatch: Dispatch) -> Any:
    """As a value for JSON; the generated code is left out, it is long."""
    return to_wire(replace(dispatch, costs=tuple(replace(one, code=()) for one in dispatch.costs)))


def _ran(dispatch: Dispatch, plan: GraphPlan) -> str:
    """How the calls of one graph ended."""
    tried = dispatch.tried
    if tried is None:
        return "not run"
    own = {tuple(sizes.items()) for sizes in (plan.first, *plan.cases)}
    came: dict[str, list[str]] = {}
    for outcome in tried.outcomes:
        if tuple(outcome.sizes.items()) in own and plan.takes(outcome.sizes):
            sizes = _leading(dispatch, outcome.sizes)
            came.setdefault(_ENDED.get(outcome.ended, outcome.ended), []).append(sizes)
    return "; ".join(f"{what} at {', '.join(dict.fromkeys(sizes))}" for what, sizes in came.items()) or "not run"


def _leading(dispatch: Dispatch, sizes: Any) -> str:
    known = [sizes[name] for name in dispatch.about if name in sizes] or list(sizes.values())
    return str(known[0]) if len(known) == 1 else f"({', '.join(map(str, known))})"


def _counts(dispatch: Dispatch) -> Iterator[str]:
    tried = dispatch.tried
    if tried is not None and not dispatch.problems:
        calls = len(tried.outcomes)
        if dispatch.form != COMPILED:
            yield f"{tried.graphs} graphs, {dispatch.form}, saved and loaded for {calls} calls"
            return
        yield f"{tried.graphs} graphs for {calls} calls; called again, nothing is compiled"
        if not dispatch.costs:
            yield "tried with Dynamo alone; --measure compiles each graph with Inductor"
        if tried.specialized:
            yield f"mark_dynamic(specialize_on=…): {tried.specialized}"


def _table(dispatch: Dispatch) -> Iterator[tuple[str, ...]]:
    """What was measured: a row for each part, and what the whole costs."""
    costs = {one.name: one for one in dispatch.costs}
    if not costs:
        return
    others = [one for one in dispatch.costs if one.name not in {plan.part.words for plan in dispatch.graphs}]
    yield ("part", "compiled in", "a call", *(f"{one.name}" for one in others))
    for plan in dispatch.graphs:
        words = plan.part.words
        own = costs.get(words)
        if own is None:
            continue
        time = own.milliseconds.get(words)
        yield (words, f"{own.seconds:.1f} s", _milliseconds(time), *(_against(one, words, time) for one in others))
    graphs = [costs[plan.part.words] for plan in dispatch.graphs if plan.part.words in costs]
    total = sum(one.seconds for one in graphs)
    yield ("all", f"{total:.1f} s", f"{len(graphs)} graphs", *(_whole(one) for one in others))


def _widths(dispatch: Dispatch) -> list[int]:
    return [max(map(len, column)) for column in zip(*_table(dispatch))]


def _milliseconds(time: float | None) -> str:
    return "" if time is None else f"{time:.3f} ms"


def _against(one: Cost, words: str, time: float | None) -> str:
    other = one.milliseconds.get(words)
    if other is None:
        return "none" if one.error else ""
    return f"{other:.3f} ms" + (f" ({other / time:.2f}x)" if time else "")


def _whole(one: Cost) -> str:
    if one.error:
        return "cannot be compiled"
    return f"{one.graphs} graph{'' if one.graphs == 1 else 's'}, {one.seconds:.1f} s"
