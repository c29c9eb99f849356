"""What the attributes of the file's classes hold once their constructors have run."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING

from ddelint.operators import operators
from ddelint.source import descend
from ddelint.static.domain.state import State
from ddelint.static.domain.values import (
    KNOWN,
    NONE,
    UNKNOWN,
    Constant,
    Instance,
    Known,
    Optional,
    Series,
    Table,
    Tensor,
    Unbacked,
    Value,
    join,
    replace,
)
from ddelint.static.program.regions import ClassInfo, FunctionNode
from ddelint.static.walk import hints

if TYPE_CHECKING:
    from ddelint.static.walk.interpreter import Interpreter

_CONSTRUCTORS = ("__init__", "setup", "build", "post_init", "reset_parameters")


def concrete(value: Value) -> Value:
    """A value that was computed in eager: numbers are numbers, but a flag's value may differ by the next call."""
    if isinstance(value, (Unbacked, Known)):
        return KNOWN
    if isinstance(value, Constant):
        return UNKNOWN if value == NONE else KNOWN
    if isinstance(value, Tensor):
        dims = tuple(KNOWN if isinstance(dim, Unbacked) else dim for dim in value.dims)
        return Tensor(dims, value.complete, value.boolean)
    if isinstance(value, Series):
        length = KNOWN if isinstance(value.length, Unbacked) else value.length
        if value.items is not None:
            return replace(value, items=tuple(concrete(item) for item in value.items), length=length)
        return replace(value, element=concrete(value.element), length=length)
    if isinstance(value, Table):
        return Table({key: concrete(item) for key, item in value.entries.items()}, concrete(value.element))
    if isinstance(value, Instance) and value.fields is not None:
        return replace(value, fields={name: concrete(item) for name, item in value.fields.items()})
    if isinstance(value, Optional):
        inner = concrete(value.inner)
        return UNKNOWN if inner in (UNKNOWN, KNOWN) else Optional(inner)
    return value


class Attributes:
    """Attribute tables of classes, made when first asked for."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._interpreter = interpreter
        self._tables: dict[ClassInfo, dict[str, Value]] = {}

    def of(self, cls: ClassInfo, name: str) -> Value:
        """What `instance.name` holds; UNKNOWN where the class doesn't say."""
        table = self._tables.get(cls)
        if table is None:
            table = self._tables[cls] = {}
            try:
                table.update(self._build(cls))
            except BaseException:  # given up: whoever asks next is not to take it for a class without attributes
                del self._tables[cls]
                raise
        return table.get(name, UNKNOWN)

    def _build(self, cls: ClassInfo) -> dict[str, Value]:
        interpreter = self._interpreter
        index = interpreter.index
        table: dict[str, Value] = {}
        bases = index.bases(cls)
        for base in reversed(bases):
            for name, annotation in base.annotated.items():
                table[name] = hints.value_of(annotation, index)
            for name, value in base.assigned.items():
                found = interpreter.settled(value)
                table[name] = found if found != UNKNOWN else table.get(name, UNKNOWN)
        for base in reversed(bases):
            for method in _CONSTRUCTORS:
                if method in base.methods:
                    self._construct(base.methods[method], cls, table)
        for base in bases:
            for name, method_node in base.methods.items():
                if name not in _CONSTRUCTORS and _may_assign(method_node, index.text_of(method_node)):
                    for target in own_assignments(method_node):
                        if target in table:
                            table[target] = _changed_later(table[target])
        return table

    def _construct(self, node: FunctionNode, cls: ClassInfo, table: dict[str, Value]) -> None:
        """Interpret a constructor quietly and keep what it leaves in `self`."""
        interpreter = self._interpreter
        names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
        if not names:
            return
        self_name = names[0]
        state = State({self_name: Instance(cls)})
        numbers = _with_number_defaults(node)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            if argument.arg != self_name:
                value = concrete(hints.value_of(argument.annotation, index=interpreter.index))
                state.names[argument.arg] = KNOWN if value == UNKNOWN and argument.arg in numbers else value
        prefix = self_name + "."
        end = interpreter.calls.quietly(node, cls, state)
        if end is None:
            return
        registered = operators().regions["buffer_methods"]
        for chain, value in end.attributes.items():
            if chain.startswith(prefix) and "." not in chain[len(prefix) :]:
                name = chain[len(prefix) :]
                table[name] = (
                    join(table[name], concrete(value)) if name in table and table[name] == UNKNOWN else concrete(value)
                )
        text = interpreter.index.text_of(node)
        if not any(method in text for method in registered):
            return
        for call in descend(node):
            match call:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id=owner), attr=method),
                    args=[ast.Constant(value=str(name)), *rest],
                ):
                    if owner == self_name and method in registered:
                        known = interpreter.settled(rest[0], end.names) if rest else UNKNOWN
                        table[name] = known if isinstance(known, Tensor) else Tensor()


def _with_number_defaults(node: FunctionNode) -> set[str]:
    """Parameters whose default is a number: so is what is passed."""
    positional = [*node.args.posonlyargs, *node.args.args]
    pairs = [
        *zip(reversed(positional), reversed(node.args.defaults)),
        *zip(node.args.kwonlyargs, node.args.kw_defaults),
    ]
    return {
        parameter.arg
        for parameter, default in pairs
        if isinstance(default, ast.Constant) and type(default.value) in (int, float)
    }


def _may_assign(node: FunctionNode, text: str) -> bool:
    """Whether the method's text looks as if it assigned attributes of its first parameter. False is certain."""
    return bool(node.args.args) and _assignment(node.args.args[0].arg).search(text) is not None


@cache
def _assignment(owner: str) -> re.Pattern[str]:
    end = r"\s{0,200}+(?::[^\n=]{0,500}+)?+(?:[-+*/%&|^@]|//|\*\*|<<|>>)?=(?!=)"
    return re.compile(rf"{re.escape(owner)}\.\w++(?:\s{{0,200}}+,\s{{0,200}}+[\w.*]{{1,200}}+){{0,100}}+\)?+{end}")


def own_assignments(node: FunctionNode) -> set[str]:
    """Attributes of the first parameter that the method assigns."""
    if not node.args.args:
        return set()
    owner = node.args.args[0].arg
    found: set[str] = set()
    waiting: list[ast.stmt] = list(node.body)
    while waiting:
        statement = waiting.pop()
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AugAssign, ast.AnnAssign)):
            targets = [statement.target]
        for target in targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == owner:
                found.add(target.attr)
        for name in ("body", "orelse", "finalbody"):
            waiting += getattr(statement, name, [])
        for handler in getattr(statement, "handlers", []):
            waiting += handler.body
    return found


def _changed_later(value: Value) -> Value:
    """What is left to say of an attribute that other methods assign, too."""
    if isinstance(value, Tensor):
        return Tensor()
    return UNKNOWN
