"""What is demanded of values that only exist at run time: by operators, and at places of a program."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.static.domain.values import Step, Value

Parts = tuple[tuple[ast.expr, Value], ...]
"""Sub-expressions of a question that hold unbacked values or tensors, with what they hold."""


@dataclass(frozen=True, slots=True)
class Demand:
    """A demand before it is placed: what an operator, or a construct of Python, wants of a value.

    `node` asks; `subject` is the part of it that the question is about (the index of `layers[i]`), None for all of it.
    `rule` is set where the demand itself names the rule (a slice, a retired function).
    """

    node: ast.expr
    question: str
    value: Value | None
    kind: str = ""
    """What kind of value it is; empty where the value says so itself."""
    subject: ast.expr | None = None
    operator: str = ""
    rule: str = ""
    advice: bool = False
    """Nothing asks here today; the place is worth a change all the same."""
    parts: Parts = ()
    look_into: tuple[ast.expr, ...] = ()
    """Expressions in which the parts are to be looked for; `parts` where none are found."""
    text: str = ""
    """The question in words of its own, where the node alone doesn't say it (a literal in a `case`)."""


@dataclass(frozen=True, slots=True)
class Event:
    """A demand that was met at a place of the program, before any rule is named."""

    node: ast.expr
    question: str
    value_kind: str
    value: Value | None
    trail: Step | None = None
    subject: ast.expr | None = None
    operator: str = ""
    rule: str = ""
    advice: bool = False
    parts: Parts = ()
    text: str = ""
    fact: str = ""
    """Why the answer is always the same, though the compiler does not know."""
