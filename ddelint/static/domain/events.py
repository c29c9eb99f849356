"""What the interpreter saw: a place that asks, before any rule is named."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.static.domain.values import Step, Value


@dataclass(frozen=True, slots=True)
class Event:
    """A demand on a value that only exists at run time.

    `node` asks; `subject` is the part of it that the question is about (the index of `layers[i]`), None for all of it.
    `rule` is set where the demand itself names the rule (a slice, a retired function).
    """

    node: ast.expr
    question: str
    value_kind: str
    value: Value | None
    trail: Step | None = None
    subject: ast.expr | None = None
    operator: str = ""
    rule: str = ""
    advice: bool = False
    """Nothing asks here today; the place is worth a change all the same."""
    parts: tuple[tuple[ast.expr, Value], ...] = ()
    """The sub-expressions that hold unbacked values, with what they hold."""
    text: str = ""
    """The question in words of its own, where the node alone doesn't say it (a literal in a `case`)."""
    fact: str = ""
    """Why the answer is always the same, though the compiler does not know."""
