"""What one arm of a branch computes, as texts: which values it gives to which names, or what it returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.expressions import (
    Binding,
    draws_random,
    fresh_name,
    is_pure,
    names_read,
    names_written,
    renamed,
    replaced,
    text_of,
    wrapped,
)
from ddelint.rewrite.knowledge import knowledge
from ddelint.rewrite.predicates import NotAPredicate, Predicates

OPERATORS: dict[type[ast.operator], tuple[str, int, str]] = {
    ast.Add: ("+", Binding.ARITHMETIC, "0"),
    ast.Sub: ("-", Binding.ARITHMETIC, "0"),
    ast.Mult: ("*", Binding.ARITHMETIC + 1, "1"),
    ast.Div: ("/", Binding.ARITHMETIC + 1, "1"),
}
"""Sign, how tightly it binds, and the operand that changes nothing."""


_PLACES = {sign: place for sign, place, _ in OPERATORS.values()}


class NotMergeable(Exception):
    """An arm that does more than compute values."""


@dataclass(frozen=True, slots=True)
class Value:
    """The text of a value, and for `y += v` the sign of the operator (then the text is v)."""

    text: str
    sign: str = ""
    node: ast.expr | None = None
    """The expression itself where the text is its own, unchanged."""


@dataclass
class Arm:
    """One arm's outcome; its texts read the names as they were before the branch."""

    prelude: list[str] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    returned: list[Value] | None = None
    is_tuple: bool = False


