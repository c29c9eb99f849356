"""The errors that are the user's to fix."""

from __future__ import annotations


class DdelintError(Exception):
    """What keeps ddelint from doing its work: a bad argument, a bad configuration, a path that is not there.

    The message is one line, in the words of the command line, which ends with exit code 2 for it.
    """


class UsageError(DdelintError):
    """Arguments that make no sense, alone or together."""
