"""Exceptions that end a run: which of a chain says why, and whether a number of run time stands behind it."""

from __future__ import annotations

import re

from ddelint.trace import provenance, torch_internals
from ddelint.trace.provenance import Blame

_OPERATOR_NAME = re.compile(r"\b(\w+(?:\.|::)\w+(?:\.\w+)?)\b")
DATA_DEPENDENT = re.compile(r"\bSym(Int|Float|Bool)\b|data[- ]dependent|\bunbacked\b", re.IGNORECASE)
"""What torch's and Python's errors say where a symbol turned up that they cannot take."""
_SYMBOL = re.compile(r"(?<![\w.])z?uf?\d+(?!\w)")
"""A symbol by name: evidence, too, but an impossible path also ends in such errors."""


def chain(error: BaseException) -> list[BaseException]:
    """The error and what stands behind it, outermost first."""
    errors: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in errors:
        errors.append(current)
        current = current.__cause__ or current.__context__
    return errors


def raised_by_user(who: Blame) -> bool:
    """Whether a `raise` statement outside of torch ended the path: its text may name symbols, and proves nothing."""
    last = who.stack[-1]
    return not provenance.is_torch(last.code.co_filename) and provenance.instruction_name(last) in (
        "RAISE_VARARGS",
        "RERAISE",
    )


def nature(error: BaseException) -> tuple[str, str]:
    """(kind, operator) of an exception that a data-dependent value stands behind; ("", "") for any other."""
    operator = torch_internals.value_operator(error) or torch_internals.unknown_operator(error)
    if operator:
        return "operator", operator
    text = str(error)
    if torch_internals.lacks_fake_kernel(error):
        match = _OPERATOR_NAME.search(text)
        return "operator", match.group(1).replace("::", ".") if match else ""
    if isinstance(error, torch_internals.Undecidable) or DATA_DEPENDENT.search(text) or _SYMBOL.search(text):
        return "failure", ""
    return "", ""
