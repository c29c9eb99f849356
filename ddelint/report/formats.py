"""A report in the format that was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ddelint.nouns.levels import Applicability
from ddelint.report import closing
from ddelint.report.model import Report
from ddelint.report.style import Style
from ddelint.report.visible import visible, visible_line


@dataclass(frozen=True, slots=True)
class Rendering:
    """How to write a report. `command` is the call that found it, without `--fix`, for the closing line.

    Options go between `command` and `arguments`.
    """

    style: Style
    output_format: str = "full"
    """One of options.FORMATS."""
    command: str = "ddelint check"
    unsafe_fixes: bool = False
    statistics: bool = False
    quiet: bool = False
    arguments: str = ""


def render(report: Report, how: Rendering) -> str:
    """The whole text, with a line end after each line."""
    if how.statistics:
        from ddelint.report import statistics

        if how.output_format == "json":
            return statistics.render_json(report, how.unsafe_fixes)
        return joined(statistics.render_text(report, how.unsafe_fixes))
    return _FORMATS[how.output_format](report, how)


def _full(report: Report, how: Rendering) -> str:
    if not report.remaining:
        return _for_people((), report, how)
    from ddelint.report import console

    return _for_people(console.render_report(report, how.style, how.unsafe_fixes), report, how)


def _concise(report: Report, how: Rendering) -> str:
    from ddelint.report import concise

    return _for_people(concise.render_report(report, how.unsafe_fixes), report, how)


def _for_people(lines: Iterable[str], report: Report, how: Rendering) -> str:
    last = () if how.quiet else closing.summary(report, how.style, how.unsafe_fixes, how.command, how.arguments)
    return joined(how.style.line(line) for line in (*lines, *last))


def _json(report: Report, how: Rendering) -> str:
    from ddelint.report import json_

    return json_.render_report(report)


def _json_lines(report: Report, how: Rendering) -> str:
    from ddelint.report import json_

    return json_.render_lines(report)


def _sarif(report: Report, how: Rendering) -> str:
    from ddelint.report import sarif

    return sarif.render_report(report)


def _github(report: Report, how: Rendering) -> str:
    from ddelint.report import github

    return joined(map(visible, github.render_report(report)))


def _github_review(report: Report, how: Rendering) -> str:
    from ddelint.report import github_review

    return github_review.render_report(report, how.unsafe_fixes)


def _gitlab(report: Report, how: Rendering) -> str:
    from ddelint.report import gitlab

    return gitlab.render_report(report)


def _junit(report: Report, how: Rendering) -> str:
    from ddelint.report import junit

    return junit.render_report(report)


def _markdown(report: Report, how: Rendering) -> str:
    from ddelint.report import markdown

    return joined(map(visible_line, markdown.render_report(report, how.command, how.unsafe_fixes, how.arguments)))


def _html(report: Report, how: Rendering) -> str:
    from ddelint.report import html

    return html.render_report(report, how.command, how.unsafe_fixes, how.arguments)


_FORMATS: dict[str, Callable[[Report, Rendering], str]] = {
    "full": _full,
    "concise": _concise,
    "json": _json,
    "json-lines": _json_lines,
    "sarif": _sarif,
    "github": _github,
    "github-review": _github_review,
    "gitlab": _gitlab,
    "junit": _junit,
    "markdown": _markdown,
    "html": _html,
}
"""How each of options.FORMATS is written; a call imports what it prints."""


def render_diff(report: Report, style: Style, unsafe_fixes: bool = False) -> str:
    """All diffs, in the order of their files; line ends are the files' own.

    Before each stand its fixes: what a reviewer wants to know, and what was run. `patch` and `git apply` skip that.
    """
    text = "".join(
        _explanations(report, name, style, unsafe_fixes) + report.diffs[name] for name in sorted(report.diffs)
    )
    return painted(text, style)


def painted(text: str, style: Style) -> str:
    """A diff in colours, where there are any."""
    paints = {"-": "removed", "+": "added", "@": "info", "#": "dim"}
    if not style.color:
        return text
    lines = text.split("\n")
    return "\n".join(style.paint(line, paints[line[0]]) if line[:1] in paints else line for line in lines)


def _explanations(report: Report, filename: str, style: Style, unsafe_fixes: bool) -> str:
    from ddelint.report.evidence import explained

    taken = {Applicability.SAFE, *((Applicability.UNSAFE,) if unsafe_fixes else ())}
    lines: list[str] = []
    for diagnostic in (*report.fixed, *report.remaining):
        fix = diagnostic.fix
        if fix is None or fix.applicability not in taken:
            continue
        if any(edit.span.filename == filename for edit in fix.edits):
            what, run = explained(diagnostic)
            lines += [f"# {what}", f"#   {run}"]
    return joined(map(style.line, lines))


def joined(lines: Iterable[str]) -> str:
    """The lines, each with its end."""
    return "".join(f"{line}\n" for line in lines)
