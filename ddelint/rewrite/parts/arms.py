"""What one arm of a branch computes: which values it gives to which names and places, or what it returns."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.places import changes_part, is_handed_on, is_said, reads_any, root, word
from ddelint.rewrite.parts.structures import Structure, structure_of
from ddelint.rewrite.parts.truths import NotAPredicate, Truths
from ddelint.rewrite.reading.effects import is_heard, says_without_effect
from ddelint.rewrite.reading.knowledge import knowledge
from ddelint.rewrite.reading.names import (
    draws_random,
    fresh_name,
    is_pure,
    names_read,
)
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements
from ddelint.sources.buffers import is_buffer
from ddelint.sources.compiling import answer_while_compiling
from ddelint.sources.sites import is_talk

NEUTRAL: Mapping[type[ast.operator], int] = {ast.Add: 0, ast.Sub: 0, ast.Mult: 1, ast.Div: 1}
"""The operand with which an operator changes nothing."""
_NO_NUMBERS = (ast.Dict, ast.List, ast.Set, ast.JoinedStr, ast.Tuple, ast.Lambda, ast.Starred)
_COPIES = frozenset(("copy_", "fill_"))


class NotMergeable(Exception):
    """An arm that does more than compute values."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a value goes: a name, a place (`self.x`, `x[0]`), or an object whose method takes it."""

    text: str
    """The code of `node`, which targets are distinguished by."""
    node: ast.expr = field(compare=False)
    method: str = ""
    """`copy_` or `append`; empty for what is assigned."""

    @property
    def is_name(self) -> bool:
        return not self.method and isinstance(self.node, ast.Name)


def named(name: str) -> Target:
    """A name as a target."""
    return Target(name, ast.Name(id=name, ctx=ast.Load()))


@dataclass(frozen=True, slots=True)
class Value:
    """A value as built; with an operator, what `y += v` adds to its target."""

    built: Expr
    operator: ast.operator | None = None
    node: ast.expr | None = None
    """The expression of the source that it is, where nothing in it changes."""
    named: ast.expr | None = None
    """The expression whose value it holds, where it is a name that this got."""


@dataclass
class Arm:
    """One arm's outcome; its values read the names as they were before the branch."""

    prelude: Statements = field(default_factory=list)
    values: dict[Target, Value] = field(default_factory=dict)
    returned: list[Value] | None = None
    structure: Structure = field(default_factory=Structure)
    """How the returned values stand together."""


@dataclass
class _Reading:
    """An arm while it is read."""

    arm: Arm
    names: dict[str, str]
    """Names that the arm gave a value, and what they are called instead."""
    suffix: str
    later: Sequence[ast.stmt] = ()
    """The statements behind the one being read."""


