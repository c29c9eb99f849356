"""`init`: write an entry for a file that offers none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from ddelint.commands.help import SectionedCommand
from ddelint.commands.options import check_options, config_options
from ddelint.commands.output import FOUND_NOTHING, FOUND_SOMETHING, emit, progress_of, style_of
from ddelint.report.visible import visible

if TYPE_CHECKING:
    from ddelint.pipeline.initializing import InitReport, Proposal


@click.command(cls=SectionedCommand, short_help="Write an entry for a file: what to run, and with which inputs.")
@click.argument("path", metavar="FILE.py", type=click.Path())
@click.option(
    "--entry",
    "names",
    multiple=True,
    metavar="NAME",
    help="The module class or function; may be given several times.  [default: those that no other one uses]",
)
@click.option("--write", is_flag=True, help="Write it; without, it is only shown.")
@click.option("--python", metavar="PATH", help="The interpreter whose torch runs the guesses.  [default: this one]")
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Where random numbers start from.  [default: 0]")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="For the guesses of one program, 60 at most; each run has as much.  [default: 300]",
)
@config_options
@click.option("-q", "--quiet", is_flag=True, help="Print the diff and nothing else.")
@click.option("-v", "--verbose", count=True, help="Print more: each guess that did not run, and why.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", show_default=True)
def init(path: str, names: tuple[str, ...], write: bool, **given: Any) -> int:
    """Guess how to call what FILE.py defines, run the guess, and show the entry to add (--write adds it).

    \b
    Exit codes: 0 the entry runs, or the file has one; 1 it does not run, or something is left to fill in;
    2 nothing could be guessed.
    """  # fmt: skip
    everything = {
        **given, "trace": True, "target": None, "unbacked": None, "guards": None, "guards_as_before": None,
        "samples": None, "device": None, "memory": None, "output_format": (), "output_file": None,
    }  # fmt: skip
    options = check_options((path,), everything)
    from ddelint.pipeline import run_init
    from ddelint.report.formats import painted

    with progress_of(options) as progress:
        report = run_init(path, names, options, progress, write=write)
    emit(painted(report.diff, style_of(everything)), None)
    for line in () if given["quiet"] else _said(report):
        click.echo(visible(line), err=True)
    if report.offered:
        return FOUND_NOTHING
    return FOUND_NOTHING if all(proposal.runs for proposal in report.proposals) else FOUND_SOMETHING


def _said(report: InitReport) -> Iterator[str]:
    """What was guessed from what, whether it runs, and what to do next: lines for standard error."""
    from ddelint.report.diff import shown_path

    name = shown_path(report.filename)
    if report.offered:
        yield f"{name} offers an entry already ({report.offered}): nothing to write. `ddelint check {name}` runs it"
        return
    for proposal in report.proposals:
        yield from _about(proposal)
    if report.left_out:
        yield f"no entry for {', '.join(report.left_out)}: name what you want with --entry"
    for warning in report.warnings:
        yield f"ddelint: warning: {warning}"
    runs = all(proposal.runs for proposal in report.proposals)
    verb = "try" if runs else "correct what does not run, then try"
    if report.is_written:
        yield f"written to {name}; {verb}: ddelint check {name}"
    else:
        yield "nothing is written; --write adds it to the file"


def _about(proposal: Proposal) -> Iterator[str]:
    from ddelint.report.diff import shown_path

    recipe, failure = proposal.recipe, proposal.attempt.failure
    tries = "" if proposal.attempts < 2 else f" (attempt {proposal.attempts})"
    if failure is None:
        gives = f", gives {proposal.attempt.gives}" if proposal.attempt.gives else ""
        yield f"{recipe.program}: runs{gives}{tries}"
    else:
        others = proposal.attempts - 1
        more = f" (nor did {others} other guess{'es' if others > 1 else ''})" if others > 0 else ""
        place = f" ({shown_path(failure.span.filename)}:{failure.span.row})" if failure.span is not None else ""
        yield f"{recipe.program}: does not run: {failure.message.splitlines()[0]}{place}{more}"
    for argument, reason in recipe.reasons:
        yield f"  {argument}: {reason}"
