"""`test-rules`: the fixtures of somebody's own rules."""

from __future__ import annotations

from pathlib import Path

import click

from ddelint.commands.options import config_of, config_options
from ddelint.commands.output import COULD_NOT_WORK, FOUND_NOTHING, FOUND_SOMETHING, complain, emit


@click.command(name="test-rules", short_help="Run the fixtures of your own rules.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option("--accept", is_flag=True, help="Write what the fixes make of each file beside it (FILE.fixed.py).")
@config_options
def test_rules(folder: str, accept: bool, config_file: str | None, isolated: bool) -> int:
    """Check the Python files under DIR with the rules (*.toml) under it.

    `# error: CODE` stands on each line that must be flagged, `# ok` on lines that look alike; nothing else may be
    found. FILE.fixed.py holds what the fixes make of FILE.py.
    """
    from ddelint.pipeline import rule_testing

    config_of([folder], config_file, isolated)  # its `extend-rules` count, too
    outcome = rule_testing.run(Path(folder), accept)
    if not outcome.files:
        complain(f"there is no fixture (*.py) in {folder}")
        return COULD_NOT_WORK
    lines = [*outcome.problems, *(f"note: {note}" for note in outcome.notes)]
    lines += [f"written: {name}" for name in outcome.accepted]
    reported = f"{_count(len(outcome.rules), 'rule')}, {_count(outcome.files, 'file')}: "
    reported += f"{_count(len(outcome.problems), 'problem')}" if outcome.problems else "all as expected"
    emit("\n".join([*lines, reported]) + "\n", None)
    return FOUND_SOMETHING if outcome.problems else FOUND_NOTHING


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