@dataclass
class ArmReader:
    """Reads arms of one site's branch."""

    context: Context
    choose: Callable[[Expr, Value, Value], Expr]
    """Builds a nested choice from its test and its two values."""
    truths: Callable[[Mapping[str, str]], Truths]
    """Builds tests in which names are called otherwise."""
    allow_random: bool = False
    local: frozenset[str] = frozenset()
    """Names that live in the arm only: they keep their names."""
    harmless: Callable[[ast.expr], Expr | None] = lambda node: None
    """What is computed on the way in the place of a value that does harm where the arm isn't chosen."""
    protects: bool = False
    """Whether something was."""
    may_fall_silent: bool = False
    """Whether what an arm only says may be left out, since eager keeps its branch."""
    falls_silent: bool = False
    """Whether something was."""
    is_compiled: bool = False
    """Whether something stands for what the compiler sees of the arm alone: eager must keep its branch."""
    _given: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.write = self.context.write

    def read(self, body: Sequence[ast.stmt], suffix: str) -> Arm:
        """The outcome of `body`. Raises NotMergeable."""
        return self._read(body, _Reading(Arm(), {}, suffix))

    def _read(self, body: Sequence[ast.stmt], at: _Reading) -> Arm:
        for number, statement in enumerate(body, start=1):
            if at.arm.returned is not None:
                raise NotMergeable("statements after a return")
            at.later = body[number:]
            self._statement(statement, at)
        return at.arm

    # ------------------------------------------------------------------ one statement

    def _is_unheard(self, talk: ast.stmt) -> bool:
        source = self.context.site.source
        return says_without_effect(talk, source) and not is_heard(source)

    def _statement(self, statement: ast.stmt, at: _Reading) -> None:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                return
            case ast.Expr() if self.may_fall_silent and is_talk(statement) and self._is_unheard(statement):
                self.falls_silent = True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._give(name, self._value(value, at), at)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self._give(name, self._value(value, at), at)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self._unpack(targets, value, at)
            case ast.AugAssign(target=ast.Name(id=name), op=operator, value=value):
                self._augment(name, operator, value, at)
            case ast.Assign(targets=[ast.Subscript() | ast.Attribute() as place], value=value):
                self._place(place, value, at)
            case ast.AugAssign(target=ast.Subscript() | ast.Attribute() as place, op=operator, value=value):
                self._place(place, value, at, operator)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr=attr)) as call) if attr.endswith("_"):
                self._in_place(owner, attr, call, at)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="append"), args=[value], keywords=[])):
                self._append(owner, self._value(value, at), at)
            case ast.If():
                self._nested(statement, at)
            case ast.Return(value=ast.expr() as value):
                at.arm.structure = structure_of(value)
                at.arm.returned = [self._part(part, at) for part in at.arm.structure.parts]
            case _:
                raise NotMergeable(f"a statement that is more than a value: {type(statement).__name__}")

    def _value(self, node: ast.expr, at: _Reading) -> Value:
        if not is_pure(node):
            raise NotMergeable("a value with an effect")
        if draws_random(node) and not self.allow_random:
            raise NotMergeable("a value that draws random numbers")
        if _is_no_number(node) or isinstance(node, _NO_NUMBERS):
            raise NotMergeable("a value that is not a number or a tensor")
        if reads_any(node, at.names):
            return Value(self.write.renamed(self._protected(node), at.names))
        return Value(self.write.expression(node), node=node)

    def _part(self, node: ast.expr, at: _Reading) -> Value:
        """A part of what is returned: a text or None among several must be the same on both sides."""
        if _is_no_number(node) and not at.arm.structure.is_single:
            return Value(self.write.expression(node), node=node)
        return self._value(node, at)

    def _give(self, name: str, value: Value, at: _Reading) -> None:
        target = named(name)
        if name in self.local:
            built = value.built if value.node is None else self._protected(value.node)
            at.arm.prelude += self.write.assigned(name, built)
            at.arm.values.pop(target, None)
            return
        if name in names_read(*at.later) or any(changes_part(statement, name) for statement in at.later):
            at.names[name] = self._fresh(name, at)
            built = value.built if value.node is None else self._protected(value.node)
            at.arm.prelude += self.write.assigned(at.names[name], built)
            value = Value(self.write.expression(at.names[name]))
        at.arm.values[target] = value

    def _protected(self, node: ast.expr) -> Part:
        instead = self.harmless(node)
        self.protects |= instead is not None
        return node if instead is None else instead

    def _fresh(self, name: str, at: _Reading) -> str:
        fresh = fresh_name(self.context.site.source, f"{name}_{at.suffix}")
        while fresh in self._given:
            fresh += "_"
        self._given.add(fresh)
        return fresh

    def _unpack(self, targets: Sequence[ast.expr], value: ast.expr, at: _Reading) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if len(names) != len(targets):
            raise NotMergeable("unpacking into something else than names")
        if isinstance(value, ast.Tuple) and len(value.elts) == len(names):
            values = [self._value(element, at) for element in value.elts]
            for name, one in zip(names, values):
                self._give(name, one, at)
            return
        built = self._value(value, at).built
        if self.local.issuperset(names):
            at.arm.prelude += self.write.assigned(self.write.tuple(names), built)
            return
        fresh = [self._fresh(name, at) for name in names]
        at.arm.prelude += self.write.assigned(self.write.tuple(fresh), built)
        at.names.update(zip(names, fresh))
        at.arm.values.update((named(name), Value(self.write.expression(new))) for name, new in zip(names, fresh))

    def _augment(self, name: str, operator: ast.operator, value: ast.expr, at: _Reading) -> None:
        _require_neutral(operator)
        operand = self._value(value, at)
        target = named(name)
        if name in self.local or target in at.arm.values or name in names_read(*at.later):
            before = at.arm.values.get(target, Value(self.write.expression(name)))
            if before.operator is not None:
                raise NotMergeable("two changes in place")
            self._give(name, Value(self.write.operation(before.built, operator, operand.built)), at)
            return
        at.arm.values[target] = Value(operand.built, operator, operand.node)

    def _place(
        self, place: ast.Subscript | ast.Attribute, value: ast.expr, at: _Reading, operator: ast.operator | None = None
    ) -> None:
        """`x[i] = v`, `self.x = v`, and with an operator `x[i] += v`."""
        new = self._value(value, at)
        if operator is not None:
            _require_neutral(operator)
        if isinstance(place, ast.Subscript) and root(place) in at.names.keys() | self.local:
            at.arm.prelude += self.write.assigned(self.write.renamed(place, at.names), new.built, operator)
            return
        target = Target(ast.unparse(place), place)
        if not is_pure(place):
            raise NotMergeable("a place with an effect")
        if operator is not None and self._is_slot(place) and self._is_told(target, at):
            new, operator = Value(self.write.operation(self._held(target, at), operator, new.built)), None
        self._keep(target, Value(new.built, operator, new.node), at)

    def _keep(self, target: Target, value: Value, at: _Reading) -> None:
        """The value of a place, under a name of its own where the arm reads or changes the place again."""
        if target.text not in at.names and reads_any(target.node, at.names):
            raise NotMergeable("a place that hangs on a value of the arm")
        is_slot = self._is_slot(target.node)
        if is_slot and is_handed_on(at.later, target.node, self.context):
            raise NotMergeable("a place that is read again")
        if is_said(at.later, target.node, is_slot):
            if not is_slot or value.operator is not None:
                raise NotMergeable("a place that is read again")
            at.names[target.text] = self._fresh(word(target.node), at)
            built = value.built if value.node is None else self._protected(value.node)
            at.arm.prelude += self.write.assigned(at.names[target.text], built)
            value = Value(self.write.expression(at.names[target.text]))
        elif target in at.arm.values and target.text not in at.names:
            raise NotMergeable("a place that is written twice")
        earlier = [other for other in at.arm.values if other.text == target.text and other != target]
        if earlier:  # the last value counts; what keeps its object keeps it as it did
            if "append" in {target.method, earlier[0].method} or isinstance(target.node, ast.Name):
                raise NotMergeable("a place that is written in two ways")
            target = earlier[0]
        at.arm.values[target] = value

    def _is_told(self, target: Target, at: _Reading) -> bool:
        """Whether a place that is changed in place has, or needs, a name for its value on the way."""
        return target.text in at.names or is_said(at.later, target.node, self._is_slot(target.node))

    def _is_slot(self, place: ast.expr) -> bool:
        """Whether a place holds one object, whose value on the way may have a name: `self.x`, `stats["loss"]`."""
        match place:
            case ast.Attribute():
                return True
            case ast.Subscript(value=ast.Name(id=owner), slice=ast.Constant(value=str())):
                fact = self.context.type_of(owner)
                return fact is not None and fact.kind == "dict"
        return False

    def _held(self, target: Target, at: _Reading) -> Expr:
        """What a place holds where the arm has come to."""
        return self.write.renamed(target.node, at.names)

    def _in_place(self, owner: ast.expr, attr: str, call: ast.Call, at: _Reading) -> None:
        while isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr.endswith("_"):
            owner = owner.func.value  # `x.mul_(m).add_(y)`
        if isinstance(owner, ast.Name) and owner.id in at.names.keys() | self.local:
            at.arm.prelude += self.write.block([self.write.renamed(call, at.names)])
            return
        if not is_pure(owner):
            raise NotMergeable("a value changed in place is read again")
        self._keep(Target(ast.unparse(owner), owner, "copy_"), Value(self._out_of_place(call, at)), at)

    def _out_of_place(self, call: ast.Call, at: _Reading) -> Expr:
        """What a call in place leaves in its tensor, as a value."""
        assert isinstance(call.func, ast.Attribute)
        owner, attr = call.func.value, call.func.attr
        arguments: list[Part] = [self._value(argument, at).built for argument in call.args]
        if call.keywords and attr in _COPIES:
            raise NotMergeable("an in-place call with options")
        for keyword in call.keywords:
            self._value(keyword.value, at)
            arguments.append(self.write.renamed(keyword, at.names))
        if attr in _COPIES and len(arguments) == 1:
            return self.write.expression(arguments[0])
        if attr == "zero_":
            return self.write.expression(0)
        if attr not in knowledge().functional:
            raise NotMergeable(f"{attr} in place")
        before = self._out_of_place(owner, at) if isinstance(owner, ast.Call) else self.write.renamed(owner, at.names)
        method = knowledge().functional[attr]
        return self.write.expr("{owner}.{method}({arguments})", owner=before, method=method, arguments=arguments)

    def _append(self, owner: ast.expr, value: Value, at: _Reading) -> None:
        """`rows.append(v)`, which both arms must do: then one value is chosen and appended."""
        target = Target(ast.unparse(owner), owner, "append")
        holder = root(owner)
        if target in at.arm.values or not is_pure(owner) or holder in names_read(*at.later) or holder in at.names:
            raise NotMergeable("a list that is changed more than once")
        at.arm.values[target] = value

    def _nested(self, statement: ast.If, at: _Reading) -> None:
        answer = answer_while_compiling(statement.test)
        if answer is not None and self.may_fall_silent:
            self.is_compiled = True
            self._inner(statement.body if answer else statement.orelse, at)
            return
        if not is_pure(statement.test):
            raise NotMergeable("a test with an effect")
        try:
            test = self.truths(dict(at.names)).of(statement.test)
        except NotAPredicate as error:
            raise NotMergeable(str(error)) from error
        then = self._read(statement.body, _Reading(Arm(), dict(at.names), f"{at.suffix}_then"))
        otherwise = self._read(statement.orelse, _Reading(Arm(), dict(at.names), f"{at.suffix}_else"))
        at.arm.prelude += then.prelude + otherwise.prelude
        if then.returned is not None or otherwise.returned is not None:
            at.arm.returned, at.arm.structure = chosen_returns(self.choose, test, then, otherwise), then.structure
            return
        for target in {target.text: target for target in (*then.values, *otherwise.values)}.values():
            if target.method == "append" and target in then.values.keys() & otherwise.values.keys():
                appended = Value(self.choose(test, then.values[target], otherwise.values[target]))
                self._append(target.node, appended, at)
                continue
            before = Value(self._held(target, at))
            values = [
                Value(self.write.operation(before.built, value.operator, value.built)) if value.operator else value
                for value in (self._left(arm, target, before) for arm in (then, otherwise))
            ]
            chosen = Value(self.choose(test, *values))
            if target.is_name:
                self._give(target.text, chosen, at)
            else:
                self._keep(target, chosen, at)

    def _left(self, arm: Arm, target: Target, before: Value) -> Value:
        """What a nested arm leaves in a place, whichever way it puts it there. Raises NotMergeable."""
        for other, value in arm.values.items():
            if other.text != target.text:
                continue
            if "append" in {other.method, target.method}:
                raise NotMergeable("a list that grows in a nested branch")
            if other != target and not is_buffer(self.context.site.source, self.context.site.node, target.text):
                raise NotMergeable("a place that is written in two ways")
            return value
        return before

    def _inner(self, body: Sequence[ast.stmt], at: _Reading) -> None:
        """Statements that stand in the place of the one that is read."""
        behind = at.later
        for number, statement in enumerate(body, start=1):
            at.later = [*body[number:], *behind]
            self._statement(statement, at)
        at.later = behind


def chosen_returns(choose: Callable[[Expr, Value, Value], Expr], test: Expr, then: Arm, otherwise: Arm) -> list[Value]:
    """What one of two arms returns, value by value. Raises NotMergeable where they return different structures."""
    if then.returned is None or otherwise.returned is None:
        raise NotMergeable("an arm doesn't return")
    if then.structure != otherwise.structure:
        raise NotMergeable("arms that return different structures")
    for pair in zip(then.returned, otherwise.returned):
        nodes = [value.node for value in pair if value.node is not None and _is_no_number(value.node)]
        if nodes and (len(nodes) == 1 or ast.unparse(nodes[0]) != ast.unparse(nodes[1])):
            raise NotMergeable("a value that is not a number or a tensor")
    return [Value(choose(test, *pair)) for pair in zip(then.returned, otherwise.returned)]


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, (int, float))


def _require_neutral(operator: ast.operator) -> None:
    if type(operator) not in NEUTRAL:
        raise NotMergeable("an operator without a neutral operand")
