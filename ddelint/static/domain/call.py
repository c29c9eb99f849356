"""One call, with its arguments evaluated."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from ddelint.static.domain.state import State
from ddelint.static.domain.values import UNKNOWN, Value


@dataclass(slots=True)
class Call:
    """A call with the values of its arguments; `state` is what holds where it is made, and is changed by it."""

    node: ast.Call
    arguments: list[Value]
    """Positional ones: what `*values` holds is spread out."""
    nodes: list[ast.expr]
    """The node that each of them comes from."""
    keywords: dict[str, Value]
    state: State

    @property
    def first(self) -> Value:
        """The first argument; UNKNOWN where there is none."""
        return self.arguments[0] if self.arguments else UNKNOWN

    def argument_node(self, position: int = 0) -> ast.expr:
        """An argument as it is written; the call itself where it is not: `isinstance(*both)`, `partial(len, x)()`."""
        return self.node.args[position] if position < len(self.node.args) else self.node

    def without_first(self) -> Call:
        """The call with the first argument gone, which is the function that is called."""
        return Call(self.node, self.arguments[1:], self.nodes[1:], {}, self.state)
