"""What a command prints, where it prints it, and the exit code that follows."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ddelint.commands.destinations import shown_format
from ddelint.report.visible import visible
from ddelint.settings.options import CheckOptions
from ddelint.system.streams import write_output

if TYPE_CHECKING:
    from ddelint.nouns.protocol import ScriptSpec
    from ddelint.report.formats import Rendering
    from ddelint.report.model import Report
    from ddelint.report.progress import ClosingProgress
    from ddelint.report.style import Style
    from ddelint.report.verified import VerifyReport

FOUND_NOTHING, FOUND_SOMETHING, COULD_NOT_WORK = 0, 1, 2
_ABOUT_OUTPUT = {
    "--fix", "--unsafe-fixes", "--diff", "--exit-zero", "--statistics", "--no-cache", "-q", "--quiet", "-v", "-vv",
    "--verbose", "--timings",
}  # fmt: skip
_ABOUT_OUTPUT_WITH_VALUE = {"--color", "--output-format", "-o", "--output-file", "--patch", "--save-inputs"}


def complain(message: str) -> None:
    """One line about what went wrong, to standard error."""
    text = " ".join(line.strip() for line in message.strip().splitlines() if line.strip())
    click.echo(f"ddelint: error: {visible(text)}", err=True)


def command_line(paths: Sequence[str]) -> str:
    """The call as typed, without the options that only say what to do with the result."""
    kept = _about_input(sys.argv[1:])
    if not set(paths) <= set(kept):  # called from Python, not from a shell
        kept = list(paths)
    if kept[:1] != ["check"]:
        kept = ["check", *kept]
    return shlex.join(["ddelint", *kept])


def run_command_line(script: ScriptSpec) -> tuple[str, str]:
    """The call of `run` as typed up to the script, without options about the result; and the script's own words."""
    tail = [script.target, *script.arguments]
    words = sys.argv[1:]
    head = words[: -len(tail)] if words[-len(tail) :] == tail else ["run"]
    kept = [word for word in _about_input(head) if word not in {"-m", "--module"}]
    return shlex.join(["ddelint", *kept]), shlex.join([*(["-m"] if script.module else []), *tail])


def _about_input(words: Sequence[str]) -> list[str]:
    """The words without the options that only say what to do with the result."""
    kept: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if word in _ABOUT_OUTPUT_WITH_VALUE:
            next(remaining, None)
        elif word not in _ABOUT_OUTPUT and word.split("=")[0] not in _ABOUT_OUTPUT_WITH_VALUE:
            kept.append(word)
    return kept


def give(report: Report, options: CheckOptions, given: dict[str, Any], command: str, arguments: str = "") -> int:
    """Print the report (or the diff, or the new source of standard input); gives the exit code."""
    from ddelint.report import closing, formats

    say(report, options)
    how = formats.Rendering(
        style_of(given),
        shown_format(given),
        command,
        options.unsafe_fixes,
        given["statistics"],
        options.quiet,
        arguments,
    )
    if given.get("patch") is not None:
        from ddelint.report.patch import render_patch

        write_file(given["patch"], render_patch(report))
    if options.stdin is not None and options.fix and not options.diff:
        _write_files(report, how, given)
        write_output(_fixed_stdin(report, options.stdin))
        click.echo(formats.render(report, how), err=True, nl=False)
    elif options.diff:
        _write_files(report, how, given)
        emit(formats.render_diff(report, how.style, options.unsafe_fixes), given["output_file"])
    else:
        write_reports(report, how, given)
    if options.diff and not options.quiet:
        click.echo(closing.diff_summary(report, options.unsafe_fixes), err=True)
    for hint in () if options.quiet else report.hints:
        click.echo(visible(hint), err=True)
    for error in report.errors:
        complain(error)
    if report.errors:
        return COULD_NOT_WORK
    found = bool(report.diffs) if options.diff else bool(report.remaining)
    return FOUND_SOMETHING if found and not given["exit_zero"] else FOUND_NOTHING


def write_reports(report: Report, how: Rendering, given: dict[str, Any]) -> None:
    """Each report that the call asks for, where it asks for it; the files first, as nobody may read to the end."""
    from ddelint.report import formats

    _write_files(report, how, given)
    emit(formats.render(report, replace(how, output_format=shown_format(given))), given["output_file"])


def _write_files(report: Report, how: Rendering, given: dict[str, Any]) -> None:
    """The reports with a file of their own: whole, whatever is printed."""
    from ddelint.report import formats

    for destination in given["output_format"]:
        if destination.filename is not None:
            style = style_of({**given, "output_file": destination.filename})
            own = replace(how, style=style, output_format=destination.output_format, statistics=False, quiet=False)
            write_file(destination.filename, formats.render(report, own))


def say(report: Report | VerifyReport, options: CheckOptions) -> None:
    """Notes and warnings, to standard error."""
    for note in () if options.quiet else report.notes:
        click.echo(visible(note), err=True)
    for warning in report.warnings:
        click.echo(f"ddelint: warning: {visible(warning)}", err=True)


def _fixed_stdin(report: Report, data: bytes) -> bytes:
    """What was read, rewritten where there was something to fix, in its own encoding."""
    from ddelint.sources.source import SourceFile

    for name, text in report.rewritten.items():
        return SourceFile.from_bytes(name, data).encode(text)
    return data


def style_of(given: dict[str, Any]) -> Style:
    """How to write to where the report goes."""
    from ddelint.report.style import for_stream

    return for_stream(None if given["output_file"] else sys.stdout, given["color"], bool(given["verbose"]))


def emit(text: str, filename: str | None) -> None:
    """Write the report to standard output, or to a file as a whole."""
    if filename is None:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:  # not the stream of a process of ours, which has a place for everything
            encoding = sys.stdout.encoding
            sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
        return
    write_file(filename, text)


def write_file(filename: str, content: str | bytes) -> None:
    """Write a file as a whole, text as UTF-8. Raises UsageError where that cannot be."""
    from ddelint.sources.replacing import write_atomically

    # text may name files, whose names need not be UTF-8
    data = content.encode(errors="backslashreplace") if isinstance(content, str) else content
    try:
        write_atomically(Path(filename), data)
    except OSError as error:
        raise click.UsageError(f"cannot write {filename}: {error.strerror}") from error


def progress_of(options: CheckOptions) -> ClosingProgress:
    """Where a long call says what it is doing; a context manager."""
    from ddelint.report.progress import progress

    return progress(options.quiet, options.verbose)
