"""A hook's call over files that turn out clean, without click: loading it takes longer than what the files ask for.

Whatever is not as plain as that goes the whole way, which reads what was kept here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ddelint.errors import DdelintError
from ddelint.report.model import ALL_PASSED, Report, Silence
from ddelint.settings import config
from ddelint.settings.layers import with_layers
from ddelint.settings.options import CheckOptions, Mode

FORCED = "--force-exclude"


def passed(words: Sequence[str]) -> str | None:
    """What `check --static [--force-exclude] FILE…` prints where nothing is to be said; None for any other call."""
    given = options_of(words)
    if given is None or sys.stdout.isatty() or os.environ.get("FORCE_COLOR"):
        return None
    from ddelint.pipeline import run_check

    paths, options = given
    if not options.cache:  # what is found would be looked for once more
        return None
    try:
        report = run_check(paths, options, Silence())
    except (DdelintError, OSError):  # said by the whole way
        return None
    return _text(report)


def options_of(words: Sequence[str]) -> tuple[list[str], CheckOptions] | None:
    """The files of such a call, and its options; None for any other."""
    forced = FORCED in words[2:]
    paths = [word for word in words[2:] if word != FORCED]
    if list(words[:2]) != ["check", "--static"] or not paths:
        return None
    if not all(path.endswith(".py") and not path.startswith("-") and os.path.isfile(path) for path in paths):
        return None
    try:
        overrides = {"mode": Mode.STATIC, "force_exclude": forced or None}
        return paths, with_layers(config.of_paths(paths), overrides, (), pinned=False)
    except (DdelintError, OSError):
        return None


def _text(report: Report) -> str | None:
    said = (report.diagnostics, report.notes, report.warnings, report.hints, report.errors)
    if any(said) or not report.files_checked or report.entries:
        return None
    return f"{ALL_PASSED}\n"
