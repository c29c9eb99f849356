"""A test as a tensor of one boolean, as torch.where wants it: `&`, `|`, `~` for and, or, not; no `.item()`."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.expressions import OPERATOR_TEXT, Binding, called, is_pure, renamed, text_of, torch_name, wrapped
from ddelint.rewrite.kinds import Kind, Kinds


class NotAPredicate(Exception):
    """A test that cannot be said as a tensor."""


@dataclass
class Predicates:
    """Builds the tensor form of tests for one site; `names` renames what a test reads."""

    context: Context
    device: str = ""
    """Text of the device of the chosen values (`x.device`), for a condition on Python numbers."""
    assume_tensor: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.source = self.context.site.source
        self.kinds = Kinds(self.context)
        self.torch = torch_name(self.source)[0]

    def text(self, node: ast.expr, place: int = Binding.ANY) -> str:
        """The predicate for `node`. Raises NotAPredicate."""
        return wrapped(self._text(node), place)

    def _text(self, node: ast.expr) -> str:
        match node:
            case ast.NamedExpr():
                raise NotAPredicate("an assignment inside the test")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"~{self.text(operand, Binding.ARITHMETIC + 2)}"
            case ast.BoolOp(op=operator, values=values):
                if any(self.kinds.of(value) is Kind.STATIC for value in values):
                    raise NotAPredicate("a part that is known while tracing")
                sign = " & " if isinstance(operator, ast.And) else " | "
                return sign.join(self.text(value, Binding.BITWISE + 1) for value in values)
            case ast.Call(func=ast.Name(id="bool"), args=[argument]):
                return self._text(argument)
            case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]):
                if self.kinds.dtype(value) == "bool":
                    return self._text(value)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner))) if owner in {"torch", self.torch}:
                if called(node) in {"equal", "allclose"} and len(node.args) >= 2:
                    return self._whole(node)
            case ast.Compare() if len(node.ops) > 1:
                return self._chain(node)
            case ast.Compare(ops=[ast.In() | ast.NotIn() | ast.Is() | ast.IsNot()]):
                raise NotAPredicate("membership or identity")
        kind = self.kinds.of(node)
        if kind is Kind.STATIC:
            raise NotAPredicate("known while tracing")
        if kind is Kind.TENSOR or (kind is Kind.UNKNOWN and self.assume_tensor):
            return self._of_tensor(node)
        return self._of_number(node, kind)

    def _leaf(self, node: ast.expr, place: int = Binding.ANY) -> str:
        if any(isinstance(inner, ast.Name) and inner.id in self.names for inner in ast.walk(node)):
            return wrapped(renamed(self.source, node, self.names), place)
        return text_of(self.source, node, place)

    def _of_tensor(self, node: ast.expr) -> str:
        text = self._leaf(node)
        if not isinstance(node, ast.Compare) and self.kinds.dtype(node) not in ("bool", ""):
            text = f"{wrapped(text, Binding.BITWISE)} != 0"
        shape = self.kinds.shape(node)
        if shape:
            text = f"{wrapped(text, Binding.PRIMARY)}.reshape(())"
        return text

    def _of_number(self, node: ast.expr, kind: Kind) -> str:
        exact = self._without_item(node)
        if exact is not None:
            return exact
        text = self._leaf(node)
        if kind is Kind.NUMBER:
            text = f"{wrapped(text, Binding.BITWISE)} != 0"
        device = f", device={self.device}" if self.device else ""
        return f"{self.torch}.full((), {text}, dtype={self.torch}.bool{device})"

    def _without_item(self, node: ast.expr) -> str | None:
        """`t.sum().item() > 4` as `t.sum() > 4`, where the tensor holds integers."""
        if not isinstance(node, ast.Compare):
            return None
        sides = []
        found = False
        for side in (node.left, node.comparators[0]):
            match side:
                case ast.Call(func=ast.Attribute(attr="item", value=value), args=[]):
                    if not (self.kinds.dtype(value).startswith(("int", "uint"))):
                        return None
                    found = True
                    sides.append(self._leaf(value, Binding.BITWISE))
                case _:
                    sides.append(self._leaf(side, Binding.BITWISE))
        return f"{sides[0]} {OPERATOR_TEXT[type(node.ops[0])]} {sides[1]}" if found else None

    def _chain(self, node: ast.Compare) -> str:
        sides = [node.left, *node.comparators]
        if not all(is_pure(side) for side in sides):
            raise NotAPredicate("a chained comparison with an effect")
        links = []
        for left, operator, right in zip(sides, node.ops, sides[1:]):
            link = ast.Compare(left=left, ops=[operator], comparators=[right])
            exact = self._without_item(link)
            if exact is not None:
                links.append(f"({exact})")
                continue
            first, second = self._leaf(left, Binding.BITWISE), self._leaf(right, Binding.BITWISE)
            text = f"{first} {OPERATOR_TEXT[type(operator)]} {second}"
            if self.kinds.of(link) is not Kind.TENSOR:
                device = f", device={self.device}" if self.device else ""
                links.append(f"{self.torch}.full((), {text}, dtype={self.torch}.bool{device})")
            else:
                links.append(f"({text})")
        return " & ".join(links)

    def _whole(self, node: ast.Call) -> str:
        """`torch.equal(a, b)` of equal shapes, element by element."""
        first, second = node.args[0], node.args[1]
        shapes = [self.kinds.shape(first), self.kinds.shape(second)]
        if None not in shapes and shapes[0] != shapes[1]:
            raise NotAPredicate("shapes that differ")
        if called(node) == "equal":
            return f"({self._leaf(first, Binding.BITWISE)} == {self._leaf(second, Binding.BITWISE)}).all()"
        arguments = [self._leaf(argument) for argument in node.args]
        arguments += [f"{keyword.arg}={self._leaf(keyword.value)}" for keyword in node.keywords if keyword.arg]
        return f"{self.torch}.isclose({', '.join(arguments)}).all()"
