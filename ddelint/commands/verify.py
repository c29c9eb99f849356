"""`verify`: eager against every target, two versions against each other, and with `--bench` the time that they take."""

from __future__ import annotations

from typing import Any

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
    say,
    style_of,
)


@click.command(cls=SectionedCommand, short_help="Compare eager with export, compile and the GPU; or measure.")
@click.argument("paths", nargs=-1, metavar="PATH…", type=click.Path())
@entry_options
@config_options
@click.option("--bench", is_flag=True, help="Measure, too: the original and what --fix makes of it, compiled or not.")
@click.option(
    "--against",
    metavar="FILE|REV",
    help="The original: another file, or PATH at a git revision; PATH is then the fixed one.  [default: PATH as it is]",
)
@click.option("--unsafe-fixes", is_flag=True, help="With --bench: measure what unsafe fixes make of it, too.")
@click.option("--output-format", type=click.Choice(["full", "json"]), default="full", show_default=True)
@output_options
def verify(paths: tuple[str, ...], bench: bool, against: str | None, **given: Any) -> int:
    """Compare eager with export, compile and the GPU; change nothing. With --bench, measure."""
    if not paths:
        raise click.UsageError("no path given: ddelint verify PATH --entry NAME")
    options = check_options(paths, {**given, "trace": True})
    from ddelint.pipeline import run_verify
    from ddelint.report import verification
    from ddelint.report.formats import joined

    with progress_of(options) as progress:
        report = run_verify(paths, options, progress, bench=bench, against=against)
    say(report, options)
    as_json = given["output_format"] == "json"
    shown_too = bench and not as_json and given["output_file"] is not None  # the table is for eyes, the file for later
    if as_json or shown_too:
        emit(verification.render_json(report), given["output_file"])
    if not as_json:
        output = None if shown_too else given["output_file"]
        emit(joined(verification.render_text(report, style_of({**given, "output_file": output}))), output)
    for error in report.errors:
        complain(error)
    if report.errors:
        return COULD_NOT_WORK
    passed = all(v.passed for v in report.verifications)
    return FOUND_NOTHING if passed or given["exit_zero"] else FOUND_SOMETHING
