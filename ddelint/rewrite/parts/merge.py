"""The values of both arms of a branch as one: `torch.where` chooses, name by name, or result by result."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from ddelint.rewrite.candidate import Context
from ddelint.rewrite.parts.arms import NEUTRAL, Arm, ArmReader, NotMergeable, Target, Value, chosen_returns
from ddelint.rewrite.parts.harmless import FLOATS, INTEGERS, PROTECTED, UNPROTECTED, Protection, harmless
from ddelint.rewrite.parts.member_by_member import chosen_by_member, collects
from ddelint.rewrite.parts.pieces import chosen_piece
from ddelint.rewrite.parts.truths import Truths
from ddelint.rewrite.reading.around import number_kind, read_elsewhere
from ddelint.rewrite.reading.kinds import Kind, Kinds
from ddelint.rewrite.reading.mixed import starts_as_number
from ddelint.rewrite.reading.names import (
    bound_before,
    enclosing_block,
    fresh_name,
    names_read,
    names_written,
    parameters,
)
from ddelint.rewrite.reading.naming import condition_name
from ddelint.rewrite.reading.regions import changed_in_place, live_behind
from ddelint.rewrite.writing.rewrites import Expr, Part, Statements
from ddelint.sources.buffers import is_buffer

_LONG_TEST = 40
"""Characters of a test from which it gets a name of its own."""
_CHOSEN = {"int": INTEGERS, "float": FLOATS}
"""A Python number for each of two such."""
_TAKING = {"copy_": "{target}.copy_({value})", "append": "{target}.append({value})"}


def device_of(context: Context, *nodes: ast.AST) -> Expr | None:
    """The device of the first tensor that `nodes` read by name, as far as a run saw it, and that is none at times."""
    for node in nodes:
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Name, ast.Attribute)) and isinstance(inner.ctx, ast.Load):
                fact = context.type_of(ast.unparse(inner))
                if isinstance(inner, ast.Name) and starts_as_number(context.site.function, inner.id):
                    continue
                if fact is not None and fact.kind == "tensor":
                    return context.write.expr("{}.device", inner)
    return None


def masked_lines(
    context: Context, statement: ast.stmt, body: Sequence[ast.stmt], test: Expr, index: str = ""
) -> Statements:
    """An iteration's `body` with everything that outlives it chosen by `test`. Raises NotMergeable.

    `statement` is the loop, `index` the name that it counts with.
    """
    branch = ast.copy_location(ast.If(test=ast.Constant(True), body=list(body), orelse=[]), statement)
    merge = Merge(context, branch, context.diagnostic.code == "DDE105", way=UNPROTECTED, whole=statement)
    behind = live_behind(context.site.source, statement) if context.site.function is not None else names_written(*body)
    local = frozenset(
        name
        for name in names_written(*body) - {index} - behind
        if not merge.defined_before(name) and _written_first(body, name)
    )
    return merge.masked(test, local)


def _written_first(body: Sequence[ast.stmt], name: str) -> bool:
    """Whether `name` is given a value before it is read, on the top level of `body`."""
    for statement in body:
        match statement:
            case ast.Assign(targets=targets, value=value) | ast.AnnAssign(target=ast.Name() as targets, value=value):
                if value is not None and name in names_read(value):
                    return False
                plain = targets if isinstance(targets, list) else [targets]
                if any(isinstance(n, ast.Name) and n.id == name for t in plain for n in ast.walk(t)):
                    return True
        if name in names_read(statement) or name in names_written(statement):
            return False
    return False


@dataclass(frozen=True, slots=True)
class _Choice:
    """A target and the values that the two arms give it; both have an operator where they change it in place."""

    target: Target
    then: Value
    otherwise: Value


@dataclass
class Merge:
    """The merge of one `if` statement."""

    context: Context
    statement: ast.If
    assumed: bool
    way: Protection = PROTECTED
    """How an arm that isn't chosen is kept from spoiling the gradient."""
    whole: ast.stmt | None = None
    """The loop that is masked, where the branch stands for an iteration of it."""
    in_place: bool = True
    """Whether a registered buffer keeps its object: torch.compile compiles anew for another one. A gradient that needs
    the old value forbids it."""
    may_fall_silent: bool = False
    """Whether a form is wanted in which eager keeps its branch, and with it what an arm says."""

    numbers: bool = False
    """Whether a name that both arms give an integer or a float keeps one: what reads it may want no tensor, and one of
    the default dtype holds less than a float does."""

    def __post_init__(self) -> None:
        self.source, self.write = self.context.site.source, self.context.write
        self.place = self.whole or self.statement
        self._readers: list[ArmReader] = []

    @property
    def falls_silent(self) -> bool:
        """Whether what was read so far says something that is left out: then eager must keep its branch."""
        return any(reader.falls_silent for reader in self._readers)

    @property
    def keeps_eager(self) -> bool:
        """Whether eager must keep its branch: what was read says something, or is what the compiler sees of it."""
        return self.falls_silent or any(reader.is_compiled for reader in self._readers)

    def reader(self, local: frozenset[str] = frozenset()) -> ArmReader:
        """Reads the branch's arms; `local` names live in them only."""
        reader = ArmReader(self.context, self.choose, self.truths, local=local, may_fall_silent=self.may_fall_silent)
        self._readers.append(reader)
        return reader

    def arms(
        self, test: Expr, suffix: str = "then", other: str = "else", local: frozenset[str] = frozenset()
    ) -> tuple[Statements, Expr, Arm, Arm]:
        """Both arms, and the test, which has a name where something is kept harmless on the way.

        `local` names live in them only. Raises NotMergeable.
        """
        name = self.write.expression(fresh_name(self.source, condition_name(self.write.code(test))))
        readers = [self.reader(local), self.reader(local)]
        if self.way.safe:
            for reader, taken in zip(readers, (True, False)):
                reader.harmless = partial(self.harmless, test=name, taken=taken)
        then, otherwise = readers[0].read(self.statement.body, suffix), readers[1].read(self.statement.orelse, other)
        if not any(reader.protects for reader in readers):
            return [], test, then, otherwise
        return self.write.assigned(name, test), name, then, otherwise

    def harmless(self, node: ast.expr, test: Expr, taken: bool) -> Expr | None:
        """What stands for an arm that is computed where it isn't chosen, too."""
        return harmless(self.context, node, test, taken, self.way)

    def truths(self, names: Mapping[str, str]) -> Truths:
        """Builds tests in which `names` are called otherwise."""
        device = device_of(self.context, *self.statement.body, *self.statement.orelse, self.statement)
        return Truths(self.context, device, self.assumed, names)

    def choose(self, test: Expr, first: Value, second: Value) -> Expr:
        """`torch.where(test, first, second)`; the value where both are the same, a piece where both are pieces, of each
        member where both are collections. Raises NotMergeable."""
        if self.write.code(first.built) == self.write.code(second.built):
            return first.built
        piece = chosen_piece(self.write, test, first.built, second.built)
        if piece is not None:
            return piece
        both = self._both(test, first, second)
        names = fresh_name(self.source, "when_true"), fresh_name(self.source, "when_false")
        by_member = chosen_by_member(self.write, test, both, (first.named, second.named), names)
        if by_member is None and any(collects(self.write, value) for value in both):
            raise NotMergeable("a collection")
        if by_member is not None and any(self._is_changed_behind(self.write.code(value)) for value in both):
            raise NotMergeable("a collection that is changed later, and may be somebody else's")
        return by_member or self.write.expr("torch.where({}, {}, {})", test, *both)

    def _is_changed_behind(self, name: str) -> bool:
        """Whether what stands behind the branch changes what a name holds in place."""
        block = enclosing_block(self.source, self.place)
        return name in changed_in_place(block[block.index(self.place) + 1 :])

    def _both(self, test: Expr, first: Value, second: Value) -> tuple[Expr, Expr]:
        """Both values, each kept harmless where it isn't chosen."""
        return self.protected(first, test, True), self.protected(second, test, False)

    def protected(self, value: Value, test: Expr, taken: bool) -> Expr:
        """A value, kept harmless where it isn't chosen: where the test is false (`taken`) or true."""
        if not self.way.safe or value.node is None:
            return value.built
        protected = self.harmless(value.node, test, taken)
        return value.built if protected is None else protected

    # ------------------------------------------------------------------ names and places

    def assigned(self, test: Expr, then: Arm, otherwise: Arm) -> Statements:
        """Gives each name and place the chosen arm's value. Raises NotMergeable."""
        choices = self._choices(then, otherwise)
        if not choices:
            raise NotMergeable("nothing is chosen")
        return [*then.prelude, *otherwise.prelude, *self._assignments(test, choices)]

    def changed(self, test: Expr, arm: Arm) -> Statements:
        """Changes of state by an arm that returns, where `test` holds; its names end with it. Raises NotMergeable."""
        state: dict[Target, Value] = {target: value for target, value in arm.values.items() if not target.is_name}
        return self._assignments(test, self._choices(Arm(values=state), Arm())) if state else []

    def masked(self, test: Expr, local: frozenset[str]) -> Statements:
        """The body with each value that outlives it chosen by `test`. Raises NotMergeable."""
        then = self.reader(local).read(self.statement.body, "new")
        if then.returned is not None:
            raise NotMergeable("a return")
        choices = self._choices(then, Arm())
        return [*then.prelude, *(self._assignments(test, choices) if choices else [])]

    def defined_before(self, name: str) -> bool:
        """Whether a name has a value when the branch begins."""
        function = self.context.site.function
        return function is not None and name in bound_before(function, self.statement)

    def _choices(self, then: Arm, otherwise: Arm) -> list[_Choice]:
        found = []
        for target in dict.fromkeys((*then.values, *otherwise.values)):
            values = [arm.values.get(target) for arm in (then, otherwise)]
            if None in values and not self._has_value(target):
                continue
            given = [value for value in values if value is not None]
            operator = given[0].operator
            alike = len({type(value.operator) for value in given}) == 1
            if operator is not None and alike and self._stays_in_place(target, given):
                unchanged = Value(self.write.expression(NEUTRAL[type(operator)]), operator)
            else:
                unchanged = Value(self.write.expression(self._held(target)))
                values = [self.applied(target.node, value) if value else None for value in values]
            first, second = (value or unchanged for value in values)
            found.append(_Choice(target, first, second))
        return found

    def _has_value(self, target: Target) -> bool:
        """Whether a target has a value where an arm gives it none: then it keeps that one.

        False for a name that nothing else reads. Raises NotMergeable.
        """
        if target.method == "append":
            raise NotMergeable("a list that grows on one side only")
        if not target.is_name or self.defined_before(target.text):
            return True
        if read_elsewhere(self.context, target.text, self.place):
            raise NotMergeable(f"{target.text} is not defined on one side")
        return False

    def _stays_in_place(self, target: Target, values: Sequence[Value]) -> bool:
        """Whether `y += v` must stay in place: always for a tensor, but a constant would lose its precision."""
        if Kinds(self.context).of(target.node) is Kind.NUMBER:
            return False
        # as a tensor, an int keeps its value, but a float is rounded to the default dtype
        rounded = any(isinstance(v.node, ast.Constant) and isinstance(v.node.value, float) for v in values)
        function = self.context.site.function
        arguments = parameters(function) if function else set()
        return not rounded or target.text in arguments or not target.is_name

    def applied(self, target: Part, value: Value) -> Value:
        """`y += v` as the value `y + v`."""
        if value.operator is None:
            return value
        return Value(self.write.operation(target, value.operator, value.built))

    def _assignments(self, test: Expr, choices: Sequence[_Choice]) -> Statements:
        """The lines that choose; the test is named where it is used more than once or a target changes it."""
        changed = {choice.target.text for choice in choices} if len(choices) > 1 else set()
        values = self._values(test, choices)
        conflict = self._is_read_too_late(choices, values)
        if conflict and self._may_store_first(choices, values):
            choices = sorted(choices, key=lambda choice: choice.target.is_name)
            values = self._values(test, choices)
            conflict = self._is_read_too_late(choices, values)
        lines: Statements = []
        if self._wants_name(test, values, changed):
            test, lines = self._named(test)
            values = self._values(test, choices)
        if conflict:
            if any(not choice.target.is_name or choice.then.operator for choice in choices):
                raise NotMergeable("values that depend on each other")
            targets = [choice.target.node for choice in choices]
            return [*lines, *self.write.assigned(self.write.tuple(targets), self.write.tuple(values))]
        for choice, value in zip(choices, values):
            lines += self._assignment(choice, value)
        return lines

    def _values(self, test: Expr, choices: Sequence[_Choice]) -> list[Expr]:
        return [self._chosen(test, choice) for choice in choices]

    def _chosen(self, test: Expr, choice: _Choice) -> Expr:
        kinds, then, otherwise = Kinds(self.context), choice.then.node, choice.otherwise.node
        held = number_kind(kinds, choice.target.node) if choice.target.is_name else ""
        given = {number_kind(kinds, node) if node is not None else held for node in (then, otherwise)}
        if not self.numbers or held not in _CHOSEN or given != {held}:
            return self.choose(test, choice.then, choice.otherwise)
        return self.write.expr(_CHOSEN[held], test, *self._both(test, choice.then, choice.otherwise))

    def _assignment(self, choice: _Choice, value: Expr) -> Statements:
        target, operator = choice.target, choice.then.operator
        keeps_object = operator is None and self.in_place and is_buffer(self.source, self.place, target.text)
        method = target.method or ("copy_" if keeps_object else "")
        if method:
            return self.write.block([self.write.expr(_TAKING[method], target=self._held(target), value=value)])
        return self.write.assigned(target.node, value, operator)

    def _held(self, target: Target) -> Part:
        """What a target holds. `x.data` is written `x.detach()`, which is the same memory: export takes the first for a
        constant where it is not strict, and refuses it (torch 2.13, `torch.export._trace._export_for_training`)."""
        node = target.node
        if target.method and isinstance(node, ast.Attribute) and node.attr == "data":
            return self.write.expr("{}.detach()", node.value)
        return node

    def _is_read_too_late(self, choices: Sequence[_Choice], values: Sequence[Expr]) -> bool:
        """Whether a later value reads a name that an earlier line has already changed."""
        done: set[str] = set()
        for choice, value in zip(choices, values):
            if self.write.reads(value) & (done - {choice.target.text}):
                return True
            if choice.target.is_name:
                done.add(choice.target.text)
        return False

    def _may_store_first(self, choices: Sequence[_Choice], values: Sequence[Expr]) -> bool:
        """Whether places may take their values before names do: no name's value reads what holds such a place."""
        holding = {_holder(choice.target.node) for choice in choices if not choice.target.is_name}
        return not any(
            self.write.reads(value) & holding for choice, value in zip(choices, values) if choice.target.is_name
        )

    # ------------------------------------------------------------------ results

    def returned(self, test: Expr, then: Arm, otherwise: Arm) -> Statements:
        """Returns what the chosen arm returns. Raises NotMergeable."""
        values = [value.built for value in chosen_returns(self._result, test, then, otherwise)]
        lines: Statements = []
        if self._wants_name(test, values):
            test, lines = self._named(test)
            values = [value.built for value in chosen_returns(self._result, test, then, otherwise)]
        result = then.structure.of(self.write, values)
        return [*then.prelude, *otherwise.prelude, *lines, *self.write.lines("return {value}", value=result)]

    def left(self, test: Expr, then: Arm, otherwise: Arm) -> Statements:
        """Leaves the function as the chosen arm does: state first, then what is returned. Raises NotMergeable."""
        choices = self._choices(then, otherwise)
        if not choices or any(choice.target.is_name for choice in choices):
            raise NotMergeable("no state is changed")
        name, lines = self._named(test)
        lines += [*then.prelude, *otherwise.prelude, *self._assignments(name, choices)]
        if then.returned is None and otherwise.returned is None:
            return [*lines, *self.write.lines("return")]
        return [
            *lines,
            *self.returned(name, Arm([], {}, then.returned, then.structure), replace(otherwise, prelude=[])),
        ]

    def _result(self, test: Expr, first: Value, second: Value) -> Expr:
        """What `choose` gives; a number where both are numbers."""
        kinds = Kinds(self.context)
        numbers = {number_kind(kinds, value.node) if value.node is not None else "" for value in (first, second)}
        if "" in numbers or self.write.code(first.built) == self.write.code(second.built):
            return self.choose(test, first, second)
        return self.write.expr(FLOATS if "float" in numbers else INTEGERS, test, *self._both(test, first, second))

    # ------------------------------------------------------------------ the test's name

    def _wants_name(self, test: Expr, values: Sequence[Expr], changed: Set[str] = frozenset()) -> bool:
        """Whether a test is long, stands in the values more than once, or reads what is `changed` between them."""
        code = self.write.code(test)
        if code.isidentifier():
            return False
        uses = sum(self.write.code(value).count(code) for value in values)
        return uses > 1 or len(code) > _LONG_TEST or bool(self.write.reads(test) & changed)

    def _named(self, test: Expr) -> tuple[Expr, Statements]:
        """The test under a name of its own, and the line that gives it that name where it has none."""
        if self.write.code(test).isidentifier():
            return test, []
        name = fresh_name(self.source, condition_name(self.write.code(test)))
        return self.write.expression(name), self.write.assigned(name, test)


def _holder(place: ast.expr) -> str:
    """The name of what holds a place: `x` of `x[0]`, `self` of `self.seen`."""
    while isinstance(place, (ast.Subscript, ast.Attribute)):
        place = place.value
    return ast.unparse(place)
