"""What `shapes --stream` prints: for which calls torch compiles, what makes it, what would spare it."""

from __future__ import annotations

from collections.abc import Iterator

from ddelint.knowledge.catalog import rule
from ddelint.nouns.size_streams import Cause, Compiled, Forecast
from ddelint.report.diff import shown_path
from ddelint.report.style import Style


def text(forecast: Forecast, style: Style) -> Iterator[str]:
    """A heading, how many graphs, a line for each with its causes, the fewest marks that bring them to one."""
    yield style.paint(f"stream {forecast.source}", "section")
    if forecast.error:
        yield f"  {style.paint('not foretold', 'bad')}  {forecast.error}"
        return
    yield f"  {_summary(forecast)}"
    for one in forecast.foretold:
        yield f"  call {one.call:<5} {_sizes(one)}"
        for cause in one.causes:
            yield f"      {style.paint(cause.code, 'warning')} {_why(cause)}"
    yield from (f"  {line}" for line in _remedy(forecast))


def markdown(forecast: Forecast) -> Iterator[str]:
    """The same as a table."""
    yield f"**stream `{forecast.source}`**"
    yield ""
    if forecast.error:
        yield f"- not foretold: {forecast.error}"
        yield ""
        return
    yield _summary(forecast)
    yield ""
    yield "| call | sizes | because of |"
    yield "|---:|---|---|"
    for one in forecast.foretold:
        causes = "; ".join(f"{cause.code} {_why(cause)}" for cause in one.causes) or "the first call"
        yield f"| {one.call} | {_sizes(one)} | {causes.replace('|', chr(92) + '|')} |"
    yield ""
    yield from (f"- {line}" for line in _remedy(forecast))
    yield ""


def _summary(forecast: Forecast) -> str:
    counted = forecast.counted
    actual = f"{_graphs(len(counted.calls))} compiled" + (f", then {counted.error}" if counted.error else "")
    calls = f"{forecast.calls} calls of {forecast.kinds} sizes"
    return f"{calls}: {_graphs(len(forecast.foretold))} foretold, {actual}"


def _graphs(count: int) -> str:
    return f"{count} graph{'' if count == 1 else 's'}"


def _sizes(one: Compiled) -> str:
    return ", ".join(f"{name} = {size}" for name, size in one.sizes.items())


def _why(cause: Cause) -> str:
    where = f"  {shown_path(cause.span.filename)}:{cause.span.row} `{cause.line}`" if cause.span is not None else ""
    return f"{rule(cause.code).name}: the graph before was for `{cause.guard}`{where}"


def _remedy(forecast: Forecast) -> Iterator[str]:
    if [one.call for one in forecast.foretold] != list(forecast.counted.calls):
        yield f"torch compiled at calls {', '.join(map(str, forecast.counted.calls))}"
    remedy = forecast.remedy
    if remedy.marks and remedy.graphs:
        yield f"{_graphs(remedy.graphs)} for all of it, tried, with: {', '.join(remedy.marks)}"
    elif remedy.marks:
        yield f"the fewest marks would be: {', '.join(remedy.marks)}"
    yield from remedy.said
