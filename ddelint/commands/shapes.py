"""`shapes`: what a program needs of its inputs' sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddelint.commands.help import SectionedCommand
from ddelint.commands.options import check_options, config_options, entry_options, output_options
from ddelint.commands.output import (
    COULD_NOT_WORK,
    FOUND_NOTHING,
    FOUND_SOMETHING,
    complain,
    emit,
    progress_of,
    style_of,
)

if TYPE_CHECKING:
    from ddelint.nouns.contracts import Contract
    from ddelint.pipeline.shaping import ShapesReport


@click.command(cls=SectionedCommand, short_help="Say what a program needs of its inputs' sizes.")
@click.argument("paths", nargs=-1, metavar="PATH…", type=click.Path())
@entry_options
@config_options
@click.option(
    "--check",
    "is_checked",
    is_flag=True,
    help="Compare what is declared beside the entry with it; run each difference.",
)
@click.option("--spec", metavar="[FILE.py:]NAME", default="", help="With --check: only this declaration.")
@click.option(
    "--ranges",
    multiple=True,
    metavar="NAME.DIM: 1, 2..128, 129..",
    help="Ranges of a size, a graph for each: prove that they take each size once, and try each graph at its ends.",
)
@click.option(
    "--write",
    is_flag=True,
    help="Write it beside the entry, as specs, dims and marks: FILE_shapes.py, and a test that pins it.",
)
@click.option(
    "--stream",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    default="",
    help='Sizes, a call a line: {"tokens": [3, 5]}. For which of them is the program compiled again, and why?',
)
@click.option(
    "--dispatch",
    is_flag=True,
    help="Write a graph for each range, or each side of a branch, and the guards in front: FILE_dispatch.py.",
)
@click.option(
    "--as",
    "form",
    type=click.Choice(["compiled", "exported", "packaged"]),
    default="compiled",
    show_default=True,
    help="With --dispatch: what each graph is; exported, and packaged by AOTInductor, are saved ahead in a folder.",
)
@click.option(
    "--most-graphs", type=click.IntRange(1), metavar="N", help="With --dispatch: no more graphs; merge ranges."
)
@click.option("--measure", is_flag=True, help="With --dispatch: compile each graph, and time it against one for all.")
@click.option("--readiness", is_flag=True, help="Say only how many dimensions, and lines, one graph takes as they are.")
@click.option(
    "--badge",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    default="",
    help="With --readiness: write the share of dimensions there, as JSON that shields.io draws.",
)
@click.option("--output-format", type=click.Choice(["full", "json", "markdown"]), default="full", show_default=True)
@output_options
def shapes(
    paths: tuple[str, ...],
    is_checked: bool,
    spec: str,
    ranges: tuple[str, ...],
    write: bool,
    stream: str,
    dispatch: bool,
    form: str,
    most_graphs: int | None,
    measure: bool,
    readiness: bool,
    badge: str,
    **given: Any,
) -> int:
    """Derive the contract on input sizes: which may be anything, which not, and which lines say so."""
    if not paths:
        raise click.UsageError("no path given: ddelint shapes PATH")
    options = check_options(paths, {**given, "trace": True})
    if (most_graphs is not None or measure) and not dispatch:
        raise click.UsageError("--most-graphs and --measure are about the graphs of --dispatch: add it")
    if form != "compiled" and (measure or not dispatch):
        raise click.UsageError("--as says what the graphs of --dispatch are: add it; --measure times compiled ones")
    if badge and not readiness:
        raise click.UsageError("--badge is about --readiness: add it")
    if readiness and (is_checked or spec or ranges or write or stream or dispatch):
        raise click.UsageError("--readiness says one number of each entry: call shapes once more for the rest")
    from ddelint.pipeline import run_shapes
    from ddelint.pipeline.dispatching import Graphs
    from ddelint.pipeline.shaping import Wanted
    from ddelint.report import contracts
    from ddelint.report.diff import shown_path
    from ddelint.report.formats import joined
    from ddelint.shapes.ranges_given import UnreadableRanges, read_ranges

    try:
        read = tuple(read_ranges(text) for text in ranges)
    except UnreadableRanges as problem:
        raise click.UsageError(f"--ranges: {problem}") from None
    with progress_of(options) as progress:
        graphs = Graphs(read, most_graphs, measure, form) if dispatch else None
        report = run_shapes(
            paths, options, progress, Wanted(is_checked or bool(spec), spec, read, write, stream, graphs)
        )
    if readiness:
        text = _readiness(report.contracts, given["output_format"], badge)
        emit(text, given["output_file"])
        return _ending(report, given)
    told = contracts.together(report.contracts, report.checked, report.forecasts, report.dispatches)
    if given["output_format"] == "json":
        text = contracts.render_json(told)
    elif given["output_format"] == "markdown":
        text = joined(contracts.render_markdown(told))
    else:
        text = joined(contracts.render_text(told, style_of(given)))
    emit(text, given["output_file"])
    for name in report.written:
        click.echo(f"ddelint: wrote {shown_path(name)}", err=True)
    return _ending(report, given)


def _ending(report: ShapesReport, given: Mapping[str, Any]) -> int:
    """Say what went wrong; gives the exit code."""
    for warning in report.warnings:
        click.echo(warning, err=True)
    for error in report.errors:
        complain(error)
    failed = report.errors or any(contract.failure is not None for contract in report.contracts)
    if failed:
        return COULD_NOT_WORK
    found = any(one.findings for checked in report.checked for one in checked)
    found = found or any(one.problems for one in report.dispatches) or any(one.findings for one in report.forecasts)
    return FOUND_SOMETHING if found and not given["exit_zero"] else FOUND_NOTHING


def _readiness(contracts: Sequence[Contract], output_format: str, badge: str) -> str:
    from ddelint.nouns.wire import to_wire
    from ddelint.report import readiness as shown
    from ddelint.report.formats import joined
    from ddelint.shapes.readiness import readiness_of, total
    from ddelint.sources.replacing import write_atomically

    rows = [readiness_of(contract) for contract in contracts]
    dimensions, lines = total(rows)
    if badge:
        try:
            write_atomically(Path(badge), shown.badge(dimensions).encode("utf-8"))
        except OSError as error:
            raise click.UsageError(f"cannot write {badge}: {error.strerror or error}") from None
    if output_format == "json":
        found = {"entries": to_wire(tuple(rows)), "dimensions": to_wire(dimensions), "lines": to_wire(lines)}
        return json.dumps(found, indent=2) + "\n"
    return joined((shown.markdown if output_format == "markdown" else shown.text)(rows, dimensions, lines))
