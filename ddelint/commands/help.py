"""`--help` of a command with many options, under headings."""

from __future__ import annotations

import click

SECTIONS: dict[str, tuple[str, ...]] = {
    "What to do": (
        "--fix", "--unsafe-fixes", "--diff", "--no-suggest", "--static", "--trace", "--bench", "--against",
        "--check", "--spec", "--write", "--ranges", "--dispatch", "--as", "--measure", "--most-graphs",
        "--stream", "--readiness",
    ),
    "What to run, and with what": (
        "--entry", "--inputs", "--init", "--module", "--path", "--capture-modules", "--save-inputs", "--shapes",
        "--python",
    ),
    "What must work afterwards": ("--target", "--unbacked", "--guards", "--graph-breaks"),
    "How a fix is verified": ("--samples", "--seed", "--device", "--gpu", "--timeout", "--memory"),
    "Which findings": ("--select", "--ignore", "--extend-select", "--diff-base", "--baseline", "--write-baseline"),
    "Which files": (
        "--assume-compiled", "--exclude", "--extend-exclude", "--force-exclude", "--respect-gitignore",
        "--stdin-filename",
    ),
    "How to report": (
        "--output-format", "--output-file", "--statistics", "--exit-zero", "--patch", "--cpp", "--quiet", "--verbose",
        "--timings", "--badge", "--color",
    ),
    "This call": ("--config", "--isolated", "--no-cache", "--jobs", "--help"),
}  # fmt: skip
"""Heading → options, in the order in which they are shown. What is in none of them comes last."""
REST = "More options"


class SectionedCommand(click.Command):
    """A command whose help groups its options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options under their headings, each with its help."""
        records: dict[str, tuple[str, str]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                records[max(parameter.opts, key=len)] = record
        for heading, names in {**SECTIONS, REST: tuple(records)}.items():
            rows = [records.pop(name) for name in names if name in records]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
