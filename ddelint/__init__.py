"""ddelint: makes PyTorch code compile and export without data-dependent errors.

`check`, `fix`, `verify` and `explain` do what the commands of these names do, and return what they found; `capture` is
a context manager that checks what is compiled or exported inside it. Nothing here prints or ends the process.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ddelint.api import capture as capture
    from ddelint.api import check as check
    from ddelint.api import explain as explain
    from ddelint.api import fix as fix
    from ddelint.api import verify as verify
    from ddelint.entry_api import Entry as Entry
    from ddelint.errors import DdelintError as DdelintError
    from ddelint.nouns.diagnostics import Applicability as Applicability
    from ddelint.nouns.diagnostics import Diagnostic as Diagnostic
    from ddelint.nouns.diagnostics import Evidence as Evidence
    from ddelint.nouns.diagnostics import Fix as Fix
    from ddelint.nouns.diagnostics import Severity as Severity
    from ddelint.nouns.diagnostics import Span as Span
    from ddelint.nouns.diagnostics import Symbol as Symbol
    from ddelint.report.model import Report as Report
    from ddelint.report.verified import VerifyReport as VerifyReport
    from ddelint.version import VERSION as __version__

_EXPORTED = {
    "Applicability": "ddelint.nouns.diagnostics",
    "DdelintError": "ddelint.errors",
    "Diagnostic": "ddelint.nouns.diagnostics",
    "Entry": "ddelint.entry_api",
    "Evidence": "ddelint.nouns.diagnostics",
    "Fix": "ddelint.nouns.diagnostics",
    "Report": "ddelint.report.model",
    "Severity": "ddelint.nouns.diagnostics",
    "Span": "ddelint.nouns.diagnostics",
    "Symbol": "ddelint.nouns.diagnostics",
    "VerifyReport": "ddelint.report.verified",
    "capture": "ddelint.api",
    "check": "ddelint.api",
    "fix": "ddelint.api",
}
_CALLABLE_PACKAGES = ("explain", "verify")
__all__ = [*_EXPORTED, *_CALLABLE_PACKAGES, "__version__"]


def __getattr__(name: str) -> object:
    """Load what is re-exported when it is first asked for: importing ddelint stays cheap."""
    if name in _EXPORTED:
        return getattr(import_module(_EXPORTED[name]), name)
    if name in _CALLABLE_PACKAGES:
        return import_module(f"ddelint.{name}")
    if name == "__version__":
        return import_module("ddelint.version").VERSION
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
