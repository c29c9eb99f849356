"""One call of an operator, as kernels get it: values, facts and a source of symbols."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field

from ddelint.static.domain.demands import Demand, Parts
from ddelint.static.domain.facts import Facts
from ddelint.static.domain.invariants import Invariants
from ddelint.static.domain.values import UNKNOWN, Constant, Several, Tensor, Value
from ddelint.static.transfer.numbers import Numbers


@dataclass
class OperatorCall:
    """One call of an operator: as a method, `tensor` is the receiver; as a function, its first argument."""

    node: ast.Call
    name: str
    tensor: Tensor
    arguments: list[Value]
    """Positional arguments after the tensor."""
    nodes: list[ast.expr]
    """Their nodes."""
    keywords: dict[str, Value]
    facts: Facts
    numbers: Numbers
    invariants: Invariants
    method: bool
    everything: list[Value] = field(default_factory=list)
    """All positional arguments of a function, the tensor included."""
    every_node: list[ast.expr] = field(default_factory=list)
    tensor_node: ast.expr | None = None
    demands: list[Demand] = field(default_factory=list)
    """What the operator demands, in order."""
    newly_read: Tensor | None = None
    """The tensor of which a number was read for the first time."""

    def demand(
        self,
        question: str,
        value: Value,
        *,
        subject: ast.expr | None = None,
        operator: str = "",
        rule: str = "",
        advice: bool = False,
        parts: Parts = (),
        look_into: tuple[ast.expr, ...] = (),
    ) -> None:
        """Note that the call demands something of `value`."""
        self.demands.append(
            Demand(
                self.node,
                question,
                value,
                subject=subject,
                operator=operator,
                rule=rule,
                advice=advice,
                parts=parts,
                look_into=look_into,
            )
        )

    def argument(self, position: int, *names: str) -> Value | None:
        """An argument after the tensor, by position or by one of its names."""
        for name in names:
            if name in self.keywords:
                return self.keywords[name]
        if any(isinstance(value, Several) for value in self.arguments[: position + 1]):
            return UNKNOWN  # it may be one of these
        return self.arguments[position] if position < len(self.arguments) else None

    def node_of(self, position: int, *names: str) -> ast.expr | None:
        """The node of that argument."""
        for keyword in self.node.keywords:
            if keyword.arg in names:
                return keyword.value
        return self.nodes[position] if position < len(self.nodes) else None

    def integer(self, position: int, *names: str) -> int | None:
        """The argument where it is a literal int."""
        value = self.argument(position, *names)
        return value.value if isinstance(value, Constant) and type(value.value) is int else None


Kernel = Callable[[OperatorCall], Value]
"""What an operator makes of its arguments. Demands are noted in the call; nothing is evaluated."""