@dataclass
class ArmReader:
    """Reads arms of one site's branch. `choose(test, then, otherwise, names)` builds the text of a nested choice."""

    context: Context
    choose: Callable[[str, Value, Value], str]
    predicates: Callable[[dict[str, str]], Predicates]
    allow_random: bool = False
    local: frozenset[str] = frozenset()
    """Names that live in the arm only: they keep their names."""
    _given: set[str] = field(default_factory=set)

    def read(self, body: Sequence[ast.stmt], suffix: str) -> Arm:
        """The outcome of `body`. Raises NotMergeable."""
        arm = Arm()
        names: dict[str, str] = {}
        for index, statement in enumerate(body):
            later = list(body[index + 1 :])
            if arm.returned is not None:
                raise NotMergeable("statements after a return")
            self._statement(statement, later, arm, names, suffix)
        return arm

    # ------------------------------------------------------------------ one statement

    def _statement(
        self, statement: ast.stmt, later: list[ast.stmt], arm: Arm, names: dict[str, str], suffix: str
    ) -> None:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._give(name, self._value(value, names), later, arm, names, suffix)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._give(name, self._value(value, names), later, arm, names, suffix)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._unpack(targets, value, later, arm, names, suffix)
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                self._augment(name, operator, value, later, arm, names, suffix)
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as place], value=value):
                self._place(place, value, later, arm, names)
            case ast.AugAssign(target=ast.Subscript() | ast.Attribute() as place, op=operator, value=value):
                self._place(place, value, later, arm, names, operator)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=attr)) as call) if attr.endswith("_"):
                self._in_place(owner, attr, call, later, arm, names)
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[value], keywords=[]) as call):
                self._append(call, value, later, arm, names)
            case ast.If():
                self._nested(statement, later, arm, names, suffix)
            case ast.Return(value=ast.expr() as value):
                self._return(value, arm, names)
            case _:
                raise NotMergeable(f"a statement that is more than a value: {type(statement).__name__}")

    def _value(self, node: ast.expr, names: dict[str, str]) -> Value:
        if not is_pure(node):
            raise NotMergeable("a value with an effect")
        if draws_random(node) and not self.allow_random:
            raise NotMergeable("a value that draws random numbers")
        if isinstance(node, ast.Constant) and not isinstance(node.value, (int, float)):
            raise NotMergeable("a value that is not a number or a tensor")
        if isinstance(node, (ast.Dict, ast.List, ast.Set, ast.JoinedStr, ast.Tuple, ast.Lambda)):
            raise NotMergeable("a value that is not a number or a tensor")
        source = self.context.site.source
        if names_read(node) & names.keys():
            return Value(renamed(source, node, names))
        return Value(text_of(source, node), node=node)

    def _give(
        self, name: str, value: Value, later: list[ast.stmt], arm: Arm, names: dict[str, str], suffix: str
    ) -> None:
        if name in self.local:
            arm.prelude.append(f"{name} = {value.text}")
            arm.values.pop(name, None)
            return
        if name in names_read(*later) or any(_subscripted(statement, name) for statement in later):
            fresh = self._fresh(f"{name}_{suffix}")
            arm.prelude.append(f"{fresh} = {value.text}")
            names[name] = fresh
            value = Value(fresh)
        arm.values[name] = value

    def _fresh(self, base: str) -> str:
        name = fresh_name(self.context.site.source, base)
        while name in self._given:
            name += "_"
        self._given.add(name)
        return name

    def _unpack(
        self,
        targets: list[ast.expr],
        value: ast.expr,
        later: list[ast.stmt],
        arm: Arm,
        names: dict[str, str],
        suffix: str,
    ) -> None:
        plain = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(plain) != len(targets):
            raise NotMergeable("unpacking into something else than names")
        if isinstance(value, ast.Tuple) and len(value.elts) == len(plain):
            values = [self._value(element, names) for element in value.elts]
            for name, one in zip(plain, values):
                self._give(name, one, later, arm, names, suffix)
            return
        text = self._value(value, names).text
        if self.local.issuperset(plain):
            arm.prelude.append(f"{', '.join(plain)} = {text}")
            return
        fresh = [self._fresh(f"{name}_{suffix}") for name in plain]
        arm.prelude.append(f"{', '.join(fresh)} = {text}")
        for name, new in zip(plain, fresh):
            names[name] = new
            arm.values[name] = Value(new)

    def _augment(
        self,
        name: str,
        operator: ast.operator,
        value: ast.expr,
        later: list[ast.stmt],
        arm: Arm,
        names: dict[str, str],
        suffix: str,
    ) -> None:
        if type(operator) not in OPERATORS:
            raise NotMergeable("an operator without a neutral operand")
        sign, place, _ = OPERATORS[type(operator)]
        operand = self._value(value, names)
        if name in self.local or name in arm.values or name in names_read(*later):
            before = arm.values.get(name, Value(name))
            if before.sign:
                raise NotMergeable("two changes in place")
            text = f"{wrapped(before.text, place)} {sign} {wrapped(operand.text, place + 1)}"
            self._give(name, Value(text), later, arm, names, suffix)
            return
        arm.values[name] = Value(operand.text, sign, operand.node)

    def _place(
        self,
        place: ast.Subscript | ast.Attribute,
        value: ast.expr,
        later: list[ast.stmt],
        arm: Arm,
        names: dict[str, str],
        operator: ast.operator | None = None,
    ) -> None:
        """`x[i] = v`, `self.x = v`, and with an operator `x[i] += v`."""
        source = self.context.site.source
        new = self._value(value, names)
        root = _root(place)
        if operator is not None and type(operator) not in OPERATORS:
            raise NotMergeable("an operator without a neutral operand")
        sign = OPERATORS[type(operator)][0] if operator is not None else ""
        if isinstance(place, ast.Subscript) and (root in names or root in self.local):
            # the arm's own object: it may be changed
            target = renamed_target(source.segment(place), root, names.get(root, root))
            arm.prelude.append(f"{target} {sign}= {new.text}")
            return
        text = source.segment(place)
        if not is_pure(place) or any(ast.unparse(place.value) in ast.unparse(statement) for statement in later):
            raise NotMergeable("a place that is read again")
        if names_read(place) & names.keys():
            raise NotMergeable("a place that hangs on a value of the arm")
        if text in arm.values:
            raise NotMergeable("a place that is written twice")
        arm.values[text] = Value(new.text, sign, new.node)

    def _in_place(
        self, owner: ast.expr, attr: str, call: ast.Call, later: list[ast.stmt], arm: Arm, names: dict[str, str]
    ) -> None:
        source = self.context.site.source
        if isinstance(owner, ast.Name) and (owner.id in names or owner.id in self.local):
            changes = [(n, names[n.id]) for n in ast.walk(call) if isinstance(n, ast.Name) and n.id in names]
            arm.prelude.append(replaced(source, call, changes))
            return
        target = source.segment(owner)
        if any(target in source.segment(statement) for statement in later) or not is_pure(owner):
            raise NotMergeable("a value changed in place is read again")
        if call.keywords and attr in {"copy_", "fill_"}:
            raise NotMergeable("an in-place call with options")
        arguments = [self._value(argument, names).text for argument in call.args]
        arguments += [f"{k.arg}={self._value(k.value, names).text}" for k in call.keywords if k.arg]
        if attr in {"copy_", "fill_"} and len(arguments) == 1:
            arm.values[f"{target}.copy_"] = Value(arguments[0])
        elif attr == "zero_":
            arm.values[f"{target}.copy_"] = Value("0")
        elif attr in knowledge().functional:
            method = knowledge().functional[attr]
            arm.values[f"{target}.copy_"] = Value(f"{target}.{method}({', '.join(arguments)})")
        else:
            raise NotMergeable(f"{attr} in place")

    def _append(self, call: ast.Call, value: ast.expr, later: list[ast.stmt], arm: Arm, names: dict[str, str]) -> None:
        """`rows.append(v)`, which both arms must do: then one value is chosen and appended."""
        target = self.context.site.source.segment(call.func)
        root = _root(call.func)
        if target in arm.values or not is_pure(call.func) or root in names_read(*later) or root in names:
            raise NotMergeable("a list that is changed more than once")
        arm.values[target] = self._value(value, names)

    def _nested(self, statement: ast.If, later: list[ast.stmt], arm: Arm, names: dict[str, str], suffix: str) -> None:
        try:
            test = self.predicates(dict(names)).text(statement.test)
        except NotAPredicate as error:
            raise NotMergeable(str(error)) from error
        then = self._inner(statement.body, names, f"{suffix}_then")
        otherwise = self._inner(statement.orelse, names, f"{suffix}_else")
        arm.prelude += then.prelude + otherwise.prelude
        if (then.returned is None) != (otherwise.returned is None):
            raise NotMergeable("one arm returns")
        if then.returned is not None and otherwise.returned is not None:
            if len(then.returned) != len(otherwise.returned) or then.is_tuple != otherwise.is_tuple:
                raise NotMergeable("arms that return different structures")
            arm.returned = [Value(self.choose(test, a, b)) for a, b in zip(then.returned, otherwise.returned)]
            arm.is_tuple = then.is_tuple
            return
        for target in dict.fromkeys((*then.values, *otherwise.values)):
            if not target.isidentifier():
                raise NotMergeable("a place inside a nested branch")
            before = Value(names.get(target, target))
            values = [
                Value(f"{before.text} {value.sign} {wrapped(value.text, _PLACES[value.sign] + 1)}")
                if value.sign
                else value
                for value in (then.values.get(target, before), otherwise.values.get(target, before))
            ]
            self._give(target, Value(self.choose(test, *values)), later, arm, names, suffix)

    def _inner(self, body: Sequence[ast.stmt], names: dict[str, str], suffix: str) -> Arm:
        arm, inner = Arm(), dict(names)
        for index, statement in enumerate(body):
            self._statement(statement, list(body[index + 1 :]), arm, inner, suffix)
        return arm

    def _return(self, value: ast.expr, arm: Arm, names: dict[str, str]) -> None:
        if isinstance(value, ast.Tuple):
            arm.returned = [self._value(element, names) for element in value.elts]
            arm.is_tuple = True
        else:
            arm.returned = [self._value(value, names)]


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _subscripted(statement: ast.stmt, name: str) -> bool:
    """Whether a statement changes a part of `name`."""
    return any(
        isinstance(node, (ast.Subscript, ast.Attribute)) and _root(node) == name for node in ast.walk(statement)
    ) and name not in names_written(statement)


def renamed_target(text: str, name: str, new: str) -> str:
    """The text of a target with its root name replaced."""
    return new + text[len(name) :] if text.startswith(name) else text
